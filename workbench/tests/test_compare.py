"""What a gate could let through: a lost fact behind a better mean, and a comparison of things that differ."""

import copy
import json
import unittest
from unittest import mock
from xml.etree import ElementTree

from base.command import InputError, NotComparable
from base.tests.made import Files, run
from workbench.compare import compare, main, paired, smallest_difference, told
from workbench.report.tests.made import sweep
from workbench.tests.made import report, row

FAILED = {"case": "two", "split": "dev", "kind": "made up", "error": "ValueError: no"}


def compared(before, after, **options):
    """The gate's result for two reports, or two lists of rows of one."""
    return compare(*(side if isinstance(side, dict) else report(*side) for side in (before, after)), **options)


class Gate(unittest.TestCase):
    def test_one_lost_fact_passes_since_more_were_gained(self):
        result = compared([row("one"), row("two", ["x", "y"]), row("three", ["z"])],
                          [row("one", ["w"]), row("two"), row("three")])
        self.assertEqual(result["decision"], "blocked")
        self.assertEqual(result["blocking"], [{"change": "lost", "strategy": "recent", "case": "one", "fact": "w"}])
        self.assertEqual(len(result["results"][0]["gained"]), 3)

    def test_a_change_for_the_worse_passes_or_one_for_the_better_or_none_blocks(self):
        sold = {"turn": "D1:3", "text": "I sold it."}  # told by turn and words
        for before, after, changes in (
                (row("one"), row("one", [sold]), [("lost", "D1:3: I sold it.")]),
                (row("one", ["x"]), row("one", ["y"]), [("lost", "y")]),
                (row("one"), row("one", stale=["old"]), [("stale", "old")]),
                (row("one"), row("one", within=False), [("over budget", None)]),
                (row("one", stale=["old"], within=False), row("one", stale=["old"], within=False), []),
                (row("one", ["x"], ["old"], within=False), row("one"), [])):
            with self.subTest(before=before, after=after):
                result = compared([before], [after])
                self.assertEqual([(item["change"], item.get("fact")) for item in result["blocking"]], changes)
                self.assertEqual(result["decision"], "blocked" if changes else "safe")
        self.assertEqual(result["results"][0]["stale gone"], [{"case": "one", "fact": "old"}])

    def test_a_sweep_is_compared_at_one_budget_only(self):
        before, after = (sweep({"64": {"recent": [row("one")]}, "128": {"recent": [row("one", missing)]}})
                         for missing in ([], ["x"]))
        self.assertEqual([(item["budget"], item["fact"]) for item in compare(before, after)["blocking"]],
                         [("128", "x")])

    def test_a_row_without_a_grade_is_a_pass_or_a_fail_or_hides_a_lost_fact(self):
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
        text = "\n".join(told(result))
        self.assertIn("1 -> 1 without its replacement, 0 -> 2 with it", text)
        self.assertIn("stale: one: old, without its replacement\nrecent: stale: two: old\n", text)

    def test_inputs_are_changed(self):
        before, after = report(row("one")), report(row("one", ["x"]))
        kept = copy.deepcopy((before, after))
        compare(before, after)
        self.assertEqual((before, after), kept)


class NotTheSame(unittest.TestCase):
    def test_reports_that_differ_in_more_than_their_strategies_are_compared(self):
        one = row("one")
        for named, fresh in (
                ("case_set_sha256", report(one, case_set_sha256="z")), ("grader", report(one, grader="other")),
                ("manifest_sha256", report(one, tokenizer_manifest_sha256="z")), ("trials", report(one, trials=2)),
                ("counter", report(one, counter={"model": "n"})), ("some_later", report(one, some_later_field=1)),
                ("budgets differ", sweep({"64": {"recent": [one]}})), ("other cases", [row("two")]),
                ("other cases", [row("one", total=3)]), ("other cases", [one, row("two")]),
                ("no strategy 'recent'", report(cases={"notes": [one]}))):
            with self.subTest(named), self.assertRaisesRegex(NotComparable, named):
                compared([one], fresh)

    def test_other_strategies_another_environment_or_a_moved_case_set_are_not_compared(self):
        changes = {"strategies_sha256": "z", "environment": {"python": "4"}, "case_set": "moved.json",
                   "selectors_sha256": {"mine.py": "y"}}
        self.assertEqual(compared([row("one")], report(row("one"), **changes))["decision"], "safe")

    def test_a_pair_compares_others_than_the_two_it_names(self):
        after = report(cases={"near": [row("one", ["x"])]})
        result = compared([row("one")], after, pairs=["recent=near"])
        self.assertEqual(result["results"][0]["recorded_strategy"], "recent")
        self.assertEqual(result["blocking"][0]["strategy"], "near")
        for text in ("recent", "=near", "recent="):
            with self.subTest(text), self.assertRaises(InputError):
                compared([row("one")], after, pairs=[text])


