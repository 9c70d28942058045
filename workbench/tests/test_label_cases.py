"""What labelling could lose or spoil: answers given before a stop, facts no message holds, another set's journal."""

import builtins
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from base.shown import one_line
from selection.cases import load_cases

from base.command import InputError, status_of
from workbench.label_cases import candidates, main, read_answer, sentences

HISTORY = [
    {"id": "1", "user": "We chose Redis. The weather is fine.", "assistant": "Noted."},
    {"id": "2", "user": "Use RabbitMQ for the queue now.\nThanks!", "assistant": "The queue moves."},
]
LIMITS = {"context_limit": 900, "max_new_tokens": 100, "margin": 0}


def unlabelled(*names):
    cases = [{"id": name, "split": "dev", "kind": "chat log", "instructions": "", "current": "Which queue do we use?",
              "history": "talk", "budget": LIMITS, "required": [], "stale": []}
             for name in names]
    return {"format": 1, "histories": {"talk": HISTORY}, "cases": cases}


class Terminal(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        self.write(unlabelled("one", "two"))
        self.out = self.folder / "out.json"
        self.journal = self.folder / "out.json.journal.jsonl"

    def write(self, value):
        (self.folder / "in.json").write_text(json.dumps(value), encoding="utf-8")

    def answer(self, *answers):
        """Run the command with these answers, then the end of the input; (status, dialogue, complaints)."""
        out, err = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
              mock.patch.object(builtins, "input", side_effect=[*answers, EOFError])):
            status = status_of(main, [str(self.folder / "in.json"), str(self.out)])
        return status, out.getvalue(), err.getvalue()

    def facts(self):
        return {
            case["id"]: (case["required"], case["stale"]) for case in json.loads(self.out.read_text("utf-8"))["cases"]}

    def test_the_labelled_set_is_one_that_the_lab_runs(self):
        status, _, err = self.answer("1", "s 2", "", "n")
        self.assertEqual(status, 0, err)
        (case,) = load_cases(self.out)
        self.assertEqual(case["required"], [{"turn": "2", "text": "Use RabbitMQ for the queue now."}])
        self.assertEqual(case["stale"], [{"turn": "1", "text": "We chose Redis."}])
        self.assertIn("1 cases labelled, 1 left out, 0 to do", err)

    def test_a_stop_keeps_what_was_answered_and_the_next_run_goes_on_there(self):
        self.answer("1", "")
        self.assertEqual(list(self.facts()), ["one"])
        _, dialogue, _ = self.answer("2", "")
        self.assertNotIn("\none\n", dialogue)
        self.assertEqual(list(self.facts()), ["one", "two"])

    def test_stopped_by_the_keyboard_writes_what_is_labelled_and_is_130(self):
        with (mock.patch.object(builtins, "input", side_effect=["1", "", KeyboardInterrupt]),
              contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())):
            self.assertEqual(status_of(main, [str(self.folder / "in.json"), str(self.out)]), 130)
        self.assertEqual(list(self.facts()), ["one"])

    def test_every_answer_is_on_the_disk_before_the_next_question(self):
        seen = []

        def look(_):
            seen.append(self.journal.read_text("utf-8").count('"one"') if self.journal.exists() else 0)
            return ["1", "", "q"][len(seen) - 1]

        with (mock.patch.object(builtins, "input", side_effect=look), contextlib.redirect_stdout(io.StringIO()),
              contextlib.redirect_stderr(io.StringIO())):
            main([str(self.folder / "in.json"), str(self.out)])
        self.assertEqual(seen, [0, 0, 1])

    def test_an_entry_cut_short_is_asked_again_and_spoils_no_other(self):
        self.answer("1", "")
        with open(self.journal, "ab") as file:
            file.write(b'{"case": "two", "la')
        self.answer("2", "")
        self.assertEqual(list(self.facts()), ["one", "two"])
        self.assertEqual(self.answer()[0], 0)

    def test_undo_takes_the_case_before_back_also_after_a_new_start(self):
        self.answer("1", "")
        self.answer("u", "3", "", "n")
        self.assertEqual(self.facts()["one"][0], [{"turn": "2", "text": "The queue moves."}])

    def test_a_file_that_this_command_did_not_write_is_never_overwritten(self):
        self.out.write_text("mine", encoding="utf-8")
        status, _, err = self.answer("1", "")
        self.assertEqual((status, len(err.splitlines()), self.out.read_text("utf-8")), (2, 1, "mine"))
        self.out.unlink()
        self.answer("1", "")
        corrected = self.out.read_text("utf-8").replace("Which queue", "What queue")
        self.out.write_text(corrected, encoding="utf-8")
        self.assertEqual((self.answer("1", "")[0], self.out.read_text("utf-8")), (2, corrected))

    def test_an_output_older_than_the_journal_is_gone_on_with(self):
        self.answer("1", "")
        first = self.out.read_bytes()
        self.answer("1", "")
        self.out.write_bytes(first)
        self.assertEqual(self.answer()[0], 0)
        self.assertEqual(len(self.facts()), 2)

    def test_a_place_that_cannot_be_written_is_one_line_before_the_first_question(self):
        self.out = self.folder / "gone" / "out.json"
        status, dialogue, err = self.answer("1")
        self.assertEqual((status, dialogue, len(err.splitlines())), (2, "", 1))

    def test_a_journal_of_another_set_is_refused(self):
        self.answer("1", "")
        self.write(unlabelled("one", "other"))
        status, _, err = self.answer()
        self.assertEqual((status, len(err.splitlines())), (2, 1))

    def test_a_set_that_cannot_be_labelled_is_refused(self):
        no_ids = {**unlabelled("one"), "histories": {"talk": [{"user": "a", "assistant": "b"}]}}
        for value in ([], {}, no_ids, unlabelled("one", "one"), {**unlabelled("one"), "format": 9}):
            with self.subTest(value=value):
                self.write(value)
                status, _, err = self.answer()
                self.assertEqual((status, len(err.splitlines()), self.journal.exists()), (2, 1, False))

    def test_nothing_labelled_writes_no_set(self):
        self.assertIn("nothing written", self.answer("n", "n")[2])
        self.assertFalse(self.out.exists())

    def test_search_and_the_whole_turn(self):
        _, dialogue, _ = self.answer("/weather", "t 1", "1", "")
        self.assertIn("  user: We chose Redis. The weather is fine.", dialogue)
        self.assertIn("no sentence has such a word", self.answer("/zebra")[1])
        self.assertEqual(self.facts()["one"][0], [{"turn": "1", "text": "The weather is fine."}])


