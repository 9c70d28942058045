"""Tests of session_documents.py: Gemini CLI, SWE-agent, Cline SDK and OpenAI messages."""

import json
import unittest

from compaction.session_doubles import imported, told, turns


def gemini(n, kind, content, **fields):
    return {"id": f"g{n}", "timestamp": f"2026-02-03T10:00:{n:02d}.000Z", "type": kind, "content": content, **fields}


CALL = {
    "id": "w1",
    "name": "write_file",
    "args": {"file_path": "a.md"},
    "status": "success",
    "result": [{"functionResponse": {"id": "w1", "response": {"output": "written"}}}],
}


class Gemini(unittest.TestCase):
    MESSAGES = [
        gemini(1, "user", "write it"),
        gemini(2, "gemini", "I write.", toolCalls=[CALL]),
        gemini(3, "info", "Update available"),
        gemini(4, "gemini", "Done."),
    ]
    TOLD = [
        (1, 0, "user", "write it"),
        (1, 1, "assistant", "I write."),
        (1, 1, "tool_call", "write_file"),
        (1, 1, "tool_result", "written"),
        (1, 2, "assistant", "Done."),
    ]

    def test_a_document_is_read(self):
        events, _, summary = imported(
            {"one.json": json.dumps({"sessionId": "s", "projectHash": "h", "messages": self.MESSAGES}, indent=2)}
        )
        self.assertEqual(told(events), self.TOLD)
        self.assertEqual(summary["left_out"], {"info message": 1})

    def test_lines_that_rewrite_a_message_give_the_same_events(self):
        early = {**self.MESSAGES[1], "toolCalls": [{**CALL, "result": None}]}
        lines = [
            {"sessionId": "s", "projectHash": "h", "startTime": "x"},
            self.MESSAGES[0],
            early,
            *self.MESSAGES[1:],
            {"$set": {"summary": "x"}},
        ]
        events, _, summary = imported({"one.jsonl": lines})
        self.assertEqual(told(events), self.TOLD)
        self.assertEqual(summary["by_file"][0]["format"], "Gemini CLI")


class SweAgent(unittest.TestCase):
    def test_call_ids_that_are_used_again_join_each_result_to_the_last_call(self):
        def call(command):
            return {
                "role": "assistant",
                "content": "Next.",
                "action": command,
                "message_type": "action",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "bash", "arguments": json.dumps({"command": command})},
                    }
                ],
            }

        history = [
            {"role": "system", "content": "You work."},
            {"role": "user", "content": "Solve it.", "message_type": "observation"},
            {"role": "user", "content": "Here is how.", "is_demo": True},
            call("ls"),
            {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]},
            call("cat a.py"),
            {"role": "tool", "content": "x", "tool_call_ids": ["c1"]},
        ]
        events, _, summary = imported({"one.traj": json.dumps({"trajectory": [], "history": history, "info": {}})})
        self.assertEqual(
            told(events),
            [
                (1, 0, "user", "Solve it."),
                (1, 1, "assistant", "Next."),
                (1, 1, "tool_call", "bash"),
                (1, 1, "tool_result", "a.py"),
                (1, 2, "assistant", "Next."),
                (1, 2, "tool_call", "bash"),
                (1, 2, "tool_result", "x"),
            ],
        )
        self.assertEqual(
            (summary["noted"], summary["left_out"]), ({}, {"demonstration": 1, "message of role system": 1})
        )

    def test_output_under_the_users_role_is_a_result(self):
        history = [
            {"role": "system", "content": "You work."},
            {"role": "user", "content": "Solve it."},
            {"role": "assistant", "content": "I list.\n```\nls\n```", "action": "ls"},
            {"role": "user", "content": "a.py"},
        ]
        events, _, _ = imported({"one.traj": json.dumps({"trajectory": [], "history": history, "info": {}})})
        self.assertEqual(turns(events), ["Solve it."])
        self.assertEqual(events[-1]["kind"], "tool_result")
        self.assertEqual(events[-1]["call_id"], events[-2]["call_id"])

    def test_steps_are_read_where_no_history_was_kept(self):
        events, _, _ = imported(
            {"one.traj": json.dumps({"trajectory": [{"thought": "I list.", "action": "ls", "observation": "a.py"}]})}
        )
        self.assertEqual([e["kind"] for e in events], ["assistant", "tool_call", "tool_result"])


class Chat(unittest.TestCase):
    def test_results_of_tau_bench_are_named_by_task_and_position(self):
        def task(task_id, words):
            return {
                "task_id": task_id,
                "traj": [
                    {"role": "user", "content": words},
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": "A"}'}}
                        ],
                    },
                    {"role": "tool", "tool_call_id": "c1", "content": "found"},
                ],
            }

        for form in (json.dumps([task(7, "one"), task(7, "two")]), [task(7, "one"), task(7, "two")]):
            with self.subTest(type(form).__name__):
                events, _, _ = imported({"air.json" if isinstance(form, str) else "air.jsonl": form})
                self.assertEqual([e["conversation_id"] for e in events], ["air-7-0"] * 3 + ["air-7-1"] * 3)
                self.assertEqual(events[1]["arguments"], {"id": "A"})

    def test_one_list_of_messages_and_one_object_with_them_are_one_conversation(self):
        messages = [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}]},
            {"role": "assistant", "content": "hello"},
        ]
        for value in (messages, {"messages": messages}):
            events, _, summary = imported({"one.json": json.dumps(value)})
            self.assertEqual(told(events), [(1, 0, "user", "hi"), (1, 1, "assistant", "hello")])
            self.assertEqual(summary["left_out"], {"image_url from the user": 1, "message of role system": 1})

    def test_cline_blocks_and_a_refusal_with_feedback(self):
        messages = [
            {
                "role": "user",
                "content": [{"type": "text", "text": "move it"}, {"type": "file", "path": "a", "content": "x"}],
                "ts": 1770112800000,
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "editor", "input": {"path": "a"}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"query": "a", "result": "edited"}]}
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t2", "name": "editor", "input": {"path": "b"}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t2",
                        "content": "The user denied this operation and provided feedback:\n<feedback>\nleave b\n</feedback>",
                    }
                ],
            },
        ]
        events, _, summary = imported(
            {"one.json": json.dumps({"sessionId": "s", "agent": "lead", "messages": messages})}
        )
        self.assertEqual(summary["by_file"][0]["format"], "Cline SDK")
        self.assertEqual(turns(events), ["move it", "leave b"])
        self.assertEqual((events[0]["time"], events[2]["content"]), ("2026-02-03T10:00:00.000Z", "edited"))

    def test_unknown_roles_and_messages_that_are_none_are_counted(self):
        _, _, summary = imported(
            {"one.json": json.dumps([{"role": "user", "content": "hi"}, {"role": "oracle", "content": "x"}, "x"])}
        )
        self.assertEqual(summary["unread"], {"message of unknown role 'oracle'": 1, "message that is no object": 1})


if __name__ == "__main__":
    unittest.main()