class Figures(unittest.TestCase):
    def test_the_least_that_can_be_shown_is_other_than_six_discordant_pairs(self):
        least = smallest_difference(12)
        self.assertEqual((least["discordant_pairs"], least["mcnemar_p"], least["within_reach"]), (6, 0.03125, True))
        self.assertFalse(smallest_difference(5)["within_reach"])

    def test_paired_figures_differ_from_those_of_a_known_table(self):
        got = paired(15, 6, lost=1, gained=7)
        self.assertEqual((got["found_recorded"], got["found_fresh"]), (6, 12))
        self.assertAlmostEqual(got["mcnemar_p"], 2 * 9 / 2**8, places=6)  # P(at most 1 of 8) = (1 + 8) / 2^8
        self.assertEqual(got["interval_fresh"], [0.548, 0.93])  # Wilson, worked out apart

    def test_cases_or_facts_are_not_counted_over_all_cases(self):
        result = compared([row("one", ["a"]), row("two"), row("three", ["c"])],
                          [row("one", ["b"]), row("two", ["d"]), row("three")])
        for unit, figures in (("cases", [3, 1, 1, 1, 1]), ("facts", [6, 4, 4, 2, 2])):
            got = result["results"][0]["paired"][unit]
            self.assertEqual([got[key] for key in ("total", "found_recorded", "found_fresh", "gained", "lost")],
                             figures)


class Command(Files):
    def paths(self, before, after):
        return self.write("before.json", before), self.write("after.json", after)

    def gate(self, before, after, *options, allowed=None):
        options += () if allowed is None else ("--allow", self.write("allowed.json", allowed))
        return run(main, *self.paths(before, after), *options)

    def test_the_status_says_otherwise_or_a_fact_is_not_named_or_steers_the_terminal(self):
        fact = "the port is 80\x1b[2J\nsafe: 0 changes"
        for after, wanted in ((row("one"), 0), (row("one", [fact]), 1)):
            status, out, err = self.gate(report(row("one")), report(after))
            self.assertEqual((status, json.loads(out)["decision"]), (wanted, ("safe", "blocked")[wanted]))
        self.assertIn("lost: one: the port is 80\\x1b[2J safe: 0 changes\n", err)

    def test_an_allowance_is_for_another_case_strategy_fact_or_change_too_or_its_reason_is_not_told(self):
        entry = {"change": "lost", "strategy": "recent", "case": "one", "fact": "x", "why": "the fact moved to notes"}
        others = [{**entry, field: value}
                  for field, value in {"case": "two", "strategy": "notes", "fact": "y", "change": "stale"}.items()]
        before, after = report(row("one")), report(row("one", ["x"]))
        status, out, err = self.gate(before, after, allowed=[entry, *others])
        self.assertEqual((status, json.loads(out)["allowed_unused"]), (0, others))
        self.assertIn("the fact moved to notes", err)
        self.assertEqual([self.gate(before, after, allowed=[other])[0] for other in others], [1] * 4)

    def test_what_the_gate_printed_is_no_allow_file_although_a_reason_was_added(self):
        before, after = (sweep({"64": {"recent": [row("one")]}, "128": {"recent": [row("one", missing)]}})
                         for missing in ([], [{"turn": "3", "text": "x"}]))
        printed = json.loads(self.gate(before, after)[1])
        (entry,) = printed["blocking"]
        self.assertEqual((entry["budget"], entry["fact"]), ("128", "3: x"))
        entry["why"] = "known"
        by_hand = {**entry, "budget": 128, "fact": {"turn": "3", "text": "x"}}
        for allowed, status in ((printed, 0), ([entry], 0), ([by_hand], 0), ([{**by_hand, "budget": 64}], 1)):
            with self.subTest(allowed=allowed):
                self.assertEqual(self.gate(before, after, allowed=allowed)[0], status)

    def test_a_lost_fact_is_no_failure_to_ci_or_a_row_without_a_grade_a_pass(self):
        before, failed = report(row("one"), row("two"), row("three")), {**FAILED, "case": "three"}
        with mock.patch.dict("os.environ", {"GITHUB_ACTIONS": "true"}):
            _, _, err = self.gate(before, report(row("one", ["x", "y"]), row("two"), failed), "--junit",
                                  self.folder / "junit.xml")
        suite = ElementTree.parse(self.folder / "junit.xml").getroot()
        self.assertEqual([suite.get(name) for name in ("tests", "failures", "errors")], ["4", "2", "1"])
        self.assertEqual([case.get("name") for case in suite], ["lost: one: x", "lost: one: y", "two", "three"])
        self.assertEqual([line[:7] for line in err.splitlines()].count("::error"), 2)

    def test_a_report_that_is_none_was_edited_or_merged_or_is_of_another_grader_is_believed(self):
        whole = report(row("one"), row("two", ["x"]))
        for value, named in (
                ({**whole, "cases": {"recent": [row("one"), row("one")]}}, "stands twice"),
                ({**whole, "cases": {"recent": [row("one"), row("two")]}}, "summary is not that of its rows"),
                ([], "no result of evaluate.py"), (report(cases={}), "not as evaluate.py writes it")):
            for pair in ((whole, value), (value, whole)):
                self.refused(named, main, *self.paths(*pair))
        self.refused("grader differs", main, *self.paths(whole, {**whole, "grader": "other"}), status=3)

    def test_an_allowance_without_a_reason_or_a_name_is_taken(self):
        entry, whole = {"change": "lost", "strategy": "recent", "case": "one", "why": "known"}, report(row("one"))
        fact = {**entry, "fact": "x"}
        for wrong in ([{**fact, "why": " "}], [{**fact, "why": 3}], [{**fact, "change": "any"}],
                      [{**fact, "extra": "e"}], ["text"], [entry], {}):
            with self.subTest(wrong=wrong):
                self.refused("wanted: change", main, *self.paths(whole, whole), "--allow", self.write("a.json", wrong))
