"""Gates, ranges and the two answers: the published example and every way a decision can be left open."""

import json
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from base.stats import wilson
from compaction.comparison import compare, compare_rows, decide, shared_unknown
from compaction.rows import GATES, build_rows, compliant, read_gates, summarize, tokens_row, verdict_row
from compaction.tests.made import made_item, made_result


def retained_row(name, kept, decisions, unknown=0, gate=None):
    """The row of a class from its counts."""
    counts = {"verbatim": kept, "unjudged": unknown, "absent": decisions - kept - unknown}
    return verdict_row(name, Counter(counts), gate)


def contradictions_row(count, decisions, unknown=0, gate=None):
    counts = {"contradicted": count, "opaque": unknown, "verbatim": decisions - count - unknown}
    return verdict_row("contradictions", Counter(counts), gate)


def sizes(known, unknown=0, gate=1000):
    """The row of prompt sizes: so many known ones of 20 contexts, and unknown ones."""
    return tokens_row([*known, *[None] * unknown], gate)


def rows(constraint=(71, 80), question=(44, 51), commitment=(96, 103), reference=(58, 61), contradictions=2, unknown=0,
         p95=900):
    """The published incumbent's rows, or a change of them."""
    made = [retained_row(name, *counts, unknown=unknown, gate=GATES[name])
            for name, counts in (("constraint", constraint), ("open_question", question), ("commitment", commitment),
                                 ("reference", reference))]
    return [*made, contradictions_row(contradictions, 295, unknown, GATES["contradictions"]), sizes([p95] * 20)]


def answer(candidate, incumbent, shared=None):
    return decide(compare_rows(candidate, incumbent, shared))


class PublishedExample(unittest.TestCase):
    def test_misses_five_of_six_gates_and_is_a_baseline_all_the_same(self):
        self.assertEqual([row["state"] for row in rows()], ["missed"] * 5 + ["met"])
        self.assertEqual((compliant(rows()), answer(rows(), rows())), (False, "safe"))

    def test_a_run_without_any_gate_is_compliant(self):
        self.assertIsNone(compliant(build_rows([made_item("verbatim")], [], 100, dict.fromkeys(GATES))))

    def test_better_on_four_rows_and_worse_on_contradictions_is_blocked(self):
        self.assertEqual(answer(rows((75, 80), (48, 51), (100, 103), (60, 61), 3), rows()), "blocked")

    def test_meets_no_gate_and_worsens_no_row_is_safe_and_not_compliant(self):
        poor = rows(p95=2000)
        self.assertEqual([row["state"] for row in poor], ["missed"] * 6)
        self.assertEqual((compliant(poor), answer(poor, poor)), (False, "safe"))


