"""Selectors that score what was said for a question: `evaluate.py --strategies bm25,near-messages` runs them.

A rule gives an order, best first and the newer first among equals, in which turns are taken, each if it still fits.
What scores nothing is never taken, but the filled rules give the room that is left to the newest. near-messages takes
single messages (fills.py) instead of turns. A rule of one's own can use the same parts:

    def my_rule(case, count):
        return fill(case, count, best_first(near(case)))

What does not depend on the question is built once for a history (strategies.per_history), and the order of the last
question is kept for its other budgets.
"""

from functools import partial
from math import fsum
from operator import mul

from modelkit.retrieval import Bm25Index, embed, shared_score, words_and_pairs
from selection.fills import fill_messages, text_and_date, units
from selection.near import NearIndex
from selection.near_messages import MessageIndex
from strategies import by_shared_words, fill, per_history, turn_text

SHORTLIST = 20  # turns that `rerank` looks at
_indexes = []  # [(class, the texts in it, index)] of the last 32: near and near-messages of 16 conversations


def bm25(case):
    """BM25 of the question over the turns: {number: score}."""
    return _bm25_index(case["history"]).scores(case["current"])


def dense(case):
    """The cosine of the question's and the turns' embeddings (retrieval.embed): {number: score}."""
    asked = embed(case["current"])
    return {number: fsum(map(mul, asked, vector)) for number, vector in enumerate(_vectors(case["history"]))}


def rerank(case):
    """Of the SHORTLIST best by BM25, the words and adjacent pairs of words shared with the question."""
    asked, said = words_and_pairs(case["current"]), _words_and_pairs(case["history"])
    return {number: shared_score(asked, said[number]) for number in best_first(bm25(case))[:SHORTLIST]}


def near(case):
    """near.py: BM25 of the best passage, the words around it counted too: {number: score}."""
    return grown_index(NearIndex, _turn_texts(case["history"])).scores(case["current"])


def near_messages(case):
    """near_messages.py: {number of a unit of fills.units: score}."""
    return grown_index(MessageIndex, _message_texts(case["history"])).scores(case["current"])


def grown_index(make, texts):
    """The index of texts [(arguments of its `add`), ...]: of the last few the one that holds most of their beginning.

    It is added to, so that the next question of a chat that has grown costs what is new. An index that has grown past
    these texts is not theirs, and is left as it is.
    """
    known = [entry for entry in _indexes if entry[0] is make and entry[1] == texts[: len(entry[1])]]
    entry = max(known, key=lambda entry: len(entry[1]), default=(make, [], make()))
    _, held, index = entry
    for text in texts[len(held) :]:
        index.add(*text)
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
    taken = set(order)
    return [*order, *(number for number in reversed(range(size)) if number not in taken)]


_bm25_index = per_history(lambda history: Bm25Index(map(turn_text, history)))
_turn_texts = per_history(lambda history: [(turn_text(turn),) for turn in history])
_message_texts = per_history(lambda history: [text_and_date(unit) for unit in units(history)])
_words_and_pairs = per_history(lambda history: [words_and_pairs(turn_text(turn)) for turn in history])
_vectors = per_history(lambda history: [embed(turn_text(turn)) for turn in history])
_last_order = per_history(lambda history, rule: {})


def order_of(rule, case):
    """The numbers of turns, for near-messages of units, in the order in which a rule takes them."""
    kept = _last_order(case["history"], rule)
    if case["current"] not in kept:
        kept.clear()
        if rule.endswith("-filled"):
            size = len(units(case["history"]) if rule == "near-messages-filled" else case["history"])
            kept[case["current"]] = then_newest(order_of(rule.removesuffix("-filled"), case), size)
        else:
            kept[case["current"]] = by_shared_words(case) if rule == "relevant" else best_first(SCORES[rule](case))
    return kept[case["current"]]


def _select(rule, case, count):
    return (fill_messages if rule.startswith("near-messages") else fill)(case, count, order_of(rule, case))


SCORES = {"bm25": bm25, "dense": dense, "rerank": rerank, "near": near, "near-messages": near_messages}
SELECTORS = {rule: partial(_select, rule)
             for rule in [*SCORES, "relevant-filled", "near-filled", "near-messages-filled"]}
