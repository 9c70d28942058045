"""A recorded result that does not follow from its items is refused by name; no other file is written over."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

from base.command import InputError, read_json
from base.stats import resolution
from compaction import result_file
from compaction.result_file import check_report, item_problems, record, record_path
from compaction.tests.made import made_item, made_report, made_result

KINDS = {
    "copied": made_result(extractive=True),
    "unjudged": made_result(),
    "judged": made_result(lambda question: {"verdict": "absent"}),
    "contradicted by the judge": made_result(lambda question: {"verdict": "contradicted"}),
    "supported": made_result(lambda question: {"verdict": "supported"}),
    "partly opaque": made_result(extractive=True, opaque=[2]),
}
PAIR = json.loads(json.dumps(made_report(KINDS["copied"], KINDS["copied"], resolution(0.5, 10))))
ITEM, VERDICTS = ("candidate", "items", 0), ("candidate", "items", 0, "verdicts")
EDITED = [  # path, value, words of the refusal
    ((*VERDICTS, "2"), "verbatim", "candidate: rows does not follow"),
    ((*VERDICTS, "2"), "supported", "item small-1: compaction 2: cannot be supported without a judge"),
    ((*ITEM, "keys"), {"1": "k"}, "item small-1: compaction 1: cannot be verbatim with a judge"),
    (VERDICTS, {"1": "verbatim", "2": "absent"}, "item small-1: compaction 3: no verdict, stated before it"),
    ((*VERDICTS, "4"), "verbatim", "compactions that are not there"),
    ((*ITEM, "lines"), {"9": "x"}, "compactions that are not there"),
    ((*VERDICTS, "1"), "fine", "is 'fine'"),
    ((*ITEM, "turn"), 9, "verbatim, stated after it"),
    ((*ITEM, "tags"), ["hedge"], "difficulties does not follow"),
    (("candidate", "rows", 0, "value"), 3, "candidate: rows does not follow"),
    (("candidate", "rows", 5, "state"), "missed", "candidate: rows does not follow"),
    (("candidate", "contexts", 0, "tokens"), 61, "candidate: rows does not follow"),
    (("candidate", "contexts", 0, "failed"), True, "compaction 1 of small: failed is True"),
    (("candidate", "contexts", 0, "opaque"), True, "compaction 1: cannot be absent without a judge's key there"),
    (("candidate", "compliant"), True, "candidate: compliant does not follow"),
    (("candidate", "available_input"), 61, "available_input does not follow"),
    (("candidate", "missing_verdicts", "unjudged"), 1, "missing_verdicts does not follow"),
    (("candidate", "uncovered"), ["b"], "uncovered does not follow"),
    (("candidate", "gates", "constraint"), 0.1, "rows does not follow"),
    (("candidate", "fixtures", "items"), 5, "fixtures does not follow"),
    (("incumbent", "items", 0, "verdicts", "1"), "absent", "incumbent: rows does not follow"),
    (("comparison", "decision"), "blocked", "the comparison does not follow"),
    (("comparison", "rows", 0, "change"), "worse", "the comparison does not follow"),
    (("task_success", "standard_error"), 0.001, "task_success does not follow"),
    (("candidate", "budget", "margin"), "2", "is '2'"),
    (("candidate", "gates"), {}, "cannot be computed again"),
    (("candidate", "judge"), {"identity": "j", "card": {"kappa": "x"}}, "cannot be computed again"),
]


def edited(path, value):
    report = copy.deepcopy(PAIR)
    inner = report
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return report


class Checking(unittest.TestCase):
    def test_what_a_run_gives_is_refused(self):
        for name, result in KINDS.items():
            with self.subTest(name):
                check_report(json.loads(json.dumps(made_report(result, result))), "r.json")

    def test_an_edited_result_is_believed(self):
        for path, value, told in EDITED:
            with self.subTest(path):
                with self.assertRaisesRegex(InputError, told) as caught:
                    check_report(edited(path, value), "r.json")
                self.assertNotIn("\n", str(caught.exception))

    def test_an_item_or_a_context_that_stands_twice_counts_twice(self):
        for field in ("items", "contexts"):
            report = copy.deepcopy(PAIR)
            report["candidate"][field].append(report["candidate"][field][0])
            self.assertRaisesRegex(InputError, "stands twice", check_report, report, "r.json")

    def test_a_failed_compaction_kept_an_item(self):
        context = {"turn": 9, "inside": False, "opaque": False, "failed": True}
        for verdict, told in (("absent", None),
                              ("verbatim", "compaction 1: cannot be verbatim without a judge's key there")):
            self.assertEqual(next(item_problems(made_item(verdict) | {"turn": 1}, {"1": context}), None), told)

    def test_two_results_that_cannot_be_compared_stand_merged_in_one(self):
        other = copy.deepcopy(PAIR)
        other["incumbent"]["counter"] = {"model": "another"}
        self.assertRaisesRegex(InputError, "not comparable: counter differ", check_report, other, "r.json")
        del other["incumbent"]
        self.assertRaisesRegex(InputError, "a comparison without two sides", check_report, other, "r.json")

    def test_a_field_that_is_missing_or_of_another_kind_ends_in_a_traceback(self):
        for value in (None, [], {}, {"candidate": 1}, {"candidate": {}}):
            self.assertRaises(InputError, check_report, value, "r.json")
        for field in PAIR["candidate"]:
            for value in (None, 3, "x", [3], {"x": 3}):
                report = edited(("candidate", field), value)
                try:
                    check_report(report, "r.json")
                except InputError as error:
                    self.assertIn("r.json: ", str(error))
                else:
                    self.assertIn(
                        (field, type(value)),
                        [("keep_share", type(None)), ("keep_share", int), ("judge", type(None)), ("counter", dict)])


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "result.json"

    def test_an_earlier_result_of_the_same_compactors_is_lost(self):
        for tokens in range(3):
            record(self.path, PAIR | {"n": tokens}, ["double", "double"])
        names = sorted(path.name for path in self.path.parent.iterdir())
        self.assertEqual(names, ["result.json", "result.previous.2.json", "result.previous.json"])
        self.assertEqual(check_report(read_json(self.path), "r.json")["n"], 2)

    def test_a_file_of_somebody_elses_is_replaced(self):
        for text in ("{}", "notes", json.dumps(made_report(KINDS["copied"])),
                     json.dumps(made_report(made_result(name="other"), KINDS["copied"]))):
            self.path.write_text(text)
            self.assertRaisesRegex(
                InputError, "no output of this command", record, self.path, PAIR, ["double", "double"])
            self.assertEqual(self.path.read_text(), text)

    def test_a_recorded_name_leads_out_of_the_folder(self):
        self.assertEqual(record_path("", ["../../x y", "m:f"]), result_file.RESULTS / "..-..-x-y-against-m-f.json")
        self.assertEqual(record_path(str(self.path), ["x"]), self.path)


if __name__ == "__main__":
    unittest.main()
