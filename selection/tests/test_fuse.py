import unittest

from selection.fuse import fused, products, unit_vectors, z_scores
from selection.retrievers import fused_with
from selection.tests.test_retrievers import case, count


def letters(texts):
    """A double of an embedder: how often a few letters stand in a text."""
    return [[text.count(letter) for letter in "xyz"] for text in texts]


class Scores(unittest.TestCase):
    def test_the_sum_is_of_z_scores_and_the_weight_is_the_embedders(self):
        found = fused({0: 2.0}, [0.5, 1.5], weight=0.5)
        self.assertEqual(found, {0: 1 - 0.5, 1: -1 + 0.5})

    def test_no_spread_is_no_score(self):
        self.assertEqual(z_scores([3.0, 3.0]), [0.0, 0.0])
        self.assertEqual(z_scores([]), [])

    def test_what_neither_finds_anything_in_is_left_out(self):
        self.assertEqual(set(fused({0: 1.0}, [-0.5, 0.0, 0.2, -0.1])), {0, 2})

    def test_vectors_of_any_length_count_alike(self):
        vectors = unit_vectors(letters, ["x", "xxxx", ""])
        self.assertEqual(products(vectors[0], vectors), [1.0, 1.0, 0.0])


class Selector(unittest.TestCase):
    def test_the_embedder_finds_what_shares_no_word(self):
        far = "filler " * 130
        given = case("xy xy", "cats", far, "yx, yx", far, "dogs", room=10)
        self.assertEqual(fused_with(letters)(given, count)["turns"], [2])

    def test_a_history_is_embedded_once_for_all_its_questions(self):
        calls = []

        def embedder(texts):
            calls.append(len(texts))
            return letters(texts)

        given, select = case("xy", "yx", "dogs"), fused_with(embedder)
        select(given, count)
        select({**given, "current": "yy"}, count)
        self.assertEqual(calls, [1, 2, 1])

    def test_an_embedder_that_gives_something_else_is_refused(self):
        for wrong in (lambda texts: [[1.0]], lambda texts: [[1.0] * (1 + n) for n, _ in enumerate(texts)],
                      lambda texts: [[float("nan")]] * len(texts), lambda texts: [["a"]] * len(texts)):
            with self.assertRaises(ValueError):
                fused_with(wrong)(case("xy", "yx", "dogs"), count)

    def test_no_history_chooses_nothing(self):
        self.assertEqual(fused_with(letters)(case("xy"), count)["turns"], [])


if __name__ == "__main__":
    unittest.main()
