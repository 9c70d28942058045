"""What a result changed by hand could do: end in a traceback, or pass for one whose figures agree."""

import json
import random
import tempfile
import unittest
from pathlib import Path

from base.shapes import Each, is_row, misfit
from base.tests.made import broken, run
from workbench import compare
from workbench.report import __main__ as report
from workbench.report.tests.made import REPLAY, SIGNALS, SURVEY, evaluation, sweep
from workbench.tests.made import row


class Misfits(unittest.TestCase):
    def test_the_place_of_the_first_misfit_is_named(self):
        shape = {"a": [{"n": int}], "b?": (str, type(None)), "c?": Each(bool, least=1, name=str.isupper)}
        for value, wanted in (({"a": [{"n": 1}, {"n": 2}], "b": None, "c": {"X": True}, "more": 3}, None),
                              ({"a": [{"n": 1}, {"n": True}]}, "it.a[1].n is True, not a whole number"),
                              ({"a": [{}]}, "it.a[0] has no field 'n'"), ({"a": {}}, "it.a is {}, not a list"),
                              ({"a": [], "b": 3}, "it.b is 3"), ({"a": [], "b": "\ud800"}, "it.b is '\\ud800'"),
                              ({"a": [], "c": {}}, "it.c is empty"),
                              ({"a": [], "c": {"x": True}}, "it.c has the name 'x'"), ([], "it is [], not an object")):
            with self.subTest(value=value):
                self.assertEqual(misfit(value, shape), wanted)

    def test_a_row_whose_figures_disagree_is_none(self):
        failed = {**{name: row("one")[name] for name in ("case", "split", "kind")}, "error": "x"}
        for good in (row("one", ["x"]), failed):
            self.assertTrue(is_row(good))
        for changed in ({**row("one", ["x"]), "required_found": 2}, {**row("one"), "error": "x", "turns": "all"},
                        {**row("one"), "split": "test"}, {**row("one"), "error": "x"}, {**failed, "split": "test"},
                        {**row("one"), "required_total": 0, "required_found": 0, "missing": []}):
            with self.subTest(changed):
                self.assertFalse(is_row(changed))


class BrokenResults(unittest.TestCase):
    def test_a_broken_result_is_shown_or_refused_in_one_line(self):
        levels = {"64": {"a": [row("one")]}, "128": {"a": [row("one", ["x"])]}}
        whole = [evaluation(row("one", ["x"], ["s"]), row("two")), sweep(levels)]
        whole += [compare.compare(whole[0], whole[0]), SURVEY, SIGNALS, REPLAY]
        refused = 0
        with tempfile.TemporaryDirectory() as folder:
            path, other = Path(folder) / "r.json", Path(folder) / "other.json"
            for seed in range(300):
                rng = random.Random(seed)
                result = rng.choice(whole)
                path.write_text(json.dumps(broken(result, rng)), encoding="utf-8")
                other.write_text(json.dumps(result), encoding="utf-8")
                for command, arguments in ((compare.main, [path, other]), (report.main, [path, "--markdown"])):
                    status, out, err = run(command, *arguments)
                    with self.subTest(seed=seed, command=command.__module__):
                        self.assertNotIn("Traceback", err)
                        if status == 2:
                            refused += 1
                            self.assertEqual((out, len(err.splitlines())), ("", 1))
        self.assertTrue(100 < refused < 600, refused)
