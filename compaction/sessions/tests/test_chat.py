"""Tests of sessions/chat.py."""

import json
import unittest

from compaction.sessions.tests.made import imported, told, turns, unread


class Chat(unittest.TestCase):
    def test_results_of_tau_bench_are_named_by_task_and_position(self):
        def task(task_id, words):
            call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": "A"}'}}
            return {"task_id": task_id, "traj": [{"role": "user", "content": words},
                                                 {"role": "assistant", "content": None, "tool_calls": [call]},
                                                 {"role": "tool", "tool_call_id": "c1", "content": "found"}]}

        for form in (json.dumps([task(7, "one"), task(7, "two")]), [task(7, "one"), task(7, "two")]):
            with self.subTest(type(form).__name__):
                events, _, _ = imported({"air.json" if isinstance(form, str) else "air.jsonl": form})
                self.assertEqual([e["conversation_id"] for e in events], ["air-7-0"] * 3 + ["air-7-1"] * 3)
                self.assertEqual(events[1]["arguments"], {"id": "A"})

    def test_one_list_of_messages_and_one_object_with_them_are_one_conversation(self):
        messages = [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}]},
            {"role": "assistant", "content": "hello"}]
        for value in (messages, {"messages": messages}):
            events, _, summary = imported({"one.json": json.dumps(value)})
            self.assertEqual(told(events), [(1, 0, "user", "hi"), (1, 1, "assistant", "hello")])
            self.assertEqual(summary["left_out"], {"block without text: image_url": 1, "message of role system": 1})

    def test_unknown_roles_and_messages_that_are_none_are_counted(self):
        _, _, summary = imported(
            {"one.json": json.dumps([{"role": "user", "content": "hi"}, {"role": "oracle", "content": "x"}, "x"])})
        self.assertEqual(unread(summary), {"message of unknown role 'oracle'": 1, "message that is no object": 1})

    def test_a_list_with_one_message_a_line_is_a_document(self):
        text = "[\n" + ",\n".join(json.dumps({"role": "user", "content": c}) for c in "abc") + "\n]\n"
        events, _, summary = imported({"one.json": text})
        self.assertEqual((turns(events), unread(summary)), (["a", "b", "c"], {}))

    def test_lines_with_a_conversation_each_are_conversations(self):
        lines = [{"messages": [{"role": "user", "content": c}]} for c in "ab"]
        events, _, _ = imported({"one.jsonl": lines})
        self.assertEqual([(e["conversation_id"], e["content"]) for e in events], [("one-0", "a"), ("one-1", "b")])
