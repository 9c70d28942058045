"""Counting a file of messages: each form of file, and lines that add up to the request."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import tokenizer
from base.command import InputError
from tokens.request_file import cost_by_message, read_requests
from tokens.template import CountError

SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi é"}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


def characters(messages, tools=None):
    """A stand-in for a counter: ten, and the characters of all contents; it wants a user's message."""
    if messages and all(message["role"] == "system" for message in messages):
        raise CountError("no user")
    return 10 + sum(len(message.get("content") or "") for message in messages) + 100 * bool(tools)


class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = Path(place.name, "f")

    def read(self, text):
        self.path.write_text(text, encoding="utf-8")
        return read_requests(str(self.path))

    def test_a_form_of_file_is_refused_or_read_as_another(self):
        one, tools = [{"messages": SAID, "tools": None}], [{"type": "function"}]
        self.assertEqual(self.read(json.dumps(SAID, indent=1)), one)
        self.assertEqual(self.read(json.dumps({"messages": SAID, "model": "x"})), one)
        self.assertEqual(self.read("".join(json.dumps(message) + "\n" for message in SAID)), one)
        self.assertEqual(self.read(json.dumps(SAID) + "\n\n" + json.dumps({"messages": SAID, "tools": tools})),
                         [*one, {"messages": SAID, "tools": tools}])
        self.assertEqual(self.read(json.dumps(SAID[1])), [{"messages": SAID[1:], "tools": None}])

    def test_standard_input_is_not_read(self):
        stdin = mock.Mock(buffer=io.BytesIO(json.dumps(SAID).encode()))
        with mock.patch("sys.stdin", stdin):
            self.assertEqual(read_requests("-"), [{"messages": SAID, "tools": None}])

    def test_arguments_as_text_reach_the_template(self):
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        read = self.read(json.dumps([message]))[0]["messages"][0]
        self.assertEqual(read["tool_calls"][0]["function"]["arguments"], {"x": 1})

    def test_a_file_that_is_no_request_is_counted(self):
        for text, reason in (("", "not JSON"), ("[]", "without messages"), ("5", "is 5"),
                             ('{"a": 1}', "no field 'messages'"),
                             ('[{"content": "x"}]', "no field 'role'"), ('{"messages": []}', "without messages"),
                             ("[1]\n[2]", "line 1"), ('{"role": "user"}\n{', "line 2: not JSON"),
                             ('[{"role": "\\ud800"}]', "surrogate"),
                             ('[{"role": "x", "tool_calls": [1]}]', "tool call 1")):
            with self.subTest(text), self.assertRaisesRegex(InputError, reason):
                self.read(text)


class Costs(unittest.TestCase):
    def test_the_lines_do_not_add_up_to_the_request(self):
        cost = cost_by_message(characters, SAID, None)
        self.assertEqual(cost, {"tokens": 23, "around": 10, "messages": [
            {"role": "system", "tokens": None}, {"role": "user", "tokens": 13}]})
        with self.assertRaises(CountError):
            cost_by_message(characters, SAID[:1])

    def test_the_command_prints_something_else_than_one_json_value(self):
        with tempfile.TemporaryDirectory() as place, mock.patch("tokenizer.counter", lambda manifest: characters):
            path, out, told = Path(place, "f"), io.StringIO(), io.StringIO()
            path.write_text(json.dumps(SAID[1:]) + "\n" + json.dumps(SAID[1:]))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
                self.assertEqual(tokenizer.main([str(path)]), None)
        self.assertEqual([cost["tokens"] for cost in json.loads(out.getvalue())], [14, 14])
        self.assertIn("1  user                  4", told.getvalue())


if __name__ == "__main__":
    unittest.main()
