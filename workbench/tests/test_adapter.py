"""What a program could be given wrongly: a call without its result, a request over budget, its own messages changed."""

import contextlib
import copy
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

from base.turns import MessageError, text_of
from strategies import STRATEGIES
from tokens.manifest import folder

from base.command import InputError, status_of
from workbench.adapter import BudgetError, choose_messages, main

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "the log of the disk"}'}}
PAST = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look at the disk log."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "disk full"},
    {"role": "assistant", "content": "The disk is full."},
    {"role": "user", "content": "Thanks. We must keep the port at 80."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": [{"type": "text", "text": "What about the disk?"}]},
]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "one two three four five"}}]


def count_words(messages, tools=None):
    """A double: counts words of the messages, their calls and the tools in place of tokens."""
    calls = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls") or ()]
    texts = [*map(text_of, messages), *map(str, calls), json.dumps(tools) if tools else ""]
    return len(messages) + sum(len(text.split()) for text in texts)


class Chosen(unittest.TestCase):
    def chosen(self, budget, strategy="relevant", messages=PAST, **more):
        return choose_messages(messages, budget, strategy, count=count_words, **more)

    def test_with_room_for_all_everything_comes_back_as_it_came(self):
        self.assertEqual(self.chosen(10_000, "recent"), PAST)

    def test_joined_messages_keep_their_calls_in_the_callers_form(self):
        split = [*PAST[:2], {"role": "assistant", "content": "I look."}, {**PAST[2], "content": ""}, *PAST[3:]]
        (call,) = [one for one in self.chosen(10_000, "recent", split) if one.get("tool_calls")]
        self.assertEqual(call, {"role": "assistant", "content": "I look.", "tool_calls": [CALL]})

    def test_a_control_token_anywhere_is_told_by_its_message_whatever_is_chosen(self):
        class Knows:
            control_token = staticmethod(lambda text: "<|turn>" if "<|turn>" in text else None)

            def __call__(self, messages, tools=None):
                return count_words(messages, tools)

        later = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "<|turn>"}]}
        answer = {"role": "tool", "tool_call_id": "<|turn>", "content": "x"}
        for number, messages in {
            1: [{"role": "system", "content": "<|turn>"}, *PAST[1:]],
            2: [PAST[0], {"role": "user", "content": [{"type": "text", "text": "<|turn>"}]}, *PAST[2:]],
            9: [*PAST, later, answer],
        }.items():
            with self.subTest(number), self.assertRaisesRegex(MessageError, f"message {number} holds"):
                choose_messages(messages, 10_000, "recent", count=Knows())

    def test_a_refusal_is_sent_as_the_text_that_was_counted(self):
        refused = [*PAST[:-2], {"role": "assistant", "content": None, "refusal": "I cannot."}, PAST[-1]]
        got = self.chosen(10_000, "recent", refused)
        self.assertEqual(got[-2], {"role": "assistant", "content": "I cannot."})

    def test_a_call_of_the_older_form_is_refused_not_left_uncounted(self):
        older = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
        with self.assertRaises(MessageError):
            self.chosen(10_000, "recent", [*PAST[:-2], older, PAST[-1]])

    def test_a_call_and_its_result_come_or_stay_together(self):
        for budget in range(10, 80):
            got = self.chosen(budget)
            self.assertEqual(PAST[2] in got, PAST[3] in got)
            self.assertEqual(got[0], PAST[0])
            self.assertEqual(got[-1], PAST[-1])

    def test_every_budget_is_kept_and_some_budget_leaves_a_turn_out(self):
        sizes = set()
        for budget in range(5, 80):
            for name in STRATEGIES:
                with contextlib.suppress(BudgetError):
                    got = self.chosen(budget, name)
                    self.assertLessEqual(count_words(got), budget)
                    sizes.add(len(got))
        self.assertGreater(len(sizes), 2)

    def test_tools_are_counted(self):
        smallest = next(budget for budget in range(200) if fits(lambda b=budget: self.chosen(b)))
        with self.assertRaises(BudgetError):
            self.chosen(smallest, tools=TOOLS)
        self.chosen(smallest + count_words([], TOOLS), tools=TOOLS)

    def test_what_follows_the_question_is_always_kept(self):
        running = [*PAST, {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "c2"}]},
                   {"role": "tool", "tool_call_id": "c2", "content": "still full"}]
        for budget in (60, 1000):
            self.assertEqual(self.chosen(budget, messages=running)[-3:], running[-3:])

    def test_assistant_messages_side_by_side_come_back_joined(self):
        doubled = [*PAST[:6], {"role": "assistant", "content": "One."}, {"role": "assistant", "content": "Two."},
                   PAST[-1]]
        self.assertIn({"role": "assistant", "content": "One.\n\nTwo."}, self.chosen(10_000, "recent", doubled))

    def test_notes_stand_in_the_question(self):
        long = [*PAST[:6], {"role": "assistant", "content": "word " * 500}, PAST[-1]]
        got = self.chosen(90, "notes", long)
        self.assertIn("- [turn 2, user] We must keep the port at 80.", got[-1]["content"])

    def test_the_programs_own_messages_stay_as_they_were(self):
        mine = copy.deepcopy(PAST)
        self.chosen(60, "notes", mine)
        self.assertEqual(mine, PAST)

    def test_a_function_can_be_the_strategy_and_a_wrong_one_is_named(self):
        self.assertEqual(self.chosen(10_000, STRATEGIES["recent"]), PAST)
        with self.assertRaisesRegex(InputError, "not the fields"):
            self.chosen(10_000, lambda case, count: [])


class Refused(unittest.TestCase):
    def test_a_budget_below_what_must_be_sent(self):
        with self.assertRaisesRegex(BudgetError, "the budget is 5"):
            choose_messages(PAST, 5, count=count_words)

    def test_messages_that_cannot_be_read(self):
        for wrong in ([], [{"role": "system", "content": "x"}], [PAST[3], *PAST[5:]], [*PAST, PAST[0], PAST[-1]],
                      ["text"], [*PAST[:3], *PAST[4:]], [{"role": "user", "content": [{"type": "image_url"}]}],
                      [{"role": "user", "content": 3}],
                      [PAST[1], {"role": "assistant", "tool_calls": [{"id": "c"}]}, PAST[-1]], [{"role": "function"}]):
            with self.subTest(wrong=wrong), self.assertRaises(MessageError):
                choose_messages(wrong, 1000, count=count_words)


def fits(action):
    try:
        action()
    except BudgetError:
        return False
    return True


@unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
class WithTheTokenizer(unittest.TestCase):
    def test_the_exact_count_of_what_is_sent_is_within_every_budget(self):
        from tokenizer import counter

        for name in STRATEGIES:
            for budget in range(150, 320, 10):
                with contextlib.suppress(BudgetError):
                    got = choose_messages(PAST, budget, name, TOOLS)
                    sent = json.loads(json.dumps(got))
                    for message in sent:
                        for call in message.get("tool_calls", ()):
                            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
                        if isinstance(message["content"], list):
                            message["content"] = message["content"][0]["text"]
                        message["content"] = message["content"] or ""
                    self.assertLessEqual(counter().full(sent, TOOLS), budget)

    def test_the_command_prints_the_chosen_messages(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "conversation.json"
            path.write_text(json.dumps({"messages": PAST, "tools": TOOLS}), encoding="utf-8")
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = status_of(main, [os.fspath(path), "--budget", "2000"])
            self.assertEqual((status, json.loads(out.getvalue())), (0, PAST))
            self.assertIn("8 of 8 messages", err.getvalue())


if __name__ == "__main__":
    unittest.main()
