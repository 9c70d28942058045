"""What filling by messages could get wrong: a cost that is not the request's, a date lost or shown twice."""

import random
import unittest
from unittest import mock

from base.tests.made import needs_tokenizer
from selection.retrievers import fill_messages, joined, text_and_date, units
from selection.tests.made import Adding, case, count, random_text
from strategies import available
from tokenizer import counter

WORDS = ["harbour", "lights", "Lagos", "dogs.", "\n\nso", " x ", "naïve", "東京", "{}", "12,5"]


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


def result(text):
    return {"role": "tool", "tool_call_id": "c", "content": text}


CALL = reply("", tool_calls=[{"id": "c", "type": "function", "function": {"name": "ls", "arguments": {"path": "a"}}}])


class Units(unittest.TestCase):
    def test_a_tool_call_loses_its_results(self):
        turn = {"user": "look", "assistant": "Done.", "messages": [CALL, result("one"), result("two")]}
        self.assertEqual([(unit.turn, len(unit.messages)) for unit in units([turn, turn])],
                         [(0, 1), (0, 3), (0, 1), (1, 1), (1, 3), (1, 1)])

    def test_replies_side_by_side_are_left_to_the_template_or_one_is_joined_to_a_call(self):
        given = case("harbour", *({"user": "cats", "assistant": f"harbour {number}"} for number in ("one", "two")))
        self.assertEqual(fill_messages(given, count, [3, 1])["messages"][0], reply("harbour one\n\nharbour two"))
        self.assertEqual(joined([reply("a"), CALL, reply("a"), reply("a")]), [reply("a"), CALL, reply("a\n\na")])

    def test_a_message_brings_its_turn_along(self):
        chosen = fill_messages(case("q", {"user": "harbour", "assistant": "long " * 30}, "cats", room=6), count, [1, 0])
        self.assertEqual([message["content"] for message in chosen["messages"]], ["harbour", "q"])
        self.assertEqual((chosen["turns"], chosen["input_tokens"]), ([0], 4))


class Dates(unittest.TestCase):
    """A session's date stands with its first chosen message, whoever says it, and is paid for once."""

    def contents(self, order, room=1000):
        turns = [{"user": f"[day {session}] user {number}", "assistant": f"reply {number}", "session": str(session),
                  "date": f"day {session}"} for number, session in enumerate((1, 1, 2))]
        return [message["content"] for message in fill_messages(case("q", *turns, room=room), count, order)["messages"]]

    def test_a_date_is_lost_or_shown_twice(self):
        for order, expected in (([0, 2, 4], ["[day 1] user 0", "user 1", "[day 2] user 2", "q"]),
                                ([3, 5], ["[day 1] reply 1\n\n[day 2] reply 2", "q"]),
                                ([2, 1, 0], ["[day 1] user 0", "reply 0", "user 1", "q"])):
            self.assertEqual(self.contents(order), expected)

    def test_a_date_is_paid_for_twice(self):
        room = count([{"content": text} for text in ("[day 1] user 0", "user 1", "q")])
        self.assertEqual([len(self.contents([2, 0], room=given)) for given in (room, room - 1)], [3, 2])

    def test_a_date_is_put_where_the_text_has_none_or_hidden_from_the_score(self):
        turn = {"user": "harbour", "assistant": "", "session": "1", "date": "day 1"}
        self.assertEqual(fill_messages(case("q", turn), count, [0])["messages"][0]["content"], "harbour")
        dated = {**turn, "user": "[day 1] harbour", "assistant": "ok"}
        self.assertEqual(list(map(text_and_date, units([dated]))), [("harbour", "day 1"), ("ok", "")])


class Costs(unittest.TestCase):
    """Whatever the way costs are found, the same is chosen as by counting each candidate request anew."""

    def compare(self, counter, given, order):
        chosen = fill_messages(given, counter, order)
        self.assertEqual(chosen, fill_messages(given, lambda messages: counter(messages), order))  # no `part`
        self.assertLessEqual(chosen["input_tokens"], available(given))
        self.assertEqual(chosen["input_tokens"], getattr(counter, "full", counter)(chosen["messages"]))
        return chosen

    def compare_random(self, counter, rounds):
        rng = random.Random(3)
        for _ in range(rounds):
            given = random_case(rng, counter)
            self.compare(counter, given, rng.sample(range(len(units(given["history"]))), len(units(given["history"]))))

    def test_a_counter_that_adds_up_runs_chooses_otherwise(self):
        self.compare_random(Adding(), 200)

    @needs_tokenizer
    @mock.patch("tokenizer.MANY", -1)  # no line about whole counts among the tests' dots
    def test_the_model_itself_chooses_otherwise(self):
        self.compare_random(counter(), 40)

    @needs_tokenizer
    def test_what_stands_behind_a_blank_reply_costs_what_it_did_when_something_comes_before_it(self):
        turns = [{"user": "Which?", "assistant": "dogs."}, {"user": "Lagos", "assistant": "  "},
                 {"user": "x", "assistant": "lights"}]
        dated = [{**turn, "user": f"[day 1] {turn['user']}", "session": "1", "date": "day 1"} for turn in turns]
        for turns, order in ((turns, [1, 3, 5, 2]), (dated, [0, 3, 5, 2]), (dated, [3, 5, 2])):
            needed = fill_messages(case("q", *turns), counter(), order)["input_tokens"]
            chosen = self.compare(counter(), case("q", *turns, room=needed), order)
            self.assertEqual(chosen["input_tokens"], needed)

    def test_a_cost_that_depends_on_more_than_the_neighbours_is_believed(self):
        class Farther(Adding):
            def __call__(self, messages):  # a template that writes something before the third message from the end
                return super().__call__(messages) + 5 * (len(messages) > 3)

        chosen = self.compare(Farther(), case("q", "a b", "c d", "e f", room=12), [0, 2, 4, 1])
        self.assertEqual((chosen["input_tokens"], len(chosen["messages"])), (8, 3))

    def test_a_text_that_only_the_whole_request_can_count_is_left_out(self):
        class Unsure(Adding):
            def part(self, runs):
                return [None if any("harbour" in message["content"] for message in run) else count(run) for run in runs]

        chosen = self.compare(Unsure(), case("q", "harbour one", "two", room=9), [1, 0, 3, 2])
        self.assertEqual(len(chosen["messages"]), 3)


def random_case(rng, counter):
    turns = []
    for number in range(rng.randrange(7)):
        day, lengths = f"day {rng.randrange(3)}", range(1, 9)
        user, assistant, result_text = (random_text(rng, WORDS, lengths) for _ in range(3))
        turn = {"user": f"[{day}] " * rng.randrange(2) + user + "u", "assistant": rng.choice(["", "  ", assistant]),
                "session": day[-1:], "date": day}
        turns.append({**turn, "messages": [CALL, result(result_text)]} if rng.random() < 0.3 else turn)
    given = case("harbour", *turns)
    given["instructions"] = rng.choice(["", "Be brief."])
    fewest = counter([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "harbour"}])
    given["budget"]["context_limit"] = 30 + fewest + rng.randrange(90)
    return given
