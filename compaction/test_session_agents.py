"""Tests of session_agents.py: pi and Copilot CLI."""

import unittest

from compaction.session_doubles import imported, told, turns

AT = "2026-02-03T10:00:{:02d}.000Z"


def pi(n, role, content, **fields):
    message = {
        "role": role,
        "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        **fields,
    }
    return {"type": "message", "timestamp": AT.format(n), "message": message}


def copilot(n, kind, **data):
    return {"type": kind, "id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": AT.format(n), "data": data}


HEAD = {"type": "session", "id": "p-1", "timestamp": AT.format(0), "cwd": "/src"}


class Pi(unittest.TestCase):
    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": [HEAD, *lines]})
        return self.events

    def test_a_message_is_one_reply_and_a_command_that_the_user_ran_is_a_turn(self):
        call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}
        events = self.read(
            pi(1, "user", "look"),
            pi(2, "assistant", [{"type": "text", "text": "I look."}, call]),
            pi(3, "toolResult", "x = 1", toolCallId="c1"),
            pi(4, "assistant", "It sets x."),
            {
                "type": "message",
                "timestamp": AT.format(5),
                "message": {"role": "bashExecution", "command": "ls", "output": "a.py"},
            },
        )
        self.assertEqual(
            told(events),
            [
                (1, 0, "user", "look"),
                (1, 1, "assistant", "I look."),
                (1, 1, "tool_call", "read"),
                (1, 1, "tool_result", "x = 1"),
                (1, 2, "assistant", "It sets x."),
                (2, 2, "user", "ls"),
            ],
        )
        self.assertEqual(events[-1]["origin"], "shell")

    def test_a_reply_that_was_aborted_marks_the_next_turn(self):
        events = self.read(pi(1, "user", "go"), pi(2, "assistant", [], stopReason="aborted"), pi(3, "user", "go"))
        self.assertEqual([e.get("interrupted") for e in events], [None, True])
        self.assertEqual(self.summary["noted"], {"reply that ended as aborted": 1})

    def test_a_compaction_leaves_its_summary_and_the_lines_from_the_first_kept_one_on(self):
        lines = [pi(1, "user", "one"), pi(2, "assistant", "1"), pi(3, "user", "two"), pi(4, "assistant", "2")]
        for kept in ({"firstKeptEntryIndex": 3}, {"firstKeptEntryId": "L3"}):
            with self.subTest(kept):
                numbered = [{**line, "id": f"L{n}"} for n, line in enumerate(lines, 1)]
                self.read(*numbered, {"type": "compaction", "timestamp": AT.format(5), "summary": "He counts.", **kept})
                self.assertEqual([m["content"] for m in self.contexts[0]["messages"]], ["He counts.", "two", "2"])
                self.assertEqual(self.contexts[0]["turn"], 3)

    def test_unknown_shapes_are_counted(self):
        self.read(
            pi(1, "oracle", "x"), {"type": "vision", "timestamp": AT.format(2)}, pi(3, "assistant", [{"type": "dream"}])
        )
        self.assertEqual(
            self.summary["unread"],
            {
                "assistant block of unknown type 'dream'": 1,
                "line of unknown type 'vision'": 1,
                "message of unknown role 'oracle'": 1,
            },
        )

    def test_a_fork_of_a_session_read_before_has_the_copied_lines_marked(self):
        lines = [pi(1, "user", "one"), pi(2, "assistant", "1")]
        fork = [{**HEAD, "id": "p-2", "branchedFrom": "/x/p-1.jsonl"}, *lines, pi(9, "user", "two")]
        events, _, _ = imported({"a.jsonl": [HEAD, *lines], "b.jsonl": fork})
        self.assertEqual(
            [(e["conversation_id"], e["content"], bool(e.get("copied"))) for e in events if e["kind"] == "user"],
            [("a", "one", False), ("b", "one", True), ("b", "two", False)],
        )


class CopilotCLI(unittest.TestCase):
    START = copilot(0, "session.start", sessionId="k-1")

    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": [self.START, *lines]})
        return self.events

    def test_injected_messages_are_no_turns(self):
        events = self.read(
            copilot(
                1, "user.message", content="fix it", transformedContent="<current_datetime>x</current_datetime> fix it"
            ),
            copilot(
                2,
                "user.message",
                content="",
                transformedContent="<system_reminder>x</system_reminder>",
                source="system",
            ),
            copilot(3, "user.message", content="Custom instructions: be brief.", source="instruction-discovery"),
            copilot(4, "user.message", content="<system_reminder>be brief</system_reminder>"),
        )
        self.assertEqual(turns(events), ["fix it"])
        self.assertEqual(self.summary["left_out"]["text that the tool put under the user's role"], 3)

    def test_a_call_told_by_its_message_and_by_its_start_is_one_call(self):
        request = {"toolCallId": "c1", "name": "apply_patch", "arguments": "*** Begin Patch"}
        events = self.read(
            copilot(1, "user.message", content="fix it"),
            copilot(2, "assistant.message", messageId="m1", content="", toolRequests=[request]),
            copilot(3, "tool.execution_start", toolCallId="c1", toolName="apply_patch", arguments="*** Begin Patch"),
            copilot(4, "tool.execution_start", toolCallId="c2", toolName="view", arguments={"path": "a.py"}),
            copilot(5, "tool.execution_complete", toolCallId="c1", success=False, error={"message": "no such file"}),
            copilot(6, "tool.execution_complete", toolCallId="c2", success=True, result={"content": "x = 1"}),
        )
        self.assertEqual(
            told(events)[1:],
            [
                (1, 1, "tool_call", "apply_patch"),
                (1, 1, "tool_call", "view"),
                (1, 1, "tool_result", "no such file"),
                (1, 1, "tool_result", "x = 1"),
            ],
        )
        self.assertEqual(events[1]["arguments"], "*** Begin Patch")

    def test_compactions_with_and_without_a_summary_and_one_that_failed(self):
        events = self.read(
            copilot(1, "user.message", content="fix it"),
            copilot(2, "session.compaction_start"),
            copilot(3, "session.compaction_complete", success=True, summaryContent="He wants it fixed."),
            copilot(4, "session.compaction_complete", success=True),
            copilot(5, "session.compaction_complete", success=False),
        )
        self.assertEqual(
            [(e.get("content"), e.get("opaque")) for e in events[1:]], [("He wants it fixed.", None), (None, True)]
        )
        self.assertEqual([c["compaction"] for c in self.contexts], [1, 2])

    def test_events_of_sub_agents_and_unknown_ones_are_counted(self):
        events = self.read(
            copilot(1, "user.message", content="fix it"),
            copilot(2, "assistant.message", content="inside", parentToolCallId="c9"),
            copilot(3, "hologram.shown"),
        )
        self.assertEqual(len(events), 1)
        self.assertEqual(self.summary["left_out"]["event of a sub-agent"], 1)
        self.assertEqual(self.summary["unread"], {"event of unknown type 'hologram.shown'": 1})


if __name__ == "__main__":
    unittest.main()
