"""Known values of the formulas, and the published figures about what a success rate can show."""

import unittest

from base.stats import conversations_needed, mcnemar, percentile, resolution, sign_test, wilson


class Resolution(unittest.TestCase):
    def test_three_of_200_at_083_lie_inside_it(self):
        shown = resolution(0.83, 200)
        self.assertEqual([round(shown["standard_error"], 3), round(shown["low"], 2), round(shown["high"], 2)],
                         [0.027, 0.78, 0.88])
        self.assertLess(3 / 200, min(shown["smallest_drop"], 0.83 - shown["low"]))
        self.assertAlmostEqual(resolution(0.83, 800)["standard_error"], shown["standard_error"] / 2)

    def test_says_how_many_conversations_a_drop_needs(self):
        needed = resolution(0.83, 200, drop=0.015)["needed"]
        self.assertEqual(needed, 2410)
        self.assertLessEqual(resolution(0.83, needed)["smallest_drop"], 0.015)
        self.assertGreater(resolution(0.83, needed - 1)["smallest_drop"], 0.015)
        self.assertAlmostEqual(conversations_needed(0.5, 0.01) / conversations_needed(0.5, 0.02), 4, delta=0.01)

    def test_refuses_what_is_no_rate(self):
        for arguments in ((1.1, 5), (-0.1, 5), (0.5, 0), (float("nan"), 5), (0.5, 5, 0), (0.5, 5, 2)):
            with self.subTest(arguments), self.assertRaises(ValueError):
                resolution(*arguments)


class Exact(unittest.TestCase):
    def test_wilson_gives_published_values_and_stays_inside_0_and_1(self):
        for kept, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),  # Newcombe (1998), table I
                                   (0, 20, 0, 0.1611), (20, 20, 0.8389, 1)):
            self.assertEqual([round(end, 4) for end in wilson(kept, n)], [low, high])
        self.assertIsNone(wilson(0, 0))
        self.assertRaises(ValueError, wilson, 3, 2)

    def test_mcnemar_is_the_exact_sign_test(self):
        self.assertEqual(mcnemar(0, 0), 1.0)
        self.assertEqual(mcnemar(5, 0), 0.0625)
        self.assertEqual(mcnemar(1, 7), mcnemar(7, 1))
        self.assertAlmostEqual(sign_test(11, 5), 0.2101, places=4)
        self.assertEqual(sign_test(4, 4), 1.0)
        self.assertRaises(ValueError, mcnemar, -1, 2)

    def test_percentile_is_a_value_of_the_sample(self):
        self.assertEqual(percentile([3, 1, 2], 0.5), 2)
        self.assertEqual(percentile(list(range(1, 21)), 0.95), 19)
        self.assertEqual(percentile([7], 0.95), 7)
        self.assertRaises(ValueError, percentile, [], 0.5)
