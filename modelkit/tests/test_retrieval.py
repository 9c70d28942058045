import random
import unittest
from math import log

from modelkit import retrieval


class Chunks(unittest.TestCase):
    def test_the_chunk_that_reaches_the_end_is_the_last(self):
        self.assertEqual(retrieval.chunk_fixed("abcdef", 4, 2), ["abcd", "cdef"])
        self.assertEqual(retrieval.chunk_fixed("abcdefg", 4, 2), ["abcd", "cdef", "efg"])
        self.assertEqual(retrieval.chunk_fixed("ab", 4, 3), ["ab"])
        self.assertEqual(retrieval.chunk_fixed("", 4), [])

    def test_every_text_is_covered_by_chunks_no_longer_than_the_size(self):
        for length in range(30):
            text = "abcdefghijklmnopqrstuvwxyz0123"[:length]
            for size in range(1, 8):
                for overlap in range(size):
                    chunks = retrieval.chunk_fixed(text, size, overlap)
                    self.assertEqual("".join([*chunks[:1], *(chunk[overlap:] for chunk in chunks[1:])]), text)
                    self.assertTrue(all(overlap < len(chunk) <= size for chunk in chunks[1:]))

    def test_bad_sizes_are_refused(self):
        for call in (lambda: retrieval.chunk_fixed("a", 0), lambda: retrieval.chunk_fixed("a", 4, 4),
                     lambda: retrieval.chunk_fixed("a", 4, -1), lambda: retrieval.chunk_fixed("a", True),
                     lambda: retrieval.chunk_fixed("a", 2.0), lambda: retrieval.chunk_sentences("a", 0),
                     lambda: retrieval.embed("a", 0), lambda: retrieval.search([], "a", 0),
                     lambda: retrieval.with_neighbours([], {"doc": "a", "n": 0}, -1),
                     lambda: retrieval.bm25("a", ["a"], k1=-1), lambda: retrieval.bm25("a", ["a"], b=2)):
            self.assertRaises(ValueError, call)

    def test_a_chunk_of_sentences_may_fill_the_limit_and_not_pass_it(self):
        self.assertEqual(retrieval.chunk_sentences("Ab c. De f. Gh.", 11), ["Ab c. De f.", "Gh."])
        self.assertEqual(retrieval.chunk_sentences("Ab c. De f. Gh.", 10), ["Ab c.", "De f. Gh."])


class NothingThere(unittest.TestCase):
    def test_an_empty_corpus_gives_nothing(self):
        self.assertEqual(retrieval.build_index([]), [])
        self.assertEqual(retrieval.search([], "a question"), [])
        self.assertEqual(retrieval.bm25("a question", []), [])
        self.assertEqual((retrieval.unit_scale([]), retrieval.hybrid([], [])), ([], []))
        self.assertEqual(retrieval.rerank("a question", []), [])
        self.assertEqual(retrieval.answer_with_guard("?", lambda _: [], lambda *_: "made up"), retrieval.REFUSAL)

    def test_empty_documents_score_nothing(self):
        self.assertEqual(retrieval.build_index([("a", ""), ("b", " \n")]), [])
        self.assertEqual(retrieval.bm25("word", ["", "..."]), [0.0, 0.0])
        self.assertEqual(retrieval.bm25("word", ["", "word"])[0], 0.0)
        self.assertGreater(retrieval.bm25("word", ["", "word"])[1], 0.0)
        self.assertEqual(retrieval.bm25("", ["word"]), [0.0])
        self.assertEqual(set(retrieval.embed("the")), {0.0})

    def test_scores_that_are_not_positive_have_no_unit(self):
        self.assertEqual(retrieval.unit_scale([-1.0, 0.0]), [0.0, 0.0])


class Ranking(unittest.TestCase):
    def test_ties_keep_the_order_of_the_documents(self):
        index = retrieval.build_index([(name, "same words here") for name in "cab"])
        self.assertEqual([row["doc"] for _, row in retrieval.search(index, "same words")], ["c", "a", "b"])
        self.assertEqual([text for _, text in retrieval.rerank("cat", ["cat c", "cat a", "dog", "cat b"])],
                         ["cat c", "cat a", "cat b", "dog"])

    def test_bm25_is_the_formula(self):
        rng = random.Random(1)
        for _ in range(50):
            documents = [" ".join(rng.choice("abcde") * 2 for _ in range(rng.randrange(8))) for _ in range(6)]
            query = " ".join(rng.choice("abcdef") * 2 for _ in range(4))
            for score, expected in zip(retrieval.bm25(query, documents, 1.2, 0.5), plain(query, documents, 1.2, 0.5)):
                self.assertAlmostEqual(score, expected, 12)

    def test_an_index_asked_twice_gives_the_same_and_only_what_shares_a_term(self):
        index = retrieval.Bm25Index(["red cars", "blue car", "green"])
        self.assertEqual(index.scores("a car"), index.scores("a car"))
        self.assertEqual(sorted(index.scores("a car")), [0, 1])
        self.assertEqual(index.scores("zebra"), {})

    def test_lists_of_different_length_are_refused(self):
        with self.assertRaisesRegex(ValueError, "same documents"):
            retrieval.hybrid([1.0], [1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "same embedder"):
            retrieval.cosine([1.0], [1.0, 2.0])

    def test_another_embedder_takes_the_place_of_the_hashed_one(self):
        def letters(text):
            return [float(text.count(letter)) for letter in "xyz"]

        index = retrieval.build_index([("d", "x y. z z.")], max_chars=5, embed=letters)
        self.assertEqual(retrieval.search(index, "z", k=1, embed=letters)[0][1]["text"], "z z.")

    def test_neighbours_stay_in_their_document_and_in_order(self):
        rows = [{"doc": doc, "n": n, "text": f"{doc}{n}"} for doc in "ab" for n in (2, 0, 1)]
        self.assertEqual(retrieval.with_neighbours(rows, rows[0]), "a1 a2")
        self.assertEqual(retrieval.with_neighbours(rows, rows[5], radius=2), "b0 b1 b2")
        self.assertEqual(retrieval.with_neighbours(rows, rows[0], radius=0), "a2")


class Guard(unittest.TestCase):
    def test_a_best_score_at_the_threshold_is_enough_and_one_that_is_no_number_is_not(self):
        for score, answered in ((0.35, True), (0.3499, False), (float("nan"), False)):
            answer = retrieval.answer_with_guard("?", lambda _: [(score, "t")], lambda _, texts: texts)
            self.assertEqual(answer, ["t"] if answered else retrieval.REFUSAL)

    def test_the_threshold_lies_in_the_middle_of_the_gap_or_nowhere(self):
        self.assertEqual(retrieval.gap_threshold([0.75, 0.5], [0.0, 0.25]), 0.375)
        for groups in (([0.5], [0.5]), ([0.4, 0.9], [0.5]), ([], [0.1]), ([0.5], [])):
            self.assertRaises(ValueError, retrieval.gap_threshold, *groups)


def plain(query, documents, k1, b):
    """BM25 written down from the formula, without an index."""
    found = [retrieval.terms(text) for text in documents]
    mean = sum(map(len, found)) / len(found) or 1
    scores = []
    for said in found:
        score = 0.0
        for term in set(retrieval.terms(query)):
            n = sum(term in other for other in found)
            idf = log(1 + (len(found) - n + 0.5) / (n + 0.5))
            tf = said.count(term)
            score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(said) / mean)) if tf else 0.0
        scores.append(score)
    return scores
