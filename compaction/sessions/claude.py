"""Events of a Claude Code session: one line a block, one reply a message.id.

A user's words stand in `user` lines, and also inside refused tool results, answered questions, queue operations,
queued_command attachments and <command-args>. Lines with isMeta, summaries, commands typed behind ! and system
reminders are no turns. Lines of sub-agents among others (isSidechain) are another conversation and left out.
"""

import re

from compaction.contexts import as_messages
from compaction.sessions.content import CONTINUED, blocks, own_words, said_by_model, said_by_person, text_of
from compaction.sessions.log import KINDS, attempt, compaction, event

QUIET = set(
    "progress file-history-snapshot file-history-delta summary custom-title ai-title agent-name agent-color "
    "agent-setting tag last-prompt mode permission-mode pr-link worktree-state relocated frame-link bridge-session "
    "fork-context-ref speculation-accept content-replacement attribution-snapshot task-summary started result "
    "marble-origami-commit marble-origami-snapshot".split())
REFUSED = ("The user doesn't want to proceed with this tool use", "Permission for this tool use was denied")
SAID = re.compile(r"the user said:\s*(.*?)\s*(?:\n\nNote: The user's next message|\Z)", re.DOTALL)
ANSWERED = ("User has answered your questions", "Your questions have been answered")
ANSWER = re.compile(r'"="(.*?)"(?=, "|\. You can now|\.?\s*\Z| (?:selected|user) )', re.DOTALL)
COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
ARGS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
INTERRUPTED = re.compile(r"\s*\[Request interrupted by user[^\]\n]*\]\s*")
REQUEST = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")  # their sum is the whole request


