"""Selectors that score what was said for a question: `evaluate.py --strategies bm25,near-messages` runs them.

A rule gives an order, best first and the newer first among equals, in which turns are taken, each if it still fits.
What scores nothing is never taken, but the filled rules give the room that is left to the newest. near-messages takes
single messages (fills.py) instead of turns. A rule of one's own can use the same parts:

    def my_rule(case, count):
        return fill(case, count, best_first(near(case)))

What does not depend on the question is built once for a history, and an order is kept for the question's other budgets.
"""

from functools import partial
from math import fsum
from operator import mul

from modelkit.retrieval import Bm25Index, embed, shared_score, words_and_pairs
from selection.fills import fill_messages, text_and_date, units
from selection.near import MessageIndex, NearIndex
from strategies import by_shared_words, fill, per_history, turn_text

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
    """NearIndex: BM25 of the best passage, the words around it counted too: {number: score}."""
    return grown_index(NearIndex, _made(case["history"], str)).scores(case["current"])


def near_messages(case):
    """MessageIndex: {number of a unit of fills.units: score}."""
    return grown_index(MessageIndex, _messages(case["history"])).scores(case["current"])


_bm25_index = per_history(lambda history: Bm25Index(map(turn_text, history)))
_made = per_history(lambda history, make: [make(turn_text(turn)) for turn in history])
_messages = per_history(lambda history: [text_and_date(unit) for unit in units(history)])


def grown_index(make, texts):
    """The index of texts (what its `add` takes): of the last few indexes the one that holds most of their beginning.

    It is added to, so that the next question of a chat that has grown costs what is new. An index that has grown past
    these texts is not theirs, and is left as it is.
    """
    known = [entry for entry in _indexes if entry[0] is make and entry[1] == texts[: len(entry[1])]]
    _, held, index = entry = max(known, key=lambda entry: len(entry[1]), default=(make, [], make()))
    for text in texts[len(held) :]:
        index.add(text)
    _indexes[:] = [*(other for other in _indexes[-31:] if other is not entry), (make, texts, index)]
    return index


def best_first(scores):
    """The numbers of {number: score} that score more than nothing, best first, then the newer.

    best_first({0: 1.5, 1: 2.5, 2: 1.5, 3: 0.0}) -> [1, 2, 0]
    """
    return sorted((number for number, score in scores.items() if score > 0),
                  key=lambda number: (-scores[number], -number))


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


def _select(rule, case, count):
    by_units = rule.startswith("near-messages")
    return (fill_messages if by_units else fill)(case, count, order_of(case["history"], rule, case["current"]))


SCORES = {"bm25": bm25, "dense": dense, "rerank": rerank, "near": near, "near-messages": near_messages}
SELECTORS = {rule: partial(_select, rule)
             for rule in [*SCORES, "relevant-filled", "near-filled", "near-messages-filled"]}
