"""What a survey could get wrong: a prefix that the whole request does not have, a failure counted as sent."""

import json
import re
import unittest
from pathlib import Path

from base.tests.made import Files, needs_tokenizer, run
from strategies import STRATEGIES
from tokenizer import CountError, counter
from workbench.survey import Tokens, common_prefix, main, survey
from workbench.tests.made import CALL, labelled_case


class WordCounter:
    """A double: a message is "<", its role, its words, ">"; each is one token, and a request ends with "<", "model".

    token: what one is; template: (text, messages) -> how another template writes them
    """

    control_tokens, rendered = ["<", ">"], 0

    def __init__(self, token=r"[<>]|[^<>\s]+", template=lambda text, messages: text, sums=True):
        self.token, self.template, self.sums = token, template, sums

    def text(self, messages, tools=None):
        self.rendered += len(messages)
        written = "".join(f"<{message['role']} {message['content']}>" for message in messages) + "<model"
        return self.template(written, messages)

    def ids(self, texts):
        return [re.findall(self.token, text) for text in texts]

    def __call__(self, messages, tools=None):
        rendered, tokens = self.rendered, len(self.ids([self.text(messages)])[0])
        self.rendered = rendered  # what a rule counts while it chooses is not the survey's
        return tokens


def forgetful(text, messages):
    """The template of a double that writes long requests in another way, of as many tokens."""
    return text.replace("assistant", "reply") if len(messages) > 5 else text


def alternating(text, messages):
    """The template of a double that refuses two messages of one role in a row."""
    roles = [message["role"] for message in messages]
    if any(role == following for role, following in zip(roles, roles[1:])):
        raise CountError("roles must alternate")
    return text


def talk(*words, instructions="Be brief"):
    return ("talk", instructions, [{"user": word, "assistant": f"{word}!"} for word in words])


# By hand: "Be brief" costs 5 (<, system, Be, brief, >), each message 4, the end 2. The requests of `recent`:
#   a          5 + 4 + 2 = 11
#   a a! b     5 + 12 + 2 = 19: shares instructions, a and "<" with the one before, 5 + 4 + 1 = 10; then "assistant"
#   a … c      27: shares 5 + 12 + 1 = 18
#   a … d      35: shares 5 + 20 + 1 = 26
# Where "><" is one token: instructions 4, messages 3 each, and "<" first: a a! b shares 1 + 3 + 1 + 2 + 1.


class ByHand(unittest.TestCase):
    def surveyed(self, budget, count=None, rule="recent", select=STRATEGIES["recent"], **options):
        """(requests that fit whole, that never fit, the rule's figures)."""
        level = survey([talk(*"abcd")], {rule: select}, [budget], count or WordCounter(), **options)[budget]
        return level["fit_whole"], level["never_fit"], list(level["rules"][rule].values())

    def test_the_figures_are_other_than_those_counted_by_hand(self):
        every = (4, 0, [4, 0, 6, 6, 11 + 19 + 27 + 35, 10 + 18 + 26])
        for told, budget, count, figures in (
                ("all that fits is cached but what is new", 100, WordCounter(), every),
                ("a count that is no sum", 100, WordCounter(sums=False), every),
                ("a template that wants turns by turns", 100, WordCounter(template=alternating), every),
                # one turn of 8 tokens fits beside the question: a; a b; b c; c d. b c after a b: "<", "user" stand
                # behind the instructions of both, then b differs from a
                ("a window that slides keeps the instructions alone", 19, WordCounter(),
                 (2, 0, [4, 0, 6, 3, 11 + 19 + 19 + 19, 10 + 7 + 7])),
                ("a tokenizer that joins parts", 100, WordCounter(r"><|[<>]|[^<>\s]+"),
                 (4, 0, [4, 0, 6, 6, 9 + 15 + 21 + 27, 8 + 14 + 20])),
                ("a question alone fits", 11, WordCounter(), (1, 0, [4, 0, 6, 0, 4 * 11, 3 * 7])),
                ("a question that never fits is no request", 10, WordCounter(), (0, 4, [0] * 6))):
            with self.subTest(told):
                self.assertEqual(self.surveyed(budget, count), figures)

    def test_a_short_prefix_or_the_rest_of_a_block_is_cached(self):
        self.assertEqual(self.surveyed(100, least=18)[2][-1], 18 + 26)
        self.assertEqual(self.surveyed(100, least=18, block=8)[2][-1], 16 + 24)
        self.assertEqual(self.surveyed(100, least=19, block=8)[2][-1], 24)

    def test_parts_of_an_earlier_request_are_rendered_again(self):
        count = WordCounter()
        survey([talk(*(f"w{number}" for number in range(40)), instructions="")], {"recent": STRATEGIES["recent"]},
               [10_000], count)
        self.assertLess(count.rendered, 500)  # 1,600 where each request is rendered whole

    def test_parts_that_are_not_the_whole_are_taken(self):
        with self.assertRaisesRegex(ValueError, "'talk': its parts have other tokens than the whole"):
            self.surveyed(100, WordCounter(template=forgetful))

    def test_a_rule_that_gives_no_request_is_counted_as_sent(self):
        def broken(case, count):
            raise ValueError("no")

        self.assertEqual(self.surveyed(100, rule="mine.py:broken", select=broken)[2], [0, 4, 0, 0, 0, 0])

    def test_a_common_prefix_is_of_parts_and_not_of_tokens(self):
        for parts, before, shared in (([[1, 2], [3]], [[1, 2], [4]], 2), ([[1]], [], 0),
                                      ([[1, 2, 3], [4, 5]], [[1], [2, 3, 4], [6]], 4)):
            self.assertEqual(common_prefix(parts, before), shared)


