"""The rules beside the published four: what each takes, and what of a history they share between questions."""

import copy
import random
import unittest
from unittest import mock

import evaluate
from base.tests.made import named_cases, needs_tokenizer
from modelkit.retrieval import cosine, embed
from selection import retrievers
from selection.reporting import explain
from selection.retrievers import SELECTORS
from selection.tests.made import case, count, random_text

FAR = " ".join(f"filler{number}" for number in range(120))  # further than near looks


def turns_of(rule, *args, **more):
    return SELECTORS[rule](case(*args, **more), count)["turns"]


class Selectors(unittest.TestCase):
    def test_a_rule_that_looks_at_turns_takes_others(self):
        for row in named_cases(__file__, "taken-turns.json"):
            for rule in ("bm25", "dense", "rerank"):
                with self.subTest(row["name"], rule=rule):
                    self.assertEqual(turns_of(rule, row["question"], *row["turns"], room=row["room"]), row["takes"])

    def test_asking_changes_the_case_or_a_history_that_has_grown_is_not_indexed_again(self):
        for name, select in SELECTORS.items():
            given = case("harbour", "harbour one")
            before, first = copy.deepcopy(given), select(given, count)
            self.assertEqual((given, select(given, count)), (before, first), name)
            given["history"].append({"user": "harbour two", "assistant": "ok"})
            self.assertEqual(select(given, count)["turns"], [0, 1], name)

    def test_an_index_that_grew_for_a_longer_chat_answers_for_another(self):
        rng = random.Random(1)
        said, other = ([random_text(rng) or "x" for _ in range(size)] for size in (30, 9))
        asked = [said[:9], said[:10], said[:30], other, said[:10], [], said[:4] + other, said, said[:9]] * 2
        for score in (retrievers.near, retrievers.near_messages):
            for number, texts in enumerate(asked):
                again = score(case("harbour lights", *texts))
                with mock.patch.object(retrievers, "_indexes", []):
                    self.assertEqual(again, score(case("harbour lights", *texts)), (score.__name__, number))
        self.assertLessEqual(len(retrievers._indexes), 32)

    def test_the_order_of_another_question_or_budget_is_taken(self):
        for name, select in SELECTORS.items():
            given = case("harbour", "harbour one", "lights two")
            first = select(given, count)
            select({**given, "current": "lights"}, count)
            self.assertEqual(select(given, count), first, name)
            small = {**given, "budget": {**given["budget"], "context_limit": 35}}
            self.assertLessEqual(select(small, count)["input_tokens"], 5, name)

    def test_a_filled_rule_leaves_room_or_fills_it_before_what_the_rule_takes(self):
        for name in ("relevant-filled", "near-filled", "near-messages-filled"):
            self.assertEqual(turns_of(name, "harbour", "cats", "harbour", "dogs"), [0, 1, 2], name)
            self.assertIn(0, turns_of(name, "harbour", "harbour", "cats", "dogs", room=10), name)
        self.assertEqual(turns_of("relevant-filled", "harbour", "harbour", "cats", "dogs", room=10), [0, 2])

    def test_a_fact_of_a_message_that_was_not_chosen_is_found(self):
        given = case("harbour", {"id": "t", "user": "harbour " * 9, "assistant": "harbour in May"}, room=7)
        given |= {"required": [{"turn": "t", "text": "in May"}], "stale": [{"turn": "t", "text": "harbour harbour"}]}
        row = evaluate.grade(given, SELECTORS["near-messages"](given, count))
        self.assertEqual((row["turns"], row["required_found"], row["stale_included"]), ([0], 1, []))

    def test_the_date_of_a_session_is_taken_for_a_name(self):
        turn = {"user": "[8 May] Ana: the harbour", "assistant": "Bob: yes", "session": "1", "date": "8 May"}
        given = case("What did Ana say in May?", turn)
        self.assertEqual(SELECTORS["near-messages"](given, count)["messages"][0]["content"], "[8 May] Ana: the harbour")

    @needs_tokenizer
    def test_explain_takes_a_turn_for_whole_of_which_one_message_was_chosen(self):
        lines, _ = explain(evaluate.CASES, "held-spread", ["near-messages"], evaluate.grade)
        self.assertIn("  turn 1  + taken", lines)
        self.assertIn("  turn 2  + taken in part: assistant", lines)

    def test_the_turn_beside_the_words_of_the_question_is_missed_or_one_far_off_found(self):
        turns = ("ships", FAR, "Since May.", "How long have you lived at the harbour?", FAR, "cats")
        self.assertEqual({0, 2, 3, 5} & set(turns_of("near", "harbour", *turns)), {2, 3})

    def test_neighbouring_words_count_no_more_than_words_apart(self):
        turns = ("the laptop is old and the warranty, laptop bag warranty", "our laptop warranty ends in May")
        self.assertEqual(turns_of("rerank", "laptop warranty", *turns, room=17), [1])

    def test_more_than_the_shortlist_is_looked_at(self):
        turns = ["harbour"] * (retrievers.SHORTLIST + 5)
        self.assertEqual(turns_of("rerank", "harbour", *turns), list(range(5, retrievers.SHORTLIST + 5)))

    def test_shared_stop_words_alone_are_something(self):
        self.assertEqual(turns_of("bm25", "what is this", "what is it", "cats"), [0])
        self.assertEqual(turns_of("rerank", "what is this", "what is it", "cats"), [])

    def test_the_sum_over_the_question_is_another_than_the_cosine(self):
        texts = ["harbour of Lagos\nok", "lights\nok", "the\nok", "Lagos lights lights\nok"]
        given = case("lights in Lagos", *(text[:-3] for text in texts))
        scores = retrievers.dense(given)
        for number, text in enumerate(texts):
            self.assertAlmostEqual(scores.get(number, 0.0), cosine(embed(given["current"]), embed(text)), 12)
