"""Selectors that score what was said for a question: `evaluate.py --strategies bm25,near-messages` runs them.

A rule gives an order, best first and the newer first among equals, in which turns are taken, each if it still fits.
What scores nothing is never taken, but the filled rules give the room that is left to the newest. A rule of one's own
can use the same parts: fill(case, count, best_first(near(case))). near-messages takes units instead of turns; what one
adds depends on the one before it, so costs are looked up by neighbours.

unit  what is chosen by itself: a user's text, an assistant's text, or a tool call with its results
date  of a turn with session and date whose user text begins with that date in brackets, as importers write it: it is
      shown with the first chosen message of the session, whoever says it
"""

from bisect import bisect_left
from functools import partial
from itertools import islice
from math import fsum, isnan, nan
from operator import mul
from typing import NamedTuple

from modelkit.retrieval import Bm25Index, embed, shared_score, words_and_pairs
from selection.near import MessageIndex, NearIndex
from strategies import BATCH, available, by_shared_words, fill, per_history, render, turn_messages, turn_text

FIRST, REPLY = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}
SHORTLIST = 20  # turns that `rerank` looks at
_indexes = []  # [(class, the texts in it, index)] of the last 32: near and near-messages of 16 conversations


def bm25(case):
    """BM25 of the question over the turns: {number: score}."""
    return _bm25_index(case["history"]).scores(case["current"])


def dense(case):
    """The cosine of the question's and the turns' embeddings (retrieval.embed): {number: score}."""
    asked = embed(case["current"])
    return {number: fsum(map(mul, asked, vector)) for number, vector in enumerate(_made(case["history"], embed))}


def rerank(case):
    """Of the SHORTLIST best by BM25, the words and adjacent pairs of words shared with the question."""
    asked, said = words_and_pairs(case["current"]), _made(case["history"], words_and_pairs)
    return {number: shared_score(asked, said[number]) for number in best_first(bm25(case))[:SHORTLIST]}


def near(case):
    """NearIndex over the turns, BM25 of the best passage and the words around it: {number: score}."""
    return grown_index(NearIndex, _made(case["history"], str)).scores(case["current"])


def near_messages(case):
    """MessageIndex over the units: {number of a unit: score}."""
    return grown_index(MessageIndex, _messages(case["history"])).scores(case["current"])


_bm25_index = per_history(lambda history: Bm25Index(map(turn_text, history)))
_made = per_history(lambda history, make: [make(turn_text(turn)) for turn in history])
_messages = per_history(lambda history: [text_and_date(unit) for unit in units(history)])


def grown_index(make, texts):
    """The index of texts (what its `add` takes): the one of the last few that holds most of their beginning, added to.

    So the next question of a chat that has grown costs what is new. An index that holds more than these is not theirs.
    """
    known = [entry for entry in _indexes if entry[0] is make and entry[1] == texts[: len(entry[1])]]
    _, held, index = entry = max(known, key=lambda entry: len(entry[1]), default=(make, [], make()))
    for text in texts[len(held) :]:
        index.add(text)
    _indexes[:] = [*(other for other in _indexes[-31:] if other is not entry), (make, texts, index)]
    return index


def best_first(scores):
    """The numbers of what scores, best first, then the newer: best_first({0: 1.5, 1: 2, 2: 1.5, 3: 0}) -> [1, 2, 0]."""
    return sorted((number for number in scores if scores[number] > 0), key=lambda number: (-scores[number], -number))


def then_newest(order, size):
    """The order, then the others of `size` numbers from the newest back: then_newest([1], 3) -> [1, 2, 0]."""
    return list(dict.fromkeys([*order, *reversed(range(size))]))


@per_history
def order_of(history, rule, question):
    """The numbers of turns, for near-messages of units, in the order in which a rule takes them."""
    scored = rule.removesuffix("-filled")
    if scored != rule:
        size = len(units(history) if scored == "near-messages" else history)
        return then_newest(order_of(history, scored, question), size)
    case = {"history": history, "current": question}
    return by_shared_words(case) if rule == "relevant" else best_first(SCORES[rule](case))


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
    """Messages, adjacent replies made one with an empty line between: a template would run them together."""
    result = []
    for message in messages:
        if result and is_reply(message) and is_reply(result[-1]):
            result[-1] = {**message, "content": result[-1]["content"] + "\n\n" + message["content"]}
        else:
            result.append(message)
    return result


def is_reply(message):
    return message["role"] == "assistant" and message.keys() == {"role", "content"}


def untold(runs):  # the `part` of a counter that has none
    return [None] * len(runs)


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


def take_units(order, limit, costs, cost_of):
    """(units that fit `limit` together, taken in the given order, tokens of the request)."""
    chosen, used, order = [], cost_of([]), iter(order)
    while batch := list(islice(order, BATCH)):
        costs.learn([(-1, number, False) for number in batch])
        for number in batch:
            if costs.least(number) > limit - used:
                continue
            here = bisect_left(chosen, number)
            before = chosen[here - 1] if here else -1
            total = used + costs.behind(before, number) + sum(
                costs.behind(number, unit) - costs.behind(before, unit) for unit in chosen[here : here + 1])
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
        new, runs = [key for key in keys if key not in self._known], []
        for before, number, dated in new:
            run = with_date(self._every[number], dated)
            runs.append(run if self._every[number].opens else [FIRST, *joined([*self._every[before].messages, *run])])
        for key, run, tokens in zip(new, runs, self._part(runs) if new else ()):
            self._known[key] = nan if tokens is None else tokens - self._first * (run[0] is FIRST)
        return [self._known[key] for key in keys]

    def least(self, number):
        """No more than a learnt unit adds anywhere: joined, a reply saves two frames, a date that moves some tokens."""
        alone, unit = self._known[-1, number, False], self._every[number]
        return alone if unit.opens and not unit.session else alone - 2 * (self._frame + 2)

    def behind(self, before, number):
        """What a unit adds behind another."""
        unit, last = self._every[number], self._every[before]
        if any(is_reply(message) and not message["content"].strip() for message in last.messages + unit.messages):
            return nan  # a blank reply does not part what stands on both its sides
        dated = unit.session != last.session
        if unit.opens or last.opens:
            return self.learn([(-1, number, dated)])[0]
        both, first = self.learn([(before, number, dated), (-1, before, False)])
        return both - first


neighbour_costs = per_history(NeighbourCosts)


def _select(rule, case, count):
    by_units = rule.startswith("near-messages")
    return (fill_messages if by_units else fill)(case, count, order_of(case["history"], rule, case["current"]))


SCORES = {"bm25": bm25, "dense": dense, "rerank": rerank, "near": near, "near-messages": near_messages}
SELECTORS = {rule: partial(_select, rule)
             for rule in [*SCORES, "relevant-filled", "near-filled", "near-messages-filled"]}
