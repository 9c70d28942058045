"""Tests of sessions/__main__.py: what is written, kept and refused."""

import json
import os
import unittest
from collections import Counter
from pathlib import Path

from base.tests.made import Files, run
from compaction.contexts import from_event
from compaction.sessions.__main__ import main
from compaction.sessions.log import read_log
from compaction.sessions.tests.made import session

DATA = os.environ.get("LAB_DATA")


class Command(Files):
    def setUp(self):
        super().setUp()
        self.session = self.made({"user": "go"}, {"user": "Summary of all.", "isCompactSummary": True})

    def made(self, *short):
        return self.write("one.jsonl", session(*short))

    def test_the_log_is_standard_output_and_the_summary_standard_error(self):
        status, out, err = run(main, self.session)
        self.assertEqual((status, [json.loads(line)["kind"] for line in out.splitlines()]), (0, ["user", "compaction"]))
        self.assertIn('"Claude Code"', err)

    def test_files_are_written_and_the_same_run_writes_the_same_bytes(self):
        names, written = [self.folder / name for name in ("log.out", "summary.out", "contexts.out")], []
        options = ("--output", names[0], "--summary", names[1], "--contexts", names[2])
        for _ in range(2):
            status, out, _ = run(main, self.session, *options)
            self.assertEqual((status, out), (0, ""))
            written.append([name.read_bytes() for name in names])
        self.assertEqual(written[0], written[1])
        self.assertEqual(json.loads(written[0][2]),
                         {"conversation_id": "one", "compaction": 1, "turn": 2, "inside": True, "opaque": False,
                          "messages": [{"role": "user", "content": "Summary of all."}]})

    def test_another_output_is_kept_and_what_this_command_did_not_write_is_left_alone(self):
        log, summary = self.folder / "log.jsonl.out", self.folder / "summary.out"
        outputs = ("--output", log, "--summary", summary)
        self.assertEqual(run(main, self.session, *outputs)[0], 0)
        first = log.read_bytes(), summary.read_bytes()
        self.made({"user": "other"})
        self.assertEqual(run(main, self.session, *outputs)[0], 0)
        kept = self.folder / "log.jsonl.previous.out", self.folder / "summary.previous.out"
        self.assertEqual(tuple(path.read_bytes() for path in kept), first)
        for path in (log, summary):
            for text in ("notes of mine", '{\n  "files": ["main.ts"]\n}\n'):
                path.write_text(text, encoding="utf-8")
                self.refused("no output of this command", main, self.session, *outputs)
            path.unlink()

    def test_one_file_named_twice_is_refused_whoever_names_it(self):
        for arguments in (("--output", "x.out", "--summary", "x.out"), ("--output", "x.out", "--contexts", "./x.out"),
                          ("--output", "one.jsonl")):
            paths = [self.folder / word if "." in word else word for word in arguments]
            self.refused("named twice", main, self.session, *paths)

    def test_masked_text_bears_marks_that_are_equal_everywhere_and_counted_by_kind(self):
        given = {"to": "joe@example.com", "card": "4111 1111 1111 1111"}
        self.made({"user": "mail joe@example.com with sk-abcdefghijklmnop1234"},
                  {"assistant": ["m1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": given}]},
                  {"result": ["t1", "sent to joe@example.com"]})
        status, out, err = run(main, self.session, "--mask")
        events = list(map(json.loads, out.splitlines()))
        self.assertEqual((status, events[0]["content"], events[2]["content"]),
                         (0, "mail [mail address 1] with [key 1]", "sent to [mail address 1]"))
        self.assertEqual(events[1]["arguments"], {"to": "[mail address 1]", "card": "[card number 1]"})
        self.assertIn("masked: 1 card number", err)

    def test_half_a_surrogate_pair_survives(self):
        self.made({"user": "an \ud83d emoji cut"})
        self.assertEqual(json.loads(run(main, self.session)[1])["content"], "an \ud83d emoji cut")

    def test_refusals_are_one_line_and_write_nothing(self):
        (self.folder / "empty").mkdir()
        for arguments, word in (([self.folder / "none.jsonl"], "no such file"),
                                ([self.write("red.json", {"colour": "red"})], "no format known"),
                                ([self.folder / "empty"], "no session file"),
                                ([self.session, "--output", self.folder / "a" / "b"], "no such folder")):
            self.refused(word, main, *arguments)


@unittest.skipUnless(DATA, "LAB_DATA names no folder with recorded sessions")
class RecordedSessions(Files):
    def test_every_annotated_literal_stands_in_the_turn_and_context_that_a_reader_found_it_in(self):
        folder, log = Path(DATA) / "sessions", self.folder / "log"
        paths = [path for path in folder.iterdir() if path.suffix in (".jsonl", ".json")
                 and path.name not in ("items.json", "manifest.json", "restatements.json")]
        self.assertEqual(run(main, *paths, "--output", log)[0], 0)
        log.write_bytes(log.read_bytes() + (folder / "events" / "pi-before-compaction.events.jsonl").read_bytes())
        events, left, counts = [], {}, Counter()
        for event in read_log(log):
            events.append(event)
            if event["kind"] == "compaction":
                counts[event["conversation_id"]] += 1
                number = counts[event["conversation_id"]]
                left[event["conversation_id"], number] = from_event(event, number, "log")
        items = json.loads((folder / "items.json").read_text(encoding="utf-8"))["items"]
        self.assertEqual(len(items), 18)
        for item in items:
            with self.subTest(item["id"]):
                self.assertTrue(any(item["literal"] in (event.get("content") or "") for event in events
                                    if event["conversation_id"] == item["conversation_id"]
                                    and event["turn"] == item["turn"] and event["kind"] == item["who"]))
                for recorded in item["recorded"]:
                    messages = left[item["conversation_id"], recorded["compaction"]]["messages"]
                    self.assertEqual(any(item["literal"] in message["content"] for message in messages),
                                     recorded["verbatim"])
