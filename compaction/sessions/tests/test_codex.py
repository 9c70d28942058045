"""Tests of sessions/codex.py: who typed what, calls that are programs, forks, and compactions that cannot be read."""

import json
import unittest

from compaction.sessions.tests.made import Codex, imported, told, turns, unread

OLD, NEW = "0190aaaa-0000-7000-8000-000000000001", "0190bbbb-0000-7000-8000-000000000001"


class CodexRollout(unittest.TestCase):
    def read(self, *lines):
        flat = [line for entry in lines for line in (entry if isinstance(entry, list) else [entry])]
        self.events, self.contexts, self.summary = imported({"one.jsonl": flat})
        return self.events

    def test_only_what_was_typed_is_a_turn(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.item("developer", "sandbox"),
                           c.item("user", "# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"),
                           c.item("user", "<environment_context>\n<cwd>/src</cwd>\n</environment_context>"),
                           c.typed("fix it\n"),
                           c.item("user", '<subagent_notification>\n{"status": "done"}\n</subagent_notification>'),
                           c.item("user", "Orders of another agent."), c.item("assistant", "Fixed."))
        self.assertEqual(turns(events), ["fix it\n"])
        self.assertEqual(self.summary["left_out"]["text that the tool put under the user's role"], 3)
        self.assertEqual(self.summary["left_out"]["text under the user's role that no user typed"], 1)

    def test_a_version_without_user_message_lines_has_its_turns_all_the_same(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.item("user", "<environment_context>x</environment_context>"),
                           c.item("user", "fix it"), c.item("assistant", "Fixed."))
        self.assertEqual(told(events), [(1, 0, "user", "fix it"), (1, 1, "assistant", "Fixed.")])
        self.assertEqual(self.summary["noted"], {"user turn without a user_message line": 1})

    def test_arguments_are_the_value_in_the_string_and_a_program_or_patch_stays_text(self):
        c = Codex()
        patch = "*** Begin Patch\n*** Update File: a.py\n+x = 1\n*** End Patch"
        custom = c.line(
            "response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c2"})
        program = c.line(
            "response_item",
            {"type": "custom_tool_call", "name": "exec", "input": "const r = await tools.ls({})", "call_id": "c3"})
        number = c.call("c4", "wait", "17")
        search = c.line("response_item",
                        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}})
        events = self.read(c.meta(NEW), c.typed("go"), c.call("c1", "exec_command", '{"cmd": "ls", "limit": 1.0}'),
                           custom, program, number, search)
        self.assertEqual([e["arguments"] for e in events[1:]],
                         [{"cmd": "ls", "limit": 1.0}, patch, "const r = await tools.ls({})", "17",
                          {"type": "search", "query": "q"}])
        self.assertEqual([e["name"] for e in events[1:]], ["exec_command", "apply_patch", "exec", "wait", "web_search"])

    def test_calls_side_by_side_are_one_reply_and_the_next_after_their_results_is_another(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.typed("go"), c.item("assistant", "I look."), c.call("c1", "ls", "{}"),
                           c.call("c2", "ls", "{}"), c.output("c1", "a"), c.output("c2", "b"),
                           c.item("assistant", "Done."))
        self.assertEqual([e["reply"] for e in events], [0, 1, 1, 1, 1, 1, 2])

    def test_an_encrypted_compaction_is_opaque_and_what_is_left_of_the_messages_stands_beside(self):
        c = Codex()
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
                   {"type": "compaction", "encrypted_content": "x"}]
        events = self.read(c.meta(NEW), c.typed("fix it"),
                           c.line("compacted", {"message": "", "replacement_history": history}),
                           c.line("event_msg", {"type": "context_compacted"}))
        self.assertEqual([e["kind"] for e in events], ["user", "compaction"])
        self.assertEqual((events[1]["opaque"], "content" in events[1]), (True, False))
        self.assertEqual(self.contexts,
                         [{"conversation_id": "one", "compaction": 1, "turn": 2, "inside": True, "opaque": True,
                           "messages": [{"role": "user", "content": "fix it"}]}])

    def test_a_summary_in_clear_is_read_with_the_messages_kept(self):
        c = Codex()
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]}]
        events = self.read(c.meta(NEW), c.typed("fix it"),
                           c.line("compacted", {"message": "He wants it fixed.", "replacement_history": history}))
        self.assertEqual(events[1]["content"], "He wants it fixed.")
        self.assertEqual([m["content"] for m in self.contexts[0]["messages"]], ["fix it", "He wants it fixed."])

    def test_an_event_of_compaction_without_its_line_is_still_one(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.typed("fix it"), c.line("event_msg", {"type": "context_compacted"}))
        self.assertTrue(events[1]["opaque"])

    def fork(self):
        """A fork: its header, its parent's, the parent's history in one millisecond, then its own turn."""
        c, at = Codex(), "2026-02-03T12:00:00.000Z"
        meta = c.meta(NEW, forked_from_id=OLD, source={"subagent": {"thread_spawn": {"parent_thread_id": OLD}}})
        copied = [c.meta(OLD), c.started(OLD[:-1] + "2"), *c.typed("go on"), c.started(OLD[:-1] + "3"),
                  *c.typed("go on")]
        return [meta, *({**line, "timestamp": at} for line in copied), c.started(NEW[:-1] + "2"),
                *c.typed("Review the parser."), c.item("assistant", "No findings.")]

    def test_equal_words_of_two_turns_in_one_millisecond_are_two_turns(self):
        self.assertEqual(turns(self.read(self.fork())), ["go on", "go on", "Review the parser."])
        self.assertNotIn("doubled line", self.summary["left_out"])

    def test_orders_to_a_sub_agent_are_told_from_the_users_words_that_it_copied(self):
        self.assertEqual(
            [e.get("origin") for e in self.read(self.fork()) if e["kind"] == "user"], [None, None, "agent"])

    def test_history_that_a_fork_copied_is_marked_only_when_its_parent_was_read_too(self):
        self.assertFalse(any(e.get("copied") for e in self.read(self.fork())))
        c = Codex()
        parent = [c.meta(OLD), c.started(OLD[:-1] + "2"), *c.typed("go on"), c.started(OLD[:-1] + "3"),
                  *c.typed("go on")]
        events, _, summary = imported({"parent.jsonl": parent, "fork.jsonl": self.fork()})
        self.assertEqual([e["content"] for e in events if e.get("copied")], ["go on", "go on"])
        self.assertEqual(
            [e["conversation_id"] for e in events if not e.get("copied")], ["parent", "parent", "fork", "fork"])

    def test_a_doubled_stretch_is_read_once(self):
        c = Codex()
        stretch = [c.started(NEW[:-1] + "2"), *c.typed("go"), c.call("c1", "ls", "{}"), c.output("c1", "a")]
        events = self.read(c.meta(NEW), stretch, stretch)
        self.assertEqual(len(events), 3)
        self.assertEqual(self.summary["left_out"]["doubled line"], 5)

    def test_an_aborted_turn_marks_the_next_and_one_taken_back_is_told(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.typed("go"),
                           c.line("event_msg", {"type": "turn_aborted", "reason": "interrupted"}), c.typed("go"),
                           c.line("event_msg", {"type": "thread_rolled_back", "num_turns": 1}))
        self.assertEqual([e.get("interrupted") for e in events], [None, True])
        self.assertIn("turns that the user took back (still in the log)", self.summary["noted"])

    def test_what_an_editor_puts_before_the_request_is_not_the_users(self):
        c = Codex()
        words = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix a.py\n"
        self.assertEqual(turns(self.read(c.meta(NEW), c.typed(words))), ["fix a.py\n"])

    def test_a_command_that_the_user_let_the_tool_run_is_no_turn(self):
        c = Codex()
        ran = "<user_shell_command>\n<command>ls</command>\n<result>a.py</result>\n</user_shell_command>"
        events = self.read(c.meta(NEW), c.typed("go"), c.item("user", ran), c.item("assistant", "I see."))
        self.assertEqual(turns(events), ["go"])
        self.assertEqual(turns(self.read(c.meta(NEW), c.typed("!git status"), c.typed("!ls\nnow fix it"))),
                         ["now fix it"])

    def test_answers_to_a_question_that_the_model_put_are_the_users_words(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.typed("go"), c.call("c1", "request_user_input", "{}"),
                           c.output("c1", '{"answers": {"q1": {"answers": ["the staging one"]}}}'),
                           c.call("c2", "cat", "{}"),
                           c.output("c2", '{"answers": {"q1": {"answers": ["not said"]}}}'))
        self.assertEqual([(e["content"], e.get("origin")) for e in events if e["kind"] == "user"],
                         [("go", None), ("the staging one", "answer")])

    def test_a_record_of_a_shape_that_nobody_has_seen_does_not_end_the_reading(self):
        c = Codex()
        odd = [c.line("response_item", {"type": ["x"], "role": {}}),
               c.line("event_msg", {"type": "user_message", "images": 3, "message": "x"})]
        events = self.read(c.meta(NEW), c.typed("go"), odd, {"type": "response_item", "payload": [1]}, c.typed("on"))
        self.assertEqual([e for e in turns(events) if e != "x"], ["go", "on"])
        self.assertEqual(sum(unread(self.summary).values()), 3)

    def test_unknown_shapes_are_counted_and_not_guessed(self):
        c = Codex()
        self.read(c.meta(NEW), c.line("response_item", {"type": "telepathy_call"}),
                  c.line("event_msg", {"type": "telepathy"}),
                  c.line("event_msg", {"type": "user_message", "message": None}))
        self.assertEqual(
            unread(self.summary),
            {"event_msg of unknown type 'telepathy'": 1, "response item of unknown type 'telepathy_call'": 1,
             "user_message without text": 1})

    def test_arguments_with_nan_stay_json(self):
        c = Codex()
        events = self.read(c.meta(NEW), c.typed("go"), c.call("c1", "f", '{"x": NaN}'))
        self.assertEqual(json.dumps(events[1]["arguments"], allow_nan=False), '{"x": "NaN"}')

    def test_an_unknown_tag_under_the_users_role_is_no_turn_where_typed_words_are_told(self):
        c = Codex()
        lines = [c.item("developer", "rules"), c.item("user", "<new_kind_of_context>x</new_kind_of_context>"),
                 c.item("developer", "more rules"), *c.typed("fix it"), c.item("assistant", "Done.")]
        events, _, summary = imported({"one.jsonl": lines})
        self.assertEqual(turns(events), ["fix it"])
        self.assertEqual(summary["left_out"]["text under the user's role that no user typed"], 1)

    def test_a_shell_call_without_a_call_id_is_joined_by_its_own(self):
        c = Codex()
        action = {"type": "exec", "command": ["ls"]}
        lines = [
            *c.typed("look"),
            c.line("response_item", {"type": "local_shell_call", "id": "l1", "status": "completed", "action": action}),
            c.output("l1", "a.py")]
        events, _, summary = imported({"one.jsonl": lines})
        self.assertEqual((events[1]["call_id"], summary["noted"]), ("l1", {}))

    def test_a_message_of_images_alone_is_counted_as_images(self):
        c = Codex()
        line = c.line(
            "event_msg", {"type": "user_message", "message": "", "images": ["data:x"], "local_images": ["/a.png"]})
        _, _, summary = imported({"one.jsonl": [*c.typed("look"), line]})
        self.assertEqual(summary["left_out"], {"empty text": 1, "image from the user": 2})
