"""The bench: a wrong option measured or told in a traceback, a generated set that no run would take, an unfair peer."""

import os
import signal
import subprocess
import sys
from functools import lru_cache
from unittest import mock

from base.tests.made import ROOT, Files, needs_tokenizer
from selection.cases import check_set
from strategies import STRATEGIES
from tokenizer import counter
from workbench import bench


class Bench(Files):
    def test_unknown_parts_or_a_tokenizer_that_is_not_there_are_measured_or_a_traceback(self):
        with mock.patch.object(bench, "alone", side_effect=AssertionError("measured")):
            for parts in ("nope", ",", "fill,nope"):
                self.refused("name some of counting", bench.main, "--parts", parts)
            with mock.patch.dict("os.environ", {"LAB_TOKENIZER": str(self.folder)}):
                for part in bench.PARTS.keys() - {"answers", "signals"}:
                    self.refused("run: python prepare.py", bench.main, "--parts", part)

    def test_a_generated_case_is_refused_differs_with_the_same_seed_or_is_always_one(self):
        case = bench.made_case(20, 900)
        self.assertEqual(case, bench.made_case(20, 900))
        self.assertNotEqual(case["history"][0], bench.made_case(21, 900)["history"][0])
        self.assertEqual(len(check_set([{**case, "required": [case["history"][3]["user"]]}], "made")), 1)

    def test_a_figure_keeps_other_than_four_digits_or_answers_are_not_graded(self):
        self.assertEqual(bench.rounded({"s": 0.0123456, "n": 123456}), {"s": 0.01235, "n": 123456})
        self.assertGreater(bench.answers(200)["eight_times_as_long_over"], 0)

    def test_the_generated_log_is_refused_or_holds_no_call_made_again(self):
        row = bench.signals(300)
        self.assertEqual(row["events"], 300)
        self.assertGreater(row["hits"], 0)

    @needs_tokenizer
    def test_a_part_fails_without_the_other_libraries_or_the_plain_way_counts_or_chooses_otherwise(self):
        absent = {"langchain_core": None, "llama_index": None}
        loaded = {"raw_tokenizer": lru_cache(bench.raw_tokenizer), "fresh_counter": counter, "REPEATS": 1}
        with mock.patch.dict("sys.modules", absent), mock.patch.multiple(bench, **loaded):  # a cold start takes seconds
            row = bench.counting(20)
            self.assertEqual((row["langchain_over_budget"], row["llama_index_over_budget"]), (None, None))
            self.assertGreater(min(row["plain_over_recent"], bench.fill(20)["fill_messages_over_turns"],
                                   bench.choose(20)["first_over_floor"]), 0)
            case, plain = bench.made_case(30, 900), bench.plain_counter()
            for name, select in STRATEGIES.items():
                self.assertEqual(select(case, plain), select(case, counter()), name)

    def test_a_stop_waits_for_the_part_that_is_measured_or_leaves_what_it_started(self):
        os.mkfifo(pipe := self.folder / "pipe")
        code = "from selection.tests.made import sleeps; from workbench.bench import alone; "
        start = {"stderr": subprocess.DEVNULL, "cwd": ROOT, "start_new_session": True,  # else a suite that ignores
                 "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # SIGINT hands that down
        with subprocess.Popen([sys.executable, "-c", f"{code}alone(sleeps, [{str(pipe)!r}])"], **start) as running:
            try:
                with open(pipe, "rb") as heard:
                    self.assertRegex(heard.readline(), rb"\A\d+\n")
                    os.kill(running.pid, signal.SIGINT)
                    running.wait(timeout=300)
                    self.assertEqual(heard.read(), b"")  # it ends when nobody has it open any more
            finally:
                os.killpg(running.pid, signal.SIGKILL) if running.poll() is None else None
