import copy
import random
import unittest
from unittest import mock

import evaluate
from base.tests.made import needs_tokenizer
from modelkit.retrieval import cosine, embed
from selection import retrievers
from selection.reporting import explain
from selection.retrievers import SELECTORS, then_newest
from selection.tests.made import case, count, random_text


class EverySelector(unittest.TestCase):
    def all_choose(self, turns, *args, **more):
        """Each selector that looks at a turn alone chooses these turns; near has its own tests below."""
        names = ("bm25", "dense", "rerank")
        chosen = {name: SELECTORS[name](case(*args, **more), count)["turns"] for name in names}
        self.assertEqual(chosen, dict.fromkeys(names, turns))

    def test_turns_that_score_nothing_are_never_taken(self):
        self.all_choose([1], "Which harbour?", "cats", "the harbour of Lagos", "dogs")
        self.all_choose([], "Which harbour?", "cats", "dogs")
        self.all_choose([], "Which harbour?")
        self.all_choose([], "", "cats")

    def test_the_newer_of_equals_comes_first(self):
        self.all_choose([2], "harbour", "harbour", "harbour", "harbour", room=6)

    def test_one_that_does_not_fit_is_skipped(self):
        self.all_choose([1], "harbour lights", "harbour lights " + "x " * 50, "lights", room=8)

    def test_what_tools_said_is_searched(self):
        turn = {"user": "look", "assistant": "", "messages": [
            {"role": "assistant", "content": "", "tool_calls": []},
            {"role": "tool", "tool_call_id": "t", "content": "harbour: 3 ships"}]}
        self.all_choose([1], "harbour ships", "cats", turn)

    def test_other_scripts_are_words(self):
        self.all_choose([1], "Где гавань?", "кошки", "гавань там")
        self.all_choose([1], "東京の天気", "猫がいる", "東京は晴れ")

    def test_a_plural_finds_its_singular(self):
        self.all_choose([1], "which passwords?", "cats", "the password is long")

    def test_the_case_stays_as_it_was_and_asking_again_changes_nothing(self):
        for name, select in SELECTORS.items():
            given = case("harbour lights", "harbour", "cats", "lights of the harbour")
            before = copy.deepcopy(given)
            first = select(given, count)
            self.assertEqual((given, select(given, count)), (before, first), name)

    def test_a_history_that_has_grown_is_indexed_again(self):
        for name, select in SELECTORS.items():
            given = case("harbour", "harbour one")
            select(given, count)
            given["history"].append({"user": "harbour two", "assistant": "ok"})
            self.assertEqual(select(given, count)["turns"], [0, 1], name)

    def test_an_index_that_grew_for_a_longer_chat_answers_for_another(self):
        rng = random.Random(1)
        said = [random_text(rng) or "x" for _ in range(30)]
        other = [random_text(rng) or "x" for _ in range(9)]
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
            whole = select(given, count)
            select({**given, "current": "lights"}, count)
            self.assertEqual(select(given, count), whole, name)
            small = {**given, "budget": {**given["budget"], "context_limit": 5}}
            self.assertLessEqual(select(small, count)["input_tokens"], 5, name)


class Filled(unittest.TestCase):
    def test_everything_fits_and_something_is_left_out(self):
        given = case("harbour", "cats", "harbour", "dogs")
        for name in SELECTORS:
            if name.endswith("-filled"):
                self.assertEqual(SELECTORS[name](given, count)["turns"], [0, 1, 2], name)

    def test_the_newest_come_before_what_the_rule_takes(self):
        given = case("harbour", "harbour", "cats", "dogs", room=10)
        for name in ("relevant-filled", "near-filled"):
            self.assertIn(0, SELECTORS[name](given, count)["turns"], name)
        self.assertEqual(then_newest([1], 4), [1, 3, 2, 0])


