"""Two results side by side: what must not be compared, which change blocks, what changed most harmfully."""

import unittest
from itertools import permutations

from base.tests.made import named_cases
from compaction import comparison
from compaction.comparison import compare, compare_rows, decide, incomparable
from compaction.rows import compliant, tokens_row
from compaction.tests.made import made_item, made_result, made_row


def rows(unknown=0, p95=(900,) * 20, only=None, **changes):
    """The published incumbent's rows, or a change of them, or only these."""
    counts = {"constraint": (71, 80), "open_question": (44, 51), "commitment": (96, 103), "reference": (58, 61),
              "contradictions": (2, 295), **changes}
    published = [*(made_row(name, *count, unknown) for name, count in counts.items()), tokens_row(p95, 1000)]
    return [made_row(*row) for row in only] if only else published


def answer(new, old, items=(), others=()):
    return decide(compare_rows({"rows": new, "items": items}, {"rows": old, "items": others}))


def side(judge, verdict, keys="", **changes):
    same = {field: field for field in ("fixtures", "budget", "counter", "manifest_sha256", "gates")}
    return same | {"keep_share": 0.5, "judge": judge and {"identity": judge}, "items": [made_item(verdict, keys=keys)],
                   **changes}


class Answers(unittest.TestCase):
    def test_other_fixtures_budgets_conversations_or_shares_are_compared(self):
        base = side("j", "absent", "a")
        for same in ({}, {"keep_share": None}, {"judge": {"identity": "j", "card": "measured since"}}):
            self.assertIsNone(incomparable(base, base | same))
        for change in ({"fixtures": "x"}, {"budget": "x"}, {"counter": "x"}, {"manifest_sha256": "x"}, {"gates": "x"},
                       {"keep_share": 0.4}, {"items": [base["items"][0] | {"conversation_id": "d"}]}):
            with self.subTest(change):
                self.assertTrue(incomparable(base, base | change))

    def test_a_judge_matters_where_one_side_left_nothing_to_it_or_not_where_both_did(self):
        for case in named_cases(__file__, "judge-cases.json"):
            for pair in permutations(side(*given) for given in case["sides"]):
                with self.subTest(case["name"]):
                    self.assertEqual((incomparable(*pair) or "")[:9], case["told"])

    def test_the_published_example_meets_a_gate(self):
        self.assertEqual([row["state"] for row in rows()], ["missed"] * 5 + ["met"])
        self.assertEqual((rows(p95=[2000])[-1]["state"], compliant(rows())), ("missed", False))

    def test_a_change_is_called_safe_or_blocked_by_what_does_not_show_it(self):
        for case in named_cases(__file__, "decision-cases.json"):
            with self.subTest(case["name"]):
                self.assertEqual(answer(rows(**case["new"]), rows(**case["old"])), case["decision"])

    def test_the_same_unknown_on_both_sides_turns_a_decision_or_is_not_counted_by_question(self):
        for class_, keys, wanted in (("constraint", "ab", "safe"), ("constraint", "ac", "not decided"),
                                     ("reference", "ab", "not decided")):
            row, items = [made_row("constraint", 70, 80, 2)], [made_item("unjudged", "unjudged", "opaque", keys="ab")]
            others = [made_item("unjudged", "unjudged", keys=keys, class_=class_)]
            self.assertEqual(answer(row, row, items, others), wanted, (class_, keys))
        row = [made_row("contradictions", 2, 80, 2)]  # of all classes
        self.assertEqual(answer(row, row, items, others), "safe")

    def test_a_failed_compaction_or_a_conversation_without_a_context_is_safe(self):
        fine = made_result(extractive=True)
        failed, partial, late = (fine | change for change in (
            {"failed": fine["contexts"][:1]}, {"uncovered": ["b"]}, {"never_checked": ["small-4"]}))
        for new, old, wanted in ((failed, fine, "blocked"), (fine, failed, "safe"), (fine, fine, "safe"),
                                 (partial, fine, "not decided"), (fine, partial, "not decided"),
                                 (late, fine, "not decided"), (fine, late, "safe"), (late, late, "safe"),
                                 (failed | {"uncovered": ["b"]}, fine, "blocked")):
            self.assertEqual(compare(new, old)["decision"], wanted)


class Changed(unittest.TestCase):
    def changed(self, **moves):
        """The changes between items whose verdicts are given as (before, after), words in a text."""
        sides = [[made_item(*move[place].split(), name=name) for name, move in moves.items()] for place in (1, 0)]
        return comparison.changed(comparison.decision_pairs(*sides))

    def test_a_less_harmful_change_stands_first_or_an_item_twice(self):
        changes = self.changed(
            better=("absent", "verbatim"), lost=("verbatim", "absent"), turned=("verbatim", "contradicted"),
            worsened=("absent", "contradicted"), open=("verbatim", "unjudged"), same=("absent", "absent"))
        self.assertEqual([change["item"] for change in changes], ["turned", "worsened", "lost", "open", "better"])
        (change,) = self.changed(i=("verbatim verbatim absent", "verbatim absent absent"))
        self.assertEqual((change["compaction"], change["candidate"], change["incumbent"]), (2, "absent", "verbatim"))

    def test_discordant_pairs_count_what_is_unknown(self):
        both = ["absent verbatim", "supported absent", "unjudged verbatim", "contradicted supported"]
        counts = comparison.discordant([dict(zip(("candidate", "incumbent"), pair.split())) for pair in both])
        self.assertEqual(counts, {"pairs": 4, "unknown_pairs": 1, "lost": 2, "gained": 1, "p": 1.0})
