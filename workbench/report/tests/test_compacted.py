"""What a compaction result could be shown as: an unjudged item as kept or lost, a contradiction as a mere loss."""

import unittest
from argparse import Namespace
from pathlib import Path

from base.command import read_json
from compaction.table import decision
from workbench.report.compacted import compaction_section, item_cell
from workbench.report.tests.made import NASTY, Tags, made

RESULTS = sorted((Path(__file__).parents[3] / "compaction" / "results").glob("*-against-*.json"))


def decided(*verdicts):
    numbered = {str(number): verdict for number, verdict in enumerate(verdicts, 1)}
    lines = {number: f"line {number}" for number in numbered}
    return {"literal": "the words", "verdicts": numbered, "lines": lines} if verdicts else None


class Cells(unittest.TestCase):
    def test_each_kind_of_trail_has_its_own_sign_and_words(self):
        for trail, wanted in {
            ("verbatim", "supported"): ("complete", "●", "2/2"), ("verbatim", "absent"): ("part", "◐", "1/2"),
            ("absent", "absent"): ("none", "○", "0/2"), ("verbatim", "contradicted"): ("none", "!", "1/2 contradicted"),
            ("unjudged", ): ("part", "◐", "0/1 unjudged"), ("verbatim", "opaque"): ("part", "◐", "1/2 opaque"),
            (): ("failed", "×", "not checked")
        }.items():
            with self.subTest(trail):
                cell = item_cell(decided(*trail))
                self.assertEqual((cell["state"], cell["mark"], cell["text"]), wanted)

    def test_a_cell_opens_to_the_line_of_every_compaction(self):
        lines = item_cell(decided("verbatim", "absent"))["lines"]
        self.assertEqual(lines, ["compaction 1: ● verbatim: line 1", "compaction 2: ○ absent: line 2"])


@unittest.skipUnless(RESULTS, "no recorded compaction result yet")
class Recorded(unittest.TestCase):
    def setUp(self):
        self.result = read_json(RESULTS[0])

    def test_decision_rows_and_changed_items_are_on_the_page_and_in_the_summary(self):
        changed = self.result["comparison"]["changed"]
        for options in ((), ("--markdown", )):
            out = made(self.result, options=options)
            for text in (decision(self.result), "contradictions", *(one["item"] for one in changed[:5])):
                self.assertIn(text, out)

    def test_changed_items_come_first_where_not_all_are_shown(self):
        changed = {one["item"] for one in self.result["comparison"]["changed"]}
        most = Namespace(show=max(1, len(changed)), only=[])
        rows = compaction_section("r", self.result, most)["parts"][-1]["rows"]
        self.assertEqual({row["case"] for row in rows}, changed or {rows[0]["case"]})

    def test_lines_of_contexts_never_become_markup(self):
        items = [{**item, "lines": dict.fromkeys(item["lines"], NASTY)} for item in self.result["candidate"]["items"]]
        result = {**self.result["candidate"], "items": items}
        self.assertNotIn("<script", made({"candidate": result, "task_success": None}))

    def test_an_item_that_changed_is_shown_with_its_words_and_both_lines(self):
        changed = self.result["comparison"]["changed"][0]
        words = "".join(Tags(made(self.result)).words)
        literal = next(item["literal"] for item in self.result["candidate"]["items"] if item["item"] == changed["item"])
        for side in ("incumbent", "candidate"):
            self.assertIn(f"{side}: {(changed[side + '_line'] or '(nothing like it)')[:60]}", words)
        self.assertIn(f"item: {literal}", words)

    def test_a_result_changed_by_hand_is_refused_in_one_line(self):
        del self.result["candidate"]["rows"][0]["of"]
        with self.assertRaises(AssertionError) as refused:
            made(self.result)
        self.assertEqual(len(str(refused.exception).splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
