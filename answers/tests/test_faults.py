"""Servers that fail: every reply that is no answer is named and kept aside, tries are bounded, nothing is mixed."""

import contextlib
import itertools
import json
import os
import socket
import threading
import unittest
from unittest import mock

from answers import exchange, reply, server
from answers import journal as answer_journal
from answers.exchange import BrokenReply, ServerError, Unavailable
from answers.recording import read_recording
from answers.reply import read_completion, read_stream
from answers.server import ServerChanged
from answers.tests.made import SMALL, Recording
from answers.tests.ollama_double import OllamaDouble, stand_in_count


class KeptAside(Recording):
    """Every reply that is no answer has a name, is in the journal as it came, and is never graded."""

    def test_a_reply_that_stays_broken_is_asked_once_more_and_then_incomplete(self):
        kinds = {"stopped_stream": "stopped_stream", "reset": "stopped_stream", "cut_line": "stopped_stream",
                 "error_line": "error_body", "error_200": "error_body", "no_counts": "bad_counts",
                 "over_length": "bad_counts", "short_length": "bad_counts", "load": "unknown_end",
                 "html": "unreadable_reply", "nan": "unreadable_reply", "not_utf8": "unreadable_reply",
                 "surrogate": "unreadable_reply", "two_last": "unreadable_reply", "huge": "too_large"}
        for fault, kind in kinds.items():
            with self.subTest(fault):
                self.out = self.out.with_name(f"{fault}.json")
                seed_2 = lambda number, body: fault if body["options"]["seed"] == 2 else None
                answers, asides, raised = self.ask(self.double(fault=seed_2), SMALL[:1])
                self.assertIsNone(raised)
                entries = sorted(answers.values(), key=lambda entry: entry["seed"])
                self.assertEqual(entries[1], {"seed": 2, "incomplete": kind})
                self.assertEqual([line["why"] for line in asides], [kind] * server.BROKEN_TRIES)
                self.assertTrue(all(line["raw"] for line in asides))
                if fault == "cut_line":  # kept to the byte
                    self.assertTrue(asides[0]["raw"].endswith('{"message": {"content": "half'))
                self.assertTrue(all("answer" in entry for entry in entries[:1] + entries[2:]))

    def test_real_outcomes_are_kept_as_they_came_and_not_asked_again(self):
        kinds = {"length": "cut_by_length", "empty": "empty_text", "blank": "empty_text", "think_field": "thinking",
                 "think_text": "thinking", "tool_call": None}
        for fault, kind in kinds.items():
            with self.subTest(fault):
                self.out = self.out.with_name(f"{fault}.json")
                double = self.double(fault=lambda number, body: fault)
                answers, asides, raised = self.ask(double, SMALL[:1])
                self.assertEqual((raised, asides, len(double.chats)), (None, [], 5))
                for entry in answers.values():
                    self.assertEqual(reply.incomplete_kind(entry), kind)
                    self.assertNotIn("incomplete", entry)
                if fault == "tool_call":
                    self.assertEqual(entry["tool_calls"], [{"function": {"name": "look_up", "arguments": {"q": 1}}}])

    def test_incomplete_answers_are_counted_on_their_own_lines(self):
        faults, self.plan = {1: "length", 2: "stopped_stream", 3: "stopped_stream"}, SMALL
        status, printed, err = self.command(self.double(fault=lambda number, body: faults.get(number)))
        self.assertEqual((status, printed["incomplete"]), (0, {"cut_by_length": 1, "stopped_stream": 1}))
        self.assertIn("incomplete, not graded: stopped_stream 1\n", err)
        recording = read_recording(self.out)
        self.assertEqual(recording["answers"]["recent"]["held-latest"][1], {"seed": 2, "incomplete": "stopped_stream"})

    def test_a_cut_prompt_ends_the_run_and_is_never_an_answer(self):
        for fault, cause in (("cut_prompt", "was cut"), ("long_prompt", "another template")):
            with self.subTest(fault):
                self.out = self.out.with_name(f"{fault}.json")
                double = self.double(fault=lambda number, body: fault if number == 3 else None)
                status, printed, err = self.command(double)
                self.assertRegex(str(status), f"count_mismatch.*{cause}")
                self.assertEqual((printed, len(double.chats), self.out.exists()), (None, 3, False))
                self.assertIn("count_mismatch 1", err)
                with answer_journal.open_journal(self.out) as journal:
                    self.assertEqual(len(journal.answers), 2)
                    self.assertIn("Answer", journal.asides[0]["entry"]["answer"])

    def test_an_answer_given_across_a_change_is_set_aside_and_the_rest_is_unmixed(self):
        for fault in ("change_version", "change_digest", "gone"):
            with self.subTest(fault):
                self.out = self.out.with_name(f"{fault}.json")
                double = self.double(fault=lambda number, body: fault if number == 3 else None)
                answers, asides, raised = self.ask(double)
                self.assertIsInstance(raised, ServerChanged)
                self.assertRegex(str(raised), "changed during the run")
                self.assertEqual((len(answers), [line["why"] for line in asides]), (2, ["server_changed"]))
                self.assertIn("entry", asides[0])

    def test_an_answer_after_which_the_server_cannot_be_asked_is_set_aside(self):
        double = self.double(fault=lambda number, body: "down" if number == 3 else None)
        answers, asides, raised = self.ask(double)
        self.assertRegex(str(raised), "what gave it is not known")
        self.assertEqual((len(answers), [line["why"] for line in asides]), (2, ["unconfirmed"]))
        self.assertIn("Answer", asides[0]["entry"]["answer"])
        double.down = False
        answers, _, _ = self.ask(double)
        self.assertEqual((len(answers), len(double.chats)), (10, 11))

    def test_a_reply_that_broke_while_the_server_changed_is_not_taken_for_the_models(self):
        def fault(number, body):
            if number == 4:
                double.version = "0.33.0"
            return "stopped_stream" if number > 2 else None

        double = self.double(fault=fault)
        answers, asides, raised = self.ask(double)
        self.assertRegex(str(raised), "changed during the run")
        self.assertEqual((len(answers), len(double.chats)), (2, 4))
        self.assertEqual([line["why"] for line in asides], ["stopped_stream", "server_changed"])
        self.assertTrue(asides[1]["raw"])

    def test_an_answer_in_the_journal_whose_prompt_is_counted_otherwise_now_ends_the_run(self):
        self.ask(self.double())
        double = self.double()
        for change in (1, -1):
            _, _, raised = self.ask(double, [{**SMALL[0], "input_tokens": SMALL[0]["input_tokens"] + change}])
            self.assertRegex(str(raised), "held-latest seed 1: count_mismatch: recorded with")
        self.assertEqual(double.chats, [])

    def test_a_changed_request_is_asked_anew_and_the_old_answer_is_kept_but_not_used(self):
        double = self.double()
        self.ask(double)
        changed = [
            {**SMALL[0], "messages": [*SMALL[0]["messages"][:-1], {"role": "user", "content": "And then, who else?"}]}]
        changed[0]["input_tokens"] = stand_in_count(changed[0]["messages"])
        answers, _, _ = self.ask(double, [*changed, SMALL[1]])
        self.assertEqual((len(double.chats), len(answers)), (15, 15))

    def test_another_version_is_asked_everything_anew(self):
        double = self.double()
        self.ask(double)
        double.version = "0.33.0-rc2"
        answers, _, _ = self.ask(double)
        self.assertEqual((len(double.chats), len(answers)), (20, 20))


