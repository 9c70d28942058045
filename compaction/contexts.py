"""Read contexts that another system recorded, so that a compactor in any language can be checked.

A line is {"conversation_id", "compaction" (number, from 1), "messages"}, and optionally
turn          the user turn, from 1, that it was made for: items of earlier turns were stated before it. Without it that
              is the turn whose user message the context ends with; where that is no single turn, the last context of a
              conversation is checked for every item, and an earlier one is counted as unplaced and not checked
inside        true where it was made inside the turn before `turn`: of that one only the user's words surely came before
opaque        true where it cannot be read, or not wholly; then messages may be left out
tokens_after  tokens of the whole first request after it, as its server counted them; without it the messages are
              counted, and where they are not the whole request (`inside`) the size is not known
A line of a conversation that no fixture describes is counted and not checked.
The event log of compaction.sessions is read too: its compaction events are the contexts.
"""

import hashlib
from collections import Counter

from base.command import InputError
from base.lines import stream
from base.shapes import Only, misfit
from base.turns import message_problem
from compaction.fixtures.form import positive
from compaction.growth import counted

LINE = Only({"conversation_id": str, "compaction": positive, "messages?": list, "turn?": positive, "inside?": bool,
             "opaque?": bool, "tokens_after?": positive})
EVENT = {"turn": int, "content?": (str, type(None)), "kept?": [{"content": str}], "opaque?": (bool, type(None))}


def read_contexts(path, fixtures, count):
    """(contexts as growth.py makes them, {"unplaced", "unannotated"}: lines not checked, SHA-256 of what was read).

    InputError names the line that is none. The file is read once: it may be a pipe.
    """
    known = {fixture["conversation_id"]: fixture for fixture in fixtures}
    lines, events, others, digest = {}, Counter(), 0, hashlib.sha256()
    for place, line in stream(path, digest):
        if isinstance(line, dict) and "kind" in line:
            if line["kind"] != "compaction" or line.get("conversation_id") not in known:
                continue  # an event log holds more than the annotated conversations
            events[line["conversation_id"]] += 1
            line = from_event(line, events[line["conversation_id"]], place)
        check_line(line, place)
        if line["conversation_id"] not in known:
            others += 1
            continue
        turns = known[line["conversation_id"]]["turns"]
        if line.get("turn", 1) > turns + 1:
            raise InputError(
                f"{place}: was made at turn {line['turn']}, the fixture of {line['conversation_id']} has {turns}; "
                "correct the turn or make the fixture of the whole conversation")
        key = line["conversation_id"], line["compaction"]
        if key in lines:
            raise InputError(f"{place}: compaction {key[1]} of {key[0]} stands twice; remove one")
        lines[key] = (place, line)
    if not lines:
        raise InputError(f"{path}: no context of an annotated conversation; record some or name other --fixtures")
    last = {name: number for name, number in sorted(lines)}
    placed = [placed_context(line, place, number == last[name], known[name], count)
              for (name, number), (place, line) in sorted(lines.items(), key=lambda entry: entry[0])]
    contexts = [context for context in placed if context]
    return contexts, {"unplaced": len(placed) - len(contexts), "unannotated": others}, digest.hexdigest()


def from_event(event, number, place):
    """The line for a compaction event of a log: its turn had begun, so it is the next one's, made inside that turn."""
    if problem := misfit(event, EVENT, place):
        raise InputError(f"{problem}; sessions/README.md says what an event holds")
    messages, summary = event.get("kept", []), event.get("content")
    if summary and not any(summary in message["content"] for message in messages):
        messages = [{"role": "user", "content": summary}, *messages]
    tokens = {"tokens_after": event["tokens_after"]} if event.get("tokens_after") is not None else {}
    return {"conversation_id": event["conversation_id"], "compaction": number, "turn": event["turn"] + 1,
            "inside": True, **tokens, "messages": messages, "opaque": bool(event.get("opaque")) or not messages}


def check_line(line, place):
    """Refuse a line that is no context."""
    problem = misfit(line, LINE, place)
    if not problem and not line.get("messages") and not line.get("opaque"):
        problem = f"{place}: messages must be a list of at least one message, unless the line is marked opaque"
    for position, message in enumerate([] if problem else line.get("messages", []), 1):
        problem = problem or message_problem(message, f"{place}: message {position}")
    if problem:
        raise InputError(f"{problem}; write it as contexts.py says")


def placed_context(line, place, is_last, fixture, count):
    """The context with its turn and tokens, or None where nothing says which items were stated before it."""
    messages, inside, opaque = line.get("messages", []), line.get("inside", False), line.get("opaque", False)
    turn = line.get("turn") or ending_turn(messages, fixture["history"]) or (fixture["turns"] + 1 if is_last else None)
    tokens = line.get("tokens_after")
    if tokens is None and not (inside or opaque):
        tokens = counted(messages, count, place)
    return turn and {"conversation_id": line["conversation_id"], "compaction": line["compaction"], "turn": turn,
                     "inside": inside, "messages": messages, "tokens": tokens, "opaque": opaque}


def ending_turn(messages, history):
    """The number of the one turn whose user message the context ends with, or None."""
    if not messages or messages[-1]["role"] != "user":
        return None
    turns = [number for number, turn in enumerate(history, 1) if messages[-1]["content"].endswith(turn["user"])]
    return turns[0] if len(turns) == 1 else None


def as_messages(events, name=str):
    """(chat messages of events of one conversation, results left out since no call of these asks for them).

    A result stands behind the message that calls. `name` gives a call its new id: one that a tool uses twice is two.
    """
    groups, names, left_out = [], {}, 0  # a group: a message, and behind one that calls the results
    for one in events:
        content = one.get("content") or ""
        if one["kind"] == "tool_call":
            given = one.get("arguments")
            if not groups or groups[-1][-1]["role"] != "assistant":
                groups.append([{"role": "assistant", "content": ""}])
            call_id = name(one.get("call_id"))
            names[one.get("call_id")] = call_id, groups[-1]
            function = {"name": str(one.get("name")),
                        "arguments": given if isinstance(given, dict) else {"input": given}}
            groups[-1][0].setdefault("tool_calls", []).append({"id": call_id, "type": "function", "function": function})
        elif one["kind"] in ("user", "assistant"):
            groups.append([{"role": one["kind"], "content": content}])
        elif one.get("call_id") in names:
            call_id, group = names.pop(one["call_id"])
            group.append({"role": "tool", "tool_call_id": call_id, "content": content})
        else:
            left_out += 1
    return [message for group in groups for message in group], left_out
