"""Recording against a double: the published shape, and runs that are killed and end as if they had not been.

The double and the stand-in for the tokenizer are in answers/tests/; no model is needed.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading

import answer_check
from answer_model import MODEL
from answers import attribution, record
from answers import journal as answer_journal
from answers.recording import read_recording, same_as_recorded
from answers.tests.made import ROOT, SMALL, Recording, run
from answers.tests.ollama_double import stand_in_count
from base.command import InputError
from selection.cases import load_cases
from strategies import STRATEGIES
from tokenizer import TokenizerError, counter


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
        published = read_recording(ROOT / "answer-result.json")
        self.assertEqual(list(recording), ["model", "answers", "recorded"])
        self.assertIn("own hash", same_as_recorded(recording))
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
            self.assertEqual(body,
                             {"model": "gemma4:e2b", "stream": True, "think": False, "truncate": False, "shift": False,
                              "keep_alive": "30m"})

    def test_version_and_build_are_read_before_and_after_each_answer(self):
        double = self.double()
        self.ask(double, SMALL[:1])
        paths = [path.rpartition("/")[2] for path, _ in double.requests]
        first, last = paths.index("chat"), len(paths) - 1 - paths[::-1].index("chat")
        for place, path in enumerate(paths[first : last + 1], first):
            if path == "chat":
                self.assertEqual((paths[place - 2 : place], paths[place + 1 : place + 3]), (["version", "tags"],) * 2)

    def test_a_finished_recording_takes_its_place_and_the_one_before_is_kept(self):
        double, self.plan = self.double(), SMALL
        before = b'\xef\xbb\xbf{"model": {},\r\n "answers": "of before, damaged as it is"}'
        self.out.write_bytes(before)
        self.command(double, "--only", "recent/held-latest")
        self.assertEqual(self.out.read_bytes(), before)  # until the new one is whole
        self.command(double)
        previous = self.out.with_name("answer-result.previous.json")
        self.assertEqual((previous.read_bytes(), "answers" in read_recording(self.out)), (before, True))
        status, printed, _ = self.command(double)  # nothing is asked again, and the one before stays where it is
        self.assertEqual((status, printed["asked_now"], len(double.chats)), (0, 0, 10))
        self.assertEqual(previous.read_bytes(), before)

    def test_an_answer_that_was_edited_after_it_was_recorded_is_graded(self):
        double, self.plan = self.double(), SMALL
        self.command(double)
        text = self.out.read_text(encoding="utf-8")
        data = json.loads(text)
        answer = data["answers"]["recent"]["held-old-decision"][2]["answer"]
        data["answers"]["recent"]["held-latest"].pop()
        data["answers"]["recent"]["held-old-decision"].pop()
        for edited, says in ((text.replace(answer, "Object storage."), "recent/held-old-decision seed 3: this answer"),
                             (text.replace('"answers_sha256": "', '"answers_sha256": "0'), "not those that were"),
                             (json.dumps(data), "recent/held-latest: answers are missing")):
            self.out.write_text(edited, encoding="utf-8")
            with self.subTest(says), self.assertRaisesRegex(InputError, says):
                read_recording(self.out)

    def test_what_a_server_says_in_half_a_surrogate_pair_or_control_characters_stops_the_file_from_being_written(self):
        double, self.plan = self.double(), SMALL
        double.version = "0.32.14\ud83d\x1b[2J\u202e"
        double.shown = {**double.shown, "parameters": "stop \ud83d", "capabilities": ["completion", "\udc80"]}
        double.loaded = [double.tag, "\x1b[2J\u202eother\ud83d"]
        status, printed, err = self.command(double)
        self.assertEqual((status, printed["answers"]), (0, 10))
        self.assertEqual(read_recording(self.out)["recorded"]["version"], "0.32.14?\x1b[2J\u202e")
        self.assertIn("also loaded there: \\x1b[2j\\u202eother?:latest", err)
        self.assertIn("Ollama 0.32.14?\\x1b[2J\\u202e is not one of the versions", err)
        self.assertFalse({"\x1b", "\u202e"} & set(err))

    def test_recordings_in_a_row_lose_the_first(self):
        double, self.plan = self.double(), SMALL[:1]
        self.out.write_bytes(b'{"model": {}, "answers": {}}')
        for version in ("0.32.14", "0.33.0-rc2"):
            double.version = version
            self.command(double)
        kept = [self.out.with_name(f"answer-result.previous{number}.json").read_bytes() for number in ("", ".2")]
        self.assertEqual((kept[0], b'"version": "0.32.14"' in kept[1]), (b'{"model": {}, "answers": {}}', True))

    def test_only_fills_the_journal_and_says_what_is_missing(self):
        double, self.plan = self.double(), SMALL
        status, printed, _ = self.command(double, "--only", "recent/held-old-decision")
        self.assertEqual((status, printed["asked_now"]), (0, 5))
        lacking = [{"strategy": "recent", "case": "held-latest", "seed": seed} for seed in (1, 2, 3, 4, 5)]
        self.assertEqual((printed["missing"], self.out.exists()), (lacking, False))
        status, printed, _ = self.command(double)
        self.assertEqual((printed["asked_now"], len(double.chats), self.out.exists()), (5, 10, True))
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
        cases = load_cases(ROOT / "cases.json")
        with self.assertRaisesRegex(InputError, "leave room for the answer"):
            record.plan_requests(
                cases,
                {"recent": lambda case, count: {"messages": [{"role": "user", "content": "word " * 300}],
                                                "input_tokens": 309}},
                stand_in_count)

    def test_a_case_set_without_held_out_cases_is_an_error(self):
        with self.assertRaisesRegex(InputError, "no held-out case"):
            record.plan_requests([], STRATEGIES, stand_in_count)


class Killed(Recording):
    CHILD = """if True:
        import signal, sys, answer_check, strategies  # no more: it starts often
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from answers import record
        from answers.tests import ollama_double
        from base import command
        from selection import cases
        held_out = cases.load_cases("cases.json"), strategies.STRATEGIES, ollama_double.stand_in_count
        answer_check.lab_requests = lambda *_: (record.plan_requests(*held_out), {})
        command.run_command(answer_check.main, sys.argv[1:])
    """

    def setUp(self):
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def start(self, double, *argv):
        """A process that records what the double answers."""
        return subprocess.Popen(
            [sys.executable, "-c", self.CHILD, "record", "--out", self.out, "--host", double.host, *argv], cwd=ROOT,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_120_answers_killed_at_every_twentieth_request_end_as_an_undisturbed_run(self):
        child, kills = None, []

        def kill(number, stage):
            if number % 20 == 0 and stage == ("asked", "half", "said")[number // 20 % 3]:
                kills.append(number)
                child.send_signal(signal.SIGKILL)
                child.wait()

        double, undisturbed = self.double(before_reply=kill), self.double()
        while not self.out.exists():
            self.assertLess(len(kills), 20)
            child = self.start(double)
            _, err = child.communicate()
            self.assertIn(child.returncode, (0, -signal.SIGKILL), err)
        self.assertGreaterEqual(len(kills), 6)
        self.assertLessEqual(len(double.chats), 120 + len(kills))  # only what was under way was asked again
        killed, self.out = self.out.read_bytes(), self.out.with_name("undisturbed.json")
        self.command(undisturbed)
        self.assertEqual(killed, self.out.read_bytes())

    def test_a_torn_last_line_is_asked_again_and_nothing_before_it(self):
        self.ask(self.double())
        journal = self.out.with_name("answer-result.journal.jsonl")
        data = journal.read_bytes()
        last = data.rstrip(b"\n").rfind(b"\n") + 1
        for cut in (last, last + 1, len(data) - 2):
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

    def test_stopped_by_the_user_with_several_jobs_keeps_what_was_under_way(self):
        def stop(number, body):
            if number == 4:
                os.kill(os.getpid(), signal.SIGINT)

        double = self.double(fault=stop)
        with self.assertRaises(KeyboardInterrupt), contextlib.redirect_stderr(io.StringIO()) as err:
            self.ask(double, jobs=3)
        self.assertIn("stopping when the answers under way are there", err.getvalue())
        with answer_journal.open_journal(self.out) as journal:
            kept = len(journal.answers)
        self.assertEqual((kept, kept < 10), (len(double.chats), True))
        again = self.double()
        answers, _, _ = self.ask(again, jobs=3)
        self.assertEqual((len(answers), len(again.chats)), (10, 10 - kept))

    def test_stopped_twice_with_several_jobs_waits_for_a_server_that_hangs(self):
        asked = threading.Semaphore(0)
        double = self.double(fault=lambda number, body: asked.release() or "hang")
        child = self.start(double, "--jobs", "2")
        for _ in range(2):
            asked.acquire()
        child.send_signal(signal.SIGINT)
        self.assertIn(b"stopping when the answers under way are there", child.stderr.readline())
        child.send_signal(signal.SIGINT)
        self.assertEqual((child.communicate()[1], child.returncode), (b"-c: stopped\n", 130))

    def test_a_server_that_restarts_in_mid_answer_changes_nothing_in_the_end(self):
        faults = {3: "reset", 4: "refused", 5: "503", 8: "stopped_stream"}
        answers, asides, raised = self.ask(self.double(fault=lambda number, body: faults.get(number)))
        self.assertEqual((raised, sorted({line["why"] for line in asides})), (None, ["stopped_stream"]))
        self.out = self.out.with_name("undisturbed.json")
        undisturbed, _, _ = self.ask(self.double())
        self.assertEqual(answers, undisturbed)


class WithTheTokenizer(Recording):
    def test_the_lab_records_and_its_report_is_about_the_same_requests(self):
        try:
            count = counter()
        except TokenizerError as error:
            self.skipTest(str(error))
        double = self.double(count=lambda messages, tools=None: count(messages, tools))
        block = self.out.with_name("block.json")
        block.write_text(json.dumps({**MODEL, "seeds": [7]}), encoding="utf-8")
        for argv in (["record", "--out", str(self.out), "--host", double.host, "--model", str(block)],
                     ["--recording", str(self.out)]):
            self.assertEqual(run(answer_check.main, *argv)[0], 0)
        recording, published = read_recording(self.out), read_recording(ROOT / "answer-result.json")
        for strategy, cases in published["answers"].items():
            for case, entries in cases.items():
                tokens = recording["recorded"]["requests"][strategy][case]["input_tokens"]
                self.assertEqual({tokens}, {entry["prompt_tokens"] for entry in entries}, (strategy, case))
                self.assertEqual([entry["seed"] for entry in recording["answers"][strategy][case]], [7])
        report = json.loads((ROOT / "evaluation-result.json").read_text(encoding="utf-8"))
        by_id = {case["id"]: case for case in load_cases(ROOT / "cases.json")}
        self.assertEqual(attribution.check_same_requests(recording, report, by_id), attribution.SAME_REQUESTS)
