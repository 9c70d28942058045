"""Events of a Claude Code session: one line a block, one reply a message.id.

A user's words stand in `user` lines, and also inside refused tool
results, queue operations, queued_command attachments, <command-args> and <bash-input>. Lines with isMeta, summaries and
system reminders are no turns. Lines of sub-agents among others (isSidechain) are another conversation and left out.
"""

import re

from compaction.sessions.log import CONTINUED, compaction, event, own_words, text_of, whole

QUIET = set(
    "progress file-history-snapshot file-history-delta summary custom-title ai-title agent-name agent-color "
    "agent-setting tag last-prompt mode permission-mode pr-link worktree-state relocated "
    "frame-link bridge-session fork-context-ref "
    "speculation-accept content-replacement attribution-snapshot task-summary started result marble-origami-commit "
    "marble-origami-snapshot".split())
REFUSED = ("The user doesn't want to proceed with this tool use", "Permission for this tool use was denied")
SAID = "the user said:"
AFTER_SAID = "\n\nNote: The user's next message"
ANSWERED = ("User has answered your questions", "Your questions have been answered")
COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
INTERRUPTED = re.compile(r"\s*\[Request interrupted by user[^\]\n]*\]\s*")
SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>", re.DOTALL)


def is_record(value):
    """Whether a JSON object can be a line of this tool."""
    return "type" in value and bool(
        {"sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "snapshot"} & value.keys())


def session_id(record):
    return record.get("sessionId") or record.get("session_id")


def identity(record):
    """What stays equal when a line is stored again: its uuid (in a fork, that of the line it copies), or all of it."""
    copied = record.get("forkedFrom")
    copied = copied.get("messageUuid") if isinstance(copied, dict) else None
    return copied or record.get("uuid") or (record if record.get("timestamp") else None)


def events(records, tally):
    """Yield raw events of one session's records, [(line, record)]."""
    reader = Reader(tally)
    for _, record in records:
        yield from whole(lambda record=record: reader.read(record), tally)
    yield from reader.end()


class Reader:
    """What has to be remembered between lines: a boundary that waits for its summary, queued words, the last reply."""

    def __init__(self, tally):
        self.tally = tally
        self.boundary = None  # time of a compact_boundary whose summary has not come
        self.queued, self.delivered, self.told = [], [], []  # words queued; taken by the model; made events of
        self.reply = (None, set())  # message id and the texts seen in it
        self.parents = set()  # lines that a typed line follows: one that is followed twice was gone back to
        self.sidechain = None  # whether the file begins inside a sub-agent: then it is that one's own conversation

    def read(self, record):
        kind = record.get("type")
        yield from self.before(record)
        if self.sidechain and not record.get("isSidechain") and kind in ("user", "assistant"):
            self.tally.note("lines of a sub-agent before the conversation's own, read as part of it")
            self.sidechain = False
        if record.get("isSidechain") and not self.sidechain:
            self.tally.left_out("line of a sub-agent")
        elif kind == "user":
            yield from self.user(record)
        elif kind == "assistant":
            yield from self.assistant(record)
        elif kind == "system":
            yield from self.system(record)
        elif kind == "queue-operation":
            self.queue(record)
        elif kind == "attachment":
            yield from self.attachment(record)
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
        if self.boundary is not None and record.get("type") in ("user", "assistant") and not is_summary(record):
            self.tally.note("compaction without a summary")
            yield compaction(None, self.boundary)
            self.boundary = None

    def end(self):
        if self.boundary is not None:
            self.tally.note("compaction without a summary")
            yield compaction(None, self.boundary)
        for time, words in self.delivered + [item for item in self.queued if item[1]]:
            self.tally.note("queued words that no line says were sent")
            yield event("user", time, content=words, origin="queue")

    def user(self, record):
        time, content = record.get("timestamp"), (record.get("message") or {}).get("content")
        if is_summary(record):
            yield compaction(text_of(content, self.tally), self.boundary or time)
            self.boundary = None
            return
        origin = record.get("origin")
        if record.get("isMeta") or isinstance(origin, dict) and origin.get("kind") == "task-notification":
            self.tally.left_out("text that the tool put under the user's role")
            return
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            self.tally.unread("user line without content")
            return
        words = []
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_result":
                yield from self.result(block, time)
            elif kind == "text" and isinstance(block.get("text"), str):
                yield from self.text(block["text"], time, words)
            elif kind in ("image", "document"):
                self.tally.left_out(f"{kind} from the user")
            else:
                self.tally.unread(f"user block of unknown type {kind!r}")
        if words:
            if self.went_back(record):
                self.tally.note("turns that the user took back (still in the log)")
                yield event("interrupted")
            yield from self.spoken("\n".join(words), time, self.sidechain)

    def went_back(self, record):
        """Whether a typed line follows a line that another typed one followed: the user went back and said it anew."""
        before, known = record.get("parentUuid"), len(self.parents)
        self.parents.add(before)
        return before is not None and len(self.parents) == known

    def text(self, text, time, words):
        """Events of one text block; the user's plain words are put into `words`."""
        mark = INTERRUPTED.match(text)
        if mark:
            self.tally.left_out("mark of an interruption")
            yield event("interrupted")
            text = text[mark.end() :]
            if not text:
                return
        shell = SHELL.match(text)
        if shell:
            yield event("user", time, content=shell.group(1), origin="shell")
            return
        if COMMAND.match(text):
            yield from self.command(text, time)
            return
        own = own_words(text)
        if own.strip():
            words.append(own)
        elif text.lstrip().startswith("<bash-std"):
            self.tally.left_out("output of a command that the user ran")
        else:
            self.tally.left_out("text that the tool put under the user's role" if text.strip() else "empty text")

    def command(self, text, time):
        args = ARGS.search(text)
        if args and args.group(1).strip():
            yield event("user", time, content=args.group(1).strip(), origin="command")
        else:
            self.tally.left_out("slash command without words")

    def spoken(self, words, time, by_agent):
        for waiting in (self.queued, self.delivered):
            waiting[:] = [item for item in waiting if item[1].strip() != words.strip()]
        if words in self.told:
            self.told.remove(words)
            self.tally.left_out("queued words told twice")
            return
        yield event("user", time, content=words, **({"origin": "agent"} if by_agent else {}))

    def result(self, block, time):
        text = text_of(block.get("content"), self.tally)
        yield event("tool_result", time, content=text, call_id=block.get("tool_use_id"))
        if text.startswith(REFUSED) and SAID in text:
            said = text.split(SAID, 1)[1].split(AFTER_SAID, 1)[0].strip()
            if said:
                yield event("user", time, content=said, origin="refusal")
        elif text.startswith(REFUSED):
            yield event("interrupted")
        elif text.startswith(ANSWERED):
            self.tally.note("answers of the user inside a tool result")

    def assistant(self, record):
        message, time = record.get("message") or {}, record.get("timestamp")
        if record.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            self.tally.left_out("message that the tool wrote in the model's place")
            yield event("interrupted")
            return
        key = message.get("id") or record.get("uuid")
        if self.reply[0] != key:
            self.reply = (key, set())
        blocks = message.get("content")
        for block in [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks or []:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                if not block["text"].strip() or block["text"] in self.reply[1]:
                    self.tally.left_out("text of a reply told twice" if block["text"].strip() else "empty text")
                    continue
                self.reply[1].add(block["text"])
                yield event("assistant", time, content=block["text"], reply_key=key)
            elif kind in ("tool_use", "server_tool_use"):
                if block.get("id") in self.reply[1]:
                    self.tally.left_out("call told twice")
                    continue
                self.reply[1].add(block.get("id"))
                yield event("tool_call", time, name=block.get("name"), arguments=block.get("input"),
                            call_id=block.get("id"), reply_key=key)
            elif kind and kind.endswith("_tool_result"):
                yield event("tool_result", time, content=text_of(block.get("content"), self.tally),
                            call_id=block.get("tool_use_id"))
            elif kind in ("thinking", "redacted_thinking"):
                self.tally.left_out("thinking")
            else:
                self.tally.unread(f"assistant block of unknown type {kind!r}")

    def system(self, record):
        if record.get("subtype") == "compact_boundary":
            if self.boundary is not None:
                self.tally.note("compaction without a summary")
                yield compaction(None, self.boundary)
            self.boundary = record.get("timestamp") or ""
            self.tally.kept_back()
        elif COMMAND.match(str(record.get("content"))):  # newer versions put slash commands here
            yield from self.command(record["content"], record.get("timestamp"))
        else:
            self.tally.left_out(f"system line: {record.get('subtype')}")

    def queue(self, record):
        """Queued words count when the model took them; what the user took back (popAll) was never said.

        A notice of the tool keeps its place in the queue as "", so that taking it out takes no words of the user out.
        """
        operation, content = record.get("operation"), record.get("content")
        if operation == "enqueue":
            words = own_words(content) if isinstance(content, str) else ""
            self.queued.append((record.get("timestamp"), words if words.strip() else ""))
            if words.strip():
                self.tally.kept_back()
                return
        elif operation in ("dequeue", "remove") and self.queued:
            named = [item for item in self.queued if isinstance(content, str) and item[1] == own_words(content)]
            taken = named[0] if named else self.queued[0]
            self.queued.remove(taken)
            self.delivered += [taken] if taken[1] else []
        elif operation in ("popAll", "clear"):
            for _, words in self.queued:
                if words:
                    self.tally.left_out("queued words that the user took back")
            self.queued = []
        self.tally.left_out(f"queue operation: {operation}")

    def attachment(self, record):
        attached = record.get("attachment") or {}
        if attached.get("type") == "queued_command" and attached.get("prompt"):
            words = own_words(text_of(attached["prompt"], self.tally))
            if words.strip():
                yield from self.spoken(words, record.get("timestamp"), False)
                return
        self.tally.left_out(f"attachment: {attached.get('type')}")


def is_summary(record):
    """Whether a user line holds what a compaction left. Old versions do not mark it."""
    content = (record.get("message") or {}).get("content") if record.get("type") == "user" else None
    return bool(record.get("isCompactSummary")) or isinstance(content, str) and content.startswith(CONTINUED)
