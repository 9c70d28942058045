"""Contexts that another system recorded: read strictly, placed at a turn, opaque ones never scored."""

import hashlib
import json
import os
import tempfile
import unittest
from pathlib import Path

from base.command import InputError
from compaction.comparison import compare
from compaction.contexts import read_contexts
from compaction.rows import decide_items, lost_at, summarize
from compaction.tests.doubles import count_words, small_fixture
from compaction.tests.made import made_result


def line(number=1, text="Do not push to main", **more):
    return {"conversation_id": "small", "compaction": number, "messages": [{"role": "user", "content": text}], **more}


def checked(items):
    """[(item, its last verdict)] of the items that were checked."""
    return [(item["item"], list(item["verdicts"].values())[-1]) for item in items if item["verdicts"]]


ITEMS = small_fixture()["must_survive"]


class Reading(unittest.TestCase):
    def read(self, *lines, fixture=None):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "contexts.jsonl"
            path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
            return read_contexts(path, [fixture or small_fixture()], count_words)

    def test_a_context_with_a_turn_is_checked_for_items_stated_before_it(self):
        contexts, left_out, _ = self.read(line(turn=3), line(turn=3) | {"conversation_id": "another"})
        items = decide_items([small_fixture()], contexts, True)
        self.assertEqual(checked(items), [("small-1", "verbatim"), ("small-2", "absent")])
        self.assertEqual(left_out, {"unplaced": 0, "unannotated": 1})

    def test_a_compaction_inside_a_turn_comes_after_what_its_user_said_and_before_we_know_not_what_else(self):
        for turn, wanted in ((2, ["small-1"]), (3, ["small-1"]), (4, ["small-1", "small-2", "small-3"])):
            contexts, *_ = self.read(line(turn=turn, inside=True))
            items = decide_items([small_fixture()], contexts, True)
            self.assertEqual([name for name, _ in checked(items)], wanted)  # small-2 is said by the assistant in turn 2

    def test_a_context_that_ends_with_one_user_turn_was_made_there(self):
        text = small_fixture()["history"][4]["user"]
        contexts, *_ = self.read(line(text="summary\n" + text))
        self.assertEqual(contexts[0]["turn"], 5)

    def test_a_context_that_ends_with_words_of_two_turns_says_no_turn(self):
        fixture = small_fixture()
        fixture["history"][6]["user"] = fixture["history"][7]["user"] = "Go on."
        contexts, left_out, _ = self.read(line(1, "Go on."), line(2, "Go on.", turn=9), fixture=fixture)
        self.assertEqual(([one["compaction"] for one in contexts], left_out["unplaced"]), ([2], 1))

    def test_without_a_turn_the_last_is_checked_for_all_and_an_earlier_one_counted_apart(self):
        contexts, left_out, _ = self.read(line(2), line(1))
        self.assertEqual([(one["compaction"], one["turn"]) for one in contexts], [(2, 13)])
        self.assertEqual(left_out["unplaced"], 1)

    def test_an_opaque_context_gives_neither_passes_nor_fails(self):
        encrypted = line(1, turn=5, opaque=True)
        del encrypted["messages"]
        contexts, *_ = self.read(encrypted, line(2, turn=9))
        items = decide_items([small_fixture()], contexts, False)
        self.assertEqual([item["verdicts"]["1"] for item in items], ["opaque"] * 4)
        result = summarize(items, contexts, 60)
        self.assertEqual((result["opaque_contexts"], result["missing_verdicts"]["opaque"]), (1, 4))
        self.assertEqual(result["rows"][0]["of"], 2)
        self.assertEqual((result["rows"][0]["worst"], result["rows"][0]["best"]), (0.5, 1.0))
        self.assertEqual(result["rows"][-1]["of"], 1)

    def test_the_compactions_of_an_event_log_are_contexts(self):
        log = [{"conversation_id": "small", "turn": 1, "kind": "user", "content": "hello"},
               {"conversation_id": "small", "turn": 4, "kind": "compaction", "content": "Do not push to main"},
               {"conversation_id": "other", "turn": 4, "kind": "compaction", "content": "x"},
               {"conversation_id": [], "turn": 4, "kind": "compaction", "content": "x"},
               {"conversation_id": "small", "turn": 9, "kind": "compaction", "content": None, "opaque": True},
               {"conversation_id": "small", "turn": 10, "kind": "compaction", "content": ""}]
        contexts, *_ = self.read(*log)
        self.assertEqual([(one["compaction"], one["turn"], one["inside"], one["opaque"]) for one in contexts],
                         [(1, 5, True, False), (2, 10, True, True), (3, 11, True, True)])

    def test_the_size_of_what_was_left_inside_a_turn_passes_for_that_of_the_whole_request(self):
        contexts, *_ = self.read(
            line(1, turn=5, inside=True), line(2, turn=6, inside=True, tokens_after=71), line(3, turn=7))
        self.assertEqual([one["tokens"] for one in contexts], [None, 71, 5])
        row = summarize([], contexts[:1], 60)["rows"][-1]
        self.assertEqual((row["value"], row["unknown"], row["state"]), (None, 1, "undecided"))

    def test_what_a_tool_kept_word_for_word_beside_its_summary_is_lost(self):
        event = {"conversation_id": "small", "turn": 4, "kind": "compaction", "content": "They talked.",
                 "tokens_after": 50, "kept": [{"role": "user", "content": "Do not push to main"}]}
        contexts, *_ = self.read(event)
        self.assertEqual(([message["content"] for message in contexts[0]["messages"]], contexts[0]["tokens"]),
                         (["They talked.", "Do not push to main"], 50))
        self.assertEqual(decide_items([small_fixture()], contexts, False)[0]["verdicts"], {"1": "verbatim"})
        for wrong in ({"kept": [{"role": "x"}]}, {"kept": "x"}, {"turn": None}, {"tokens_after": -1}, {"content": 3}):
            self.assertRaisesRegex(InputError, "line 1", self.read, event | wrong)

    def test_a_pipe_is_hashed_after_it_was_read(self):
        data = json.dumps(line()).encode() + b"\n"
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
        try:
            *_, digest = read_contexts(f"/dev/fd/{reader}", [small_fixture()], count_words)
        finally:
            os.close(reader)
        self.assertEqual(digest, hashlib.sha256(data).hexdigest())

    def test_refuses_lines_that_cannot_be_checked(self):
        wrong = {"conversation_id is": line() | {"conversation_id": 3}, "compaction is": line(0),
                 "turn is": line(turn=0), "no list of messages": line() | {"messages": []},
                 "field 'note'": line(note=1),
                 "is \\[1\\], not an object": [1],
                 "message 1 has no role": line() | {"messages": [{"role": "x", "content": ""}]},
                 "compaction is True": line() | {"compaction": True}, "opaque is 'no'": line(opaque="no"),
                 "inside is 1": line(turn=3, inside=1),
                 "was made at turn 14, the fixture of small has 12": line(turn=14)}
        for told, one in wrong.items():
            with self.subTest(told), self.assertRaisesRegex(ValueError, told):
                self.read(one)
        self.assertRaisesRegex(ValueError, "stands twice", self.read, line(), line())
        self.assertRaisesRegex(ValueError, "no context", self.read)


