"""Cut documents into chunks, index them, find the ones that a question is about, and refuse when none is.

`embed` hashes words and knows no meaning; any callable text -> list of numbers takes its place. Sums are made so that
every Python gives the same last digit.
"""

import hashlib
from collections import Counter
from functools import lru_cache
from math import fsum, log, sqrt

from modelkit import check_whole
from modelkit.segments import split_sentences, words

STOP_WORDS = frozenset(
    "a an and are as at be but by can do does for from have how i if in is it long me much my not of on or that the "
    "this to we what when where which who will with you your".split())
REFUSAL = "I do not know. No relevant context was found."


def chunk_fixed(text, size, overlap=0):
    """Pieces of `size` characters, each beginning `overlap` before the end of the last; ends inside words.
    chunk_fixed("abcdef", 4, 2) -> ["abcd", "cdef"]"""
    check_whole(1, size=size)
    check_whole(0, overlap=overlap)
    if overlap >= size:
        raise ValueError(f"overlap {overlap} must be smaller than size {size}; no chunk would come further")
    starts = range(0, max(1, len(text) - overlap), size - overlap) if text else ()
    return [text[start:start + size] for start in starts]


def chunk_sentences(text, max_chars):
    """Whole sentences packed in order into chunks of at most `max_chars`; a longer sentence is a chunk of its own.
    chunk_sentences("One. Two. Three.", 9) -> ["One. Two.", "Three."]"""
    check_whole(1, max_chars=max_chars)
    chunks = []
    for sentence in split_sentences(text):
        if chunks and len(chunks[-1]) + 1 + len(sentence) <= max_chars:
            chunks[-1] += " " + sentence
        else:
            chunks.append(sentence)
    return chunks


