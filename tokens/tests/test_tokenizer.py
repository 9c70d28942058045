"""The counter: sums that equal whole requests, templates for which no sum holds, files that are not the pinned ones."""

import contextlib
import io
import random
import re
from unittest import mock

from tokenizers import AddedToken

from base.command import InputError
from base.tests.made import Files, named_cases, needs_tokenizer
from tokenizer import Counter, CountError, counter, load_counter
from tokens.probes import chat, system
from tokens.tests.made import manifest_of
from tokens.tests.template_table import conversation, text_of

MANIFEST = {**manifest_of({"tokenizer.json": b"", "chat_template.jinja": b""}), "model": "made/up"}
# what templates do to messages: {"way", "sums": what a counter has to find, "template" or "replace": pairs in PLAIN}
TEMPLATES = {case.pop("name"): case for case in named_cases(__file__, "templates.json")}
MARKS = ["</think>", "<done>", "</tool>", "[cut]", "{mark}", "think hard", "stop", "<|im|>", "<|end|>"]
PLAIN = ("{{ bos_token }}{% for m in messages %}<|im|>{{ m.role }}\n{{ m.content | trim }}<|end|>\n{% endfor %}"
         "<|im|>assistant\n")
QUESTION = chat("x")


class Characters:
    """A stand-in tokenizer: a token a character, three control tokens, one of them put in front if nobody objects."""

    CONTROL = ("<s>", "<|im|>", "<|end|>")

    def encode(self, text, add_special_tokens=True):
        text.encode("utf-8")
        return "s" * add_special_tokens + re.sub("|".join(map(re.escape, self.CONTROL)), "c", text)

    def encode_batch_fast(self, texts, **options):
        return [self.encode(text, **options) for text in texts]

    def get_added_tokens_decoder(self):
        return {number: AddedToken(token, special=True) for number, token in enumerate(self.CONTROL)}


def counter_of(template, **fields):
    return Counter(Characters(), template, {**MANIFEST, **fields})


def case_counter(name):
    """The counter of one of TEMPLATES."""
    template = TEMPLATES[name].get("template", PLAIN)
    for old, new in TEMPLATES[name].get("replace", ()):
        template = template.replace(old, new)
    return counter_of(template)


class Counting(Files):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch("tokenizer.MANY", 1 << 30))  # nobody to tell

    def assertExact(self, count, messages, tools=None):
        """Counted as the whole request is, or refused as that is."""
        try:
            whole = count.full(messages, tools)
        except CountError:
            self.assertRaises(CountError, count, messages, tools)
        else:
            self.assertEqual(count(messages, tools), whole, messages)


