import unittest

from modelkit import scoring

CASE = {"id": "c", "question": "q", "exact": "14 Days", "must": ["14"], "must_not": ["30"],
        "rubric": [(3, "number", lambda answer: "14" in answer), (1, "polite", lambda answer: "please" in answer)]}


class Answers(unittest.TestCase):
    def test_case_and_outer_space_do_not_matter_and_the_rest_does(self):
        self.assertTrue(scoring.exact_match(" 14 days\n", CASE))
        self.assertFalse(scoring.exact_match("14  days", CASE))
        self.assertIsNone(scoring.exact_match("14 days", {**CASE, "exact": None}))

    def test_a_forbidden_text_fails_an_answer_that_has_all_it_must(self):
        self.assertTrue(scoring.contains_all("14 DAYS", CASE))
        self.assertFalse(scoring.contains_all("14, not 30", CASE))

    def test_rubric_weights_need_not_sum_to_one(self):
        self.assertEqual(scoring.rubric_score("14", CASE), (0.75, ["polite"]))

    def test_what_nothing_could_fail_and_nothing_was_asked_of_is_refused(self):
        for broken in ({"must": [], "must_not": []}, {"rubric": []}, {"rubric": [(0, "x", bool)]},
                       {"rubric": [(2, "x", bool), (-1, "y", bool)]}):
            with self.assertRaisesRegex(ValueError, "case 'c'"):
                scoring.evaluate(lambda _: "14", [{**CASE, **broken}])
        with self.assertRaisesRegex(ValueError, "no cases"):
            scoring.evaluate(lambda _: "14", [])

    def test_a_missing_answer_is_not_scored_as_wrong(self):
        with self.assertRaisesRegex(ValueError, "case 'c': the answer is no text"):
            scoring.evaluate(lambda _: None, [CASE])


class Judges(unittest.TestCase):
    def test_a_judge_that_always_says_the_same_place_has_no_opinion(self):
        for place in ("first", "second"):
            self.assertEqual(scoring.both_orders(lambda *_: place, "q", "x", "y"), "tie")

    def test_the_better_one_wins_in_either_place(self):
        def judge(_, first, second):
            return "first" if first > second else "second"

        self.assertEqual(scoring.both_orders(judge, "q", 1, 2), "b")
        self.assertEqual(scoring.both_orders(judge, "q", 2, 1), "a")

    def test_a_verdict_of_no_known_kind_is_refused(self):
        with self.assertRaisesRegex(ValueError, "the judge said 'a'"):
            scoring.both_orders(lambda *_: "a", "q", 1, 2)

    def test_kappa_is_agreement_beyond_chance(self):
        self.assertEqual(scoring.agreement("yynn", "ynyn"), 0.5)
        self.assertEqual(scoring.kappa("yynn", "ynyn"), 0.0)
        self.assertEqual(scoring.kappa("yynn", "yynn"), 1.0)
        self.assertAlmostEqual(scoring.kappa("y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15), 0.4)

    def test_kappa_of_one_label_alone_is_refused(self):
        with self.assertRaisesRegex(ValueError, "undefined"):
            scoring.kappa("yy", "yy")
        self.assertEqual(scoring.kappa("yy", "nn"), 0.0)

    def test_lists_that_do_not_match_or_are_empty_are_refused(self):
        for judged, labels in (("y", "yn"), ("", "")):
            self.assertRaises(ValueError, scoring.agreement, judged, labels)

    def test_every_score_of_a_repeated_judgement_is_given(self):
        scores = iter([1, 0, 1])
        self.assertEqual(scoring.repeat(lambda _: next(scores), "a", 3), [1, 0, 1])
        self.assertRaises(ValueError, scoring.repeat, len, "a", 0)


class Gates(unittest.TestCase):
    def test_a_mean_that_rises_ships_past_a_case_that_broke(self):
        result = scoring.compare({"a": 0, "b": 1}, {"a": 1, "b": 0.5})
        self.assertEqual((scoring.gate_on_mean(result), scoring.gate_on_regressions(result)), ("ship", "hold"))

    def test_no_change_ships(self):
        result = scoring.compare({"a": 0.1, "b": 0.2}, {"b": 0.2, "a": 0.1 + 1e-12})
        self.assertEqual((result["improved"], result["regressed"]), ([], []))
        self.assertEqual((scoring.gate_on_mean(result), scoring.gate_on_regressions(result)), ("ship", "ship"))

    def test_a_case_of_one_side_only_is_an_error(self):
        for golden, candidate in (({"a": 1}, {}), ({"a": 1}, {"a": 1, "b": 1}), ({}, {})):
            self.assertRaises(ValueError, scoring.compare, golden, candidate)

    def test_a_score_that_is_no_number_is_an_error(self):
        for score in (float("nan"), float("inf"), True, None, "1"):
            with self.assertRaisesRegex(ValueError, "the score of a must be a finite number"):
                scoring.compare({"a": 1}, {"a": score})


class Runs(unittest.TestCase):
    RUNS = [{"name": "x", "score": 0.5, "ms": 10, "usd_per_1k": 1.0},
            {"name": "y", "score": 0.5, "ms": 9, "usd_per_1k": 2.0}]

    def test_a_limit_may_be_met_exactly_and_the_first_of_equals_is_chosen(self):
        self.assertEqual(scoring.choose(self.RUNS, {"ms": 10})["name"], "x")
        self.assertEqual([run["name"] for run in scoring.eligible(self.RUNS, {"ms": 9})], ["y"])

    def test_a_run_that_does_not_say_what_it_took_is_refused(self):
        with self.assertRaisesRegex(ValueError, "run 'x' does not say its tokens"):
            scoring.choose(self.RUNS, {"tokens": 3})

    def test_no_gain_has_no_price(self):
        with self.assertRaisesRegex(ValueError, "no better"):
            scoring.cost_per_point(*self.RUNS)
