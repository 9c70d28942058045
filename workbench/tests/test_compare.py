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
from workbench.report.tests.made import sweep
from workbench.tests.made import report, row, run

FAILED = {"case": "two", "split": "dev", "kind": "made up", "error": "ValueError: no"}


def compared(before, after, **options):
    """The gate's result for two reports of one row or several."""
    before, after = (report(*rows) if isinstance(rows, list) else rows if "grader" in rows else report(rows)
                     for rows in (before, after))
    return compare(before, after, **options)


class Gate(unittest.TestCase):
    def test_one_lost_fact_blocks_although_more_were_gained(self):
        result = compared(
            [row("one"), row("two", ["x", "y"]), row("three", ["z"])], [row("one", ["w"]), row("two"), row("three")])
        self.assertEqual(result["decision"], "blocked")
        self.assertEqual(result["blocking"], [{"change": "lost", "strategy": "recent", "case": "one", "fact": "w"}])
        self.assertEqual(len(result["results"][0]["gained"]), 3)

    def test_a_lost_fact_a_new_stale_one_and_a_new_request_over_budget_block(self):
        lost = {"turn": "D1:3", "text": "I sold it."}  # told by turn and words
        for before, after, change, fact in (([], row("one", [lost]), "lost", "D1:3: I sold it."),
                                            (["x"], row("one", ["y"]), "lost", "y"),
                                            ([], row("one", stale=["old"]), "stale", "old"),
                                            ([], row("one", within=False), "over budget", None)):
            with self.subTest(change, fact=fact):
                (item,) = compared(row("one", before), after)["blocking"]
                self.assertEqual((item["change"], item.get("fact")), (change, fact))

    def test_a_stale_fact_that_was_there_before_or_is_gone_does_not_block(self):
        result = compared(
            [row(name, stale=["old"]) for name in ("one", "two")], [row("one", stale=["old"]), row("two")])
        self.assertEqual(
            (result["decision"], result["results"][0]["stale gone"]), ("safe", [{"case": "two", "fact": "old"}]))

    def test_a_sweep_is_compared_at_every_budget(self):
        before, after = (
            sweep({"64": {"recent": [row("one")]}, "128": {"recent": [row("one", missing)]}}) for missing in ([], ["x"])
        )
        self.assertEqual(
            [(item["budget"], item["fact"]) for item in compare(before, after)["blocking"]], [("128", "x")])

    def test_a_row_without_a_grade_is_neither_pass_nor_fail_and_hides_no_lost_fact(self):
        result = compared([row("one"), row("two")], [row("one"), FAILED])
        self.assertEqual((result["decision"], result["results"][0]["not_graded"]), ("undecided", ["two"]))
        self.assertEqual(result["results"][0]["paired"]["cases"]["total"], 1)
        self.assertEqual(compared([row("one"), row("two")], [row("one", ["x"]), FAILED])["decision"], "blocked")

    def test_a_stale_fact_whose_replacement_is_missing_reads_like_one_that_stands_beside_it(self):
        result = compared([row("one"), row("two"), row("three", ["x"], ["old"])],
                          [row("one", ["x"], ["old"]), row("two", stale=["old"]), row("three", stale=["old"])])
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
                compared(row("one"), report(row("one"), **{field: value}))

    def test_strategies_environment_and_the_name_of_the_file_may_differ(self):
        changes = {"strategies_sha256": "z", "environment": {"python": "4"}, "case_set": "moved.json",
                   "selectors_sha256": {"mine.py": "y"}}
        self.assertEqual(compared(row("one"), report(row("one"), **changes))["decision"], "safe")

    def test_other_budgets_rows_or_strategies_under_one_hash_are_refused(self):
        other = [("other cases", rows) for rows in (row("two"), row("one", total=3), [row("one"), row("two")])]
        for told, fresh in (("budgets differ", sweep({"64": {"recent": [row("one")]}})), *other,
                            ("no strategy 'recent'", report(cases={"notes": [row("one")]}))):
            with self.subTest(fresh=fresh), self.assertRaisesRegex(NotComparable, told):
                compared(row("one"), fresh)

    def test_a_pair_compares_two_strategies_of_different_names(self):
        after = report(cases={"near": [row("one", ["x"])]})
        result = compared(row("one"), after, pairs=["recent=near"])
        self.assertEqual(result["results"][0]["recorded_strategy"], "recent")
        self.assertEqual(result["blocking"][0]["strategy"], "near")
        for text in ("recent", "=near", "recent="):
            with self.subTest(text), self.assertRaises(InputError):
                compared(row("one"), after, pairs=[text])


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
        result = compared([row("one", ["a"]), row("two")], [row("one", ["b"]), row("two")])
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

    def test_an_allowance_is_for_its_own_case_strategy_fact_and_change_only_and_its_reason_is_told(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "the fact moved to notes"}
        others = [{**entry, field: value}
                  for field, value in {"case": "two", "strategy": "notes", "fact": "y", "change": "stale"}.items()]
        status, out, err = self.run_files(report(row("one")), report(row("one", ["x"])), [entry, *others])
        self.assertEqual((status, json.loads(out)["allowed_unused"]), (0, others))
        self.assertIn("the fact moved to notes", err)
        for other in others:
            with self.subTest(other=other):
                self.assertEqual(self.run_files(report(row("one")), report(row("one", ["x"])), [other])[0], 1)

    def test_what_the_gate_printed_is_no_allow_file_although_a_reason_was_added(self):
        before, after = (sweep({"64": {"recent": [row("one")]}, "128": {"recent": [row("one", missing)]}})
                         for missing in ([], [{"turn": "3", "text": "x"}]))
        printed = json.loads(self.run_files(before, after)[1])
        (entry,) = printed["blocking"]
        self.assertEqual((entry["budget"], entry["fact"]), ("128", "3: x"))
        entry["why"] = "known"
        by_hand = {**entry, "budget": 128, "fact": {"turn": "3", "text": "x"}}
        for allowed, status in ((printed, 0), ([entry], 0), ([by_hand], 0), ([{**by_hand, "budget": 64}], 1)):
            with self.subTest(allowed=allowed):
                self.assertEqual(self.run_files(before, after, allowed)[0], status)

    def test_a_lost_fact_is_no_failure_to_ci_or_a_row_without_a_grade_a_pass(self):
        before, failed = report(row("one"), row("two"), row("three")), {**FAILED, "case": "three"}
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

    def refused(self, *files):
        with self.subTest(files=files):
            status, out, err = self.run_files(*files)
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))

    def test_an_allowance_without_a_reason_or_a_name_is_taken(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "known"}
        wrong = [{**entry, "why": " "}, {**entry, "why": 3}, {**entry, "change": "any"}, {**entry, "extra": "e"},
                 "text", {key: value for key, value in entry.items() if key != "fact"}]
        for value in [[one] for one in wrong] + [{}]:
            self.refused(report(row("one")), report(row("one")), value)

    def test_files_that_are_no_reports_are_taken(self):
        broken = report(row("one"))
        del broken["cases"]["recent"][0]["missing"]
        for value in ("", "[]", "{}", report(cases={}), report(cases={"recent": []}), report(cases=3), broken):
            self.refused(report(row("one")), value)
