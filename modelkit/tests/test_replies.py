import json
import random
import re
import sys
import unittest

from base.tests.made import named_cases
from modelkit import replies

NOISE = ["Sure! Here it is:", "It's {this} one:", "```json\n", "````\n```\n", "{}", "[1]", "{x | x > 0}", "\\", "“so”",
         "// see", "[0, 1)", "\n", "😀", "Dear {{name}}:", '"quoted"', "} ", 'a 5" pipe']
ALPHABET = "ab'{}[],:\\/#`\n é\u2028😀"


class Replies(unittest.TestCase):
    def test_every_case_in_the_file(self):
        for case in named_cases(__file__, "reply_cases.json"):
            with self.subTest(case["name"]):
                self.assertEqual(replies.parse_reply(case["reply"]), (case["object"], case["took"]))
                self.assertEqual(replies.diagnose(case["reply"]), case["diagnosis"])

    def test_an_object_in_noise_comes_back_equal(self):
        rng = random.Random(1)
        for _ in range(600):
            obj = random_object(rng, ALPHABET + '"')
            before, after = ([rng.choice(NOISE) for _ in range(rng.randrange(4))] for _ in range(2))
            if rng.random() < 0.3:  # a brace that nothing closes
                before = ["use { and", *(piece for piece in before if piece not in ("} ", 'a 5" pipe'))]
                after = [piece for piece in after if "}" not in piece]
            before, after = " ".join(before), " ".join(after)
            reply = f"{before} {json.dumps(obj, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))} {after}"
            with self.subTest(reply):
                self.assertEqual(replies.parse_reply(reply), (obj, "none needed"))

    def test_a_cut_object_is_never_read(self):
        rng = random.Random(2)
        for _ in range(25):
            text = json.dumps(random_object(rng, ALPHABET + '"'), ensure_ascii=False)
            for end in range(1, len(text)):
                with self.subTest(text[:end]):
                    self.assertEqual(replies.parse_reply("Here: " + text[:end])[0], None)
                    self.assertEqual(replies.diagnose("Here: " + text[:end]), "truncated")

    def test_trailing_commas_are_dropped_and_nothing_else(self):
        rng = random.Random(3)
        for _ in range(400):
            obj = random_object(rng, ALPHABET + '"')
            with self.subTest(obj):
                self.assertEqual(replies.parse_reply(written(obj, '"', ","))[0], obj)

    def test_single_quotes_are_read_as_meant_or_not_at_all(self):
        rng, read = random.Random(4), 0
        for _ in range(3000):
            obj = random_object(rng, ALPHABET)
            reply = written(obj, "'", rng.choice(["", ","]))
            if re.search(r"'\s*[,:]\s*'", json.dumps(obj, ensure_ascii=False)):
                continue  # the one case that nothing in the text could show; the module says so
            value = replies.parse_reply(reply)[0]
            read += value is not None
            with self.subTest(reply):
                self.assertIn(value, (None, obj))
        self.assertGreater(read, 300)

    def test_a_damaged_object_is_repaired_as_meant_or_not_at_all(self):
        rng = random.Random(5)
        damages = [("“", '"'), ("//x }\n,", ","), (":/* } */", ":"), ("'", '"'), ("#},", ","), ("NaN", "1"), ("", '"')]
        for _ in range(2500):
            text = json.dumps(obj := {"outer": random_object(rng, "ab{}, "), "note": {"inner": 1}})
            new, old = rng.choice(damages)
            outside = re.sub(r'"[^"]*"', lambda string: '"' + " " * (len(string[0]) - 2) + '"', text)
            places = [place for place, character in enumerate(outside) if character == old]
            if not places:
                continue
            place = rng.choice(places)
            damaged = text[:place] + new + text[place + 1:]
            value, took = replies.parse_reply(damaged)
            if took != "none needed":  # strict JSON needs no repair, whatever it was before the damage
                with self.subTest(damaged):
                    self.assertIn(value, (None, obj))

    def test_an_object_in_a_list_is_never_taken(self):
        rng = random.Random(6)
        for _ in range(500):
            values = [rng.choice([random_object(rng, ALPHABET), 1, "x", [], None]) for _ in range(rng.randrange(1, 5))]
            reply = rng.choice(NOISE) + json.dumps(values, indent=rng.choice([None, 1]))
            with self.subTest(reply):
                self.assertIn(replies.parse_reply(reply)[0], (None, {}))

    def test_what_each_reply_is_told_and_when_the_loop_ends(self):
        unusable = "the reply contained no usable JSON object"
        for written_replies, validate, obj, problems in (
            (['{"a": "b'], list, None, [["truncated"]]),  # only a larger allowance helps: not asked again
            (["no", "{'a': 'it's'}", '{"a": 1}'], lambda _: [], {"a": 1}, [[unusable], [unusable], []]),
            (['{"a": 1}'] * 3, lambda _: ["too small"], None, [["too small"]] * 3)):
            asked, given = [], iter(written_replies)
            result, history = replies.ask_for_object(
                lambda prompt: asked.append(prompt) or next(given), "Ask.", validate)
            self.assertEqual((result, [entry["attempt"] for entry in history]), (obj, [*range(1, len(problems) + 1)]))
            for entry, expected in zip(history, problems, strict=True):
                self.assertEqual(len(entry["problems"]), len(expected))
                self.assertTrue(all(map(str.__contains__, entry["problems"], expected)), entry)
            again = [f"Ask.\n\nPROBLEMS TO FIX:\n- {before[0]}" for before in problems[:-1]]
            self.assertEqual(asked, ["Ask.", *again])  # problems of an earlier attempt do not pile up

    def test_no_attempts_are_refused(self):
        for attempts in (0, -1, True, 1.5, None):
            with self.assertRaisesRegex(ValueError, "max_attempts"):
                replies.ask_for_object(lambda _: "{}", "Ask.", lambda _: [], attempts)


