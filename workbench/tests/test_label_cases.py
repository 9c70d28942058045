"""What labelling could lose or spoil: answers given before a stop, facts no message holds, another set's journal."""

import builtins
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError
from base.lines import LineFile
from base.shown import one_line
from selection.cases import load_cases
from tokens.manifest import folder
from workbench.label_cases import candidates, main, pieces, read_answer, sentences
from workbench.tests.made import run

HISTORY = [
    {"id": "1", "user": "We chose Redis. The weather is fine.", "assistant": "Noted."},
    {"id": "2", "user": "Use RabbitMQ for the queue now.\nThanks!", "assistant": "The queue moves."},
]
TOOLS = {"id": "0", "user": "Look up\nthe mast.", "assistant": "", "messages": [
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": "mast"}}}]}]}
FIRST, STALE = {"turn": "2", "text": "Use RabbitMQ for the queue now."}, {"turn": "1", "text": "We chose Redis."}
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

    def answer(self, *answers, options=()):
        """Run the command with these answers, then the end of the input; (status, dialogue, complaints)."""
        with mock.patch.object(builtins, "input", side_effect=[*answers, EOFError]):
            return run(main, self.folder / "in.json", self.out, *options)

    def refused(self, *answers):
        """The complaint, one line with status 2 before the first question."""
        status, dialogue, err = self.answer(*answers)
        self.assertEqual((status, dialogue, len(err.splitlines())), (2, "", 1))
        return err

    def facts(self):
        return {
            case["id"]: (case["required"], case["stale"]) for case in json.loads(self.out.read_text("utf-8"))["cases"]}

    def test_the_labelled_set_is_one_that_the_lab_runs(self):
        status, _, err = self.answer("1", "s 2", "", "n")
        self.assertEqual(status, 0, err)
        (case,) = load_cases(self.out)
        self.assertEqual((case["required"], case["stale"]), ([FIRST], [STALE]))
        self.assertIn("1 cases labelled, 1 left out, 0 to do", err)

    def test_nothing_labelled_writes_a_set(self):
        self.assertIn("nothing written", self.answer("n", "n")[2])
        self.assertFalse(self.out.exists())

    def test_a_stop_keeps_what_was_answered_and_the_next_run_goes_on_there(self):
        self.assertEqual(self.answer("1", "", KeyboardInterrupt)[0], 130)
        self.assertEqual(list(self.facts()), ["one"])
        first = self.out.read_bytes()
        _, dialogue, _ = self.answer("2", "")
        self.assertNotIn("\none\n", dialogue)
        self.assertEqual(list(self.facts()), ["one", "two"])
        self.assertEqual((self.folder / "out.previous.json").read_bytes(), first)
        self.out.write_bytes(first)  # older than the journal
        self.assertEqual((self.answer()[0], len(self.facts())), (0, 2))

    def test_every_answer_is_on_the_disk_before_the_next_question(self):
        seen = []

        def look(_):
            seen.append(self.journal.read_text("utf-8").count('"one"') if self.journal.exists() else 0)
            return ["1", "", "q"][len(seen) - 1]

        with mock.patch.object(builtins, "input", side_effect=look):
            run(main, self.folder / "in.json", self.out)
        self.assertEqual(seen, [0, 1, 2])

    def test_marks_are_lost_when_the_case_is_not_done(self):
        self.answer("1", "s 2", "q")
        dialogue = self.answer("")[1]
        self.assertIn("  mark 1  required  turn 2: Use RabbitMQ for the queue now.\n  mark 2  stale", dialogue)
        self.assertEqual(self.facts(), {"one": ([FIRST], [STALE])})
        self.assertNotIn("mark 1", self.answer("u")[1])

    def test_marks_are_lost_when_the_case_before_is_undone(self):
        dialogue = self.answer("1", "", "s 2", "u", "1", "")[1]
        self.assertEqual(dialogue.count("  mark 1  stale  turn 1: We chose Redis."), 2)
        self.assertIn("mark 1  stale", self.answer()[1])

    def test_an_entry_cut_short_is_asked_again_and_spoils_no_other(self):
        self.answer("1", "")
        self.journal.write_bytes(self.journal.read_bytes() + b'{"case": "two", "la')
        self.answer("2", "")
        self.assertEqual(list(self.facts()), ["one", "two"])
        self.assertEqual(self.answer()[0], 0)

    def test_undo_takes_the_case_before_back_also_after_a_new_start(self):
        self.answer("1", "")
        self.answer("u", "3", "", "n")
        self.assertEqual(self.facts()["one"][0], [{"turn": "2", "text": "The queue moves."}])

    def test_a_file_that_this_command_did_not_write_is_never_overwritten(self):
        self.out.write_text("mine", encoding="utf-8")
        self.refused("1", "")
        self.assertEqual(self.out.read_text("utf-8"), "mine")
        self.out.unlink()
        self.answer("1", "")
        corrected = self.out.read_text("utf-8").replace("Which queue", "What queue")
        self.out.write_text(corrected, encoding="utf-8")
        self.refused("1", "")
        self.assertEqual(self.out.read_text("utf-8"), corrected)

    def test_a_place_that_cannot_be_written_is_one_line_before_the_first_question(self):
        self.out = self.folder / "gone" / "out.json"
        self.refused("1")

    def test_a_journal_of_another_set_or_that_another_person_has_open_is_taken(self):
        with LineFile(self.journal):
            self.refused("1", "")
        self.answer("1", "")
        self.write(unlabelled("one", "other"))
        self.refused()

    def test_a_set_that_cannot_be_labelled_is_refused(self):
        no_ids = {**unlabelled("one"), "histories": {"talk": [{"user": "a", "assistant": "b"}]}}
        for value in ([], {}, no_ids, unlabelled("one", "one"), {**unlabelled("one"), "format": 9}):
            with self.subTest(value=value):
                self.write(value)
                self.refused()
                self.assertFalse(self.journal.exists())

    def test_a_mark_is_shown_as_text_and_cannot_be_taken_back(self):
        _, dialogue, _ = self.answer("1", "s 2", "d 1", "2", "1", "")
        self.assertIn("mark 1  required  turn 2: Use RabbitMQ for the queue now.\n  mark 2  stale     turn 1", dialogue)
        self.assertEqual(self.facts()["one"], ([STALE, FIRST], []))

    def test_an_equal_sentence_is_shown_once_for_each_turn_or_a_stale_one_is_marked_in_one_turn_only(self):
        again = {"id": "3", "user": "We chose Redis.", "assistant": "Ok."}
        self.write({**unlabelled("one", "two"), "histories": {"talk": [*HISTORY, again]}})
        _, dialogue, _ = self.answer("/redis", "1", "", "/redis", "s 1", "1", "/rabbitmq", "1", "/redis", "s 1", "")
        self.assertIn("  1  turn 1, 3  user  We chose Redis.\n", dialogue)
        old = [{"turn": turn, "text": "We chose Redis."} for turn in "13"]
        self.assertEqual(self.facts(), {"one": (old[1:], []), "two": ([FIRST], old)})

    def test_labels_of_unchanged_cases_are_asked_again_when_a_log_has_grown(self):
        self.answer("1", "", "n")
        old, grown = self.out, unlabelled("one", "two", "new", "other")
        grown["cases"][0]["history"] = "longer"
        grown["histories"]["longer"] = [*HISTORY, {"id": "3", "user": "And?", "assistant": "Yes."}]
        grown["cases"][3]["current"] = "Which queue?"
        self.write(grown)
        self.assertIn(f"--labels {old}", self.answer()[2])
        self.out = self.folder / "grown.json"
        self.journal = self.folder / "grown.json.journal.jsonl"
        self.assertEqual(self.answer("1", options=["--labels", self.folder / "none.json"])[0], 2)
        self.assertFalse(self.journal.exists())
        _, dialogue, err = self.answer("q", options=["--labels", old])
        self.assertIn("2 of 4 cases keep their labels", err)  # "new" is asked what "one" was, of the same history
        self.assertEqual((list(self.facts()), self.facts()["new"][0]), (["two", "new"], [FIRST]))

    def test_the_reply_is_not_shown_or_spoils_the_labelled_set(self):
        value = unlabelled("one")
        value["cases"][0]["reply"] = "RabbitMQ\x1b[2J."
        self.write(value)
        self.assertIn("the reply was: RabbitMQ\\x1b[2J.", self.answer("1", "")[1])
        self.assertNotIn("reply", load_cases(self.out)[0])

    def test_a_journal_that_is_none_is_a_traceback_or_cut(self):
        for line in ('{"case": "one"}', '{"case": "one", "labels": {"required": [3], "stale": []}}', "[]", '{"a": "'):
            text = '{"set_sha256": "x"}\n' + line + "\n"
            self.journal.write_text(text, encoding="utf-8")
            self.refused()
            self.assertEqual(self.journal.read_text("utf-8"), text)

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_a_case_that_the_evaluation_refuses_is_labelled_first(self):
        value = unlabelled("one", "two")
        value["cases"][1]["budget"] = {**LIMITS, "context_limit": 101}
        self.write(value)
        self.refused("1", "")

    def test_search_and_the_whole_turn(self):
        self.write({**unlabelled("one"), "histories": {"talk": [TOOLS, *HISTORY]}})
        _, dialogue, _ = self.answer("/weather", "t 1", "/mast", "t 1", "/weather", "/zebra", "1", "")
        self.assertIn("  user: We chose Redis. The weather is fine.\n", dialogue)
        self.assertIn('  user: Look up\n      the mast.\n  assistant: \n      {"id": "c1"', dialogue)
        self.assertIn("no sentence has such a word", dialogue)
        self.assertEqual(self.facts()["one"][0], [{"turn": "1", "text": "The weather is fine."}])


class Answers(unittest.TestCase):
    def test_what_can_be_read_and_what_cannot(self):
        shown = candidates(sentences(HISTORY), "queue", fill=False)
        self.assertEqual([one["text"] for one in shown], ["The queue moves.", "Use RabbitMQ for the queue now."])
        self.assertEqual(read_answer("1, 2", shown, [])[0], "required")
        self.assertEqual(read_answer("s1", shown, [])[0], "stale")
        for text in ("3", "0", "x", "s", "s 9", "t", "1 x", "/", "-1", "d 1", "t1s", "1,,x"):
            with self.subTest(text), self.assertRaises(InputError):
                read_answer(text, shown, [])

    def test_an_ordinal_ends_a_sentence_or_a_number_ends_none(self):
        for text, cut in {"Am 3. Mai  kommt er. Ja.": ["Am 3. Mai  kommt er.", "Ja."],
                          "Vom 3. bis zum 14. Juni.": ["Vom 3. bis zum 14. Juni."],
                          "Den 3. maj kom han. Ja.": ["Den 3. maj kom han.", "Ja."],
                          "It is the 1. release.": ["It is the 1. release."],
                          "Wait until 5. Then go.": ["Wait until 5.", "Then go."]}.items():
            with self.subTest(text):
                self.assertEqual(pieces(text), cut)

    def test_a_statement_that_shares_no_word_is_not_proposed_or_before_those_that_do(self):
        self.assertEqual(candidates(sentences(HISTORY), "zebra")[0]["text"], "The queue moves.")
        shown = [one["text"] for one in candidates(sentences(HISTORY), "weather")]
        self.assertEqual(shown[0], "The weather is fine.")
        self.assertEqual(sorted(shown), sorted(one["text"] for one in sentences(HISTORY)))

    def test_text_can_steer_the_terminal(self):
        self.assertNotIn("\x1b", one_line("\x1b[2J red"))
