"""What a survey could get wrong: a prefix that the whole request does not have, a failure counted as sent."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from base.command import status_of
from strategies import STRATEGIES
from tokenizer import CountError, counter
from tokens.manifest import folder
from workbench.survey import Tokens, common_prefix, kept, main, survey


class WordCounter:
    """A double: a message is "<", its role, its words, ">"; each is one token, and a request ends with "<", "model"."""

    control_tokens = ["<", ">"]

    def __init__(self, sums=True):
        self.sums, self.rendered = sums, 0

    def text(self, messages, tools=None):
        self.rendered += len(messages)
        return "".join(f"<{message['role']} {message['content']}>" for message in messages) + "<model"

    def ids(self, texts):
        return [text.replace("<", " < ").replace(">", " > ").split() for text in texts]

    def __call__(self, messages, tools=None):
        rendered, tokens = self.rendered, len(self.ids([self.text(messages)])[0])
        self.rendered = rendered  # what a rule counts while it chooses is not the survey's
        return tokens


def turns(*words):
    return [{"user": word, "assistant": f"{word}!"} for word in words]


TALK = ("talk", "Be brief", turns("a", "b", "c", "d"))
# By hand: "Be brief" costs 5 (<, system, Be, brief, >), each message 4, the end 2. The requests of `recent`:
#   a          5 + 4 + 2 = 11
#   a a! b     5 + 12 + 2 = 19: shares instructions, a and "<" with the one before, 5 + 4 + 1 = 10; then "assistant"
#   a … c      27: shares 5 + 12 + 1 = 18
#   a … d      35: shares 5 + 20 + 1 = 26


class ByHand(unittest.TestCase):
    def surveyed(self, budget, count=None, rules=None, **options):
        rules = rules or {"recent": STRATEGIES["recent"]}
        return survey([TALK], rules, [budget], count or WordCounter(), **options)[budget]

    def test_all_that_fits_is_cached_but_what_is_new(self):
        for sums in (True, False):
            level = self.surveyed(100, WordCounter(sums))
            self.assertEqual((level["fit_whole"], level["never_fit"]), (4, 0))
            self.assertEqual(
                level["rules"]["recent"], {
                    "requests": 4, "failed": 0, "turns": 6, "turns_sent": 6, "tokens": 11 + 19 + 27 + 35,
                    "cached_tokens": 10 + 18 + 26})

    def test_a_window_that_slides_keeps_the_instructions_alone(self):
        level = self.surveyed(19)  # one turn of 8 tokens fits beside the question: a; a b; b c; c d
        self.assertEqual((level["fit_whole"], level["never_fit"]), (2, 0))
        # b c after a b: "<", "user" stand behind the instructions of both, then b differs from a
        self.assertEqual(
            level["rules"]["recent"], {
                "requests": 4, "failed": 0, "turns": 6, "turns_sent": 3, "tokens": 11 + 19 + 19 + 19,
                "cached_tokens": 10 + 7 + 7})

    def test_a_question_that_never_fits_is_no_request(self):
        level = self.surveyed(10)
        self.assertEqual((level["fit_whole"], level["never_fit"], level["rules"]["recent"]["requests"]), (0, 4, 0))

    def test_a_short_prefix_and_the_rest_of_a_block_are_not_cached(self):
        self.assertEqual(self.surveyed(100, least=18)["rules"]["recent"]["cached_tokens"], 18 + 26)
        self.assertEqual(self.surveyed(100, least=18, block=8)["rules"]["recent"]["cached_tokens"], 16 + 24)
        self.assertEqual([kept(300, 256, 128), kept(200, 256, 128), kept(0, 0, 1)], [256, 0, 0])

    def test_parts_of_an_earlier_request_are_not_rendered_again(self):
        count = WordCounter()
        survey([("long", "", turns(*(f"w{number}" for number in range(40))))], {"recent": STRATEGIES["recent"]},
               [10_000], count)
        self.assertLess(count.rendered, 500)  # 1,600 where each request is rendered whole

    def test_parts_that_are_not_the_whole_are_refused(self):
        class Forgetful(WordCounter):
            """A double whose template writes long requests in another way, of as many tokens."""
            def text(self, messages, tools=None):
                text = super().text(messages)
                return text.replace("assistant", "reply") if len(messages) > 5 else text

        with self.assertRaisesRegex(ValueError, "'talk': its parts have other tokens than the whole"):
            self.surveyed(100, Forgetful())

    def test_a_tokenizer_that_joins_parts_is_tokenised_whole(self):
        class Joined(WordCounter):
            """A double that takes "> <" for one token, so that parts cost more than the whole."""
            def ids(self, texts):
                return [text.replace("><", " >< ").replace("<", " < ").replace(">", " > ").replace(" >  < ",
                                                                                                   " >< ").split()
                        for text in texts]

        # instructions 4, messages 3 each, "><" between them, and "<" first: a a! b shares 1 + 3 + 1 + 2 + 1 tokens
        self.assertEqual(self.surveyed(100, Joined())["rules"]["recent"]["cached_tokens"], 8 + 14 + 20)

    def test_a_template_that_wants_turns_by_turns_is_surveyed_all_the_same(self):
        class Alternating(WordCounter):
            """A double whose template refuses two messages of one role in a row."""

            def text(self, messages, tools=None):
                roles = [message["role"] for message in messages]
                if any(one == other for one, other in zip(roles, roles[1:])):
                    raise CountError("roles must alternate")
                return super().text(messages)

        self.assertEqual(self.surveyed(100, Alternating())["rules"]["recent"]["cached_tokens"], 10 + 18 + 26)

    def test_a_rule_that_gives_no_request_is_counted_apart(self):
        def broken(case, count):
            raise ValueError("no")

        figures = self.surveyed(100, rules={"mine.py:broken": broken})["rules"]["mine.py:broken"]
        self.assertEqual((figures["requests"], figures["failed"], figures["tokens"]), (0, 4, 0))

    def test_a_common_prefix_is_of_tokens_and_not_of_parts(self):
        self.assertEqual(common_prefix([[1, 2], [3]], [[1, 2], [4]]), 2)
        self.assertEqual(common_prefix([[1, 2, 3], [4, 5]], [[1], [2, 3, 4], [6]]), 4)
        self.assertEqual(common_prefix([[1]], []), 0)


@unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
class Counted(unittest.TestCase):
    def test_parts_are_the_tokens_of_the_whole_request_for_the_pinned_model(self):
        count = counter()
        tokens = Tokens(count)
        call = {
            "role": "assistant", "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": {"path": "日本"}}}]}
        told = [{"role": "user",
                 "content": "List it "}, call, {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
                {"role": "assistant", "content": "Zwei Dateien"}]
        for head in ([], [{"role": "system", "content": "Be brief."}]):
            messages = [*head, *told, *told, {"role": "user", "content": "And now?"}]
            chosen = {"messages": messages, "input_tokens": count(messages)}
            parts = tokens.parts(chosen)
            self.assertGreater(len(parts), 3)
            tokens.check(chosen, parts)


class Command(unittest.TestCase):
    def run_on(self, text, *options):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "log.jsonl"
            path.write_text(text, encoding="utf-8")
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = status_of(main, [str(path), *options])
        return status, out.getvalue(), err.getvalue()

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_a_log_and_a_case_set_of_the_same_conversation_are_surveyed_alike(self):
        said = [{"role": "user", "content": "Port 80."}, {"role": "assistant", "content": "Noted."},
                {"role": "user", "content": "Which port?"}]
        case = {"id": "one", "split": "dev", "kind": "k", "instructions": "", "current": "Which port?",
                "history": [{"user": "Port 80.", "assistant": "Noted."}], "required": ["Port 80."], "stale": [],
                "budget": {"context_limit": 99, "max_new_tokens": 0, "margin": 0}}
        found = [json.loads(self.run_on(text)[1]) for text in (json.dumps({"messages": said}), json.dumps([case]))]
        self.assertEqual(found[0]["budgets"], found[1]["budgets"])
        self.assertEqual((found[0]["user_turns"], found[0]["left_out"]), (2, {}))

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_the_sample_holds_what_a_log_can_bring(self):
        text = (Path(__file__).parents[1] / "sample" / "chat.jsonl").read_text(encoding="utf-8")
        report = json.loads(self.run_on(text, "--budget", "128,1024", "--strategies", "recent,relevant")[1])
        self.assertEqual((report["conversations"], report["left_out"]), (12, {"turn left out": 1}))  # a picture
        self.assertEqual([level["never_fit"] for level in report["budgets"].values()], [1, 1])  # a pasted list
        self.assertGreater(report["budgets"]["1024"]["fit_whole"], report["budgets"]["128"]["fit_whole"])

    def test_what_cannot_be_surveyed_is_one_line(self):
        for text, options in (("nothing", ()), ("[]", ()), ('{"messages": []}', ()), ("{}", ("--block", "0")),
                              ("{}", ("--least", "-1")), ("{}", ("--strategies", "gone"))):
            with self.subTest(text, options=options):
                status, out, err = self.run_on(text, *options)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