def is_record(value):
    """Whether a JSON object can be a line of this tool; a message with parts is another's."""
    message = value.get("message")
    return "type" in value and not (isinstance(message, dict) and "parts" in message) and bool(
        {"sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "snapshot"} & value.keys())


def line_key(record):
    """What stays equal when a line is stored again: its uuid (in a fork, that of the line it copies), or all of it."""
    fork = record.get("forkedFrom")
    return ((fork.get("messageUuid") if isinstance(fork, dict) else None) or record.get("uuid")
            or (record if record.get("timestamp") else None))


class Reader:
    """What has to be remembered between lines: a boundary that waits for its summary, queued words, what was told."""

    def __init__(self, tally):
        self.tally = tally
        self.boundary = None  # a compact_boundary line whose summary has not come
        self.queued, self.delivered, self.told = [], [], []  # events of queued words; taken by the model; words told
        self.said = set()  # (message id, text or call id) of what the model said; (message id,) of requests told
        self.made = {}  # uuid of a line: its events, for a compaction that keeps them
        self.parents = set()  # lines that a typed line follows: one that is followed twice was gone back to
        self.sidechain = None  # whether the file begins inside a sub-agent: then it is that one's own conversation

    def events(self, records):
        """Yield raw events of one session's records; a text that the model streamed again, longer, is kept once."""
        held = []  # the last text of the model
        for record in records:
            made = attempt(self.tally, self.read, record)
            if isinstance(record.get("uuid"), str):
                self.made[record["uuid"]] = [raw for raw in made if raw["kind"] in KINDS[:-1]]  # messages
            for raw in made:
                text = raw["kind"] == "assistant"
                if (held and text and raw["reply_key"] == held[0]["reply_key"]
                        and raw["content"].startswith(held[0]["content"])):
                    self.tally.left_out("text of a reply streamed again")
                else:
                    yield from held
                raw["copied"] = self.tally.copied or None  # as this line is, though it may be held until the next
                held = [raw] if text else []
                if not text:
                    yield raw
        yield from held
        yield from self.compacted(None)
        for raw in self.delivered + [raw for raw in self.queued if raw["content"]]:
            self.tally.note("queued words that no line says were sent")
            yield raw

    def read(self, record):
        kind, inside = record.get("type"), bool(record.get("isSidechain"))
        if kind in ("user", "assistant"):
            self.sidechain = inside if self.sidechain is None else self.sidechain
            if kind == "assistant":  # the model took queued words that no line of their own tells
                self.told += [raw["content"] for raw in self.delivered]
                yield from self.delivered
                self.delivered = []
            if not is_summary(record):
                yield from self.compacted(None)
            if self.sidechain and not inside:
                self.tally.note("lines of a sub-agent before the conversation's own, read as part of it")
                self.sidechain = False
        read = {"user": self.user, "assistant": self.assistant, "system": self.system, "queue-operation": self.queue,
                "attachment": self.attachment}.get(kind)
        if inside and not self.sidechain:
            self.tally.left_out("line of a sub-agent")
        elif read:
            yield from read(record, record.get("timestamp")) or ()
        elif kind in QUIET:
            self.tally.left_out(f"{kind} line")
        else:
            self.tally.unread(f"line of unknown type {kind!r}")

    def compacted(self, summary, time=None):
        """The compaction of the boundary that waits, with the messages that it says were preserved."""
        boundary, self.boundary = self.boundary or {}, None
        if summary is None and not boundary:
            return
        if summary is None:
            self.tally.note("compaction without a summary")
        uuids = ((boundary.get("compactMetadata") or {}).get("preservedMessages") or {}).get("uuids") or []
        for _ in set(uuids) - self.made.keys():
            self.tally.note("message that a compaction kept and that is not in this file")
        kept, _ = as_messages(raw for uuid in uuids for raw in self.made.get(uuid, ()))
        yield compaction(summary, boundary.get("timestamp") or time, kept, opaque=not set(uuids) <= self.made.keys())

    def user(self, record, time):
        content, origin = (record.get("message") or {}).get("content"), record.get("origin")
        if is_summary(record):
            yield from self.compacted(text_of(content, self.tally), time)
            return
        if record.get("isMeta") or isinstance(origin, dict) and origin.get("kind") == "task-notification":
            self.tally.left_out("text that the tool put under the user's role")
            return
        if not isinstance(content, (str, list)):
            self.tally.unread("user line without content")
        typed = []
        for kind, value in blocks(content, self.tally):
            if kind == "result":
                yield from self.result(value, record, time)
            elif kind == "text":
                if mark := INTERRUPTED.match(value):
                    self.tally.left_out("mark of an interruption")
                    yield event("interrupted")
                    value = value[mark.end() :]
                if COMMAND.match(value):
                    yield from self.command(value, time)
                elif (value or not mark) and (words := said_by_person(value, self.tally)):
                    typed.append(words)
        if typed:
            before = record.get("parentUuid")
            if before is not None and before in self.parents:
                self.tally.note("turns that the user took back (still in the log)")
                yield event("interrupted")
            self.parents.add(before)
            yield from self.spoken("\n".join(typed), time, "agent" if self.sidechain else None)

    def command(self, text, time):
        if (args := ARGS.search(text)) and args[1]:
            yield event("user", time, content=args[1], origin="command")
        else:
            self.tally.left_out("slash command without words")

    def spoken(self, words, time, origin):
        for waiting in (self.queued, self.delivered):
            waiting[:] = [raw for raw in waiting if raw["content"].strip() != words.strip()]
        if words in self.told:
            self.told.remove(words)
            self.tally.left_out("queued words told twice")
        else:
            yield event("user", time, content=words, origin=origin)

    def result(self, value, record, time):
        """A tool's result, and the words of the user that stand in it."""
        text = value["content"]
        yield event("tool_result", time, **value)
        if text.startswith(REFUSED):
            said = SAID.search(text)
            yield event("user", time, content=said[1], origin="refusal") if said and said[1] else event("interrupted")
        elif text.startswith(ANSWERED):
            answers = record.get("toolUseResult")
            answers = answers.get("answers") if isinstance(answers, dict) else None
            answers = list(map(str, answers.values())) if isinstance(answers, dict) else ANSWER.findall(text)
            if any(map(str.strip, answers)):
                yield event("user", time, content="\n".join(answers), origin="answer")
            else:
                self.tally.unread("answers of the user inside a tool result")

    def assistant(self, record, time):
        message = record.get("message") or {}
        if record.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            self.tally.left_out("message that the tool wrote in the model's place")
            yield event("interrupted")
            return
        usage, key = message.get("usage") or {}, message.get("id") or record.get("uuid")
        tokens = sum(usage.get(field) or 0 for field in REQUEST)
        if tokens and (key,) not in self.said:
            self.said.add((key,))
            yield event("request", tokens=tokens)
        for raw in said_by_model(message.get("content"), time, key, self.tally):
            is_text = raw["kind"] == "assistant"
            mark = key, raw["content"] if is_text else raw["call_id"]
            if raw["kind"] != "tool_result" and mark in self.said:
                self.tally.left_out("text of a reply told twice" if is_text else "call told twice")
            else:
                self.said.add(mark)
                yield raw

    def system(self, record, time):
        subtype = record.get("subtype")
        if subtype == "compact_boundary":
            yield from self.compacted(None)
            self.boundary = record
            self.tally.told += 1  # it becomes an event with a later line
        elif subtype == "microcompact_boundary":
            self.tally.note("micro-compaction (old results cleared from the context, no summary)")
        elif COMMAND.match(str(record.get("content"))):  # newer versions put slash commands here
            yield from self.command(record["content"], time)
        else:
            self.tally.left_out(f"system line: {subtype}")

    def queue(self, record, time):
        """Queued words count when the model took them; what the user took back (popAll) was never said. A notice of
        the tool keeps its place in the queue as "", so that taking it out takes no words of the user out."""
        operation, content = record.get("operation"), record.get("content")
        words = own_words(content) if isinstance(content, str) else ""
        if operation == "enqueue":
            self.queued.append(event("user", time, content=words, origin="queue"))
        elif operation in ("dequeue", "remove") and self.queued:
            named = [raw for raw in self.queued if isinstance(content, str) and raw["content"] == words] or self.queued
            self.delivered += [named[0]] if named[0]["content"] else []
            self.queued.remove(named[0])
        elif operation in ("popAll", "clear"):
            for _ in [raw for raw in self.queued if raw["content"]]:
                self.tally.left_out("queued words that the user took back")
            self.queued = []
        if operation == "enqueue" and words:
            self.tally.told += 1  # it becomes an event with a later line
        else:
            self.tally.left_out(f"queue operation: {operation}")

    def attachment(self, record, time):
        attached = record.get("attachment") or {}
        prompt = attached.get("prompt") if attached.get("type") == "queued_command" else None
        if words := own_words(text_of(prompt, self.tally)):
            yield from self.spoken(words, time, None)
        else:
            self.tally.left_out(f"attachment: {attached.get('type')}")


def is_summary(record):
    """Whether a user line holds what a compaction left. Old versions do not mark it."""
    content = (record.get("message") or {}).get("content") if record.get("type") == "user" else None
    return bool(record.get("isCompactSummary")) or isinstance(content, str) and content.startswith(CONTINUED)
