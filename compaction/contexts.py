"""The contexts that compactions leave: of a conversation grown here, or recorded by another system in any language.

Does not shrink anything itself (compactors.py) or check what is left (fixtures/items.py).

context  {"conversation_id", "compaction" (from 1), "turn" (the user turn it was made at: items of earlier turns were
         stated before it), "tokens" (None: not known), "inside", "opaque", "failed", "messages"}

A conversation is compacted when its rendered context with the next user message exceeds the available input. The
compactor gets what its last compaction left and the messages since, nothing older, the user message last, and the lab's
budget with `keep_share` of the available input. What it left is carried as it stands, the user message put last if it
left that out. Above the model's window it has failed: no request can hold that, and the conversation ends there.

A recorded line is {"conversation_id", "compaction" (number, from 1), "messages"}, and optionally
turn          the user turn, from 1, that it was made for; else the one turn whose user message is its last paragraph;
              else the last context of a conversation is checked for every item, an earlier one counted as unplaced
inside        true where it was made inside the turn before `turn`: of that one only the user's words surely came before
opaque        true where it cannot be read, or not wholly; then messages may be left out
tokens_after  tokens of the whole first request after it, as its server counted them; without it the messages are
              counted, and where they are not the whole request (`inside`) the size is not known
A line of a conversation without a fixture is counted. Of an event log of compaction.sessions the compactions are read.
"""

import copy
import hashlib
from collections import Counter
from itertools import pairwise

from base.command import InputError, progress, whole_characters
from base.lines import stream
from base.own_code import call_own
from base.shapes import NONE, Only, misfit
from base.turns import message_problem
from compaction.fixtures.form import positive
from strategies import available, turn_messages

KEEP_SHARE = 0.5
BUDGET = {"context_limit": 4096, "max_new_tokens": 512, "margin": 64}
LINE = Only({"conversation_id": str, "compaction": positive, "messages?": list, "turn?": positive, "inside?": bool,
             "opaque?": bool, "tokens_after?": positive})
EVENT = {"turn": int, "content?": (str, NONE), "kept?": [{"content": str}], "opaque?": (bool, NONE)}


def grow_all(fixtures, compactor, name, budget, count, keep_share):
    """Every context that a compactor of that name leaves while each conversation grows. InputError where one compacted
    less often than its fixture expects and did not fail: its items were hardly tested."""
    contexts, short = [], []
    for fixture in progress(fixtures, desc=name, unit="conversation"):
        made, expected = grow(fixture, compactor, budget, count, keep_share), fixture["compactions_expected"]
        contexts += made
        if len(made) < expected and not (made and made[-1]["failed"]):
            short.append(f"{fixture['conversation_id']}: {len(made)} of {expected}")
    if short:
        raise InputError(f"{name}: compacted less often than the fixtures expect: {'; '.join(short)}; use a smaller "
                         "budget or lower compactions_expected")
    return contexts


def grow(fixture, compactor, budget, count, keep_share=KEEP_SHARE):
    """Every context that `compactor` leaves while the fixture's conversation grows turn by turn."""
    limit = available({"budget": budget})
    smaller = budget | {"context_limit": budget["context_limit"] - limit + int(limit * keep_share)}
    context, contexts = [], []
    for number, turn in enumerate(fixture["history"], 1):
        current, *rest = turn_messages(turn)
        grown = [*context, current]
        if context and count(grown) > limit:
            place = f"{fixture['conversation_id']}: compaction {len(contexts) + 1} (turn {number})"
            left = call_own(compactor, f"{place}: the compactor", copy.deepcopy(grown), dict(smaller), count)
            check_messages(left, f"{place}: what the compactor returned")
            grown = copy.deepcopy(left)  # neither side may change what the other has
            if grown[-1]["role"] != "user" or not grown[-1]["content"].endswith(current["content"]):
                grown.append(current)
            tokens = context_tokens(grown, count, place)
            failed = tokens > budget["context_limit"]
            contexts.append({"conversation_id": fixture["conversation_id"], "compaction": len(contexts) + 1,
                             "turn": number, "tokens": tokens, "inside": False, "opaque": False, "failed": failed,
                             "messages": grown})
            if failed:  # a compactor whose output grows would go on growing with every turn
                break
        context = [*grown, *rest]
    return contexts


def check_messages(messages, place):
    """InputError for what is no list of at least one chat message."""
    if not isinstance(messages, list) or not messages:
        raise InputError(f"{place}: no list of messages; give at least one")
    for number, message in enumerate(messages, 1):
        if problem := message_problem(message, f"{place}: message {number}"):
            raise InputError(f"{problem}; correct it")


