"""Servers that fail: every reply that is no answer is named and kept aside, tries are bounded, nothing is mixed."""

import contextlib
import itertools
import json
import os
import socket
import threading
import unittest
from unittest import mock

from answers import exchange
from answers.exchange import BrokenReply, ServerError, Unavailable
from answers.recording import incomplete_kind, read_recording
from answers.server import read_completion, read_stream
from answers.tests.made import INPUTS, SMALL, Recording
from answers.tests.ollama_double import stand_in_count
from base.tests.made import named_cases

ASKED = {"messages": SMALL[0]["messages"], "num_ctx": 384, "num_predict": 96, "seed": 1}


class KeptAside(Recording):
    """Every reply that is no answer has a name, is in the journal as it came, and is never graded."""

    def test_a_reply_that_is_no_answer_is_asked_for_once_more_and_a_real_outcome_is_kept_as_it_came(self):
        for case in INPUTS["faults of a reply"]:
            fault, kind, again = case["fault"], case["kind"], case["asked"] == 3
            self.out, double = self.folder / f"{fault}.json", self.double(dict.fromkeys(range(1, case["asked"]), fault))
            answers, asides, raised = self.ask(double, SMALL[:1], seeds=(1, 2))
            first, second = sorted(answers.values(), key=lambda entry: entry["seed"])
            with self.subTest(fault):
                self.assertEqual((raised, len(double.chats), incomplete_kind(second)), (None, case["asked"], None))
                self.assertEqual((incomplete_kind(first), "incomplete" in first), (kind, again))
                self.assertEqual([line["why"] for line in asides if line["raw"]], [kind] * 2 * again)
                calls = [{"function": {"name": "look_up", "arguments": {"q": 1}}}] if fault == "tool_call" else []
                self.assertEqual(first.get("tool_calls", []), calls)
                if fault == "cut_line":  # kept to the byte
                    self.assertTrue(asides[0]["raw"].endswith('{"message": {"content": "half'))

    def test_incomplete_answers_and_a_cut_prompt_are_counted_on_their_own_lines(self):
        double = self.double({1: "length", 2: "stopped_stream", 3: "stopped_stream", 5: "cut_prompt"})
        status, printed, err = self.command(double.host)
        self.assertEqual((status, printed, self.out.exists()), (2, None, False))
        self.assertRegex(err, "(?s)set aside, not graded: count_mismatch 1\n.*count_mismatch: .* was cut")
        status, printed, err = self.command(double.host)
        self.assertEqual((status, printed["incomplete"]), (0, {"cut_by_length": 1, "stopped_stream": 1}))
        self.assertIn("incomplete, not graded: stopped_stream 1\n", err)
        recording = read_recording(self.out)
        self.assertEqual(recording["answers"]["recent"]["held-latest"][1], {"seed": 2, "incomplete": "stopped_stream"})

    def test_a_fault_ends_the_run_and_what_came_is_set_aside_and_the_rest_unmixed(self):
        for case in INPUTS["faults that end a run"]:
            self.out, double = self.folder / f"{case['name']}.json", self.double(case["faults"])
            self.waits.clear()
            answers, asides, raised = self.ask(double)
            with self.subTest(case["name"]):
                self.assertRegex(str(raised), case["says"])
                self.assertEqual((len(answers), len(double.chats), self.waits),
                                 (case["answers"], case["asked"], case["waits"]))
                self.assertEqual([line["why"] for line in asides], case["set_aside"])
                self.assertTrue(all("Answer" in (line.get("raw") or line["entry"]["answer"]) for line in asides))
                self.assertNotIn("/elsewhere", [path for path, _ in double.requests])
        double.down = False  # the last one goes on
        answers, _, _ = self.ask(double)
        self.assertEqual((len(answers), len(double.chats)), (10, 11))

    def test_an_answer_belongs_to_its_exact_request_server_and_count(self):
        double = self.double()
        messages = [*SMALL[0]["messages"][:-1], {"role": "user", "content": "And then, who else?"}]
        changed = {**SMALL[0], "messages": messages, "input_tokens": stand_in_count(messages)}
        for plan, version, asked in ((SMALL, "0.32.14", 10), ([changed, SMALL[1]], "0.32.14", 15),
                                     (SMALL, "0.33.0-rc2", 25)):  # asked anew; the old answers are kept and not used
            double.version = version
            answers, _, _ = self.ask(double, plan)
            self.assertEqual((len(double.chats), len(answers)), (asked, asked))
        for change in (1, -1):
            _, _, raised = self.ask(double, [{**SMALL[0], "input_tokens": SMALL[0]["input_tokens"] + change}])
            self.assertRegex(str(raised), "held-latest seed 1: count_mismatch: recorded with")
        self.assertEqual(len(double.chats), 25)


