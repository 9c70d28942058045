"""Fill a budget with single messages, a session's date shown once.

What comes first in an order is taken if it still fits, as strategies.fill does with turns. What a message adds depends
on the one before it, so costs are looked up by neighbours; the request that comes out is counted as a whole.

unit  what is chosen by itself: a user's text, an assistant's text, or a tool call with its results
date  of a turn with session and date whose user text begins with that date in brackets, as importers write it: it is
      shown with the first chosen message of the session, whoever says it

An answer may need the reply that was left out, and a reply stands there without the question it answered.
"""

from bisect import bisect_left
from itertools import islice
from typing import NamedTuple

from strategies import BATCH, available, per_history, render, turn_messages

FIRST, REPLY = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


class Unit(NamedTuple):
    """Messages that are chosen together, without their date."""

    turn: int  # number of the turn that they belong to
    messages: list
    session: tuple | None  # (session, date) that is shown once
    opens: bool  # a user's message: what it costs does not depend on the one before


@per_history
def units(history):
    """The units of the whole history in order."""
    made = []
    for number, turn in enumerate(history):
        session = None
        if turn.get("session") and turn.get("date") and turn["user"].startswith(f"[{turn['date']}] "):
            session = (turn["session"], turn["date"])
            turn = {**turn, "user": turn["user"].removeprefix(f"[{turn['date']}] ")}
        for message in turn_messages(turn):
            if message["role"] == "tool":
                made[-1].messages.append(message)
            else:
                made.append(Unit(number, [message], session, message["role"] == "user"))
    return made


def text_and_date(unit):
    """What is said in a unit, and the date that stands before it in its turn: before a user's text, else ""."""
    date = unit.session[1] if unit.opens and unit.session else ""
    return "\n".join(message.get("content") or "" for message in unit.messages), date


def shown(unit, dated):
    """The messages of a unit as they stand in a request."""
    first, *rest = unit.messages
    return [{**first, "content": f"[{unit.session[1]}] {first['content']}"}, *rest] if dated else unit.messages


def is_dated(every, before, number):
    """Whether a unit shows its session's date behind the unit `before` (None: it is the first)."""
    session = every[number].session
    return session is not None and (before is None or every[before].session != session)


def joined(messages):
    """Messages with assistant texts that stand side by side made one, an empty line between.

    A template would run them together, and then the sum of parts would not hold.
    """
    result = []
    for message in messages:
        if result and is_reply(message) and is_reply(result[-1]):
            result[-1] = {**message, "content": result[-1]["content"] + "\n\n" + message["content"]}
        else:
            result.append(message)
    return result


def is_reply(message):
    return message["role"] == "assistant" and set(message) == {"role", "content"}


def fill_messages(case, count, order):
    """The selection that takes units (their numbers) in the given order, each if it still fits."""
    every, limit = units(case["history"]), available(case)
    *head, question = render(case, [])

    def request(numbers):
        pairs = zip([None, *numbers], numbers)
        messages = (message for before, number in pairs
                    for message in shown(every[number], is_dated(every, before, number)))
        return [*head, *joined(messages), question]

    costs = neighbour_costs(case["history"], count.part) if hasattr(count, "part") else None
    chosen, used = take_units(order, limit, lambda numbers: count(request(numbers)), costs)
    tokens = count(request(chosen))
    if tokens != used:  # a template in which neighbours do not tell it all
        chosen, tokens = take_units(order, limit, lambda numbers: count(request(numbers)))
    return {"messages": request(chosen), "turns": sorted({every[number].turn for number in chosen}), "notes": 0,
            "input_tokens": tokens}


def take_units(order, limit, cost_of, costs=None):
    """(units that fit `limit` together, taken in the given order, tokens of the request)."""
    chosen, used, order = [], cost_of([]), iter(order)
    while batch := list(islice(order, BATCH)):
        if costs:
            costs.learn([(None, number, False) for number in batch])
        for number in batch:
            if costs and costs.least(number) > limit - used:
                continue
            here = bisect_left(chosen, number)
            added = costs and costs.added(*chosen[here - 1 : here] or [None], number, *chosen[here : here + 1])
            total = cost_of([*chosen[:here], number, *chosen[here:]]) if added is None else used + added
            if total <= limit:
                chosen.insert(here, number)
                used = total
    return chosen, used


class NeighbourCosts:
    """What a unit adds to a request, in tokens, by the unit before it; None where only the whole request tells.

    A user's text costs the same anywhere. A reply or a call costs what it adds behind the unit before it, whatever
    stands further off: a reply is joined to a reply, a template may write a call into the message that it follows.
    """

    def __init__(self, every, part):
        self._every, self._part, self._known = every, part, {}
        self._alone, answered = part([[FIRST], [FIRST, REPLY]])
        self._frame = None if None in (self._alone, answered) else answered - self._alone

    def learn(self, keys):
        """Count together (unit before or None, unit, whether it shows its date), each behind a user's text."""
        new = [key for key in keys if key not in self._known]
        runs = []
        for before, number, dated in new:
            run = shown(self._every[number], dated)
            runs.append(run if self._every[number].opens else
                        [FIRST, *joined([*(() if before is None else self._every[before].messages), *run])])
        for key, run, tokens in zip(new, runs, self._part(runs) if new else ()):
            self._known[key] = tokens if tokens is None or run[0] is not FIRST else tokens - self._alone

    def least(self, number):
        """No more than a learnt unit adds anywhere: joined, a reply saves its own frame and that of the next."""
        own, opens = self._known[None, number, False], self._every[number].opens
        return 0 if own is None else own if opens else own - 2 * (self._frame + 2)

    def added(self, before, number, behind=None):
        """What a request gains when a unit is put between two that stand side by side (None: an end)."""
        costs = [self.cost(before, number)]
        if behind is not None:
            costs += [self.cost(number, behind), self.cost(before, behind)]
        return None if None in costs else costs[0] + sum(costs[1:2]) - sum(costs[2:])

    def cost(self, before, number):
        """What a unit adds behind another (None: it is the first)."""
        dated = is_dated(self._every, before, number)
        if self._every[number].opens or before is None or self._every[before].opens:
            keys = [(None, number, dated)]
        elif any(is_reply(message) and not message["content"].strip() for message in self._every[before].messages):
            return None  # a blank reply does not part what stands on both its sides
        else:
            keys = [(before, number, dated), (None, before, False)]
        self.learn(keys)
        both, first = [self._known[key] for key in keys] if len(keys) == 2 else (self._known[keys[0]], 0)
        return None if None in (both, first) else both - first


neighbour_costs = per_history(lambda history, part: NeighbourCosts(units(history), part))
