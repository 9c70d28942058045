"""What masking could miss, and what it could take for an address or a key although it is none."""

import re
import unittest

from base.mask import Masks
from base.tests.made import named_cases


class Masking(unittest.TestCase):
    def test_a_shape_is_missed_or_what_only_looks_like_one_is_masked(self):
        for case in named_cases(__file__, "mask-cases.json"):
            with self.subTest(case["name"]):
                masks = Masks()
                self.assertEqual(masks.value(case["value"]), case["masked"])
                self.assertEqual(set(masks.counts()), set(re.findall(r"\[([a-zA-Z ]+) \d+\]", str(case["masked"]))))

    def test_strings_are_counted_by_kind(self):
        masks = Masks()
        masks.value(["x@example.com y@example.com", {"b": "x@example.com"}])
        self.assertEqual(masks.counts(), {"mail address": 2})
