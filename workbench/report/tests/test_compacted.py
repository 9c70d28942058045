"""What a compaction result could be shown as: an unjudged item as kept or lost, a contradiction as a mere loss."""

import contextlib
import copy
import io
import json
import tempfile
import unittest
from pathlib import Path

from base.command import read_json, status_of
from workbench.report.__main__ import main
from workbench.report.compacted import compaction_section, decision, item_cell

RESULTS = sorted((Path(__file__).parents[3] / "compaction" / "results").glob("*-against-*.json"))


def decided(*verdicts):
    numbered = {str(number): verdict for number, verdict in enumerate(verdicts, 1)}
    return {"verdicts": numbered, "lines": {number: f"line {number}" for number in numbered}} if verdicts else None


class Cells(unittest.TestCase):
    def test_each_kind_of_trail_has_its_own_sign_and_words(self):
        for trail, wanted in {("verbatim", "supported"): ("complete", "●", "2/2"),
                              ("verbatim", "absent"): ("part", "◐", "1/2"), ("absent", "absent"): ("none", "○", "0/2"),
                              ("verbatim", "contradicted"): ("none", "!", "1/2 contradicted"),
                              ("unjudged",): ("part", "◐", "0/1 unjudged"),
                              ("verbatim", "opaque"): ("part", "◐", "1/2 opaque"),
                              (): ("failed", "×", "not checked")}.items():
            with self.subTest(trail):
                cell = item_cell(decided(*trail), "the words")
                self.assertEqual((cell["state"], cell["mark"], cell["text"]), wanted)

    def test_a_cell_opens_to_the_line_of_every_compaction(self):
        lines = item_cell(decided("verbatim", "absent"), None)["lines"]
        self.assertEqual(lines, ["compaction 1: ● verbatim: line 1", "compaction 2: ○ absent: line 2"])


@unittest.skipUnless(RESULTS, "no recorded compaction result yet")
class Recorded(unittest.TestCase):
    def setUp(self):
        self.result = read_json(RESULTS[0])

    def shown(self, result, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.json"
            path.write_text(json.dumps(result), encoding="utf-8")
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = status_of(main, [str(path), *options])
        return status, out.getvalue(), err.getvalue()

    def test_decision_rows_and_changed_items_are_on_the_page_and_in_the_summary(self):
        changed = self.result["comparison"]["changed"]
        for options in ((), ("--markdown",)):
            status, out, err = self.shown(self.result, *options)
            self.assertEqual(status, 0, err)
            for text in (decision(self.result), "contradictions", *(one["item"] for one in changed[:5])):
                self.assertIn(text, out)

    def test_changed_items_come_first_where_not_all_are_shown(self):
        changed = {one["item"] for one in self.result["comparison"]["changed"]}
        rows = compaction_section("r", self.result, max(1, len(changed)), [])["matrix"]["rows"]
        self.assertEqual({row["case"] for row in rows}, changed or {rows[0]["case"]})

    def test_lines_of_contexts_never_become_markup(self):
        result = copy.deepcopy(self.result)
        for side in ("candidate", "incumbent"):
            for item in result[side]["items"]:
                item["lines"] = dict.fromkeys(item["lines"], "<script>alert(1)</script>")
        self.assertNotIn("<script", self.shown(result)[1])

    def test_a_result_changed_by_hand_is_refused_in_one_line(self):
        del self.result["candidate"]["rows"][0]["of"]
        status, out, err = self.shown(self.result)
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
