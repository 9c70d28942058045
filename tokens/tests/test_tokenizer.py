"""The counter: sums that equal whole requests, templates for which no sum holds, files that are not the pinned ones."""

import contextlib
import io
import json
import random
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tokenizers import Tokenizer, models, pre_tokenizers

import tokenizer
from base.command import InputError
from base.tests.made import needs_tokenizer
from tokenizer import Counter, CountError, TokenizerError, counter, load_counter

MANIFEST = {
    "model": "made/up",
    "revision": "0" * 40,
    "bos_token": "<s>",
    "files": {"chat_template.jinja": {"bytes": 1, "sha256": "1" * 64},
              "tokenizer.json": {"bytes": 1, "sha256": "2" * 64}},
}
PLAIN = ("{{ bos_token }}{% for m in messages %}<|im|>{{ m.role }}\n{{ m.content | trim }}<|end|>\n{% endfor %}"
         "<|im|>assistant\n")
# Templates that do not write messages one after the other, and how requests are counted all the same.
ODD = {
    "the first message is told the number of messages": (
        "whole", PLAIN.replace("{% for", "{{ messages | length }} x{% for")),
    "each message is numbered in words": (
        "whole", PLAIN.replace("{{ m.role }}", "{{ m.role }}{{ ' x' * loop.index }}")),
    "the system message goes into the first user message": ("sum", (
        "{% for m in messages %}{% if m.role != 'system' %}<|im|>{{ m.role }}\n"
        "{% if loop.index0 == 1 and messages[0].role == 'system' %}{{ messages[0].content }}\n{% endif %}"
        "{{ m.content }}<|end|>{% endif %}{% endfor %}")),
    "the last user message is written in another way": ("incremental", PLAIN.replace(
        "{{ m.content | trim }}", "{% if loop.last %}now: {% endif %}{{ m.content | trim }}")),
    "a message equal to the last one is written in another way": ("whole", PLAIN.replace(
        "{{ m.content | trim }}", "{% if m == messages[-1] %}now: {% endif %}{{ m.content | trim }}")),
    "old messages are cut": ("whole", PLAIN.replace(
        "{{ m.content | trim }}", "{{ m.content[:3] if loop.revindex > 4 else m.content }}")),
    "nothing stands between messages": (
        "whole", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"),
    "only some white space is stripped": ("sum", PLAIN.replace("m.content | trim", "m.content.strip(' ')")),
    "blank messages are left out": ("sum", PLAIN.replace(
        "<|im|>{{ m.role }}", "{% if m.content.strip() %}<|im|>{{ m.role }}").replace(
        "<|end|>\n", "<|end|>\n{% endif %}")),
    "what stands behind a message depends on the next one": ("sum", PLAIN.replace(
        "<|end|>", "{{ ' /no_think' if m.role == 'user' }}{% if loop.nextitem is defined and "
        "loop.nextitem.role == 'user' %}<|end|><s>{% else %}<|end|>{% endif %}")),
    "contents are written twice": ("whole", PLAIN.replace("{{ m.content | trim }}", "{{ m.content }}{{ m.content }}")),
    "two messages of one role are refused": ("sum", PLAIN.replace(
        "<|im|>{{ m.role }}",
        "{% if loop.index0 and m.role == messages[loop.index0 - 1].role %}{{ raise_exception('roles must alternate') }}"
        "{% endif %}<|im|>{{ m.role }}")),
    "a text of the system turns thinking on for all": ("sum", PLAIN.replace(
        "{% for", "{% set on = 'think hard' in messages[0].content %}{% for", 1).replace(
        "{{ m.content", "{{ 'Hm. ' if on and m.role == 'assistant' }}{{ m.content")),
    "what comes later decides how a call is written": ("sum", PLAIN.replace(
        "{{ m.content", "{{ 'last ' if m.tool_calls and not messages[loop.index:] | selectattr('role', 'equalto', "
        "'assistant') | list }}{{ m.content")),
}
# Templates for which a sum holds only as long as no text holds what the template looks for, as in their names.
ACTS_ON_TEXT = {
    "thoughts before </think> are cut": PLAIN.replace(
        "{{ m.content | trim }}",
        "{{ (m.content.split('</think>')[-1] if m.role == 'assistant' else m.content) | trim }}"),
    "a text that is <done> ends the conversation": PLAIN.replace(
        "{% for", "{% if messages[-1].content.strip() == '<done>' %}no more{% endif %}{% for"),
    "thoughts behind the last question that is no </tool> are kept": PLAIN.replace(
        "{% for m",
        "{% set ns = namespace(last=0) %}{% for m in messages %}"
        "{% if m.role == 'user' and '</tool>' not in m.content %}"
        "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m",
    ).replace("{{ m.content", "{{ 'thought: ' if loop.index0 > ns.last }}{{ m.content"),
    "a mark in {% generation %} is [cut]": PLAIN.replace(
        "{{ m.content | trim }}", "{% generation %}{{ m.content | replace('[cut]', '') | trim }}{% endgeneration %}"),
    "a {mark} stands in a variable": PLAIN.replace("{% for", "{% set mark = '{mark}' %}{% for", 1).replace(
        "{{ m.content | trim }}", "{{ 'x' if mark in m.content }}{{ m.content | trim }}"),
}


def small_tokenizer():
    """A stand-in tokenizer: a token a character, and three control tokens."""
    made = Tokenizer(models.BPE(vocab={"?": 0}, merges=[], unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.add_special_tokens(["<s>", "<|im|>", "<|end|>"])
    return made


def requests_of(seed, texts, number):
    """Random requests in the shapes that strategies and people make."""
    rng = random.Random(seed)
    for _ in range(number):
        messages = [{"role": "system", "content": rng.choice(texts)}] if rng.random() < 0.6 else []
        for _ in range(rng.choice((0, 1, 1, 2, 3, 9))):
            messages.append({"role": "user", "content": rng.choice(texts)})
            for _ in range(rng.choice((0, 1, 1, 1, 2))):
                messages.append({"role": "assistant", "content": rng.choice(texts)})
        messages.append({"role": "user", "content": rng.choice(texts)})
        yield messages


def random_texts(seed, number):
    """Texts with what tokenizers and templates trip over."""
    rng = random.Random(seed)
    pieces = ["word", " ", "  ", "\n", "\r\n", "\n\n\n", "\t", "\u00a0", "\u2028", "\x1c", "é", "e\u0301", "日本",
              "👩‍💻", "\u200d", "0", "12345", "the", "The", ".", "...", "<", "|", "<|", "|>", "<turn", "{{", "}}",
              "&amp;", "'", "\u2019s", "user\n", "model\n", "a" * 40, "\ufeff"]
    return ["".join(rng.choices(pieces, k=rng.choice((0, 1, 2, 4, 9, 40)))) for _ in range(number)]


class Sums(unittest.TestCase):
    def setUp(self):
        self.enterContext(mock.patch("tokenizer.MANY", 1 << 30))  # nobody to tell

    def test_a_run_that_counts_whole_is_not_told_so_or_told_so_each_time(self):
        count, told = Counter(small_tokenizer(), ODD["contents are written twice"][1], MANIFEST), io.StringIO()
        with mock.patch("tokenizer.MANY", 3), contextlib.redirect_stderr(told):
            for _ in range(20):
                count([{"role": "user", "content": "x"}])
        self.assertRegex(told.getvalue(), r"\Amade/up: 3 requests were counted whole so far, .* ms each.*\n\Z")

    def test_a_sum_is_trusted_for_a_template_that_has_none(self):
        texts = [*random_texts(1, 40), "please think hard"]
        for name, (way, template) in ODD.items():
            with self.subTest(name):
                count = Counter(small_tokenizer(), template, MANIFEST)
                self.assertEqual(count.way, way)
                for messages in requests_of(2, texts, 30):
                    try:
                        whole = count.full(messages)
                    except CountError:
                        self.assertRaises(CountError, count, messages)
                    else:
                        self.assertEqual(count(messages), whole)

    def test_a_sum_is_trusted_behind_a_reply_that_is_written_in_another_way_or_refused(self):
        texts = [*random_texts(4, 40), "please think hard"]
        for number, (name, (_, template)) in enumerate(ODD.items()):
            count = Counter(small_tokenizer(), template, MANIFEST)
            for messages in requests_of(number, texts, 12):
                begin = messages[0]["role"] == "system"
                reply = {"role": "assistant", "content": texts[len(messages) % len(texts)]}
                messages = [*messages[:begin], reply, *messages[begin:]]
                with self.subTest(name, messages=messages):
                    try:
                        whole = count.full(messages)
                    except CountError:
                        self.assertRaises(CountError, count, messages)
                    else:
                        self.assertEqual(count(messages), whole)

    def test_costs_are_added_to_a_request_in_which_they_differ(self):
        moved = ("the system message goes into the first user message",
                 "a text of the system turns thinking on for all", "the last user message is written in another way")
        for name in moved:
            with self.subTest(name):
                count = Counter(small_tokenizer(), ODD[name][1], MANIFEST)
                self.assertEqual((count.sums, count.part([[{"role": "user", "content": "x"}]])), (False, [None]))

    def test_a_refused_request_is_answered_by_a_sum(self):
        count = Counter(small_tokenizer(), ODD["two messages of one role are refused"][1], MANIFEST)
        turn = [{"role": role, "content": "x"} for role in ("user", "assistant")]
        lone = turn[:1]
        self.assertEqual(count.part([lone, turn]), [None, count([*turn, *lone]) - count(lone)])
        with self.assertRaisesRegex(CountError, "refuses this request: roles must alternate; correct its messages"):
            count([*turn, *lone, *lone])

    def test_requests_that_are_no_sum_are_rendered_again_for_each_candidate(self):
        """200 turns tried one after the other: what is rendered and tokenised stays within ten whole requests."""
        for name in ("the last user message is written in another way",
                     "the system message goes into the first user message"):
            with self.subTest(name):
                count = Counter(small_tokenizer(), ODD[name][1], MANIFEST)
                turns = [[{"role": role, "content": f"{role} {number} " * 3} for role in ("user", "assistant")]
                         for number in range(200)]
                system, question = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}
                kept, written = turns[:1], []

                def write(*given):
                    written.append(count.text(*given))
                    return written[-1]

                with mock.patch.object(count._sum, "_text", write), mock.patch.object(count, "full", None):
                    for turn in turns[1:]:
                        kept.append(turn)
                        total = count([system, *(message for turn in kept for message in turn), question])
                everything = [system, *(message for turn in turns for message in turn), question]
                self.assertEqual(total, count.full(everything))
                self.assertLess(sum(map(len, written)), 10 * len(count.text(everything)))

    def test_a_plain_template_is_counted_the_slow_way(self):
        count = Counter(small_tokenizer(), PLAIN, MANIFEST)
        self.assertEqual((count.way, count.sums), ("sum", True))
        with mock.patch.object(count, "full", side_effect=AssertionError):
            for messages in requests_of(3, random_texts(3, 40), 200):
                count(messages)

    def test_a_text_that_the_template_acts_on_makes_the_sum_wrong(self):
        marks = ("</think>", "<done>", "</tool>", "[cut]", "{mark}")
        texts = [*marks, "plain", " a\n", *(f"a {mark} b" for mark in marks)]
        for name, template in ACTS_ON_TEXT.items():
            with self.subTest(name):
                count = Counter(small_tokenizer(), template, MANIFEST)
                for messages in requests_of(4, texts, 60):
                    self.assertEqual(count(messages), count.full(messages), messages)
                self.assertTrue(count.sums)
                self.assertNotIn(None, count.part([[{"role": "user", "content": "plain"}]]))

    def test_fields_in_another_order_are_taken_for_the_same_call(self):
        template = PLAIN.replace(
            "{{ m.content", "{% for c in m.tool_calls %}{{ c.function.arguments | first }}{% endfor %}{{ m.content")
        count, totals = Counter(small_tokenizer(), template, MANIFEST), []
        for names in ("a", "long"), ("long", "a"):
            call = {"function": {"name": "f", "arguments": dict.fromkeys(names, 1)}}
            question = {"role": "user", "content": "x"}
            messages = [question, {"role": "assistant", "content": "", "tool_calls": [call]}, question]
            self.assertEqual(count(messages), count.full(messages))
            totals.append(count(messages))
        self.assertNotEqual(*totals)

    def test_a_control_token_in_a_content_makes_the_sum_wrong(self):
        count = Counter(small_tokenizer(), PLAIN, MANIFEST)
        for text in ("<|im|>", " a <|end|> \n<|im|>user", "<s>"):
            messages = [{"role": "user", "content": text}, {"role": "assistant", "content": text},
                        {"role": "user", "content": "x"}]
            self.assertEqual(count(messages), count.full(messages))
        self.assertEqual(count.control_token("b<|end|>c<|im|>"), "<|end|>")
        self.assertIsNone(count.control_token("<|end"))

    def test_the_beginning_of_text_is_counted_twice_or_left_out(self):
        made = small_tokenizer()
        from tokenizers.processors import TemplateProcessing

        made.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))])
        count = Counter(made, PLAIN, MANIFEST)
        self.assertEqual(count([{"role": "user", "content": "x"}]), len("SMuser\nxE\nMassistant"))

    def test_a_template_that_fails_by_itself_blames_the_messages(self):
        for template, reason in (("{{ raise_exception('no system messages') }}", "refuses .*; correct its messages"),
                                 ("{{ strftime_now('%Y') }}", "fails .*has no 'today'"),
                                 ("{{ tools[0].function.name }}", "fails"),
                                 ("{{ 'x' | tojson(cls=messages) }}", "fails .*unexpected keyword argument 'cls'"),
                                 ("{{ 'x' | tojson(default=messages) }}", "fails .*argument 'default'")):
            count = Counter(small_tokenizer(), template, MANIFEST)
            with self.assertRaisesRegex(CountError, reason) as caught:
                count([{"role": "user", "content": "x"}])
            self.assertEqual("correct its messages" in str(caught.exception), "refuses" in reason)

    def test_a_count_depends_on_the_day(self):
        template = "{{ strftime_now('%d %b %Y') }}"
        count = Counter(small_tokenizer(), template, {**MANIFEST, "today": "2026-02-01"})
        self.assertEqual(count.text([]), "01 Feb 2026")

    def test_json_is_written_in_another_way_than_by_the_reference(self):
        value = {"b": "é", "a": [1]}
        for options, text in (("", '{"b": "é", "a": [1]}'), ("ensure_ascii=True", '{"b": "\\u00e9", "a": [1]}'),
                              ("true", '{"b": "\\u00e9", "a": [1]}'), ("sort_keys=True", '{"a": [1], "b": "é"}'),
                              ("separators=(',', ':')", '{"b":"é","a":[1]}'),
                              ("indent=1", '{\n "b": "é",\n "a": [\n  1\n ]\n}')):
            count = Counter(small_tokenizer(), "{{ messages[0].content | tojson(" + options + ") }}", MANIFEST)
            self.assertEqual(count.text([{"role": "user", "content": value}]), text)

    def test_fields_that_are_null_are_written(self):
        count = Counter(small_tokenizer(), "{{ messages[0] | tojson }}", MANIFEST)
        self.assertEqual(count.text([{"role": "assistant", "content": None, "tool_calls": []}]),
                         '{"role": "assistant", "tool_calls": []}')

    def test_messages_that_are_too_deep_or_too_odd_for_a_template_are_a_traceback(self):
        deep = "x"
        for _ in range(200_000):
            deep = [deep]
        written = "{{ messages[0].content | tojson }}"
        for template, content in ((written, deep), ("{{ 1 / messages[0].content }}", 0), ("{{ range(10 ** 9) }}", "x")):
            count = Counter(small_tokenizer(), template, MANIFEST)
            with self.assertRaisesRegex(CountError, "the chat template fails on this request: ."):
                count.full([{"role": "user", "content": content}])

    def test_a_text_that_is_no_unicode_is_a_traceback(self):
        count = Counter(small_tokenizer(), PLAIN, MANIFEST)
        self.assertRaises(CountError, count, [{"role": "user", "content": "\ud800"}])

    def test_more_texts_than_are_kept_break_the_count(self):
        count = Counter(small_tokenizer(), PLAIN, MANIFEST)
        with mock.patch("tokens.token_sum.LIMIT", 20):
            for messages in requests_of(5, random_texts(5, 100), 60):
                self.assertEqual(count(messages), count.full(messages))

    def test_long_texts_are_kept_without_end(self):
        count = Counter(small_tokenizer(), PLAIN, MANIFEST)
        with mock.patch("tokens.token_sum.LIMIT", 1000):
            for number in range(50):
                count(
                    [{"role": "system", "content": f"{number}" * 20}, {"role": "user", "content": f"{number} " * 100}])
                call = {"function": {"name": "f", "arguments": {"x": f"{number}" * 100}}}
                count.part(
                    [[{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [call]}]])
        self.assertLess(len(count._sum._texts) + len(count._sum._requests), 40)

    def test_a_template_that_is_none_is_a_traceback(self):
        with self.assertRaisesRegex(TokenizerError, "chat template, line 1"):
            Counter(small_tokenizer(), "{% for %}", MANIFEST)


