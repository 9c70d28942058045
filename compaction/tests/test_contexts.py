"""A conversation is compacted as it grows; contexts that another system recorded are read strictly, opaque ones never
scored."""

import copy
import hashlib
import json
import os
import unittest

from base.command import InputError
from base.tests.made import Files, named_cases
from compaction import contexts as shipped
from compaction.compactors import BUILT_IN
from compaction.contexts import grow, grow_all, read_contexts
from compaction.rows import decide_items, summarize
from compaction.tests.doubles import count_words, small_fixture
from compaction.tests.made import BUDGET, said_by


def grown(compactor, fixture=None, budget=BUDGET, count=count_words):
    return grow(fixture or small_fixture(), compactor, budget, count)


def last_two(history, budget, count):
    return history[-2:]


def twice(history, budget, count):
    return history * 2


class Growing(unittest.TestCase):
    def test_it_is_compacted_too_early_or_handed_another_budget_or_older_messages(self):
        given, left = [], []

        def spy(history, budget, count):
            self.assertGreater(count(history), 60)
            self.assertEqual(budget, {"context_limit": 40, "max_new_tokens": 8, "margin": 2})
            given.append(copy.deepcopy(history))
            left.append([{"role": "user", "content": f"summary {len(given)}"}, history[-1]])
            return left[-1]

        contexts = grown(spy)
        self.assertGreaterEqual(len(given), 2)
        self.assertEqual(given[1][:2], left[0])
        self.assertNotIn("Step 5", str(given[1][2:]).replace(given[0][-1]["content"], ""))
        self.assertEqual([context["compaction"] for context in contexts], list(range(1, len(given) + 1)))
        given, fixture = [], small_fixture()
        fixture["history"][0]["user"] = "word " * 4000
        grown(lambda history, budget, count: given.append(budget) or history[-1:], fixture, shipped.BUDGET)
        self.assertEqual(given, [{"context_limit": 2336, "max_new_tokens": 512, "margin": 64}])  # half of 3520 free

    def test_the_current_message_is_missing_not_the_last_or_there_twice_or_a_first_one_is_compacted(self):
        for compactor in (*BUILT_IN.values(), last_two, lambda *_: [{"role": "user", "content": "all that was"}]):
            for context in grown(compactor):
                user = small_fixture()["history"][context["turn"] - 1]["user"]
                self.assertTrue(context["messages"][-1]["content"].endswith(user), compactor)
                self.assertEqual(str(context["messages"]).count(user), 1)
        history = [{"user": "word " * 100, "assistant": "ok"}]  # a first message is never compacted, however long
        self.assertEqual(grown(last_two, small_fixture(history=history)), [])

    def test_what_is_no_request_is_taken_or_it_or_what_a_compactor_raises_does_not_say_where(self):
        for wrong in (None, [], "text", [{"role": "user"}], [{"role": "bot", "content": "x"}],
                      [{"role": "user", "content": 3}]):
            with self.subTest(wrong), self.assertRaisesRegex(InputError, "^small: compaction 1 .turn .*: what the"):
                grown(lambda *_: wrong)

        def count(messages):
            if messages[0]["role"] == "assistant":
                raise InputError("the template refuses it")
            return count_words(messages)

        with self.assertRaisesRegex(InputError, "^small: compaction 1 .turn [0-9]+.: the template refuses it"):
            grown(lambda history, *_: [{"role": "assistant", "content": "x"}, history[-1]], count=count)
        with self.assertRaises(IndexError) as caught:
            grown(lambda history, *_: history[99])
        self.assertRegex(caught.exception.__notes__[0], "^small: compaction 1 .turn [0-9]+.: the compactor: raised")

    def test_a_compactor_that_edits_what_it_was_given_or_returned_changes_a_fixture_or_a_reported_context(self):
        returned, fixture, before = [], small_fixture(), small_fixture()

        def vandal(history, budget, count):
            for message in history:
                message["content"] = message["content"].upper()
            for message in returned:
                message["content"] = "gone"
            budget.clear()
            returned[:] = history[-2:]
            return list(returned)

        contexts = grown(vandal, fixture)
        self.assertEqual((fixture, str(contexts).count("gone")), (before, 0))
        self.assertIn("STEP", str(contexts))

    def test_a_conversation_that_compacts_too_seldom_passes_or_one_that_failed_does_not(self):
        often = small_fixture(compactions_expected=9)
        for budget, made in ((BUDGET, len(grown(last_two))), (shipped.BUDGET, 0)):
            with self.assertRaisesRegex(InputError, f"mine: compacted .*: small: {made} of 9; "):
                grow_all([often], last_two, "mine", budget, count_words, 0.5)
        for fixture, compactor in ((small_fixture(), last_two), (often, twice)):
            self.assertEqual(grow_all([fixture], compactor, "mine", BUDGET, count_words, 0.5), grown(compactor))
        self.assertEqual([context["failed"] for context in grown(twice)], [True])


def line(number=1, text="Do not push to main", **more):
    return {"conversation_id": "small", "compaction": number, "messages": said_by(text), **more}


