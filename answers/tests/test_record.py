"""Recording against a double: the published shape, and runs that are killed and end as if they had not been."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading

import answer_check
from answer_model import MODEL
from answers import attribution, record
from answers.recording import answered, read_recording, same_as_recorded
from answers.tests.made import CASES, PLAN, PUBLISHED, REPORT, SMALL, Recording
from answers.tests.ollama_double import stand_in_count
from base.command import InputError
from base.tests.made import ROOT, edited, needs_tokenizer, run
from selection.facts import in_request


class Whole(Recording):
    def test_a_request_says_all_that_a_server_would_decide_and_version_and_build_are_read_before_and_after(self):
        double = self.double()
        self.ask(double)
        options = {"temperature": 1.0, "top_k": 64, "top_p": 0.95, "min_p": 0.0, "repeat_penalty": 1.0,
                   "presence_penalty": 0.0, "frequency_penalty": 0.0, "num_ctx": 384, "num_predict": 96}
        asked = [{"model": "gemma4:e2b", "messages": planned["messages"], "stream": True, "think": False,
                  "truncate": False, "shift": False, "keep_alive": "30m", "options": {"seed": seed, **options}}
                 for planned in SMALL for seed in (1, 2, 3, 4, 5)]
        self.assertEqual(double.chats, asked)
        told = [path.rpartition("/")[2] for path, _ in double.requests if path != "/api/ps"]
        self.assertEqual(told[3:], ["version", "tags", "chat", "version", "tags"] * 10)  # behind those of the start

    def test_a_finished_recording_takes_its_place_and_those_before_are_kept(self):
        double = self.double()
        before = b'\xef\xbb\xbf{"model": {},\r\n "answers": "of before, damaged as it is"}'
        self.out.write_bytes(before)
        self.command(double.host, "--only", "recent/held-latest")
        self.assertEqual(self.out.read_bytes(), before)  # until the new one is whole
        self.command(double.host)
        kept = [self.folder / f"answer-result.previous{number}.json" for number in ("", ".2")]
        self.assertEqual((kept[0].read_bytes(), kept[1].exists()), (before, False))
        first = self.out.read_bytes()
        status, printed, _ = self.command(double.host)  # nothing is asked again, and the one before stays where it is
        self.assertEqual((status, printed["asked_now"], len(double.chats), kept[1].exists()), (0, 0, 10, False))
        double.version = "0.33.0-rc2"
        self.command(double.host)
        self.assertEqual(([path.read_bytes() for path in kept], len(double.chats)), ([before, first], 20))

    def test_an_answer_that_was_edited_after_it_was_recorded_is_graded(self):
        self.command(self.double().host)
        text = self.out.read_text(encoding="utf-8")
        data = json.loads(text)
        answer = data["answers"]["recent"]["held-old-decision"][2]["answer"]
        for entries in data["answers"]["recent"].values():
            entries.pop()
        for changed, says in ((text.replace(answer, "Object storage."), "recent/held-old-decision seed 3: this answer"),
                             (text.replace('"answers_sha256": "', '"answers_sha256": "0'), "not those that were"),
                             (json.dumps(data), "recent/held-latest: answers are missing")):
            self.out.write_text(changed, encoding="utf-8")
            with self.subTest(says):
                self.refused(says, answer_check.main, "--recording", self.out)

    def test_what_a_recording_says_of_model_server_or_requests_was_edited_and_is_believed(self):
        self.command(self.double().host)
        recorded = json.loads(self.out.read_text(encoding="utf-8"))
        for place, *put in (("model seeds", [1, 2, 3]), ("recorded digest", "0" * 64), ("recorded options top_k", 63),
                            ("recorded requests recent held-latest messages_sha256", "0" * 64),
                            ("recorded answers_sha256",)):
            with self.subTest(place):
                self.refused("'model' or 'recorded' was edited", answer_check.main, "--recording",
                             self.write("edited.json", edited(recorded, place.split(), *put)))

    def test_an_answer_that_was_edited_in_the_journal_is_recorded_as_if_it_had_come(self):
        double, journal = self.double(), self.folder / "answer-result.journal.jsonl"
        self.command(double.host)
        came, answers = journal.read_bytes(), read_recording(self.out)["answers"]
        lines = [json.loads(line) for line in came.splitlines()]
        lines[2]["entry"]["answer"] = "Mateo."
        changed = "".join(json.dumps(line) + "\n" for line in lines).encode("utf-8")
        journal.write_bytes(changed)
        status, printed, err = self.command(double.host)
        self.assertRegex(err, "line 3: it was edited after it came; restore it or move the journal away\n$")
        self.assertEqual((status, printed, journal.read_bytes()), (2, None, changed))
        before = b"".join(re.sub(rb', "sha256": "\w+"}$', b"}", line) + b"\n" for line in came.splitlines()[:4])
        for kept, says in ((came, "by the recording's own hash"), (before, "not known")):  # and of an earlier version
            journal.write_bytes(kept)
            self.out.unlink()
            status, printed, _ = self.command(double.host)
            recording = read_recording(self.out)
            self.assertEqual((status, printed["asked_now"], recording["answers"]), (0, 10 - kept.count(b"\n"), answers))
            self.assertIn(says, same_as_recorded(recording))
            self.assertTrue(journal.read_bytes().startswith(kept))

    def test_what_a_server_says_in_half_a_surrogate_pair_or_control_characters_stops_the_file_from_being_written(self):
        double = self.double()
        double.version = "0.32.14\ud83d\x1b[2J\u202e"
        double.shown = {**double.shown, "parameters": "stop \ud83d", "capabilities": ["completion", "\udc80"]}
        double.loaded = [double.tag, "\x1b[2J\u202eother\ud83d"]
        status, printed, err = self.command(double.host)
        self.assertEqual((status, printed["answers"]), (0, 10))
        self.assertEqual(read_recording(self.out)["recorded"]["version"], "0.32.14?\x1b[2J\u202e")
        self.assertIn("also loaded there: \\x1b[2j\\u202eother?:latest", err)
        self.assertIn("Ollama 0.32.14?\\x1b[2J\\u202e is not one of the versions", err)
        self.assertFalse({"\x1b", "\u202e"} & set(err))

    def test_only_fills_the_journal_and_says_what_is_missing_and_a_dry_run_asks_nothing(self):
        double = self.double()
        status, printed, _ = self.command(double.host, "--dry-run", "--only", "recent/held-latest")
        self.assertEqual((status, double.requests, list(self.folder.iterdir())), (0, [], []))
        self.assertEqual(printed[0]["input_tokens"], stand_in_count(printed[0]["request"]["messages"]))
        self.assertEqual([line["request"]["options"]["seed"] for line in printed], [1, 2, 3, 4, 5])
        _, printed, _ = self.command(double.host, "--only", "recent/held-old-decision")
        lacking = [{"strategy": "recent", "case": "held-latest", "seed": seed} for seed in (1, 2, 3, 4, 5)]
        self.assertEqual((printed["asked_now"], printed["missing"], self.out.exists()), (5, lacking, False))
        _, printed, _ = self.command(double.host)
        self.assertEqual((printed["asked_now"], len(double.chats), self.out.exists()), (5, 10, True))
        status, _, err = self.command(double.host, "--only", "notes/nothing")
        self.assertRegex(f"{status} {err}", "^2 .*nothing of that name; choose from recent/held-latest")

    def test_a_plan_that_leaves_no_room_for_an_answer_or_is_empty_is_refused_before_anything_is_asked(self):
        for chosen, words, tokens, says in ((CASES, 300, 309, "leave room for the answer"), ([], 1, 10, "no held-out"),
                                            (CASES, 1, 11, r"costs 10 tokens \(11 by")):
            selected = {"messages": [{"role": "user", "content": "word " * words}], "input_tokens": tokens}
            with self.subTest(says), self.assertRaisesRegex(InputError, says):
                record.plan_requests(chosen, {"recent": lambda case, count: selected}, stand_in_count)

    @needs_tokenizer
    def test_the_lab_records_and_its_report_is_about_the_same_requests(self):
        from tokenizer import count_request as count

        double = self.double(count=count)
        block = self.write("block.json", {**MODEL, "seeds": [7]})
        for argv in (["record", "--out", self.out, "--host", double.host, "--model", block],
                     ["--recording", self.out]):
            self.assertEqual(run(answer_check.main, *argv)[0], 0)
        recording = read_recording(self.out)
        for (strategy, case, entries, sent), (*place, known, _) in zip(answered(recording), answered(PUBLISHED)):
            self.assertEqual(([strategy, case], [entry["seed"] for entry in entries]), (place, [7]))
            self.assertEqual({sent["input_tokens"]}, {entry["prompt_tokens"] for entry in known}, place)
        by_id = {case["id"]: case for case in CASES}
        same_by = attribution.check_same_requests(recording, REPORT, by_id, in_request)
        self.assertEqual(same_by, attribution.SAME_REQUESTS)


class Killed(Recording):
    CHILD = """if True:
        import signal, sys, answer_check, strategies  # no more: it starts often
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from answers import record
        from answers.tests import ollama_double
        from base import command
        from selection import cases
        lab = cases.load_cases("cases.json"), strategies.STRATEGIES, ollama_double.stand_in_count
        answer_check.lab_requests = lambda *_: (record.plan_requests(*lab), {})
        command.run_command(answer_check.main, sys.argv[1:])
    """

    def setUp(self):
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def start(self, double, *argv):
        command = [sys.executable, "-c", self.CHILD, "record", "--out", self.out, "--host", double.host, *argv]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_120_answers_killed_at_each_stage_of_a_request_end_as_an_undisturbed_run_of_the_published_shape(self):
        def kill(number, stage):
            if (number, stage) in ((20, "asked"), (60, "half"), (100, "said")):
                child.send_signal(signal.SIGKILL)
                child.wait()

        double = self.double(before_reply=kill)
        for status in (*[-signal.SIGKILL] * 3, 0):
            self.assertFalse(self.out.exists())
            child = self.start(double)
            _, err = child.communicate()
            self.assertEqual(child.returncode, status, err)
        self.assertLessEqual(len(double.chats), 123)  # only what was under way was asked again
        killed, self.out, double = self.out.read_bytes(), self.folder / "undisturbed.json", self.double()
        status, printed, _ = self.command(double.host, "--jobs", "6", plan=PLAN)
        self.assertEqual((status, printed["answers"], printed["asked_now"], len(double.chats)), (0, 120, 120, 120))
        self.assertEqual(killed, self.out.read_bytes())  # whatever the number of jobs
        recording = read_recording(self.out)
        self.assertEqual((list(recording), recording["model"]), (["model", "answers", "recorded"], PUBLISHED["model"]))
        self.assertEqual((recording["recorded"]["options"]["min_p"], "own" in same_as_recorded(recording)), (0.0, True))
        shapes = [[(strategy, case, [(list(entry), entry["seed"]) for entry in entries])
                   for strategy, case, entries, _ in answered(side)] for side in (recording, PUBLISHED)]
        self.assertEqual(*shapes)

    def test_a_torn_last_line_is_asked_again_and_nothing_before_it(self):
        self.ask(self.double())
        journal = self.folder / "answer-result.journal.jsonl"
        data = journal.read_bytes()
        last = data.rstrip(b"\n").rfind(b"\n") + 1
        for cut in (last, last + 1, len(data) - 2):
            journal.write_bytes(data[:cut])
            double = self.double()
            self.ask(double)
            self.assertEqual((len(double.chats), journal.read_bytes()), (1, data))

    def test_stopped_by_the_user_keeps_what_came(self):
        for jobs in (1, 3):
            self.out = self.folder / f"{jobs}.json"
            double = self.double(lambda number, body: os.kill(os.getpid(), signal.SIGINT) if number == 4 else None)
            with self.assertRaises(KeyboardInterrupt), contextlib.redirect_stderr(io.StringIO()) as err:
                self.ask(double, jobs=jobs)
            self.assertIn("stopping when the answers under way are there" if jobs > 1 else "", err.getvalue())
            with record.Journal(self.out) as journal:
                kept = len(journal.answers)
            self.assertTrue(kept == len(double.chats) < 10 if jobs > 1 else kept == 3)
            again = self.double()
            answers, _, _ = self.ask(again, jobs=jobs)
            self.assertEqual((len(answers), len(again.chats)), (10, 10 - kept))

    def test_stopped_twice_with_several_jobs_waits_for_a_server_that_hangs(self):
        asked = threading.Barrier(3, timeout=60)
        child = self.start(self.double(lambda number, body: (asked.wait(), "hang")[1]), "--jobs", "2")
        asked.wait()
        child.send_signal(signal.SIGINT)
        self.assertIn(b"stopping when the answers under way are there", child.stderr.readline())
        child.send_signal(signal.SIGINT)
        self.assertEqual((child.communicate()[1], child.returncode), (b"-c: stopped\n", 130))

    def test_a_server_that_restarts_in_mid_answer_changes_nothing_in_the_end(self):
        answers, asides, raised = self.ask(self.double({3: "reset", 4: "refused", 5: "503", 8: "stopped_stream"}))
        self.assertEqual((raised, {line["why"] for line in asides}), (None, {"stopped_stream"}))
        self.out = self.folder / "undisturbed.json"
        self.assertEqual(answers, self.ask(self.double())[0])
