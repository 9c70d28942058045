"""What a program could be given wrongly: a call without its result, a request over budget, its own messages changed."""

import copy
import json
import random
import unittest
from contextlib import suppress

from base.command import InputError
from base.tests.made import Files, changed_value, named_cases, needs_tokenizer, run
from base.turns import MessageError, calls_of, text_of
from strategies import STRATEGIES
from tokenizer import counter
from workbench.adapter import BudgetError, choose, choose_messages, main
from workbench.tests.made import CALL, CHAT, message

PAST = [*CHAT[:5], {"role": "user", "content": "Thanks. We must keep the port at 80."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "What about the disk?"}]}]
LONG = [*PAST[:6], {"role": "assistant", "content": "word " * 500}]  # over any budget here: notes are made of its turn
NOTE = "- [turn 2, user] We must keep the port at 80."
TOOLS = [{"type": "function", "function": {"name": "look", "description": "one two three four five"}}]
# what follows a user message, or stands in it, in ordinary chats
ODD = {case["name"]: list(map(message, case["turn"])) for case in named_cases(__file__, "odd-turns.json")}


def count_words(messages, tools=None):
    """A double: counts words of the messages, their calls and the tools in place of tokens."""
    calls = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls") or ()]
    texts = [*map(text_of, messages), *map(str, calls), json.dumps(tools) if tools else ""]
    return len(messages) + sum(len(text.split()) for text in texts)


class Knows:
    """A double of the counter that knows one control token."""

    control_token = staticmethod(lambda text: "<|turn>" if "<|turn>" in text else None)

    def __call__(self, messages, tools=None):
        assert "<|turn>" not in json.dumps(messages)
        return count_words(messages, tools)


def chosen(budget=10_000, strategy="relevant", messages=PAST, **more):
    return choose_messages(messages, budget, strategy, count=count_words, **more)


