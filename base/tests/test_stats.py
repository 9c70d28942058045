"""Known values of the formulas, and the published figures about what a success rate can show."""

import unittest

from base.stats import mcnemar, percentile, resolution, sign_test, wilson


class Resolution(unittest.TestCase):
    def test_three_of_200_at_083_lie_inside_it(self):
        shows = resolution(0.83, 200)
        self.assertEqual([round(shows[name], 3) for name in ("standard_error", "low", "high")], [0.027, 0.778, 0.882])
        self.assertLess(3 / 200, min(shows["smallest_drop"], 0.83 - shows["low"]))
        self.assertAlmostEqual(resolution(0.83, 800)["standard_error"], shows["standard_error"] / 2)

    def test_says_how_many_conversations_a_drop_needs(self):
        needed = resolution(0.83, 200, drop=0.015)["needed"]
        self.assertEqual((needed, resolution(0.83, 200, drop=0.0075)["needed"]), (2410, 9637))
        self.assertLessEqual(resolution(0.83, needed)["smallest_drop"], 0.015)
        self.assertGreater(resolution(0.83, needed - 1)["smallest_drop"], 0.015)

    def test_refuses_what_is_no_rate(self):
        for arguments in ((1.1, 5), (-0.1, 5), (0.5, 0), (float("nan"), 5), (0.5, 5, 0), (0.5, 5, 2)):
            with self.subTest(arguments), self.assertRaises(ValueError):
                resolution(*arguments)


class Exact(unittest.TestCase):
    def test_wilson_gives_published_values_and_stays_inside_0_and_1(self):
        for kept, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),  # Newcombe (1998), table I
                                   (0, 20, 0, 0.1611), (20, 20, 0.8389, 1)):
            self.assertEqual([round(end, 4) for end in wilson(kept, n)], [low, high])
        self.assertEqual({(wilson(0, n)[0], wilson(n, n)[1]) for n in range(1, 99)}, {(0, 1)})
        self.assertIsNone(wilson(0, 0))

    def test_mcnemar_is_the_exact_sign_test(self):
        self.assertEqual([mcnemar(*counts) for counts in ((0, 0), (5, 0), (4, 4), (1, 9))], [1, 0.0625, 1, 22 / 1024])
        self.assertEqual(mcnemar(1, 7), mcnemar(7, 1))
        self.assertAlmostEqual(sign_test(11, 5), 0.2101, places=4)

    def test_percentile_is_a_value_of_the_sample(self):
        self.assertEqual([percentile([3, 1, 2], 0.5), percentile([*range(1, 21)], 0.95), percentile([7], 0.95)],
                         [2, 19, 7])