class NearMessages(unittest.TestCase):
    def test_a_fact_of_a_message_that_was_not_chosen_is_found(self):
        given = case("harbour", {"id": "t", "user": "harbour " * 9, "assistant": "harbour in May"}, room=7)
        given |= {"split": "dev", "kind": "k", "required": [{"turn": "t", "text": "in May"}],
                  "stale": [{"turn": "t", "text": "harbour harbour"}]}
        row = evaluate.grade(given, SELECTORS["near-messages"](given, count))
        self.assertEqual((row["turns"], row["required_found"], row["stale_included"]), ([0], 1, []))

    def test_the_date_of_a_session_is_no_name(self):
        turn = {"user": "[8 May] Ana: the harbour", "assistant": "Bob: yes", "session": "1", "date": "8 May"}
        given = case("What did Ana say in May?", turn)
        self.assertEqual(SELECTORS["near-messages"](given, count)["messages"][0]["content"], "[8 May] Ana: the harbour")


class Near(unittest.TestCase):
    FAR = " ".join(f"filler{number}" for number in range(120))  # further than near looks

    def test_the_turn_beside_the_words_of_the_question_comes_along_and_one_far_off_does_not(self):
        turns = ("ships", self.FAR, "Since May.", "How long have you lived at the harbour?", self.FAR, "cats")
        chosen = SELECTORS["near"](case("harbour", *turns), count)["turns"]
        self.assertEqual([number for number in chosen if number in (0, 2, 3, 5)], [2, 3])

    def test_the_best_is_taken_where_only_one_fits(self):
        turns = ("ships", "a harbour", "cats")
        self.assertEqual(SELECTORS["near"](case("harbour", *turns, room=7), count)["turns"], [1])

    def test_the_newer_of_equals_comes_first(self):
        self.assertEqual(retrievers.best_first({0: 1.5, 1: 2.5, 2: 1.5, 3: 0.0}), [1, 2, 0])

    def test_nothing_shared_takes_nothing(self):
        self.assertEqual(SELECTORS["near"](case("harbour", "cats", "dogs"), count)["turns"], [])
        self.assertEqual(SELECTORS["near"](case("harbour"), count)["turns"], [])


    @needs_tokenizer
    def test_explain_takes_a_turn_for_whole_of_which_one_message_was_chosen(self):
        lines, _ = explain(evaluate.CASES, "held-spread", ["near-messages"], evaluate.grade)
        self.assertIn("  turn 1  + taken", lines)
        self.assertIn("  turn 2  + taken in part: assistant", lines)


class Rerank(unittest.TestCase):
    def test_neighbouring_words_bring_a_turn_before_one_with_more_of_them(self):
        turns = ("the laptop is old and the warranty, laptop bag warranty", "our laptop warranty ends in May")
        given = case("laptop warranty", *turns, room=17)
        self.assertEqual(SELECTORS["rerank"](given, count)["turns"], [1])

    def test_only_the_shortlist_is_looked_at(self):
        turns = ["harbour"] * (retrievers.SHORTLIST + 5)
        self.assertEqual(SELECTORS["rerank"](case("harbour", *turns), count)["turns"],
                         list(range(5, retrievers.SHORTLIST + 5)))

    def test_shared_stop_words_alone_are_nothing(self):
        self.assertEqual(SELECTORS["bm25"](case("what is this", "what is it", "cats"), count)["turns"], [0])
        self.assertEqual(SELECTORS["rerank"](case("what is this", "what is it", "cats"), count)["turns"], [])


class Dense(unittest.TestCase):
    def test_the_sum_over_the_question_is_the_cosine(self):
        texts = ["harbour of Lagos\nok", "lights\nok", "the\nok", "Lagos lights lights\nok"]
        given = case("lights in Lagos", *(text[:-3] for text in texts))
        asked = embed(given["current"])
        scores = retrievers.dense(given)
        for number, text in enumerate(texts):
            self.assertAlmostEqual(scores.get(number, 0.0), cosine(asked, embed(text)), 12)


if __name__ == "__main__":
    unittest.main()
