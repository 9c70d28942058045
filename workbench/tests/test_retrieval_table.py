"""What the table could get wrong: utterances beyond k counted, pairs turned, questions drawn for conversations."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from tokens.manifest import folder

from base.command import status_of
from workbench.retrieval_table import MessageCount, against, bootstrap, main, pair_lines, pairs, read_cases, recall_at
from workbench.tests.made import locomo, question, row


def graded(case, missing=(), split="dev", total=1):
    return {**row(case, missing, total=total), "split": split}


class Pairs(unittest.TestCase):
    def test_gained_and_lost_are_counted_from_the_baseline_on(self):
        old = [graded("a-0", ["x"]), graded("a-1", ["x"]), graded("b-0"), graded("b-1")]
        new = [graded("a-0"), graded("a-1"), graded("b-0", ["x"]), graded("b-1")]
        got = against(new, old)
        self.assertEqual(
            [got[key] for key in ("gained", "lost", "pairs", "conversations", "labels_difference")], [2, 1, 4, 2, 1])
        self.assertEqual(got["mcnemar_p"], 1.0)

    def test_a_row_without_a_grade_makes_no_pair(self):
        failed = {"case": "a-0", "split": "dev", "kind": "k", "error": "no"}
        self.assertEqual(against([failed, graded("a-1")], [graded("a-0"), graded("a-1")])["pairs"], 1)

    def test_held_out_pairs_stand_apart(self):
        old = [graded("a-0", ["x"]), graded("b-0", ["x"], "held_out")]
        got = pairs([graded("a-0"), graded("b-0", split="held_out")], old)
        self.assertEqual((got["all"]["gained"], got["held_out"]["gained"]), (2, 1))

    def test_the_bootstrap_draws_conversations_and_repeats_itself(self):
        self.assertEqual(bootstrap([[1, 10], [1, 10]], draws=200), (0.1, 0.1))
        low, high = bootstrap([[0, 10], [10, 10]], draws=2000)
        self.assertEqual((low, high), (0.0, 1.0))  # two conversations: one draw in four holds only one of them
        self.assertEqual(bootstrap([[0, 10], [3, 10], [9, 10]]), bootstrap([[0, 10], [3, 10], [9, 10]]))


class AtK(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = Path(place.name) / "set.json"
        said = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": f"word{n} colour"} for n in range(1, 31)]
        asked = [{**question([f"D1:{n}"]), "question": "colour?"} for n in (30, 26, 25, 1)]
        value = locomo(asked, session_1=said, session_2=[])
        self.path.write_text(json.dumps(value), encoding="utf-8")

    def test_exactly_k_utterances_are_taken(self):
        got = recall_at(read_cases(self.path, 1), ["recent", "relevant", "notes"])
        self.assertEqual(got["recent"], {"5": 0.5, "10": 0.75, "25": 0.75, "50": 1.0})
        self.assertEqual(got["relevant"], got["recent"])  # every utterance shares one word: the newer come first
        self.assertIsNone(got["notes"])

    def test_the_double_counts_messages(self):
        self.assertEqual((MessageCount()([{}, {}]), MessageCount().part([[{}], [{}, {}]])), (2, [1, 2]))

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_the_command_prints_json_and_says_that_conversations_are_few(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = status_of(main, [str(self.path), "--strategies", "recent,bm25", "--budget", "100,900"])
        self.assertEqual(status, 0, err.getvalue())
        level = json.loads(out.getvalue())["budgets"]["900"]
        self.assertEqual(level["strategies"]["recent"]["all"]["labels_found"], 4)
        self.assertIn("one conversation has no interval", err.getvalue())

    def test_several_conversations_have_an_interval_and_are_called_few(self):
        pair = against([graded("a-0"), graded("b-0")], [graded("a-0", ["x"]), graded("b-0")])
        self.assertIn("+0.0 to +100.0 points (bootstrap over only 2 conv", " ".join(pair_lines({"all": pair}, "bm25")))

    def test_what_cannot_be_run_is_refused(self):
        for options in (["--strategies", "recent"], ["--strategies", "recent,nothing", "--against", "recent"],
                        ["--budget", "x"]):  # fmt: skip
            with self.subTest(options), contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertEqual(status_of(main, [str(self.path), *options]), 2)
                self.assertTrue(err.getvalue())


if __name__ == "__main__":
    unittest.main()
