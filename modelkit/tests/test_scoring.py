import unittest

from modelkit import scoring

CASE = {"id": "c", "question": "q", "exact": "14 Days", "must": ["14"], "must_not": ["30"],
        "rubric": [(3, "number", lambda answer: "14" in answer), (1, "polite", lambda answer: "please" in answer)]}


class Scoring(unittest.TestCase):
    def test_rubric_weights_need_not_sum_to_one(self):
        self.assertEqual(scoring.rubric_score("14", CASE), (0.75, ["polite"]))

    def test_what_nothing_could_fail_and_what_was_not_answered_is_refused(self):
        for problem, answer, cases in (
            ("case 'c'", "14", [{**CASE, "must": [], "must_not": []}]), ("case 'c'", "14", [{**CASE, "rubric": []}]),
            ("case 'c'", "14", [{**CASE, "rubric": [(0, "x", bool)]}]),
            ("case 'c'", "14", [{**CASE, "rubric": [(2, "x", bool), (-1, "y", bool)]}]),
            ("no cases", "14", []), ("case 'c': the answer is no text", None, [CASE])):
            with self.subTest(cases), self.assertRaisesRegex(ValueError, problem):
                scoring.evaluate(lambda _: answer, cases)

    def test_both_orders_have_to_say_the_same(self):
        better = lambda _, first, second: "first" if first > second else "second"  # noqa: E731
        for judge, a, b, said in ((lambda *_: "first", 1, 2, "tie"), (lambda *_: "second", 1, 2, "tie"),
                                  (better, 1, 2, "b"), (better, 2, 1, "a")):
            self.assertEqual(scoring.both_orders(judge, "q", a, b), said)
        with self.assertRaisesRegex(ValueError, "the judge said 'a'"):
            scoring.both_orders(lambda *_: "a", "q", 1, 2)

    def test_every_score_of_a_repeated_judgement_is_given(self):
        scores = iter([1, 0, 1])
        self.assertEqual(scoring.repeat(lambda _: next(scores), "a", 3), [1, 0, 1])
        self.assertRaises(ValueError, scoring.repeat, len, "a", 0)

    def test_a_mean_that_rises_ships_past_a_case_that_broke_and_no_change_ships(self):
        for candidate, gates in (({"a": 1, "b": 0.5}, ("ship", "hold")), ({"b": 1, "a": 1e-12}, ("ship", "ship"))):
            result = scoring.compare({"a": 0, "b": 1}, candidate)
            self.assertEqual((scoring.gate_on_mean(result), scoring.gate_on_regressions(result)), gates)

    def test_a_score_that_is_not_finite_is_an_error(self):
        for score in (float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "the score of a must be a finite number"):
                scoring.compare({"a": 1}, {"a": score})
