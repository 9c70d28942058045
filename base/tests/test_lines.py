"""A file of JSON lines loses nothing that was appended, whenever the process ended, and is nobody else's file."""

import json
import os
from unittest import mock

from base.command import InputError
from base.lines import LineFile, append_line, is_torn, read_lines
from base.tests.made import Files


class Lines(Files):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "x.jsonl"

    def values(self):
        return [value for _, value in read_lines(self.path)]

    def test_what_was_appended_does_not_come_back_as_it_was(self):
        odd = [{"a": '\ud83d\u2028 \x00 naïve \u202e\r\n"'}, {"b": "x" * 100_000}, {"c": [None, 1.5]}]
        for value in odd:
            append_line(self.path, value)
        self.assertEqual(self.values(), odd)
        self.assertIn("naïve", self.path.read_text("utf-8"))

    def test_a_line_cut_anywhere_is_not_known_for_one_or_a_text_like_one_is_cut_off(self):
        value = {"a": [1, -2.5e-3, True, False, None, {"k\n": "x\ud83d\u65e5 "}], 'b"': "", "": {}, "c": [[], [{}]]}
        for form in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}):
            data = json.dumps(value, **form).encode("utf-8", "backslashreplace")
            self.assertEqual([is_torn(data[:cut]) for cut in range(len(data) + 1)], [True] * len(data) + [False])
        for text in ("{'a': 1}", '{"a": x}', '{"a": 1}x', '{"a": ' + "1" * 5000 + "}", '{"a": "b", c: 1}', "[1,", "notes"):
            self.assertFalse(is_torn(text.encode()), text)
            path = self.write("notes.jsonl", text)
            self.assertRaises(InputError, append_line, path, {"b": 2})
            self.assertEqual(path.read_text("utf-8"), text)
        self.assertFalse(is_torn('{"a": "é"}'.encode("latin-1")))

    def test_a_half_written_last_line_stays_or_a_whole_one_is_lost_or_somebody_elses_file_is_changed(self):
        whole, new = b'{"a": 1}\n', b'{"b": 2}\n'
        for torn in (b"{", b'{"b": "\xc3', b"\0" * 4096, b'{"b": "' + b"x" * 100_000, b" ", b""):
            with self.subTest(torn[:9]):
                self.path.write_bytes(whole + torn)
                self.assertEqual((self.values(), self.path.read_bytes()), ([{"a": 1}], whole + torn))
                append_line(self.path, {"b": 2})
                self.assertEqual(self.path.read_bytes(), whole + new)
        self.path.write_bytes(whole[:-1])
        append_line(self.path, {"b": 2})
        self.assertEqual(self.path.read_bytes(), whole + new)
        for data in (b"Notes of last week", b"# To do\n- record", b"[1]", b"\xff"):
            self.path.write_bytes(data)
            with self.subTest(data), self.assertRaisesRegex(InputError, "no JSON object; move the file"):
                append_line(self.path, {"b": 2})
            self.assertEqual(self.path.read_bytes(), data)

    def test_two_processes_share_a_file(self):
        with LineFile(self.path) as file:
            file.append({"a": 1})
            self.assertRaisesRegex(InputError, "another run has it open", LineFile, self.path)
        append_line(self.path, {"b": 2})
        self.assertEqual(len(self.values()), 2)

    def test_a_full_disk_costs_a_whole_line_or_mixes_two(self):
        def full(file, data, write=os.write):
            write(file, bytes(data)[:5])
            raise OSError(28, "No space left on device")

        append_line(self.path, {"a": 1})
        with LineFile(self.path) as file, mock.patch("os.write", full):
            for says in ("No space left", "see the first complaint"):
                self.assertRaisesRegex(InputError, says, file.append, {"b": 2})
        append_line(self.path, {"c": 3})
        self.assertEqual(self.values(), [{"a": 1}, {"c": 3}])

    def test_a_place_that_is_no_file_or_a_line_that_is_no_json_is_not_one_line(self):
        for path in (self.folder, self.write("file", "") / "below"):
            with self.subTest(path):
                self.assertRaisesRegex(InputError, "cannot be", append_line, path, {})
        self.path.write_bytes(b'{"a": 1}\nnothing\n')
        self.assertRaisesRegex(InputError, "x.jsonl: line 2: not JSON", self.values)
