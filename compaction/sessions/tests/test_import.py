"""Tests of sessions/__main__.py: many files, copies of one session, what is written and what is refused."""

import json
import os
import tempfile
import unittest
from collections import Counter
from functools import partial
from pathlib import Path

from compaction.contexts import from_event
from compaction.sessions.__main__ import main
from compaction.sessions.log import read_log
from compaction.sessions.tests.made import Claude, imported, text, turns, use
from compaction.sessions.tests.made import run as run_command

DATA = os.environ.get("LAB_DATA")


run = partial(run_command, main)


class ManyFiles(unittest.TestCase):
    def setUp(self):
        c = Claude()
        self.lines = [c.user("go"), c.assistant("m1", text("Done.")), c.user("more")]

    def test_a_session_stored_again_is_left_out_and_told_whatever_the_order(self):
        for first, second in (("0/full.jsonl", "1/full.jsonl"), ("1/full.jsonl", "0/full.jsonl")):
            events, _, summary = imported({first: self.lines[:2], second: self.lines})
            self.assertEqual(turns(events), ["go", "more"])
            self.assertEqual((summary["stored_again"], summary["conversations"]), (1, 1))

    def test_a_session_that_went_two_ways_is_read_twice_with_the_common_part_marked(self):
        c = Claude()
        c.n = 50
        events, _, _ = imported({"a.jsonl": self.lines, "b.jsonl": [*self.lines[:2], c.user("or")]})
        self.assertEqual([(e["conversation_id"], bool(e.get("copied"))) for e in events],
                         [("a", False)] * 3 + [("b", True)] * 2 + [("b", False)])

    def test_files_of_one_name_get_ids_that_differ(self):
        events, _, _ = imported({"x/full.jsonl": [Claude("s-1").user("a")], "y/full.jsonl": [Claude("s-2").user("b")]})
        self.assertEqual([e["conversation_id"] for e in events], ["x/full", "y/full"])

    def test_a_file_of_no_known_format_is_counted_beside_the_others(self):
        events, _, summary = imported(
            {"a.jsonl": self.lines, "b.json": '{"messages": [{"label": "red"}]}', "c.jsonl": "",
             "d.jsonl": "no json at all"})
        self.assertEqual(len(events), 3)
        self.assertEqual(summary["unread"]["file of a format not known"], 3)

    def test_a_packed_file_in_a_folder_is_counted_and_not_passed_over(self):
        events, _, summary = imported({"a.jsonl": self.lines, "x/b.jsonl.zst": b"(\xb5/\xfd"})
        self.assertEqual((len(events), list(summary["unread"])),
                         (3, ["file that is not read, it looks like a packed file: unpack it first"]))

    def test_the_same_document_stored_twice_is_one_conversation(self):
        chat = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Done."}]
        gemini = [{"sessionId": "s", "projectHash": "h"}, {"id": "1", "type": "user", "content": "go"},
                  {"id": "2", "type": "gemini", "content": "Done."}]
        for name, form in (("a.json", json.dumps(chat)), ("a.json", json.dumps({"messages": chat})), ("a.jsonl", chat),
                           ("a.jsonl", gemini)):
            events, _, summary = imported({f"x/{name}": form, f"y/{name}": form})
            self.assertEqual((len(events), summary["stored_again"], summary["conversations"]), (2, 1, 1), form)

    def test_a_file_of_another_tool_is_unread_and_named_and_never_taken_for_a_known_one(self):
        at = {"timestamp": "2026-02-03T10:00:00Z"}
        says = {"role": "user", "content": [{"type": "text",
                                             "text": "<task>go</task>\n<environment_details>x</environment_details>"}]}
        files = {
            "Cursor": [{"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}}] * 2,
            "opencode": json.dumps({"info": {"id": "ses_1"}, "messages": [{"info": {"role": "user"}, "parts": []}]}),
            "Qwen Code": [{"uuid": "1", "sessionId": "s", **at, "type": "user",
                           "message": {"role": "user", "parts": [{"text": "go"}]}}],
            "Droid": [{"type": "session_start", "id": "s", "title": "t"},
                      {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "go"}}],
            "Roo Code or Cline": json.dumps([says, {"role": "assistant",
                                                    "content": [{"type": "text", "text": "<read_file>"}]}]),
            "Amp": json.dumps({"v": 3, "id": "T-1", "messages": [{"role": "user", "messageId": 0, "content": []}]}),
            "OpenHands": json.dumps([{"id": 0, "source": "user", "action": "message", "args": {"content": "go"}}]),
            "pi": [{"type": "session", "version": 3, "id": "s", "cwd": "/"},
                   {"type": "message", "id": "1", "message": {}}],
            "Copilot CLI": [{"type": "session.start", "data": {}}, {"type": "user.message", "data": {"content": "go"}}],
            "SWE-agent": json.dumps({"trajectory": [{"action": "ls"}], "history": [{"role": "user", "content": "go"}],
                                     "info": {}}),
            "a first version of Codex": [{"id": "s", "timestamp": "2025-05-01T10:00:00Z"}, {"record_type": "state"},
                                         {"type": "message", "role": "user", "content": []}],
            "tau2-bench": json.dumps({"tasks": [], "simulations": [{"messages": [{"role": "user", "content": "go"}]}]}),
            "aider": "# aider chat started at 2026-02-03 10:00:00\n\n#### go\n",
            "SpecStory": "<!-- Generated by SpecStory -->\n\n_**User**_\n\ngo\n",
            "Cursor or opencode (a database)": b"SQLite format 3\0" + bytes(40)}
        endings = {"aider": ".md", "SpecStory": ".md", "Cursor or opencode (a database)": ".vscdb"}
        for name, content in files.items():
            ending = endings.get(name, ".jsonl" if isinstance(content, list) else ".json")
            events, _, summary = imported({"a.jsonl": self.lines, f"b{ending}": content}, in_folder=True)
            self.assertEqual((len(events), list(summary["unread"])),
                             (3, [f"file that is not read, it looks like {name}"]), name)

    def test_a_file_that_yields_no_event_or_one_sides_alone_is_unread(self):
        for lines, word in (([Claude().user("go")], "the user's side alone"),
                            ([Claude().assistant("m1", text("Done."))], "the model's side alone"),
                            ([Claude().line("progress")], "yields no event")):
            _, _, summary = imported({"a.jsonl": lines})
            self.assertRegex(list(summary["unread"])[0], f"{word}.* it looks like Claude Code")

    def test_files_of_other_endings_in_a_folder_are_counted(self):
        _, _, summary = imported({"a.jsonl": self.lines, "b.txt": "x", "c/d.txt": "", "LICENSE": "x"}, in_folder=True)
        self.assertEqual(summary["other_files"], {".txt": 2, "no ending": 1})

    def test_a_record_nested_to_the_edge_of_the_parser_is_torn_and_the_rest_is_read(self):
        for levels in (150, 900, 5_000, 100_000):
            deep = json.dumps(Claude("s-9").user("deep"))[:-1] + ', "x": ' + "[" * levels + "]" * levels + "}\n"
            events, _, summary = imported({"a.jsonl": deep + "".join(json.dumps(line) + "\n" for line in self.lines)})
            self.assertEqual((len(events), summary["unread"].get("torn line", 0)),
                             ((4, 0) if levels == 150 else (3, 1)))
            document = '[{"role": "user", "content": "go", "x": ' + "[" * levels + "]" * levels + "}]"
            imported({"a.jsonl": self.lines, "b.json": document})  # raises nothing


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        c = Claude()
        self.session = self.folder / "one.jsonl"
        lines = [c.user("go"), c.user("Summary of all.", isCompactSummary=True)]
        self.session.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def test_the_log_is_standard_output_and_the_summary_standard_error(self):
        status, out, err = run(self.session)
        self.assertEqual((status, [json.loads(line)["kind"] for line in out.splitlines()]), (0, ["user", "compaction"]))
        self.assertIn('"Claude Code"', err)

    def test_files_are_written_and_the_same_run_writes_the_same_bytes(self):
        names = [self.folder / name for name in ("log.out", "summary.out", "contexts.out")]
        written = []
        for _ in range(2):
            status, out, _ = run(self.session, "--output", names[0], "--summary", names[1], "--contexts", names[2])
            self.assertEqual((status, out), (0, ""))
            written.append([name.read_bytes() for name in names])
        self.assertEqual(written[0], written[1])
        self.assertEqual(json.loads(names[2].read_text(encoding="utf-8")),
                         {"conversation_id": "one", "compaction": 1, "turn": 2, "inside": True, "opaque": False,
                          "messages": [{"role": "user", "content": "Summary of all."}]})

    def test_another_output_is_kept_and_what_this_command_did_not_write_is_left_alone(self):
        log, summary = self.folder / "log.jsonl.out", self.folder / "summary.out"
        outputs = ("--output", log, "--summary", summary)
        self.assertEqual(run(self.session, *outputs)[0], 0)
        first = log.read_bytes(), summary.read_bytes()
        self.session.write_text(json.dumps(Claude().user("other")) + "\n", encoding="utf-8")
        self.assertEqual(run(self.session, *outputs)[0], 0)
        kept = self.folder / "log.jsonl.previous.out", self.folder / "summary.previous.out"
        self.assertEqual(tuple(path.read_bytes() for path in kept), first)
        for path in (log, summary):
            path.write_text("notes of mine", encoding="utf-8")
            before = sorted(p.name for p in self.folder.iterdir())
            status, out, err = run(self.session, *outputs)
            self.assertEqual((status, out, path.read_text(encoding="utf-8")), (2, "", "notes of mine"))
            self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before)
            path.unlink()

    def test_one_file_named_twice_is_refused_whoever_names_it(self):
        for arguments in (("--output", "x.out", "--summary", "x.out"), ("--output", "x.out", "--contexts", "./x.out"),
                          ("--output", "one.jsonl")):
            paths = [self.folder / one if "." in one else one for one in arguments]
            before = self.session.read_bytes()
            status, _, err = run(self.session, *paths)
            self.assertEqual((status, len(err.splitlines()), self.session.read_bytes()), (2, 1, before))
            self.assertIn("named twice", err)

    def test_masked_text_bears_marks_that_are_equal_everywhere_and_counted_by_kind(self):
        c = Claude()
        lines = [c.user("mail joe@example.com with sk-abcdefghijklmnop1234"),
                 c.assistant("m1", use("t1", to="joe@example.com", card="4111 1111 1111 1111")),
                 c.result("t1", "sent to joe@example.com")]
        self.session.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        status, out, err = run(self.session, "--mask")
        events = list(map(json.loads, out.splitlines()))
        self.assertEqual((status, events[0]["content"], events[2]["content"]),
                         (0, "mail [mail address 1] with [key 1]", "sent to [mail address 1]"))
        self.assertEqual(events[1]["arguments"], {"to": "[mail address 1]", "card": "[card number 1]"})
        self.assertIn("masked: 1 card number", err)

    def test_half_a_surrogate_pair_survives(self):
        self.session.write_text(json.dumps(Claude().user("an \ud83d emoji cut")) + "\n", encoding="utf-8")
        self.assertEqual(json.loads(run(self.session)[1])["content"], "an \ud83d emoji cut")

    def test_refusals_are_one_line_and_write_nothing(self):
        (self.folder / "red.json").write_text('{"colour": "red"}', encoding="utf-8")
        (self.folder / "empty").mkdir()
        for arguments, word in (([self.folder / "none.jsonl"], "no such file"),
                                ([self.folder / "red.json"], "no format known"),
                                ([self.folder / "empty"], "no session file"),
                                ([self.session, "--output", self.folder / "a" / "b"], "cannot be written")):
            status, out, err = run(*arguments)
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1), err)
            self.assertIn(word, err)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["empty", "one.jsonl", "red.json"])


@unittest.skipUnless(DATA, "LAB_DATA names no folder with recorded sessions")
class RecordedSessions(unittest.TestCase):
    def test_every_annotated_literal_stands_in_the_turn_and_context_that_a_reader_found_it_in(self):
        folder = Path(DATA) / "sessions"
        with tempfile.TemporaryDirectory() as out:
            log, contexts = Path(out) / "log", Path(out) / "contexts"
            paths = [p
                     for p in folder.iterdir()
                     if p.suffix in (".jsonl", ".json")
                     and p.name not in ("items.json", "manifest.json", "restatements.json")]
            self.assertEqual(
                run(*paths, "--output", log, "--contexts", contexts, "--summary", Path(out) / "summary")[0], 0)
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
                self.assertTrue(any(item["literal"] in (e.get("content") or "")
                                    for e in events
                                    if e["conversation_id"] == item["conversation_id"]
                                    and e["turn"] == item["turn"]
                                    and e["kind"] == item["who"]))
                for recorded in item["recorded"]:
                    messages = left[item["conversation_id"], recorded["compaction"]]["messages"]
                    self.assertEqual(any(item["literal"] in m["content"] for m in messages), recorded["verbatim"])
