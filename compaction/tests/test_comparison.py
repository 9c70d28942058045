"""Two results side by side: what must not be compared, what changed most harmfully, what a pair says."""

import unittest

from compaction.comparison import changed, discordant, incomparable, paired
from compaction.tests.made import made_item


class Comparable(unittest.TestCase):
    def test_other_fixtures_budget_judge_or_share_are_not_comparable(self):
        base = side("j", "absent", keys="a")
        self.assertIsNone(incomparable(base, base))
        self.assertIsNone(incomparable(base, base | {"keep_share": None}))
        for change in ({"fixtures": "x"}, {"budget": "x"}, {"counter": "x"}, {"keep_share": 0.4}, {"judge": None},
                       {"judge": {"identity": "k"}}, {"items": [base["items"][0] | {"conversation_id": "d"}]}):
            with self.subTest(change):
                self.assertTrue(incomparable(base, base | change))

    def test_a_judge_matters_only_where_both_sides_left_something_to_one(self):
        judged, text, open_ = ("absent", "a"), ("verbatim", ""), ("unjudged", "a")
        for one, other in (
            (("j", *judged), (None, *text)),  # text decided all of the other
            (("j", *text), ("k", *text)),
            (("j", *judged), ("j", *open_)),
            ((None, *open_), (None, *open_)),
            (("j", *open_), (None, *open_)),
        ):  # neither has a verdict of its judge
            for pair in ((one, other), (other, one)):
                self.assertIsNone(incomparable(*(side(*given) for given in pair)))
        for one, other in ((("j", *judged), ("k", *judged)), (("j", *judged), (None, *open_))):
            for pair in ((one, other), (other, one)):
                self.assertIn("judged by", incomparable(*(side(*given) for given in pair)))


def side(judge, verdict, keys=""):
    same = {field: field for field in ("fixtures", "budget", "counter", "gates")}
    return same | {"keep_share": 0.5, "judge": judge and {"identity": judge}, "items": [made_item(verdict, keys=keys)]}


class Changed(unittest.TestCase):
    def changed(self, **moves):
        """The changes between items whose verdicts are given as (before, after), each a list."""
        sides = [[made_item(*move[place], name=name) for name, move in moves.items()] for place in (1, 0)]
        return changed(paired(*sides))

    def test_most_harmful_change_first_to_contradicted_then_to_absent(self):
        moves = {"better": ("absent", "verbatim"), "lost": ("verbatim", "absent"),
                 "turned": ("verbatim", "contradicted"), "worsened": ("absent", "contradicted"),
                 "open": ("verbatim", "unjudged"), "same": ("absent", "absent")}
        found = self.changed(**{name: ([old], [new]) for name, (old, new) in moves.items()})
        self.assertEqual([one["item"] for one in found], ["turned", "worsened", "lost", "open", "better"])

    def test_an_item_is_listed_once_where_the_change_does_most_harm(self):
        (found,) = self.changed(i=(["verbatim", "verbatim", "absent"], ["verbatim", "absent", "absent"]))
        self.assertEqual((found["compaction"], found["candidate"], found["incumbent"]), (2, "absent", "verbatim"))

    def test_discordant_pairs_leave_out_what_is_unknown(self):
        both = ["absent verbatim", "supported absent", "unjudged verbatim", "contradicted supported"]
        found = discordant([dict(zip(("candidate", "incumbent"), pair.split())) for pair in both])
        self.assertEqual(found, {"pairs": 4, "unknown_pairs": 1, "lost": 2, "gained": 1, "p": 1.0})


if __name__ == "__main__":
    unittest.main()