class Answers(unittest.TestCase):
    def test_what_can_be_read_and_what_cannot(self):
        shown = candidates(sentences(HISTORY), "queue", fill=False)
        self.assertEqual([one["text"] for one in shown], ["The queue moves.", "Use RabbitMQ for the queue now."])
        self.assertEqual(read_answer("1, 2", shown)[0], "required")
        self.assertEqual(read_answer("s1", shown)[0], "stale")
        for text in ("3", "0", "x", "s", "s 9", "t", "1 x", "/", "-1"):
            with self.subTest(text), self.assertRaises(InputError):
                read_answer(text, shown)

    def test_without_shared_words_the_newest_are_proposed(self):
        self.assertEqual(candidates(sentences(HISTORY), "zebra")[0]["text"], "The queue moves.")

    def test_a_statement_that_shares_no_word_is_proposed_after_those_that_do(self):
        shown = [one["text"] for one in candidates(sentences(HISTORY), "weather")]
        self.assertEqual(shown[0], "The weather is fine.")
        self.assertEqual(sorted(shown), sorted(one["text"] for one in sentences(HISTORY)))

    def test_text_cannot_steer_the_terminal(self):
        self.assertNotIn("\x1b", one_line("\x1b[2J red"))


if __name__ == "__main__":
    unittest.main()
