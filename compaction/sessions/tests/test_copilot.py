"""Tests of sessions/copilot.py."""

import unittest

from compaction.sessions.tests.doubles import imported, told, turns

AT = "2026-02-03T10:00:{:02d}.000Z"


def copilot(n, kind, **data):
    return {"type": kind, "id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": AT.format(n), "data": data}


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
            copilot(2, "user.message", content="", transformedContent="<system_reminder>x</system_reminder>",
                    source="system"),
            copilot(3, "user.message", content="Custom instructions: be brief.", source="instruction-discovery"),
            copilot(4, "user.message", content="<system_reminder>be brief</system_reminder>"))
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
            copilot(6, "tool.execution_complete", toolCallId="c2", success=True, result={"content": "x = 1"}))
        self.assertEqual(
            told(events)[1:],
            [(1, 1, "tool_call", "apply_patch"), (1, 1, "tool_call", "view"), (1, 1, "tool_result", "no such file"),
             (1, 1, "tool_result", "x = 1")])
        self.assertEqual(events[1]["arguments"], "*** Begin Patch")

    def test_compactions_with_and_without_a_summary_and_one_that_failed(self):
        events = self.read(copilot(1, "user.message", content="fix it"), copilot(2, "session.compaction_start"),
                           copilot(3, "session.compaction_complete", success=True, summaryContent="He wants it fixed."),
                           copilot(4, "session.compaction_complete", success=True),
                           copilot(5, "session.compaction_complete", success=False))
        self.assertEqual(
            [(e.get("content"), e.get("opaque")) for e in events[1:]], [("He wants it fixed.", None), (None, True)])
        self.assertEqual([c["compaction"] for c in self.contexts], [1, 2])

    def test_events_of_sub_agents_and_unknown_ones_are_counted(self):
        events = self.read(copilot(1, "user.message", content="fix it"),
                           copilot(2, "assistant.message", content="inside", parentToolCallId="c9"),
                           copilot(3, "hologram.shown"))
        self.assertEqual(len(events), 1)
        self.assertEqual(self.summary["left_out"]["event of a sub-agent"], 1)
        self.assertEqual(self.summary["unread"], {"event of unknown type 'hologram.shown'": 1})

    def test_what_changed_the_context_without_a_summary_is_told(self):
        events = self.read(copilot(1, "user.message", content="fix it"),
                           copilot(2, "session.snapshot_rewind", upToEventId="e1", eventsRemoved=1),
                           copilot(3, "user.message", content="fix that"),
                           copilot(4, "session.truncation", messagesRemovedDuringTruncation=0),
                           copilot(5, "session.truncation", messagesRemovedDuringTruncation=7),
                           copilot(6, "session.context_cleared", messagesCleared=4),
                           copilot(7, "user_input.completed", answer="the second"))
        self.assertEqual([e.get("interrupted") for e in events], [None, True])
        self.assertEqual(self.summary["noted"],
                         {"answers of the user outside a message": 1,
                          "context that the user cleared (messages so far stay in the log)": 1,
                          "messages that the tool dropped from the context without a summary": 1,
                          "turns that the user took back (still in the log)": 1})


if __name__ == "__main__":
    unittest.main()
