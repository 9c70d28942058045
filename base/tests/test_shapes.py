"""What a result changed by hand could do: end in a traceback, or pass for one whose figures agree."""

import random

from base.shapes import Each, is_row, misfit
from base.tests.made import Files, changed_value, edited, named_cases, places, run
from workbench import compare
from workbench.report import __main__ as report
from workbench.report.tests.made import REPLAY, SIGNALS, SURVEY, sweep
from workbench.tests.made import report as evaluation
from workbench.tests.made import row


class Shapes(Files):
    def test_the_place_of_the_first_misfit_is_named(self):
        shape = {"a": [{"n": int}], "b?": (str, type(None)), "c?": Each(bool, least=1, name=str.isupper)}
        for case in named_cases(__file__, "misfits.json"):
            with self.subTest(case["name"]):
                self.assertEqual(misfit(case["value"], shape), case["misfit"])

    def test_a_row_whose_figures_disagree_is_none(self):
        failed = {"case": "one", "split": "dev", "kind": "k", "error": "x"}
        self.assertTrue(is_row(row("one", ["x"])) and is_row(failed))
        for changed in ({**row("one", ["x"]), "required_found": 2}, {**row("one"), "error": "x", "turns": "all"},
                        {**row("one"), "split": "test"}, *({**row("one"), "error": text} for text in ("x", None)),
                        {**failed, "split": "test"},
                        {**row("one"), "required_total": 0, "required_found": 0, "missing": []}):
            with self.subTest(changed):
                self.assertFalse(is_row(changed))

    def test_a_result_that_lacks_a_part_or_has_an_odd_one_is_a_traceback(self):
        pair = [evaluation(row("one", ["x"], ["s"]), row("two")),
                sweep({"64": {"a": [row("one")]}, "128": {"a": [row("one", ["x"])]}})]
        chance, refused = random.Random(1), 0
        for result in [*pair, compare.compare(pair[0], pair[0]), SURVEY, SIGNALS, REPLAY]:
            whole = self.write("whole.json", result)
            for value in [edited(result, place) for place in places(result)] + [
                    changed_value(result, chance) for _ in range(30)]:
                path = self.write("r.json", value)
                for command, arguments in ((compare.main, [path, whole]), (report.main, [path, "--markdown"])):
                    status, out, err = run(command, *arguments)
                    with self.subTest(value=value, command=command.__module__):
                        self.assertNotIn("Traceback", err)
                        self.assertTrue(status != 2 or (out, len(err.splitlines())) == ("", 1))
                        refused += status == 2
        self.assertTrue(100 < refused < 1100, refused)
