"""Counting a file of messages: each form of file, and lines that add up to the request."""

import json
import unittest
from unittest import mock

import tokenizer
from base.command import InputError
from base.tests.made import Files, run
from tokens.request_file import cost_by_message, read_requests
from tokens.template import CountError

SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi é"}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


def characters(messages, tools=None):
    """A stand-in for a counter: ten, and the characters of all contents; it wants a user's message."""
    if messages and all(message["role"] == "system" for message in messages):
        raise CountError("no user")
    return 10 + sum(len(message.get("content") or "") for message in messages) + 100 * bool(tools)


class Requests(Files):
    def test_a_form_of_file_is_refused_or_read_as_another(self):
        said, tools = [{"messages": SAID, "tools": None}], [{"type": "function"}]
        lines = "".join(json.dumps(message) + "\n" for message in SAID)
        for text, requests in ((json.dumps(SAID, indent=1), said), (json.dumps({"messages": SAID, "model": "x"}), said),
                               (lines, said), (json.dumps(SAID[1]), [{"messages": SAID[1:], "tools": None}]),
                               (json.dumps(SAID) + "\n\n" + json.dumps({"messages": SAID, "tools": tools}),
                                [*said, {"messages": SAID, "tools": tools}])):
            with self.subTest(text):
                self.assertEqual(read_requests(self.write("f", text)), requests)

    def test_arguments_as_text_reach_the_template(self):
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        read = read_requests(self.write("f", [message]))[0]["messages"][0]
        self.assertEqual(read["tool_calls"][0]["function"]["arguments"], {"x": 1})

    def test_a_file_that_is_no_request_is_counted(self):
        for text, reason in (("", "not JSON"), ("[]", "without messages"), ("5", "is 5"),
                             ('{"a": 1}', "no field 'messages'"), ('[{"content": "x"}]', "no field 'role'"),
                             ('{"messages": []}', "without messages"), ("[1]\n[2]", "line 1"),
                             ('{"role": "user"}\n{', "line 2: not JSON"), ('[{"role": "\\ud800"}]', "surrogate"),
                             ('[{"role": "x", "tool_calls": [1]}]', "tool call is not read: tool_calls.0. is 1")):
            with self.subTest(text):
                self.assertRaisesRegex(InputError, reason, read_requests, self.write("f", text))


class Costs(unittest.TestCase):
    def test_the_lines_do_not_add_up_to_the_request(self):
        self.assertEqual(cost_by_message(characters, SAID, None), {"tokens": 23, "around": 10, "messages": [
            {"role": "system", "tokens": None}, {"role": "user", "tokens": 13}]})
        self.assertRaises(CountError, cost_by_message, characters, SAID[:1])

    def test_the_command_does_not_read_standard_input_or_prints_something_else_than_one_json_value(self):
        with mock.patch("tokenizer.counter", lambda manifest: characters):
            _, out, told = run(tokenizer.main, "-", stdin=2 * (json.dumps(SAID[1:]) + "\n"))
        self.assertEqual([cost["tokens"] for cost in json.loads(out)], [14, 14])
        self.assertIn("1  user                  4", told)
