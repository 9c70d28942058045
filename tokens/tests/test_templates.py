"""Real chat templates, where template_table has fetched them: ten conversations each, none counted wrongly."""

import sys
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError, read_json
from tokens.manifest import folder
from tokens.tests.template_table import PINNED, conversation, kept_templates, rows


class Real(unittest.TestCase):
    def test_a_count_is_wrong_or_another_conversation_is_refused_than_by_transformers(self):
        if not (folder() / "templates").is_dir():
            self.skipTest("no templates there: python -m tokens.tests.template_table fetches them")
        with mock.patch("tokens.index.Index.archive", side_effect=AssertionError("a test fetches nothing")):
            try:
                kept = kept_templates()
            except (AssertionError, InputError) as error:
                self.skipTest(f"not all templates are there as pinned: {error}")
        ways = {"sum": 0, "incremental": 0, "whole": 0}
        with mock.patch("tokenizer.MANY", sys.maxsize):
            for row, _ in rows(kept, number=10):
                with self.subTest(row["template"]):
                    self.assertEqual((row["wrong"], row["as_reference"]), ([], True))
                    ways[row["way"]] += 1
        self.assertGreaterEqual(ways["sum"], 95)


class Pins(unittest.TestCase):
    def test_a_template_is_tried_that_nobody_pinned(self):
        pinned = read_json(PINNED)
        for archive, members in pinned["archives"].items():
            names = {Path(member).stem for member in members if member.endswith(".jinja")}
            self.assertEqual(names, set(pinned["refused"][archive]))
        self.assertEqual([len(names) for names in pinned["refused"].values()], [70, 41])

    def test_the_conversations_are_others_on_another_python(self):
        messages, tools = conversation("made up", 11, ["</think>"])
        self.assertEqual([message["role"] for message in messages], ["system", "user", "assistant", "user"])
        self.assertEqual((messages[0]["content"], bool(tools)), ("</think>", True))


if __name__ == "__main__":
    unittest.main()
