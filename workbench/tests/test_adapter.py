"""What a program could be given wrongly: a call without its result, a request over budget, its own messages changed."""

import contextlib
import copy
import json
import random
import tempfile
import unittest
from pathlib import Path

from base.command import InputError
from base.tests.made import broken
from base.turns import MessageError, calls_of, text_of
from strategies import STRATEGIES
from tokens.manifest import folder
from workbench.adapter import BudgetError, choose, choose_messages, main
from workbench.tests.made import CALL, CHAT, run

PAST = [*CHAT[:5], {"role": "user", "content": "Thanks. We must keep the port at 80."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "What about the disk?"}]}]
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
        for strategy in (*STRATEGIES, STRATEGIES["recent"]):
            self.assertEqual(self.chosen(10_000, strategy), PAST)

    def test_joined_messages_lose_their_call_or_get_that_of_another_turn_with_its_id(self):
        again = {**CALL, "function": {"name": "look", "arguments": '{"at": "the mails"}'}}
        said = {"role": "assistant", "content": "I look."}
        turns = [[PAST[1], said, {**PAST[2], "tool_calls": [call]}, PAST[3]] for call in (CALL, again)]
        got = self.chosen(10_000, "recent", [*turns[0], *turns[1], PAST[-1]])
        self.assertEqual([message for message in got if "tool_calls" in message],
                         [{**said, "tool_calls": [CALL]}, {**said, "tool_calls": [again]}])

    def test_a_refusal_is_sent_as_the_text_that_was_counted(self):
        refused = [*PAST[:-2], {"role": "assistant", "content": None, "refusal": "I cannot."}, PAST[-1]]
        self.assertEqual(self.chosen(10_000, "recent", refused)[-2], {"role": "assistant", "content": "I cannot."})

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

    def test_tools_are_not_counted(self):
        plain, sent = (choose(PAST, 10_000, "relevant", count=count_words, tools=tools)["tokens"]
                       for tools in (None, TOOLS))
        self.assertEqual(sent - plain, count_words([], TOOLS))
        with self.assertRaises(BudgetError):
            self.chosen(count_words(PAST[-1:]) + count_words(PAST[:1]), tools=TOOLS)

    def test_what_follows_the_question_is_always_kept(self):
        running = [*PAST, {**PAST[2], "tool_calls": [{**CALL, "id": "c2"}]}, {**PAST[3], "tool_call_id": "c2"}]
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

    def test_a_function_that_is_no_strategy_is_not_named(self):
        with self.assertRaisesRegex(InputError, "the strategy: "):
            self.chosen(10_000, lambda case, count: [], fill=False)


class Refused(unittest.TestCase):
    def test_a_budget_below_what_must_be_sent_or_no_user_message(self):
        with self.assertRaisesRegex(BudgetError, "the budget is 5"):
            choose_messages(PAST, 5, count=count_words)
        for wrong in ([], PAST[:1], [PAST[3]], ["text"], [{"role": "function"}]):
            with self.subTest(wrong=wrong), self.assertRaises(MessageError):
                choose_messages(wrong, 1000, count=count_words)


class Filled(unittest.TestCase):
    def test_the_bare_rule_is_filled(self):
        got = choose_messages(PAST, 10_000, "relevant", count=count_words, fill=False)
        self.assertEqual(got, [*PAST[:5], PAST[-1]])

    def test_room_that_the_rule_leaves_goes_to_the_newest_turns(self):
        says = [{"role": "user", "content": f"word{number} " * 10} for number in range(9)]
        disk = {"role": "user", "content": "disk"}
        messages = [says[0], disk, *says[1:], PAST[-1]]
        whole = count_words(messages)
        got = choose(messages, whole - 25, "relevant", count=count_words)
        self.assertEqual(got["messages"], [disk, *says[3:], PAST[-1]])
        self.assertEqual((got["tokens"], [part["messages"] for part in got["left_out"]]),
                         (count_words(got["messages"]), [[0], [2], [3]]))

    def test_single_messages_come_back_as_turns_or_in_the_lab_s_form(self):
        for empty in ("", None):  # what an assistant says beside its calls
            def single(case, count, empty=empty):
                user, (call, result) = case["history"][0]["user"], case["history"][0]["messages"]
                messages = [{"role": "user", "content": user}, {**call, "content": empty}, result,
                            {"role": "user", "content": case["current"]}]
                return {"messages": messages, "turns": [0], "notes": 0, "input_tokens": count(messages)}

            got = choose(PAST, count_words(PAST) - 1, single, count=count_words)
            self.assertEqual([*got["messages"][:2], *got["messages"][3:]], [*PAST[:2], PAST[3], PAST[-1]])
            self.assertEqual((got["messages"][2]["tool_calls"], got["messages"][2]["content"] or ""), ([CALL], ""))
            self.assertEqual([part["messages"] for part in got["left_out"]], [[4], [5, 6]])


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500}}


class Knows:
    """A double of the counter that knows one control token."""

    control_token = staticmethod(lambda text: "<|turn>" if "<|turn>" in text else None)

    def __call__(self, messages, tools=None):
        assert "<|turn>" not in json.dumps(messages)
        return count_words(messages, tools)