def context_tokens(messages, count, place):
    """Tokens of a context; InputError that names its place where the model's template refuses it."""
    try:
        return count(messages)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def read_contexts(path, fixtures, count):
    """(contexts, {"unplaced", "unannotated"}: lines not checked, SHA-256 of what was read) of a file of JSON lines.

    InputError names the line that is no context. The file is read once: it may be a pipe.
    """
    known = {fixture["conversation_id"]: fixture for fixture in fixtures}
    lines, events, others, digest = {}, Counter(), 0, hashlib.sha256()
    for place, line in stream(path, digest):
        if isinstance(line, dict) and "kind" in line:
            name = line.get("conversation_id")
            if line["kind"] != "compaction" or not isinstance(name, str) or name not in known:
                continue  # an event log holds more than the annotated conversations
            events[name] += 1
            line = from_event(line, events[name], place)
        if problem := misfit(line, LINE, place):
            raise InputError(f"{problem}; write it as contexts.py says")
        if line.get("messages") or not line.get("opaque"):
            check_messages(line.get("messages"), place)
        key = name, number = line["conversation_id"], line["compaction"]
        if name not in known:
            others += 1
            continue
        if line.get("turn", 1) > known[name]["turns"] + 1:
            raise InputError(f"{place}: was made at turn {line['turn']}, the fixture of {name} has "
                             f"{known[name]['turns']}; correct the turn or make the fixture of the whole conversation")
        if key in lines:
            raise InputError(f"{place}: compaction {number} of {name} stands twice; remove one")
        lines[key] = place, line
    if not lines:
        raise InputError(f"{path}: no context of an annotated conversation; record some or name other --fixtures")
    last = dict(sorted(lines))
    placed = [placed_context(*lines[name, number], number == last[name], known[name], count)
              for name, number in sorted(lines)]
    contexts = [context for context in placed if context["turn"]]
    for before, context in pairwise(contexts):
        name, number = context["conversation_id"], context["compaction"]
        if name == before["conversation_id"] and context["turn"] < before["turn"]:
            raise InputError(f"{lines[name, number][0]}: compaction {number} of {name} at turn {context['turn']} comes "
                             f"after one at turn {before['turn']}; correct the turns or number them in order")
    return contexts, {"unplaced": len(placed) - len(contexts), "unannotated": others}, digest.hexdigest()


def from_event(event, number, place):
    """The line for a compaction event of a log: its turn had begun, so it is the next one's, made inside that turn."""
    event = whole_characters(event)
    if problem := misfit(event, EVENT, place):
        raise InputError(f"{problem}; sessions/README.md says what an event holds")
    messages, summary = event.get("kept", []), event.get("content")
    if summary and not any(summary in message["content"] for message in messages):
        messages = [{"role": "user", "content": summary}, *messages]
    tokens = {"tokens_after": event["tokens_after"]} if event.get("tokens_after") is not None else {}
    return {"conversation_id": event["conversation_id"], "compaction": number, "turn": event["turn"] + 1,
            "inside": True, **tokens, "messages": messages, "opaque": bool(event.get("opaque")) or not messages}


def placed_context(place, line, is_last, fixture, count):
    """The context of a line; its turn is None where nothing says which items were stated before it."""
    messages, inside, opaque = line.get("messages", []), line.get("inside", False), line.get("opaque", False)
    turn, tokens = line.get("turn"), line.get("tokens_after")
    if turn is None:
        ends = f"\n\n{messages[-1]['content']}".rstrip() if messages and messages[-1]["role"] == "user" else ""
        said = [turn["user"].strip() for turn in fixture["history"]]
        longest = max((words for words in said if ends.endswith(f"\n\n{words}")), key=len, default="")
        turn = said.index(longest) + 1 if said.count(longest) == 1 else fixture["turns"] + 1 if is_last else None
    if tokens is None and not (inside or opaque):
        tokens = context_tokens(messages, count, place)
    return {"conversation_id": line["conversation_id"], "compaction": line["compaction"], "turn": turn,
            "tokens": tokens, "inside": inside, "opaque": opaque, "failed": False, "messages": messages}


def as_messages(events, name=str):
    """(chat messages of events of one conversation, results left out since no call of these asks for them).
    as_messages([{"kind": "user", "content": "Hi"}]) -> ([{"role": "user", "content": "Hi"}], 0)
    A result stands behind the message that calls. `name` gives a call its new id: one that a tool uses twice is two.
    """
    groups, calls, left_out = [], {}, 0  # a group: a message, and behind one that calls the results
    for event in events:
        kind, content, given = event["kind"], event.get("content") or "", event.get("arguments")
        if kind in ("user", "assistant"):
            groups.append([{"role": kind, "content": content}])
        elif kind == "tool_call":
            if not groups or groups[-1][-1]["role"] != "assistant":
                groups.append([{"role": "assistant", "content": ""}])
            call_id = name(event.get("call_id"))
            if event.get("call_id") is not None:
                calls[event["call_id"]] = call_id, groups[-1]
            function = {"name": str(event.get("name") or "unnamed"),
                        "arguments": given if isinstance(given, dict) else {"input": given}}
            groups[-1][0].setdefault("tool_calls", []).append({"id": call_id, "type": "function", "function": function})
        elif event.get("call_id") in calls:
            call_id, group = calls.pop(event["call_id"])
            group.append({"role": "tool", "tool_call_id": call_id, "content": content})
        else:
            left_out += 1
    return [message for group in groups for message in group], left_out
