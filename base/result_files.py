"""Read what this project's commands recorded: evaluations, comparisons, surveys, compaction results, replays, signals.

evaluation   evaluate.py's report: summary and cases by strategy; a sweep has them once for every budget, in `budgets`
row          one strategy's grade of one case; a row without `required_found` holds no grade, its selector failed
"""

from collections import Counter

from base.command import InputError, read_json
from base.shapes import COMPACTION, COMPARISON, REPLAY, SIGNALS, SINGLE, SURVEY, SWEEP, misfit

MERGED = "it was edited or merged; run evaluate.py again"
KINDS = {  # kind: (the command that writes it, the field that no other kind has, its shape; a sweep has another one)
    "evaluation": ("evaluate.py", "grader", SINGLE),
    "comparison": ("workbench.compare", "smallest_difference", COMPARISON),
    "compaction": ("compaction.check", "candidate", COMPACTION),
    "survey": ("workbench.survey", "user_turns", SURVEY),
    "signals": ("compaction.signals", "repeats", SIGNALS),
    "replay": ("compaction.replay", "agent", REPLAY),
}
MAKERS = {kind: maker for kind, (maker, _, _) in KINDS.items()}


def levels(report):
    """{budget: {"summary", "cases"}} of an evaluation; the budget is None where it is each case's own."""
    return report["budgets"] if "budgets" in report else {None: {key: report[key] for key in ("summary", "cases")}}


def graded(row):
    """Whether a row holds a grade."""
    return "required_found" in row


def stale_alone(row):
    """Whether a row's request holds a stale fact and lacks a required one: replaced words without their replacement."""
    return graded(row) and bool(row["stale_included"] and row["missing"])


def fact_name(fact):
    """A fact as one line of text: itself, or where it stands and what it says."""
    return fact if isinstance(fact, str) else f"{fact['turn']}: {fact['text']}"


def kind_of(result):
    """The kind of a result, by the field that only that kind has; None for anything else."""
    return next((kind for kind, (_, field, _) in KINDS.items() if isinstance(result, dict) and field in result), None)


def read_result(path, *wanted):
    """(kind, result) of a result file of one of the wanted kinds, its shape checked, or InputError."""
    result = read_json(path)
    kind = kind_of(result)
    if kind not in wanted:
        raise InputError(f"{path}: no result of {' or '.join(MAKERS[one] for one in wanted)}; give what that prints")
    maker, _, shape = KINDS[kind]
    if problem := misfit(result, SWEEP if "budgets" in result and shape is SINGLE else shape, "the result"):
        raise InputError(f"{path}: not as {maker} writes it: {problem}; run that again")
    return kind, result


def check_evaluation(report, path, summarize):
    """InputError, by name, where an evaluation does not follow from its own rows: it was edited or merged.

    summarize   rows -> {split: figures}: evaluate.summarize, which made the summaries
    """
    strategies = wanted = None  # of the first budget, and the cases that every strategy has to have
    for budget, level in levels(report).items():
        place = f"{path}: budget {budget}" if budget else str(path)
        strategies = strategies or set(level["cases"])
        for part in ("cases", "summary"):
            if other := set(level[part]) ^ strategies:
                raise InputError(f"{place}: strategy {min(other)!r} is not everywhere; {MERGED}")
        for name, rows in level["cases"].items():
            cases = [(row["case"], row["split"], row["kind"]) for row in rows]
            wanted = wanted or set(cases)
            twice = [case for case, times in Counter(row["case"] for row in rows).items() if times > 1]
            if twice or set(cases) != wanted:
                problem = f"{twice[0]!r} stands twice" if twice else f"{min(set(cases) ^ wanted)[0]!r} is not in all"
                raise InputError(f"{place}: {name}: case {problem}; {MERGED}")
            if level["summary"][name] != summary_of(rows, budget, summarize):
                raise InputError(f"{place}: {name}: the summary is not that of its rows; {MERGED}")


def summary_of(rows, budget, summarize):
    """The summary of rows, or None where a row contradicts itself or a sweep's budget, or a summary cannot hold it."""
    for row in rows:
        if graded(row) == ("error" in row) or graded(row) and row["required_total"] < 1:
            return None
        if graded(row) and budget and row["within_budget"] != (row["input_tokens"] <= int(budget)):
            return None
    found = summarize(rows)
    counted = sum(figures["cases"] + figures.get("errors", 0) for figures in found.values())
    return found if counted == len(rows) else None
