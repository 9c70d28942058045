"""What the table could get wrong: messages beyond k counted, pairs turned, questions drawn for histories."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from base.command import status_of
from base.tests.made import needs_tokenizer
from evaluate import grade
from selection.retrievers import SELECTORS
from selection.run import with_input
from strategies import STRATEGIES
from workbench.retrieval_table import against, bootstrap, by_group, main, pair_cells, read_cases, recall_at
from workbench.tests.made import locomo, question, row

HISTORY = {"a-0": "a", "a-1": "a", "b-0": "b", "b-1": "b"}


def graded(case, missing=(), split="dev", total=1):
    return {**row(case, missing, total=total), "split": split}


def case_set(*facts):
    """A set of two histories with one question each, in the form of any labelled set."""
    turns = [{"id": f"t{number}", "user": f"colour {number}", "assistant": f"Noted {number}."} for number in range(9)]
    cases = [{"id": name, "split": "dev", "kind": kind, "instructions": "", "current": "Which colour?", "history": name,
              "budget": {"context_limit": 100, "max_new_tokens": 0, "margin": 0}, "required": list(facts), "stale": []}
             for name, kind in (("one", "when"), ("two", ""))]
    return {"format": 1, "histories": {"one": turns, "two": turns[:5]}, "cases": cases}


class Pairs(unittest.TestCase):
    def test_gained_and_lost_are_not_counted_from_the_baseline_on(self):
        old = [graded("a-0", ["x"]), graded("a-1", ["x"]), graded("b-0"), graded("b-1")]
        new = [graded("a-0"), graded("a-1"), graded("b-0", ["x"]), graded("b-1")]
        got = against(new, old, HISTORY)
        self.assertEqual([got[key] for key in ("gained", "lost", "pairs", "histories", "labels_difference")],
                         [2, 1, 4, 2, 1])
        self.assertEqual(got["mcnemar_p"], 1.0)

    def test_a_row_without_a_grade_makes_a_pair(self):
        failed = {"case": "a-0", "split": "dev", "kind": "k", "error": "no"}
        self.assertEqual(against([failed, graded("a-1")], [graded("a-0"), graded("a-1")], HISTORY)["pairs"], 1)
        self.assertEqual(against([failed], [failed], HISTORY)["difference_interval"], None)

    def test_splits_and_kinds_are_thrown_together(self):
        rows = [graded("a-0", ["x"]), graded("b-0", split="held_out") | {"kind": "when"}, graded("a-1") | {"kind": "all"}]
        self.assertEqual({name: group["labels_found"] for name, group in by_group(rows).items()},
                         {"all": 2, "dev": 1, "held_out": 1, "made up": 0, "when": 1, "kind 'all'": 1})

    def test_the_bootstrap_draws_questions_or_does_not_repeat_itself(self):
        self.assertEqual(bootstrap([[1, 10], [1, 10]], draws=200), [0.1, 0.1])
        self.assertEqual(bootstrap([[0, 10], [10, 10]], draws=500), [0.0, 1.0])
        self.assertEqual(bootstrap([[0, 10], [3, 10], [9, 10]], 500), bootstrap([[0, 10], [3, 10], [9, 10]], 500))

    def test_few_histories_are_not_called_few(self):
        two = against([graded("a-0"), graded("b-0")], [graded("a-0", ["x"]), graded("b-0")], HISTORY)
        self.assertEqual(pair_cells(two), [1, 0, "1", "+0.0 to +100.0 (2 histories, few: rough)"])
        one = against([graded("a-0")], [graded("a-0", ["x"])], HISTORY)
        self.assertEqual(pair_cells(one)[-1], "one history has no interval")


class InFiles(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = Path(place.name) / "set.json"

    def write(self, value):
        self.path.write_text(json.dumps(value), encoding="utf-8")
        return self.path

    def told(self, *options):
        """(status, parsed standard output or None, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = status_of(main, [str(self.path), *options])
        return status, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()


class AtK(InFiles):
    def setUp(self):
        super().setUp()
        said = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": f"word{n} colour"} for n in range(1, 31)]
        asked = [{**question([f"D1:{n}"]), "question": "colour?"} for n in (30, 26, 25, 1)]
        self.cases = read_cases(self.write(locomo(asked, session_1=said, session_2=[])))

    def test_other_than_k_messages_are_taken(self):
        got = recall_at(self.cases, ["recent", "relevant", "notes"])
        self.assertEqual(got["recent"], {"5": 0.5, "10": 0.75, "25": 0.75, "50": 1.0})
        self.assertEqual(got["relevant"], got["recent"])  # every message shares one word: the newer come first
        self.assertIsNone(got["notes"])

    def test_the_order_is_not_that_in_which_the_rule_takes_messages(self):
        """Counting each message as one token, a budget of k messages brings the same labels."""
        turns = [{"id": f"{turn['id']}{role}", "user": turn[role] if role == "user" else f"[1 May] {turn[role]}",
                  "assistant": "", "session": "1", "date": "1 May"}
                 for turn in self.cases[0]["history"] for role in ("user", "assistant")]
        for name, select in {**STRATEGIES, **SELECTORS}.items():
            shares = [0.0, 0.0]
            for case in self.cases:
                fact = next(turn["id"] for turn in turns if case["required"][0]["text"] in turn["user"])
                apart = {**case, "history": turns, "required": [{**case["required"][0], "turn": fact}]}
                for place, cut in enumerate((5, 25)):
                    chosen = select(with_input(apart, cut + 2), len)  # the instructions, the question
                    shares[place] += grade(apart, chosen)["required_found"] / len(self.cases)
            if name != "notes":
                got = recall_at(self.cases, [name])[name]
                self.assertEqual([got["5"], got["25"]], shares, name)

    @needs_tokenizer
    def test_the_command_prints_no_json_or_hides_that_histories_are_few(self):
        status, result, err = self.told("--strategies", "recent,bm25", "--budget", "100,900")
        self.assertEqual(status, 0, err)
        self.assertEqual(result["budgets"]["900"]["strategies"]["recent"]["all"]["labels_found"], 4)
        self.assertIn("one history has no interval", err)


class AnySet(InFiles):
    @needs_tokenizer
    def test_a_set_that_is_not_locomo_is_refused_or_its_kinds_are_lost(self):
        self.write(case_set({"turn": "t1", "text": "colour 1"}, {"turn": "t2", "text": "Noted 2."}))
        names = ["--strategies", "relevant,near-messages", "--against", "relevant"]
        status, result, err = self.told(*names, "--budget", "90")
        self.assertEqual(status, 0, err)
        groups = result["budgets"]["90"]["strategies"]["near-messages"]
        self.assertEqual((list(groups), groups["when"]["labels"]), (["all", "dev", "when", "kind ''"], 2))
        self.assertEqual(result["budgets"]["90"]["paired"]["near-messages"]["all"]["histories"], 2)

    def test_a_fact_without_a_turn_is_measured(self):
        self.write(case_set("colour 1"))
        status, _, err = self.told("--budget", "90")
        self.assertEqual((status, err.count("\n")), (2, 1))
        self.assertIn("fact without a turn", err)

    def test_what_cannot_be_run_is_run(self):
        self.write(case_set({"turn": "t1", "text": "colour 1"}))
        for options in (["--strategies", "recent"], ["--strategies", "recent,nothing", "--against", "recent"],
                        ["--budget", "x"], ["--jobs", "0"]):
            with self.subTest(options):
                self.assertEqual(self.told(*options)[0], 2)


if __name__ == "__main__":
    unittest.main()
