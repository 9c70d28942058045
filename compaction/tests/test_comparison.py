"""Two results side by side: what must not be compared, which change blocks, what changed most harmfully."""

import unittest
from itertools import permutations

from compaction import comparison
from compaction.comparison import compare, compare_rows, decide, incomparable
from compaction.rows import compliant, tokens_row
from compaction.tests.made import made_item, made_result, made_row


def rows(constraint=(71, 80), contradictions=2, unknown=0, p95=(900,) * 20, **classes):
    """The published incumbent's rows, or a change of them."""
    counts = {"constraint": constraint, "open_question": (44, 51), "commitment": (96, 103), "reference": (58, 61),
              **classes, "contradictions": (contradictions, 295)}
    return [*(made_row(name, *count, unknown) for name, count in counts.items()), tokens_row(p95, 1000)]


def answer(new, old, items=(), others=()):
    return decide(compare_rows({"rows": new, "items": items}, {"rows": old, "items": others}))


def side(judge, verdict, keys="", **changes):
    same = {field: field for field in ("fixtures", "budget", "counter", "gates")}
    return same | {"keep_share": 0.5, "judge": judge and {"identity": judge}, "items": [made_item(verdict, keys=keys)],
                   **changes}


class Comparable(unittest.TestCase):
    def test_other_fixtures_budgets_conversations_or_shares_are_compared(self):
        base = side("j", "absent", "a")
        for same in ({}, {"keep_share": None}, {"judge": {"identity": "j", "card": "measured since"}}):
            self.assertIsNone(incomparable(base, base | same))
        for change in ({"fixtures": "x"}, {"budget": "x"}, {"counter": "x"}, {"gates": "x"}, {"keep_share": 0.4},
                       {"items": [base["items"][0] | {"conversation_id": "d"}]}):
            with self.subTest(change):
                self.assertTrue(incomparable(base, base | change))

    def test_a_judge_matters_where_one_side_left_nothing_to_it_or_not_where_both_did(self):
        judged, text, unread = ("absent", "a"), ("verbatim", ""), ("unjudged", "a")
        for first, second, told in (
            (("j", *judged), (None, *text), None),  # text decided all of the other
            (("j", *text), ("k", *text), None),
            (("j", *judged), ("j", *unread), None),
            ((None, *unread), (None, *unread), None),
            (("j", *unread), (None, *unread), None),  # neither has a verdict of its judge
            (("j", *judged), ("k", *judged), "judged by"),
            (("j", *judged), (None, *unread), "judged by"),
        ):
            for pair in permutations((side(*first), side(*second))):
                with self.subTest(pair):
                    self.assertEqual((incomparable(*pair) or "")[:9], told or "")


