"""Recording against a double that fails in every way a server can: nothing lost, repeated, mixed or graded that is cut.

The double and the stand-in for the tokenizer are in ollama_double.py; no model and no tokenizer is needed.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import answer_check
import answer_record
from answer_http import ServerError, Unavailable
from answer_keys import read_recording
from answer_journal import Journal
from answer_model import AnswerModel, ServerChanged
from cases import load_cases
from command import InputError
from ollama_double import OllamaDouble, stand_in_count
from strategies import STRATEGIES

HERE = Path(__file__).parent
TIMES = (2, 2, 4)  # seconds: the double answers at once or is told to hang


def stand_in_requests(*_):
    """The lab's requests for its own cases, counted by the stand-in, in place of answer_check.lab_requests."""
    return answer_record.plan_requests(load_cases(HERE / "cases.json"), STRATEGIES, stand_in_count), {}


PLAN = stand_in_requests()[0]
SMALL = [planned for planned in PLAN if planned["strategy"] == "recent"][:2]  # ten answers


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "answer-result.json"
        self.waits = []

    def double(self, **options):
        return self.enterContext(OllamaDouble(**options))

    def model(self, double, times=TIMES):
        return AnswerModel(host=double.host, wait=self.waits.append, times=times)

    def ask(self, double, plan=SMALL, jobs=1, times=TIMES):
        """Ask for all of a plan; what the journal then holds: (answers, asides), and what was raised."""
        model, raised = self.model(double, times), None
        with answer_record.open_journal(self.out) as journal:
            try:
                answer_record.ask_all(answer_record.tasks_for(plan, model), model, journal, jobs)
            except InputError as error:
                raised = error
        return journal.answers, journal.asides, raised

    def command(self, double, *argv):
        """(status or InputError, stdout as JSON or None, stderr) of `answer_check.py record`."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(answer_check, "lab_requests", stand_in_requests), \
                mock.patch("time.sleep", self.waits.append), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = answer_check.main(["record", "--out", str(self.out), "--host", double.host, *argv])
            except InputError as error:
                status = error
        return status, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()


class Whole(Recording):
    def test_120_answers_in_the_published_shape_whatever_the_number_of_jobs(self):
        double, texts = self.double(), []
        for jobs in ("1", "6"):
            self.out = self.out.with_name(f"jobs-{jobs}.json")
            status, printed, _ = self.command(double, "--jobs", jobs)
            self.assertEqual((status, printed["answers"], printed["asked_now"]), (0, 120, 120))
            texts.append(self.out.read_bytes())
        self.assertEqual(texts[0], texts[1])
        recording = read_recording(self.out)
        published = read_recording(HERE / "answer-result.json")
        self.assertEqual(list(recording), ["model", "answers", "recorded"])
        self.assertEqual(recording["model"], published["model"])
        for strategy, cases in published["answers"].items():
            for case, entries in cases.items():
                found = recording["answers"][strategy][case]
                self.assertEqual([list(entry) for entry in found], [list(entry) for entry in entries])
                self.assertEqual([entry["seed"] for entry in found], [1, 2, 3, 4, 5])
        self.assertEqual(len(double.chats), 240)  # also where two strategies send the same request

    def test_every_request_says_all_that_a_server_would_decide(self):
        double = self.double()
        self.ask(double)
        options = {"temperature": 1.0, "top_k": 64, "top_p": 0.95, "min_p": 0.0, "repeat_penalty": 1.0,
                   "presence_penalty": 0.0, "frequency_penalty": 0.0, "num_ctx": 384, "num_predict": 96}
        for seed, body in zip([1, 2, 3, 4, 5] * 2, double.chats, strict=True):
            self.assertEqual(body.pop("options"), {"seed": seed, **options})
            body.pop("messages")
            self.assertEqual(body, {"model": "gemma4:e2b", "stream": True, "think": False, "truncate": False,
                                    "shift": False, "keep_alive": "30m"})

    def test_version_and_build_are_read_before_and_after_each_answer(self):
        double = self.double()
        self.ask(double, SMALL[:1])
        paths = [path.rpartition("/")[2] for path, _ in double.requests]
        first, last = paths.index("chat"), len(paths) - 1 - paths[::-1].index("chat")
        for place, path in enumerate(paths[first:last + 1], first):
            if path == "chat":
                self.assertEqual((paths[place - 2:place], paths[place + 1:place + 3]), (["version", "tags"],) * 2)

    def test_a_finished_recording_takes_its_place_and_the_one_before_is_kept(self):
        double = self.double()
        self.out.write_text("the one before", encoding="utf-8")
        self.command(double)
        previous = self.out.with_name("answer-result.previous.json")
        self.assertEqual(previous.read_text(encoding="utf-8"), "the one before")
        status, printed, _ = self.command(double)  # nothing is asked again, and the one before stays where it is
        self.assertEqual((status, printed["asked_now"], len(double.chats)), (0, 0, 120))
        self.assertEqual(previous.read_text(encoding="utf-8"), "the one before")

    def test_only_fills_the_journal_and_says_what_is_missing(self):
        double = self.double()
        status, printed, _ = self.command(double, "--only", "notes/held-spread")
        self.assertEqual((status, printed["asked_now"], len(printed["missing"])), (0, 5, 115))
        self.assertNotIn({"strategy": "notes", "case": "held-spread", "seed": 1}, printed["missing"])
        self.assertFalse(self.out.exists())
        status, printed, _ = self.command(double)
        self.assertEqual((printed["asked_now"], len(double.chats)), (115, 120))
        status, _, _ = self.command(double, "--only", "notes/nothing")
        self.assertRegex(str(status), "nothing of that name; choose from recent/held-latest")

    def test_a_dry_run_prints_the_requests_with_their_counts_and_asks_nothing(self):
        double = self.double()
        status, printed, _ = self.command(double, "--dry-run", "--only", "recent/held-latest")
        self.assertEqual((status, len(printed), double.requests), (0, 5, []))
        self.assertEqual(printed[0]["input_tokens"], stand_in_count(printed[0]["request"]["messages"]))
        self.assertEqual([found["request"]["options"]["seed"] for found in printed], [1, 2, 3, 4, 5])
        self.assertFalse(self.out.with_name("answer-result.journal.jsonl").exists())

    def test_a_request_that_leaves_no_room_for_its_answer_is_refused_before_anything_is_asked(self):
        cases = load_cases(HERE / "cases.json")
        with self.assertRaisesRegex(InputError, "leave room for the answer"):
            answer_record.plan_requests(cases, {"recent": lambda case, count: {
                "messages": [{"role": "user", "content": "word " * 300}], "input_tokens": 309}}, stand_in_count)

    def test_a_case_set_without_held_out_cases_is_an_error(self):
        with self.assertRaisesRegex(InputError, "no held-out case"):
            answer_record.plan_requests([], STRATEGIES, stand_in_count)


class Killed(Recording):
    CHILD = ("import answer_check, answer_record, command, sys, test_answer_record as t;"
             "answer_check.lab_requests = t.stand_in_requests; command.run_command(answer_check.main, sys.argv[1:])")

    def test_120_answers_killed_at_every_tenth_request_end_as_an_undisturbed_run(self):
        child, kills = None, []

        def kill(number, stage):
            if number % 10 == 0 and stage == ("asked", "half", "said")[number // 10 % 3]:
                kills.append(number)
                child.send_signal(signal.SIGKILL)
                child.wait()

        double, undisturbed = self.double(before_reply=kill), self.double()
        while not self.out.exists():
            self.assertLess(len(kills), 20)
            child = subprocess.Popen([sys.executable, "-c", self.CHILD, "record", "--out", self.out, "--host", double.host],
                                     cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            _, err = child.communicate()
            self.assertIn(child.returncode, (0, -signal.SIGKILL), err)
        self.assertGreaterEqual(len(kills), 11)
        self.assertLessEqual(len(double.chats), 120 + len(kills))  # only what was under way was asked again
        killed, self.out = self.out.read_bytes(), self.out.with_name("undisturbed.json")
        self.command(undisturbed)
        self.assertEqual(killed, self.out.read_bytes())

    def test_a_torn_last_line_is_asked_again_and_nothing_before_it(self):
        self.ask(self.double())
        journal = self.out.with_name("answer-result.journal.jsonl")
        data = journal.read_bytes()
        last = data.rstrip(b"\n").rfind(b"\n") + 1
        for cut in (last, last + 1, len(data) - 2, len(data) - 1):
            journal.write_bytes(data[:cut])
            double = self.double()
            answers, _, raised = self.ask(double)
            self.assertEqual((len(answers), len(double.chats), raised), (10, 1, None))
            self.assertEqual(journal.read_bytes(), data)

    def test_stopped_by_the_user_keeps_what_came(self):
        def stop(number, body):
            if number == 4:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.ask(self.double(fault=stop))
        double = self.double()
        answers, _, _ = self.ask(double)
        self.assertEqual((len(answers), len(double.chats)), (10, 7))

    def test_a_server_that_restarts_in_mid_answer_changes_nothing_in_the_end(self):
        faults = {3: "reset", 4: "refused", 5: "503", 8: "stopped_stream"}
        answers, asides, raised = self.ask(self.double(fault=lambda number, body: faults.get(number)))
        self.assertEqual((raised, sorted({line["why"] for line in asides})), (None, ["stopped_stream"]))
        self.out = self.out.with_name("undisturbed.json")
        undisturbed, _, _ = self.ask(self.double())
        self.assertEqual(answers, undisturbed)


class KeptAside(Recording):
    """Every reply that is no answer has a name, is in the journal as it came, and is never graded."""

    def test_a_reply_that_stays_broken_is_asked_once_more_and_then_incomplete(self):
        kinds = {"stopped_stream": "stopped_stream", "reset": "stopped_stream", "error_line": "error_body",
                 "error_200": "error_body", "no_counts": "bad_counts", "over_length": "bad_counts",
                 "short_length": "bad_counts", "load": "unknown_end", "html": "unreadable_reply", "nan": "unreadable_reply",
                 "not_utf8": "unreadable_reply", "two_last": "unreadable_reply", "huge": "too_large"}
        for fault, kind in kinds.items():
            with self.subTest(fault):
                self.out = self.out.with_name(f"{fault}.json")
                seed_2 = lambda number, body: fault if body["options"]["seed"] == 2 else None
                answers, asides, raised = self.ask(self.double(fault=seed_2), SMALL[:1])
                self.assertIsNone(raised)
                entries = sorted(answers.values(), key=lambda entry: entry["seed"])
                self.assertEqual(entries[1], {"seed": 2, "incomplete": kind})
                self.assertEqual([line["why"] for line in asides], [kind] * answer_record.BROKEN_TRIES)
                self.assertTrue(all(line["raw"] for line in asides))
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
                    self.assertEqual(answer_record.incomplete_kind(entry), kind)
                    self.assertNotIn("incomplete", entry)
                if fault == "tool_call":
                    self.assertEqual(entry["tool_calls"], [{"function": {"name": "look_up", "arguments": {"q": 1}}}])

    def test_incomplete_answers_are_counted_on_their_own_lines(self):
        faults = {1: "length", 2: "stopped_stream", 3: "stopped_stream"}
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
                with answer_record.open_journal(self.out) as journal:
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

    def test_another_version_is_asked_everything_anew(self):
        double = self.double()
        self.ask(double)
        double.version = "0.33.0-rc2"
        answers, _, _ = self.ask(double)
        self.assertEqual((len(double.chats), len(answers)), (20, 20))


class Refused(Recording):
    """Builds and servers that are refused before any request for an answer."""

    def refuses(self, says, kind=ServerError, **changed):
        double = self.double()
        for name, value in changed.items():
            setattr(double, name, value)
        with self.assertRaisesRegex(kind, says) as caught:
            self.model(double)
        self.assertEqual(double.chats, [])
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_a_model_that_is_not_the_pinned_build_is_refused_before_any_request_is_sent(self):
        text = self.refuses("ollama pull gemma4:e2b", digest="e" * 64)
        self.assertIn("e" * 64, text)
        self.assertIn("b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2", text)
        text = self.refuses("has no model gemma4:e2b", tag="gemma4:e4b")
        self.assertIn("b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2", text)

    def test_a_refused_server_leaves_nothing_behind(self):
        double = self.double()
        double.digest = "e" * 64
        status, printed, _ = self.command(double)
        self.assertIsInstance(status, ServerError)
        self.assertEqual((printed, list(self.out.parent.iterdir()), double.chats), (None, [], []))

    def test_a_digest_must_match_in_all_64_digits(self):
        pinned = "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2"
        self.refuses("is the build", digest=pinned[:-1] + "3")
        self.refuses("is the build", digest=f"sha256:{pinned}")

    def test_versions_that_count_short_or_run_another_engine(self):
        for version in ("0.30.0", "0.30.0-rc1", "0.29.9", "0.6.2", "0.0.0"):
            self.refuses("is refused", version=version)
        self.refuses("no Ollama version", version="b10488")
        self.refuses("no Ollama version", version=None)
        for version in ("0.30.1", "0.32.14", "0.33.0-rc2", "1.0.0"):
            double = self.double()
            double.version = version
            self.assertEqual(self.model(double).identity["version"], version)

    def test_cloud_models(self):
        self.refuses("cannot be pinned", entry={"remote_host": "https://ollama.com"})

    def test_builds_that_change_the_prompt(self):
        shown = OllamaDouble().shown
        for change, says in (
            ({"system": "Be kind."}, "system text"),
            ({"messages": [{"role": "user", "content": "Hi"}]}, "messages of its own"),
            ({"modelfile": shown["modelfile"] + "ADAPTER /x\n"}, "adapter"),
            ({"modelfile": "FROM x\nTEMPLATE {{ .Prompt }}\n"}, "renders prompts"),
            ({"parameters": "mirostat 2"}, "mirostat"),
            ({"capabilities": ["embedding"]}, "cannot complete"),
        ):
            with self.subTest(says):
                self.refuses(says, shown={**shown, **change})

    def test_too_little_context_for_request_and_answer(self):
        double = self.double()
        double.context_length = 64
        _, _, raised = self.ask(double)
        self.assertRegex(str(raised), "loaded with 64 tokens of context")
        self.assertEqual(len(double.chats), 1)


class Tries(Recording):
    def test_faults_that_may_pass_are_tried_again_after_waits(self):
        for fault in ("refused", "429", "500", "503", "hang"):
            with self.subTest(fault):
                self.waits.clear()
                double = self.double(fault=lambda number, body: fault if number < 3 else None)
                answer = self.model(double, (0.05, 0.05, 1)).answer(SMALL[0]["messages"], num_ctx=384, num_predict=96, seed=1)
                self.assertEqual((len(double.chats), self.waits, answer["seed"]), (3, [1, 5], 1))

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

    def test_a_redirect_is_not_followed(self):
        double = self.double(fault=lambda number, body: "redirect")
        self.ask(double)
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


class JournalFile(Recording):
    def test_two_runs_never_share_a_journal(self):
        with answer_record.open_journal(self.out), self.assertRaisesRegex(InputError, "another run is recording"):
            answer_record.open_journal(self.out)

    def test_a_damaged_line_is_named_and_nothing_is_changed(self):
        path = self.out.with_name("answer-result.journal.jsonl")
        line = json.dumps({"kind": "answer", "strategy": "s", "case": "c", "seed": 1, "request": "r", "entry": {}}) + "\n"
        for data, says in ((line + "{}\n", "line 2"), (line + line, "line 2: a second answer"), ("\n", "line 1"),
                           (line.replace("answer", "other"), "line 1"), (line.replace("{}", "[]"), "no entry")):
            path.write_text(data, encoding="utf-8")
            with self.subTest(says), self.assertRaisesRegex(InputError, says):
                Journal(path)
            self.assertEqual(path.read_text(encoding="utf-8"), data)

    def test_a_full_disk_leaves_whole_lines_and_one_clear_line(self):
        double = self.double()
        real, calls = os.write, []

        def full(file, data):
            calls.append(1)
            if len(calls) == 6:
                real(file, bytes(data)[:20])
                raise OSError(28, "No space left on device")
            return real(file, data)

        with mock.patch("os.write", full):
            answers, _, raised = self.ask(double)
        self.assertRegex(str(raised), "No space left on device")
        answers, _, raised = self.ask(double)
        self.assertEqual((len(answers), raised), (10, None))

    def test_odd_text_comes_back_as_it_was(self):
        entry = {"seed": 1, "answer": "\ud83d\u2028 \x00 naïve \u202e\r\n\"", "tool_calls": []}
        path = self.out.with_name("odd.journal.jsonl")
        with Journal(path) as journal:
            journal.add_answer(("s", "c", 1, "r"), entry)
        with Journal(path) as journal:
            self.assertEqual(journal.answers, {("s", "c", 1, "r"): entry})


if __name__ == "__main__":
    unittest.main()
