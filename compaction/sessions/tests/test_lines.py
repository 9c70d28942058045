"""Tests of sessions/lines.py: what is not whole is counted with its line, what is whole is read once."""

import tempfile
import unittest
from pathlib import Path

from compaction.sessions.lines import digest, read_lines
from compaction.sessions.log import Tally


def read(data):
    """(values, {kind: places}) of a file of these bytes."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(data)
        values = [value for _, value in read_lines(path, tally)]
    groups = tally.summary()
    return values, {kind: found["at"] for group in ("unread", "noted") for kind, found in groups[group].items()}


class Lines(unittest.TestCase):
    def test_two_records_on_one_line_are_both_read_and_told(self):
        values, odd = read(b'{"type":"a"}{"type":"b"}\n{"type":"c"}\n')
        self.assertEqual([v["type"] for v in values], ["a", "b", "c"])
        self.assertEqual(odd, {"several records on one line": "1"})

    def test_a_torn_last_line_is_counted_and_the_rest_is_read(self):
        values, odd = read(b'{"type":"a"}\n{"type":"b","text":"hal')
        self.assertEqual([v["type"] for v in values], ["a"])
        self.assertEqual(odd, {"torn line": "2"})

    def test_a_torn_record_on_a_line_with_others_is_told(self):
        self.assertEqual(read(b'{"type":"a"}{"type":"b","te\n{"type":"c"}\n'),
                         ([{"type": "a"}, {"type": "c"}], {"torn record on a line with others": "1"}))

    def test_an_object_inside_a_torn_record_is_not_taken_for_one(self):
        values, odd = read(b'e":"x","message":{"type":"inner"}}\n')
        self.assertEqual((values, odd), ([], {"torn line": "1"}))

    def test_two_torn_lines_are_two(self):
        self.assertEqual(read(b'{"type":"a\n{"type":"b\n')[1], {"torn line": "1-2"})

    def test_a_line_of_400_kb_is_one_record(self):
        values, odd = read(b'{"type":"a","text":"' + b"x" * 400_000 + b'"}\n')
        self.assertEqual((len(values[0]["text"]), odd), (400_000, {}))

    def test_bytes_that_are_not_utf8_are_told_and_the_record_kept(self):
        values, odd = read(b'{"type":"a","text":"caf\xe9"}\n')
        self.assertEqual(values[0]["text"], "caf\ufffd")
        self.assertEqual(list(odd), ["bytes that are not UTF-8, read as U+FFFD"])

    def test_a_byte_order_mark_and_crlf_and_blank_lines_are_nothing(self):
        values, odd = read(b'\xef\xbb\xbf{"type":"a"}\r\n\r\n{"type":"b"}\r\n')
        self.assertEqual(([v["type"] for v in values], odd), (["a", "b"], {}))

    def test_nul_bytes_of_a_crash_are_a_torn_line(self):
        self.assertEqual(read(b'{"type":"a"}\n' + b"\0" * 64 + b"\n")[1], {"torn line": "2"})

    def test_nan_and_numbers_too_long_to_convert_do_not_stop_the_reading(self):
        values, odd = read(b'{"type":"a","n":NaN}\n{"type":"b","n":' + b"9" * 6000 + b'}\n{"type":"c"}\n')
        self.assertEqual([v["type"] for v in values], ["a", "c"])
        self.assertEqual((values[0]["n"], odd), ("NaN", {"torn line": "2"}))

    def test_nesting_too_deep_to_read_is_a_torn_line(self):
        self.assertEqual(read(b'{"type":' + b"[" * 100_000 + b"\n")[1], {"torn line": "1"})


class Digests(unittest.TestCase):
    def test_the_order_of_keys_makes_no_difference_and_values_do(self):
        self.assertEqual(digest({"a": 1, "b": 2}), digest({"b": 2, "a": 1}))
        self.assertNotEqual(digest({"a": 1}), digest({"a": "1"}))


if __name__ == "__main__":
    unittest.main()