class Deciding(unittest.TestCase):
    def test_the_published_example_meets_a_gate_or_is_no_baseline(self):
        self.assertEqual([row["state"] for row in rows()], ["missed"] * 5 + ["met"])
        poor = rows(p95=[2000])
        self.assertEqual([row["state"] for row in poor], ["missed"] * 6)
        for made in (rows(), poor):
            self.assertEqual((compliant(made), answer(made, made)), (False, "safe"))
        better = rows((75, 80), 3, open_question=(48, 51), commitment=(100, 103), reference=(60, 61))
        self.assertEqual(answer(better, rows()), "blocked")  # worse in contradictions

    def test_a_change_is_called_safe_or_blocked_by_what_does_not_show_it(self):
        unsure = rows(p95=[900] * 5 + [None])
        for new, old, wanted in (
            (rows((70, 80)), rows(), "blocked"),  # one lost decision
            (rows((142, 160)), rows(), "safe"),  # shares are compared exactly where the counts differ
            (rows((141, 160)), rows(), "blocked"),
            (rows(p95=[999]), rows(p95=[10]), "safe"),  # prompt size blocks only when its gate was met before
            (rows(p95=[1001]), rows(p95=[10]), "blocked"),
            (rows(p95=[3000]), rows(p95=[2000]), "safe"),
            (unsure, rows(), "not decided"),
            (rows(), unsure, "not decided"),
            (rows((70, 80), unknown=2), rows(), "not decided"),  # unknown decisions could turn it
            (rows(), rows(unknown=1), "not decided"),
        ):
            self.assertEqual(answer(new, old), wanted, (new, old))

    def test_a_row_outweighs_another_or_counts_without_a_gate(self):
        unsure = made_row("reference", 58, 61, unknown=1)
        for new, old, wanted in (
            ([made_row("constraint", 70, 80), unsure], [made_row("constraint", 71, 80), unsure], "blocked"),
            ([made_row("constraint", 1, 80, gate=None)], [made_row("constraint", 71, 80, gate=None)], "safe"),
            ([made_row("constraint", 60, 80, 5)], [made_row("constraint", 71, 80)], "blocked"),  # 5 cannot turn it
            ([made_row("constraint", 75, 80, 5)], [made_row("constraint", 71, 80)], "safe"),
            ([made_row("constraint", 0, 0)], [made_row("constraint", 5, 5)], "not decided"),  # one side has no items
        ):
            self.assertEqual(answer(new, old), wanted, (new, old))

    def test_the_same_unknown_on_both_sides_turns_a_decision_or_is_not_counted_by_question(self):
        for class_, keys, wanted in (("constraint", "ab", "safe"), ("constraint", "ac", "not decided"),
                                     ("reference", "ab", "not decided")):
            row = [made_row("constraint", 70, 80, 2)]
            items, others = [made_item("unjudged", "unjudged", "opaque", keys="ab")], [
                made_item("unjudged", "unjudged", keys=keys, class_=class_)]
            self.assertEqual(answer(row, row, items, others), wanted, (class_, keys))
        row = [made_row("contradictions", 2, 80, 2)]  # of all classes
        self.assertEqual(answer(row, row, items, others), "safe")

    def test_a_failed_compaction_or_a_conversation_without_a_context_is_safe(self):
        fine = made_result(extractive=True)
        failed, partial = fine | {"failed": fine["contexts"][:1]}, fine | {"uncovered": ["b"]}
        for new, old, wanted in ((failed, fine, "blocked"), (fine, failed, "safe"), (fine, fine, "safe"),
                                 (partial, fine, "not decided"), (fine, partial, "not decided"),
                                 (failed | {"uncovered": ["b"]}, fine, "blocked")):
            self.assertEqual(compare(new, old)["decision"], wanted)


class Changed(unittest.TestCase):
    def changed(self, **moves):
        """The changes between items whose verdicts are given as (before, after), words in a text."""
        sides = [[made_item(*move[place].split(), name=name) for name, move in moves.items()] for place in (1, 0)]
        return comparison.changed(comparison.paired(*sides))

    def test_a_less_harmful_change_stands_first(self):
        changes = self.changed(
            better=("absent", "verbatim"), lost=("verbatim", "absent"), turned=("verbatim", "contradicted"),
            worsened=("absent", "contradicted"), open=("verbatim", "unjudged"), same=("absent", "absent"))
        self.assertEqual([change["item"] for change in changes], ["turned", "worsened", "lost", "open", "better"])

    def test_an_item_is_listed_twice_or_where_the_change_does_less_harm(self):
        (change,) = self.changed(i=("verbatim verbatim absent", "verbatim absent absent"))
        self.assertEqual((change["compaction"], change["candidate"], change["incumbent"]), (2, "absent", "verbatim"))

    def test_discordant_pairs_count_what_is_unknown(self):
        both = ["absent verbatim", "supported absent", "unjudged verbatim", "contradicted supported"]
        counts = comparison.discordant([dict(zip(("candidate", "incumbent"), pair.split())) for pair in both])
        self.assertEqual(counts, {"pairs": 4, "unknown_pairs": 1, "lost": 2, "gained": 1, "p": 1.0})


if __name__ == "__main__":
    unittest.main()
