"""Tests of sessions/claude.py: where a user's words hide, and what of them is no turn."""

import unittest

from compaction.sessions.tests.made import Claude, imported, text, told, turns, use

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected (nothing was written). "


class WordsOfTheUser(unittest.TestCase):
    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": list(lines)})
        return self.events

    def test_words_inside_a_refused_result_are_a_turn(self):
        c = Claude()
        events = self.read(c.user("tidy up"), c.assistant("m1", use("t1", command="rm x")),
                           c.result("t1", REFUSED + "To tell you how to proceed, the user said:\nkeep x, it is mine"))
        self.assertEqual(turns(events), ["tidy up", "keep x, it is mine"])
        self.assertEqual(events[-1]["origin"], "refusal")

    def test_the_same_phrase_in_a_file_that_was_read_is_no_turn(self):
        c = Claude()
        events = self.read(c.user("read it"), c.assistant("m1", use("t1", "Read", file_path="notes")),
                           c.result("t1", "1: he wrote that the user said:\nkeep x"))
        self.assertEqual(turns(events), ["read it"])

    def test_a_note_of_the_tool_after_the_words_is_not_the_users(self):
        c = Claude()
        said = (REFUSED
                + "To tell you how to proceed, the user said:\nno\n\nNote: The user's next message may correct it.")
        self.assertEqual(
            turns(self.read(c.user("go"), c.assistant("m1", use("t1")), c.result("t1", said))), ["go", "no"])

    def test_queued_words_are_a_turn_where_the_model_took_them(self):
        c = Claude()
        events = self.read(c.user("go"), c.assistant("m1", use("t1")),
                           c.line("queue-operation", operation="enqueue", content="and test it"),
                           c.line("queue-operation", operation="remove"), c.result("t1", "ok"),
                           c.assistant("m2", text("Done.")))
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
                events = self.read(c.user("go"), c.assistant("m1", text("Going.")),
                                   c.line("queue-operation", operation="enqueue", content="and test it"),
                                   c.line("queue-operation", operation="dequeue"),
                                   *(answer + own if form == "late attachment" else own + answer))
                self.assertEqual(turns(events), ["go", "and test it"])

    def test_queued_words_that_were_taken_back_are_counted_and_no_turn(self):
        c = Claude()
        events = self.read(c.user("go"), c.line("queue-operation", operation="enqueue", content="wait"),
                           c.line("queue-operation", operation="popAll"), c.assistant("m1", text("Done.")))
        self.assertEqual(turns(events), ["go"])
        self.assertEqual(self.summary["left_out"]["queued words that the user took back"], 1)

    def test_queued_words_of_a_log_that_ends_before_they_were_sent_are_not_lost(self):
        c = Claude()
        events = self.read(c.user("go"), c.line("queue-operation", operation="enqueue", content="and test it"))
        self.assertEqual(turns(events), ["go", "and test it"])

    def test_a_notice_in_the_queue_is_no_turn(self):
        c = Claude()
        notice = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>"
        events = self.read(c.user("go"), c.line("queue-operation", operation="enqueue", content=notice),
                           c.line("queue-operation", operation="dequeue"), c.user(notice),
                           c.assistant("m1", text("Done.")))
        self.assertEqual(turns(events), ["go"])

    def test_the_arguments_of_a_slash_command_are_a_turn_and_its_name_alone_is_none(self):
        c = Claude()
        events = self.read(c.user("<command-name>/review</command-name>\n<command-message>review</command-message>\n"
                                  "<command-args>only the parser</command-args>"),
                           c.user("Review what the user named.", isMeta=True),
                           c.user("<command-name>/clear</command-name>"))
        self.assertEqual(turns(events), ["only the parser"])
        self.assertEqual(events[0]["origin"], "command")
        self.assertEqual(self.summary["left_out"],
                         {"slash command without words": 1, "text that the tool put under the user's role": 1})

    def test_a_command_that_the_user_let_the_tool_run_is_no_turn(self):
        c = Claude()
        events = self.read(
            c.user("<bash-input>ls</bash-input>"),
            c.user("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>"),
            c.user("!git status"), c.user("!git status\nnow commit it! and !important stays"),
            c.user("!important: keep this\n!flag && x"))
        self.assertEqual(turns(events), ["now commit it! and !important stays", "!important: keep this\n!flag && x"])
        self.assertEqual(self.summary["left_out"], {"text that the tool put under the user's role": 3})

    def test_a_notice_with_the_line_after_it_and_another_agents_message_are_cut_from_the_users_words(self):
        c = Claude()
        notice = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>\nRead the output file: /tmp/a1.out"
        events = self.read(c.user(notice), c.user(notice + "\n\nand test it"),
                           c.user("<agent-message from='a2'>\nI am done.\n</agent-message>"))
        self.assertEqual(turns(events), ["and test it"])

    def test_answers_to_questions_that_the_model_put_are_a_turn(self):
        said = ('Your questions have been answered: "Which target?"="staging", "Regions?"="eu \\"west\\", us". '
                "You can now continue.")
        for extra, words in (({}, 'staging\neu \\"west\\", us'),
                             ({"toolUseResult": {"answers": {"Which target?": "staging", "Regions?": "eu"}}},
                              "staging\neu")):
            c = Claude()
            events = self.read(c.user("go"), c.assistant("m1", use("t1", "AskUserQuestion")),
                               c.result("t1", said, **extra))
            self.assertEqual((turns(events), events[-1]["origin"]), (["go", words], "answer"))

    def test_reminders_are_cut_from_the_users_words_and_a_question_about_a_tag_is_not(self):
        c = Claude()
        events = self.read(c.user([text("<system-reminder>be brief</system-reminder>"), text("fix it")]),
                           c.user("why is there a <system-reminder> tag, and does </system-reminder> close it?"))
        self.assertEqual(
            turns(events), ["fix it", "why is there a <system-reminder> tag, and does </system-reminder> close it?"])

    def test_an_interruption_is_no_turn_and_marks_the_next_one(self):
        c = Claude()
        events = self.read(c.user("go"), c.assistant("m1", text("I begin.")),
                           c.user([text("[Request interrupted by user]")]), c.user("go"),
                           c.assistant("m2", text("Done.")), c.user("thanks"))
        self.assertEqual([e.get("interrupted") for e in events if e["kind"] == "user"], [None, True, None])

    def test_words_after_the_mark_of_an_interruption_are_kept(self):
        c = Claude()
        events = self.read(c.user("go"), c.user([text("[Request interrupted by user for tool use]\nleave it")]))
        self.assertEqual([(e["content"], e.get("interrupted")) for e in events], [("go", None), ("leave it", True)])

    def test_a_slash_command_in_a_system_line_has_its_words_too(self):
        c = Claude()
        command = "<command-name>/{0}</command-name>\n<command-args>{1}</command-args>"
        events = self.read(
            c.user("go"),
            c.line("system", subtype="local_command", content=command.format("review", "the parser first")),
            c.line("system", subtype="local_command", content=command.format("model", "")),
            c.line("system", subtype="local_command", content="<local-command-stdout>ok</local-command-stdout>"))
        self.assertEqual(
            [(e["content"], e.get("origin")) for e in events], [("go", None), ("the parser first", "command")])
        self.assertEqual(self.summary["left_out"], {"slash command without words": 1, "system line: local_command": 1})

    def test_taking_a_notice_out_of_the_queue_takes_no_words_of_the_user_out(self):
        c = Claude()
        notice = "<task-notification>the build is done</task-notification>"
        events = self.read(c.user("go"), c.line("queue-operation", operation="enqueue", content=notice),
                           c.line("queue-operation", operation="enqueue", content="and test it"),
                           c.line("queue-operation", operation="dequeue"), c.assistant("m1", text("Built.")),
                           c.line("queue-operation", operation="dequeue"), c.assistant("m2", text("Tested.")))
        self.assertEqual([e["content"] for e in events], ["go", "Built.", "and test it", "Tested."])

    def test_a_line_that_tells_that_the_tool_wrote_it_is_no_turn(self):
        c = Claude()
        self.read(
            c.user("the build is done", origin={"kind": "task-notification"}), c.user("go", origin={"kind": "human"}))
        self.assertEqual(turns(self.events), ["go"])