class Tries(Recording):
    def test_faults_that_may_pass_are_tried_again_after_waits(self):
        for fault in ("refused", "429", "500", "503", "hang"):
            with self.subTest(fault):
                self.waits.clear()
                double = self.double({1: fault, 2: fault})
                answer = self.model(double, (0.05, 0.05, 1)).answer(**ASKED)
                self.assertEqual((len(double.chats), self.waits, answer["seed"]), (3, [1, 5], 1))

    def test_a_reply_that_stalls_between_two_parts_is_given_up_sooner_than_a_first_part_and_one_in_all_in_time(self):
        double = self.double({1: "stall"})
        self.model(double, (60, 0.05, 60)).answer(**ASKED)
        self.assertEqual((len(double.chats), self.waits), (2, [1]))  # the stall's end, a reset, would be no time-out
        with self.assertRaisesRegex(Unavailable, "took too long in all"):
            self.model(double, (2, 2, 0)).answer(**ASKED)

    def test_no_server_is_one_line_with_the_address_and_nothing_is_written(self):
        status, printed, err = self.command("127.0.0.1:9")
        self.assertRegex(err, "http://127.0.0.1:9/api/version: cannot connect.*\n$")
        self.assertEqual((status, printed, list(self.folder.iterdir())), (2, None, []))

    def test_a_proxy_is_not_asked_for_loopback(self):
        with mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}):
            self.assertEqual(self.model(self.double()).identity["version"], "0.32.14")
            with self.assertRaisesRegex(Unavailable, "cannot connect"):  # another address, though it leads here, is
                exchange.exchange("GET", f"http://0.0.0.0:{self.double().host.rpartition(':')[2]}/")


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
        for says, *parts in (
                ("at most 4194304 bytes", b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 2**20),
                *[("status 302", b"HTTP/1.1 302 Found\r\nLocation: " + place + b"\r\nContent-Length: 3\r\n\r\n", b"abc")
                  for place in (b"http://[::1", b"\xff\xfe://", b"http://a:b:c/")],
                *[("cannot connect|check the address|no reply", head, b"x")
                  for head in (b"HTTP/1.1 abc\r\n\r\n", b"\xff\xfe\r\n",
                               b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n")]):
            with self.subTest(parts[0][:40]), self.assertRaisesRegex((ServerError, Unavailable), says) as caught:
                exchange.get_json(self.say(*parts), {})
            self.assertNotIn("\n", str(caught.exception))


class Replies(unittest.TestCase):
    def test_every_body_in_the_file_is_read_or_named(self):
        asked = {"seed": 1, "max_tokens": 96, "options": {"seed": 1, "num_predict": 96}}
        for case in named_cases(__file__, "reply-cases.json"):
            body = b"".join(json.dumps(part).encode() + b"\n" for part in case["body"])
            with self.subTest(case["name"]):
                try:
                    entry = {"ollama": read_stream, "openai": read_completion}[case["interface"]](body, asked)
                except BrokenReply as error:
                    entry = {"answer": str(error)}
                self.assertEqual((entry["answer"], entry.get("thinking")), (case["is"], case.get("thinking")))
