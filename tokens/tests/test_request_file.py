"""Counting a file of messages: each form of file, and lines that add up to the request."""

import json
from unittest import mock

import tokenizer
from base.command import InputError
from base.tests.made import Files, named_cases, run
from tokens.request_file import cost_by_message, read_requests
from tokens.template import CountError

SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi é"}]


def characters(messages, tools=None):
    """A stand-in for a counter: ten, and the characters of all contents; it wants a user's message."""
    if messages and all(message["role"] == "system" for message in messages):
        raise CountError("no user")
    return 10 + sum(len(message.get("content") or "") for message in messages) + 100 * bool(tools)


class Requests(Files):
    def test_a_form_of_file_is_refused_or_read_as_another_or_one_that_is_no_request_is_counted(self):
        for case in named_cases(__file__, "request-files.json"):
            path = self.write("f", case["text"])
            with self.subTest(case["name"]):
                if "says" in case:
                    self.assertRaisesRegex(InputError, case["says"], read_requests, path)
                else:
                    self.assertEqual(read_requests(path), case["reads"])

    def test_the_lines_do_not_add_up_to_the_request(self):
        self.assertEqual(cost_by_message(characters, SAID, None), {"tokens": 23, "around": 10, "messages": [
            {"role": "system", "tokens": None}, {"role": "user", "tokens": 13}]})
        self.assertRaises(CountError, cost_by_message, characters, SAID[:1])

    def test_the_command_does_not_read_standard_input_or_prints_something_else_than_one_json_value(self):
        with mock.patch("tokenizer.counter", lambda manifest: characters):
            _, out, told = run(tokenizer.main, "-", stdin=2 * (json.dumps(SAID[1:]) + "\n"))
        self.assertEqual([cost["tokens"] for cost in json.loads(out)], [14, 14])
        self.assertIn("1  user                  4", told)
