"""Read contexts that another system recorded, so that a compactor in any language can be checked.

Does not compact or check anything.

A line is {"conversation_id", "compaction" (number, from 1), "messages"}, and optionally
turn    the user turn, from 1, that it was made for: items of earlier turns were stated before it. Without it that is
        the turn whose user message the context ends with; where that is no single turn, the last context of a
        conversation is checked for every item, and an earlier one is counted as unplaced and not checked
inside  true where it was made inside the turn before `turn`: of that one only the user's words surely came before
opaque  true where it cannot be read, or not wholly; then messages may be left out
A line of a conversation that no fixture describes is counted and not checked.
The event log that sessions/__main__.py writes is read too: its compaction events are the contexts.
"""

from base.lines import stream
from base.turns import message_problem

from base.command import InputError, file_hash

FIELDS = ("conversation_id", "compaction", "messages", "turn", "inside", "opaque")


def read_contexts(path, fixtures, count):
    """(contexts as growth.py makes them, {"unplaced", "unannotated"}: lines not checked); InputError names the line."""
    known = {fixture["conversation_id"]: fixture for fixture in fixtures}
    found, seen, events, others = [], set(), {}, 0
    for place, line in stream(path):
        if isinstance(line, dict) and "kind" in line:
            if line["kind"] != "compaction" or line.get("conversation_id") not in known:
                continue  # an event log holds more than the annotated conversations
            events[line["conversation_id"]] = events.get(line["conversation_id"], 0) + 1
            line = from_event(line, events[line["conversation_id"]])
        check_context(line, place)
        if line["conversation_id"] not in known:
            others += 1
            continue
        turns = known[line["conversation_id"]]["turns"]
        if (line.get("turn") or 0) > turns + 1:
            raise InputError(
                f"{place}: was made at turn {line['turn']}, the fixture of {line['conversation_id']} has {turns}; "
                "correct the turn or make the fixture of the whole conversation")
        key = line["conversation_id"], line["compaction"]
        if key in seen:
            raise InputError(f"{place}: compaction {key[1]} of {key[0]} stands twice; remove one")
        seen.add(key)
        found.append(line)
    if not found:
        raise InputError(f"{path}: no context of an annotated conversation; record some or name other --fixtures")
    found.sort(key=lambda one: (one["conversation_id"], one["compaction"]))
    last = {one["conversation_id"]: one["compaction"] for one in found}
    placed = [one
              for line in found
              if (one := placed_context(line, line["compaction"] == last[line["conversation_id"]], known, count))]
    return placed, {"unplaced": len(found) - len(placed), "unannotated": others}, file_hash(path)


def from_event(event, number):
    """The context that a compaction event left: its text as one user message. It fell inside its turn."""
    text, turn = event.get("content") or "", event.get("turn")
    opaque = bool(event.get("opaque"))
    messages = [{"role": "user", "content": text}] if text else []
    return {"conversation_id": event["conversation_id"], "compaction": number,
            "turn": turn + 1 if isinstance(turn, int) else turn, "inside": True, "messages": messages,
            "opaque": opaque or not messages}


def check_context(line, place):
    """Refuse a line that is no context."""
    if not isinstance(line, dict):
        raise InputError(f"{place}: is no JSON object; give conversation_id, compaction and messages")
    for field in ("inside", "opaque"):
        if not isinstance(line.get(field, False), bool):
            raise InputError(f"{place}: {field} is {line[field]!r}; write true or false")
    for field in line:
        if field not in FIELDS:
            raise InputError(f"{place}: field {field!r} is not one that anything reads; use {', '.join(FIELDS)}")
    name, number, turn = line.get("conversation_id"), line.get("compaction"), line.get("turn")
    if not isinstance(name, str):
        raise InputError(f"{place}: conversation_id is {name!r}; give the fixture's")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(f"{place}: compaction is {number!r}; give its number, from 1")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 1):
        raise InputError(f"{place}: turn is {turn!r}; give the user turn it was made at, from 1, or leave it out")
    messages = line.get("messages", [] if line.get("opaque") else None)
    if not isinstance(messages, list) or not (messages or line.get("opaque")):
        raise InputError(f"{place}: messages must be a list of at least one message (or mark the line opaque)")
    for position, message in enumerate(messages, 1):
        problem = message_problem(message, f"message {position}")
        if problem:
            raise InputError(f"{place}: {problem}; write it as a chat message")


def placed_context(line, is_last, known, count):
    """The context with its turn and tokens, or None where nothing says which items were stated before it."""
    fixture, opaque, messages = known[line["conversation_id"]], bool(line.get("opaque")), line.get("messages", [])
    turn = line.get("turn") or ending_turn(messages, fixture["history"])
    if turn is None and is_last:
        turn = fixture["turns"] + 1
    if turn is None:
        return None
    return {"conversation_id": line["conversation_id"], "compaction": line["compaction"], "turn": turn,
            "inside": bool(line.get("inside")), "messages": messages, "tokens": None if opaque else count(messages),
            "opaque": opaque}


def ending_turn(messages, history):
    """The number of the one turn whose user message the context ends with, or None."""
    if not messages or messages[-1]["role"] != "user":
        return None
    found = [number for number, turn in enumerate(history, 1) if messages[-1]["content"].endswith(turn["user"])]
    return found[0] if len(found) == 1 else None
