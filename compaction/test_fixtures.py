"""Fixtures that would mislead are refused with their place; the shipped set is what the project says it is."""

import copy
import io
import json
import re
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from compaction import fixtures
from compaction.conversation import turn_texts
from compaction.doubles import small_fixture
from compaction.fixtures import CLASSES, SHIPPED, TAGS, FixtureError, load_fixtures, warnings
from compaction.literals import sentence_at, speaks_of_replacement, stands
from strategies import CUES


def changed(path, value):
    """The small fixture with the value at `path` (keys and numbers) replaced; the value DELETE takes the field out."""
    fixture = copy.deepcopy(small_fixture())
    inner = fixture
    for key in path[:-1]:
        inner = inner[key]
    if value is DELETE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return fixture


DELETE = object()
ITEM = ("must_survive", 0)
REFUSED = [  # path, value, words of the message
    (("turns",), DELETE, "field 'turns': is missing"),
    (("turns",), 11, "is 11, the history has 12"),
    (("turns",), True, "field 'turns'"),
    (("compactions_expected",), 0, "whole number from 1"),
    (("compactions_expected",), 2.0, "whole number from 1"),
    (("conversation_id",), " ", "field 'conversation_id'"),
    (("conversation_id",), 7, "field 'conversation_id'"),
    (("extra",), 1, "field 'extra'"),
    (("history",), [], "at least one turn"),
    (("history", 2), "text", "turn 3: is no JSON object"),
    (("history", 2, "user"), " ", "turn 3: has a blank text"),
    (("history", 2, "assistant"), None, "turn 3: field 'assistant' must be a text"),
    (("history", 2, "mood"), "good", "turn 3: field 'mood'"),
    (("history", 2, "id"), 5, "turn 3: field 'id' must be a text"),
    (("history", 2, "messages"), {}, "turn 3: field 'messages' must be a list"),
    (("history", 2, "messages"), [{"role": "user", "content": "x"}], "turn 3: message 1: role 'user'"),
    (("history", 2, "messages"), [{"role": "tool", "content": "x"}], "tool_call_id must be a text"),
    (("history", 2, "messages"), [{"role": "tool", "tool_call_id": "c1", "content": "x"}], "answers 'c1'"),
    (("history", 1, "messages", 0, "tool_calls", 0, "function", "arguments"), "{}", "must be an object, not str"),
    (("history", 1, "messages", 0, "tool_calls", 0, "type"), "tool", "a tool call is"),
    (("history", 1, "messages", 0, "content"), None, "content must be a text"),
    (("history", 2, "user"), "half \ud83d of it", "half of a surrogate pair"),
    ((*ITEM, "expect"), "half \ud83d of it", "half of a surrogate pair"),
    (("must_survive",), [], "at least one item"),
    ((*ITEM, "id"), DELETE, "item 'number 1': field 'id': is missing"),
    ((*ITEM, "id"), "small-2", "is given to two items"),
    ((*ITEM, "id"), "small\x1b[2J", "no single line of printable text"),
    (("conversation_id",), "a\nb", "field 'conversation_id'"),
    ((*ITEM, "class"), "rule", "item 'small-1': field 'class'"),
    ((*ITEM, "turn"), 13, "item 'small-1': field 'turn': is 13"),
    ((*ITEM, "turn"), True, "field 'turn': is True"),
    ((*ITEM, "turn"), 0, "field 'turn': is 0"),
    ((*ITEM, "probe"), "Say it.", "field 'probe': is no question"),
    ((*ITEM, "expect"), "", "field 'expect'"),
    ((*ITEM, "literal"), "Do not push to master", "field 'literal': 'Do not push to master' does not occur"),
    ((*ITEM, "literal"), "We run v1.2", "only inside a longer name"),
    ((*ITEM, "literal"), " push to main", "outer white space"),
    ((*ITEM, "literal"), "audit.\nWe run", "spans lines"),
    ((*ITEM, "note"), "x", "field 'note'"),
    ((*ITEM, "also"), "push to main", "field 'also': must be a list"),
    ((*ITEM, "also"), ["push to main", "push to main"], "holds a text twice"),
    ((*ITEM, "also"), ["push to nowhere"], "does not occur in one message of the history"),
    ((*ITEM, "replaced"), ["The cutover is on Sunday"], "does not occur in one message of a turn before 1"),
    (("must_survive", 3, "replaced"), ["The cutover is on Sunday"], "a turn before 4"),
    (("must_survive", 3, "also"), ["cutover is on Friday"], "also a literal that answers"),
    ((*ITEM, "tags"), ["hard"], "'hard' is no known difficulty"),
]


