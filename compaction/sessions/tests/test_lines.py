"""Tests of sessions/files.py: what is not whole is counted with its line, what is whole is read once."""

import tempfile
import unittest
from pathlib import Path

from compaction.sessions.files import digest, read_lines
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

    def test_a_torn_record_on_a_line_with_others_is_told(self):
        self.assertEqual(read(b'{"type":"a"}{"type":"b","te\n{"type":"c"}\n'),
                         ([{"type": "a"}, {"type": "c"}], {"torn record on a line with others": "1"}))

    def test_what_is_torn_is_counted_with_its_line_and_the_rest_is_read(self):
        for data, types, places in (
                (b'{"type":"a"}\n{"type":"b","text":"hal', ["a"], "2"), (b'{"type":"a\n{"type":"b\n', [], "1-2"),
                (b'e":"x","message":{"type":"inner"}}\n', [], "1"),  # an object inside is none
                (b'{"type":"a"}\n' + b"\0" * 64 + b"\n", ["a"], "2"), (b'{"type":' + b"[" * 100_000 + b"\n", [], "1"),
                (b'{"type":"a","text":"one\ntwo"}\n{"type":"b"}\n', ["b"], "1-2")):
            values, odd = read(data)
            self.assertEqual(([value["type"] for value in values], odd), (types, {"torn line": places}), data[:40])

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

    def test_nan_and_numbers_too_long_to_convert_do_not_stop_the_reading(self):
        values, odd = read(b'{"type":"a","n":NaN}\n{"type":"b","n":' + b"9" * 6000 + b'}\n{"type":"c"}\n')
        self.assertEqual([v["type"] for v in values], ["a", "c"])
        self.assertEqual((values[0]["n"], odd), ("NaN", {"torn line": "2"}))


class Digests(unittest.TestCase):
    def test_the_order_of_keys_makes_no_difference_and_values_do(self):
        self.assertEqual(digest({"a": 1, "b": 2}), digest({"b": 2, "a": 1}))
        self.assertNotEqual(digest({"a": 1}), digest({"a": "1"}))
