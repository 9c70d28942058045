"""What labelling could lose or spoil: answers given before a stop, facts no message holds, another set's journal."""

import unittest
from unittest import mock

from base.command import read_json
from base.lines import LineFile
from base.tests.made import Files, needs_tokenizer, run
from selection.cases import load_cases
from workbench.label_cases import candidates, main, pieces, read_answer, sentences

HISTORY = [
    {"id": "1", "user": "We chose Redis. The weather is fine.", "assistant": "Noted."},
    {"id": "2", "user": "Use RabbitMQ for the queue now.\nThanks!", "assistant": "The queue moves."},
]
TOOLS = {"id": "0", "user": "Look up\nthe mast.", "assistant": "", "messages": [
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": "mast"}}}]}]}
FIRST, STALE = {"turn": "2", "text": "Use RabbitMQ for the queue now."}, {"turn": "1", "text": "We chose Redis."}
LIMITS = {"context_limit": 900, "max_new_tokens": 100, "margin": 0}


def unlabelled(*names, history=HISTORY, **changes):
    """A set of cases with these names; the last one has the changes."""
    cases = [{"id": name, "split": "dev", "kind": "chat log", "instructions": "", "current": "Which queue do we use?",
              "history": "talk", "budget": LIMITS, "required": [], "stale": []}
             for name in names]
    cases[-1] |= changes
    return {"format": 1, "histories": {"talk": history}, "cases": cases}


class Terminal(Files):
    def setUp(self):
        super().setUp()
        self.cases, self.out = self.write("in.json", unlabelled("one", "two")), self.folder / "out.json"
        self.journal = self.folder / "out.json.journal.jsonl"

    def answer(self, *answers, options=()):
        """Run the command with these answers, then the end of the input; (status, dialogue, complaints)."""
        with mock.patch("builtins.input", side_effect=[*answers, EOFError]):
            return run(main, self.cases, self.out, *options)

    def complained(self, pattern=".", *options):
        """It is refused in one line before the first question."""
        with mock.patch("builtins.input", side_effect=AssertionError("asked")):
            self.refused(pattern, main, self.cases, self.out, *options)

    def facts(self):
        return {case["id"]: (case["required"], case["stale"]) for case in read_json(self.out)["cases"]}

    def test_the_labelled_set_is_one_that_the_lab_runs(self):
        status, _, err = self.answer("1", "s 2", "", "n")
        self.assertEqual(status, 0, err)
        (case,) = load_cases(self.out)
        self.assertEqual((case["required"], case["stale"]), ([FIRST], [STALE]))
        self.assertIn("1 cases labelled, 1 left out, 0 to do", err)

    def test_nothing_labelled_writes_a_set(self):
        self.assertIn("nothing written", self.answer("", "n", "n")[2])
        self.assertFalse(self.out.exists())

    def test_a_stop_keeps_what_was_answered_and_the_next_run_goes_on_there(self):
        self.assertEqual(self.answer("1", "", KeyboardInterrupt)[0], 130)
        self.assertEqual(list(self.facts()), ["one"])
        first = self.out.read_bytes()
        self.journal.write_bytes(self.journal.read_bytes() + b'{"case": "two", "la')  # cut short
        self.assertNotIn("\none\n", self.answer("2", "")[1])
        self.assertEqual(list(self.facts()), ["one", "two"])
        self.assertEqual((self.folder / "out.previous.json").read_bytes(), first)
        self.out.write_bytes(first)  # older than the journal
        self.assertEqual((self.answer()[0], len(self.facts())), (0, 2))

    def test_every_answer_is_on_the_disk_before_the_next_question(self):
        seen = []

        def look(_):
            seen.append(self.journal.read_text("utf-8").count('"one"'))
            return ["1", "", "q"][len(seen) - 1]

        with mock.patch("builtins.input", side_effect=look):
            run(main, self.cases, self.out)
        self.assertEqual(seen, [0, 1, 2])

    def test_marks_are_lost_when_the_case_is_not_done_or_the_one_before_is_undone_or_stay_when_it_is_done(self):
        self.answer("1", "s 2", "q")
        dialogue = self.answer("", "s 1", "u", "q")[1]
        self.assertIn("  mark 1  required  turn 2: Use RabbitMQ for the queue now.\n  mark 2  stale", dialogue)
        self.assertNotIn("  mark", self.answer("q")[1])
        self.assertIn("[2 of 2]", self.answer("1", "")[1])
        self.assertIn("  mark 1  stale  turn 2", self.answer("q")[1])
        self.assertEqual(self.facts(), {"one": ([FIRST], [])})

    def test_undo_takes_the_case_before_back_also_after_a_new_start(self):
        self.assertEqual(self.answer("u", "1", "")[0], 0)
        self.answer("u", "3", "", "n")
        self.assertEqual(self.facts()["one"][0], [{"turn": "2", "text": "The queue moves."}])

    def test_a_file_that_this_command_did_not_write_is_overwritten(self):
        self.write("out.json", "mine")
        self.complained("no output of this command")
        self.out.unlink()
        self.answer("1", "")
        self.write("out.json", self.out.read_text("utf-8").replace("Which queue", "What queue"))
        self.complained("no output of this command")

    def test_a_place_or_a_journal_that_is_none_is_a_traceback_cut_or_found_after_the_first_question(self):
        with LineFile(self.journal):
            self.complained("another run has it open")
        entry = '{"case": "one", "key": "k", "labels": {"required": [%s], "stale": []}}'
        for line in ('{"case": "one"}', entry % 3, "[]", '{"a": "', entry.replace("one", "other") % ""):
            self.write(self.journal.name, '{"set_sha256": "x"}\n' + line + "\n")
            self.complained()
        self.journal.unlink()
        self.answer("1", "")
        self.write("in.json", unlabelled("one", "other"))
        self.complained("--labels")
        self.out = self.folder / "gone" / "out.json"
        self.complained("cannot be written")

    def test_a_set_that_cannot_be_labelled_or_that_the_evaluation_refuses_is_labelled_first(self):
        for value in ([], {}, unlabelled("one", history=[{"user": "a", "assistant": "b"}]), unlabelled("one", "one"),
                      {**unlabelled("one"), "format": 9}, unlabelled("one", history="gone"),
                      unlabelled("one", history=[{"id": "1", "user": "", "assistant": " "}])):
            with self.subTest(value=value):
                self.write("in.json", value)
                self.complained()

    @needs_tokenizer
    def test_a_question_over_its_budget_is_labelled_first(self):
        self.write("in.json", unlabelled("one", "two", budget={**LIMITS, "context_limit": 101}))
        self.complained("case 'two'")

    def test_a_mark_is_shown_as_text_and_cannot_be_taken_back(self):
        _, dialogue, _ = self.answer("1", "s 2", "d 1", "2", "1", "")
        self.assertIn("mark 1  required  turn 2: Use RabbitMQ for the queue now.\n  mark 2  stale     turn 1", dialogue)
        self.assertEqual(self.facts()["one"], ([STALE, FIRST], []))

    def test_an_equal_sentence_is_shown_once_for_each_turn_or_a_stale_one_is_marked_in_one_turn_only(self):
        again = {"id": "3", "user": "We chose Redis.", "assistant": "Ok."}
        self.write("in.json", unlabelled("one", "two", history=[*HISTORY, again]))
        _, dialogue, _ = self.answer("/redis", "1", "", "/redis", "s 1", "1", "/rabbitmq", "1", "/redis", "s 1", "")
        self.assertIn("  1  turn 1, 3  user  We chose Redis.\n", dialogue)
        old = [{"turn": turn, "text": "We chose Redis."} for turn in "13"]
        self.assertEqual(self.facts(), {"one": (old[1:], []), "two": ([FIRST], old)})

    def test_labels_of_unchanged_cases_are_asked_again_when_a_log_has_grown(self):
        self.answer("1", "", "n")
        old, grown = self.out, unlabelled("one", "two", "new", "other", current="Which queue?")
        grown["cases"][0]["history"] = "longer"
        grown["histories"]["longer"] = [*HISTORY, {"id": "3", "user": "And?", "assistant": "Yes."}]
        self.write("in.json", grown)
        self.out = self.folder / "grown.json"
        self.complained("none.json", "--labels", self.folder / "none.json")
        err = self.answer("q", options=["--labels", old])[2]
        self.assertIn("2 of 4 cases keep their labels", err)  # "new" is asked what "one" was, of the same history
        self.assertEqual((list(self.facts()), self.facts()["new"][0]), (["two", "new"], [FIRST]))

    def test_the_reply_is_not_shown_steers_the_terminal_or_spoils_the_labelled_set(self):
        self.write("in.json", unlabelled("one", reply="RabbitMQ\x1b[2J."))
        self.assertIn("the reply was: RabbitMQ\\x1b[2J.", self.answer("1", "")[1])
        self.assertNotIn("reply", load_cases(self.out)[0])

    def test_search_and_the_whole_turn(self):
        self.write("in.json", unlabelled("one", history=[TOOLS, *HISTORY]))
        _, dialogue, _ = self.answer("/weather", "t 1", "/mast", "t 1", "/weather", "/zebra", "1", "")
        self.assertIn("  user: We chose Redis. The weather is fine.\n", dialogue)
        self.assertIn('  user: Look up\n      the mast.\n  assistant: \n      {"id": "c1"', dialogue)
        self.assertIn("no sentence has such a word", dialogue)
        self.assertEqual(self.facts()["one"][0], [{"turn": "1", "text": "The weather is fine."}])


class Answers(unittest.TestCase):
    def test_what_can_be_read_and_what_cannot(self):
        numbered = candidates(sentences(HISTORY), "queue", fill=False)
        self.assertEqual([sentence["text"] for sentence in numbered],
                         ["The queue moves.", "Use RabbitMQ for the queue now."])
        for text, kind in {"1, 2": "required", "s1": "stale", **dict.fromkeys(
                ("3", "0", "x", "s", "s 9", "t", "1 x", "/", "-1", "d 1", "t1s", "1,,x"), "wrong")}.items():
            with self.subTest(text):
                self.assertEqual(read_answer(text, numbered, [])[0], kind)

    def test_an_ordinal_ends_a_sentence_or_a_number_ends_none(self):
        for text, cut in {"Am 3. Mai  kommt er. Ja.": ["Am 3. Mai  kommt er.", "Ja."],
                          "Vom 3. bis zum 14. Juni.": ["Vom 3. bis zum 14. Juni."],
                          "Den 3. maj kom han. Ja.": ["Den 3. maj kom han.", "Ja."],
                          "It is the 1. release.": ["It is the 1. release."],
                          "Wait until 5. Then go.": ["Wait until 5.", "Then go."]}.items():
            with self.subTest(text):
                self.assertEqual(pieces(text), cut)

    def test_a_statement_that_shares_no_word_is_not_proposed_or_before_those_that_do(self):
        every = sentences(HISTORY)
        self.assertEqual(candidates(every, "zebra")[0]["text"], "The queue moves.")
        proposed = candidates(every, "weather")
        self.assertEqual((proposed[0]["text"], len(proposed)), ("The weather is fine.", len(every)))
