"""The bench: a wrong option measured or told in a traceback, a generated set that no run would take, an unfair peer."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from functools import lru_cache
from pathlib import Path
from unittest import mock

from base.command import status_of
from base.tests.made import needs_tokenizer
from compaction.sessions.log import read_events
from selection.cases import check_set
from strategies import STRATEGIES
from workbench import bench
from workbench.bench_set import event_log, history, made_case

ROOT = Path(__file__).parents[2]


def told(*arguments):
    """(status, standard output, standard error) of the command."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        status = status_of(bench.main, list(arguments))
    return status, out.getvalue(), errors.getvalue()


class Options(unittest.TestCase):
    def test_a_wrong_option_is_measured_or_a_traceback(self):
        for arguments in (["--parts", "nope"], ["--parts", ","], ["--turns", "0"], ["--events", "0"],
                          ["--events", "-3"], ["--events", "many"]):
            with self.subTest(arguments), mock.patch.object(bench, "alone", side_effect=AssertionError("measured")):
                status, out, errors = told(*arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertNotIn("Traceback", errors)

    def test_a_tokenizer_that_is_not_there_is_a_traceback(self):
        with tempfile.TemporaryDirectory() as empty, mock.patch.dict("os.environ", {"LAB_TOKENIZER": empty}):
            for part in sorted(set(bench.PARTS) - {"answers", "signals"}):
                status, out, errors = told("--parts", part)
                self.assertEqual((status, out, errors.count("\n")), (2, "", 1))
                self.assertIn("run: python prepare.py", errors)


class Generated(unittest.TestCase):
    def test_a_generated_case_is_refused_or_differs_with_the_same_seed(self):
        made = made_case(20, 900)
        self.assertEqual(made, made_case(20, 900))
        self.assertEqual(len(check_set([{**made, "required": [made["history"][3]["user"]]}], "made")), 1)

    def test_two_seeds_give_one_history(self):
        self.assertNotEqual(history(5, seed=1), history(5, seed=2))

    def test_a_generated_log_is_refused(self):
        lines = (json.dumps(event).encode() for event in event_log(450))
        events = list(read_events(lines, "log"))
        self.assertEqual((len(events), len({event["conversation_id"] for event in events})), (450, 3))


class Rows(unittest.TestCase):
    """Every part that needs no other process measures something; what is not installed is null."""

    def test_a_part_measures_nothing(self):
        for part, work, wanted in (
                (bench.answers, (200,), {"characters", "grade_ms", "eight_times_as_long_over"}),
                (bench.rounded, ({"s": 0.0123456, "n": 3, "none": None},), {"s", "n", "none"})):
            self.assertEqual(set(part(*work)), wanted)
        self.assertEqual(bench.rounded({"s": 0.0123456, "n": 123456}), {"s": 0.01235, "n": 123456})

    @needs_tokenizer
    def test_a_part_that_counts_measures_nothing_or_fails_without_the_other_libraries(self):
        from tokenizer import counter

        absent = {"langchain_core": None, "llama_index": None}
        loaded = {"raw_tokenizer": lru_cache(bench.raw_tokenizer), "fresh_counter": counter, "REPEATS": 1}
        with (mock.patch.dict("os.environ"), mock.patch.dict("sys.modules", absent),
              mock.patch.multiple(bench, **loaded)):  # loaded once: a cold start each takes a quarter of a minute
            row = bench.counting(20)
            self.assertEqual((row["langchain_over_budget"], row["llama_index_over_budget"]), (None, None))
            self.assertGreater(row["plain_over_recent"], 0)
            self.assertGreater(bench.near(20)["fill_messages_over_turns"], 0)
            self.assertEqual(bench.choose(20)["turns"], 20)

    def test_a_stop_waits_for_the_part_that_is_measured_or_leaves_what_it_started(self):
        def default():  # else a suite that is started with SIGINT ignored hands that down
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            part = f"exec 3> '{pipe}'; echo up >&3; exec sleep 100000"
            call = f"alone(subprocess.call, ['sh', '-c', {part!r}])"
            words = [sys.executable, "-c", f"import subprocess; from workbench.bench import alone; {call}"]
            options = {"stderr": subprocess.DEVNULL, "cwd": ROOT, "start_new_session": True, "preexec_fn": default}
            with subprocess.Popen(words, **options) as running:
                try:
                    with open(pipe, "rb") as heard:
                        self.assertEqual(heard.readline(), b"up\n")
                        os.kill(running.pid, signal.SIGINT)
                        running.wait(timeout=300)
                        self.assertEqual(heard.read(), b"")  # it ends when nobody has it open any more
                finally:
                    os.killpg(running.pid, signal.SIGKILL) if running.poll() is None else None

    @needs_tokenizer
    def test_the_plain_way_counts_or_chooses_otherwise(self):
        from tokenizer import counter

        case, plain = made_case(30, 900), bench.plain_counter()
        for name, select in STRATEGIES.items():
            self.assertEqual(select(case, plain), select(case, counter()), name)


if __name__ == "__main__":
    unittest.main()
