"""The event log that recorded sessions are turned into: its events, their numbers, lines read, and what is not in it.

event   one JSON line with "conversation_id", "turn", "reply", "kind" and what its kind has:
        user         "content" (a person's own words); "interrupted": true where they broke a reply off; "origin" where
                     they stood elsewhere: "refusal" (in a refused tool result), "queue", "command" (behind a slash),
                     "answer" (to a question that a tool put), or "agent": another agent gave the turn
        assistant    "content"
        tool_call    "name", "arguments" (any JSON value), "call_id"
        tool_result  "content", "call_id" of its call
        compaction   "content" (the summary); "kept": messages that stand in the context word for word beside it;
                     "opaque": true where what was left cannot be read, or not all of it; "tokens_after": input tokens
                     of the first request after it, as the tool counted them
        each         "time" (ISO 8601); "copied": true for history that a fork took over from another conversation
turn    number of the user turn, from 1; text that a tool put under the user's role is no turn
reply   number of the model's reply in the conversation, from 1; 0 before the first
"""

import json
import re
from functools import partialmethod

from base.command import InputError, open_bytes, progress, whole_characters
from base.shapes import misfit, of_type

FIELDS = ("content", "name", "arguments", "call_id", "kept", "opaque", "tokens_after", "time", "origin", "interrupted",
          "copied")
KINDS = ("user", "assistant", "tool_call", "tool_result", "compaction")
EVENT = {"conversation_id": lambda name: isinstance(name, str) and name != "",
         **of_type(lambda number: type(number) is int and number >= 0, "turn reply"),
         "kind": lambda kind: kind in KINDS,
         **of_type(lambda text: text is None or isinstance(text, str), "content? call_id? origin? time?")}
NEEDED = {"user": "content", "tool_result": "content", "tool_call": "name"}  # a text that a kind cannot be without
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of one, alone or in a pair
DECODE = json.JSONDecoder().decode  # json.loads would look for the encoding of each line first
SHAPE_ERRORS = (AttributeError, TypeError, KeyError, ValueError, IndexError, RecursionError)


class Tally:
    """What did not become an event, by group and kind, with the places (line numbers; in a document, messages): what is
    `unread` (of unknown shape too), what is `left_out` (known, and no event by intent), what is odd and was `noted`."""

    def __init__(self, known_sessions=frozenset()):
        self.groups = {"unread": {}, "left_out": {}, "noted": {}}
        self.told = 0  # how often something was counted, or kept back for an event of a later record
        self.place = 0  # the line being read, so that the readers need not pass it
        self.copied = False  # whether that line repeats one of a conversation read before
        self.known_sessions = known_sessions  # ids of the other sessions of this import, lower case

    def add(self, group, kind, place=None):
        """Count one `kind` at `place` (the line being read when not given)."""
        place = self.place if place is None else place
        self.told += 1
        spans = self.groups[group].setdefault(kind, [])  # [first place, last place, count]
        if not spans or place not in (spans[-1][1], spans[-1][1] + 1):
            spans.append([place, place, 0])
        spans[-1][1:] = place, spans[-1][2] + 1

    unread = partialmethod(add, "unread")
    left_out = partialmethod(add, "left_out")
    note = partialmethod(add, "noted")

    def summary(self):
        """{"unread": {kind: {"count": 4, "at": "3,7-9"}}, "left_out": …, "noted": …}, kinds in order of name."""
        return {
            group: {kind: {"count": sum(count for *_, count in spans),
                           "at": ",".join(f"{a}-{b}" if a < b else str(a) for a, b, _ in spans)}
                    for kind, spans in sorted(kinds.items())}
            for group, kinds in self.groups.items()}


