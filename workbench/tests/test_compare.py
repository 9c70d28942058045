"""What a gate could let through: a lost fact behind a better mean, and a comparison of things that differ."""

import copy
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from base.command import InputError, NotComparable
from workbench.compare import compare, main, paired, smallest_difference, table
from workbench.tests.made import report, row, run


class Gate(unittest.TestCase):
    def test_one_lost_fact_blocks_although_more_were_gained(self):
        before = report(row("one"), row("two", ["x", "y"]), row("three", ["z"]))
        after = report(row("one", ["w"]), row("two"), row("three"))
        result = compare(before, after)
        self.assertEqual(result["decision"], "blocked")
        self.assertEqual(result["blocking"], [{"change": "lost", "strategy": "recent", "case": "one", "fact": "w"}])
        self.assertEqual(len(result["results"][0]["gained"]), 3)

    def test_a_fact_lost_for_another_gained_in_the_same_case_is_seen(self):
        result = compare(report(row("one", ["x"])), report(row("one", ["y"])))
        self.assertEqual([item["fact"] for item in result["blocking"]], ["y"])

    def test_a_new_stale_fact_and_a_new_request_over_budget_block(self):
        for change, after in {"stale": row("one", stale=["old"]), "over budget": row("one", within=False)}.items():
            with self.subTest(change):
                result = compare(report(row("one")), report(after))
                self.assertEqual([item["change"] for item in result["blocking"]], [change])

    def test_a_stale_fact_that_was_there_before_or_is_gone_does_not_block(self):
        before = report(row("one", stale=["old"]), row("two", stale=["old"]))
        result = compare(before, report(row("one", stale=["old"]), row("two")))
        self.assertEqual(
            (result["decision"], result["results"][0]["stale gone"]), ("safe", [{"case": "two", "fact": "old"}]))

    def test_facts_that_name_turns_are_told_by_turn_and_words(self):
        lost = {"turn": "D1:3", "text": "I sold it."}
        result = compare(report(row("one")), report(row("one", [lost])))
        self.assertEqual(result["blocking"][0]["fact"], "D1:3: I sold it.")

    def test_a_sweep_is_compared_at_every_budget(self):
        def sweep(last):
            level = {"summary": {}, "cases": {"recent": [row("one")]}}
            return {**{key: value for key, value in report().items() if key not in ("summary", "cases")},
                    "budgets": {"64": level, "128": {"summary": {}, "cases": {"recent": [last]}}}}

        result = compare(sweep(row("one")), sweep(row("one", ["x"])))
        self.assertEqual([(item["budget"], item["fact"]) for item in result["blocking"]], [("128", "x")])

    def test_a_row_without_a_grade_is_neither_pass_nor_fail(self):
        failed = {"case": "two", "split": "dev", "kind": "made up", "error": "ValueError: no"}
        before, after = report(row("one"), row("two")), report(row("one"), failed)
        result = compare(before, after)
        self.assertEqual((result["decision"], result["results"][0]["not_graded"]), ("undecided", ["two"]))
        self.assertEqual(result["results"][0]["paired"]["cases"]["total"], 1)

    def test_a_lost_fact_blocks_even_where_another_row_holds_no_grade(self):
        failed = {"case": "two", "split": "dev", "kind": "made up", "error": "ValueError: no"}
        self.assertEqual(
            compare(report(row("one"), row("two")), report(row("one", ["x"]), failed))["decision"], "blocked")

    def test_a_stale_fact_whose_replacement_is_missing_reads_like_one_that_stands_beside_it(self):
        before = report(row("one"), row("two"), row("three", ["x"], ["old"]))
        after = report(row("one", ["x"], ["old"]), row("two", stale=["old"]), row("three", stale=["old"]))
        result = compare(before, after)
        self.assertEqual(result["results"][0]["stale_cases"],
                         {"recorded": {"alone": ["three"], "replaced": []},
                          "fresh": {"alone": ["one"], "replaced": ["two", "three"]}})
        text = "\n".join(table(result))
        self.assertIn("1 -> 1 without its replacement, 0 -> 2 with it", text)
        self.assertIn("stale: one: old, without its replacement\nrecent: stale: two: old\n", text)

    def test_inputs_stay_as_they_were(self):
        before, after = report(row("one")), report(row("one", ["x"]))
        kept = copy.deepcopy((before, after))
        compare(before, after)
        self.assertEqual((before, after), kept)


