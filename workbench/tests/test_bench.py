"""The bench: a wrong option measured or told in a traceback, a generated set that no run would take, an unfair peer."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from selection.cases import load_cases
from strategies import STRATEGIES
from test_evaluate import needs_tokenizer

from base.command import status_of
from workbench import bench, bench_parts
from workbench.bench_set import case_set, history


def told(*arguments):
    """(status, standard output, standard error) of the command."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        status = status_of(bench.main, list(arguments))
    return status, out.getvalue(), errors.getvalue()


class Options(unittest.TestCase):
    def test_a_wrong_option_is_measured_or_a_traceback(self):
        for arguments in (
            ["--parts", "nope"], ["--parts", ","], ["--turns", "0"], ["--questions", "0"], ["--questions", "-3"],
            ["--events", "0"], ["--events", "many"],
        ):  # fmt: skip
            with self.subTest(arguments), mock.patch.object(bench, "alone", side_effect=AssertionError("measured")):
                status, out, errors = told(*arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertNotIn("Traceback", errors)

    def test_a_tokenizer_that_is_not_there_is_a_traceback(self):
        with tempfile.TemporaryDirectory() as empty, mock.patch.dict("os.environ", {"LAB_TOKENIZER": empty}):
            for part in ("selection", "sets", "start", "near"):
                status, out, errors = told("--parts", part)
                self.assertEqual((status, out, errors.count("\n")), (2, "", 1))
                self.assertIn("run: python prepare.py", errors)


class Generated(unittest.TestCase):
    def test_a_generated_set_is_refused_or_differs_with_the_same_seed(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [case_set(Path(folder, name), questions=30, histories=3, turns=20) for name in ("a", "b")]
            self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
            cases = load_cases(paths[0])
        self.assertEqual((len(cases), len({id(case["history"]) for case in cases})), (30, 3))

    def test_two_seeds_give_one_history(self):
        self.assertNotEqual(history(5, seed=1), history(5, seed=2))


@needs_tokenizer
class Peers(unittest.TestCase):
    def test_the_plain_way_counts_or_chooses_otherwise(self):
        from tokenizer import counter

        case, plain = bench_parts.made_case(30, 900), bench_parts.plain_counter()
        for name, select in STRATEGIES.items():
            self.assertEqual(select(case, plain), select(case, counter()), name)


if __name__ == "__main__":
    unittest.main()
