"""What a person reads of a report: the table by budget, failures once each, cases, and what to know of a case set."""

import unittest

from base.tests.made import run
from evaluate import summarize
from selection.reporting import complaints, failed_cases, print_lines, remarks, summary_lines
from selection.tests.made import case_of
from workbench.tests.made import row


def report_of(rows, budgets=None):
    level = {"summary": {name: summarize(graded) for name, graded in rows.items()}, "cases": rows}
    return {"budgets": {str(budget): level for budget in budgets}} if budgets else level


class Reporting(unittest.TestCase):
    def test_a_stale_fact_without_its_replacement_is_not_told_from_one_with_it(self):
        rows = [row("a", missing=["x"], stale=["y"]), row("b", stale=["y"]), row("c", missing=["x"])]
        self.assertEqual(list(summary_lines(report_of({"recent": rows}))),
                         ["strategy  facts  recall  complete  stale  stale alone  over  mean tokens",
                          "recent    4/6    0.667   1/3       2      1            0     10.0"])

    def test_a_sweep_is_shown_without_its_budgets_or_one_split_as_two(self):
        rows = {"recent": [row("a"), {"case": "b", "split": "held_out", "kind": "k", "error": "KeyError: 1"}]}
        lines = list(summary_lines(report_of(rows, [64, 128])))
        self.assertEqual([line.split()[:2] for line in lines],
                         2 * [["input", "budget"], ["strategy", "split"], ["recent", "dev"], ["recent", "held_out"]])
        self.assertEqual((lines[0], lines[4]), ("input budget 64", "input budget 128"))
        self.assertTrue(lines[3].endswith("1 failed"))

    def test_a_case_that_a_rule_failed_is_left_out(self):
        rows = {"recent": [row("a"), row("b", missing=["x"], stale=["y"], within=False)],
                "own.py:f": [row("a"), {"case": "b", "split": "dev", "kind": "k", "error": "KeyError: 1"}]}
        self.assertEqual(list(failed_cases(report_of(rows, [64]))),
                         ["b at 64 tokens: recent lacks 1 of 2, holds 1 stale, is over budget; "
                          "own.py:f raised an error"])

    def test_one_error_is_shown_for_each_case_or_two_as_one(self):
        errors = ["KeyError: 'a' (own.py, line 3)", "KeyError: 'b' (own.py, line 3)", "KeyError: 'a' (own.py, line 4)"]
        rows = [{"case": str(number), "split": "dev", "kind": "k", "error": text} for number, text in enumerate(errors)]
        rows += [row("o", within=False), {**row("p", within=False), "input_tokens": 12}]
        self.assertEqual(list(complaints(report_of({"f": rows}))),
                         [f"f, 2 cases, first '0': {errors[0]}", f"f, case '2': {errors[2]}",
                          "f, 2 cases, first 'o': over budget with 10 tokens"])

    def test_many_lines_are_shown_or_a_terminal_acts_on_one(self):
        told = run(lambda _: print_lines(["a\x1b[2J"] * 22))
        self.assertEqual(told, (0, "", "a\\x1b[2J\n" * 20 + "and 2 more, all in the report\n"))

    def test_a_fact_of_two_turns_goes_unsaid(self):
        case = case_of(("4 hours", "x"), ("y", "4 hours"), ("24 days", "x"), required=["4 hours"], stale=["4 days"])
        first, second = remarks([case], ["recent"])
        self.assertIn("case 'made-up': the fact '4 hours' stands in turns 1, 2: ", first)
        self.assertIn("'4 days' stands in turn 3 inside a longer word or number: ", second)
        self.assertIn('name its turn, {"turn": id, "text": text}', first)

    def test_questions_that_a_rule_cannot_read_go_unsaid(self):
        cases = [case_of(current=text) for text in ("港はどこ？", "Где?", "Où 2?", "The?")]
        (line,) = remarks(cases, ["recent", "relevant", "notes", "bm25"])
        self.assertEqual(line, "2 of 4 questions have no word that relevant, notes can read (a-z, 0-9, English cues); "
                               "bm25, near and near-messages read other scripts")
        self.assertEqual(list(remarks(cases, ["recent", "bm25"])), [])
