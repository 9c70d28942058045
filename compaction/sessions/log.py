"""The event log that recorded sessions are turned into: its events, their numbers, and the count of what is not in it.

event   {"conversation_id", "turn", "reply", "kind", then "content", or "name" and "arguments"; "call_id", "opaque",
         "time", "origin", "interrupted", "copied" where there is something to say}
kind    user, assistant, tool_call, tool_result, compaction
turn    number of the user turn, from 1; text that a tool put under the user's role is no turn
reply   number of the model's reply in the conversation, from 1; 0 before the first
origin  where a user's words stood when not in a message of their own: "refusal" (inside a refused tool result),
        "queue", "command" (arguments of a slash command), "shell" (a command that the user ran), or "agent":
        the turn was given by another agent
"""

import re
from datetime import datetime, timezone

FIELDS = ("content", "name", "arguments", "call_id", "opaque", "time", "origin", "interrupted", "copied")


class Tally:
    """What did not become an event, by group and kind, with the places (line numbers; in a document, messages).

    Groups: `unread` (could not be read, or its shape is unknown), `left_out` (known, and no event by intent),
    `noted` (is in the log, but odd).
    """

    def __init__(self):
        self.groups = {"unread": {}, "left_out": {}, "noted": {}}
        self.told = 0  # how often something was counted, or kept back for a later event
        self.place = 0  # the line being read, so that the readers need not pass it
        self.copied = False  # whether that line repeats one of a conversation read before
        self.known_sessions = frozenset()  # ids of the other sessions of this import, lower case

    def add(self, group, kind, place=None):
        """Count one `kind` at `place` (the line being read when not given)."""
        place = self.place if place is None else place
        self.told += 1
        spans = self.groups[group].setdefault(kind, [0, []])
        spans[0] += 1
        if spans[1] and spans[1][-1][1] in (place, place - 1):
            spans[1][-1][1] = place
        else:
            spans[1].append([place, place])

    def unread(self, kind, place=None):
        self.add("unread", kind, place)

    def left_out(self, kind, place=None):
        self.add("left_out", kind, place)

    def note(self, kind, place=None):
        self.add("noted", kind, place)

    def kept_back(self):
        """The record being read becomes an event later, with another record."""
        self.told += 1

    def summary(self):
        """{"unread": {kind: {"count", "at": "3,7-9"}}, "left_out": …, "noted": …}, kinds in order of name."""
        return {
            group: {kind: {"count": count, "at": spans_text(spans)} for kind, (count, spans) in sorted(kinds.items())}
            for group, kinds in self.groups.items()}


def spans_text(spans):
    """[[3, 3], [7, 9]] as "3,7-9"."""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def number(conversation_id, raw_events, tally):
    """Yield the events of one conversation with its id, turn and reply; `raw_events` hold kind and fields.

    A raw event may name its reply ("reply_key": equal key, equal reply). Without a key a reply begins at the first
    assistant text or call after anything else. "interrupted" is set on a user event that follows a broken-off reply.
    """
    turn = reply = 0
    key, last, interrupted, open_calls = None, None, False, {}
    for raw in raw_events:
        kind = raw["kind"]
        if kind == "interrupted":
            interrupted = True
            continue
        if kind == "user":
            turn += 1
            if interrupted:
                raw["interrupted"] = True
            interrupted = False
        elif kind in ("assistant", "tool_call"):
            new = raw.get("reply_key")
            if (new != key) if new is not None and key is not None else last not in ("assistant", "tool_call"):
                reply += 1
            key, interrupted = new, False
        if raw.get("call_id") is not None and not isinstance(raw["call_id"], str):
            raw["call_id"] = str(raw["call_id"])
        if kind == "tool_call" and not isinstance(raw.get("name"), str):
            tally.note("call without a name")
            raw["name"] = "" if raw.get("name") is None else str(raw["name"])
        if kind == "tool_call" and raw.get("call_id") is not None:
            if raw["call_id"] in open_calls:
                tally.note("call without a result", open_calls[raw["call_id"]])
            open_calls[raw["call_id"]] = tally.place
        elif kind == "tool_result" and open_calls.pop(raw.get("call_id"), None) is None:
            tally.note("result without a call")
        last = kind
        if tally.copied:
            raw["copied"] = True
        event = {"conversation_id": conversation_id, "turn": max(turn, 1), "reply": reply, "kind": kind}
        event.update((field, raw[field]) for field in FIELDS if raw.get(field) is not None)
        yield event, raw.get("context")
    for place in open_calls.values():
        tally.note("call without a result", place)


