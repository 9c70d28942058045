"""Selectors of the lab built from retrieval and near: `evaluate.py --strategies bm25,near` runs them.

Each gives every turn a score for the question and takes turns best first, the newer first among equals, each if it
still fits. A turn that scores nothing is never taken. What does not depend on the question is built once for a
history (strategies.per_history).

A variant chooses in another way by the same score: `near@message` single messages, `near@dated` turns whose session's
date is shown once (fills.py has both), `near+FILE.py:NAME` turns by near and an embedder together (fuse.py).
"""

from functools import partial
from math import fsum

from modelkit.retrieval import Bm25Index, embed, shared_score, words_and_pairs
from strategies import fill, per_history, turn_text

from selection.fills import fill_dated, fill_messages, unit_text, units
from selection.fuse import fused, products, unit_vectors
from selection.near import NearIndex

SHORTLIST = 20  # turns that `rerank` looks at


def bm25(case, unit="turn"):
    """BM25 of the question over the texts: {number: score}."""
    return _bm25_index(case["history"], unit).scores(case["current"])


def dense(case, unit="turn"):
    """The cosine of the question's and the texts' embeddings (retrieval.embed, hashed words): {number: score}.

    The vectors are of length one or nil, so their product is the cosine; texts that share no bucket are left out.
    """
    by_place, products = _embedded(case["history"], unit), {}
    for place, value in enumerate(embed(case["current"])):
        if value:
            for number, weight in by_place[place]:
                products.setdefault(number, []).append(value * weight)
    return {number: fsum(found) for number, found in products.items()}


def rerank(case, unit="turn"):
    """Of the SHORTLIST best by BM25, the words and adjacent pairs of words shared with the question."""
    asked, said = words_and_pairs(case["current"]), _words_and_pairs(case["history"], unit)
    return {number: shared_score(asked, said[number]) for number in best_first(bm25(case, unit))[:SHORTLIST]}


def near(case, unit="turn"):
    """near.py: BM25 of the best passage, the words around it counted too: {number: score}."""
    return _near_index(case["history"], unit).scores(case["current"])


def near_fused(case, embedder, unit="turn"):
    """near's score and an embedder's together: {number: score}."""
    (asked,) = unit_vectors(embedder, [case["current"]])
    return fused(near(case, unit), products(asked, _vectors(case["history"], unit, embedder)))


def best_first(scores):
    """The numbers of {number: score} that score more than nothing, best first, then the newer."""
    return _ranked({number: score for number, score in scores.items() if score > 0})


def _ranked(scores):
    return sorted(scores, key=lambda number: (-scores[number], -number))


@per_history
def _texts(history, unit):
    """The texts that are scored: of whole turns, or of the units that can be chosen by themselves."""
    if unit == "turn":
        return [turn_text(turn) for turn in history]
    return [unit_text(messages) for _, messages in units(history)]


@per_history
def _bm25_index(history, unit):
    return Bm25Index(_texts(history, unit))


@per_history
def _near_index(history, unit):
    return NearIndex(_texts(history, unit))


@per_history
def _words_and_pairs(history, unit):
    return [words_and_pairs(text) for text in _texts(history, unit)]


@per_history
def _embedded(history, unit):
    """By bucket, the texts that have something in it: [(number, weight), ...]."""
    vectors = [embed(text) for text in _texts(history, unit)]
    return [[(number, vector[place]) for number, vector in enumerate(vectors) if vector[place]]
            for place in range(len(embed("")))]


@per_history
def _vectors(history, unit, embedder):
    return unit_vectors(embedder, _texts(history, unit))


def _turns(score, case, count):
    return fill(case, count, best_first(score(case)))


def _single_messages(score, case, count):
    return fill_messages(case, count, best_first(score(case, "message")))


def _dated_turns(score, case, count):
    return fill_dated(case, count, best_first(score(case)))


def fused_with(embedder):
    """The selector that takes turns by near and this embedder, a callable from texts to vectors."""

    def near_and_embedder(case, count):
        return fill(case, count, _ranked(near_fused(case, embedder)))  # a z-score below the mean is not nothing

    return near_and_embedder


SCORES = {"bm25": bm25, "dense": dense, "rerank": rerank, "near": near}
SELECTORS = {name: partial(_turns, score) for name, score in SCORES.items()}
VARIANTS = {
    **{f"{name}@message": partial(_single_messages, score) for name, score in SCORES.items()},
    **{f"{name}@dated": partial(_dated_turns, score) for name, score in SCORES.items()},
}
