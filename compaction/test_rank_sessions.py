"""Sessions are ranked by what a compaction has most to lose in, and read from a log as conversations."""

import io
import json
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from compaction import rank_sessions
from compaction.recorded import read_conversation


def event(conversation, turn, kind, **fields):
    return {"conversation_id": conversation, "turn": turn, "reply": 0, "kind": kind, **fields}


LOG = [
    event("a", 1, "user", content="Never push."),
    event("a", 1, "assistant", content="Looking."),
    event("a", 1, "tool_call", name="run", arguments={"c": "ls"}, call_id="x"),
    event("a", 1, "tool_result", content="files", call_id="x"),
    event("a", 1, "compaction", content="summary"),
    event("a", 1, "assistant", content="Done."),
    event("a", 2, "user", content="Go on."),
    event("b", 1, "user", content="Hello."),
    event("c", 1, "user", content="Hello."),
    event("c", 1, "compaction", opaque=True),
    event("c", 1, "compaction", opaque=True),
]


class Recorded(unittest.TestCase):
    def test_a_log_of_several_conversations_needs_a_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            path.write_text("\n".join(map(json.dumps, LOG)))
            self.assertEqual(read_conversation(path, "c")["compactions"], 2)
            for name, told in ((None, "several conversations"), ("d", "no conversation 'd'")):
                with self.assertRaisesRegex(ValueError, told):
                    read_conversation(path, name)


class Ranking(unittest.TestCase):
    def rank(self, log=LOG, incidents=None):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            path.write_text("\n".join(map(json.dumps, log)))
            return rank_sessions.rank([path], incidents or {})

    def test_more_compactions_come_first_and_a_session_without_one_is_counted(self):
        found = self.rank()
        self.assertEqual([one["conversation_id"] for one in found["sessions"]], ["c", "a"])
        self.assertEqual(found["never_compacted"], 1)
        self.assertEqual(
            found["sessions"][1],
            {
                "conversation_id": "a",
                "file": "log.jsonl",
                "incidents": 0,
                "compactions": 1,
                "constraints": 1,
                "turns": 2,
            },
        )

    def test_a_reported_incident_outweighs_everything(self):
        found = self.rank(incidents={"a": 1, "z": 2})
        self.assertEqual([one["conversation_id"] for one in found["sessions"]], ["a", "c"])
        self.assertEqual(found["unknown_incidents"], ["z"])

    def test_constraints_then_length_then_id_break_ties(self):
        def session(name, *texts):
            said = [event(name, 1, "user", content=text) for text in texts]
            return [*said, event(name, 1, "compaction", content="s")]

        log = (
            session("short", "Hi.")
            + session("long", "Hi.", "Hi.")
            + session("bound", "Never push.")
            + session("alike", "Hi.")
        )
        self.assertEqual(
            [one["conversation_id"] for one in self.rank(log)["sessions"]], ["bound", "long", "alike", "short"]
        )

    def test_no_events_is_an_error_and_so_is_a_line_that_is_none(self):
        self.assertRaisesRegex(ValueError, "no event", self.rank, [])
        self.assertRaisesRegex(ValueError, "line 1", self.rank, [{"a": 1}])

    def test_as_a_command(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "log.jsonl").write_text("\n".join(map(json.dumps, LOG)))
            (Path(folder) / "incidents.json").write_text('{"a": 3}')
            out, err = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                rank_sessions.main([folder, "--incidents", str(Path(folder) / "incidents.json")])
            self.assertEqual(json.loads(out.getvalue())["sessions"][0]["incidents"], 3)
            self.assertIn("1 sessions never compacted", err.getvalue())


if __name__ == "__main__":
    unittest.main()
