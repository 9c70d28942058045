"""What an import could get wrong: evidence lost or invented, sessions run together, calls torn from their results."""

import json
import os
import re
import unittest
from collections import Counter
from pathlib import Path

from base.command import InputError, read_json
from base.tests.made import Files, named_cases, needs_tokenizer, run
from selection.cases import check_set
from workbench.import_cases import case_set, check_some, import_locomo, import_longmemeval, main, that_fit
from workbench.tests.made import CHAT, locomo, longmemeval, message, part, question

LOCOMO = Path(os.environ.get("LAB_DATA", "")) / "locomo" / "locomo10.json"
CASES = named_cases(__file__, "import-cases.json")


def content(case):
    """The file of a case, a log's messages written out; "odd": a message inside the second of three turns."""
    if "evidence" in case:
        return locomo([question(labels, case.get("category", 4)) for labels in case["evidence"]],
                      **case.get("conversation", {})) * case.get("times", 1)
    if "questions" in case:
        return [question for changes in case["questions"] for question in longmemeval(**changes)]
    if "file" in case:
        return case["file"].encode("utf-8", "surrogateescape") if isinstance(case["file"], str) else case["file"]
    return [written_out(line) for line in case.get("lines", [["user: x", "user: y", case.get("odd"), "user: z?"]])]


def written_out(line):
    """A line of a log with its messages written out."""
    if isinstance(line, dict) and isinstance(line.get("messages"), list):
        return {**line, "messages": written_out(line["messages"])}
    return list(map(message, line)) if isinstance(line, list) else line


class Imported(Files):
    def test_every_case_in_the_file(self):
        for case in CASES:
            with self.subTest(case["name"]):
                path = self.write("file.jsonl" if "lines" in case or "odd" in case else "file", content(case))
                arguments = (case.get("format", "chat"), path, *case.get("options", ()))
                if "refused" in case:
                    self.refused(case["refused"], main, *arguments)
                    continue
                status, out, err = run(main, *arguments)
                self.assertEqual(status, 0, err)
                if "odd" in case:
                    case = {**case, "made": {"histories": {"conversation-1": [{"user": "x"}]}},
                            "told": ["turn left out: 1"]}
                self.assertEqual(part(case["made"], json.loads(out)), case["made"])
                self.assertEqual([text for text in case.get("told", ()) if text not in err], [], err)
                self.assertTrue("told" in case or not re.search("left out|repaired|masked|kept|order", err), err)

    def test_a_long_message_is_named_whole_as_a_fact(self):
        long = [{"role": "user", "content": f" {'long ' * 99}", "has_answer": True}]
        histories, cases = import_longmemeval(longmemeval(haystack_sessions=[long]), "file", [])
        self.assertLessEqual(len(cases[0]["required"][0]["text"]), 200)
        check_set(case_set(histories, cases, 100), "file")

    @unittest.skipUnless(LOCOMO.exists(), "LAB_DATA names no folder with locomo/locomo10.json")
    def test_the_published_set_gives_other_than_2820_labels_over_1982_questions(self):
        losses = []
        _, cases = import_locomo(read_json(LOCOMO), LOCOMO, losses)
        self.assertEqual((len(cases), sum(len(case["required"]) for case in cases)), (1982, 2820))
        self.assertEqual(Counter(what for what, _, _ in losses),
                         {"question left out": 4, "label repaired": 6, "label left out": 3})

    @needs_tokenizer
    def test_a_control_token_in_one_conversation_spoils_the_set(self):
        token = "<turn|>"
        talks = {"turn": [message(f"user: Say {token}"), message("assistant: No."), *CHAT[1:]],
                 "call": [*CHAT[:3], {**CHAT[3], "content": token}, *CHAT[4:]],
                 "question": [*CHAT[:-2], message(f"user: {token}")], "whole": CHAT,
                 "alone": [message(f"user: {token}"), CHAT[-2]]}
        log = self.write("log.jsonl", [{"id": name, "messages": said} for name, said in talks.items()])
        _, out, err = run(main, "chat", log)
        self.assertEqual({name: len(turns) for name, turns in json.loads(out)["histories"].items()},
                         {"turn": 2, "call": 1, "whole": 2})
        self.assertNotIn(token, out)
        self.assertIn("turn left out: 3\n", err)
        self.assertIn("question left out: 2\n", err)

    def test_a_question_stays_whose_evidence_is_left_out_or_that_is_over_its_budget(self):
        class Red:
            """A double of the counter whose only control token is "red": every request costs 50 tokens."""
            control_token = staticmethod(lambda text: "red" if "red" in text else None)

            def __call__(self, messages, tools=None):
                return 50

        losses = []
        histories, cases = import_locomo(locomo([question(["D1:1"]), question(["D2:1"])]), "file", losses)
        made = that_fit(case_set(histories, cases, 100), Red(), losses)
        self.assertEqual(([case["id"] for case in made["cases"]], len(made["histories"]["one"])), (["one-1"], 2))
        self.assertEqual([what for what, _, _ in losses], ["turn left out", "question left out"])
        self.assertEqual(that_fit(case_set(histories, cases[1:], 49), Red(), losses)["cases"], [])
        self.assertIn("cost 50 tokens, the budget leaves 49", losses[-1][2])
        self.assertRaisesRegex(InputError, "the first: b: 49", check_some, {"cases": []},
                               [("turn left out", "a", "red"), ("question left out", "b", "49")], "file")
