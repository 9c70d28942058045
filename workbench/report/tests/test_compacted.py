"""What a compaction result could be shown as: an unjudged item as kept or lost, a contradiction as a mere loss."""

import unittest
from argparse import Namespace

from base.command import read_json
from compaction.table import decision_text
from workbench.report.__main__ import main
from workbench.report.compacted import compaction_section, item_cell
from workbench.report.tests.made import FORMS, NASTY, RESULTS, Pages, Tags


def cell(*verdicts):
    numbered = {str(number): verdict for number, verdict in enumerate(verdicts, 1)}
    lines = {number: f"line {number}" for number in numbered}
    return item_cell({"literal": "the words", "verdicts": numbered, "lines": lines} if verdicts else None)


class Cells(unittest.TestCase):
    def test_each_kind_of_trail_has_its_own_sign_and_words_and_the_line_of_every_compaction(self):
        for verdicts, *expected in (
            (("verbatim", "supported"), "complete", "●", "2/2"), (("verbatim", "absent"), "part", "◐", "1/2"),
            (("absent", "absent"), "none", "○", "0/2"), (("verbatim", "contradicted"), "none", "!", "1/2 contradicted"),
            (("unjudged", ), "part", "◐", "0/1 unjudged"), (("verbatim", "opaque"), "part", "◐", "1/2 opaque"),
            ((), "failed", "×", "not checked")):
            with self.subTest(verdicts):
                self.assertEqual([cell(*verdicts)[field] for field in ("state", "mark", "text")], expected)
        self.assertEqual(cell("verbatim", "absent")["lines"],
                         ["compaction 1: ● verbatim: line 1", "compaction 2: ○ absent: line 2"])


class Recorded(Pages):
    def setUp(self):
        super().setUp()
        self.result = read_json(RESULTS[0])
        self.changed = self.result["comparison"]["changed"]

    def test_decision_rows_and_changed_items_with_their_words_and_lines_are_shown(self):
        literals = {item["item"]: item["literal"] for item in self.result["candidate"]["items"]}
        gone = next(item for item in self.changed if not item["candidate_line"])
        for options in FORMS:
            words = Tags(self.made(self.result, options=options)).words
            for text in (decision_text(self.result), "contradictions", *(item["item"] for item in self.changed[:5]),
                         f"item: {literals[gone['item']]}", *(
                             f"{side}: {(gone[side + '_line'] or '(nothing like it)')[:60]}"
                             for side in ("incumbent", "candidate"))):
                self.assertIn(text, words)

    def test_changed_items_come_first_where_not_all_are_shown(self):
        most = Namespace(show=max(1, len(self.changed)), only=[])
        rows = compaction_section("r", self.result, most)["parts"][-1]["rows"]
        self.assertEqual({row["case"] for row in rows}, {item["item"] for item in self.changed})

    def test_lines_of_contexts_never_become_markup(self):
        items = [{**item, "lines": dict.fromkeys(item["lines"], NASTY)} for item in self.result["candidate"]["items"]]
        page = self.made({"candidate": {**self.result["candidate"], "items": items}, "task_success": None})
        self.assertNotIn("<script", page)
        self.assertIn("script", page)

    def test_a_result_changed_by_hand_and_an_item_that_is_none_are_refused(self):
        self.refused("no such item", main, RESULTS[0], "--only", "gone")
        self.result["candidate"]["compliant"] = True
        self.refused("not follow", main, self.write("result.json", self.result))
        del self.result["candidate"]["rows"][0]["of"]
        self.refused("edited or merged", main, self.write("result.json", self.result))
