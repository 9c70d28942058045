"""Tests of sessions/files.py: what is not whole is counted with its line, what is whole is read once."""

import json

from base.tests.made import Files, named_cases
from compaction.sessions.files import digest, read_records
from compaction.sessions.log import Tally
from compaction.sessions.tests.made import imported, session


class Lines(Files):
    def read(self, data):
        """(values, {kind: places}) of a file of these bytes."""
        tally = Tally()
        values = list(read_records(self.write("session.jsonl", data), tally))
        groups = tally.summary()
        return values, {kind: row["at"] for group in ("unread", "noted") for kind, row in groups[group].items()}

    def test_every_file(self):
        for case in [*named_cases(__file__, "line-cases.json"),
                     {"name": "nesting without end raises", "text": '{"type":' + "[" * 100_000, "types": []},
                     {"name": "a number too long to convert ends the reading",
                      "text": '{"type":"b","n":' + "9" * 6000 + '}\n{"type":"c"}', "types": ["c"]}]:
            with self.subTest(case["name"]):
                values, told = self.read(case["text"].encode())
                self.assertEqual(([value["type"] for value in values], told),
                                 (case["types"], case.get("told", {"torn line": "1"})))

    def test_a_line_of_400_kb_and_not_a_number_and_bytes_that_are_not_utf8_are_kept(self):
        for data, text, odd in ((b"x" * 400_000, "x" * 400_000, {}),
                                (b"caf\xe9", "caf\ufffd", {"bytes that are not UTF-8, read as U+FFFD": "1"})):
            self.assertEqual(self.read(b'{"n":NaN,"text":"' + data + b'"}\n'), ([{"n": "NaN", "text": text}], odd))

    def test_a_record_nested_to_the_edge_of_the_parser_is_torn_and_the_rest_is_read(self):
        rest = session({"user": "go"}, {"assistant": ["m1", "Done."]}, {"user": "more"})
        for levels in (150, 900, 5_000, 100_000):
            nested = '"x": ' + "[" * levels + "]" * levels + "}"
            deep = json.dumps(session({"user": "deep", "uuid": "d"})[0])[:-1] + ", " + nested + "\n"
            lines = deep + "".join(json.dumps(line) + "\n" for line in rest)
            document = '[{"role": "user", "content": "go", ' + nested + "]"
            events, _, summary = imported({"a.jsonl": lines, "b.json": document})
            self.assertEqual((len(events), summary["unread"].get("torn line", 0)), (5, 0) if levels == 150 else (3, 1))

    def test_the_order_of_keys_makes_no_difference_to_a_digest_and_values_do(self):
        self.assertEqual(digest({"a": 1, "b": 2}), digest({"b": 2, "a": 1}))
        self.assertNotEqual(digest({"a": 1}), digest({"a": "1"}))
