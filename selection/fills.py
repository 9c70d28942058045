"""Fill a budget with single messages, a session's date shown once.

What comes first in an order is taken if it still fits, as strategies.fill does with turns. A request costs what it
really costs: what a message adds depends on the message before it, so costs are looked up by neighbours, and the
request that comes out is counted as a whole.

unit  what is chosen by itself: a user's text, an assistant's text, or a tool call with its results
date  of a turn with session and date whose user text begins with that date in brackets, as importers write it: it is
      shown with the first chosen message of the session, whoever says it

A warning: an answer may need the reply that was left out, and a reply stands there without the question it answered.
"""

from bisect import bisect_left
from itertools import islice
from typing import NamedTuple

from strategies import BATCH, available, per_history, render, turn_messages

FIRST = {"role": "user", "content": "Q"}
REPLY = {"role": "assistant", "content": "A"}


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
        session = dated_session(turn)
        if session:
            turn = {**turn, "user": turn["user"].removeprefix(f"[{turn['date']}] ")}
        for message in turn_messages(turn):
            if message["role"] == "tool":
                made[-1].messages.append(message)
            else:
                made.append(Unit(number, [message], session, message["role"] == "user"))
    return made


def dated_session(turn):
    """(session, date) of a turn that shows its date, else None."""
    dated = turn.get("session") and turn.get("date") and turn["user"].startswith(f"[{turn['date']}] ")
    return (turn["session"], turn["date"]) if dated else None


def text_and_date(unit):
    """What is said in a unit, and the date that stands before it in its turn: before a user's text, else ""."""
    date = unit.session[1] if unit.opens and unit.session else ""
    return "\n".join(message.get("content") or "" for message in unit.messages), date


def shown(unit, dated):
    """The messages of a unit as they stand in a request."""
    if not dated:
        return unit.messages
    first, *rest = unit.messages
    return [{**first, "content": f"[{unit.session[1]}] {first['content']}"}, *rest]


def joined(messages):
    """Messages with assistant texts that stand side by side made one, an empty line between: a template would run
    them together, and then the sum of parts would not hold."""
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
    every = units(case["history"])
    *head, question = render(case, [])

    def request(numbers):
        messages, before = [], None
        for number in numbers:
            messages += shown(every[number], is_dated(every, before, number))
            before = number
        return [*head, *joined(messages), question]

    costs = neighbour_costs(case["history"], count.part) if hasattr(count, "part") else None
    chosen, used = take_units(costs, order, lambda numbers: count(request(numbers)), available(case))
    tokens = count(request(chosen))
    if tokens != used:  # a template in which neighbours do not tell it all
        chosen, tokens = take_units(None, order, lambda numbers: count(request(numbers)), available(case))
    return {"messages": request(chosen), "turns": sorted({every[number].turn for number in chosen}), "notes": 0,
            "input_tokens": tokens}


def take_units(costs, order, cost_of, limit):
    """(units that fit `limit` together taken in the given order, tokens of the request)."""
    chosen, used, order = [], cost_of([]), iter(order)
    while batch := list(islice(order, BATCH)):
        if costs:
            costs.learn(batch)
        for number in batch:
            if costs and costs.least(number) > limit - used:
                continue
            here = bisect_left(chosen, number)
            before = chosen[here - 1] if here else None
            behind = chosen[here] if here < len(chosen) else None
            added = costs.added(before, number, behind) if costs else None
            total = cost_of([*chosen[:here], number, *chosen[here:]]) if added is None else used + added
            if total <= limit:
                chosen.insert(here, number)
                used = total
    return chosen, used


def is_dated(every, before, number):
    """Whether a unit shows its session's date behind the unit `before` (None: it is the first)."""
    session = every[number].session
    return session is not None and (before is None or every[before].session != session)


@per_history
def neighbour_costs(history, part):
    return NeighbourCosts(units(history), part)


class NeighbourCosts:
    """What a unit adds to a request, in tokens, by what stands before it; None where only the whole request tells.

    A user's text costs the same anywhere. A reply or a call costs what it adds behind the unit before it, whatever
    stands further off: a reply is joined to a reply, a template may write a call into the message that it follows.
    """

    def __init__(self, every, part):
        self._every, self._part = every, part
        self._own = {}  # (unit, with its date) -> tokens behind a user's message
        self._behind = {}  # (unit before, unit) -> tokens
        alone, answered = part([[FIRST], [FIRST, REPLY]])
        self._alone = alone
        self._frame = None if None in (alone, answered) else answered - alone  # a join saves it, at most

    def learn(self, numbers):
        """Look up together what units cost without their date."""
        new = [number for number in numbers if (number, False) not in self._own]
        if new:
            counted = self._counted([(self._every[number], False) for number in new])
            self._own.update(zip([(number, False) for number in new], counted))

    def _counted(self, wanted):
        runs = [shown(unit, dated) if unit.opens else [FIRST, *shown(unit, dated)] for unit, dated in wanted]
        return [tokens if tokens is None or unit.opens else tokens - self._alone
                for tokens, (unit, _) in zip(self._part(runs), wanted)]

    def least(self, number):
        """No more than a unit adds anywhere: as a reply it may save its own frame and that of the reply behind."""
        own = self._own[number, False]
        return 0 if own is None else own if self._every[number].opens else own - 2 * (self._frame + 2)

    def added(self, before, number, behind):
        """What a request gains when a unit is put between two that stand side by side (None: the end)."""
        pairs = [(before, number)] if behind is None else [(before, number), (number, behind), (before, behind)]
        costs = [self._cost(*pair) for pair in pairs]
        if None in costs:
            return None
        return costs[0] if behind is None else costs[0] + costs[1] - costs[2]

    def _cost(self, before, number):
        """What a unit adds behind another (None: it is the first)."""
        unit, dated = self._every[number], is_dated(self._every, before, number)
        if unit.opens or before is None or self._every[before].opens:
            key, known = (number, dated), self._own
            if key not in known:
                known[key] = self._counted([(unit, dated)])[0]
        else:
            key, known = (before, number), self._behind
            if key not in known:
                run = [FIRST, *joined([*self._every[before].messages, *shown(unit, dated)])]
                both, (first,) = self._part([run])[0], self._counted([(self._every[before], False)])
                known[key] = None if None in (both, first) else both - self._alone - first
        return known[key]
