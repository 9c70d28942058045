"""Known values of the formulas, and the published figures about what a success rate can show."""

import unittest

from base import stats
from base.stats import resolution, wilson
from base.tests.made import named_cases


class Formulas(unittest.TestCase):
    def test_a_formula_gives_another_value_than_the_published_one(self):
        for case in named_cases(__file__, "formulas.json"):
            with self.subTest(case["formula"], of=case["name"]):
                result = getattr(stats, case["formula"])(*case["of"])
                result = result if isinstance(result, tuple) else [result]
                self.assertEqual([round(number, 4) for number in result], case["gives"])

    def test_an_interval_is_left_of_0_or_right_of_1_or_shown_without_trials(self):
        self.assertEqual({(wilson(0, n)[0], wilson(n, n)[1]) for n in range(1, 99)}, {(0, 1)})
        self.assertIsNone(wilson(0, 0))

    def test_three_of_200_at_083_lie_inside_it(self):
        shows = resolution(0.83, 200)
        self.assertEqual([round(shows[name], 3) for name in ("standard_error", "low", "high")], [0.027, 0.778, 0.882])
        self.assertLess(3 / 200, min(shows["smallest_drop"], 0.83 - shows["low"]))
        self.assertAlmostEqual(resolution(0.83, 800)["standard_error"], shows["standard_error"] / 2)

    def test_a_drop_needs_another_number_of_conversations(self):
        needed = resolution(0.83, 200, drop=0.015)["needed"]
        self.assertEqual((needed, resolution(0.83, 200, drop=0.0075)["needed"]), (2410, 9637))
        self.assertLessEqual(resolution(0.83, needed)["smallest_drop"], 0.015)
        self.assertGreater(resolution(0.83, needed - 1)["smallest_drop"], 0.015)

    def test_what_is_no_rate_is_taken(self):
        for arguments in ((1.1, 5), (-0.1, 5), (0.5, 0), (float("nan"), 5), (0.5, 5, 0), (0.5, 5, 2)):
            with self.subTest(arguments), self.assertRaises(ValueError):
                resolution(*arguments)
