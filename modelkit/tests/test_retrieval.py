import random
import unittest
from math import log

from modelkit import retrieval
from modelkit.segments import split_sentences, words


class Retrieval(unittest.TestCase):
    def test_text_that_is_all_ascii_goes_the_short_way_to_the_same_words(self):
        rng = random.Random(1)
        for _ in range(300):
            text = "".join(rng.choice("aZ9 _-'.\n\t\"{") for _ in range(12))
            self.assertEqual(words(text), words(text + " é")[:-1])

    def test_words_of_words_are_the_same_words(self):
        for text in ("Größe İstanbul ﬁne", "हिन्दी ² ①", "ΑΘΗΝΑΣ"):
            self.assertEqual(words(" ".join(words(text))), words(text))

    def test_nothing_but_white_space_is_lost(self):
        rng = random.Random(2)
        for _ in range(500):
            text = "".join(rng.choice(["a", "Mr", ".", "!", "。", " ", "\n", "\n\n", "5", '"', ")", "e.g", "…"])
                           for _ in range(15))
            with self.subTest(text):
                self.assertEqual("".join("".join(split_sentences(text)).split()), "".join(text.split()))

    def test_long_runs_of_stops_come_to_an_end(self):  # a quadratic expression would take minutes
        for run in (".", "a.", '."', "。", "\n", "\n ", "Mr. ", "1. ", "?!", "x" * 50 + ". "):
            split_sentences(run * (50_000 // len(run)))

    def test_every_text_is_covered_by_chunks_no_longer_than_the_size(self):
        for length in range(20):
            text = "abcdefghijklmnopqrst"[:length]
            for size in range(1, 8):
                for overlap in range(size):
                    chunks = retrieval.chunk_fixed(text, size, overlap)
                    self.assertEqual("".join([*chunks[:1], *(chunk[overlap:] for chunk in chunks[1:])]), text)
                    self.assertTrue(all(overlap < len(chunk) <= size for chunk in chunks[1:]))

    def test_ties_keep_the_order_of_the_documents(self):
        index = retrieval.build_index([(name, "same words here") for name in "cab"])
        self.assertEqual([row["doc"] for _, row in retrieval.search(index, "same words")], ["c", "a", "b"])

    def test_bm25_is_the_formula(self):
        rng = random.Random(1)
        for _ in range(50):
            documents = [" ".join(rng.choice("abcde") * 2 for _ in range(rng.randrange(8))) for _ in range(6)]
            query = " ".join(rng.choice("abcdef") * 2 for _ in range(4))
            for score, expected in zip(retrieval.bm25(query, documents, 1.2, 0.5), formula(query, documents, 1.2, 0.5)):
                self.assertAlmostEqual(score, expected, 12)

    def test_an_index_asked_twice_gives_the_same_and_only_what_shares_a_term(self):
        index = retrieval.Bm25Index(["red cars", "blue car", "green"])
        self.assertEqual(index.scores("a car"), index.scores("a car"))
        self.assertEqual(sorted(index.scores("a car")), [0, 1])
        self.assertEqual(index.scores("zebra"), {})

    def test_another_embedder_takes_the_place_of_the_hashed_one(self):
        def letters(text):
            return [float(text.count(letter)) for letter in "xyz"]

        index = retrieval.build_index([("d", "x y. z z.")], max_chars=5, embed=letters)
        self.assertEqual(retrieval.search(index, "z", k=1, embed=letters)[0][1]["text"], "z z.")

    def test_a_best_score_at_the_threshold_is_enough_and_no_hit_or_one_that_is_no_number_is_not(self):
        for hits, answered in (([(0.35, "t")], True), ([(0.3499, "t")], False), ([(float("nan"), "t")], False),
                               ([], False)):
            answer = retrieval.answer_with_guard("?", lambda _: hits, lambda _, texts: texts)
            self.assertEqual(answer, ["t"] if answered else retrieval.REFUSAL)


def formula(query, documents, k1, b):
    """BM25 written down from the formula, without an index."""
    texts = [retrieval.terms(text) for text in documents]
    mean = sum(map(len, texts)) / len(texts) or 1
    for said in texts:
        score = 0.0
        for term in set(retrieval.terms(query)):
            n, tf = sum(term in other for other in texts), said.count(term)
            idf = log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(said) / mean)) if tf else 0.0
        yield score
