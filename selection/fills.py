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
from math import isnan, nan
from typing import NamedTuple

from strategies import BATCH, available, per_history, render, turn_messages

FIRST, REPLY = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


class Unit(NamedTuple):
    """Messages that are chosen together, without their date."""

    turn: int  # number of the turn that they belong to
    messages: list
    session: tuple | None  # (session, date) that is shown once
    opens: bool  # a user's message: what it costs does not depend on the one before


NOTHING = Unit(-1, [], None, True)  # stands before the first unit, as number -1


@per_history
def units(history):
    """The units of the whole history in order."""
    made = []
    for number, turn in enumerate(history):
        session, shown_date = None, f"[{turn.get('date')}] "
        if turn.get("session") and turn.get("date") and turn["user"].startswith(shown_date):
            session = (turn["session"], turn["date"])
            turn = {**turn, "user": turn["user"].removeprefix(shown_date)}
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


def with_date(unit, dated=True):
    """The messages of a unit as they stand in a request."""
    if not dated or not unit.session:
        return unit.messages
    first, *rest = unit.messages
    return [{**first, "content": f"[{unit.session[1]}] {first['content']}"}, *rest]


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
    every, (*head, question) = [*units(case["history"]), NOTHING], render(case, [])

    def request(numbers):
        messages = [message for before, number in zip([-1, *numbers], numbers)
                    for message in with_date(every[number], every[number].session != every[before].session)]
        return [*head, *joined(messages), question]

    for part in (getattr(count, "part", untold), untold):
        costs = neighbour_costs(case["history"], part)
        chosen, tokens = take_units(order, available(case), costs, lambda numbers: count(request(numbers)))
        if tokens == count(request(chosen)):  # else a template in which neighbours do not tell it all
            break
    return {"messages": request(chosen), "turns": sorted({every[number].turn for number in chosen}), "notes": 0,
            "input_tokens": tokens}


def untold(runs):
    """The `part` of a counter that has none."""
    return [None] * len(runs)


def take_units(order, limit, costs, cost_of):
    """(units that fit `limit` together, taken in the given order, tokens of the request)."""
    chosen, used, order = [], cost_of([]), iter(order)
    while batch := list(islice(order, BATCH)):
        costs.learn([(-1, number, False) for number in batch])
        for number in batch:
            if costs.least(number) > limit - used:
                continue
            here = bisect_left(chosen, number)
            total = used + costs.added(chosen[here - 1] if here else -1, number, chosen[here : here + 1])
            if isnan(total):
                total = cost_of([*chosen[:here], number, *chosen[here:]])
            if total <= limit:
                chosen.insert(here, number)
                used = total
    return chosen, used


class NeighbourCosts:
    """What a unit adds to a request, in tokens, by the unit before it; nan where only the whole request tells.

    A user's text costs the same anywhere. A reply or a call costs what it adds behind the unit before it, whatever
    stands further off: a reply is joined to a reply, a template may write a call into the message that it follows.
    """

    def __init__(self, history, part):
        self._every, self._part, self._known = [*units(history), NOTHING], part, {}
        self._first, answered = (nan if tokens is None else tokens for tokens in part([[FIRST], [FIRST, REPLY]]))
        self._frame = answered - self._first

    def learn(self, keys):
        """The costs of keys (unit before, unit, whether it shows its date), counted together behind a user's text."""
        new = [key for key in keys if key not in self._known]
        runs = [with_date(unit, dated) if unit.opens else
                [FIRST, *joined([*self._every[before].messages, *with_date(unit, dated)])]
                for before, unit, dated in ((before, self._every[number], dated) for before, number, dated in new)]
        for key, run, tokens in zip(new, runs, self._part(runs) if new else ()):
            self._known[key] = nan if tokens is None else tokens - self._first * (run[0] is FIRST)
        return [self._known[key] for key in keys]

    def least(self, number):
        """No more than a learnt unit adds anywhere: joined, a reply saves its own frame and that of the next."""
        alone = self._known[-1, number, False]
        return alone if self._every[number].opens else alone - 2 * (self._frame + 2)

    def added(self, before, number, behind):
        """What a request gains when a unit is put behind another and before `behind`, a list of one unit or none."""
        return self.cost(before, number) + sum(self.cost(number, unit) - self.cost(before, unit) for unit in behind)

    def cost(self, before, number):
        """What a unit adds behind another."""
        unit, last = self._every[number], self._every[before]
        dated = unit.session != last.session
        if unit.opens or last.opens:
            return self.learn([(-1, number, dated)])[0]
        if any(is_reply(message) and not message["content"].strip() for message in last.messages):
            return nan  # a blank reply does not part what stands on both its sides
        both, first = self.learn([(before, number, dated), (-1, before, False)])
        return both - first


neighbour_costs = per_history(NeighbourCosts)