class Loader(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, fixture, name="small.json"):
        path = self.folder / name
        path.write_text(fixture if isinstance(fixture, str) else json.dumps(fixture), encoding="utf-8")
        return path

    def test_accepts_the_small_fixture_as_it_is(self):
        self.assertEqual(load_fixtures([self.write(small_fixture())]), [small_fixture()])

    def test_refuses_each_mistake_and_names_file_conversation_item_and_field(self):
        for path, value, told in REFUSED:
            with self.subTest(f"{path}: {told}"):
                file = self.write(changed(path, value))
                with self.assertRaises(FixtureError) as caught:
                    load_fixtures([file])
                self.assertIn(told, str(caught.exception))
                self.assertIn(str(file), str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))

    def test_an_error_names_its_conversation(self):
        with self.assertRaisesRegex(FixtureError, "conversation 'small': item 'small-1': field 'turn'"):
            load_fixtures([self.write(changed((*ITEM, "turn"), 99))])

    def test_refuses_text_that_is_not_strict_json(self):
        for text in ("{", "[]", '{"turns": 1, "turns": 2}', '{"turns": NaN}', "null"):
            with self.subTest(text), self.assertRaises(ValueError):
                load_fixtures([self.write(text)])

    def test_refuses_one_conversation_or_item_in_two_files(self):
        one = self.write(small_fixture())
        with self.assertRaisesRegex(FixtureError, "conversation_id"):
            load_fixtures([one, self.write(small_fixture(), "again.json")])
        with self.assertRaisesRegex(FixtureError, "item 'small-1'"):
            load_fixtures([one, self.write(small_fixture(conversation_id="other"), "other.json")])

    def test_refuses_two_turns_of_one_id(self):
        fixture = small_fixture()
        fixture["history"][0]["id"] = fixture["history"][3]["id"] = "t"
        with self.assertRaisesRegex(FixtureError, "turn 4: the id 't' stands twice"):
            load_fixtures([self.write(fixture)])

    def test_refuses_a_folder_without_fixtures(self):
        with self.assertRaisesRegex(ValueError, "no fixture"):
            load_fixtures([self.folder])

    def test_warns_of_short_literals_but_not_of_short_references(self):
        fixture = changed((*ITEM, "literal"), "We run")
        self.assertRegex(warnings([fixture])[0], "small-1.*fewer than 3 words")
        fixture["must_survive"][0]["class"] = "reference"
        self.assertEqual(warnings([fixture]), [])

    def test_warns_of_a_literal_that_leaves_its_negation_behind(self):
        self.assertRegex(warnings([changed((*ITEM, "literal"), "push to main before")])[0], "behind a negation")
        self.assertEqual(warnings([small_fixture()]), [])

    def test_as_a_script_prints_a_summary_and_warnings_apart(self):
        file = self.write(changed((*ITEM, "literal"), "push to main before"))
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            fixtures.main([str(file)])
        self.assertEqual(json.loads(out.getvalue())["classes"], {name: 1 for name in CLASSES})
        self.assertIn("warning: small: item small-1", err.getvalue())


