"""Tests of sessions/cline.py."""

import json
import unittest

from compaction.sessions.tests.doubles import imported, told, turns

ENVIRONMENT = {"type": "text", "text": "<environment_details>\n# Visible files\n</environment_details>"}


def user(*texts):
    return {"role": "user", "content": [*({"type": "text", "text": t} for t in texts), ENVIRONMENT]}


def reply(text):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


class WrittenCalls(unittest.TestCase):
    """The older form: calls as XML in the reply, results as text under the user's role."""

    def read(self, *messages):
        first = user('<task>\nfix @/a.py\n</task>\n\n<file_content path="a.py">\nx = 1\n</file_content>')
        self.events, self.contexts, self.summary = imported(
            {"api_conversation_history.json": json.dumps([first, *messages])})
        self.assertEqual(self.summary["by_file"][0]["format"], "Cline SDK")
        return self.events

    def test_calls_and_results_are_no_talk(self):
        events = self.read(
            reply("I read.\n<read_file>\n<path>a.py</path>\n</read_file>"),
            user("[read_file for 'a.py'] Result:", "x = 1 <feedback>not the user's</feedback>"),
            reply("<write_to_file>\n<path>b</path>\n<content>\n<content>y</content>\n</content>\n</write_to_file>"),
            user("[write_to_file for 'b'] Result:", "<file_content>y</file_content>"))
        self.assertEqual(
            told(events),
            [(1, 0, "user", "fix @/a.py"), (1, 1, "assistant", "I read."), (1, 1, "tool_call", "read_file"),
             (1, 1, "tool_result", "x = 1 <feedback>not the user's</feedback>"), (1, 2, "tool_call", "write_to_file"),
             (1, 2, "tool_result", "<file_content>y</file_content>")])
        self.assertEqual(events[4]["arguments"], {"path": "b", "content": "<content>y</content>"})
        self.assertEqual([e["call_id"] for e in events[2:4]], ["written 1", "written 1"])

    def test_words_of_the_user_inside_results_are_turns(self):
        denied = "The user denied this operation and provided the following feedback:\n<feedback>\nleave b\n</feedback>"
        events = self.read(
            user("[write_to_file for 'b'] Result:", denied),
            user("[ask_followup_question for 'Which?'] Result:", "<answer>\nthe second\n</answer>"),
            user("[attempt_completion] Result:", "The user has feedback.\n<feedback>\nnot yet\n</feedback>"),
            user(
                "[TASK RESUMPTION] It was interrupted.\nNew instructions for task continuation:\n<user_message>\ngo on\n</user_message>"
            ),
            user("[ERROR] You did not use a tool in your previous response!"),
        )
        self.assertEqual(turns(events), ["fix @/a.py", "leave b", "the second", "not yet", "go on"])

    def test_a_summary_under_the_users_role_is_a_compaction(self):
        events = self.read(user("This session is being continued from a previous conversation. He wants a fixed."))
        self.assertEqual([e["kind"] for e in events], ["user", "compaction"])
        self.assertEqual(len(self.contexts), 1)


if __name__ == "__main__":
    unittest.main()
