"""Tests of session_fixtures.py: turns of an event log as a fixture has them, for checks of recorded contexts."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from command import InputError, read_json, status_of
from compaction.contexts import read_contexts
from compaction.fixtures import load_fixtures
from compaction.import_sessions import main as import_main
from compaction.measure import decide_items
from compaction.session_doubles import Claude, text, use
from compaction.session_fixtures import NO_REPLY, main, make_fixtures


def item(**fields):
    return {
        "conversation_id": "one",
        "id": "one-1",
        "class": "constraint",
        "turn": 1,
        "literal": "keep the old table",
        "probe": "May the old table go?",
        "expect": "No.",
        "who": "user",
        "recorded": [],
        **fields,
    }


def event(turn, kind, **fields):
    return {"conversation_id": "one", "turn": turn, "reply": 1, "kind": kind, **fields}


EVENTS = [
    event(1, "user", content="keep the old table please"),
    event(1, "assistant", content="I look."),
    event(1, "tool_call", name="patch", arguments="*** Begin", call_id="x"),
    event(1, "tool_result", content="ok", call_id="x"),
    event(1, "tool_call", name="ls", arguments={}, call_id="x"),
    event(1, "tool_result", content="a", call_id="x"),
    event(1, "tool_result", content="lost", call_id="y"),
    event(1, "assistant", content="Done."),
    event(1, "compaction", content="s"),
    event(2, "user", content="stop"),
    event(3, "user", content="go on"),
]


class Histories(unittest.TestCase):
    def made(self, events=EVENTS, **fields):
        kept = {k: v for k, v in item(**fields).items() if k not in ("conversation_id", "who", "recorded")}
        return make_fixtures(events, {"one": [kept]}, "log")

    def test_calls_and_results_stand_between_the_users_words_and_the_closing_text(self):
        (fixture,), left_out = self.made()
        first = fixture["history"][0]
        self.assertEqual((first["user"], first["assistant"], left_out), ("keep the old table please", "Done.", 1))
        self.assertEqual([m["role"] for m in first["messages"]], ["assistant", "tool", "assistant", "tool"])
        self.assertEqual(
            first["messages"][0]["tool_calls"][0]["function"], {"name": "patch", "arguments": {"input": "*** Begin"}}
        )
        self.assertEqual(
            [m.get("tool_call_id") for m in first["messages"]], [None, "c1", None, "c2"]
        )  # an id used twice is made two
        self.assertEqual(
            (fixture["turns"], fixture["compactions_expected"], fixture["history"][1]["assistant"]), (3, 1, NO_REPLY)
        )

    def test_a_literal_that_does_not_stand_in_its_turn_and_a_conversation_that_is_missing_are_refused(self):
        with self.assertRaisesRegex(InputError, "literal"):
            self.made(turn=2)
        with self.assertRaisesRegex(InputError, "no conversation 'one'"):
            self.made(events=[])

    def test_a_recorded_compaction_is_graded_from_the_session_file_to_the_verdicts(self):
        c = Claude()
        session = [
            c.user("keep the old table"),
            c.assistant("m1", use("t1", command="ls")),
            c.result("t1", "a"),
            c.assistant("m1", text("Done.")),
            c.user("and the new one?"),
            c.user("They said: keep the old table.", isCompactSummary=True),
            c.assistant("m2", text("Yes.")),
        ]
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()):
            folder = Path(name)
            (folder / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in session), encoding="utf-8")
            (folder / "items.json").write_text(
                json.dumps(
                    {
                        "items": [
                            item(),
                            item(id="one-2", turn=2, literal="and the new one?", **{"class": "open_question"}),
                        ]
                    }
                ),
                encoding="utf-8",
            )
            import_main(
                [
                    str(folder / "one.jsonl"),
                    "--output",
                    str(folder / "log"),
                    "--contexts",
                    str(folder / "contexts.jsonl"),
                ]
            )
            self.assertEqual(
                status_of(main, [str(folder / "log"), str(folder / "items.json"), "--output", str(folder / "made")]), 0
            )
            fixtures = load_fixtures([folder / "made"])
            contexts, unplaced = read_contexts(folder / "contexts.jsonl", fixtures, lambda messages: 1)
            self.assertEqual(read_json(folder / "made" / "one.json")["turns"], 2)
        decisions = decide_items(fixtures, contexts, True)
        self.assertEqual(
            ([(d["item"], d["verdict"]) for d in decisions], unplaced["unplaced"]),
            ([("one-1", "verbatim"), ("one-2", "absent")], 0),
        )

    def test_refusals_are_one_line(self):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "items.json").write_text('{"items": []}', encoding="utf-8")
            err = io.StringIO()
            with contextlib.redirect_stderr(err):
                self.assertEqual(status_of(main, ["none", str(Path(name) / "items.json"), "--output", name]), 2)
            self.assertIn("no list of items", err.getvalue())


if __name__ == "__main__":
    unittest.main()
