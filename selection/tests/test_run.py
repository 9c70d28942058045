"""Runs over many cases: several processes, requests counted in full, what a case explains."""

import json
import os
import select
import signal
import subprocess
import sys
import unittest
from threading import Thread
from unittest import mock

from base.command import InputError
from base.tests.fuzz_samples import SAMPLES
from base.tests.made import Files, needs_tokenizer
from base.tests.made import run as run_command
from evaluate import ROOT, main, run
from selection import run as run_cases
from selection.retrievers import fill_messages
from selection.tests.made import case
from tokenizer import CountError, counter
from tokens.tests.made import manifest_of

SPREAD = """
import sys
from base.command import run_command
from selection.run import spread
from selection.tests.made import sleeps
run_command(lambda argv: spread(sleeps, [sys.argv[1:]] * 2, 2))
"""


def shared_set(histories=3, questions=4):
    """A case set of the larger form: questions that share histories."""
    turns = {f"h{number}": [{"id": f"t{turn}", "user": f"Item {turn} of list {number} is at place {turn * 7}.",
                             "assistant": f"Place {turn * 7}."} for turn in range(30)]
             for number in range(histories)}
    cases = [{**case(f"Where is item {turn}?", room=180), "id": f"{name}-{turn}", "history": name,
              "required": [{"turn": f"t{turn}", "text": f"Item {turn}"}]}
             for turn in range(questions) for name in turns]
    return {"format": 1, "histories": turns, "cases": cases}


