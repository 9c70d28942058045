"""Tests of sessions/gemini.py."""

import json
import unittest

from compaction.sessions.tests.made import imported, told, unread


def gemini(n, kind, content, **fields):
    return {"id": f"g{n}", "timestamp": f"2026-02-03T10:00:{n:02d}.000Z", "type": kind, "content": content, **fields}


CALL = {"id": "w1", "name": "write_file", "args": {"file_path": "a.md"}, "status": "success",
        "result": [{"functionResponse": {"id": "w1", "response": {"output": "written"}}}]}


class Gemini(unittest.TestCase):
    MESSAGES = [gemini(1, "user", "write it"), gemini(2, "gemini", "I write.", toolCalls=[CALL]),
                gemini(3, "info", "Update available"), gemini(4, "gemini", "Done.")]
    TOLD = [(1, 0, "user", "write it"), (1, 1, "assistant", "I write."), (1, 1, "tool_call", "write_file"),
            (1, 1, "tool_result", "written"), (1, 2, "assistant", "Done.")]

    def test_a_document_is_read(self):
        events, _, summary = imported(
            {"one.json": json.dumps({"sessionId": "s", "projectHash": "h", "messages": self.MESSAGES}, indent=2)})
        self.assertEqual(told(events), self.TOLD)
        self.assertEqual(summary["left_out"], {"info message": 1})

    def test_lines_that_rewrite_a_message_give_the_same_events(self):
        early = {**self.MESSAGES[1], "toolCalls": [{**CALL, "result": None}]}
        lines = [{"sessionId": "s", "projectHash": "h", "startTime": "x"}, self.MESSAGES[0], early, *self.MESSAGES[1:],
                 {"$set": {"summary": "x"}}]
        events, _, summary = imported({"one.jsonl": lines})
        self.assertEqual(told(events), self.TOLD)
        self.assertEqual(summary["by_file"][0]["format"], "Gemini CLI")

    def test_files_that_were_pulled_in_and_commands_that_the_user_ran_are_not_their_words(self):
        pulled = (
            "look at @a.py\n--- Content from referenced files ---\nContent from @a.py:\nx = 1\n--- End of content ---")
        shell = "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```"
        messages = [
            gemini(1, "user", pulled),
            gemini(2, "user", [{"text": "and @b.py"}, {"text": "y = 2"}], displayContent=[{"text": "and @b.py"}]),
            gemini(3, "user", shell),
            gemini(4, "user", [{"inlineData": {"mimeType": "image/png", "data": ""}}, {"text": "like this"}])]
        events, _, summary = imported({"one.json": json.dumps({"projectHash": "h", "messages": messages})})
        self.assertEqual([(e["content"], e.get("origin")) for e in events],
                         [("look at @a.py", None), ("and @b.py", None), ("like this", None)])
        self.assertEqual(summary["left_out"],
                         {"block without text: inlineData": 1, "content of files that the user named": 1,
                          "text that the tool put under the user's role": 1})

    def test_orders_to_a_sub_agent_are_told_and_turns_taken_back_mark_the_next(self):
        lines = [{"sessionId": "s", "projectHash": "h", "kind": "subagent"}, gemini(1, "user", "look"),
                 {"$rewindTo": "g1"}, gemini(2, "user", "look there")]
        events, _, summary = imported({"one.jsonl": lines})
        self.assertEqual([(e["origin"], e.get("interrupted")) for e in events], [("agent", None), ("agent", True)])
        self.assertEqual(summary["noted"], {"turns that the user took back (still in the log)": 1})

    def test_lines_of_unknown_shape_are_counted(self):
        odd = {**gemini(2, "user", "there"), "id": [2]}
        lines = [{"sessionId": "s", "projectHash": "h"}, gemini(1, "user", "look"), odd, {"odd": 1}, [1]]
        _, _, summary = imported({"one.jsonl": lines})
        self.assertEqual(unread(summary), {"line of unknown shape": 1, "line that is no object": 1})


class Checkpoint(unittest.TestCase):
    def test_a_checkpoint_which_holds_a_session_again_is_unread_and_named(self):
        contents = [{"role": "user", "parts": [{"text": "look"}]}, {"role": "model", "parts": [{"text": "Seen."}]}]
        for form in (contents, {"history": contents, "authType": "key"}, {"clientHistory": contents, "history": []}):
            events, _, summary = imported({"checkpoint-a.json": json.dumps(form, indent=2)})
            self.assertEqual((events, list(summary["unread"])), ([], [
                "file that is not read, it looks like a checkpoint of Gemini CLI (its session holds the same)"]))

    def test_a_compressed_history_begins_with_a_compaction_and_no_turn(self):
        messages = [gemini(1, "user", "<state_snapshot>He wants x.</state_snapshot>"), gemini(2, "user", "go on")]
        events, contexts, _ = imported({"c.json": json.dumps({"projectHash": "h", "messages": messages})})
        self.assertEqual([e["kind"] for e in events], ["compaction", "user"])
        self.assertEqual(len(contexts), 1)
