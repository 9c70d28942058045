"""Real chat templates, where template_table has fetched them: ten conversations each, none counted wrongly."""

import json
import sys
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError, read_json, sha256
from tokens.manifest import folder
from tokens.tests.template_table import PINNED, conversation, kept_templates, rows


class Templates(unittest.TestCase):
    def test_a_count_is_wrong_or_another_conversation_is_refused_than_by_transformers(self):
        if not (folder() / "templates").is_dir():
            self.skipTest("no templates there: python -m tokens.tests.template_table fetches them")
        with mock.patch("tokens.index.Index.archive", side_effect=AssertionError("a test fetches nothing")):
            try:
                kept = kept_templates()
            except (AssertionError, InputError) as error:
                self.skipTest(f"not all templates are there as pinned: {error}")
        ways = []
        with mock.patch("tokenizer.MANY", sys.maxsize):
            for row, _ in rows(kept, number=10):
                with self.subTest(row["template"]):
                    self.assertEqual((row["wrong"], row["as_reference"]), ([], True))
                    ways.append(row["way"])
        self.assertGreaterEqual(ways.count("sum"), 95)

    def test_a_template_is_tried_that_nobody_pinned_or_with_others_conversations_on_another_python(self):
        pinned = read_json(PINNED)
        for archive, members in pinned["archives"].items():
            names = {Path(member).stem for member in members if member.endswith(".jinja")}
            self.assertEqual(names, set(pinned["refused"][archive]))
        self.assertEqual([len(names) for names in pinned["refused"].values()], [70, 41])
        said = json.dumps([conversation("made up", number, ["</think>"]) for number in range(9)])
        self.assertEqual(sha256(said)[:8], "582e9ae2")