@needs_tokenizer
class ManyCases(Files):
    def setUp(self):
        super().setUp()
        self.path = self.write("shared.json", shared_set())

    @mock.patch("tokenizer.MANY", -1)  # no line about whole counts among the tests' dots
    def test_another_number_of_processes_changes_a_byte(self):
        files = {name: SAMPLES[f"pin/{name}"]() for name in ("tokenizer.json", "chat_template.jinja")}
        for name, data in files.items():  # small ones, since each process loads them anew
            self.write(f"small/{name}", data)
        manifest = self.write("small.json", manifest_of(files))
        with mock.patch.dict(os.environ, LAB_TOKENIZER=str(self.folder)):
            one, two = (run(self.path, ["recent", "notes"], manifest=manifest, jobs=jobs) for jobs in (1, 2))
        self.assertEqual(json.dumps(one), json.dumps(two))
        self.assertGreater(one["summary"]["recent"]["dev"]["mean_input_tokens"], 9)

    def test_a_set_from_a_pipe_gets_the_hash_of_nothing(self):
        pipe = self.folder / "shared.pipe"
        os.mkfifo(pipe)
        writer = Thread(target=pipe.write_bytes, args=[self.path.read_bytes()], daemon=True)
        writer.start()
        report = run(pipe, ["recent"])
        writer.join()
        self.assertEqual({**report, "case_set": "shared.json"}, run(self.path, ["recent"]))

    def test_a_control_token_in_a_tool_call_is_run(self):
        token = '<|"|>'  # with quotation marks, which JSON escapes
        said = f"a {token} b"
        value = shared_set()
        for name, arguments, result_name, content in (
                ("f", {"x": [{"y": said}]}, "f", "r"), ("f", {token: "b"}, "f", "r"), (said, {}, "f", "r"),
                ("f", {}, said, "r"), ("f", {}, "f", said)):
            call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
            value["histories"]["h1"][4]["messages"] = [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "name": result_name, "content": content}]
            with self.assertRaisesRegex(InputError, r"case 'h1-0': turn 5 holds the model's control token <\|\"\|>"):
                run(self.write("changed.json", value), ["recent"])

    def test_a_request_that_the_template_refuses_is_not_traced_to_its_case(self):
        refused = mock.Mock(side_effect=CountError("roles must alternate"))
        with mock.patch.dict("selection.run.STRATEGIES", recent=refused):
            with self.assertRaisesRegex(InputError, "shared.json: case 'h0-0', recent: roles must alternate"):
                run(self.path, ["recent"])
        with mock.patch("selection.cases.render", refused):
            with self.assertRaisesRegex(InputError, "shared.json: case 'h0-0': roles must alternate"):
                run(self.path, ["recent"])

    def test_a_level_of_budgets_stands_where_none_was_asked_for(self):
        report = run(self.path, ["relevant"], budgets=[20, 600])
        self.assertNotIn("summary", report)
        self.assertEqual(list(report["budgets"]), ["20", "600"])
        few, many = (level["summary"]["relevant"]["dev"] for level in report["budgets"].values())
        self.assertLess(few["mean_input_tokens"], 21)
        self.assertLess(few["facts_found"], many["facts_found"])

    def test_a_large_set_hides_how_many_requests_were_counted_in_full(self):
        self.assertNotIn("counted_in_full", run(self.path, ["recent"]))
        with mock.patch("selection.run.ALWAYS_CHECKED", 3), mock.patch("selection.run.SAMPLE", 2):
            for verify, checked in ((False, 2), (True, 12)):
                report = run(self.path, ["recent"], verify=verify)
                self.assertEqual(report["counted_in_full"], {"requests": 12, "checked": checked})

    def test_a_sum_that_is_wrong_gives_figures(self):
        with mock.patch.object(counter(), "full", lambda messages, tools=None: 1):
            with self.assertRaisesRegex(InputError, "tokens as a sum, 1 counted in full"):
                run(self.path, ["recent"])

    def test_a_reply_that_a_mark_in_the_joined_one_cuts_is_found(self):
        value, text = shared_set(1, 1), type(counter()).text
        value["cases"][0]["required"] = [{"turn": "t0", "text": "Place 0"}]
        value["histories"]["h0"][1]["assistant"] = "I think</think>Yes."
        path = self.write("joined.json", value)

        def cutting(self, messages, tools=None):
            cut = [{**message, "content": message["content"].rpartition("</think>")[2]} for message in messages]
            return text(self, cut, tools)

        replies = {"replies": lambda case, count: fill_messages(case, count, [1, 3])}
        full = mock.patch.object(type(counter()), "full", lambda self, messages: self(messages))
        with mock.patch.dict("selection.retrievers.SELECTORS", replies), full:
            self.assertEqual(run(path, ["replies"])["cases"]["replies"][0]["missing"], [])
            for marks, always in (([], 200), (["</think>"], 0)):  # in a large set only what holds a mark is looked at
                with (mock.patch.object(type(counter()), "text", cutting), mock.patch.object(counter(), "marks", marks),
                      mock.patch("selection.run.ALWAYS_CHECKED", always), mock.patch("selection.run.SAMPLE", 0)):
                    (row,) = run(path, ["replies"])["cases"]["replies"]
                self.assertIn("whose text the chat template changes", row["error"])

    def test_processes_that_read_another_rule_than_was_hashed_give_figures(self):
        with mock.patch("selection.run.selector_hashes", side_effect=[{"own.py": "1"}, {"own.py": "2"}]):
            with self.assertRaisesRegex(InputError, "edited during the run"):
                run(self.path, ["recent"], jobs=2)

    def test_the_sample_differs_from_run_to_run(self):
        cases = [{"id": str(number)} for number in range(500)]
        chosen = run_cases.choose_checked(["a", "b"], cases, (None,), False)
        self.assertEqual(chosen, run_cases.choose_checked(["a", "b"], cases, (None,), False))
        self.assertEqual(len(chosen), run_cases.SAMPLE)

    def test_a_cluster_of_two_workers_changes_a_byte(self):
        try:
            from distributed import LocalCluster
        except ImportError:
            self.skipTest("distributed is not installed: pip install -r workbench/requirements-dask.txt")
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(processes=True, **options) as cluster:
            report = run(self.path, ["recent", "relevant"], scheduler=cluster.scheduler_address)
        self.assertEqual(json.dumps(report), json.dumps(run(self.path, ["recent", "relevant"])))

    def test_a_scheduler_that_is_not_there_is_a_traceback(self):
        with mock.patch("selection.run.PATIENCE", "1s"), self.assertRaisesRegex(InputError, "--scheduler"):
            run(self.path, ["recent"], scheduler="tcp://127.0.0.1:9")


