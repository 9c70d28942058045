"""A recorded result that does not follow from its items is refused by name; no other file is written over."""

import json
import unittest
from functools import partial

from base.command import InputError, read_json, write_json
from base.stats import resolution
from base.tests.made import Files, edited, named_cases
from compaction import result_file
from compaction.fixtures.items import JUDGED
from compaction.result_file import check_report, is_result_of, item_problems, record_path, side_problems
from compaction.tests.made import made_item, made_report, made_result

COPIED = made_result(extractive=True)
RESULTS = [COPIED, made_result(), made_result(extractive=True, opaque=[2]),
           *(made_result(lambda question, verdict=verdict: {"verdict": verdict}) for verdict in JUDGED)]
PAIR = json.loads(json.dumps(made_report(COPIED, COPIED, resolution(0.5, 10))))


class Checking(unittest.TestCase):
    def test_what_a_run_gives_is_refused(self):
        for result in RESULTS:
            check_report(json.loads(json.dumps(made_report(result, result))), "r.json")

    def test_an_edited_result_is_believed(self):
        twice = [{"name": f"{field} twice", "at": ["candidate", field], "told": "stands twice",
                  "value": PAIR["candidate"][field] + PAIR["candidate"][field][:1]} for field in ("items", "contexts")]
        for case in named_cases(__file__, "edited-results.json") + twice:
            with self.subTest(case["name"]), self.assertRaisesRegex(InputError, rf"\A.*{case['told']}.*\Z"):
                check_report(edited(PAIR, case["at"], case["value"]), "r.json")
        backwards = made_report(made_result(extractive=True, turns={2: 3}))
        self.assertRaisesRegex(InputError, "go back to an earlier turn", check_report, backwards, "r.json")
        for side in ("incumbent", "comparison"):
            alone = {field: part for field, part in PAIR.items() if field != side}
            self.assertRaisesRegex(InputError, "a comparison without two sides", check_report, alone, "r.json")

    def test_a_failed_compaction_kept_an_item_or_one_inside_a_turn_surely_came_after_it(self):
        context = {"turn": 9, "inside": False, "opaque": False, "failed": False}
        for change, turn, verdicts, told in (
            ("failed", 1, ["absent"], []), ("inside", 8, ["verbatim"], []), ("inside", 8, [], []),
            ("failed", 1, ["verbatim"], ["compaction 1: cannot be verbatim without a judge's key there"]),
            ("", 8, [], ["compaction 1: no verdict, stated before it"])):
            item, changed = made_item(*verdicts) | {"turn": turn}, context | ({change: True} if change else {})
            self.assertEqual(list(item_problems(item, {"1": changed})), told)

    def test_a_compaction_that_left_more_than_the_window_did_not_fail(self):
        first, *others = COPIED["contexts"]
        for tokens, failed, keep_share, fits in ((70, False, 0.5, True), (71, True, 0.5, True), (71, False, 0.5, False),
                                                 (None, False, 0.5, True), (71, False, None, True)):
            contexts = [first | {"tokens": tokens, "failed": failed}, *others]
            problems = side_problems(COPIED | {"keep_share": keep_share, "contexts": contexts})
            self.assertEqual(f"compaction 1 of small: failed is {failed}" not in problems, fits, (tokens, failed))

    def test_a_field_that_is_missing_or_of_another_kind_ends_in_a_traceback(self):
        for value in (None, [], {}, {"candidate": 1}, {"candidate": {}}):
            self.assertRaises(InputError, check_report, value, "r.json")
        for field in PAIR["candidate"]:
            for value in (None, 3, "x", [3], {"x": 3}):
                try:
                    check_report(edited(PAIR, ["candidate", field], value), "r.json")
                except InputError as error:
                    self.assertIn("r.json: ", str(error))
                else:
                    self.assertIn((field, value), [("keep_share", None), ("keep_share", 3), ("judge", None),
                                                   ("counter", {"x": 3})])


class Recording(Files):
    OWN = partial(is_result_of, ["double", "double"])

    def test_an_earlier_result_of_the_same_compactors_is_lost(self):
        path = self.folder / "result.json"
        for number in range(3):
            write_json(path, PAIR | {"n": number}, self.OWN)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, ["result.json", "result.previous.2.json", "result.previous.json"])
        self.assertEqual(read_json(path)["n"], 2)

    def test_a_file_of_somebody_elses_is_replaced(self):
        other = made_result(extractive=True, compactor={"name": "other"})
        for content in ({}, "notes", made_report(COPIED), made_report(other, COPIED)):
            path = self.write("result.json", content)
            before = path.read_bytes()
            self.assertRaisesRegex(InputError, "no output of this command", write_json, path, PAIR, self.OWN)
            self.assertEqual(path.read_bytes(), before)

    def test_a_recorded_name_leads_out_of_the_folder(self):
        self.assertEqual(record_path("", ["../../x y", "m:f"]), result_file.RESULTS / "..-..-x-y-against-m-f.json")
        self.assertEqual(record_path(self.folder / "r.json", ["x"]), self.folder / "r.json")