def each(messages, tally):
    """The messages of a document that are objects, the place set to each one's number."""
    if not isinstance(messages, list):
        tally.unread("conversation without a list of messages")
        return
    for tally.place, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield message
        else:
            tally.unread("message that is no object")


SHAPE_ERRORS = (AttributeError, TypeError, KeyError, ValueError, IndexError)


def whole(read, tally):
    """The events that `read()` yields for one record; where its shape is not as known none, and a count.

    A record of which neither an event comes nor anything was counted is counted here: nothing is dropped in silence.
    """
    before = tally.told
    try:
        found = list(read())
        if not found and tally.told == before:
            tally.left_out("record with nothing in it to read")
        return found
    except (
        SHAPE_ERRORS
    ) as error:  # any: a record of a shape that nobody has seen must not end the reading of the others
        tally.unread(f"record of unknown shape ({type(error).__name__})")
        return []


def event(kind, time=None, **fields):
    """A raw event: kind, time as ISO text where known, and the fields that the kind has."""
    return {"kind": kind, "time": iso_time(time), **fields}


def compaction(summary, time=None, context=None):
    """A raw compaction event; `summary` None means that it cannot be read. `context`: the messages that were left."""
    if summary is None:
        return event("compaction", time, opaque=True, context=context or [])
    return event("compaction", time, content=summary, context=context or [{"role": "user", "content": summary}])


def iso_time(value):
    """ISO 8601 text for an ISO text or a number of seconds or milliseconds since 1970; None for anything else."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    seconds = value / 1000 if abs(value) > 1e11 else value
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(content, tally):
    """The text of a message's or result's content: a string, or blocks, whose texts are joined by line ends.

    A block that is no text (an image, a file) is counted as left out; a shape that is unknown as unread.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        tally.unread(f"content of type {type(content).__name__}")
        return ""
    parts = []
    for block in content:
        text = block if isinstance(block, str) else block_text(block)
        if text is None:
            kind = block.get("type") or next(iter(block), "empty") if isinstance(block, dict) else type(block).__name__
            tally.left_out(f"block without text: {kind}")
        else:
            parts.append(text)
    return "\n".join(parts)


def block_text(block):
    """The text of one content block, or None when it holds none."""
    if not isinstance(block, dict):
        return None
    for field in ("text", "result", "output"):  # result: how Cline writes each part of a tool's answer
        if isinstance(block.get(field), str):
            return block[field]
    return None


TAGS = "|".join(
    ("system-reminder system_reminder local-command-stdout local-command-stderr local-command-caveat bash-stdout "
     "bash-stderr task-notification ide_opened_file ide_selection ide_diagnostics user-prompt-submit-hook "
     "environment_context environment_details user_instructions subagent_notification turn_aborted skill "
     "hook_context current_datetime teammate-message cross-session-message session_context explicit_instructions "
     "file_content folder_content url_content command-message command-contents permissions_instructions "
     "INSTRUCTIONS").split())
INJECTED = re.compile(rf"<({TAGS})(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
MACHINE = re.compile(r"\s*(?:# AGENTS\.md instructions|# CLAUDE\.md|Caveat: The messages below were generated|"
                     r"This is the Gemini CLI\. We are setting up the context|Here is the user's editor context|"
                     r"System: Please continue\.|Stop hook feedback:|SessionStart:\S* hook|\[SYSTEM NOTIFICATION)")


CONTINUED = "This session is being continued from a previous conversation"  # how a summary begins in two tools
EDITOR_REQUEST = re.compile(r"\A# Context from my IDE setup:.*?^## My request for \w+:\s*", re.DOTALL | re.MULTILINE)


def own_words(text):
    """What a user wrote in `text`: without what tools put around it; "" when nothing of it is the user's.

    A tag counts only where a line begins with it: a user who asks about <skill> tags in a sentence keeps the words.
    """
    if MACHINE.match(text):
        return ""
    text = EDITOR_REQUEST.sub("", text)
    if not text.lstrip().startswith("<") and "\n<" not in text:
        return text
    kept = INJECTED.sub(
        lambda m: (
            ""
            if m.start() == 0 or text[: m.start()].rstrip(" \t").endswith(("\n", ">")) or not text[: m.start()].strip()
            else m.group(0)),
        text)
    return text if kept == text else kept.strip()
