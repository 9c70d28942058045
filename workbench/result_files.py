"""Read what this project's commands recorded: evaluations, sweeps over budgets, comparisons, compaction results.

Run:  not a script; compare.py and report.py use it.

evaluation   evaluate.py's report: summary and cases by strategy; a sweep has them once for every budget, in `budgets`
row          one strategy's grade of one case; a row without `required_found` holds no grade, its selector failed
"""

from command import InputError, read_json

ROW_FIELDS = {
    "case",
    "split",
    "kind",
    "turns",
    "notes",
    "input_tokens",
    "within_budget",
    "required_found",
    "required_total",
    "missing",
    "stale_included",
}


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
    if "grader" in result and ("cases" in result or "budgets" in result):
        return "evaluation"
    if "decision" in result and "results" in result and "smallest_difference" in result:
        return "comparison"
    if isinstance(result.get("candidate"), dict) and {"rows", "decisions", "fixtures"} <= set(result["candidate"]):
        return "compaction"
    return None


def read_evaluation(path):
    """An evaluation report, its shape checked, or InputError."""
    report = read_json(path)
    if kind_of(report) != "evaluation":
        raise InputError(f"{path}: no report of evaluate.py; give what it prints on standard output")
    try:
        for level in levels(report).values():
            if not level["cases"]:
                raise InputError(f"{path}: the report holds no strategy; run evaluate.py again")
            for name, rows in level["cases"].items():
                if not rows:
                    raise InputError(f"{path}: strategy {name!r} has no rows; run evaluate.py again")
                for row in rows:
                    if graded(row) and (lacking := sorted(ROW_FIELDS - set(row))):
                        raise InputError(
                            f"{path}: strategy {name!r}, case {row['case']!r}: no field {lacking[0]!r}; "
                            "run evaluate.py again"
                        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not shaped as evaluate.py writes it ({type(error).__name__}: {error}); run it again"
        ) from None
    return report
