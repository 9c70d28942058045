"""Gates, ranges and the two answers: the published example and every way a decision can be left open."""

import json
import tempfile
import unittest
from pathlib import Path

from base.stats import wilson
from compaction.comparison import compare_rows, decide, shared_unknown
from compaction.rows import GATES, build_rows, compliant, read_gates, tokens_row, verdict_row
from compaction.tests.made import made_item


def retained_row(name, kept, decisions, unknown=0, gate=None):
    """The row of a class from its counts."""
    counts = {"verbatim": kept, "unjudged": unknown, "absent": decisions - kept - unknown}
    return verdict_row(name, counts, gate)


def contradictions_row(count, decisions, unknown=0, gate=None):
    counts = {"contradicted": count, "opaque": unknown, "verbatim": decisions - count - unknown}
    return verdict_row("contradictions", counts, gate)


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
    def test_misses_five_of_six_gates(self):
        self.assertEqual([row["state"] for row in rows()], ["missed"] * 5 + ["met"])
        self.assertIs(compliant(rows()), False)

    def test_better_on_four_rows_and_worse_on_contradictions_is_blocked(self):
        better = rows((75, 80), (48, 51), (100, 103), (60, 61), 3)
        self.assertEqual(answer(better, rows()), "blocked")

    def test_meets_no_gate_and_worsens_no_row_is_safe_and_not_compliant(self):
        poor = rows(p95=2000)
        self.assertTrue(all(row["state"] == "missed" for row in poor))
        self.assertEqual(answer(poor, poor), "safe")
        self.assertIs(compliant(poor), False)

    def test_is_a_baseline_that_an_equal_candidate_is_safe_against(self):
        self.assertEqual(answer(rows(), rows()), "safe")