@needs_tokenizer
class PinnedModel(unittest.TestCase):
    def setUp(self):
        self.enterContext(mock.patch("tokenizer.MANY", 1 << 30))

    def test_a_sum_differs_from_the_whole_on_a_random_request(self):
        count = counter()
        self.assertEqual((count.way, count.sums), ("sum", True))
        with mock.patch.object(count, "full", wraps=count.full) as full:
            totals = [(messages, count(messages)) for messages in requests_of(7, random_texts(7, 400), 600)]
            hostile = [messages for messages, _ in totals if count.control_token(messages[-1]["content"])]
            self.assertEqual(full.call_count, len(hostile))
        for messages, total in totals:
            self.assertEqual(total, count.full(messages), messages)

    def test_a_sum_differs_from_the_whole_with_tools(self):
        count, rng = counter(), random.Random(11)
        texts = random_texts(11, 60)
        tools = [
            {"type": "function",
             "function": {
                 "name": "ls", "description": "list",
                 "parameters": {"type": "object", "properties": {"path": {"type": "string", "description": "where"}},
                                "required": ["path"]}}}]
        for _ in range(80):
            messages = []
            for _ in range(rng.choice((1, 3, 6))):
                messages.append({"role": "user", "content": rng.choice(texts)})
                for _ in range(rng.choice((0, 1, 2))):
                    call = {"id": "c1", "type": "function",
                            "function": {"name": "ls", "arguments": {"path": rng.choice(texts), "n": [1, None, True]}}}
                    messages.append({"role": "assistant", "content": rng.choice(texts), "tool_calls": [call]})
                    if rng.random() < 0.8:
                        messages.append({"role": "tool", "tool_call_id": "c1", "content": rng.choice(texts)})
                if rng.random() < 0.7:
                    messages.append({"role": "assistant", "content": rng.choice(texts), "reasoning": rng.choice(texts)})
            messages.append({"role": "user", "content": "Q"})
            given = tools if rng.random() < 0.5 else None
            self.assertEqual(count(messages, given), count.full(messages, given), messages)

    def test_a_request_that_does_not_end_with_a_question_is_summed(self):
        count = counter()
        question, answer = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}
        for messages in ([answer], [question, answer], [question, answer, answer], [{"role": "system", "content": "S"}],
                         [answer, question]):
            self.assertEqual(count(messages), count.full(messages), messages)

    def test_a_request_that_begins_with_a_reply_is_counted_whole_or_wrong(self):
        count, rng, texts = counter(), random.Random(5), [text for text in random_texts(5, 60) if "<" not in text]
        for _ in range(60):
            roles = ["system"] * rng.randrange(2) + ["assistant", "user", "assistant", "user", "user"]
            messages = [{"role": role, "content": rng.choice(texts)} for role in roles]
            with mock.patch.object(count, "full", side_effect=AssertionError("counted whole")):
                total = count(messages)
            self.assertEqual(total, count.full(messages), messages)

    def test_two_assistant_messages_in_a_row_are_counted_too_high(self):
        count = counter()
        messages = [{"role": role, "content": "Fine."} for role in ("user", "assistant", "assistant", "user")]
        alone = sum(count.part([[message]])[0] for message in messages if message["role"] == "user")
        self.assertEqual(count(messages), count.full(messages))
        self.assertLess(count.part([messages[:3]])[0], alone + 3 * 7)

    def test_the_published_counter_block_is_not_given(self):
        block = json.loads((Path(tokenizer.__file__).parent / "evaluation-result.json").read_text(encoding="utf-8"))[
            "counter"]
        self.assertEqual(counter().profile(), block)


class PreparedFiles(unittest.TestCase):
    def test_files_that_are_missing_or_differ_are_loaded(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", {"LAB_TOKENIZER": folder}):
            load_counter.cache_clear()
            with self.assertRaisesRegex(InputError, "tokenizer.json: cannot be read: No such file.*prepare.py"):
                counter()
            Path(folder, "tokenizer.json").write_text("{}")
            with self.assertRaisesRegex(InputError, "tokenizer.json: has 2 bytes instead of .*prepare.py"):
                counter()


if __name__ == "__main__":
    unittest.main()
