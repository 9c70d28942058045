"""Two results side by side: what must not be compared, what changed most harmfully, what a pair says."""

import unittest

from base.command import NotComparable
from compaction.comparison import changed, check_comparable, discordant


class Comparable(unittest.TestCase):
    def test_other_fixtures_budget_judge_or_share_are_not_comparable(self):
        base = {"fixtures": "f", "budget": "b", "counter": "c", "gates": "g", "keep_share": 0.5,
                "judge": {"identity": "j"}, "decisions": [{"by": "judge", "verdict": "absent", "conversation_id": "c"}]}
        check_comparable(base, base)
        check_comparable(base, base | {"keep_share": None})
        for change in ({"fixtures": "x"}, {"budget": "x"}, {"counter": "x"}, {"keep_share": 0.4}, {"judge": None},
                       {"judge": {"identity": "k"}},
                       {"decisions": [{"by": None, "verdict": "opaque", "conversation_id": "d"}]}):
            with self.subTest(change), self.assertRaisesRegex(NotComparable, "not comparable"):
                check_comparable(base, base | change)

    def test_a_judge_matters_only_where_both_sides_left_something_to_one(self):
        def side(judge, *decided):
            decisions = [{"by": by, "verdict": verdict, "conversation_id": "c"} for by, verdict in decided]
            same = {field: field for field in ("fixtures", "budget", "counter", "gates")}
            return same | {"keep_share": None, "judge": judge and {"identity": judge}, "decisions": decisions}

        text, judged, open_ = ("text", "verbatim"), ("judge", "absent"), (None, "unjudged")
        for one, other in (
            (side("j", judged, text), side(None, text)),  # text decided all of the other
            (side("j", text), side("k", text)),
            (side("j", judged), side("j", open_)),
            (side(None, open_), side(None, open_)),
            (side("j", text, open_), side(None, open_)),  # neither has a verdict of its judge
        ):
            check_comparable(one, other)
            check_comparable(other, one)
        for one, other in ((side("j", judged), side("k", judged)), (side("j", judged), side(None, open_))):
            self.assertRaisesRegex(NotComparable, "judged by", check_comparable, one, other)
            self.assertRaisesRegex(NotComparable, "judged by", check_comparable, other, one)


def decision(item, verdict, compaction=1, line=None):
    return {"conversation_id": "c", "item": item, "class": "constraint", "tags": [], "compaction": compaction,
            "verdict": verdict, "by": None, "line": line, "key": None}


class Changed(unittest.TestCase):
    def test_most_harmful_change_first_to_contradicted_then_to_absent(self):
        moves = {"better": ("absent", "verbatim"), "lost": ("verbatim", "absent"),
                 "turned": ("verbatim", "contradicted"), "worsened": ("absent", "contradicted"),
                 "open": ("verbatim", "unjudged"), "same": ("absent", "absent")}
        pairs = [(decision(item, new), decision(item, old)) for item, (old, new) in moves.items()]
        self.assertEqual([one["item"] for one in changed(pairs)], ["turned", "worsened", "lost", "open", "better"])

    def test_an_item_is_listed_once_where_the_change_does_most_harm(self):
        pairs = [(decision("i", "verbatim", 1), decision("i", "verbatim", 1)),
                 (decision("i", "absent", 2, "new line"), decision("i", "verbatim", 2, "old line")),
                 (decision("i", "absent", 3), decision("i", "absent", 3))]
        (found,) = changed(pairs)
        self.assertEqual((found["compaction"], found["candidate"], found["incumbent"]), (2, "absent", "verbatim"))
        self.assertEqual((found["candidate_line"], found["incumbent_line"]), ("new line", "old line"))

    def test_discordant_pairs_leave_out_what_is_unknown(self):
        found = discordant([(decision("a", "absent"), decision("a", "verbatim")),
                            (decision("b", "supported"), decision("b", "absent")),
                            (decision("c", "unjudged"), decision("c", "verbatim")),
                            (decision("d", "contradicted"), decision("d", "supported"))])
        self.assertEqual(found, {"pairs": 4, "unknown_pairs": 1, "lost": 2, "gained": 1, "p": 1.0})


if __name__ == "__main__":
    unittest.main()
