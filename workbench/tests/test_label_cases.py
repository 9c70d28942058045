"""What labelling could lose or spoil: answers given before a stop, facts no message holds, another set's journal."""

from unittest import mock

from base.command import file_hash
from base.lines import LineFile
from base.result_files import fact_name
from base.tests.made import Files, named_cases, needs_tokenizer, run
from selection.cases import load_cases
from workbench.label_cases import candidates, main, pieces, read_answer, sentences
from workbench.tests.made import labelled_case

HISTORY = [
    {"id": "1", "user": "We chose Redis. The weather is fine.", "assistant": "Noted."},
    {"id": "2", "user": "Use RabbitMQ for the queue now.\nThanks!", "assistant": "The queue moves."},
]


def unlabelled(*names, history=HISTORY, **changes):
    """A set of cases with these names; the last one has the changes."""
    cases = [labelled_case(name, current="Which queue do we use?", history="talk") for name in names]
    cases[-1] |= changes
    return {"format": 1, "histories": {"talk": history}, "cases": cases}


class Terminal(Files):
    def begin(self, value=unlabelled("one", "two"), out="out.json"):
        self.cases, self.out = self.write("in.json", value), self.folder / out
        self.journal = self.folder / f"{out}.journal.jsonl"

    def answer(self, *answers, options=()):
        """Run the command with these answers, then the end of the input; (status, dialogue, complaints)."""
        typed = [KeyboardInterrupt if answer == "^C" else answer for answer in answers]
        with mock.patch("builtins.input", side_effect=[*typed, EOFError]):
            return run(main, self.cases, self.out, *options)

    def complained(self, pattern=".", *options):
        """It is refused in one line before the first question."""
        with mock.patch("builtins.input", side_effect=AssertionError("asked")):
            self.refused(pattern, main, self.cases, self.out, *options)

    def facts(self):
        return {case["id"]: [list(map(fact_name, case[field])) for field in ("required", "stale")]
                for case in load_cases(self.out)} if self.out.exists() else {}

    def test_every_case_in_the_file(self):
        for number, case in enumerate(named_cases(__file__, "label-cases.json")):
            names, history = case.get("names", ["one", "two"]), HISTORY + case.get("more", [])
            value = unlabelled(*names, history=history, **case.get("changes", {}))
            self.begin(value, out=f"out{number}.json")
            for session in case["sessions"]:
                with self.subTest(case["name"], answers=session["answers"]):
                    status, dialogue, err = self.answer(*session["answers"])
                    self.assertEqual(status, 130 if "^C" in session["answers"] else 0, err)
                    self.assertEqual([text for text in session.get("says", ()) if text not in dialogue], [], dialogue)
                    self.assertEqual([text for text in session.get("hides", ()) if text in dialogue], [])
                    self.assertIn(session.get("told", ""), err)
            self.assertEqual(self.facts(), case["facts"], case["name"])

    def test_every_answer_is_on_the_disk_before_the_next_question_and_an_entry_cut_short_spoils_no_other(self):
        seen = []

        def look(_):
            seen.append(self.journal.read_text("utf-8").count('"one"'))
            return ["1", "", "q"][len(seen) - 1]

        self.begin()
        with mock.patch("builtins.input", side_effect=look):
            run(main, self.cases, self.out)
        self.assertEqual(seen, [0, 1, 2])
        self.journal.write_bytes(self.journal.read_bytes() + b'{"case": "two", "la')
        self.answer("1", "")
        self.assertEqual((self.answer()[0], list(self.facts())), (0, ["one", "two"]))

    def test_a_file_that_this_command_did_not_write_is_overwritten_or_one_that_it_wrote_is_not_kept(self):
        self.begin()
        self.write("out.json", "mine")
        self.complained("no output of this command")
        self.out.unlink()
        self.answer("1", "")
        first = self.out.read_bytes()
        self.answer("1", "")
        self.assertEqual((self.folder / "out.previous.json").read_bytes(), first)
        self.out.write_bytes(first)  # older than the journal
        self.assertEqual((self.answer()[0], len(self.facts())), (0, 2))
        self.write("out.json", self.out.read_text("utf-8").replace("Which queue", "What queue"))
        self.complained("no output of this command")

    def test_a_place_or_a_journal_that_is_none_is_a_traceback_cut_or_found_after_the_first_question(self):
        self.begin()
        with LineFile(self.journal):
            self.complained("another run has it open")
        entry = '{"case": "one", "key": "k", "labels": {"required": [%s], "stale": []}}'
        for line in ('{"case": "one"}', entry % 3, "[]", '{"a": "', entry.replace("one", "other") % ""):
            self.write(self.journal.name, f'{{"set_sha256": "{file_hash(self.cases)}"}}\n{line}\n')
            self.complained()
        self.journal.unlink()
        self.answer("1", "")
        self.write("in.json", unlabelled("one", "other"))
        self.complained("--labels")
        self.begin(out="gone/out.json")
        self.complained("no such folder")

    def test_a_set_that_cannot_be_labelled_or_that_the_evaluation_refuses_is_labelled_first(self):
        for value in ([], {}, unlabelled("one", history=[{"user": "a", "assistant": "b"}]), unlabelled("one", "one"),
                      {**unlabelled("one"), "format": 9}, {**unlabelled("one"), "histories": {"other": HISTORY}},
                      unlabelled("one", history=[{"id": "1", "user": "", "assistant": " "}])):
            with self.subTest(value=value):
                self.begin(value)
                self.complained()

    @needs_tokenizer
    def test_a_question_over_its_budget_is_labelled_first(self):
        self.begin(unlabelled("one", "two", budget={"context_limit": 1, "max_new_tokens": 0, "margin": 0}))
        self.complained("case 'two'")

    def test_labels_of_unchanged_cases_are_asked_again_when_a_log_has_grown(self):
        self.begin(unlabelled("one", "two", current="And now?"))
        self.answer("1", "", "n")
        old, grown = self.out, unlabelled("one", "two", "new", "other", current="Which queue?")
        grown["cases"][0]["history"], grown["cases"][1]["current"] = "longer", "And now?"
        grown["histories"]["longer"] = [*HISTORY, {"id": "3", "user": "And?", "assistant": "Yes."}]
        self.begin(grown, out="grown.json")
        self.complained("none.json", "--labels", self.folder / "none.json")
        err = self.answer("q", options=["--labels", old])[2]
        self.assertIn("2 of 4 cases keep their labels", err)  # "new" is asked what "one" was, of the same history
        self.assertIn("1 cases labelled, 1 left out, 2 to do", err)
        self.assertEqual(self.facts(), {"new": [["2: Use RabbitMQ for the queue now."], []]})

    def test_an_answer_is_read_as_something_else(self):
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
