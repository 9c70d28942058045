"""What filling by messages could get wrong: a cost that is not the request's, a date lost or shown twice."""

import random
import unittest

from base.tests.made import needs_tokenizer
from selection.retrievers import fill_messages, joined, text_and_date, units
from selection.tests.made import Adding, case, count
from strategies import available

WORDS = ["harbour", "lights", "Lagos", "dogs.", "\n\nso", " x ", "naïve", "東京", "{}", "12,5"]
CALL = {"role": "assistant", "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": {"path": "a"}}}]}


class Units(unittest.TestCase):
    def test_a_tool_call_loses_its_results(self):
        results = [{"role": "tool", "tool_call_id": "c", "content": text} for text in ("one", "two")]
        turn = {"user": "look", "assistant": "Done.", "messages": [CALL, *results]}
        self.assertEqual([(unit.turn, len(unit.messages)) for unit in units([turn, turn])],
                         [(0, 1), (0, 3), (0, 1), (1, 1), (1, 3), (1, 1)])

    def test_replies_that_come_to_stand_side_by_side_are_left_to_the_template(self):
        given = case("harbour", *({"user": "cats", "assistant": f"harbour {number}"} for number in ("one", "two")))
        messages = fill_messages(given, count, [3, 1])["messages"]
        self.assertEqual(messages[0], {"role": "assistant", "content": "harbour one\n\nharbour two"})

    def test_a_reply_is_joined_to_a_tool_call(self):
        reply = {"role": "assistant", "content": "a"}
        self.assertEqual(joined([reply, CALL, reply, reply]),
                         [reply, CALL, {"role": "assistant", "content": "a\n\na"}])

    def test_a_message_brings_its_turn_along(self):
        given = case("harbour", {"user": "harbour", "assistant": "long " * 30}, "cats", room=6)
        chosen = fill_messages(given, count, [1, 0])
        self.assertEqual([message["content"] for message in chosen["messages"]], ["harbour", "harbour"])
        self.assertEqual((chosen["turns"], chosen["input_tokens"]), ([0], 4))


class Dates(unittest.TestCase):
    """A session's date stands with its first chosen message, whoever says it, and is paid for once."""

    def shown(self, order, room=1000, sessions=(1, 1, 2)):
        turns = [{"user": f"[day {session}] user {number}", "assistant": f"reply {number}", "session": str(session),
                  "date": f"day {session}"} for number, session in enumerate(sessions)]
        return [message["content"] for message in fill_messages(case("q", *turns, room=room), count, order)["messages"]]

    def test_a_date_is_lost_or_shown_twice(self):
        self.assertEqual(self.shown([0, 2, 4]), ["[day 1] user 0", "user 1", "[day 2] user 2", "q"])
        self.assertEqual(self.shown([3, 5]), ["[day 1] reply 1\n\n[day 2] reply 2", "q"])

    def test_a_message_before_the_dated_one_leaves_the_date_where_it_was(self):
        self.assertEqual(self.shown([2, 1, 0]), ["[day 1] user 0", "reply 0", "user 1", "q"])

    def test_a_date_is_paid_for_twice(self):
        room = count([{"content": text} for text in ("[day 1] user 0", "user 1", "q")])
        self.assertEqual([len(self.shown([2, 0], room=given)) for given in (room, room - 1)], [3, 2])

    def test_a_turn_without_its_date_in_its_text_is_changed(self):
        given = case("q", {"user": "harbour", "assistant": "", "session": "1", "date": "day 1"})
        self.assertEqual(fill_messages(given, count, [0])["messages"][0]["content"], "harbour")

    def test_a_date_is_hidden_from_the_score(self):
        turn = {"user": "[day 1] harbour", "assistant": "ok", "session": "1", "date": "day 1"}
        self.assertEqual(list(map(text_and_date, units([turn]))), [("harbour", "day 1"), ("ok", "")])


class Costs(unittest.TestCase):
    """Whatever the way costs are found, the same is chosen as by counting each candidate request anew."""

    def compare(self, counter, rounds):
        rng = random.Random(3)
        for _ in range(rounds):
            given = random_case(rng, counter)
            order = rng.sample(range(len(units(given["history"]))), len(units(given["history"])))
            chosen = fill_messages(given, counter, order)
            self.assertEqual(chosen, fill_messages(given, lambda messages: counter(messages), order))  # no `part`
            self.assertLessEqual(chosen["input_tokens"], available(given))
            self.assertEqual(chosen["input_tokens"], getattr(counter, "full", counter)(chosen["messages"]))

    def test_a_counter_that_adds_up_runs_chooses_otherwise(self):
        self.compare(Adding(), 300)

    @needs_tokenizer
    def test_the_model_itself_chooses_otherwise(self):
        from tokenizer import counter

        self.compare(counter(), 60)

    def test_a_cost_that_depends_on_more_than_the_neighbours_is_believed(self):
        class Farther(Adding):
            def __call__(self, messages):  # a template that writes something before the third message from the end
                return super().__call__(messages) + 5 * (len(messages) > 3)

        given = case("q", "a b", "c d", "e f", room=12)
        chosen = fill_messages(given, Farther(), [0, 2, 4, 1])
        self.assertEqual((chosen["input_tokens"], len(chosen["messages"])), (8, 3))
        self.assertEqual(chosen, fill_messages(given, lambda messages: Farther()(messages), [0, 2, 4, 1]))

    def test_a_text_that_only_the_whole_request_can_count_is_left_out(self):
        class Unsure(Adding):
            def part(self, runs):
                return [None if any("harbour" in message["content"] for message in run) else count(run) for run in runs]

        given = case("q", "harbour one", "two", room=9)
        order = [1, 0, 3, 2]
        self.assertEqual(fill_messages(given, Unsure(), order), fill_messages(given, count, order))


def random_case(rng, counter):
    turns = []
    for number in range(rng.randrange(7)):
        session = rng.randrange(3)
        turn = {"user": f"[day {session}] " * rng.randrange(2) + random_text(rng) + "u", "session": str(session),
                "assistant": rng.choice(["", "  ", random_text(rng)]), "date": f"day {session}"}
        if rng.random() < 0.3:
            turn["messages"] = [CALL, {"role": "tool", "tool_call_id": "c", "content": random_text(rng)}]
        turns.append(turn)
    given = case("harbour", *turns)
    given["instructions"] = rng.choice(["", "Be brief."])
    fewest = counter([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "harbour"}])
    given["budget"]["context_limit"] = fewest + rng.randrange(90)
    return given


def random_text(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 9)))


if __name__ == "__main__":
    unittest.main()