def number(conversation_id, raw_events, tally):
    """Yield the events of one conversation with its id, turn and reply; `raw_events` hold kind and fields.

    A raw event may name its reply ("reply_key": equal key, equal reply). Without a key a reply begins at the first
    assistant text or call after anything else. Two kinds become no event: "interrupted" marks the next user event,
    "request" tells the "tokens" of the request that the next reply answers. A compaction waits for that one.
    """
    turn = reply = 0
    key, last, interrupted, open_calls, waiting = None, None, None, {}, []
    for raw in raw_events:
        kind, call_id = raw["kind"], raw.get("call_id")
        if kind == "request" and waiting:
            waiting[0]["tokens_after"] = raw["tokens"]
        if kind in ("request", "interrupted"):
            interrupted = interrupted or kind == "interrupted" or None
            continue
        if kind == "user":
            turn += 1
            raw["interrupted"], interrupted = interrupted, None
        elif kind in ("assistant", "tool_call"):
            new = raw.get("reply_key")
            reply += new != key if None not in (new, key) else last not in ("assistant", "tool_call")
            key, interrupted = new, None
        if call_id is not None:
            raw["call_id"] = call_id = str(call_id)
        if kind == "tool_call":
            if not isinstance(raw.get("name"), str):
                tally.note("call without a name")
                raw["name"] = str(raw.get("name") or "")
            if call_id in open_calls:
                tally.note("call without a result", open_calls[call_id])
            if call_id is not None:
                open_calls[call_id] = tally.place
        elif kind == "tool_result" and open_calls.pop(call_id, None) is None:
            tally.note("result without a call")
        last = kind
        raw.setdefault("copied", tally.copied or None)
        event = {"conversation_id": conversation_id, "turn": max(turn, 1), "reply": reply, "kind": kind}
        event.update((field, raw[field]) for field in FIELDS if raw.get(field) is not None)
        if kind in ("assistant", "tool_call", "compaction"):
            yield from waiting
            waiting = []
        waiting.append(event)
        if waiting[0]["kind"] != "compaction":
            yield waiting.pop()
    yield from waiting
    for place in open_calls.values():
        tally.note("call without a result", place)


def attempt(tally, read, *record):
    """The events that `read` yields for one record; where its shape is not as known none, and a count. Nothing is
    dropped in silence: a record of which neither an event comes nor anything was counted is counted here."""
    before, events = tally.told, []
    try:
        events = list(read(*record))
    except SHAPE_ERRORS as error:  # a record of a shape that nobody has seen must not end the reading of the others
        tally.unread(f"record of unknown shape ({type(error).__name__})")
    if not events and tally.told == before:
        tally.left_out("record with nothing in it to read")
    return events


def event(kind, time=None, **fields):
    """A raw event: kind, time where it is a text, and the fields that the kind has."""
    return {"kind": kind, "time": time if isinstance(time, str) and time else None, **fields}


def compaction(summary, time=None, kept=(), opaque=False):
    """A raw compaction event; `summary` None means that it cannot be read."""
    return event("compaction", time, content=summary, kept=list(kept) or None, opaque=summary is None or opaque or None)


def log_line(value):
    """One JSON line as UTF-8; a lone surrogate, which UTF-8 cannot hold, stays as the escape it was read from."""
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "backslashreplace")


def read_log(path):
    """The events of a log file, one at a time."""
    try:
        with open_bytes(path) as file:
            yield from read_events(progress(file, desc=str(path), unit=" events"), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; name an event log") from None


def read_events(lines, path):
    """The events of an iterable of JSON lines (bytes), or InputError naming the first line that is none."""
    for count, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig").strip()
            if not text:
                continue
            event = DECODE(text)
            if SURROGATE.search(text):
                event = whole_characters(event)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {count}: not JSON: {error}; correct or remove the line") from None
        needed = NEEDED.get(event["kind"]) if (problem := misfit(event, EVENT, "the event")) is None else None
        if problem or needed and not isinstance(event.get(needed), str):
            raise InputError(f"{path}: line {count}: {problem or f'the event has no text in {needed!r}'}; "
                             "sessions/README.md says what an event holds")
        yield event


def each_conversation(events, start, open_at_once, counts):
    """Yield each conversation's watcher when it ends: `start(id)` makes one, its `take(event)` gets every event.

    Conversations may be mixed; the `open_at_once` most recent are kept. Events of one that was closed before are
    counted and not read: half a conversation would be judged as if it were all of it.
    """
    opened, closed = {}, set()  # the most recent last
    for event in events:
        name = event["conversation_id"]
        counts["events"] += 1
        counts["events of conversations closed before"] += name in closed
        if name in closed:
            continue
        if name not in opened:
            counts["conversations"] += 1
            counts["conversations begun midway"] += event["turn"] > 1
        opened[name] = opened.pop(name, None) or start(name)
        opened[name].take(event)
        if len(opened) > open_at_once:
            closed.add(old := next(iter(opened)))
            yield opened.pop(old)
    yield from opened.values()
