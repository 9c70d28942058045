"""Events of a pi session: one message a line, each naming the line that it follows, so that a file can be a tree.

Where the user went back and on from an earlier line, what was
left behind stays in the log and is noted; what a compaction kept is read along the path that it lies on.
"""

from compaction.sessions.codex import arguments
from compaction.sessions.log import compaction, event, own_words, text_of, whole

QUIET = set(
    "session model_change thinking_level_change label session_info custom branch_summary queue active_tools_change "
    "leaf ephemeral".split())


def is_record(value):
    kind = value.get("type")
    if kind == "session":
        return "cwd" in value and "id" in value
    return (kind == "message"
            and isinstance(value.get("message"), dict)
            and "role" in value["message"]
            and "uuid" not in value
            and "sessionId" not in value
            or kind in QUIET | {"compaction"}
            and "timestamp" in value)


def session_id(record):
    return record.get("id") if record.get("type") == "session" else None


def identity(record):
    """The whole line: ids are short in this tool and missing in its first version, times are in milliseconds."""
    return record


def events(records, tally):
    """Yield raw events of one session's records, [(line, record)]."""
    lines = Lines()
    for _, record in records:
        if lines.went_back(record):
            tally.note("turns that the user took back (still in the log)")
            yield event("interrupted")
        found = whole(lambda record=record: line(record, lines, tally), tally)
        lines.add(record, found)
        yield from found


class Lines:
    """The lines read so far with their events, for the messages that a compaction keeps beside its summary."""

    def __init__(self):
        self.all = []  # (id, id of the line before or None, events)
        self.last = None

    def went_back(self, record):
        """Whether a line follows another than the one before it. The first version wrote no ids."""
        before = record.get("parentId")
        return before is not None and self.last is not None and before != self.last

    def add(self, record, found):
        self.all.append((record.get("id"), record.get("parentId"), found))
        if record.get("type") != "session":
            self.last = record.get("id", self.last)

    def kept(self, record):
        """The events that a compaction kept word for word: from its first kept line on, along its own path."""
        first, index, lines = record.get("firstKeptEntryId"), record.get("firstKeptEntryIndex"), self.all
        if first is not None:
            lines = self.path(record.get("parentId")) if record.get("parentId") is not None else lines
            index = next((n for n, (line_id, _, _) in enumerate(lines) if line_id == first), len(lines))
        if not isinstance(index, int) or isinstance(index, bool):
            index = len(lines)
        return [found for _, _, events in lines[max(index, 0) :] for found in events]

    def path(self, last):
        """The lines from the file's beginning to the one with the id `last`, without branches that were left."""
        places, found = {line[0]: line for line in self.all}, []
        while last in places:
            found.append(places.pop(last))  # taken out, so that a circle of ids ends
            last = found[-1][1]
        return found[::-1]


def line(record, lines, tally):
    kind, time = record.get("type"), record.get("timestamp")
    if kind == "message":
        yield from message(record["message"], time, tally)
    elif kind == "compaction":
        summary = record.get("summary")
        if isinstance(summary, str) and summary.strip():
            kept = as_messages(lines.kept(record))
            yield compaction(summary, time, [{"role": "user", "content": summary}, *kept])
        else:
            tally.note("compaction without a summary")
            yield compaction(None, time)
    elif kind == "custom_message":
        tally.left_out("text that the tool put under the user's role")
    elif kind in QUIET:
        tally.left_out(f"{kind} line")
        if kind == "session" and (record.get("branchedFrom") or record.get("parentSession")):
            tally.note("fork of a session: lines older than this one were copied from it")
    else:
        tally.unread(f"line of unknown type {kind!r}")


def message(value, time, tally):
    role, content = value.get("role"), value.get("content")
    if role == "user":
        words = own_words(text_of(content, tally))
        if words.strip():
            yield event("user", time, content=words)
        else:
            tally.left_out("empty text")
    elif role == "assistant":
        yield from reply(content, time, tally)
        if value.get("stopReason") in ("aborted", "error"):
            tally.note(f"reply that ended as {value['stopReason']}")
            yield event("interrupted")
    elif role == "toolResult":
        yield event("tool_result", time, content=text_of(content, tally), call_id=value.get("toolCallId"))
    elif role == "bashExecution":
        yield event("user", time, content=str(value.get("command", "")), origin="shell")
        tally.left_out("output of a command that the user ran")
    elif role in ("custom", "hookMessage", "branchSummary", "compactionSummary"):
        tally.left_out("text that the tool put under the user's role")
    else:
        tally.unread(f"message of unknown role {role!r}")


def reply(content, time, tally):
    key = f"{tally.place}"
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            if block["text"].strip():
                yield event("assistant", time, content=block["text"], reply_key=key)
            else:
                tally.left_out("empty text")
        elif kind == "toolCall":
            yield event("tool_call", time, name=block.get("name"), arguments=arguments(block.get("arguments")),
                        call_id=block.get("id"), reply_key=key)
        elif kind == "thinking":
            tally.left_out("thinking")
        else:
            tally.unread(f"assistant block of unknown type {kind!r}")


def as_messages(events):
    """Raw events as chat messages; calls and results keep their ids, other kinds are left out."""
    messages = []
    for found in events:
        kind = found["kind"]
        if kind in ("user", "assistant"):
            messages.append({"role": kind, "content": found["content"]})
        elif kind == "tool_call":
            given = found["arguments"] if isinstance(found["arguments"], dict) else {"input": found["arguments"]}
            call = {"id": str(found["call_id"]), "type": "function",
                    "function": {"name": str(found["name"]), "arguments": given}}
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "tool_result":
            messages.append({"role": "tool", "tool_call_id": str(found["call_id"]), "content": found["content"]})
    return messages
