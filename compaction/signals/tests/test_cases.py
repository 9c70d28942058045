"""What is a call or an order given again, and what only looks like either: cases.json, and what no file holds."""

import json
import unittest
from collections import Counter
from pathlib import Path

from base.tests.made import named_cases
from compaction.signals import calls
from compaction.signals.calls import Calls, call_digest, result_digest
from compaction.signals.restatements import Said
from compaction.signals.tests.made import RULE

PAIRS = json.loads((Path(__file__).parent / "restatement_pairs.json").read_text(encoding="utf-8"))["pairs"]
READ = ["read", {"path": "src/a.py"}]


def kind(earlier, later, **known):
    said = Said()
    said.take(earlier, 1)
    verdict = said.take(later, 2, **known)
    return verdict and verdict["kind"]


def log(*steps, turns=5, **fields):
    """Calls of a conversation in steps: [name, arguments, result or None, id], "compaction" or {"turn": number}."""
    made, at = Calls(turns), {"turn": 1, "reply": 0}
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            at |= step
        elif step == "compaction":
            made.compaction(at)
        else:
            name, arguments, result, call_id = [*step, *["ok", f"c{number}"][len(step) - 2:]]
            at |= {"reply": at["reply"] + 1, "call_id": call_id}
            made.tool_call({**at, "name": name, "arguments": arguments, **fields})
            if result is not None:
                made.tool_result({**at, "content": result})
    return made


class Cases(unittest.TestCase):
    ANSWERS = {"messages": ("kind", kind),
               "logs": ("kinds", lambda steps: [hit["kind"] for hit in log(*steps).end()]),
               "arguments": ("equal", lambda first, other: call_digest("f", first) == call_digest("f", other)),
               "results": ("equal", lambda first, other: result_digest(first) == result_digest(other)),
               "functions": ("gives", lambda call, args: getattr(calls, call)(*args))}

    def test_every_case_in_the_file(self):
        for case in named_cases(__file__, "cases.json"):
            with self.subTest(case.pop("name")):
                wanted, answer = self.ANSWERS[case.pop("part")]
                expected = case.pop(wanted)
                self.assertEqual(answer(**case), expected)

    def test_arguments_nested_too_deep_to_write_are_like_no_other_and_end_nothing(self):
        deep = None
        for _ in range(100_000):
            deep = [deep]
        call = ["f", {"x": deep}]
        self.assertIsNone(call_digest(*call))
        self.assertEqual(log(call, "compaction", call).end(), [])
        self.assertEqual(log(["f", {}], "compaction", ["g", {}]).end(), [])  # and neither are those of two tools

    def test_a_hit_comes_with_its_evidence(self):
        hit = log(READ, "compaction", READ).end()[0]
        self.assertEqual((hit["kind"], hit["result"], hit["made_before_compaction"]), ("idle", "unchanged", True))
        self.assertEqual((hit["earlier"], hit["turns_after"]), ({"turn": 1, "reply": 1}, 0))
        later = log(["ls", {}], "compaction", {"turn": 3}, READ, {"turn": 6}, READ).end()
        self.assertEqual([hit["made_before_compaction"] for hit in later], [False])

    def test_history_that_a_fork_copied_is_no_hit_and_not_counted(self):
        copied = log(READ, "compaction", READ, copied=True)
        self.assertEqual((copied.end(), copied.shares()), ([], {"after": Counter(), "control": Counter()}))

    def test_which_calls_are_near_a_compaction_and_which_are_the_control(self):
        def turns(*numbers):
            return [step for number in numbers for step in ({"turn": number}, READ)]

        for what, steps, after, control in (
            ("the first window is no control", turns(*range(1, 9)), [0, 0], [6, 6]),
            ("long before a compaction", [*turns(*range(1, 9)), {"turn": 20}, "compaction"], [0, 0], [6, 6]),
            ("a compaction falls into the window", [*turns(1, 2, 3, 4), "compaction"], [0, 0], [0, 0]),
            ("the window ends", [READ, "compaction", *turns(2, 3, 4, 5)], [2, 2], [2, 2]),
            ("turns without calls move it on", [READ, *turns(100), ["ls", {}]], [0, 0], [1, 2])):
            with self.subTest(what):
                shares = log(*steps, turns=2).shares()
                self.assertEqual([[shares[side][field] for field in ("repeats", "calls")]
                                  for side in ("after", "control")], [after, control])

    def test_the_evidence_names_both_sentences_and_the_earlier_turn(self):
        said = Said()
        for turn, words in enumerate(("look at the parser", f"one more thing. {RULE}. thanks", "and now the lexer"), 1):
            self.assertIsNone(said.take(words, turn))
        verdict = said.take(f"hm. {RULE}! \ud83d", 9)
        self.assertEqual((verdict["kind"], verdict["earlier"]), ("restates", 2))
        self.assertIn("release branch", verdict["said"])
        self.assertIn("release branch", verdict["before"])
        json.dumps(verdict, ensure_ascii=False).encode("utf-8")  # half a surrogate pair can be shown

    def test_the_figures_that_the_readme_states_are_those_of_the_rules(self):
        told = Counter()  # over the project's own pairs, `fresh-*` written when the rules stood
        self.assertEqual(len({(pair["earlier"], pair["later"]) for pair in PAIRS}), len(PAIRS))
        for pair in PAIRS:
            taken = kind(pair["earlier"], pair["later"], replied=pair.get("replied", True)) == "restates"
            told[pair["id"].split("-")[0], pair["label"] == "restates", taken] += 1
        self.assertEqual([told[start, True, True] for start in ("pair", "fresh")], [14, 7])
        self.assertEqual([told[start, False, True] for start in ("pair", "fresh")], [0, 0])
