"""The four rules, each on a small case of its own: what is taken, what is skipped, and in which order."""

import unittest

import strategies
from strategies import STRATEGIES, longest_end, render
from test_evaluate import case_of, count_words


class Rules(unittest.TestCase):
    def test_recent_skips_a_turn_that_does_not_fit(self):
        case = case_of(("a b", "c"), ("long " * 300, "x"), ("d", "e"), room=20)
        self.assertEqual(STRATEGIES["recent"](case, count_words)["turns"], [2])

    def test_relevant_takes_the_older_of_two_equal_turns(self):
        case = case_of(("alpha one", "x"), ("alpha two", "x"), current="alpha", room=6)
        self.assertEqual(STRATEGIES["relevant"](case, count_words)["turns"], [1])

    def test_relevant_stops_at_a_turn_that_does_not_fit(self):
        case = case_of(("alpha", "x"), ("alpha beta " + "w " * 50, "x"), current="alpha beta", room=10)
        self.assertEqual(STRATEGIES["relevant"](case, count_words)["turns"], [0])

    def test_relevant_counts_a_repeated_word_twice(self):
        case = case_of(("alpha beta", "x"), ("alpha alpha alpha", "x"), current="alpha beta alpha", room=8)
        self.assertEqual(STRATEGIES["relevant"](case, count_words)["turns"], [0])

    def test_words_are_stemmed(self):
        self.assertEqual(strategies.words("The Passwords, for 14-days!"), {"passwords", "14", "days"})

    def test_hybrid_takes_the_newest_turn_twice_or_fails_where_it_does_not_fit(self):
        case = case_of(("alpha", "x"), ("alpha " * 60, "x"), current="alpha", room=10)
        self.assertEqual(STRATEGIES["hybrid"](case, count_words)["turns"], [0])
        case = case_of(("alpha", "x"), ("other", "x"), current="alpha", room=20)
        self.assertEqual(STRATEGIES["hybrid"](case, count_words)["turns"], [0, 1])

    def test_an_empty_history_breaks_a_strategy(self):
        for name, select in STRATEGIES.items():
            self.assertEqual(select(case_of(), count_words)["turns"], [], name)

    def test_chosen_turns_are_rendered_out_of_order(self):
        case = case_of(("one", "1"), ("two", "2"), ("three", "3"))
        contents = [message["content"] for message in render(case, [2, 0])]
        self.assertEqual(contents, ["Be brief.", "one", "1", "three", "3", "What is it?"])

    def test_tool_calls_are_rendered_apart_from_their_turn(self):
        case = case_of(("list", "two files"))
        call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls", "arguments": {}}}]}
        case["history"][0]["messages"] = [call, {"role": "tool", "content": "a b"}]
        self.assertEqual(
            [message["role"] for message in render(case, [0])][1:-1], ["user", "assistant", "tool", "assistant"])


class LongestEnd(unittest.TestCase):
    def test_notes_found_by_halving_are_others_than_those_taken_one_by_one(self):
        lines = [f"note {number}" for number in range(70)]
        for room in (*range(60), 10**6):
            for length in (0, 1, 2, 3, 7, 8, 70):
                given, one_by_one = lines[:length], []
                while len(one_by_one) < length and len(one_by_one) < room:
                    one_by_one.insert(0, given[-1 - len(one_by_one)])
                self.assertEqual(longest_end(given, lambda kept: len(kept) <= room), one_by_one)


if __name__ == "__main__":
    unittest.main()
