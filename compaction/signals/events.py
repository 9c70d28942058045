"""Read an event log in one pass and hand each conversation's events to what watches it.

Conversations may be mixed in the log; the `open_at_once` most recent are kept.
Events of one that was closed before are counted and not read, since half a conversation would be judged as a whole.
"""

import json
import re
from collections import OrderedDict
from datetime import datetime, timezone

from base.command import InputError

KINDS = ("user", "assistant", "tool_call", "tool_result", "compaction")
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # how a half of a surrogate pair is written, or a whole pair
DECODE = json.JSONDecoder().decode  # json.loads would look for the encoding of each line first
REMEMBERED = 10_000  # ids of closed conversations; one that comes again after that many others is taken for a new one


def read_events(lines, path):
    """The events of an iterable of JSON lines (bytes), or InputError naming the first line that is none."""
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8").strip()
            if not text or text == "\ufeff":
                continue
            event = DECODE(text.removeprefix("\ufeff"))
            if HALF.search(text):  # as "?": UTF-8, which the report is written in, cannot hold half a pair
                event = DECODE(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {number}: not JSON: {error}; correct or remove the line") from None
        problem = problem_of(event)
        if problem:
            raise InputError(f"{path}: line {number}: {problem}; sessions/__main__.py writes such lines")
        yield event


def problem_of(event):
    """What is wrong with the shape of an event, or None."""
    if not isinstance(event, dict):
        return "is no JSON object"
    if not isinstance(event.get("conversation_id"), str) or not event["conversation_id"]:
        return "field 'conversation_id' must be a text"
    if event.get("kind") not in KINDS:
        return f"kind is {event.get('kind')!r}; use {', '.join(KINDS)}"
    for field in ("turn", "reply"):
        if type(event.get(field)) is not int or event[field] < 0:
            return f"field {field!r} is {event.get(field)!r}; give a whole number"
    if event["kind"] in ("user", "tool_result") and not isinstance(event.get("content"), str):
        return "field 'content' must be a text"
    if event["kind"] == "tool_call" and not isinstance(event.get("name"), str) and "arguments" not in event:
        return "a tool call needs name and arguments"
    return None


def each_conversation(events, start, open_at_once, counts):
    """Yield each conversation's watcher when it ends: `start(id)` makes one, its `take(event)` gets every event.

    `counts` gets "events", "conversations", "events of conversations closed before" and "conversations begun midway".
    """
    opened, closed = OrderedDict(), OrderedDict()
    for event in events:
        counts["events"] += 1
        name = event["conversation_id"]
        watcher = opened.get(name)
        if watcher is None:
            if name in closed:
                counts["events of conversations closed before"] += 1
                continue
            counts["conversations"] += 1
            counts["conversations begun midway"] += event["turn"] > 1
            watcher = opened[name] = start(name)
            if len(opened) > open_at_once:
                old, ended = opened.popitem(last=False)
                closed[old] = None
                if len(closed) > REMEMBERED:
                    closed.popitem(last=False)
                yield ended
        elif open_at_once > 1:
            opened.move_to_end(name)
        watcher.take(event)
    yield from opened.values()


def moment(text):
    """A time as a datetime with its zone (UTC where none is named), or None for what is no ISO 8601 time."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=timezone.utc) if found is not None and found.tzinfo is None else found
