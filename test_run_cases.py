"""Runs over many cases: a user's own selectors, several processes, requests counted in full, what a case explains."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import run_cases
from command import InputError
from evaluate import ROOT, complaints, run
from explain import one_line
from test_evaluate import needs_tokenizer

OWN = '''
from strategies import fill, selection

def oldest(case, count):
    return fill(case, count, range(len(case["history"])))

def nothing(case, count):
    return None

def raises(case, count):
    raise KeyError("no such thing")

def drops_a_turn(case, count):
    case["history"].pop()
    return oldest(case, count)

def rewrites_a_turn(case, count):
    case["history"][0]["user"] = "x"
    return oldest(case, count)

def widens_the_budget(case, count):
    case["budget"]["context_limit"] = 9999
    return oldest(case, count)

def everything(case, count):
    return selection(case, count, range(len(case["history"])))

def lies(case, count):
    return {**oldest(case, count), "input_tokens": 5}

def unordered(case, count):
    return {**oldest(case, count), "turns": [1, 0]}

def beyond(case, count):
    return {**oldest(case, count), "turns": [99]}

def no_question(case, count):
    return {**oldest(case, count), "messages": []}

def no_lists(case, count):
    return {**oldest(case, count), "turns": (0,)}

number = 7
'''
WRONG = {
    "nothing": "returned None, not the fields",
    "raises": "KeyError: 'no such thing'",
    "drops_a_turn": "changed the case",
    "rewrites_a_turn": "changed the case",
    "widens_the_budget": "changed the case",
    "lies": "says that the request costs 5 tokens, but it costs",
    "unordered": "not each once in ascending order",
    "beyond": "not all turns of the history",
    "no_question": "do not end with the user's question",
    "no_lists": "not of type list",
}


def shared_set(folder, histories=3, questions=4):
    """A case set of the larger form in a file: questions that share histories."""
    turns = {
        f"h{number}": [
            {"id": f"t{turn}", "user": f"Item {turn} of list {number} is at place {turn * 7}.", "assistant": f"Place {turn * 7}."}
            for turn in range(30)
        ]
        for number in range(histories)
    }
    cases = [
        {
            "id": f"{name}-{turn}", "split": "dev", "kind": "lookup", "instructions": "", "history": name,
            "current": f"Where is item {turn}?", "budget": {"context_limit": 200, "max_new_tokens": 20, "margin": 0},
            "required": [{"turn": f"t{turn}", "text": f"Item {turn}"}], "stale": [],
        }
        for turn in range(questions)
        for name in turns
    ]
    path = Path(folder, "shared.json")
    path.write_text(json.dumps({"format": 1, "histories": turns, "cases": cases}), encoding="utf-8")
    return path


@needs_tokenizer
class OwnSelectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file = Path(cls.folder.name, "own.py")
        cls.file.write_text(OWN, encoding="utf-8")

    def test_a_wrong_selector_ends_the_run_or_is_scored(self):
        names = [f"{self.file}:{name}" for name in WRONG]
        report = run(names=[*names, "recent"])
        for name, message in zip(names, WRONG.values()):
            rows = report["cases"][name]
            self.assertEqual(len(rows), 12)
            for row in rows:
                self.assertIn(message, row.get("error", ""), name)
                self.assertNotIn("missing", row)
            self.assertEqual(report["summary"][name], {split: {"cases": 0, "errors": 6} for split in ("dev", "held_out")})
        self.assertEqual(report["summary"]["recent"]["dev"]["facts_found"], 2)  # after all that changed the cases
        self.assertEqual(len(list(complaints(report))), 12 * len(WRONG))

    def test_a_selection_over_budget_passes_unseen(self):
        report = run(names=[f"{self.file}:everything", f"{self.file}:oldest"])
        told = list(complaints(report))
        self.assertEqual(len(told), 12)
        self.assertTrue(all("everything" in line and "over budget" in line for line in told))

    def test_the_script_goes_on_but_ends_with_success(self):
        done = subprocess.run(
            [sys.executable, ROOT / "evaluate.py", "--strategies", f"recent,{self.file}:raises"], capture_output=True
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"case held-buried: KeyError", done.stderr)
        self.assertEqual(json.loads(done.stdout)["summary"]["recent"]["dev"]["cases"], 6)

    def test_the_file_of_an_own_selector_is_not_hashed(self):
        report = run(names=[f"{self.file}:oldest"])
        self.assertEqual(list(report["selectors_sha256"]), [self.file.as_posix()])

    def test_a_file_that_cannot_be_read_is_a_traceback(self):
        broken = Path(self.folder.name, "broken.py")
        broken.write_text("def f(:", encoding="utf-8")
        for name, message in ((f"{broken}:f", "SyntaxError"), (f"{self.file}:number", "has no function 'number'")):
            with self.assertRaisesRegex(InputError, message):
                run(names=[name])


@needs_tokenizer
class ManyCases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = shared_set(folder.name)

    def test_another_number_of_processes_changes_a_byte(self):
        names = ["recent", "relevant"]
        self.assertEqual(json.dumps(run(self.path, names)), json.dumps(run(self.path, names, jobs=2)))

    def test_an_error_in_a_worker_is_a_traceback(self):
        with self.assertRaisesRegex(InputError, "h0-0.*alone cost"):
            run(self.path, ["recent"], budgets=[4], jobs=2)

    def test_a_level_of_budgets_stands_where_none_was_asked_for(self):
        self.assertIn("summary", run(self.path, ["recent"]))
        report = run(self.path, ["relevant"], budgets=[20, 600])
        self.assertNotIn("summary", report)
        self.assertEqual(list(report["budgets"]), ["20", "600"])
        few, many = (level["summary"]["relevant"]["dev"] for level in report["budgets"].values())
        self.assertLess(few["mean_input_tokens"], 21)
        self.assertLess(few["facts_found"], many["facts_found"])

    def test_a_large_set_hides_how_many_requests_were_counted_in_full(self):
        self.assertNotIn("counted_in_full", run(self.path, ["recent"]))
        with mock.patch("run_cases.ALWAYS_CHECKED", 3), mock.patch("run_cases.SAMPLE", 2):
            report = run(self.path, ["recent"])
            self.assertEqual(report["counted_in_full"], {"requests": 12, "checked": 2})
            report = run(self.path, ["recent"], verify=True)
            self.assertEqual(report["counted_in_full"], {"requests": 12, "checked": 12})

    def test_a_sum_that_is_wrong_gives_figures(self):
        from tokenizer import counter

        with mock.patch.object(counter(), "full", lambda messages, tools=None: 1):
            with self.assertRaisesRegex(InputError, "tokens as a sum, 1 counted in full"):
                run(self.path, ["recent"])

    def test_the_sample_differs_from_run_to_run(self):
        cases = [{"id": str(number)} for number in range(500)]
        chosen = run_cases.choose_checked(["a", "b"], cases, (None,), False)
        self.assertEqual(chosen, run_cases.choose_checked(["a", "b"], cases, (None,), False))
        self.assertEqual(len(chosen), run_cases.SAMPLE)

    def test_a_cluster_of_two_workers_changes_a_byte(self):
        try:
            from distributed import LocalCluster
        except ImportError:
            self.skipTest("distributed is not installed: pip install -r workbench/requirements-dask.txt")
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(processes=True, **options) as cluster:
            report = run(self.path, ["recent", "relevant"], scheduler=cluster.scheduler_address)
        self.assertEqual(json.dumps(report), json.dumps(run(self.path, ["recent", "relevant"])))

    def test_a_scheduler_that_is_not_there_is_a_traceback(self):
        with self.assertRaisesRegex(InputError, "--scheduler"):
            run(self.path, ["recent"], scheduler="tcp://127.0.0.1:9")


@needs_tokenizer
class Explained(unittest.TestCase):
    def explain(self, *arguments):
        done = subprocess.run(
            [sys.executable, ROOT / "evaluate.py", "--explain", *arguments], capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout

    def test_a_turn_is_left_out_without_a_reason(self):
        text = self.explain("dev-spread")
        for line in (
            "turn 0  - not reached: turn 1 did not fit and ended the walk",
            "turn 1  - does not fit: costs 310",
            "turn 3  - shares no word with the question",
            "turn 2  + taken",
            "missing: 400 days of history",
            "note    - [turn 1, user] Audit exports must cover 400 days of history.",
        ):
            self.assertIn(line, text)

    def test_a_terminal_acts_on_text_of_a_conversation(self):
        self.assertEqual(one_line("a\x1b[2Jb\r\nc\u202e" + "d" * 200)[:12], "a [2Jb c ddd")


if __name__ == "__main__":
    unittest.main()
