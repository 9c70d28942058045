"""Selectors that are the user's own: wrong, hostile, noisy or merely odd, and what the run makes of each."""

import contextlib
import json
import unittest

from base.command import InputError
from base.tests.made import Files, named_cases, needs_tokenizer
from base.tests.made import run as run_command
from evaluate import main, run
from selection.reporting import complaints
from selection.run import run_one
from selection.tests.made import Template, case_of, count
from strategies import notes
from workbench.tests.made import CALL

OWN = """
from __future__ import annotations
import dataclasses, os, sys
from strategies import fill, selection

@dataclasses.dataclass
class Words:
    said: "list[str]"

def throw(error): raise error
def below(number): return 1 / 0
def of_messages(count, *messages):
    return {"messages": list(messages), "turns": [], "notes": 0, "input_tokens": count(list(messages))}
def oldest(case, count): return fill(case, count, range(len(case["history"])))
def everything(case, count): return selection(case, count, range(len(case["history"])))
def prints(case, count): return print("looking") or oldest(case, count)
def moves(case, count): return os.chdir("/") or oldest(case, count)

kept = []
def fills_one_list(case, count):
    chosen = oldest(case, count)
    kept[:] = chosen["turns"]
    return {**chosen, "turns": kept}
"""
WRONG = named_cases(__file__, "wrong-selectors.json")  # what a selector gives, and what is told
OWN += "".join(f"def wrong_{number}(case, count): return {row['gives']}\n" for number, row in enumerate(WRONG))


def sending(*said):
    """A selector that sends these messages and the question."""
    def select(case, count):
        messages = [*said, {"role": "user", "content": case["current"]}]
        return {"messages": messages, "turns": [], "notes": 0, "input_tokens": count(messages)}

    return select


class Alone(unittest.TestCase):
    def test_a_text_that_the_template_cuts_is_searched_for_facts(self):
        own = {"role": "assistant", "content": "It is 3.</think>No."}
        template = Template(lambda message: message["content"].rpartition("</think>")[2])
        self.assertEqual(run_one("own.py:f", sending(own), case_of(), template)[1],
                         "returned message 1, whose text the chat template changes: 'It is 3.</think>No.'")
        self.assertIsNone(run_one("own.py:f", sending(own), case_of(("x", own["content"])), template)[1])

    def test_a_tool_result_that_the_template_leaves_out_without_its_call_is_searched_for_facts(self):
        calling = {"role": "assistant", "content": "", "tool_calls": [CALL]}
        result = {"role": "tool", "tool_call_id": "c1", "content": "x is here"}
        case = case_of({"user": "Look.", "assistant": "Done.", "messages": [calling, result]}, "And x is here, too.")

        class Calls(Template):
            def text(self, messages):
                return super().text([said for before, said in zip([{}, *messages], messages)
                                     if said["role"] != "tool" or "tool_calls" in before])

        self.assertIsNone(run_one("own.py:f", sending(calling, result), case, Calls())[1])
        for sent in [result], [result, {"role": "user", "content": "And x is here, too."}], [calling, result, result]:
            told = run_one("own.py:f", sending(*sent), case, Calls())[1]
            self.assertIn("leaves out here: 'x is here'", told)

    def test_a_rule_is_handed_the_answers(self):
        case = case_of(("x is here", "y"), stale=("y",))
        for field in ("required", "stale"):
            self.assertIn("KeyError", run_one("own.py:f", lambda asked, count: asked[field], case, count)[1])
        self.assertEqual(case, case_of(("x is here", "y"), stale=("y",)))

    def test_an_edit_of_one_rule_is_found_by_the_next(self):
        """Caches know a history by its list and its ends: what a rule edited in the middle stayed in them."""
        case = case_of("Read it.", "It is late.", "Now go.", required=("We must use blue.",), room=40)

        def cleans(case, count):
            case["history"][1]["user"] = "We must use blue."
            return notes(case, count)

        for name in ("own.py:f", "own.py:g"):
            self.assertEqual(run_one(name, cleans, case, count)[1], "changed the case")
            self.assertEqual(run_one("own.py:next", notes, case, count)[0]["notes"], 0)
            self.assertEqual(run_one("notes", notes, case, count)[0]["notes"], 0)


@needs_tokenizer
class OwnSelectors(Files):
    def setUp(self):
        super().setUp()
        self.file = self.write("own.py", OWN)

    def test_a_wrong_selector_ends_the_run_or_is_scored(self):
        report = run(names=[*(f"{self.file}:wrong_{number}" for number in range(len(WRONG))), "recent"])
        for rows, summary, wrong in zip(report["cases"].values(), report["summary"].values(), WRONG):
            with self.subTest(wrong["name"]):
                self.assertEqual([wrong["told"] in row.get("error", "") for row in rows], 12 * [True], rows)
                self.assertFalse(any("missing" in row for row in rows))
                self.assertEqual(summary, {split: {"cases": 0, "errors": 6} for split in ("dev", "held_out")})
        self.assertEqual(report["summary"]["recent"]["dev"]["facts_found"], 2)  # after all that changed the cases
        told = list(complaints(report))
        self.assertEqual(len(told), len(WRONG))  # each kind once, with its count
        self.assertTrue(all(", 12 cases, first 'dev-latest': " in line and line.isprintable() for line in told), told)
        json.dumps(report, ensure_ascii=False).encode("utf-8")

    def test_a_selection_over_budget_passes_unseen_or_a_list_filled_again_changes_graded_rows(self):
        report = run(names=[f"{self.file}:{name}" for name in ("oldest", "everything", "fills_one_list")])
        (told,) = complaints(report)
        self.assertRegex(told, "everything, 12 cases, first 'dev-latest': over budget with [0-9]+ tokens$")
        plain, _, reused = report["cases"].values()
        self.assertEqual([row["turns"] for row in reused], [row["turns"] for row in plain])

    def test_the_script_ends_with_success_prints_what_a_selector_prints_or_loses_its_file(self):
        with contextlib.chdir(self.folder):
            status, out, err = run_command(main, "--strategies", "recent,own.py:wrong_1,own.py:prints,own.py:moves")
        self.assertEqual(status, 1)
        self.assertIn("looking\n", err)
        self.assertIn(f"own.py:wrong_1, 12 cases, first 'dev-latest': {WRONG[1]['told']}\n", err)
        report = json.loads(out)
        self.assertEqual([splits["dev"]["cases"] for splits in report["summary"].values()], [6, 0, 6, 6])
        self.assertEqual(list(report["selectors_sha256"]), ["own.py"])

    def test_a_file_that_cannot_be_read_is_a_traceback(self):
        for text, message in (("def f(:", "SyntaxError"), ("import sys; sys.exit()", "SystemExit"),
                              ("import nothing_of_this_name", "ModuleNotFoundError"), ("f = 7", "has no function 'f'")):
            with self.assertRaisesRegex(InputError, message):
                run(names=[f"{self.write('broken.py', text)}:f"])

    def test_explain_ends_at_a_selector_that_fails_or_shows_one_budget_before_it_fails_at_the_next(self):
        names = f"{self.file}:wrong_1,{self.file}:wrong_17,recent"
        status, out, _ = run_command(main, "--explain", "held-spread", "--strategies", names)
        self.assertEqual(status, 1)
        for line in ("wrong_1: failed: KeyError: 'no such thing'", "wrong_17: failed: SystemExit: 0", "\nrecent: "):
            self.assertIn(line, out)
        self.refused("alone cost", main, "--explain", "held-spread", "--budget", "300,3")
