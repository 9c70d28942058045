"""Tests of sessions/__main__.py: many files, copies of one session, what is written and what is refused."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

from base.command import status_of
from compaction.sessions.__main__ import main
from compaction.sessions.tests.made import Claude, imported, text, turns

DATA = os.environ.get("LAB_DATA")


def run(*arguments):
    """(status, standard output, standard error)."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = status_of(main, [str(a) for a in arguments])
        out.flush()
    return status, out.buffer.getvalue().decode("utf-8"), err.getvalue()


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
        self.assertEqual(summary["unread"]["file of a format that is not known"], 3)

    def test_a_packed_file_in_a_folder_is_counted_and_not_passed_over(self):
        events, _, summary = imported({"a.jsonl": self.lines, "x/b.jsonl.zst": b"(\xb5/\xfd"})
        self.assertEqual((len(events), summary["unread"]), (3, {"file that is not read, it looks like a packed file: unpack it first": 1}))


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
                     if p.suffix in (".jsonl", ".json", ".traj")
                     and p.name not in ("items.json", "manifest.json", "restatements.json")]
            self.assertEqual(
                run(*paths, "--output", log, "--contexts", contexts, "--summary", Path(out) / "summary")[0], 0)
            events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            left = {(c["conversation_id"], c["compaction"]): c
                    for c in map(json.loads, contexts.read_text(encoding="utf-8").splitlines())}
        items = json.loads((folder / "items.json").read_text(encoding="utf-8"))["items"]
        self.assertEqual(len(items), 18)
        for item in items:
            with self.subTest(item["id"]):
                self.assertTrue(any(item["literal"] in e.get("content", "")
                                    for e in events
                                    if e["conversation_id"] == item["conversation_id"]
                                    and e["turn"] == item["turn"]
                                    and e["kind"] == item["who"]))
                for recorded in item["recorded"]:
                    messages = left[item["conversation_id"], recorded["compaction"]]["messages"]
                    self.assertEqual(any(item["literal"] in m["content"] for m in messages), recorded["verbatim"])


if __name__ == "__main__":
    unittest.main()
