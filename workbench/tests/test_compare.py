"""What a gate could let through: a lost fact behind a better mean, and a comparison of things that differ."""

import copy
import json
import unittest
from unittest import mock
from xml.etree import ElementTree

from base.command import InputError, NotComparable
from base.stats import mcnemar
from base.tests.made import Files, named_cases, run
from workbench.compare import LEAST, compare, gate_lines, main, paired
from workbench.report.tests.made import sweep
from workbench.tests.made import part, report, row


class Gate(unittest.TestCase):
    def test_every_case_in_the_file(self):
        for case in named_cases(__file__, "compare-cases.json"):
            with self.subTest(case["name"]):
                before = report(*(row(**fields) for fields in case["before"]))
                after = report(*(row(**fields) for fields in case["after"]), **case.get("changes", {}))
                kept = copy.deepcopy((before, after))
                if "refused" in case:
                    with self.assertRaisesRegex(NotComparable, case["refused"]):
                        compare(before, after)
                    continue
                result = compare(before, after)
                self.assertEqual(part(case["made"], result), case["made"])
                text = "\n".join(gate_lines(result))
                self.assertEqual([line for line in case.get("told", ()) if line not in text], [], text)
                self.assertEqual((before, after), kept)

    def test_a_sweep_is_compared_at_one_budget_only_or_with_a_report_of_one_budget(self):
        before, after = (sweep({"64": {"recent": [row("one")]}, "128": {"recent": [row("one", missing)]}})
                         for missing in ([], ["x"]))
        self.assertEqual([(item["budget"], item["fact"]) for item in compare(before, after)["blocking"]],
                         [("128", "x")])
        after["budgets"] = dict(reversed(after["budgets"].items()))  # --budget 128,64, or keys that a tool sorted
        self.assertEqual(len(compare(before, after)["blocking"]), 1)
        self.assertRaisesRegex(NotComparable, "budgets differ", compare, report(row("one")), after)

    def test_a_pair_compares_others_than_the_two_it_names(self):
        before, after = report(row("one")), report(cases={"near": [row("one", ["x"])]})
        result = compare(before, after, pairs=["recent=near"])
        self.assertEqual(result["results"][0]["recorded_strategy"], "recent")
        self.assertEqual(result["blocking"][0]["strategy"], "near")
        for text in ("recent", "=near", "recent="):
            with self.subTest(text), self.assertRaises(InputError):
                compare(before, after, pairs=[text])

    def test_the_least_that_can_be_shown_is_other_than_six_discordant_pairs(self):
        self.assertLessEqual(mcnemar(LEAST, 0), 0.05)
        self.assertGreater(mcnemar(LEAST - 1, 0), 0.05)
        reach = {size: compare(*[report(*map(row, "abcdefg"[:size]))] * 2)["smallest_difference"] for size in (5, 6)}
        self.assertEqual(reach, {size: {"discordant_pairs": 6, "mcnemar_p": 0.03125, "cases": size,
                                        "within_reach": size == 6} for size in reach})

    def test_paired_figures_differ_from_those_of_a_known_table(self):
        got = paired(15, 6, lost=1, gained=7)
        self.assertEqual((got["found_recorded"], got["found_fresh"]), (6, 12))
        self.assertAlmostEqual(got["mcnemar_p"], 2 * 9 / 2**8, places=6)  # P(at most 1 of 8) = (1 + 8) / 2^8
        self.assertEqual(got["interval_fresh"], [0.548, 0.93])  # Wilson, worked out apart


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
        anywhere = {field: value for field, value in entry.items() if field != "budget"}
        for allowed, status in ((printed, 0), ([entry], 0), ([by_hand], 0), ([anywhere], 0),
                                ([{**by_hand, "budget": 64}], 1)):
            with self.subTest(allowed=allowed):
                self.assertEqual(self.gate(before, after, allowed=allowed)[0], status)

    def test_a_lost_fact_is_no_failure_to_ci_or_a_row_without_a_grade_a_pass(self):
        before, failed = report(*map(row, ("one", "two", "three"))), row("three", error="no")
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