def terms(text):
    """The words of a text, a final s dropped from those of over three letters: terms("Two keys") -> ["two", "key"]."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words(text)]


def tokens(text):
    """`terms` without STOP_WORDS; the s is dropped first: tokens("What does it do?") -> ["doe"]."""
    return [term for term in terms(text) if term not in STOP_WORDS]


def embed(text, dim=128):
    """A hashed bag of words of length one, or all zeros where no word is left."""
    check_whole(1, dim=dim)
    vector = [0.0] * dim
    for place, sign in map(_bucket, tokens(text)):
        vector[place % dim] += sign
    length = sqrt(fsum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


@lru_cache(maxsize=65536)
def _bucket(token):
    """(first four bytes of the token's SHA-256 as a number, sign: the fifth byte's parity, even is plus)."""
    digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big"), -1.0 if digest[4] % 2 else 1.0


def cosine(a, b):
    """The cosine of the angle between two vectors, 0.0 where a length is nil: cosine([1, 0], [1, 1]) -> 0.707."""
    if len(a) != len(b):
        raise ValueError(f"vectors of {len(a)} and {len(b)} numbers; embed both with the same embedder")
    lengths = sqrt(fsum(x * x for x in a)) * sqrt(fsum(y * y for y in b))
    return fsum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0


def build_index(docs, max_chars=160, embed=embed):
    """Rows {"doc", "n": chunk number in its document, "text", "vec"} of (name, text) pairs, chunked by sentences."""
    return [{"doc": name, "n": number, "text": chunk, "vec": embed(chunk)}
            for name, text in docs for number, chunk in enumerate(chunk_sentences(text, max_chars))]


def search(index, query, k=3, embed=embed):
    """The k best (cosine, row) pairs, best first, ties in the index's order; `embed` has to be the index's own."""
    check_whole(1, k=k)
    vector = embed(query)
    return sorted(((cosine(vector, row["vec"]), row) for row in index), key=lambda pair: -pair[0])[:k]


def with_neighbours(index, row, radius=1):
    """The text of a row with those up to `radius` places beside it in its document, in order, joined by a space."""
    check_whole(0, radius=radius)
    place = "pos" if "pos" in row else "n"
    near = [other for other in index if other["doc"] == row["doc"] and abs(other[place] - row[place]) <= radius]
    return " ".join(other["text"] for other in sorted(near, key=lambda other: other[place]))


class Bm25Index:
    """Documents (texts) ready for many questions: BM25 (Robertson and Zaragoza 2009).

    score = sum over the question's distinct terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)),
    idf = ln(1 + (N - n + 0.5) / (n + 0.5)), never negative.
    """

    def __init__(self, documents, k1=1.5, b=0.75, terms=terms):
        if k1 < 0 or not 0 <= b <= 1:
            raise ValueError(f"k1 must be 0 or more and b from 0 to 1, got k1 {k1!r} and b {b!r}")
        counts = [Counter(terms(text)) for text in documents]
        mean = sum(map(Counter.total, counts)) / (len(counts) or 1) or 1.0
        self._terms, self._size, self._weights = terms, len(counts), {}
        for number, counted in enumerate(counts):
            norm = k1 * (1 - b + b * counted.total() / mean)
            for term, times in counted.items():
                self._weights.setdefault(term, []).append((number, times * (k1 + 1) / (times + norm)))

    def idf(self, term):
        """The weight of a term: the rarer, the more; defined for one that no document holds."""
        holding = len(self._weights.get(term, ()))
        return log(1 + (self._size - holding + 0.5) / (holding + 0.5))

    def scores(self, query):
        """{number of a document: score} for those that share a term with the query."""
        scores = {}
        for term in dict.fromkeys(self._terms(query)):  # not a set: its order would change the last digit of a sum
            idf = self.idf(term)
            for number, weight in self._weights.get(term, ()):
                scores[number] = scores.get(number, 0.0) + idf * weight
        return scores


def bm25(query, documents, k1=1.5, b=0.75):
    """A score for each document (texts), 0.0 without a shared term: bm25("cat", ["a cat", "a dog"]) -> [0.693, 0.0]."""
    documents = list(documents)
    scores = Bm25Index(documents, k1, b).scores(query)
    return [scores.get(number, 0.0) for number in range(len(documents))]


def unit_scale(scores):
    """Each score divided by the largest, all zeros where that is not positive: unit_scale([2.0, 1.0]) -> [1.0, 0.5]."""
    largest = max(scores, default=0)
    return [score / largest for score in scores] if largest > 0 else [0.0] * len(scores)


def hybrid(dense, lexical):
    """The sum of two lists of scores, each on the unit scale: hybrid([2.0, 1.0], [0.0, 4.0]) -> [1.0, 1.5]."""
    if len(dense) != len(lexical):
        raise ValueError(f"{len(dense)} dense and {len(lexical)} lexical scores; score the same documents twice")
    return list(map(sum, zip(unit_scale(dense), unit_scale(lexical))))


def words_and_pairs(text):
    """(set of `tokens`, set of their bigrams): words_and_pairs("red fox") -> ({"red", "fox"}, {("red", "fox")})."""
    left = tokens(text)
    return set(left), set(zip(left, left[1:]))


def shared_score(query, chunk):
    """Shared words + 3 x shared bigrams of two texts' words_and_pairs."""
    return len(query[0] & chunk[0]) + 3 * len(query[1] & chunk[1])


def rerank_score(query, chunk):
    """shared_score of two texts: rerank_score("red car", "a red car") -> 5."""
    return shared_score(words_and_pairs(query), words_and_pairs(chunk))


def rerank(query, shortlist):
    """(rerank_score, text) pairs of a shortlist of texts, best first, ties in the shortlist's order.
    rerank("red fox", ["a fox", "the red fox"]) -> [(5, "the red fox"), (1, "a fox")]"""
    return sorted(((rerank_score(query, text), text) for text in shortlist), key=lambda pair: -pair[0])


def answer_with_guard(question, search, generate, threshold=0.35):
    """generate(question, texts) where search(question) -> (score, text) pairs reaches the threshold, else REFUSAL."""
    hits = search(question)
    return generate(question, [text for _, text in hits]) if hits and hits[0][0] >= threshold else REFUSAL


def gap_threshold(answerable, unanswerable):
    """The middle of the gap between two groups of best scores: gap_threshold([0.6, 0.8], [0.1, 0.2]) -> 0.4."""
    if not answerable or not unanswerable:
        raise ValueError("both groups need at least one score; measure questions of either kind")
    low, high = max(unanswerable), min(answerable)
    if low >= high:
        raise ValueError(f"the groups overlap: unanswerable up to {low}, answerable from {high}; none parts them")
    return (low + high) / 2
