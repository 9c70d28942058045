"""Selectors of the lab built from retrieval: `evaluate.py --strategies bm25,dense,rerank` runs them.

Run:  not a script; SELECTORS maps names to functions (case, count) -> selection, as strategies.py's are.

Each gives every turn a score for the question and takes turns best first, the newer first among equals, each if it
still fits. A turn that scores nothing is never taken. What does not depend on the question is built once for a
history (strategies.per_history).
"""

from math import fsum

from modelkit.near import NearIndex
from modelkit.retrieval import Bm25Index, embed, rerank_score
from strategies import fill, per_history, turn_text

SHORTLIST = 20  # turns that `rerank` looks at


def bm25(case, count):
    """Turns by BM25 of the question over their texts."""
    return fill(case, count, best_first(bm25_scores(case)))


def dense(case, count):
    """Turns by the cosine of the question's and their embeddings (retrieval.embed, hashed words)."""
    return fill(case, count, best_first(dense_scores(case)))


def rerank(case, count):
    """The SHORTLIST best turns by BM25, by words and adjacent pairs of words that they share with the question."""
    texts = _texts(case["history"])
    shortlist = best_first(bm25_scores(case))[:SHORTLIST]
    return fill(case, count, best_first({number: rerank_score(case["current"], texts[number]) for number in shortlist}))


def near(case, count):
    """Turns by near.py: BM25 of their best passage, the words around it counted too."""
    return fill(case, count, best_first(near_scores(case)))


def near_scores(case):
    """{turn: near's score} of the turns that hold a word of the question or stand near one."""
    return _near_index(case["history"]).scores(case["current"])


def bm25_scores(case):
    """{turn: BM25 score} of the turns that share a term with the question."""
    return _indexed(case["history"]).scores(case["current"])


def dense_scores(case):
    """{turn: cosine with the question}; the vectors have length one or nil, so the product is the cosine."""
    asked = [(place, value) for place, value in enumerate(embed(case["current"])) if value]
    return {number: fsum(value * vector[place] for place, value in asked)
            for number, vector in enumerate(_embedded(case["history"]))}


def best_first(scores):
    """The turns of {turn: score} that score more than nothing, best first, then the newer."""
    return sorted((number for number, score in scores.items() if score > 0), key=lambda n: (-scores[n], -n))


@per_history
def _texts(history):
    return [turn_text(turn) for turn in history]


@per_history
def _indexed(history):
    return Bm25Index(_texts(history))


@per_history
def _near_index(history):
    return NearIndex(_texts(history))


@per_history
def _embedded(history):
    return [embed(text) for text in _texts(history)]


SELECTORS = {"bm25": bm25, "dense": dense, "rerank": rerank, "near": near}
