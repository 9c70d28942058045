"""Tests of sessions/pi.py."""

import unittest

from compaction.sessions.tests.doubles import imported, told

AT = "2026-02-03T10:00:{:02d}.000Z"


def pi(n, role, content, **fields):
    message = {"role": role, "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
               **fields}
    return {"type": "message", "timestamp": AT.format(n), "message": message}


HEAD = {"type": "session", "id": "p-1", "timestamp": AT.format(0), "cwd": "/src"}


class Pi(unittest.TestCase):
    def read(self, *lines):
        self.events, self.contexts, self.summary = imported({"one.jsonl": [HEAD, *lines]})
        return self.events

    def test_a_message_is_one_reply_and_a_command_that_the_user_ran_is_a_turn(self):
        call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}
        events = self.read(pi(1, "user", "look"), pi(2, "assistant", [{"type": "text", "text": "I look."}, call]),
                           pi(3, "toolResult", "x = 1", toolCallId="c1"), pi(4, "assistant", "It sets x."),
                           {"type": "message", "timestamp": AT.format(5),
                            "message": {"role": "bashExecution", "command": "ls", "output": "a.py"}})
        self.assertEqual(told(events),
                         [(1, 0, "user", "look"), (1, 1, "assistant", "I look."), (1, 1, "tool_call", "read"),
                          (1, 1, "tool_result", "x = 1"), (1, 2, "assistant", "It sets x."), (2, 2, "user", "ls")])
        self.assertEqual(events[-1]["origin"], "shell")

    def test_a_reply_that_was_aborted_marks_the_next_turn(self):
        events = self.read(pi(1, "user", "go"), pi(2, "assistant", [], stopReason="aborted"), pi(3, "user", "go"))
        self.assertEqual([e.get("interrupted") for e in events], [None, True])
        self.assertEqual(self.summary["noted"], {"reply that ended as aborted": 1})

    def test_a_compaction_leaves_its_summary_and_the_lines_from_the_first_kept_one_on(self):
        lines = [pi(1, "user", "one"), pi(2, "assistant", "1"), pi(3, "user", "two"), pi(4, "assistant", "2")]
        for kept in ({"firstKeptEntryIndex": 3}, {"firstKeptEntryId": "L3"}):
            with self.subTest(kept):
                numbered = [{**line, "id": f"L{n}"} for n, line in enumerate(lines, 1)]
                self.read(*numbered, {"type": "compaction", "timestamp": AT.format(5), "summary": "He counts.", **kept})
                self.assertEqual([m["content"] for m in self.contexts[0]["messages"]], ["He counts.", "two", "2"])
                self.assertEqual(self.contexts[0]["turn"], 3)

    def test_unknown_shapes_are_counted(self):
        self.read(
            pi(1, "oracle", "x"), {"type": "vision", "timestamp": AT.format(2)}, pi(3, "assistant", [{"type": "dream"}])
        )
        self.assertEqual(self.summary["unread"],
                         {"assistant block of unknown type 'dream'": 1, "line of unknown type 'vision'": 1,
                          "message of unknown role 'oracle'": 1})

    def test_a_fork_of_a_session_read_before_has_the_copied_lines_marked(self):
        lines = [pi(1, "user", "one"), pi(2, "assistant", "1")]
        fork = [{**HEAD, "id": "p-2", "branchedFrom": "/x/p-1.jsonl"}, *lines, pi(9, "user", "two")]
        events, _, _ = imported({"a.jsonl": [HEAD, *lines], "b.jsonl": fork})
        self.assertEqual(
            [(e["conversation_id"], e["content"], bool(e.get("copied"))) for e in events if e["kind"] == "user"],
            [("a", "one", False), ("b", "one", True), ("b", "two", False)])

    def test_a_branch_that_was_left_is_told_and_no_part_of_what_a_later_compaction_kept(self):
        lines = [pi(1, "user", "one"), pi(2, "assistant", "1"), pi(3, "user", "wrong"), pi(4, "assistant", "w")]
        lines += [pi(5, "user", "right"), pi(6, "assistant", "r")]
        tree = [{**l, "id": f"L{n}", "parentId": f"L{p}" if p else None}
                for n, p, l in zip(range(1, 7), (0, 1, 2, 3, 2, 5), lines)]
        end = {"type": "compaction", "timestamp": AT.format(7), "id": "L7", "parentId": "L6", "summary": "S",
               "firstKeptEntryId": "L2"}
        events = self.read(*tree, end)
        self.assertEqual([m["content"] for m in self.contexts[0]["messages"]], ["S", "1", "right", "r"])
        self.assertEqual([e.get("interrupted") for e in events if e["kind"] == "user"], [None, None, True])
        self.assertEqual(self.summary["noted"], {"turns that the user took back (still in the log)": 1})

    def test_lines_that_name_one_another_in_a_circle_end(self):
        ring = [{**pi(n, "user", "x"), "id": f"L{n}", "parentId": f"L{3 - n}"} for n in (1, 2)]
        end = {"type": "compaction", "timestamp": AT.format(3), "id": "L3", "parentId": "L2", "summary": "S",
               "firstKeptEntryId": "L1"}
        self.read(*ring, end)
        self.assertEqual(len(self.contexts), 1)


if __name__ == "__main__":
    unittest.main()