@needs_tokenizer
class Explained(Files):
    def lines(self, *arguments):
        status, out, _ = run_command(main, *arguments)
        self.assertEqual(status, 0)
        self.assertTrue(all(map(str.isprintable, out.splitlines())))
        return out.splitlines()

    def test_a_turn_is_left_out_without_a_reason(self):
        lines = self.lines("--explain", "dev-spread")
        for line in ("turn 1  - not reached: turn 2 did not fit and ended the walk",
                     "turn 2  - does not fit: costs 310", "turn 4  - shares no word with the question",
                     "turn 3  + taken", "missing: 400 days of history",
                     "note    - [turn 1, user] Audit exports must cover 400 days of history."):
            self.assertIn(f"  {line}", lines)

    def test_an_id_takes_several_lines_or_a_note_is_left_out_or_shown_in_part(self):
        value = shared_set(1, 1)
        value["cases"][0].update(id="a\n\x1b[2J", kind="b\r")
        value["histories"]["h0"][1]["assistant"] = "It must hold\n- [turn 2, user] </notes> must not"
        path = self.write("odd.json", value)
        lines = self.lines("--explain", "a\n\x1b[2J", "--cases", path, "--strategies", "notes")
        self.assertEqual(lines[0], "case a \\x1b[2J (dev, b\\r)")
        self.assertEqual([line for line in lines if "  note " in line],
                         ["  note    - [turn 2, assistant] It must hold - [turn 2, user] &lt;/notes&gt; must not"])


class Pool(Files):
    def test_results_come_in_the_order_of_their_ends_or_an_error_in_a_worker_is_a_traceback(self):
        self.assertEqual(run_cases.spread(sum, [[1], [2, 3], [4]], 2), [1, 5, 4])
        with self.assertRaisesRegex(InputError, "^'first' is no name known here; .*"):
            run_cases.spread(run_cases.selector_table, [["first"], ["second"]], 2)

    @unittest.skipIf(sys.platform == "win32", "processes cannot be stopped by a signal there")
    def test_workers_live_on_or_each_tells_of_a_stop_or_one_that_was_killed_is_a_traceback(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        start = {"stderr": subprocess.PIPE, "cwd": ROOT, "start_new_session": True, "text": True,  # else a suite that
                 "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # ignores SIGINT hands that down
        for stop, whom, status, told in (
                (signal.SIGINT, "run", 130, "-c: stopped\n"),
                (signal.SIGINT, "all", 130, "-c: stopped\n"),  # as a terminal does
                (signal.SIGKILL, "worker", 2, "-c: a worker process ended before .*fewer --jobs\n"),
                (signal.SIGKILL, "run", -signal.SIGKILL, "(?s:.*)")):
            heard = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, heard)

            def read():
                self.assertTrue(select.select([heard], [], [], 300)[0], "a worker neither started nor ended")
                return os.read(heard, 1000)

            with self.subTest(stop=stop, whom=whom):
                with subprocess.Popen([sys.executable, "-c", SPREAD, pipe], **start) as running:
                    try:
                        started = b""
                        while started.count(b"\n") < 2:
                            started += read()
                        ids = {"run": running.pid, "all": -running.pid, "worker": int(started.split()[0])}
                        os.kill(ids[whom], stop)
                        self.assertEqual(read(), b"", "a worker lives on")  # the pipe ends when nobody has it open
                        self.assertRegex(running.stderr.read(), rf"\A{told}\Z")
                        self.assertEqual(running.wait(), status)
                    finally:
                        os.killpg(running.pid, signal.SIGKILL)
