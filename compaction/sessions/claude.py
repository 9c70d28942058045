"""Events of a Claude Code session: one line a block, one reply a message.id.

A user's words stand in `user` lines, and also inside refused tool results, answered questions, queue operations,
queued_command attachments and <command-args>. Lines with isMeta, summaries, commands typed behind ! and system
reminders are no turns. Lines of sub-agents among others (isSidechain) are another conversation and left out.
"""

import re

from compaction.contexts import as_messages
from compaction.sessions.content import CONTINUED, blocks, count_foreign, own_words, said_by_model, text_of
from compaction.sessions.log import attempt, compaction, event

QUIET = set(
    "progress file-history-snapshot file-history-delta summary custom-title ai-title agent-name agent-color "
    "agent-setting tag last-prompt mode permission-mode pr-link worktree-state relocated frame-link bridge-session "
    "fork-context-ref speculation-accept content-replacement attribution-snapshot task-summary started result "
    "marble-origami-commit marble-origami-snapshot".split())
REFUSED = ("The user doesn't want to proceed with this tool use", "Permission for this tool use was denied")
SAID = re.compile(r"the user said:\s*(.*?)\s*(?:\n\nNote: The user's next message|\Z)", re.DOTALL)
ANSWERED = ("User has answered your questions", "Your questions have been answered")
ANSWER = re.compile(r'"="(.*?)"(?=, "|\. You can now|\.?\s*\Z| (?:selected|user) )', re.DOTALL)
NOTICE = "task-notification"  # the kind of origin of a line that the tool wrote
COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
INTERRUPTED = re.compile(r"\s*\[Request interrupted by user[^\]\n]*\]\s*")
MESSAGES = ("user", "assistant", "tool_call", "tool_result")
REQUEST = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")  # their sum is the whole request