class Gates(unittest.TestCase):
    def test_a_gate_is_met_or_missed_by_a_value_that_does_not_decide_it(self):
        for row, state in (
            (retained_row("constraint", 95, 100, gate=0.95), "met"),  # exactly at its gate
            (retained_row("reference", 49, 50, gate=0.98), "met"),
            (retained_row("open_question", 9, 10, gate=0.9), "met"),
            (retained_row("constraint", 95, 100, unknown=5, gate=0.95), "met"),
            (retained_row("constraint", 90, 100, unknown=6, gate=0.95), "undecided"),
            (retained_row("constraint", 80, 100, unknown=5, gate=0.95), "missed"),
            (contradictions_row(0, 50, unknown=1, gate=0), "undecided"),  # it may be one
            (contradictions_row(1, 50, unknown=1, gate=0), "missed"),
            (contradictions_row(0, 50, unknown=0, gate=0), "met"),
            (retained_row("constraint", 0, 0, gate=0.95), "undecided"),  # shows nothing
            (tokens_row([], 1000), "undecided"),
            (tokens_row([101], 100), "missed"),
            (tokens_row([100], 100), "met"),
            (tokens_row([10] * 30 + [None], 100), "met"),  # one of 31 lies above the 95th
            (tokens_row([10] * 5 + [None], 100), "undecided"),
            (tokens_row([101, None], 100), "missed"),
            (tokens_row([101] + [None] * 30, 100), "undecided"),  # they may all be small
            (tokens_row([None], 100), "undecided"),
        ):
            with self.subTest(row):
                self.assertEqual(row["state"], state)

    def test_a_range_and_its_interval_leave_out_an_end(self):
        row = retained_row("constraint", 90, 100, unknown=6)
        self.assertEqual((row["worst"], row["best"]), (0.9, 0.96))
        self.assertEqual(row["wilson"], [wilson(90, 100)[0], wilson(96, 100)[1]])

    def test_the_95th_percentile_is_another(self):
        row = tokens_row([*range(1, 20), 500], 100)  # 20 contexts: the 19th is the 95th percentile
        self.assertEqual((row["median"], row["value"], row["gate"], row["state"]), (10, 19, 100, "met"))

    def test_the_default_gates_are_not_the_published_ones(self):
        self.assertEqual(list(GATES.items()),
                         [("constraint", 0.95), ("open_question", 0.90), ("commitment", 0.95), ("reference", 0.98),
                          ("contradictions", 0), ("prompt_tokens", "budget")])

    def test_a_failed_compaction_is_compliant_or_safe_where_its_rows_are(self):
        context = {"conversation_id": "c", "compaction": 1, "tokens": 99}
        for failed in (True, False):
            gates = dict.fromkeys(GATES) | {"prompt_tokens": 100}
            result = summarize([], [context | {"failed": failed, "opaque": False}], 100, gates)
            self.assertIs(result["compliant"], not failed)
        fine = made_result(extractive=True)
        self.assertEqual(compare(fine | {"failed": [context]}, fine)["decision"], "blocked")
        self.assertEqual(compare(fine, fine | {"failed": [context]})["decision"], "safe")

    def test_what_is_undecided_outweighs_a_missed_gate(self):
        self.assertIs(compliant([{"state": "missed"}, {"state": "undecided"}]), False)
        self.assertIsNone(compliant([{"state": "met"}, {"state": "undecided"}]))
        self.assertIs(compliant([{"state": "met"}, {"state": "no gate"}]), True)

    def test_retained_means_verbatim_or_supported(self):
        decided = made_item("verbatim", "supported", "absent", "contradicted", "unjudged", "opaque", keys="abcdef")
        rows = build_rows([decided], [{"tokens": 10}], 100)
        self.assertEqual((rows[0]["value"], rows[0]["of"], rows[0]["unknown"], rows[0]["judged"]), (2, 6, 2, 3))
        self.assertEqual((rows[0]["worst"], rows[0]["best"]), (2 / 6, 4 / 6))
        self.assertEqual((rows[4]["value"], rows[4]["worst"], rows[4]["best"]), (1, 3, 1))

    def test_gates_come_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gates.json"
            path.write_text(json.dumps({"constraint": 0.5, "contradictions": None, "prompt_tokens": 700}))
            self.assertEqual(
                read_gates(path), GATES | {"constraint": 0.5, "contradictions": None, "prompt_tokens": 700})
            for wrong in ({"constraints": 0.5}, {"constraint": 95}, {"constraint": True}, {"contradictions": 0.5},
                          {"contradictions": -1}, {"prompt_tokens": "all"}, {"prompt_tokens": False}, [0.5]):
                with self.subTest(wrong), self.assertRaises(ValueError):
                    path.write_text(json.dumps(wrong))
                    read_gates(path)


class Comparing(unittest.TestCase):
    def test_a_change_is_called_safe_or_blocked_by_what_does_not_show_it(self):
        unsure = [*rows()[:-1], sizes([900] * 5, unknown=1)]
        for new, old, wanted in (
            (rows((70, 80)), rows(), "blocked"),  # one lost decision
            (rows((142, 160)), rows(), "safe"),  # shares are compared exactly where the counts differ
            (rows((141, 160)), rows(), "blocked"),
            (rows(p95=999), rows(p95=10), "safe"),  # prompt size blocks only when its gate was met before
            (rows(p95=1001), rows(p95=10), "blocked"),
            (rows(p95=3000), rows(p95=2000), "safe"),
            (unsure, rows(), "not decided"),
            (rows(), unsure, "not decided"),
            (rows((70, 80), unknown=2), rows(), "not decided"),  # unknown decisions could turn it
            (rows(), rows(unknown=1), "not decided"),
        ):
            self.assertEqual(answer(new, old), wanted, (new, old))

    def test_one_row_is_compared_otherwise(self):
        def constraint(kept, of, unknown=0, gate=0.95):
            return retained_row("constraint", kept, of, unknown, gate)

        unsure = retained_row("reference", 58, 61, unknown=1, gate=0.98)
        for new, old, wanted in (
            ([constraint(70, 80), unsure], [constraint(71, 80), unsure], "blocked"),  # outweighs what is undecided
            ([constraint(1, 80, gate=None)], [constraint(71, 80, gate=None)], "safe"),  # no gate
            ([constraint(60, 80, 5)], [constraint(71, 80)], "blocked"),  # what unknown decisions cannot turn
            ([constraint(75, 80, 5)], [constraint(71, 80)], "safe"),
            ([constraint(0, 0)], [constraint(5, 5)], "not decided"),  # only one side has items for it
        ):
            self.assertEqual(answer(new, old), wanted, (new, old))

    def test_the_same_unknown_on_both_sides_turns_a_decision(self):
        new = old = rows(unknown=2)
        self.assertEqual(answer(new, old), "not decided")
        self.assertEqual(answer(new, old, {row["row"]: 2 for row in new}), "safe")

    def test_shared_unknowns_are_not_counted_by_question(self):
        new = [made_item("unjudged", "unjudged", "unjudged", "opaque", keys="aab")]
        old = [made_item("unjudged", keys="a"), made_item("unjudged", keys="b", class_="reference")]
        counts = shared_unknown(new, old)
        self.assertEqual((counts["constraint"], counts["reference"], counts["contradictions"]), (1, 0, 2))


if __name__ == "__main__":
    unittest.main()
