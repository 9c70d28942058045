"""An evaluation that does not follow from its own rows is refused by name."""

import unittest

from base.command import InputError
from base.result_files import check_evaluation


def summarize(rows):
    """Double of evaluate.summarize: counts alone."""
    return {"dev": {"cases": len(rows), "facts_found": sum(row["required_found"] for row in rows)}}


def row(case, found=1, **more):
    return {"case": case, "split": "dev", "kind": "k", "required_found": found, "required_total": 1,
            "missing": ["f"][found:], "input_tokens": 50, "within_budget": True, **more}


def level(**rows):
    return {"summary": {name: summarize(some) for name, some in rows.items()}, "cases": rows}


class Evaluation(unittest.TestCase):
    def test_an_edited_or_merged_evaluation_passes_or_one_as_it_was_made_does_not(self):
        both, recent = [row("a"), row("b")], level(recent=[row("a"), row("b", 0)])
        single = level(recent=[row("a"), row("b", 0)], notes=both)
        sweep = {"budgets": {"64": recent, "128": level(recent=both)}}
        odd = level(recent=[row("a", 0)])
        odd["summary"]["recent"]["dev"]["facts_found"] = False  # equal to 0 in Python
        check_evaluation(single, "r.json", summarize)
        check_evaluation(sweep, "r.json", summarize)
        counted = {"notes": {"dev": {"cases": 2, "facts_found": 1}}}
        for report, problem in (
                ({**single, "cases": {"recent": both, "notes": both}}, "r.json: recent: the summary is not that of"),
                ({**single, "summary": {**single["summary"], **counted}}, "notes: the summary is not"),
                (odd, "r.json: recent: the summary is not"),
                (level(recent=[row("a"), row("a")]), "recent: case 'a' stands twice"),
                (level(recent=[row("a"), row("a", split="held_out")]), "recent: case 'a' stands twice"),
                (level(recent=both, notes=[row("a")]), "notes: case 'b' is not in all"),
                (level(recent=[row("a")], notes=[row("a", split="held_out")]), "notes: case 'a' is not in all"),
                ({**single, "summary": recent["summary"]}, "strategy 'notes' is not everywhere"),
                ({"budgets": {"64": recent, "128": level(notes=both)}}, "budget 128: strategy 'notes' is not"),
                ({"budgets": {"64": recent, "128": level(recent=[row("a")])}}, "budget 128: recent: case 'b' is not"),
                ({"budgets": {"64": level(recent=[row("a", input_tokens=65)])}}, "budget 64: recent: the summary")):
            with self.subTest(problem):
                self.assertRaisesRegex(InputError, problem, check_evaluation, report, "r.json", summarize)
