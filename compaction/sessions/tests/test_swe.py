"""Tests of sessions/swe.py: SWE-agent and mini-swe-agent."""

import json
import unittest

from compaction.sessions.tests.doubles import imported, told, turns


class SweAgent(unittest.TestCase):
    def test_call_ids_that_are_used_again_join_each_result_to_the_last_call(self):
        def call(command):
            return {"role": "assistant", "content": "Next.", "action": command, "message_type": "action",
                    "tool_calls": [{"id": "c1", "type": "function",
                                    "function": {"name": "bash", "arguments": json.dumps({"command": command})}}]}

        history = [{"role": "system", "content": "You work."},
                   {"role": "user", "content": "Solve it.", "message_type": "observation"},
                   {"role": "user", "content": "Here is how.", "is_demo": True}, call("ls"),
                   {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]}, call("cat a.py"),
                   {"role": "tool", "content": "x", "tool_call_ids": ["c1"]}]
        events, _, summary = imported({"one.traj": json.dumps({"trajectory": [], "history": history, "info": {}})})
        self.assertEqual(told(events),
                         [(1, 0, "user", "Solve it."), (1, 1, "assistant", "Next."), (1, 1, "tool_call", "bash"),
                          (1, 1, "tool_result", "a.py"), (1, 2, "assistant", "Next."), (1, 2, "tool_call", "bash"),
                          (1, 2, "tool_result", "x")])
        self.assertEqual(
            (summary["noted"], summary["left_out"]), ({}, {"demonstration": 1, "message of role system": 1}))

    def test_output_under_the_users_role_is_a_result(self):
        history = [{"role": "system", "content": "You work."}, {"role": "user", "content": "Solve it."},
                   {"role": "assistant", "content": "I list.\n```\nls\n```", "action": "ls"},
                   {"role": "user", "content": "a.py"}]
        events, _, _ = imported({"one.traj": json.dumps({"trajectory": [], "history": history, "info": {}})})
        self.assertEqual(turns(events), ["Solve it."])
        self.assertEqual(events[-1]["kind"], "tool_result")
        self.assertEqual(events[-1]["call_id"], events[-2]["call_id"])

    def test_steps_are_read_where_no_history_was_kept(self):
        events, _, _ = imported(
            {"one.traj": json.dumps({"trajectory": [{"thought": "I list.", "action": "ls", "observation": "a.py"}]})})
        self.assertEqual([e["kind"] for e in events], ["assistant", "tool_call", "tool_result"])


class MiniSweAgent(unittest.TestCase):
    def read(self, *messages):
        value = {"info": {"mini_version": "1"}, "messages": list(messages), "trajectory_format": "mini-swe-agent-1"}
        self.events, _, self.summary = imported({"a.traj.json": json.dumps(value)})
        self.assertEqual(self.summary["by_file"][0]["format"], "mini-swe-agent")
        return self.events

    def test_only_the_task_is_a_turn_and_output_joins_its_command(self):
        events = self.read({"role": "system", "content": "s"}, {"role": "user", "content": "Solve it."},
                           {"role": "assistant", "content": "I list.\n```bash\nls\n```"},
                           {"role": "user", "content": "<returncode>0</returncode>"},
                           {"role": "assistant", "content": "No command."},
                           {"role": "user", "content": "Please always provide exactly one action."},
                           {"role": "assistant", "content": "<mswea_bash_command>cat a</mswea_bash_command>",
                            "extra": {"actions": [{"command": "cat a"}]}},
                           {"role": "user", "content": "a"}, {"role": "exit", "content": "done"})
        self.assertEqual(turns(events), ["Solve it."])
        self.assertEqual(
            [(e["reply"], e["arguments"]) for e in events if e["kind"] == "tool_call"], [(1, "ls"), (3, "cat a")])
        joined = [e["call_id"] for e in events if e["kind"] in ("tool_call", "tool_result")]
        self.assertEqual(joined, ["step 3", "step 3", "step 7", "step 7"])
        self.assertEqual(
            self.summary["left_out"],
            {"message of role exit": 1, "message of role system": 1, "text that the tool put under the user's role": 1})

    def test_calls_in_the_form_of_the_second_version(self):
        call = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
        events = self.read(
            {"role": "user", "content": "Solve it."},
            {"role": "assistant", "content": "", "tool_calls": [call], "extra": {"actions": [{"command": "ls"}]}},
            {"role": "tool", "tool_call_id": "a", "content": "a.py"})
        self.assertEqual(
            [e.get("arguments", e.get("content")) for e in events], ["Solve it.", {"command": "ls"}, "a.py"])

    def test_words_of_a_person_who_sat_before_it_are_turns(self):
        events = self.read(
            {"role": "user", "content": "Solve it."}, {"role": "assistant", "content": "```bash\nrm x\n```"},
            {"role": "user",
             "content": "Command not executed. The user rejected your command with the following message: keep x"},
            {"role": "user", "content": "Interrupted by user: stop there"},
            {"role": "user", "content": "Commands not executed. Switching to human mode"},
            {"role": "user", "content": "User command: \n```bash\nls\n```"})
        self.assertEqual(turns(events), ["Solve it.", "keep x", "stop there", "ls"])


if __name__ == "__main__":
    unittest.main()
