"""An evaluation that does not follow from its own rows is refused by name."""

import copy
import unittest

from base.command import InputError
from base.result_files import check_evaluation


def summarize(rows):
    """Double of evaluate.summarize: counts alone."""
    graded = [row for row in rows if "error" not in row and row["split"] == "dev"]
    return {"dev": {"cases": len(graded), "facts_found": sum(row["required_found"] for row in graded)}}


def row(case, found=1, **more):
    return {"case": case, "split": "dev", "kind": "k", "required_found": found, "required_total": 1,
            "missing": ["f"][found:], "input_tokens": 50, "within_budget": True, **more}


def level(**rows):
    return {"summary": {name: summarize(some) for name, some in rows.items()}, "cases": rows}


SINGLE = level(recent=[row("a"), row("b", 0)], notes=[row("a"), row("b")])
SWEEP = {"budgets": {"64": level(recent=[row("a"), row("b", 0)]), "128": level(recent=[row("a"), row("b")])}}


class Evaluation(unittest.TestCase):
    def refused(self, told, report):
        with self.subTest(told), self.assertRaisesRegex(InputError, told):
            check_evaluation(report, "r.json", summarize)

    def test_what_a_run_gives_is_refused(self):
        for report in (SINGLE, SWEEP):
            check_evaluation(report, "r.json", summarize)

    def test_an_edited_or_merged_evaluation_passes(self):
        other = copy.deepcopy(SINGLE)
        other["cases"]["recent"][1] = row("b", 1)
        self.refused("r.json: recent: the summary is not that of its rows", other)
        other = copy.deepcopy(SINGLE)
        other["summary"]["notes"]["dev"]["facts_found"] = 1
        self.refused("notes: the summary is not", other)
        self.refused("recent: case 'a' stands twice", level(recent=[row("a"), row("a")]))
        self.refused("notes: case 'b' is not in all", level(recent=[row("a"), row("b")], notes=[row("a")]))
        self.refused("notes: case 'a' is not in all", level(recent=[row("a")], notes=[row("a", split="held_out")]))
        self.refused(
            "strategy 'notes' is not everywhere", SINGLE | {"summary": {"recent": SINGLE["summary"]["recent"]}})

    def test_a_sweep_of_other_strategies_or_cases_at_another_budget_passes(self):
        self.refused("budget 128: strategy 'notes' is not everywhere",
                     {"budgets": SWEEP["budgets"] | {"128": level(notes=[row("a"), row("b")])}})
        self.refused("budget 128: recent: case 'b' is not in all",
                     {"budgets": SWEEP["budgets"] | {"128": level(recent=[row("a")])}})
        self.refused(
            "budget 64: recent: the summary is not", {"budgets": {"64": level(recent=[row("a", input_tokens=65)])}})