class NotTheSame(unittest.TestCase):
    def test_other_cases_counters_graders_trials_and_unknown_fields_are_refused_by_name(self):
        for field, value in {"case_set_sha256": "z", "tokenizer_manifest_sha256": "z", "counter": {"model": "n"},
                             "grader": "other", "trials": 2, "some_later_field": 1}.items():
            with self.subTest(field), self.assertRaisesRegex(NotComparable, field):
                compare(report(row("one")), report(row("one"), **{field: value}))

    def test_strategies_environment_and_the_name_of_the_file_may_differ(self):
        changes = {"strategies_sha256": "z", "environment": {"python": "4"}, "case_set": "moved.json",
                   "selectors_sha256": {"mine.py": "y"}}
        self.assertEqual(compare(report(row("one")), report(row("one"), **changes))["decision"], "safe")

    def test_other_budgets_or_other_rows_under_one_hash_are_refused(self):
        level = {"summary": {}, "cases": {"recent": [row("one")]}}
        sweep = {**{key: value for key, value in report().items() if key not in ("summary", "cases")},
                 "budgets": {"64": level}}
        for fresh in (sweep, report(row("two")), report(row("one", total=3)), report(row("one"), row("two"))):
            with self.subTest(fresh=fresh), self.assertRaises(NotComparable):
                compare(report(row("one")), fresh)

    def test_a_strategy_that_is_gone_is_refused_not_passed_over(self):
        with self.assertRaisesRegex(NotComparable, "recent"):
            compare(report(row("one")), report(cases={"notes": [row("one")]}))

    def test_a_pair_compares_two_strategies_of_different_names(self):
        after = report(cases={"near": [row("one", ["x"])]})
        result = compare(report(row("one")), after, pairs=["recent=near"])
        self.assertEqual(result["results"][0]["recorded_strategy"], "recent")
        self.assertEqual(result["blocking"][0]["strategy"], "near")
        for text in ("recent", "=near", "recent="):
            with self.subTest(text), self.assertRaises(InputError):
                compare(report(row("one")), after, pairs=[text])


class Figures(unittest.TestCase):
    def test_the_least_that_can_be_shown_is_six_discordant_pairs(self):
        least = smallest_difference(12)
        self.assertEqual((least["discordant_pairs"], least["mcnemar_p"], least["within_reach"]), (6, 0.03125, True))
        self.assertFalse(smallest_difference(5)["within_reach"])

    def test_paired_figures_of_a_known_table(self):
        got = paired({(True, True): 5, (True, False): 1, (False, True): 7, (False, False): 2})
        self.assertEqual(
            [got[key] for key in ("total", "found_recorded", "found_fresh", "lost", "gained")], [15, 6, 12, 1, 7])
        self.assertAlmostEqual(got["mcnemar_p"], 2 * 9 / 2**8, places=6)  # P(at most 1 of 8) = (1 + 8) / 2^8
        self.assertEqual(got["interval_fresh"], [0.548, 0.93])  # Wilson, worked out apart

    def test_facts_are_counted_over_all_cases(self):
        result = compare(report(row("one", ["a"]), row("two")), report(row("one", ["b"]), row("two")))
        facts = result["results"][0]["paired"]["facts"]
        self.assertEqual(
            [facts[key] for key in ("total", "found_recorded", "found_fresh", "gained", "lost")], [4, 3, 3, 1, 1])


