"""Tests of signals/restatements.py: what is a restatement and what only looks like one."""

import json
import unittest
from collections import Counter
from pathlib import Path

from compaction.signals.restatements import Said

RULE = "never push to the release branch without asking Dana"


def kind(earlier, later, **known):
    said = Said()
    said.take(earlier, 1)
    verdict = said.take(later, 2, **known)
    return verdict and verdict["kind"]


class Kinds(unittest.TestCase):
    def test_the_same_rule_in_other_words(self):
        for later in ("you pushed to the release branch, I said to ask Dana",
                      "we never push to the release branch without asking Dana, right?",
                      "pushing to the release branch is never fine without Dana"):
            self.assertEqual(kind(RULE, later), "restates", later)

    def test_another_thing_about_the_same_words_is_nothing(self):
        for later in ("what is on the release branch?", "thanks", "write the release notes", "", "?", "ok",
                      "Dana is back"):
            self.assertIsNone(kind(RULE, later), later)

    def test_what_is_no_instruction_cannot_be_restated(self):
        self.assertIsNone(
            kind("what does the parser do with comments?", "what does the parser do with comments in strings?"))

    def test_a_message_sent_again_with_no_reply_between_is_none_edited_or_not(self):
        for later in (RULE, RULE + ", she is back on Monday", "never push to the release branch"):
            self.assertIsNone(kind(RULE, later, replied=False), later)
        self.assertEqual(kind(RULE, RULE, replied=True), "restates")

    def test_another_agents_orders_and_tools_lines_are_none(self):
        self.assertIsNone(kind(RULE, RULE, origin="agent"))
        self.assertIsNone(kind(RULE, "Stop hook feedback: never push to the release branch without asking Dana"))
        self.assertIsNone(kind(RULE, "<notice>never push to the release branch without asking Dana</notice>"))

    def test_the_same_job_for_another_object_or_again_after_it_was_done_is_none_and_near_a_compaction_it_is_one(self):
        for earlier, later in (("review commit a1b2c3d and report findings only, by severity",
                                "review commit e4f5a6b and report findings only, by severity"),
                               ("drain node-01, reimage it and put it back into the pool",
                                "drain node-02, reimage it and put it back into the pool"),
                               ("run the whole test suite and commit", "run the whole test suite and commit")):
            self.assertIsNone(kind(earlier, later), later)
        self.assertEqual(kind("run the whole test suite and commit", "run the whole test suite and commit", near=True),
                         "restates")

    def test_complaints_in_other_words_and_with_typing_errors(self):
        for earlier, later in (("fix the failing tests", "tests are still failing"),
                               ("run the linter before committing", "you commited without running the linter"),
                               ("use tabs not spaces", "you're using spaces again"),
                               ("don't add comments", "stop adding comments"),
                               ("read the parser in full", "you havne't read the parser in full"),
                               ("the listeners stay registered",
                                "why are the lsiteners not registered?? they were registered"),
                               ("rename foo to bar everywhere", "foo is stlil used, rename to bar everywhere")):
            self.assertEqual(kind(earlier, later), "restates", later)

    def test_pasted_output_git_output_and_a_rule_quoted_in_output_are_none(self):
        log = "$ go test ./...\n--- FAIL: TestParser (0.{}s)\n    parser_test.go:41: want 3, got {}\nFAIL parser\n"
        git = "On branch main\nYour branch is up to date with 'origin/main'.\n\tmodified:   parser.go\n"
        for earlier, later in (("fix this\n" + log.format(1, 2), log.format(3, 4)), ("commit this\n" + git, git),
                               ("never touch parser.go\n" + git, git),
                               (RULE, "remote: error: push to release branch without asking\nFAIL: hook declined")):
            self.assertIsNone(kind(earlier, later), later)

    def test_the_evidence_names_both_sentences_and_the_earlier_turn(self):
        said = Said()
        for turn, words in enumerate(("look at the parser", f"one more thing. {RULE}. thanks", "and now the lexer"), 1):
            said.take(words, turn)
        verdict = said.take(f"hm. {RULE}!", 9)
        self.assertEqual((verdict["kind"], verdict["earlier"]), ("restates", 2))
        self.assertIn("release branch", verdict["said"])
        self.assertIn("release branch", verdict["before"])

    def test_a_first_message_and_an_empty_conversation_are_nothing(self):
        self.assertIsNone(Said().take(RULE, 1))

    def test_text_with_half_a_surrogate_pair_can_be_shown(self):
        said = Said()
        said.take(RULE + " \ud83d", 1)
        json.dumps(said.take("I said " + RULE + " \ud83d", 2), ensure_ascii=False).encode("utf-8")


class Pairs(unittest.TestCase):
    """The project's own pairs of messages, `fresh-*` written when the rules stood; README.md states the figures."""

    def test_the_figures_that_the_readme_states_are_those_of_the_rules(self):
        pairs = json.loads((Path(__file__).parent / "restatement_pairs.json").read_text(encoding="utf-8"))["pairs"]
        self.assertEqual(len({(pair["earlier"], pair["later"]) for pair in pairs}), len(pairs))
        told = Counter()
        for pair in pairs:
            taken = kind(pair["earlier"], pair["later"], replied=pair.get("replied", True)) == "restates"
            told[pair["id"].split("-")[0], pair["label"] == "restates", taken] += 1
        self.assertEqual([told[start, True, True] for start in ("pair", "fresh")], [14, 7])
        self.assertEqual([told[start, False, True] for start in ("pair", "fresh")], [0, 0])