class Tries(Recording):
    def test_faults_that_may_pass_are_tried_again_after_waits(self):
        for fault in ("refused", "429", "500", "503", "hang"):
            with self.subTest(fault):
                self.waits.clear()
                double = self.double(fault=lambda number, body: fault if number < 3 else None)
                answer = self.model(double, (0.05, 0.05, 1)).answer(
                    SMALL[0]["messages"], num_ctx=384, num_predict=96, seed=1)
                self.assertEqual((len(double.chats), self.waits, answer["seed"]), (3, [1, 5], 1))

    def test_a_reply_that_stalls_between_two_parts_is_given_up_sooner_than_a_first_part(self):
        double = self.double(fault=lambda number, body: "stall" if number == 1 else None)
        self.model(double, (60, 0.05, 60)).answer(SMALL[0]["messages"], num_ctx=384, num_predict=96, seed=1)
        self.assertEqual((len(double.chats), self.waits), (2, [1]))  # the stall's end, a reset, would be no time-out

    def test_a_reply_takes_no_longer_than_its_time_in_all(self):
        double = self.double()
        with self.assertRaisesRegex(Unavailable, "took too long in all"):
            self.model(double, (2, 2, 0)).answer(SMALL[0]["messages"], num_ctx=384, num_predict=96, seed=1)

    def test_tries_are_bounded_and_the_run_can_go_on_later(self):
        double = self.double(fault=lambda number, body: "503" if number > 4 else None)
        answers, _, raised = self.ask(double)
        self.assertIsInstance(raised, Unavailable)
        self.assertEqual((len(answers), len(double.chats), self.waits), (4, 9, [1, 5, 20, 60]))

    def test_faults_that_will_not_pass_are_not_tried_again(self):
        for fault in ("400", "404", "redirect"):
            with self.subTest(fault):
                self.waits.clear()
                double = self.double(fault=lambda number, body: fault)
                _, _, raised = self.ask(double)
                self.assertIsInstance(raised, ServerError)
                self.assertEqual((len(double.chats), self.waits), (1, []))
                self.assertNotIn("/elsewhere", [path for path, _ in double.requests])

    def test_no_server_is_one_line_with_the_address_and_nothing_is_written(self):
        double = OllamaDouble()
        double.host = "127.0.0.1:9"
        status, printed, _ = self.command(double)
        self.assertRegex(str(status), "http://127.0.0.1:9/api/version: cannot connect")
        self.assertEqual((printed, list(self.out.parent.iterdir())), (None, []))

    def test_a_proxy_is_not_asked_for_loopback(self):
        with mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}):
            self.assertEqual(self.model(self.double()).identity["version"], "0.32.14")