class HostileText(unittest.TestCase):
    """Steps of the interpreter are counted, not time: twice the text may take little more than twice the steps."""

    SHAPES = ["{", "[", "\\", '"', "'", "{}", "{ ", '{"a": ', "{x ", '{x " ', '{\\"', "{a b} ", "{'a'} ", '[{"a":1},',
              "{//", ",", "{,", "```\n", "\\{", "{a: b} ", '{"a": "b" "c" ', "[1,", '["', "['\\", '{"a": tru} ', "{w",
              "1. ", "{'a': 'b', "]

    def test_every_shape_takes_linear_work(self):
        for shape in self.SHAPES:
            for begin, end in (("", ""), ("{", "}"), ('{"a": "', '"}'), ("{'a': [", "]}")):
                with self.subTest(begin + shape + end):
                    short, long = (work(begin + shape * times + end) for times in (50, 100))
                    self.assertLess(long, 2.2 * short + 500)

    def test_regular_expressions_come_to_an_end(self):  # steps are not counted; a quadratic one would take minutes
        for shape in self.SHAPES:
            text = shape * (40_000 // len(shape))
            self.assertIn(replies.parse_reply("{" + text)[0], (None, {}))

    def test_braces_nested_beyond_the_parser_are_refused(self):
        for opening, closing in (('{"a":', "}"), ("[", "]")):
            reply = '{"a":' + opening * 20_000 + "1" + closing * 20_000 + "}"
            self.assertEqual(replies.parse_reply(reply), (None, "found an object but could not repair it"))

    def test_a_number_of_a_million_digits_is_refused_or_read_whole(self):
        self.assertIsNone(replies.parse_reply('{"a": ' + "1" * 1_000_000 + "}")[0])


def random_object(rng, alphabet):
    """A random object with at least one key; few keys, so that none stands twice."""
    return {random_text(rng, alphabet) + str(key): random_value(rng, alphabet, 3) for key in range(rng.randrange(1, 4))}


def random_value(rng, alphabet, depth):
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return [random_value(rng, alphabet, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 7:
        return {random_text(rng, alphabet) + str(key): random_value(rng, alphabet, depth - 1)
                for key in range(rng.randrange(3))}
    return [random_text(rng, alphabet), rng.randrange(-9, 10**12), rng.random() * 1e9, True, None,
            random_text(rng, alphabet)][kind]


def random_text(rng, alphabet):
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(6)))


def written(value, quote, comma):
    """The JSON of a value with its strings in `quote` and a comma after the last item; quotes inside stay as they are.

    Words and numbers are JSON's, so that a reader could make sense of it.
    """
    if isinstance(value, str):
        return quote + json.dumps(value, ensure_ascii=False)[1:-1] + quote
    if isinstance(value, dict):
        items = [f"{written(key, quote, comma)}: {written(item, quote, comma)}" for key, item in value.items()]
        return "{" + ", ".join(items) + (comma if items else "") + "}"
    if isinstance(value, list):
        items = [written(item, quote, comma) for item in value]
        return "[" + ", ".join(items) + (comma if items else "") + "]"
    return json.dumps(value)


def work(text):
    """Lines of Python that reading a text runs."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        replies.parse_reply(text)
        replies.strip_fence(text)
        replies.drop_trailing_commas(text)
    finally:
        sys.settrace(before)
    return lines
