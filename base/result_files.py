"""Read what this project's commands recorded: evaluations, sweeps over budgets, comparisons, compaction results.

evaluation   evaluate.py's report: summary and cases by strategy; a sweep has them once for every budget, in `budgets`
row          one strategy's grade of one case; a row without `required_found` holds no grade, its selector failed
"""

from base.command import InputError, read_json
from base.shapes import COMPACTION, COMPARISON, SINGLE, SWEEP, misfit

MAKERS = {"evaluation": "evaluate.py", "comparison": "workbench.compare", "compaction": "compaction.check"}


def levels(report):
    """{budget: {"summary", "cases"}} of an evaluation; the budget is None where it is each case's own."""
    return report["budgets"] if "budgets" in report else {None: {key: report[key] for key in ("summary", "cases")}}


def graded(row):
    """Whether a row holds a grade."""
    return "required_found" in row


def fact_name(fact):
    """A fact as one line of text: itself, or where it stands and what it says."""
    return fact if isinstance(fact, str) else f"{fact['turn']}: {fact['text']}"


def kind_of(result):
    """evaluation, comparison or compaction, by the fields that only that kind has; None for anything else."""
    if not isinstance(result, dict):
        return None
    if "grader" in result:
        return "evaluation"
    if "candidate" in result:
        return "compaction"
    return "comparison" if "smallest_difference" in result else None


def read_result(path, *wanted):
    """(kind, result) of a result file of one of the wanted kinds, its shape checked, or InputError."""
    result = read_json(path)
    kind = kind_of(result)
    if kind not in wanted:
        raise InputError(f"{path}: no result of {' or '.join(MAKERS[one] for one in wanted)}; give what that prints")
    shapes = {"evaluation": SWEEP if "budgets" in result else SINGLE, "comparison": COMPARISON,
              "compaction": COMPACTION}
    problem = misfit(result, shapes[kind], "the result")
    if problem:
        raise InputError(f"{path}: not as {MAKERS[kind]} writes it: {problem}; run that again")
    return kind, result