class Exchanges(unittest.TestCase):
    """A server that speaks HTTP badly: every exchange ends, in one line."""

    def say(self, *parts):
        """The URL of a double that answers one request with some bytes and repeats the last for as long as it may."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                connection.recv(65536)
                for part in itertools.chain(parts, itertools.repeat(parts[-1])):
                    connection.sendall(part)
                    threading.Event().wait(0.005)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_a_server_that_sends_just_often_enough_holds_us_for_ever(self):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for name, parts in {"100 Continue": [b"HTTP/1.1 100 Continue\r\n\r\n"], "a status": [b"H"],
                            "trailers": [head, b"0\r\n", b"X: y\r\n"], "a body": [head, b"1\r\nx\r\n"],
                            "a header": [b"HTTP/1.1 200 OK\r\nX: ", b"y"]}.items():
            with self.subTest(name), self.assertRaisesRegex(Unavailable, "took too long in all"):
                exchange.exchange("GET", self.say(*parts), total_s=0.2)

    def test_a_body_without_end_or_a_broken_head_is_a_traceback(self):
        url = self.say(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 2**20)
        with self.assertRaisesRegex(ServerError, "is over 4194304 bytes"):
            exchange.get_json(url)
        for head in (b"Location: http://[::1", b"Location: \xff\xfe://", b"Location: http://a:b:c/"):
            url = self.say(b"HTTP/1.1 302 Found\r\n" + head + b"\r\nContent-Length: 3\r\n\r\n", b"abc")
            with self.subTest(head), self.assertRaisesRegex(ServerError, "status 302"):
                exchange.get_json(url)
        for head in (b"HTTP/1.1 abc\r\n\r\n", b"\xff\xfe\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"):
            with self.subTest(head[:20]), self.assertRaises(ServerError) as caught:
                exchange.get_json(self.say(head, b"x"))
            self.assertNotIn("\n", str(caught.exception))


class Replies(unittest.TestCase):
    """Bodies that are no whole answer, named without a server."""

    LAST = {"message": {"content": "b"}, "done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4}

    def kind(self, read, *parts):
        data = b"".join(json.dumps(part).encode() + b"\n" for part in parts)
        with self.assertRaises(BrokenReply) as caught:
            read(data, 1, 96)
        return caught.exception.kind

    def test_a_stream_of_another_shape(self):
        fields = {"content": 3}, {"thinking": ["x"]}, {"tool_calls": 3}, {"tool_calls": [3]}
        for odd in (3, "text", [], True, None, *fields):
            for parts in ([{"message": odd}, self.LAST], [{**self.LAST, "message": odd}]):
                with self.subTest(odd):
                    self.assertEqual(self.kind(read_stream, *parts), "unreadable_reply")
        for odd in (3, [], None, "x"):
            self.assertEqual(self.kind(read_stream, odd, self.LAST), "unreadable_reply")
        for more in ({"message": {"content": "c"}}, self.LAST, {}):
            self.assertEqual(self.kind(read_stream, self.LAST, more), "unreadable_reply")

    def test_counts_that_cannot_be(self):
        for counts in ({"prompt_eval_count": 0}, {"prompt_eval_count": -3}, {"prompt_eval_count": True},
                       {"prompt_eval_count": 3.0}, {"eval_count": -1}, {"eval_count": 97}, {"eval_count": None},
                       {"eval_count": 95, "done_reason": "length"}):
            with self.subTest(counts):
                self.assertEqual(self.kind(read_stream, {**self.LAST, **counts}), "bad_counts")
        for counts in ({"prompt_eval_count": 1}, {"eval_count": 0}, {"eval_count": 96, "done_reason": "length"}):
            data = json.dumps({**self.LAST, **counts}).encode()  # the least and the most that can be
            self.assertEqual(read_stream(data, 1, 96)["answer"], "b")
        for end in (None, "load", "unload", 3, []):
            self.assertEqual(self.kind(read_stream, {**self.LAST, "done_reason": end}), "unknown_end")
        for done in (False, None, 1, "true"):
            self.assertEqual(self.kind(read_stream, {**self.LAST, "done": done}), "stopped_stream")

    def test_a_completion_of_another_shape(self):
        choice = {"message": {"content": "b"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        odd_messages = [[{"message": odd}] for odd in (None, "x", [], {"content": 3})]
        for odd in (None, 3, [], "x", [3], [{}], *odd_messages):
            with self.subTest(odd):
                self.assertEqual(self.kind(read_completion, {"choices": odd, "usage": usage}), "unreadable_reply")
        for odd in ({}, {**usage, "completion_tokens": -1}, {**usage, "prompt_tokens": 0}):
            self.assertEqual(self.kind(read_completion, {"choices": [choice], "usage": odd}), "bad_counts")
        self.assertEqual(self.kind(read_completion, {"choices": [choice], "usage": 3}), "unreadable_reply")
        for end, kind in ((None, "unknown_end"), ("content_filter", "unknown_end"), ([], "unreadable_reply")):
            found = {"choices": [{**choice, "finish_reason": end}], "usage": usage}
            self.assertEqual(self.kind(read_completion, found), kind)
