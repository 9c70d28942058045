"""A recorded result is read again as it was written, or refused: what was measured must not change on the way."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

from compaction import result_file
from compaction.comparison import compare
from compaction.gates import GATES
from compaction.measure import decide_items, summarize
from compaction.result_file import pack, read_result, unpack
from compaction.tests.doubles import small_fixture

BUDGET = {"context_limit": 70, "max_new_tokens": 8, "margin": 2}
SAID = {1: "Do not push to main", 2: "The cutover is on Friday.", 3: "They talked."}


def result(judge=None, extractive=False, opaque=()):
    """The result of three contexts of the small conversation, with every way in which a decision can come about."""
    contexts = [
        {"conversation_id": "small", "compaction": number, "turn": 9, "messages": [{"role": "user", "content": text}],
         "tokens": 5, "opaque": number in opaque}
        for number, text in SAID.items()]
    decisions = decide_items([small_fixture()], contexts, extractive, judge)
    head = {"compactor": {"name": "double"}, "budget": BUDGET, "keep_share": None, "gates": GATES, "counter": {},
            "fixtures": {}, "judge": {"identity": "j"}, "left_out": {}}
    return head | summarize([small_fixture()], contexts, decisions, BUDGET)


def ordered(decisions):
    return sorted(decisions, key=lambda one: (one["item"], one["compaction"]))


RESULTS = {
    "copied": result(extractive=True),
    "unjudged": result(),
    "judged": result(lambda question: {"verdict": "absent"}),
    "contradicted by the judge": result(lambda question: {"verdict": "contradicted"}),
    "partly opaque": result(extractive=True, opaque=[2]),
}


class Packing(unittest.TestCase):
    def test_what_was_packed_comes_back_whatever_decided(self):
        for name, one in RESULTS.items():
            with self.subTest(name):
                again = unpack(json.loads(json.dumps(pack(one))))
                self.assertEqual(ordered(again.pop("decisions")), ordered(one["decisions"]))
                self.assertEqual(again, {key: part for key, part in one.items() if key != "decisions"})

    def test_a_packed_item_says_where_it_was_lost(self):
        items = {item["item"]: item for item in pack(RESULTS["copied"])["items"]}
        self.assertEqual((items["small-1"]["verdicts"]["1"], items["small-1"]["lost_at"]), ("verbatim", 2))
        self.assertEqual((items["small-4"]["verdicts"]["2"], items["small-4"]["lost_at"]), ("contradicted", 1))
        self.assertIsNone(pack(RESULTS["unjudged"])["items"][0]["lost_at"])


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "result.json"

    def read(self, report):
        self.path.write_text(json.dumps(report), encoding="utf-8")
        return read_result(self.path)

    def test_a_recorded_result_is_what_a_change_is_measured_against(self):
        recorded = self.read({"candidate": pack(RESULTS["copied"])})
        self.assertEqual(compare(RESULTS["copied"], recorded)["decision"], "safe")
        self.assertEqual(compare(recorded, recorded)["changed"], [])

    def test_what_is_no_result_or_was_changed_by_hand_is_refused_in_one_line(self):
        good = pack(RESULTS["copied"])

        def changed(*path, value):
            report = {"candidate": copy.deepcopy(good)}
            inner = report["candidate"]
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            return report

        wrong = [[], {}, {"candidate": 1}, {"candidate": {}}]
        for name in result_file.NEEDED:
            wrong.append({"candidate": {key: part for key, part in good.items() if key != name}})
        wrong += [
            changed("items", value=value) for value in (None, [], {}, ["x"], [{}], [{"item": "i", "verdicts": {}}])]
        wrong += [changed("items", 0, field, value=3) for field in ("verdicts", "lines", "keys")]
        wrong += [changed("items", 0, "verdicts", value={"first": "verbatim"})]
        wrong += [changed("items", 0, "verdicts", "1", value="fine")]
        wrong += [changed("rows", value=value) for value in (None, [], good["rows"][:5], [{}] * 6)]
        wrong += [changed("rows", 0, "kept", value="all"), changed("rows", 5, "contexts", value=None)]
        for report in wrong:
            with self.subTest(report if len(str(report)) < 80 else None), self.assertRaises(ValueError) as caught:
                self.read(report)
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
