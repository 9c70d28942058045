"""Tests of sessions/log.py: what makes an event, and that the README's program writes such lines."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from base.command import InputError
from base.tests.made import Files
from compaction.contexts import as_messages, from_event
from compaction.sessions.log import read_log

README = Path(__file__).parents[1] / "README.md"
SESSION = [
    {"type": "session_start", "id": "s"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "tidy up"}]}},
    {"type": "message", "message": {"role": "assistant", "content": [
        {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}}]}},
    {"type": "message", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]}},
    {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}},
]
EVENTS = [{"conversation_id": "my-session", "turn": 1, "reply": reply, "kind": kind, **said} for reply, kind, said in (
    (0, "user", {"content": "tidy up"}), (1, "assistant", {"content": "I look."}),
    (1, "tool_call", {"name": "ls", "arguments": {"path": "."}, "call_id": "t1"}),
    (1, "tool_result", {"content": "a.py", "call_id": "t1"}), (2, "assistant", {"content": "Done."}))]


class Log(Files):
    def test_the_readmes_program_of_ten_lines_writes_a_log_that_is_read(self):
        program = re.search(r"```sh\n(jq .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
        self.assertLessEqual(len(program.splitlines()), 10)
        self.write("session.jsonl", SESSION)
        if shutil.which("jq"):
            subprocess.run(["sh", "-c", program], cwd=self.folder, check=True)
        else:
            self.write("log.local.jsonl", EVENTS)
        self.assertEqual(list(read_log(self.folder / "log.local.jsonl")), EVENTS)

    def test_a_line_that_is_no_event_is_refused_by_its_number_and_field(self):
        good = {"conversation_id": "a", "turn": 1, "reply": 0, "kind": "user", "content": "go"}
        odd = [("kind", "odd", "kind is 'odd'"), ("kind", ["user"], "kind"), ("kind", "tool_call", "'name'"),
               ("turn", "1", "turn"), ("turn", -1, "turn"), ("content", None, "'content'"),
               ("conversation_id", 7, "conversation_id"), ("reply", True, "reply")]
        for bad, problem in (("{", "not JSON"), ("[" * 100_000, "not JSON"), ("[]", "the event is"),
                             *((json.dumps({**good, field: value}), problem) for field, value, problem in odd)):
            log = self.write("log", f"{json.dumps(good)}\n\n{bad}")
            with self.subTest(bad[:200]), self.assertRaisesRegex(InputError, f"line 3: .*{problem}"):
                list(read_log(log))
        self.assertRaisesRegex(InputError, "/dev/zero: cannot be read", list, read_log("/dev/zero"))  # it never ends

    EVENT = {"conversation_id": "a", "turn": 3, "reply": 2, "kind": "compaction", "content": "He wants x."}

    def test_what_is_kept_stands_behind_the_summary_and_a_summary_among_it_is_not_said_twice(self):
        kept = [{"role": "user", "content": "do x"}]
        self.assertEqual(from_event({**self.EVENT, "kept": kept, "tokens_after": 900}, 1, "line 1"),
                         {"conversation_id": "a", "compaction": 1, "turn": 4, "inside": True, "tokens_after": 900,
                          "opaque": False,
                          "messages": [{"role": "user", "content": "He wants x."}, *kept]})
        inside = [*kept, {"role": "user", "content": "He wants x."}]
        self.assertEqual(from_event({**self.EVENT, "kept": inside}, 1, "line 1")["messages"], inside)

    def test_a_result_stands_behind_the_message_that_called_whatever_came_between(self):
        call = {"kind": "tool_call", "name": "ls", "arguments": "x"}
        messages, left_out = as_messages([
            {"kind": "user", "content": "go"}, {**call, "call_id": "1"}, {"kind": "assistant", "content": "wait"},
            {**call, "call_id": "2"}, {"kind": "tool_result", "call_id": "2", "content": "b"},
            {"kind": "tool_result", "call_id": "1", "content": "a"},
            {"kind": "tool_result", "call_id": "9", "content": "c"}])
        self.assertEqual(([(m["role"], m.get("tool_call_id", m["content"])) for m in messages], left_out),
                         ([("user", "go"), ("assistant", ""), ("tool", "1"), ("assistant", "wait"), ("tool", "2")], 1))