class Added(unittest.TestCase):
    def test_a_conversation_without_a_context_is_met_or_safe(self):
        other = small_fixture(conversation_id="b")
        other["must_survive"] = [item | {"id": "b" + item["id"]} for item in other["must_survive"]]
        text = {1: " ".join(item["literal"] + "." for item in ITEMS)}
        whole, partial = (made_result(extractive=True, said=text, fixtures=fixtures)
                          for fixtures in ([small_fixture()], [small_fixture(), other]))
        self.assertEqual((whole["compliant"], whole["uncovered"]), (True, []))
        self.assertEqual((partial["compliant"], partial["uncovered"], partial["never_checked"]), (None, ["b"], []))
        self.assertEqual([compare(one, one)["decision"] for one in (whole, partial)], ["safe", "not decided"])

    def test_an_item_is_lost_at_another_compaction(self):
        said = {1: "Do not push to main", 2: "Do not push to main", 3: "cutover is on Friday"}
        result = made_result(extractive=True, said=said, turns={1: 2, 2: 4, 3: 6})
        lost = {item["item"]: (lost_at(item), list(item["verdicts"].values())) for item in result["items"]}
        self.assertEqual(lost["small-1"], (3, ["verbatim", "verbatim", "absent"]))
        self.assertEqual(lost["small-4"], (3, ["contradicted"]))
        counts = {one["tag"]: one for one in result["difficulties"]}
        self.assertEqual(counts["uncued-correction"],
                         {"tag": "uncued-correction", "kept": 0, "decisions": 1, "unknown": 0, "contradicted": 1})
        self.assertEqual(counts["hedge"]["decisions"], 0)

    def test_an_item_stated_after_the_last_compaction_is_not_named_or_counts(self):
        result = made_result(extractive=True, said={1: "x"}, turns={1: 3})
        self.assertEqual((result["never_checked"], len(checked(result["items"]))), (["small-3", "small-4"], 2))


if __name__ == "__main__":
    unittest.main()
