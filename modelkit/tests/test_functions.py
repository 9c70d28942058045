"""Every case of function_cases.json: a call with plain values, and what it gives or the words of its refusal."""

import json
import unittest
from pathlib import Path

from modelkit import prompts, replies, retrieval, scoring, segments, tools

MODULES = {"prompts": prompts, "replies": replies, "retrieval": retrieval, "scoring": scoring, "segments": segments,
           "tools": tools}
CASES = json.loads((Path(__file__).parent / "function_cases.json").read_text(encoding="utf-8"))


class Functions(unittest.TestCase):
    def test_every_case_in_the_file(self):
        for case in CASES:
            module, name = case["call"].split(".")
            with self.subTest(case["name"], call=case["call"]):
                function = getattr(MODULES[module], name)
                if "refused" in case:
                    self.assertRaisesRegex(ValueError, case["refused"], function, *case["args"])
                else:
                    self.assertEqual(plain(function(*case["args"])), case["gives"])

    def test_the_file_has_cases_and_no_two_share_a_name(self):
        self.assertTrue(CASES)
        self.assertEqual(len(CASES), len({case["name"] for case in CASES}))


def plain(value):
    """A result as JSON has it, numbers rounded: the last digits are those of a sum."""
    return json.loads(json.dumps(value), parse_float=lambda number: round(float(number), 10))
