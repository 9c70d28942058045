"""Let a conversation grow and compact it whenever it no longer fits, as a running application would.

Does not shrink anything itself (compactors.py) or check what is left (items.py).

Invariants
- a conversation is compacted when its rendered context with the next user message exceeds the available input;
- the compactor gets what its last compaction left and the messages since, nothing older, the user message last;
- its budget is the lab's with less available input: `keep_share` of it, so that the conversation can go on growing;
- what it left is carried as it stands; the user message is put last if it left that out;
- the fixture is never changed, and neither is a context that was already reported;
- a context above the model's window is a failed compaction: no request can hold it, and its conversation ends there.

context  {"conversation_id", "compaction" (from 1), "turn" (the user turn it was made at: items of earlier turns are
         stated before it), "messages", "tokens", "failed"}
"""

import copy
from collections import Counter

from base.command import InputError
from base.own_code import call_own
from base.turns import message_problem
from strategies import available, turn_messages

KEEP_SHARE = 0.5
BUDGET = {"context_limit": 4096, "max_new_tokens": 512, "margin": 64}


def grow(fixture, compactor, budget, count, keep_share=KEEP_SHARE):
    """Every context that `compactor` leaves while the fixture's conversation grows turn by turn."""
    limit, smaller = available({"budget": budget}), smaller_budget(budget, keep_share)
    context, contexts = [], []
    for number, turn in enumerate(fixture["history"], 1):
        current, *rest = turn_messages(turn)
        grown = [*context, current]
        if context and count(grown) > limit:
            place = f"{fixture['conversation_id']}: compaction {len(contexts) + 1} (turn {number})"
            left = call_own(compactor, f"{place}: the compactor", copy.deepcopy(grown), dict(smaller), count)
            grown = with_current(check_messages(left, place), current)
            tokens = counted(grown, count, place)
            failed = tokens > budget["context_limit"]
            contexts.append(
                {"conversation_id": fixture["conversation_id"], "compaction": len(contexts) + 1, "turn": number,
                 "messages": grown, "tokens": tokens, "failed": failed})
            if failed:  # a compactor whose output grows would go on growing with every turn
                break
        context = [*grown, *rest]
    return contexts


def counted(messages, count, place):
    """Tokens of a context; InputError that names its place where the model's template refuses it."""
    try:
        return count(messages)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def smaller_budget(budget, keep_share):
    """The budget that a compactor is handed: `keep_share` of the available input, the rest as it is."""
    limit = available({"budget": budget})
    return budget | {"context_limit": budget["context_limit"] - limit + int(limit * keep_share)}


def check_messages(messages, place):
    """A deep copy of what a compactor returned, or InputError for what no request can hold."""
    problem = None if isinstance(messages, list) and messages else "the compactor returned no list of messages"
    for number, message in enumerate([] if problem else messages, 1):
        problem = problem or message_problem(message, f"message {number} of the compactor's")
    if problem:
        raise InputError(f"{place}: {problem}; return at least one chat message")
    return copy.deepcopy(messages)


def with_current(messages, current):
    """The messages, `current` put last unless the last one is a user message that ends with its words already."""
    last = messages[-1]
    if last["role"] == "user" and last["content"].endswith(current["content"]):
        return messages
    return [*messages, current]


def refuse_too_few(fixtures, contexts, what):
    """InputError where a conversation compacted less often than its fixture expects: its items were hardly tested.

    One that ended with a failed compaction may have had fewer.
    """
    made = Counter(context["conversation_id"] for context in contexts)
    failed = {context["conversation_id"] for context in contexts if context["failed"]}
    short = [f"{name}: {made[name]} of {fixture['compactions_expected']}"
             for fixture in fixtures
             if (name := fixture["conversation_id"]) not in failed and made[name] < fixture["compactions_expected"]]
    if short:
        raise InputError(f"{what}: compacted less often than the fixtures expect: {'; '.join(short)}; use a smaller "
                         "budget or lower compactions_expected")