ODD = {  # what follows a user message, or stands in it, in ordinary chats
    "a picture": [{"role": "user", "content": [{"type": "text", "text": "What disk is it?"}, PICTURE]}],
    "a picture alone": [{"role": "user", "content": [PICTURE]}],
    "a cut-off call": [PAST[1], PAST[2]],
    "arguments that are no JSON": [PAST[1], {**PAST[2], "tool_calls": [
        {**CALL, "function": {"name": "look", "arguments": '{"at": '}}]}, PAST[3]],
    "a result of no call": [PAST[1], PAST[3]],
    "a system message": [PAST[1], PAST[0]],
    "an unknown role": [PAST[1], {"role": "function", "name": "look", "content": "x"}],
    "a call of the older form": [
        PAST[1], {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}],
    "a control token": [{"role": "user", "content": "What does <|turn> do?"}],
    "a control token in a call": [PAST[1], {**PAST[2], "tool_calls": [{**CALL, "id": "<|turn>"}]},
                                  {**PAST[3], "tool_call_id": "<|turn>"}],
    "half a character": [{"role": "user", "content": "x \ud800"}], "no content": [{"role": "user", "content": 3}],
    "no message": [PAST[1], "text"],
}


class Ordinary(unittest.TestCase):
    def test_a_turn_that_cannot_be_read_or_counted_fails_the_request(self):
        for name, turn in ODD.items():
            with self.subTest(name):
                messages = [*PAST[:5], *turn, *PAST[5:]]
                got = choose(messages, 10_000, count=Knows())
                self.assertEqual(got["messages"], PAST)
                self.assertEqual([part["messages"] for part in got["left_out"]], [list(range(5, 5 + len(turn)))])
                self.assertEqual((got["tokens"], "uncounted" in got), (count_words(PAST), False))

    def test_the_last_turn_is_not_passed_on_or_its_allowance_is_not_kept_free(self):
        for name, turn in ODD.items():
            with self.subTest(name):
                messages = [*PAST, *turn]
                got = choose(messages, 10_000, count=Knows(), allowance=300)
                self.assertEqual((got["messages"], len(got["uncounted"])), (messages, 1))
                self.assertGreaterEqual(got["tokens"], count_words(PAST) + 300)
                self.assertLess(got["tokens"], 500)  # the picture's own text is no text
                tight = choose(messages, got["tokens"] - 20, count=Knows(), allowance=300)
                self.assertEqual(tight["messages"][-len(turn):], turn)
                self.assertLess(len(tight["messages"]), len(messages))
                for wrong, budget, allowance in ((BudgetError, 300, 300), (InputError, 300, -300)):
                    with self.assertRaises(wrong):
                        choose(messages, budget, count=Knows(), allowance=allowance)

    def test_notes_beside_a_picture_replace_it(self):
        long = [*PAST[:6], {"role": "assistant", "content": "word " * 500}, *ODD["a picture"]]
        asked = choose_messages(long, 90, "notes", count=Knows())[-1]["content"]
        self.assertEqual(asked[1:], ODD["a picture"][0]["content"])
        self.assertIn("- [turn 2, user] We must keep the port at 80.", asked[0]["text"])
        token = choose_messages([*long[:-1], *ODD["a control token"]], 90, "notes", count=Knows())[-1]["content"]
        self.assertTrue(token.endswith("Question: What does <|turn> do?"), token)

    def test_a_system_message_that_cannot_be_counted_or_a_greeting_before_the_first_user_message_fails(self):
        front = {"role": "system", "content": [PICTURE]}
        got = choose([front, *PAST[1:]], 10_000, count=Knows())
        self.assertEqual((got["messages"], len(got["uncounted"])), ([front, *PAST[1:]], 1))
        got = choose([PAST[0], PAST[4], *PAST[1:]], 10_000, count=Knows())
        self.assertEqual((got["messages"], got["left_out"][0]["messages"]), (PAST, [1]))

    def test_broken_messages_raise(self):
        for seed in range(600):
            messages = broken(PAST, random.Random(seed))
            with self.subTest(seed=seed), contextlib.suppress(MessageError):
                choose(messages, 10**6, "recent", count=Knows())


@unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
class WithTheTokenizer(unittest.TestCase):
    def test_the_exact_count_of_what_is_sent_is_within_every_budget(self):
        from tokenizer import counter

        for name in STRATEGIES:
            for budget in range(150, 320, 10):
                with contextlib.suppress(BudgetError):
                    got = choose_messages(PAST, budget, name, TOOLS)
                    sent = [{**message, "content": text_of(message), **(
                        {"tool_calls": calls_of(message)} if "tool_calls" in message else {})} for message in got]
                    self.assertLessEqual(counter().full(sent, TOOLS), budget)

    def test_the_command_prints_the_chosen_messages(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "conversation.json"
            path.write_text(json.dumps({"messages": PAST, "tools": TOOLS}), encoding="utf-8")
            status, out, err = run(main, path, "--budget", "2000")
        self.assertEqual((status, json.loads(out)), (0, PAST))
        self.assertIn("8 of 8 messages", err)