class Command(unittest.TestCase):
    def run_files(self, before, after, allowed=None, junit=False):
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("before", "after", "allowed", "junit")]
            for path, value in zip(paths, (before, after, allowed)):
                path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
            result = run(main, *paths[:2], *(["--allow", paths[2]] if allowed is not None else []),
                         *(["--junit", paths[3]] if junit else []))
            self.junit = paths[3].read_text("utf-8") if junit else None
            return result

    def test_exit_status_and_what_is_named(self):
        for after, wanted in ((row("one"), 0), (row("one", ["the port is 80"]), 1)):
            status, out, err = self.run_files(report(row("one")), report(after))
            self.assertEqual(status, wanted)
            self.assertEqual(json.loads(out)["decision"], "blocked" if wanted else "safe")
        self.assertIn("lost: one: the port is 80", err)

    def test_a_fact_cannot_steer_the_terminal(self):
        _, _, err = self.run_files(report(row("one")), report(row("one", ["\x1b[2J\nsafe: 0 changes"])))
        self.assertNotIn("\x1b", err)
        self.assertFalse([line for line in err.splitlines() if line.startswith("safe")])

    def test_not_comparable_is_three_with_the_reason_and_no_output(self):
        status, out, err = self.run_files(report(row("one")), report(row("one"), grader="other"))
        self.assertEqual((status, out, len(err.splitlines())), (3, "", 1))

    def test_a_change_that_is_allowed_by_name_passes_and_its_reason_is_told(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "the fact moved to notes"}
        other = {**entry, "case": "two"}
        status, out, err = self.run_files(report(row("one")), report(row("one", ["x"])), [entry, other])
        self.assertEqual(status, 0)
        self.assertIn("the fact moved to notes", err)
        self.assertEqual(json.loads(out)["allowed_unused"], [other])

    def test_an_allowance_is_for_its_own_case_strategy_fact_and_change_only(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "known"}
        for field, value in {"case": "two", "strategy": "notes", "fact": "y", "change": "stale"}.items():
            with self.subTest(field):
                status, _, _ = self.run_files(report(row("one")), report(row("one", ["x"])), [{**entry, field: value}])
                self.assertEqual(status, 1)

    def test_what_the_gate_printed_is_no_allow_file_although_a_reason_was_added(self):
        level = {key: report(row("one"))[key] for key in ("summary", "cases")}
        worse = {key: report(row("one", [{"turn": "3", "text": "x"}]))[key] for key in ("summary", "cases")}
        before, after = ({**report(), "budgets": {"64": level, "128": last}} for last in (level, worse))
        for value in (before, after):
            del value["summary"], value["cases"]
        _, out, _ = self.run_files(before, after)
        printed = json.loads(out)
        (entry,) = printed["blocking"]
        self.assertEqual((entry["budget"], entry["fact"]), ("128", "3: x"))
        entry["why"] = "known"
        by_hand = {**entry, "budget": 128, "fact": {"turn": "3", "text": "x"}}
        for allowed in (printed, [entry], [by_hand]):
            with self.subTest(allowed=allowed):
                self.assertEqual(self.run_files(before, after, allowed)[0], 0)
        self.assertEqual(self.run_files(before, after, [{**by_hand, "budget": 64}])[0], 1)

    def test_a_lost_fact_is_no_failure_to_ci_or_a_row_without_a_grade_a_pass(self):
        failed = {"case": "three", "split": "dev", "kind": "made up", "error": "ValueError: no"}
        before = report(row("one"), row("two"), row("three"))
        with mock.patch.dict("os.environ", {"GITHUB_ACTIONS": "true"}):
            _, _, err = self.run_files(before, report(row("one", ["x", "y"]), row("two"), failed), junit=True)
        suite = ElementTree.fromstring(self.junit)
        self.assertEqual([suite.get(name) for name in ("tests", "failures", "errors")], ["4", "2", "1"])
        self.assertEqual([case.get("name") for case in suite], ["lost: one: x", "lost: one: y", "two", "three"])
        self.assertEqual(len([line for line in err.splitlines() if line.startswith("::error")]), 2)

    def test_an_edited_or_merged_report_is_believed(self):
        whole = report(row("one"), row("two", ["x"]))
        twice = {**whole, "cases": {"recent": [row("one"), row("one")]}}
        better = {**whole, "cases": {"recent": [row("one"), row("two")]}}
        for value, named in ((twice, "stands twice"), (better, "summary is not that of its rows")):
            for pair in ((whole, value), (value, whole)):
                status, out, err = self.run_files(*pair)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
                self.assertIn(named, err)

    def test_an_allowance_without_a_reason_or_a_name_is_refused(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "known"}
        wrong = [{**entry, "why": " "}, {**entry, "why": 3}, {**entry, "change": "any"}, {**entry, "extra": "e"},
                 "text", {key: value for key, value in entry.items() if key != "fact"}]
        for value in [[one] for one in wrong] + [{}]:
            with self.subTest(value=value):
                status, out, err = self.run_files(report(row("one")), report(row("one")), value)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))

    def test_files_that_are_no_reports_are_refused(self):
        broken = report(row("one"))
        del broken["cases"]["recent"][0]["missing"]
        for value in ("", "[]", "{}", report(cases={}), report(cases={"recent": []}), report(cases=3), broken):
            with self.subTest(value=value):
                status, out, err = self.run_files(report(row("one")), value)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
