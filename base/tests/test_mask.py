"""What masking could miss, and what it could take for an address or a key although it is none."""

import json
import re
import unittest
from pathlib import Path

from base.mask import Masks

CASES = json.loads((Path(__file__).parent / "mask-cases.json").read_text(encoding="utf-8"))


class Masking(unittest.TestCase):
    def test_a_shape_is_missed_or_what_only_looks_like_one_is_masked(self):
        self.assertEqual((len(CASES), len({case["name"] for case in CASES})), (41, 41))
        for case in CASES:
            with self.subTest(case["name"]):
                masks = Masks()
                self.assertEqual(masks.value(case["value"]), case["masked"])
                marks = set(re.findall(r"\[([a-zA-Z ]+) \d+\]", str(case["masked"])))
                self.assertEqual(set(masks.counts()), marks)

    def test_strings_are_counted_by_kind(self):
        masks = Masks()
        masks.value(["x@example.com y@example.com", {"b": "x@example.com"}])
        self.assertEqual(masks.counts(), {"mail address": 2})