class Command(Files):
    @needs_tokenizer
    def test_parts_are_other_than_the_tokens_of_the_whole_request_for_the_pinned_model(self):
        count = counter()
        tokens = Tokens(count)
        call = {**CALL, "function": {"name": "ls", "arguments": {"path": "日本"}}}
        said = [{"role": "user", "content": "List it "}, {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
                {"role": "assistant", "content": "Zwei Dateien"}]
        for head in ([], [{"role": "system", "content": "Be brief."}]):
            messages = [*head, *said, *said, {"role": "user", "content": "And now?"}]
            chosen = {"messages": messages, "input_tokens": count(messages)}
            parts = tokens.parts(chosen)
            self.assertGreater(len(parts), 3)
            tokens.check(chosen, parts)

    @needs_tokenizer
    def test_a_log_and_a_case_set_of_the_same_conversation_are_surveyed_otherwise(self):
        said = [{"role": "user", "content": "Port 80."}, {"role": "assistant", "content": "Noted."},
                {"role": "user", "content": "Which port?"}]
        case = labelled_case(current="Which port?", history=[{"user": "Port 80.", "assistant": "Noted."}],
                             required=["Port 80."])
        log, cases = (json.loads(run(main, self.write("log.json", value))[1]) for value in ({"messages": said}, [case]))
        self.assertEqual(log["budgets"], cases["budgets"])
        self.assertEqual((log["user_turns"], log["left_out"]), (2, {}))
        both = [{**case, "id": name, "history": "h"} for name in ("one", "two")]  # whose question would be the next?
        path = self.write("both.json", {"format": 1, "histories": {"h": case["history"]}, "cases": both})
        self.assertEqual(json.loads(run(main, path)[1])["user_turns"], 1)

    @needs_tokenizer
    def test_the_sample_lacks_what_a_log_can_bring(self):
        sample = Path(__file__).parents[1] / "sample" / "chat.jsonl"
        report = json.loads(run(main, sample, "--budget", "128,1024", "--strategies", "recent,relevant")[1])
        self.assertEqual((report["conversations"], report["left_out"]), (12, {"turn left out": 1}))  # a picture
        self.assertEqual([level["never_fit"] for level in report["budgets"].values()], [1, 1])  # a pasted list
        self.assertGreater(report["budgets"]["1024"]["fit_whole"], report["budgets"]["128"]["fit_whole"])

    def test_what_cannot_be_surveyed_is_a_traceback(self):
        for text, *options in (["nothing"], ["[]"], ['{"messages": []}'], ["{}", "--block", "0"],
                               ["{}", "--least", "-1"], ["{}", "--strategies", "gone"]):
            with self.subTest(text, options=options):
                self.refused(".", main, self.write("log.jsonl", text), *options)