def is_record(value):
    """Whether a JSON object can be a line of this tool; a message with parts is another's."""
    message = value.get("message")
    return "type" in value and not (isinstance(message, dict) and "parts" in message) and bool(
        {"sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "snapshot"} & value.keys())


def session_id(record):
    return record.get("sessionId") or record.get("session_id")


def identity(record):
    """What stays equal when a line is stored again: its uuid (in a fork, that of the line it copies), or all of it."""
    fork = record.get("forkedFrom")
    return ((fork.get("messageUuid") if isinstance(fork, dict) else None) or record.get("uuid")
            or (record if record.get("timestamp") else None))


def events(records, tally):
    """Yield raw events of one session's records; a text that the model streamed again, longer, is kept once."""
    reader, held = Reader(tally), None  # held: the last text of the model
    for raw in reader.events(records):
        again = held and raw["kind"] == "assistant" and raw["reply_key"] == held["reply_key"]
        if again and raw["content"].startswith(held["content"]):
            tally.left_out("text of a reply streamed again")
        elif held:
            yield held
        held = raw if raw["kind"] == "assistant" else None
        if held is None:
            yield raw
    if held:
        yield held


class Reader:
    """What has to be remembered between lines: a boundary that waits for its summary, queued words, what was told."""

    def __init__(self, tally):
        self.tally = tally
        self.boundary = None  # a compact_boundary line whose summary has not come
        self.queued, self.delivered, self.told = [], [], []  # words queued; taken by the model; made events of
        self.said = set()  # (message id, text or call id) of what the model said; (message id,) of requests told
        self.made = {}  # uuid of a line: its events, for a compaction that keeps them
        self.parents = set()  # lines that a typed line follows: one that is followed twice was gone back to
        self.sidechain = None  # whether the file begins inside a sub-agent: then it is that one's own conversation

    def events(self, records):
        for record in records:
            made = attempt(lambda record=record: self.read(record), self.tally)
            for raw in made:
                raw["copied"] = self.tally.copied or None
            if isinstance(record.get("uuid"), str):
                self.made[record["uuid"]] = [raw for raw in made if raw["kind"] in MESSAGES]
            yield from made
        yield from self.end()

    def read(self, record):
        kind = record.get("type")
        yield from self.before(record)
        if self.sidechain and not record.get("isSidechain") and kind in ("user", "assistant"):
            self.tally.note("lines of a sub-agent before the conversation's own, read as part of it")
            self.sidechain = False
        read = {"user": self.user, "assistant": self.assistant, "system": self.system, "queue-operation": self.queue,
                "attachment": self.attachment}.get(kind)
        if record.get("isSidechain") and not self.sidechain:
            self.tally.left_out("line of a sub-agent")
        elif read:
            yield from read(record) or ()
        elif kind in QUIET:
            self.tally.left_out(f"{kind} line")
        else:
            self.tally.unread(f"line of unknown type {kind!r}")

    def before(self, record):
        """What must come before this record: queued words that the model took and that no line of their own tells."""
        if self.sidechain is None and record.get("type") in ("user", "assistant"):
            self.sidechain = bool(record.get("isSidechain"))
        if record.get("type") == "assistant":
            for time, words in self.delivered:
                self.told.append(words)
                yield event("user", time, content=words, origin="queue")
            self.delivered = []
        if record.get("type") in ("user", "assistant") and not is_summary(record):
            yield from self.compacted(None)

    def end(self):
        yield from self.compacted(None)
        for time, words in self.delivered + [item for item in self.queued if item[1]]:
            self.tally.note("queued words that no line says were sent")
            yield event("user", time, content=words, origin="queue")

    def compacted(self, summary, time=None):
        """The compaction of the boundary that waits, with the messages that it says were preserved."""
        boundary, self.boundary = self.boundary, None
        if boundary is None and summary is None:
            return
        if summary is None:
            self.tally.note("compaction without a summary")
        boundary = boundary or {}
        uuids = ((boundary.get("compactMetadata") or {}).get("preservedMessages") or {}).get("uuids") or []
        for _ in set(uuids) - self.made.keys():
            self.tally.note("message that a compaction kept and that is not in this file")
        kept, _ = as_messages(raw for uuid in uuids for raw in self.made.get(uuid, ()))
        yield compaction(summary, boundary.get("timestamp") or time, kept, opaque=not set(uuids) <= self.made.keys())

    def user(self, record):
        time, content = record.get("timestamp"), (record.get("message") or {}).get("content")
        if is_summary(record):
            yield from self.compacted(text_of(content, self.tally), time)
            return
        if record.get("isMeta") or isinstance(record.get("origin"), dict) and record["origin"].get("kind") == NOTICE:
            self.tally.left_out("text that the tool put under the user's role")
            return
        if not isinstance(content, (str, list)):
            self.tally.unread("user line without content")
        words = []
        for kind, value in blocks(content, self.tally):
            if kind == "result":
                yield from self.result(value, record)
            elif kind == "text":
                yield from self.text(value, time, words)
        if words:
            before, known = record.get("parentUuid"), len(self.parents)
            self.parents.add(before)
            if before is not None and len(self.parents) == known:
                self.tally.note("turns that the user took back (still in the log)")
                yield event("interrupted")
            yield from self.spoken("\n".join(words), time, "agent" if self.sidechain else None)

    def text(self, text, time, words):
        """Events of one text block; the user's plain words are put into `words`."""
        if mark := INTERRUPTED.match(text):
            self.tally.left_out("mark of an interruption")
            yield event("interrupted")
            text = text[mark.end() :]
        if mark and not text:
            return
        if COMMAND.match(text):
            yield from self.command(text, time)
        elif own_words(text).strip():
            words.append(own_words(text))
        else:
            count_foreign(text, self.tally)

    def command(self, text, time):
        args = ARGS.search(text)
        if args and args.group(1).strip():
            yield event("user", time, content=args.group(1).strip(), origin="command")
        else:
            self.tally.left_out("slash command without words")

    def spoken(self, words, time, origin):
        for waiting in (self.queued, self.delivered):
            waiting[:] = [item for item in waiting if item[1].strip() != words.strip()]
        if words in self.told:
            self.told.remove(words)
            self.tally.left_out("queued words told twice")
        else:
            yield event("user", time, content=words, origin=origin)

    def result(self, value, record):
        """A tool's result, and the words of the user that stand in it."""
        time, text = record.get("timestamp"), value["content"]
        yield event("tool_result", time, **value)
        if text.startswith(REFUSED):
            said = SAID.search(text)
            yield event("user", time, content=said[1], origin="refusal") if said and said[1] else event("interrupted")
        elif text.startswith(ANSWERED):
            told = record.get("toolUseResult")
            told = told.get("answers") if isinstance(told, dict) else None
            told = list(map(str, told.values())) if isinstance(told, dict) else ANSWER.findall(text)
            if any(map(str.strip, told)):
                yield event("user", time, content="\n".join(told), origin="answer")
            else:
                self.tally.unread("answers of the user inside a tool result")

    def assistant(self, record):
        message, time = record.get("message") or {}, record.get("timestamp")
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
            mark = key, raw["content"] if raw["kind"] == "assistant" else raw["call_id"]
            if raw["kind"] == "tool_result" or mark not in self.said:
                self.said.add(mark)
                yield raw
            else:
                self.tally.left_out("text of a reply told twice" if raw["kind"] == "assistant" else "call told twice")

    def system(self, record):
        if record.get("subtype") == "compact_boundary":
            yield from self.compacted(None)
            self.boundary = record
            self.tally.told += 1  # it becomes an event with a later line
        elif record.get("subtype") == "microcompact_boundary":
            self.tally.note("micro-compaction (old results cleared from the context, no summary)")
        elif COMMAND.match(str(record.get("content"))):  # newer versions put slash commands here
            yield from self.command(record["content"], record.get("timestamp"))
        else:
            self.tally.left_out(f"system line: {record.get('subtype')}")

    def queue(self, record):
        """Queued words count when the model took them; what the user took back (popAll) was never said.

        A notice of the tool keeps its place in the queue as "", so that taking it out takes no words of the user out.
        """
        operation, content = record.get("operation"), record.get("content")
        words = own_words(content) if isinstance(content, str) else ""
        if operation == "enqueue":
            self.queued.append((record.get("timestamp"), words if words.strip() else ""))
            if words.strip():
                self.tally.told += 1  # it becomes an event with a later line
                return
        elif operation in ("dequeue", "remove") and self.queued:
            named = [item for item in self.queued if isinstance(content, str) and item[1] == words] or self.queued
            self.delivered += [named[0]] if named[0][1] else []
            self.queued.remove(named[0])
        elif operation in ("popAll", "clear"):
            for _ in filter(None, (words for _, words in self.queued)):
                self.tally.left_out("queued words that the user took back")
            self.queued = []
        self.tally.left_out(f"queue operation: {operation}")

    def attachment(self, record):
        attached = record.get("attachment") or {}
        prompt = attached.get("prompt") if attached.get("type") == "queued_command" else None
        words = own_words(text_of(prompt, self.tally))
        if words.strip():
            yield from self.spoken(words, record.get("timestamp"), None)
        else:
            self.tally.left_out(f"attachment: {attached.get('type')}")


def is_summary(record):
    """Whether a user line holds what a compaction left. Old versions do not mark it."""
    content = (record.get("message") or {}).get("content") if record.get("type") == "user" else None
    return bool(record.get("isCompactSummary")) or isinstance(content, str) and content.startswith(CONTINUED)
