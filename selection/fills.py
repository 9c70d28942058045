"""Fill a budget with something other than whole turns: with single messages, or with dates shown once a session.

Both take what comes first in an order, each if it still fits, as strategies.fill does with turns, and cost what the
request really costs: a counter with `part` (tokenizer.py's) adds up runs, any other counts the request anew.

run   a user's message and what follows it up to the next user's
unit  what is chosen by itself: a user's text, an assistant's text, or a tool call with its results

A warning that belongs to single messages: an answer may need the reply that was left out, and a reply stands in the
request without the question it answered.
"""

from bisect import bisect_left

from strategies import available, per_history, render, turn_messages


def joined(messages):
    """Messages with assistant texts that stand side by side made one, an empty line between: a template would run
    them together, and then the sum of parts would not hold."""
    result = []
    for message in messages:
        if result and _is_reply(message) and _is_reply(result[-1]):
            result[-1] = {**message, "content": result[-1]["content"] + "\n\n" + message["content"]}
        else:
            result.append(message)
    return result


def _is_reply(message):
    return message["role"] == "assistant" and set(message) == {"role", "content"}


@per_history
def units(history):
    """[(turn number, messages), ...] of the whole history in order; a tool call stays with its results."""
    found = []
    for number, turn in enumerate(history):
        for message in turn_messages(turn):
            if message["role"] == "tool":
                found[-1][1].append(message)
            else:
                found.append((number, [message]))
    return found


def unit_text(messages):
    """What is said in a unit."""
    return "\n".join(message.get("content") or "" for message in messages)


def fill_messages(case, count, order):
    """The selection that takes units (their numbers) in the given order, each if it still fits."""
    every, limit = units(case["history"]), available(case)
    *head, question = render(case, [])

    def request(numbers):
        return [*head, *_messages(numbers, every), question]

    chosen, used = [], count(request([]))
    for number in order:
        here = bisect_left(chosen, number)
        begin, end = _run_around(chosen, here, every)
        old, new = chosen[begin:end], [*chosen[begin:here], number, *chosen[here:end]]
        added = _difference(old, new, every, count)
        total = count(request([*chosen[:begin], *new, *chosen[end:]])) if added is None else used + added
        if total <= limit:
            chosen.insert(here, number)
            used = total
    messages = request(chosen)
    return {"messages": messages, "turns": sorted({every[number][0] for number in chosen}), "notes": 0,
            "input_tokens": count(messages)}


def _messages(numbers, every):
    return joined([message for number in numbers for message in every[number][1]])


def _difference(old, new, every, count):
    """Tokens that a request gains when units `old` (a run or none) become `new`; None where only the whole tells."""
    before, after = _split(old, every), _split(new, every)
    if not hasattr(count, "part") or not all(_starts_run(run[0], every) for run in before + after):
        return None
    costs = count.part([_messages(run, every) for run in before + after])
    return None if None in costs else sum(costs[len(before):]) - sum(costs[:len(before)])


def _starts_run(number, every):
    return every[number][1][0]["role"] == "user"


def _run_around(chosen, here, every):
    """The part of `chosen` that forms one run with what is put in at `here`."""
    begin, end = here, here
    while begin > 0:
        begin -= 1
        if _starts_run(chosen[begin], every):
            break
    while end < len(chosen) and not _starts_run(chosen[end], every):
        end += 1
    return begin, end


def _split(numbers, every):
    """Units in order as runs; what comes before the first user's message is taken for one too."""
    runs = []
    for number in numbers:
        if runs and not _starts_run(number, every):
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def fill_dated(case, count, order):
    """The selection that takes turns in the given order, each if it still fits, a session's date shown once.

    For turns with session and date whose user text begins with that date in brackets, as importers write it: only the
    first chosen turn of a session keeps it. Other turns stay as they are.
    """
    history, limit = case["history"], available(case)
    *head, question = render(case, [])

    def request(numbers):
        dated = set({_session(history[number]) or number: number for number in reversed(numbers)}.values())
        turns = [_shown(history[number], number in dated) for number in numbers]
        return [*head, *(message for turn in turns for message in turn), question]

    chosen, used, first = [], count(request([])), {}  # first: session -> its first chosen turn
    for number in order:
        session = _session(history[number])
        before = first.get(session)
        if before is None:
            change = [(number, True, 1)]
        elif number > before:
            change = [(number, False, 1)]
        else:
            change = [(number, True, 1), (before, False, 1), (before, True, -1)]
        candidate = sorted([*chosen, number])
        runs = [_shown(history[one], dated) for one, dated, _ in change]
        costs = count.part(runs) if hasattr(count, "part") else [None]
        if None in costs:
            total = count(request(candidate))
        else:
            total = used + sum(sign * cost for (_, _, sign), cost in zip(change, costs))
        if total <= limit:
            chosen, used = candidate, total
            if session is not None:
                first[session] = min(number, number if before is None else before)
    messages = request(chosen)
    return {"messages": messages, "turns": chosen, "notes": 0, "input_tokens": count(messages)}


def _session(turn):
    """What a turn's date is shown once for, or None where it shows none."""
    dated = turn.get("session") and turn.get("date") and turn["user"].startswith(f"[{turn['date']}] ")
    return (turn["session"], turn["date"]) if dated else None


def _shown(turn, dated):
    """A turn's messages, without the date before its first words unless `dated`."""
    if dated or _session(turn) is None:
        return turn_messages(turn)
    return turn_messages({**turn, "user": turn["user"].removeprefix(f"[{turn['date']}] ")})
