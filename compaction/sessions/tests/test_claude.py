"""Tests of sessions/claude.py: replies, compactions, sub-agents, forks and shapes that are not known."""

import unittest

from compaction.sessions.tests.made import Claude, imported, text, told, turns, unread, use


class ClaudeCode(unittest.TestCase):
    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": list(lines)})
        return self.events

    def test_the_blocks_of_one_message_are_one_reply_although_each_has_its_line(self):
        c = Claude()
        events = self.read(c.user("look"), c.assistant("m1", {"type": "thinking", "thinking": "hm"}),
                           c.assistant("m1", text("I look.")), c.assistant("m1", use("t1", command="ls")),
                           c.result("t1", "a.txt"), c.assistant("m2", text("There is a.txt.")))
        self.assertEqual(told(events),
                         [(1, 0, "user", "look"), (1, 1, "assistant", "I look."), (1, 1, "tool_call", "Bash"),
                          (1, 1, "tool_result", "a.txt"), (1, 2, "assistant", "There is a.txt.")])
        self.assertEqual(events[2]["arguments"], {"command": "ls"})
        self.assertEqual(events[3]["call_id"], "t1")
        self.assertEqual(self.summary["left_out"], {"thinking": 1})

    def test_a_boundary_and_its_summary_are_one_compaction_and_no_turn(self):
        c = Claude()
        events = self.read(c.user("go"), c.assistant("m1", text("Done.")),
                           c.line("system", subtype="compact_boundary", content="Conversation compacted"),
                           c.user("This session is being continued. The user said go.", isCompactSummary=True),
                           c.user("more"))
        self.assertEqual([e["kind"] for e in events], ["user", "assistant", "compaction", "user"])
        self.assertEqual(events[2]["turn"], 1)
        self.assertEqual(self.contexts[0]["messages"],
                         [{"role": "user", "content": "This session is being continued. The user said go."}])

    def test_a_boundary_without_a_summary_is_opaque_and_told(self):
        c = Claude()
        events = self.read(c.user("go"), c.line("system", subtype="compact_boundary"), c.assistant("m1", text("Done.")))
        self.assertTrue(events[1]["opaque"])
        self.assertEqual(self.summary["noted"], {"compaction without a summary": 1})

    def test_clearing_old_results_is_no_compaction_and_told(self):
        c = Claude()
        events = self.read(
            c.user("go"), c.line("system", subtype="microcompact_boundary"), c.assistant("m1", text("Done.")))
        self.assertEqual([e["kind"] for e in events], ["user", "assistant"])
        self.assertEqual(
            self.summary["noted"], {"micro-compaction (old results cleared from the context, no summary)": 1})

    def test_messages_that_a_compaction_preserved_belong_to_its_context(self):
        c = Claude()
        lines = [c.user("go"), c.assistant("m1", text("I look."), use("t1", command="ls")), c.result("t1", "a.txt"),
                 c.user("never push")]
        for lost in ([], ["s-0"]):
            kept = [lines[n]["uuid"] for n in (1, 2, 3)] + lost
            events = self.read(*lines, c.line("system", subtype="compact_boundary",
                                              compactMetadata={"preservedMessages": {"uuids": kept}}),
                               c.user("He wants it.", isCompactSummary=True), c.user("on"),
                               c.assistant("m2", text("Done."),
                                           usage={"input_tokens": 3, "cache_read_input_tokens": 900}))
            self.assertEqual([message["role"] for message in self.contexts[0]["messages"]],
                             ["user", "assistant", "tool", "user"])
            self.assertEqual((self.contexts[0]["messages"][3]["content"], self.contexts[0]["opaque"]),
                             ("never push", bool(lost)))
            self.assertEqual(next(e for e in events if e["kind"] == "compaction").get("tokens_after"), 903)

    def test_a_text_that_was_streamed_again_is_kept_once(self):
        c = Claude()
        events = self.read(c.user("go"), c.assistant("m1", text("I lo")), c.assistant("m1", text("I look.")),
                           c.assistant("m1", use("t1", command="ls")), c.assistant("m1", text("I look.")),
                           c.result("t1", "a"),
                           c.assistant("m2", text("I look.")))
        self.assertEqual([e.get("content") for e in events if e["kind"] == "assistant"], ["I look.", "I look."])
        self.assertEqual(self.summary["left_out"],
                         {"text of a reply streamed again": 1, "text of a reply told twice": 1})

    def test_lines_of_a_sub_agent_are_counted_and_a_file_of_them_is_its_own_conversation(self):
        c = Claude()
        inside = c.user("Find the parser.", isSidechain=True)
        self.assertEqual(turns(self.read(c.user("go"), inside)), ["go"])
        self.assertEqual(self.summary["left_out"], {"line of a sub-agent": 1})
        events = self.read(inside, c.assistant("m9", text("It is in a.py."), isSidechain=True))
        self.assertEqual((turns(events), events[0]["origin"]), (["Find the parser."], "agent"))

    def test_lines_of_a_sub_agent_before_the_conversations_own_do_not_make_it_a_sub_agents(self):
        c = Claude()
        events = self.read(c.user("warm up", isSidechain=True), c.assistant("m0", text("Warm."), isSidechain=True),
                           c.user("go"), c.user("look", isSidechain=True), c.assistant("m1", text("Done.")))
        self.assertEqual([e.get("origin") for e in events if e["kind"] == "user"], ["agent", None])
        self.assertEqual(self.summary["left_out"], {"line of a sub-agent": 1})
        self.assertEqual(
            self.summary["noted"], {"lines of a sub-agent before the conversation's own, read as part of it": 1})

    def test_a_line_that_was_gone_back_to_is_told_and_marks_what_was_said_anew(self):
        c = Claude()
        events = self.read(
            c.user("go", parentUuid=None), c.assistant("m1", text("Gone."), parentUuid="s-1-1"),
            c.user("turn left", parentUuid="s-1-2"), c.assistant("m2", text("Left."), parentUuid="s-1-3"),
            c.user("turn right", parentUuid="s-1-2"), c.assistant("m3", use("t1"), use("t2"), parentUuid="s-1-5"),
            c.result("t1", "a", parentUuid="s-1-6"), c.result("t2", "b", parentUuid="s-1-6"))
        self.assertEqual([e.get("interrupted") for e in events if e["kind"] == "user"], [None, None, True])
        self.assertEqual(self.summary["noted"], {"turns that the user took back (still in the log)": 1})

    def test_a_doubled_line_is_read_once(self):
        c = Claude()
        lines = [c.user("go"), c.assistant("m1", use("t1", command="ls")), c.result("t1", "a.txt")]
        self.assertEqual(len(self.read(*lines, *lines)), 3)
        self.assertEqual(self.summary["left_out"], {"doubled line": 3})

    def test_doubled_lines_without_an_id_are_read_once(self):
        c = Claude()
        queued = [{k: v for k, v in c.line("queue-operation", operation=operation, **fields).items() if k != "uuid"}
                  for operation, fields in (("enqueue", {"content": "and test it"}), ("dequeue", {}))]
        lines = [c.user("go"), *queued, c.assistant("m1", text("Done."))]
        self.assertEqual(turns(self.read(*lines, *lines)), ["go", "and test it"])

    def test_a_fork_names_the_lines_that_it_copied(self):
        first, fork = Claude("s-1"), Claude("s-2")
        lines = [first.user("go"), first.assistant("m1", text("Done."))]
        copies = [{**line, "uuid": f"new-{line['uuid']}", "sessionId": "s-2",
                   "forkedFrom": {"sessionId": "s-1", "messageUuid": line["uuid"]}}
                  for line in lines]
        events, _, _ = imported({"a.jsonl": lines, "b.jsonl": [*copies, fork.user("more")]})
        self.assertEqual([(e["conversation_id"], bool(e.get("copied"))) for e in events],
                         [("a", False), ("a", False), ("b", True), ("b", True), ("b", False)])

    def test_records_of_a_shape_that_nobody_has_seen_do_not_end_the_reading(self):
        c = Claude()
        odd = [c.line("user", message="x"), c.line("assistant", message=[1]), c.line(["x"]),
               c.line("attachment", attachment="x"), c.user([{"type": ["x"]}])]
        events = self.read(c.user("go"), *odd, c.user("on"))
        self.assertEqual(turns(events), ["go", "on"])
        self.assertEqual(sum(unread(self.summary).values()), 5)

    def test_unknown_shapes_are_counted_with_their_line_and_not_guessed(self):
        c = Claude()
        self.read(
            c.user("go"), c.line("hologram", text="x"), c.assistant("m1", {"type": "dream", "dream": "x"}), c.user(None)
        )
        self.assertEqual(unread(self.summary),
                         {"block of unknown type 'dream'": 1, "line of unknown type 'hologram'": 1,
                          "user line without content": 1})
        self.assertEqual(
            self.summary["by_file"][0]["unread"]["line of unknown type 'hologram'"], {"count": 1, "at": "2"})

    def test_a_result_that_never_came_and_one_without_a_call_are_told(self):
        c = Claude()
        self.read(c.user("go"), c.assistant("m1", use("t1"), use("t2")), c.result("t2", "ok"), c.result("t9", "ok"))
        self.assertEqual(self.summary["noted"], {"call without a result": 1, "result without a call": 1})

    def test_a_message_that_the_tool_wrote_for_the_model_is_no_reply(self):
        c = Claude()
        events = self.read(c.user("go"), c.assistant("m1", text("API Error"), isApiErrorMessage=True), c.user("go"))
        self.assertEqual([e["kind"] for e in events], ["user", "user"])
        self.assertTrue(events[1]["interrupted"])

    def test_times_that_run_backwards_keep_the_order_of_the_lines(self):
        c = Claude()
        first, second = c.user("go"), c.user("stop")
        first["timestamp"], second["timestamp"] = second["timestamp"], first["timestamp"]
        events = self.read(first, second)
        self.assertEqual(turns(events), ["go", "stop"])
        self.assertGreater(events[0]["time"], events[1]["time"])