class Gates(unittest.TestCase):
    def test_a_share_exactly_at_its_gate_meets_it(self):
        self.assertEqual(retained_row("constraint", 95, 100, gate=0.95)["state"], "met")
        self.assertEqual(retained_row("reference", 49, 50, gate=0.98)["state"], "met")
        self.assertEqual(retained_row("open_question", 9, 10, gate=0.9)["state"], "met")

    def test_unknown_decisions_make_a_range(self):
        row = retained_row("constraint", 90, 100, unknown=6, gate=0.95)
        self.assertEqual((row["worst"], row["best"], row["state"]), (0.9, 0.96, "undecided"))
        self.assertEqual(retained_row("constraint", 95, 100, unknown=5, gate=0.95)["state"], "met")
        self.assertEqual(retained_row("constraint", 80, 100, unknown=5, gate=0.95)["state"], "missed")

    def test_the_interval_of_a_range_reaches_from_all_unknown_lost_to_all_kept(self):
        row = retained_row("constraint", 90, 100, unknown=6)
        self.assertEqual(row["wilson"], [wilson(90, 100)[0], wilson(96, 100)[1]])

    def test_the_default_gates_are_the_published_ones(self):
        self.assertEqual(
            GATES,
            {"constraint": 0.95, "open_question": 0.90, "commitment": 0.95, "reference": 0.98, "contradictions": 0,
             "prompt_tokens": "budget"})

    def test_unknown_decisions_may_be_contradictions(self):
        self.assertEqual(contradictions_row(0, 50, unknown=1, gate=0)["state"], "undecided")
        self.assertEqual(contradictions_row(1, 50, unknown=1, gate=0)["state"], "missed")
        self.assertEqual(contradictions_row(0, 50, unknown=0, gate=0)["state"], "met")

    def test_a_row_without_decisions_is_neither_met_nor_missed(self):
        self.assertEqual(retained_row("constraint", 0, 0, gate=0.95)["state"], "undecided")
        self.assertEqual(tokens_row([], 1000)["state"], "undecided")

    def test_one_missed_gate_outweighs_what_is_undecided(self):
        self.assertIs(compliant([{"state": "missed"}, {"state": "undecided"}]), False)
        self.assertIsNone(compliant([{"state": "met"}, {"state": "undecided"}]))
        self.assertIs(compliant([{"state": "met"}, {"state": "no gate"}]), True)

    def test_retained_means_verbatim_or_supported(self):
        decided = made_item("verbatim", "supported", "absent", "contradicted", "unjudged", "opaque", keys="abcdef")
        rows = build_rows([decided], [{"tokens": 10}], 100)
        self.assertEqual((rows[0]["value"], rows[0]["of"], rows[0]["unknown"], rows[0]["judged"]), (2, 6, 2, 3))
        self.assertEqual((rows[0]["worst"], rows[0]["best"]), (2 / 6, 4 / 6))
        self.assertEqual((rows[4]["value"], rows[4]["worst"], rows[4]["best"]), (1, 3, 1))

    def test_the_95th_percentile_is_held_against_the_available_input(self):
        row = tokens_row([*range(1, 20), 500], 100)  # 20 contexts: the 19th is the 95th percentile
        self.assertEqual((row["median"], row["value"], row["gate"], row["state"]), (10, 19, 100, "met"))
        self.assertEqual(tokens_row([101], 100)["state"], "missed")
        self.assertEqual(tokens_row([100], 100)["state"], "met")

    def test_contexts_of_unknown_size_leave_the_prompt_row_open_where_they_could_turn_it(self):
        self.assertEqual(tokens_row([10] * 30 + [None], 100)["state"], "met")  # one of 31 lies above the 95th
        self.assertEqual(tokens_row([10] * 5 + [None], 100)["state"], "undecided")
        self.assertEqual(tokens_row([101, None], 100)["state"], "missed")
        self.assertEqual(tokens_row([101] + [None] * 30, 100)["state"], "undecided")  # they may all be small
        self.assertEqual(tokens_row([None], 100)["state"], "undecided")

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
    def test_one_lost_decision_blocks(self):
        self.assertEqual(answer(rows((70, 80)), rows()), "blocked")

    def test_shares_are_compared_exactly_where_the_counts_differ(self):
        self.assertEqual(answer(rows((142, 160)), rows()), "safe")
        self.assertEqual(answer(rows((141, 160)), rows()), "blocked")

    def test_prompt_size_blocks_only_when_its_gate_was_met_before(self):
        self.assertEqual(answer(rows(p95=999), rows(p95=10)), "safe")
        self.assertEqual(answer(rows(p95=1001), rows(p95=10)), "blocked")
        self.assertEqual(answer(rows(p95=3000), rows(p95=2000)), "safe")

    def test_a_prompt_size_that_is_not_known_could_block(self):
        unsure = [*rows()[:-1], sizes([900] * 5, unknown=1)]
        self.assertEqual(answer(unsure, rows()), "not decided")
        self.assertEqual(answer(rows(), unsure), "not decided")

    def test_one_row_that_got_worse_outweighs_what_is_undecided(self):
        unsure = retained_row("reference", 58, 61, unknown=1, gate=0.98)
        new = [retained_row("constraint", 70, 80, gate=0.95), unsure]
        self.assertEqual(answer(new, [retained_row("constraint", 71, 80, gate=0.95), unsure]), "blocked")

    def test_a_row_without_a_gate_blocks_nothing(self):
        worse = [retained_row("constraint", 1, 80)]
        self.assertEqual(answer(worse, [retained_row("constraint", 71, 80)]), "safe")

    def test_what_unknown_decisions_could_turn_is_not_decided(self):
        self.assertEqual(answer(rows((70, 80), unknown=2), rows()), "not decided")
        self.assertEqual(answer(rows(), rows(unknown=1)), "not decided")

    def test_what_unknown_decisions_cannot_turn_is_decided(self):
        new = [retained_row("constraint", 60, 80, unknown=5, gate=0.95)]
        self.assertEqual(answer(new, [retained_row("constraint", 71, 80, gate=0.95)]), "blocked")
        new = [retained_row("constraint", 75, 80, unknown=5, gate=0.95)]
        self.assertEqual(answer(new, [retained_row("constraint", 71, 80, gate=0.95)]), "safe")

    def test_the_same_unknown_on_both_sides_cannot_turn_a_decision(self):
        new = old = rows(unknown=2)
        shared = {row["row"]: 2 for row in new}
        self.assertEqual(answer(new, old), "not decided")
        self.assertEqual(answer(new, old, shared), "safe")

    def test_shared_unknowns_are_counted_by_question(self):
        new = [made_item("unjudged", "unjudged", "unjudged", "opaque", keys="aab")]
        old = [made_item("unjudged", keys="a"), made_item("unjudged", keys="b", class_="reference")]
        counts = shared_unknown(new, old)
        self.assertEqual((counts["constraint"], counts["reference"], counts["contradictions"]), (1, 0, 2))

    def test_a_row_that_only_one_side_has_items_for_is_not_decided(self):
        self.assertEqual(
            answer([retained_row("constraint", 0, 0, gate=0.9)], [retained_row("constraint", 5, 5, gate=0.9)]),
            "not decided")


if __name__ == "__main__":
    unittest.main()