class Templates(Counting):
    def test_a_sum_is_trusted_for_a_template_or_a_text_that_has_none(self):
        for name, entry in TEMPLATES.items():
            count, rng = case_counter(name), random.Random(name)
            with self.subTest(name):
                self.assertEqual((count.way, count.sums), (entry["way"], entry["sums"]))
                self.assertEqual(None in count.part([chat("x", "x")]), not entry["sums"])
                self.assertEqual(count._sum.total(chat(*"xyxyx")) is None, entry["way"] == "whole")
                for number in range(3 * len(MARKS)):
                    mark = MARKS[number % len(MARKS)]
                    self.assertExact(count, *conversation(name, number, [mark]))
                    texts = [text_of(rng, [mark]) for _ in range(2 * rng.randrange(1, 6))]
                    heads = [], [system(f"please {mark}")]
                    self.assertExact(count, [*heads[number % 2], *chat(*texts)[number % 4 > 1 :], *QUESTION])

    def test_a_refused_request_is_answered_by_a_sum(self):
        count = case_counter("two messages of one role are refused")
        turn = chat("x", "x")
        self.assertEqual(count.part([QUESTION, turn]), [None, count([*turn, *QUESTION]) - count(QUESTION)])
        with self.assertRaisesRegex(CountError, "refuses this request: roles must alternate; correct its messages"):
            count([*turn, *QUESTION, *QUESTION])

    def test_requests_that_are_no_sum_are_rendered_again_for_each_candidate(self):
        """200 turns tried one after the other: what is rendered and tokenised stays within ten whole requests."""
        for name in ("the last user message is written in another way",
                     "the system message goes into the first user message"):
            with self.subTest(name):
                count, turns = case_counter(name), chat(*(f"text {number} " * 3 for number in range(400)))
                written = []

                def write(*given):
                    written.append(count.text(*given))
                    return written[-1]

                with mock.patch.object(count._sum, "_text", write), mock.patch.object(count, "full", None):
                    for kept in range(4, 401, 2):
                        total = count([system("Be brief."), *turns[:kept], *QUESTION])
                everything = [system("Be brief."), *turns, *QUESTION]
                self.assertEqual(total, count.full(everything))
                self.assertLess(sum(map(len, written)), 10 * len(count.text(everything)))

    def test_fields_in_another_order_are_taken_for_the_same_call(self):
        first = "{% for c in m.tool_calls %}{{ c.function.arguments | first }}{% endfor %}"
        count, totals = counter_of(PLAIN.replace("{{ m.content", first + "{{ m.content")), []
        for names in ("a", "long"), ("long", "a"):
            call = {"function": {"name": "f", "arguments": dict.fromkeys(names, 1)}}
            messages = [*QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}, *QUESTION]
            self.assertExact(count, messages)
            totals.append(count(messages))
        self.assertNotEqual(*totals)

    def test_texts_that_are_no_longer_kept_break_the_count_or_are_kept_without_end(self):
        count = counter_of(PLAIN)
        with mock.patch("tokens.token_sum.LIMIT", 1000):
            for number in range(50):
                call = {"function": {"name": "f", "arguments": {"x": f"{number}" * 100}}}
                count.part([[*QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}]])
                self.assertExact(count, [system(f"{number}" * 20), *chat(f"{number} " * 100, *"abcd")])
        self.assertLess(len(count._sum._texts) + len(count._sum._requests), 40)

    def test_a_run_that_counts_whole_is_not_told_so_or_told_so_each_time(self):
        count, told = case_counter("contents are written twice"), io.StringIO()
        with mock.patch("tokenizer.MANY", 3), contextlib.redirect_stderr(told):
            for _ in range(20):
                count(QUESTION)
        self.assertRegex(told.getvalue(), r"\Amade/up: 3 requests were counted whole so far, .* ms each.*\n\Z")

    def test_the_first_control_token_in_a_text_is_not_named(self):
        count = counter_of(PLAIN)
        self.assertEqual((count.control_token("b<|end|>c<|im|>"), count.control_token("<|end")), ("<|end|>", None))

    def test_the_beginning_of_text_is_counted_twice_or_left_out(self):
        self.assertEqual(counter_of(PLAIN)(QUESTION), len("SMuser\nxE\nMassistant"))

    def test_a_template_writes_something_else_than_by_the_reference_or_blames_the_messages_where_it_fails_itself(self):
        deep = "x"
        for _ in range(200_000):
            deep = [deep]
        deeper = {"template": "{{ messages[0].content | tojson }}", "content": deep, "says": "fails on .*: ."}
        for case in [*named_cases(__file__, "rendering-cases.json"), {"name": "too deep", **deeper}]:
            count = counter_of(case["template"], **({"today": case["today"]} if "today" in case else {}))
            messages = case.get("messages") or [{"role": "user", "content": case["content"]}]
            with self.subTest(case["name"]):
                if "writes" in case:
                    self.assertEqual(count.text(messages), case["writes"])
                else:
                    with self.assertRaisesRegex(CountError, case["says"]) as caught:
                        count.full(messages)
                    self.assertEqual("correct its messages" in str(caught.exception), "refuses" in case["says"])

    def test_a_text_that_is_no_unicode_is_a_traceback(self):
        self.assertRaises(CountError, counter_of(PLAIN), chat("\ud800"))

    def test_files_that_are_missing_or_differ_are_loaded(self):
        with mock.patch.dict("os.environ", {"LAB_TOKENIZER": str(self.folder)}):
            load_counter.cache_clear()
            self.assertRaisesRegex(InputError, "tokenizer.json: cannot be read: No such file.*prepare.py", counter)
            self.write("tokenizer.json", "{}")
            self.assertRaisesRegex(InputError, "tokenizer.json: has 2 bytes instead of .*prepare.py", counter)


@needs_tokenizer
class PinnedModel(Counting):
    def test_a_sum_differs_from_the_whole_or_is_hardly_ever_given(self):
        count, summed = counter(), 0
        self.assertEqual((count.way, count.sums), ("sum", True))
        for number in range(160):
            messages, tools = conversation("pinned", number, [*count.control_tokens[:3], "</think>", "<turn"])
            summed += count._sum.total(messages, tools) is not None
            self.assertExact(count, messages, tools)
        self.assertGreater(summed, 110)

    def test_a_request_with_another_end_or_beginning_is_counted_wrong_or_whole(self):
        count = counter()
        for messages in (chat("Q", "A")[1:], chat("Q", "A"), [*chat("Q", "A"), *chat("Q", "A")[1:]], [system("S")], [],
                         [*chat("Q", "Fine."), *chat("Q", "Fine.")[1:], *QUESTION], chat(*"QAQ")[1:]):
            self.assertExact(count, messages)
        with mock.patch.object(count, "full", side_effect=AssertionError("counted whole")):
            count([system("S"), *chat(*"QAQAQ")[1:], *QUESTION])

    def test_two_assistant_messages_in_a_row_are_counted_too_high_or_a_run_without_a_question_at_all(self):
        self.assertEqual(counter().part([[], chat("Q", "A")[1:]]), [None, None])
        run = [*chat("Fine.", "Fine."), *chat("", "Fine.")[1:]]
        self.assertLess(counter().part([run])[0], counter().part([run[:1]])[0] + 3 * 7)