class Reading(Files):
    EVENT = {"conversation_id": "small", "turn": 4, "kind": "compaction", "content": "They talked."}

    def read(self, *lines, fixture=None):
        return read_contexts(self.write("contexts.jsonl", list(lines)), [fixture or small_fixture()], count_words)

    def checked(self, *lines, extractive=True):
        """{item: its verdicts} of those that were checked at some compaction."""
        items = decide_items([small_fixture()], self.read(*lines)[0], extractive)
        return {item["item"]: list(item["verdicts"].values()) for item in items if item["verdicts"]}

    def test_a_context_is_checked_for_items_that_were_not_surely_stated_before_it(self):
        self.assertEqual(self.checked(line(turn=3)), {"small-1": ["verbatim"], "small-2": ["absent"]})
        for turn, last in ((2, 1), (3, 1), (4, 3)):  # inside turn 2 its user has spoken; small-2 is said by a tool
            self.assertEqual(list(self.checked(line(turn=turn, inside=True))), ["small-1", "small-2", "small-3"][:last])

    def test_a_later_compaction_that_is_said_to_be_of_an_earlier_turn_is_checked_for_no_item(self):
        self.assertEqual(len(self.read(line(2, turn=9), line(1, turn=9))[0]), 2)
        with self.assertRaisesRegex(InputError, "line 1: compaction 2 of small at turn 3 comes after one at turn 9"):
            self.read(line(2, turn=3), line(1, turn=9))

    def test_a_context_without_a_turn_is_placed_by_a_guess(self):
        current, fixture = small_fixture()["history"][4]["user"], small_fixture()
        self.assertEqual(self.read(line(text="summary\n\n" + current))[0][0]["turn"], 5)  # one turn's words
        for place, words in ((4, "on."), (6, "Go on."), (7, "Go on.")):
            fixture["history"][place]["user"] = words
        for text, turn in (("Go on.", 13), ("Kept:\non.", 13), ("Salmon.", 13), ("on.\n", 5)):  # 13: not known
            self.assertEqual(self.read(line(text=text), fixture=fixture)[0][0]["turn"], turn)
        for lines, wanted, unplaced in (([line(1, "Go on."), line(2, "Go on.", turn=9)], [(2, 9)], 1),
                                        ([line(2), line(1)], [(2, 13)], 1)):  # the last is checked for all
            contexts, left_out, _ = self.read(*lines, line(conversation_id="another"), fixture=fixture)
            self.assertEqual([(context["compaction"], context["turn"]) for context in contexts], wanted)
            self.assertEqual(left_out, {"unplaced": unplaced, "unannotated": 1})

    def test_an_opaque_context_gives_passes_or_fails_or_a_size(self):
        encrypted = line(1, turn=5, opaque=True)
        del encrypted["messages"]
        contexts, *_ = self.read(encrypted, line(2, turn=9))
        items = decide_items([small_fixture()], contexts, False)
        self.assertEqual([item["verdicts"]["1"] for item in items], ["opaque"] * 4)
        result = summarize(items, contexts, 60)
        self.assertEqual((result["opaque_contexts"], result["missing_verdicts"]["opaque"]), (1, 4))
        self.assertEqual([result["rows"][0][field] for field in ("of", "worst", "best")], [2, 0.5, 1.0])
        self.assertEqual(result["rows"][-1]["of"], 1)

    def test_the_compactions_of_an_event_log_are_no_contexts(self):
        log = [self.EVENT | {"kind": "user"}, self.EVENT | {"content": "\ud83d"},
               self.EVENT | {"conversation_id": "other"}, self.EVENT | {"conversation_id": []},
               self.EVENT | {"turn": 9, "content": None, "opaque": True}, self.EVENT | {"turn": 10, "content": ""}]
        contexts, left_out, _ = self.read(*log)
        self.assertEqual([(context["compaction"], context["turn"], context["inside"], context["opaque"])
                          for context in contexts], [(1, 5, True, False), (2, 10, True, True), (3, 11, True, True)])
        self.assertEqual(left_out, {"unplaced": 0, "unannotated": 0})

    def test_the_size_of_what_was_left_inside_a_turn_passes_for_that_of_the_whole_request(self):
        contexts, *_ = self.read(
            line(1, turn=5, inside=True), line(2, turn=6, inside=True, tokens_after=71), line(3, turn=7))
        self.assertEqual([context["tokens"] for context in contexts], [None, 71, 5])
        row = summarize([], contexts[:1], 60)["rows"][-1]
        self.assertEqual((row["value"], row["unknown"], row["state"]), (None, 1, "undecided"))

    def test_what_a_tool_kept_word_for_word_beside_its_summary_is_lost(self):
        event = self.EVENT | {"tokens_after": 50, "kept": said_by("Do not push to main")}
        contexts, *_ = self.read(event)
        self.assertEqual(contexts[0]["messages"], said_by("They talked.", "Do not push to main"))
        self.assertEqual((contexts[0]["tokens"], self.checked(event, extractive=False)["small-1"]), (50, ["verbatim"]))
        for wrong in ({"kept": [{"role": "x"}]}, {"kept": "x"}, {"turn": None}, {"tokens_after": -1}, {"content": 3}):
            self.assertRaisesRegex(InputError, "line 1", self.read, event | wrong)

    def test_a_pipe_is_hashed_after_it_was_read(self):
        data = json.dumps(line()).encode() + b"\n"
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.write(writer, data)
        os.close(writer)
        *_, digest = read_contexts(f"/dev/fd/{reader}", [small_fixture()], count_words)
        self.assertEqual(digest, hashlib.sha256(data).hexdigest())

    def test_a_line_that_cannot_be_checked_is_taken(self):
        for case in named_cases(__file__, "refused-lines.json"):
            with self.subTest(case["name"]), self.assertRaisesRegex(InputError, f"line 1.*{case['told']}"):
                self.read(line() | case["change"])
        self.assertRaisesRegex(InputError, r"line 1.*is \[1\], not an", self.read, [1])
        self.assertRaisesRegex(InputError, "stands twice", self.read, line(), line())
        self.assertRaisesRegex(InputError, "no context", self.read)
