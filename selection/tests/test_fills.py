import os
import random
import unittest
from pathlib import Path

from strategies import available

from selection.fills import fill_dated, fill_messages, joined, units
from selection.retrievers import VARIANTS
from selection.tests.test_retrievers import case, count

TOKENIZER = Path(os.environ.get("LAB_TOKENIZER") or Path(__file__).parents[2] / ".tokenizer")
WORDS = ["harbour", "lights", "Lagos", "dogs.", "\n\nso", " x ", "naïve", "東京", "{}", "12,5"]
CALL = {"role": "assistant", "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": {"path": "a"}}}]}


class SingleMessages(unittest.TestCase):
    def test_a_message_is_taken_without_its_turn(self):
        given = case("harbour", {"user": "harbour", "assistant": "long " * 30}, "cats", room=6)
        chosen = VARIANTS["bm25@message"](given, count)
        self.assertEqual([message["content"] for message in chosen["messages"]], ["harbour", "harbour"])
        self.assertEqual(chosen["turns"], [0])

    def test_a_tool_call_stays_with_its_results(self):
        results = [{"role": "tool", "tool_call_id": "c", "content": text} for text in ("one", "two")]
        turn = {"user": "look", "assistant": "Done.", "messages": [CALL, *results]}
        self.assertEqual([(number, len(found)) for number, found in units([turn, turn])],
                         [(0, 1), (0, 3), (0, 1), (1, 1), (1, 3), (1, 1)])

    def test_replies_that_come_to_stand_side_by_side_are_joined_by_an_empty_line(self):
        turns = [{"user": "cats", "assistant": f"harbour {number}"} for number in ("one", "two")]
        given = case("harbour", *turns)
        messages = VARIANTS["bm25@message"](given, count)["messages"]
        self.assertEqual(messages[0], {"role": "assistant", "content": "harbour one\n\nharbour two"})

    def test_a_reply_is_not_joined_to_a_tool_call(self):
        reply = {"role": "assistant", "content": "a"}
        self.assertEqual(joined([reply, CALL, reply, reply]),
                         [reply, CALL, {"role": "assistant", "content": "a\n\na"}])

    def test_nothing_that_scores_nothing_is_taken(self):
        for name, select in VARIANTS.items():
            self.assertEqual(select(case("harbour", "cats", "dogs"), count)["turns"], [], name)


class DatesOnce(unittest.TestCase):
    def dated(self, *sessions, room=1000):
        turns = [{"user": f"[day {session}] harbour {number}", "assistant": "ok", "session": str(session),
                  "date": f"day {session}"} for number, session in enumerate(sessions)]
        return case("harbour", *turns, room=room)

    def shown(self, given, order):
        return [message["content"] for message in fill_dated(given, count, order)["messages"]
                if message["role"] == "user"][:-1]

    def test_the_first_chosen_turn_of_a_session_shows_its_date_whatever_the_order(self):
        for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
            self.assertEqual(self.shown(self.dated(1, 1, 2), order),
                             ["[day 1] harbour 0", "harbour 1", "[day 2] harbour 2"])

    def test_a_date_is_paid_for_once(self):
        room = count([{"content": "[day 1] harbour 0"}, {"content": "harbour 1"}, {"content": "harbour"}]) + 2 * 2
        self.assertEqual(len(self.shown(self.dated(1, 1, room=room), [1, 0])), 2)
        self.assertEqual(len(self.shown(self.dated(1, 1, room=room - 1), [1, 0])), 1)

    def test_turns_without_a_date_stay_as_they_are(self):
        turn = {"user": "harbour", "assistant": "", "session": "1", "date": "day 1"}
        given = case("harbour", "[day 1] harbour", turn)
        self.assertEqual(self.shown(given, [1, 0]), ["[day 1] harbour", "harbour"])


class Costs(unittest.TestCase):
    """Whatever the way costs are found, the same is chosen as by counting each candidate request anew."""

    def compare(self, counter, rounds):
        rng = random.Random(3)
        for _ in range(rounds):
            given = random_case(rng, counter)
            for fill, orders in ((fill_messages, len(units(given["history"]))), (fill_dated, len(given["history"]))):
                order = rng.sample(range(orders), orders)
                chosen = fill(given, counter, order)
                self.assertEqual(chosen, fill(given, lambda messages: counter(messages), order))  # no `part`
                self.assertLessEqual(chosen["input_tokens"], available(given))
                full = getattr(counter, "full", counter)
                self.assertEqual(chosen["input_tokens"], full(chosen["messages"]))

    def test_of_a_counter_that_adds_up_runs(self):
        self.compare(Adding(), 300)

    @unittest.skipUnless((TOKENIZER / "tokenizer.json").is_file(), "no prepared tokenizer; run prepare.py")
    def test_of_the_model_itself(self):
        from tokenizer import counter

        self.compare(counter(), 60)


class Adding:
    """A double of the lab's counter with `part`."""

    def __call__(self, messages):
        return count([{"content": message.get("content") or ""} for message in messages])

    def part(self, runs):
        return [self(run) for run in runs]


def random_case(rng, counter):
    turns = []
    for number in range(rng.randrange(7)):
        session = rng.randrange(3)
        turn = {"user": f"[day {session}] " * rng.randrange(2) + random_text(rng) + "u", "session": str(session),
                "assistant": rng.choice(["", random_text(rng)]), "date": f"day {session}"}
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
