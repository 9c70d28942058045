"""Tests of session_claude.py: where a user's words hide, and what is no turn."""

import unittest

from compaction.session_doubles import Claude, imported, text, told, turns, use

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected (nothing was written). "


class ClaudeCode(unittest.TestCase):
    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": list(lines)})
        return self.events

    def test_the_blocks_of_one_message_are_one_reply_although_each_has_its_line(self):
        c = Claude()
        events = self.read(
            c.user("look"),
            c.assistant("m1", {"type": "thinking", "thinking": "hm"}),
            c.assistant("m1", text("I look.")),
            c.assistant("m1", use("t1", command="ls")),
            c.result("t1", "a.txt"),
            c.assistant("m2", text("There is a.txt.")),
        )
        self.assertEqual(
            told(events),
            [
                (1, 0, "user", "look"),
                (1, 1, "assistant", "I look."),
                (1, 1, "tool_call", "Bash"),
                (1, 1, "tool_result", "a.txt"),
                (1, 2, "assistant", "There is a.txt."),
            ],
        )
        self.assertEqual(events[2]["arguments"], {"command": "ls"})
        self.assertEqual(events[3]["call_id"], "t1")
        self.assertEqual(self.summary["left_out"], {"thinking": 1})

    def test_words_inside_a_refused_result_are_a_turn(self):
        c = Claude()
        events = self.read(
            c.user("tidy up"),
            c.assistant("m1", use("t1", command="rm x")),
            c.result("t1", REFUSED + "To tell you how to proceed, the user said:\nkeep x, it is mine"),
        )
        self.assertEqual(turns(events), ["tidy up", "keep x, it is mine"])
        self.assertEqual(events[-1]["origin"], "refusal")

    def test_the_same_phrase_in_a_file_that_was_read_is_no_turn(self):
        c = Claude()
        events = self.read(
            c.user("read it"),
            c.assistant("m1", use("t1", "Read", file_path="notes")),
            c.result("t1", "1: he wrote that the user said:\nkeep x"),
        )
        self.assertEqual(turns(events), ["read it"])

    def test_a_note_of_the_tool_after_the_words_is_not_the_users(self):
        c = Claude()
        said = (
            REFUSED
            + "To tell you how to proceed, the user said:\nno\n\nNote: The user's next message may contain a correction."
        )
        self.assertEqual(
            turns(self.read(c.user("go"), c.assistant("m1", use("t1")), c.result("t1", said))), ["go", "no"]
        )

    def test_queued_words_are_a_turn_where_the_model_took_them(self):
        c = Claude()
        events = self.read(
            c.user("go"),
            c.assistant("m1", use("t1")),
            c.line("queue-operation", operation="enqueue", content="and test it"),
            c.line("queue-operation", operation="remove"),
            c.result("t1", "ok"),
            c.assistant("m2", text("Done.")),
        )
        self.assertEqual(
            told(events)[2:], [(1, 1, "tool_result", "ok"), (2, 1, "user", "and test it"), (2, 2, "assistant", "Done.")]
        )
        self.assertEqual(events[3]["origin"], "queue")

    def test_queued_words_that_come_as_a_line_of_their_own_are_one_turn(self):
        for form in ("line", "attachment", "late attachment"):
            with self.subTest(form):
                c = Claude()
                late = [c.line("attachment", attachment={"type": "queued_command", "prompt": "and test it"})]
                own = [c.user("and test it")] if form == "line" else late
                answer = [c.assistant("m2", text("Done."))]
                events = self.read(
                    c.user("go"),
                    c.assistant("m1", text("Going.")),
                    c.line("queue-operation", operation="enqueue", content="and test it"),
                    c.line("queue-operation", operation="dequeue"),
                    *(answer + own if form == "late attachment" else own + answer),
                )
                self.assertEqual(turns(events), ["go", "and test it"])

    def test_queued_words_that_were_taken_back_are_counted_and_no_turn(self):
        c = Claude()
        events = self.read(
            c.user("go"),
            c.line("queue-operation", operation="enqueue", content="wait"),
            c.line("queue-operation", operation="popAll"),
            c.assistant("m1", text("Done.")),
        )
        self.assertEqual(turns(events), ["go"])
        self.assertEqual(self.summary["left_out"]["queued words that the user took back"], 1)

    def test_queued_words_of_a_log_that_ends_before_they_were_sent_are_not_lost(self):
        c = Claude()
        events = self.read(c.user("go"), c.line("queue-operation", operation="enqueue", content="and test it"))
        self.assertEqual(turns(events), ["go", "and test it"])

    def test_a_notice_in_the_queue_is_no_turn(self):
        c = Claude()
        notice = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>"
        events = self.read(
            c.user("go"),
            c.line("queue-operation", operation="enqueue", content=notice),
            c.line("queue-operation", operation="dequeue"),
            c.user(notice),
            c.assistant("m1", text("Done.")),
        )
        self.assertEqual(turns(events), ["go"])

    def test_the_arguments_of_a_slash_command_are_a_turn_and_its_name_alone_is_none(self):
        c = Claude()
        events = self.read(
            c.user(
                "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
                "<command-args>only the parser</command-args>"
            ),
            c.user("Review what the user named.", isMeta=True),
            c.user("<command-name>/clear</command-name>"),
        )
        self.assertEqual(turns(events), ["only the parser"])
        self.assertEqual(events[0]["origin"], "command")
        self.assertEqual(
            self.summary["left_out"],
            {"slash command without words": 1, "text that the tool put under the user's role": 1},
        )

    def test_a_command_that_the_user_ran_is_a_turn_and_its_output_is_counted(self):
        c = Claude()
        events = self.read(
            c.user("<bash-input>ls</bash-input>"), c.user("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>")
        )
        self.assertEqual((turns(events), events[0]["origin"]), (["ls"], "shell"))
        self.assertEqual(self.summary["left_out"], {"output of a command that the user ran": 1})

    def test_reminders_are_cut_from_the_users_words_and_a_question_about_a_tag_is_not(self):
        c = Claude()
        events = self.read(
            c.user([text("<system-reminder>be brief</system-reminder>"), text("fix it")]),
            c.user("why is there a <system-reminder> tag, and does </system-reminder> close it?"),
        )
        self.assertEqual(
            turns(events), ["fix it", "why is there a <system-reminder> tag, and does </system-reminder> close it?"]
        )

    def test_an_interruption_is_no_turn_and_marks_the_next_one(self):
        c = Claude()
        events = self.read(
            c.user("go"),
            c.assistant("m1", text("I begin.")),
            c.user([text("[Request interrupted by user]")]),
            c.user("go"),
            c.assistant("m2", text("Done.")),
            c.user("thanks"),
        )
        self.assertEqual([e.get("interrupted") for e in events if e["kind"] == "user"], [None, True, None])

    def test_a_boundary_and_its_summary_are_one_compaction_and_no_turn(self):
        c = Claude()
        events = self.read(
            c.user("go"),
            c.assistant("m1", text("Done.")),
            c.line("system", subtype="compact_boundary", content="Conversation compacted"),
            c.user("This session is being continued. The user said go.", isCompactSummary=True),
            c.user("more"),
        )
        self.assertEqual([e["kind"] for e in events], ["user", "assistant", "compaction", "user"])
        self.assertEqual(events[2]["turn"], 1)
        self.assertEqual(
            self.contexts[0]["messages"],
            [{"role": "user", "content": "This session is being continued. The user said go."}],
        )

    def test_a_boundary_without_a_summary_is_opaque_and_told(self):
        c = Claude()
        events = self.read(c.user("go"), c.line("system", subtype="compact_boundary"), c.assistant("m1", text("Done.")))
        self.assertTrue(events[1]["opaque"])
        self.assertEqual(self.summary["noted"], {"compaction without a summary": 1})

    def test_clearing_old_results_is_no_compaction(self):
        c = Claude()
        events = self.read(
            c.user("go"), c.line("system", subtype="microcompact_boundary"), c.assistant("m1", text("Done."))
        )
        self.assertEqual([e["kind"] for e in events], ["user", "assistant"])

    def test_lines_of_a_sub_agent_are_counted_and_a_file_of_them_is_its_own_conversation(self):
        c = Claude()
        inside = c.user("Find the parser.", isSidechain=True)
        self.assertEqual(turns(self.read(c.user("go"), inside)), ["go"])
        self.assertEqual(self.summary["left_out"], {"line of a sub-agent": 1})
        events = self.read(inside, c.assistant("m9", text("It is in a.py."), isSidechain=True))
        self.assertEqual((turns(events), events[0]["origin"]), (["Find the parser."], "agent"))

    def test_a_doubled_line_is_read_once(self):
        c = Claude()
        lines = [c.user("go"), c.assistant("m1", use("t1", command="ls")), c.result("t1", "a.txt")]
        self.assertEqual(len(self.read(*lines, *lines)), 3)
        self.assertEqual(self.summary["left_out"], {"doubled line": 3})

    def test_doubled_lines_without_an_id_are_read_once(self):
        c = Claude()
        queued = [
            {k: v for k, v in c.line("queue-operation", operation=operation, **fields).items() if k != "uuid"}
            for operation, fields in (("enqueue", {"content": "and test it"}), ("dequeue", {}))
        ]
        lines = [c.user("go"), *queued, c.assistant("m1", text("Done."))]
        self.assertEqual(turns(self.read(*lines, *lines)), ["go", "and test it"])

    def test_a_fork_names_the_lines_that_it_copied(self):
        first, fork = Claude("s-1"), Claude("s-2")
        lines = [first.user("go"), first.assistant("m1", text("Done."))]
        copies = [
            {
                **line,
                "uuid": f"new-{line['uuid']}",
                "sessionId": "s-2",
                "forkedFrom": {"sessionId": "s-1", "messageUuid": line["uuid"]},
            }
            for line in lines
        ]
        events, _, _ = imported({"a.jsonl": lines, "b.jsonl": [*copies, fork.user("more")]})
        self.assertEqual(
            [(e["conversation_id"], bool(e.get("copied"))) for e in events],
            [("a", False), ("a", False), ("b", True), ("b", True), ("b", False)],
        )

    def test_records_of_a_shape_that_nobody_has_seen_do_not_end_the_reading(self):
        c = Claude()
        odd = [
            c.line("user", message="x"),
            c.line("assistant", message=[1]),
            c.line(["x"]),
            c.line("attachment", attachment="x"),
            c.user([{"type": ["x"]}]),
        ]
        events = self.read(c.user("go"), *odd, c.user("on"))
        self.assertEqual(turns(events), ["go", "on"])
        self.assertEqual(sum(self.summary["unread"].values()), 5)

    def test_unknown_shapes_are_counted_with_their_line_and_not_guessed(self):
        c = Claude()
        self.read(
            c.user("go"), c.line("hologram", text="x"), c.assistant("m1", {"type": "dream", "dream": "x"}), c.user(None)
        )
        self.assertEqual(
            self.summary["unread"],
            {
                "assistant block of unknown type 'dream'": 1,
                "line of unknown type 'hologram'": 1,
                "user line without content": 1,
            },
        )
        self.assertEqual(
            self.summary["by_file"][0]["unread"]["line of unknown type 'hologram'"], {"count": 1, "at": "2"}
        )

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


if __name__ == "__main__":
    unittest.main()