class Chosen(unittest.TestCase):
    def test_with_room_for_all_something_is_left_out_or_changed(self):
        def own(case, count):
            messages = [message("user: In my words: " + case["current"])]
            return {"messages": messages, "turns": [], "notes": 0, "input_tokens": count(messages)}

        for strategy in (*STRATEGIES, STRATEGIES["recent"], own):
            self.assertEqual(chosen(strategy=strategy), PAST)

    def test_joined_messages_lose_their_call_or_get_that_of_another_turn_with_its_id(self):
        again = {**CALL, "function": {"name": "look", "arguments": '{"at": "the mails"}'}}
        said = message("assistant: I look.")
        turns = [[PAST[1], said, {**PAST[2], "tool_calls": [call]}, PAST[3]] for call in (CALL, again)]
        got = chosen(messages=[*turns[0], *turns[1], PAST[-1]])
        self.assertEqual([message for message in got if "tool_calls" in message],
                         [{**said, "tool_calls": [CALL]}, {**said, "tool_calls": [again]}])

    def test_a_refusal_or_messages_side_by_side_are_sent_otherwise_than_they_were_counted(self):
        for said, sent in (([{"role": "assistant", "content": None, "refusal": "I cannot."}], "I cannot."),
                           (["assistant: One.", "assistant: Two."], "One.\n\nTwo.")):
            got = chosen(messages=[*PAST[:-2], *map(message, said), PAST[-1]])
            self.assertEqual(got[-2], message(f"assistant: {sent}"))

    def test_a_call_comes_without_its_result_or_a_budget_is_not_kept_or_leaves_no_turn_out(self):
        sizes = set()
        for budget in range(5, 80):
            for name in STRATEGIES:
                with suppress(BudgetError):
                    got = chosen(budget, name)
                    self.assertEqual((PAST[2] in got, got[0], text_of(got[-1])[-20:]),
                                     (PAST[3] in got, PAST[0], "What about the disk?"))
                    self.assertLessEqual(count_words(got), budget)
                    sizes.add(len(got))
        self.assertGreater(len(sizes), 2)

    def test_tools_are_not_counted(self):
        plain, sent = (choose(PAST, 10_000, "relevant", count=count_words, tools=tools)["tokens"]
                       for tools in (None, TOOLS))
        self.assertEqual(sent - plain, count_words([], TOOLS))
        self.assertRaises(BudgetError, chosen, count_words(PAST[-1:]) + count_words(PAST[:1]), tools=TOOLS)

    def test_what_follows_the_question_is_left_out(self):
        running = [*PAST, {**PAST[2], "tool_calls": [{**CALL, "id": "c2"}]}, {**PAST[3], "tool_call_id": "c2"}]
        for budget in (60, 1000):
            self.assertEqual(chosen(budget, messages=running)[-3:], running[-3:])

    def test_notes_stand_beside_the_question_or_replace_a_picture_in_it_or_its_own_text(self):
        picture, token = ODD["a picture"][0], ODD["a control token"][0]
        asked = choose_messages([*LONG, picture], 90, "notes", count=Knows())[-1]["content"]
        self.assertEqual((asked[1:], NOTE in asked[0]["text"]), (picture["content"], True))
        number = {"role": "user", "content": 3}
        for question, ending in ((PAST[-1], "What about the disk?"), (token, "What does <|turn> do?"), (number, "")):
            asked = choose_messages([*LONG, question], 90, "notes", count=Knows())[-1]["content"]
            self.assertIn(NOTE, asked)
            self.assertTrue(asked.endswith("Question: " + ending), asked)

    def test_the_programs_own_messages_are_changed(self):
        mine = copy.deepcopy(LONG + PAST[-1:])
        chosen(90, "notes", mine)
        self.assertEqual(mine, LONG + PAST[-1:])

    def test_what_cannot_be_chosen_is_no_clear_error(self):
        for error, told, options in (
                (BudgetError, "the budget is 5", {"budget": 5}), (InputError, "allowance of -3", {"allowance": -3}),
                (InputError, "the strategy: ", {"strategy": lambda case, count: [], "fill": False}),
                *((MessageError, "no user message", {"messages": wrong})
                  for wrong in ([], PAST[:1], [PAST[3]], ["text"], [{"role": "function"}]))):
            with self.subTest(options=options), self.assertRaisesRegex(error, told):
                chosen(**options)

    def test_the_bare_rule_is_filled_or_room_that_a_rule_leaves_goes_to_other_than_the_newest_turns(self):
        self.assertEqual(chosen(fill=False), [*PAST[:5], PAST[-1]])
        says = [message(f"user: word{number} " + f"word{number} " * 9) for number in range(9)]
        messages = [says[0], message("user: disk"), *says[1:], PAST[-1]]
        for rule in ("relevant", STRATEGIES["relevant"]):
            got = choose(messages, count_words(messages) - 25, rule, count=count_words)
            self.assertEqual(got["messages"], [message("user: disk"), *says[3:], PAST[-1]])
            self.assertEqual((got["tokens"], [part["messages"] for part in got["left_out"]]),
                             (count_words(got["messages"]), [[0], [2], [3]]))

    def test_single_messages_come_back_as_turns_or_in_the_labs_form(self):
        for empty in ("", None):  # what an assistant says beside its calls
            def single(case, count, empty=empty):
                asked, (call, result) = case["history"][0]["user"], case["history"][0]["messages"]
                asked, question = message(f"user: {asked}"), message(f"user: {case['current']}")
                messages = [asked, {**call, "content": empty}, result, PAST[6], question]
                return {"messages": messages, "turns": [0, 1], "notes": 0, "input_tokens": count(messages)}

            got = choose(PAST, count_words(PAST) - 1, single, count=count_words)
            self.assertEqual([*got["messages"][:2], *got["messages"][3:]], [*PAST[:2], PAST[3], *PAST[6:]])
            self.assertEqual((got["messages"][2]["tool_calls"], got["messages"][2]["content"] or ""), ([CALL], ""))
            self.assertEqual([part["messages"] for part in got["left_out"]], [[4], [5]])

    def test_a_turn_that_cannot_be_read_or_counted_fails_the_request_or_is_not_passed_on_when_it_is_the_last(self):
        for name, turn in ODD.items():
            with self.subTest(name):
                got = choose([*PAST[:5], *turn, *PAST[5:]], 10_000, count=Knows())
                self.assertEqual(got["messages"], PAST)
                self.assertEqual([part["messages"] for part in got["left_out"]], [list(range(5, 5 + len(turn)))])
                self.assertEqual((got["tokens"], "uncounted" in got), (count_words(PAST), False))
                got = choose([*PAST, *turn], 10_000, count=Knows(), allowance=300)
                self.assertEqual((got["messages"], len(got["uncounted"])), ([*PAST, *turn], 1))
                self.assertGreaterEqual(got["tokens"], count_words(PAST) + 300)
                self.assertLess(got["tokens"], 400)  # the picture's own text is no text
                tight = choose([*PAST, *turn], got["tokens"] - 20, count=Knows(), allowance=300)
                self.assertEqual(tight["messages"][-len(turn):], turn)
                self.assertLess(len(tight["messages"]), len([*PAST, *turn]))
                with self.assertRaises(BudgetError):
                    choose([*PAST, *turn], 300, count=Knows(), allowance=300)

    def test_a_system_message_that_cannot_be_counted_or_a_greeting_before_the_first_user_message_fails(self):
        front = {**ODD["a picture alone"][0], "role": "system"}
        got = choose([front, *PAST[1:]], 10_000, count=Knows())
        self.assertEqual((got["messages"], len(got["uncounted"])), ([front, *PAST[1:]], 1))
        got = choose([PAST[0], PAST[4], *PAST[1:]], 10_000, count=Knows())
        self.assertEqual((got["messages"], got["left_out"][0]["messages"]), (PAST, [1]))

    def test_broken_messages_raise(self):
        for seed in range(300):
            messages, rule = changed_value(LONG + PAST[-1:], random.Random(seed)), ("recent", "notes")[seed % 2]
            with self.subTest(seed=seed), suppress(MessageError, BudgetError):
                choose(messages, 120 + seed, rule, count=Knows())


class WithTheTokenizer(Files):
    @needs_tokenizer
    def test_the_exact_count_of_what_is_sent_is_over_a_budget(self):
        for name in STRATEGIES:
            for budget in range(150, 320, 10):
                with suppress(BudgetError):
                    got = choose_messages(PAST, budget, name, TOOLS)
                    sent = [{**message, "content": text_of(message), **(
                        {"tool_calls": calls_of(message)} if "tool_calls" in message else {})} for message in got]
                    self.assertLessEqual(counter().full(sent, TOOLS), budget)

    @needs_tokenizer
    def test_the_command_prints_other_than_the_chosen_messages_or_does_not_say_what_is_left_out(self):
        path = self.write("conversation.json", {"messages": [*PAST[:5], *ODD["a picture"], *PAST[5:]], "tools": TOOLS})
        status, out, err = run(main, path, "--budget", "2000")
        self.assertEqual((status, json.loads(out)), (0, PAST))
        self.assertIn("8 of 9 messages", err)
        self.assertIn("left out: message 6: a content part of type 'image_url'", err)
        self.refused("no list of messages", main, self.write("odd.json", {"messages": 3}), "--budget", "9")
        self.refused("no user message", main, self.write("none.json", []), "--budget", "9")