class ShippedSet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fixtures = load_fixtures()
        cls.items = [(fixture, item) for fixture in cls.fixtures for item in fixture["must_survive"]]

    def test_has_ten_conversations_of_40_to_90_turns_that_compact_twice(self):
        self.assertGreaterEqual(len(self.fixtures), 10)
        for fixture in self.fixtures:
            with self.subTest(fixture["conversation_id"]):
                self.assertTrue(40 <= fixture["turns"] <= 90)
                self.assertGreaterEqual(fixture["compactions_expected"], 2)

    def test_has_80_items_over_all_four_classes(self):
        self.assertGreaterEqual(len(self.items), 80)
        for name in CLASSES:
            self.assertGreaterEqual(sum(item["class"] == name for _, item in self.items), 10, name)

    def test_has_each_difficulty_at_least_three_times(self):
        for tag in TAGS:
            self.assertGreaterEqual(sum(tag in item.get("tags", []) for _, item in self.items), 3, tag)

    def test_a_silent_constraint_is_followed_by_fifty_turns(self):
        for fixture, item in self.items:
            if "silent-constraint" in item.get("tags", []):
                self.assertGreaterEqual(fixture["turns"] - item["turn"], 50, item["id"])

    def test_what_is_tagged_as_replaced_says_what_it_replaced(self):
        for _, item in self.items:
            if {"uncued-correction", "revised-reference"} & set(item.get("tags", [])):
                self.assertTrue(item.get("replaced"), item["id"])

    def tagged(self, tag):
        """(fixture, item, the sentences of its turn in which it stands) of each item of one difficulty."""
        for fixture, item in self.items:
            if tag in item.get("tags", []):
                texts = turn_texts(fixture["history"][item["turn"] - 1])
                yield fixture, item, [sentence_at(text, at) for text in texts for at in stands(item["literal"], text)]

    def test_a_silent_constraint_is_stated_once(self):
        for fixture, item, _ in self.tagged("silent-constraint"):
            self.assertEqual(item["class"], "constraint", item["id"])
            texts = [text for turn in fixture["history"] for text in turn_texts(turn)]
            self.assertEqual(sum(len(stands(item["literal"], text)) for text in texts), 1, item["id"])

    def test_a_correction_without_a_cue_has_none(self):
        for _, item, sentences in self.tagged("uncued-correction"):
            for sentence in sentences:
                self.assertFalse(CUES.search(sentence) or speaks_of_replacement(sentence), item["id"])

    def test_a_buried_item_stands_in_a_tools_long_output_and_nowhere_else_in_its_turn(self):
        for fixture, item, _ in self.tagged("buried"):
            turn = fixture["history"][item["turn"] - 1]
            self.assertFalse(stands(item["literal"], turn["user"]) or stands(item["literal"], turn["assistant"]))
            outputs = [one["content"] for one in turn["messages"] if one["role"] == "tool"]
            (held,) = [text for text in outputs if stands(item["literal"], text)]
            self.assertGreaterEqual(len(held.split("\n")), 15, item["id"])

    def test_a_hedge_is_taken_whole_approval_and_condition(self):
        approval = re.compile(r"\b(?:fine|ok(?:ay)?|alright|acceptable)\b")
        condition = re.compile(r"\b(?:if|once|after|until|but|provided|as (?:long|soon) as)\b")
        for _, item, _ in self.tagged("hedge"):
            self.assertTrue(approval.search(item["literal"]) and condition.search(item["literal"]), item["id"])

    def test_what_was_never_decided_is_an_open_question(self):
        self.assertEqual({item["class"] for _, item, _ in self.tagged("undecided")}, {"open_question"})

    def test_gives_no_warning(self):
        self.assertEqual(warnings(self.fixtures), [])

    def test_each_file_is_named_after_its_conversation(self):
        self.assertEqual(
            sorted(path.stem for path in SHIPPED.glob("*.json")),
            [fixture["conversation_id"] for fixture in self.fixtures],
        )

    def test_uses_tools(self):
        for fixture in self.fixtures:
            self.assertTrue(any(turn.get("messages") for turn in fixture["history"]), fixture["conversation_id"])


if __name__ == "__main__":
    unittest.main()
