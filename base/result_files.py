"""Read what this project's commands recorded: evaluations, comparisons, surveys, compaction results, replays, signals.

evaluation   evaluate.py's report: summary and cases by strategy; a sweep has them once for every budget, in `budgets`
row          one strategy's grade of one case; a row without `required_found` holds no grade, its selector failed
"""

import json
from collections import Counter
from functools import partial

from base.command import InputError, read_json
from base.shapes import COMPACTION, COMPARISON, REPLAY, SIGNALS, SINGLE, SURVEY, SWEEP, misfit

canonical = partial(json.dumps, sort_keys=True)  # to compare what is computed again: in Python False is 0
MERGED = "it was edited or merged; run evaluate.py again"
KINDS = {  # kind: (the command that writes it, the field that no other kind has, its shape; a sweep has another one)
    "evaluation": ("evaluate.py", "grader", SINGLE),
    "comparison": ("workbench.compare", "smallest_difference", COMPARISON),
    "compaction": ("compaction.check", "candidate", COMPACTION),
    "survey": ("workbench.survey", "user_turns", SURVEY),
    "signals": ("compaction.signals", "repeats", SIGNALS),
    "replay": ("compaction.replay", "agent", REPLAY),
}


def levels(report):
    """{budget: {"summary", "cases"}} of an evaluation; the budget is None where it is each case's own."""
    return report["budgets"] if "budgets" in report else {None: {key: report[key] for key in ("summary", "cases")}}


def graded(row):
    """Whether a row holds a grade."""
    return "required_found" in row


def stale_alone(row):
    """Whether a row's request holds a stale fact and lacks a required one, so that nothing in it may correct that."""
    return graded(row) and bool(row["stale_included"] and row["missing"])


def fact_name(fact):
    """A fact as one text, with its turn if it has one: fact_name({"turn": "t1", "text": "no"}) -> "t1: no"."""
    return fact if isinstance(fact, str) else f"{fact['turn']}: {fact['text']}"


def read_result(path, *wanted):
    """(kind, result) of a result file of one of the wanted kinds, its shape checked, or InputError."""
    result = read_json(path)
    kind = next((kind for kind, (_, own, _) in KINDS.items() if isinstance(result, dict) and own in result), None)
    if kind not in wanted:
        makers = " or ".join(KINDS[kind][0] for kind in wanted)
        raise InputError(f"{path}: no result of {makers}; give what that prints")
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
        if other := (strategies ^ set(level["cases"])) | (strategies ^ set(level["summary"])):
            raise InputError(f"{place}: strategy {min(other)!r} is not everywhere; {MERGED}")
        for name, rows in level["cases"].items():
            cases = {(row["case"], row["split"], row["kind"]) for row in rows}
            wanted = wanted or cases
            twice = [case for case, times in Counter(row["case"] for row in rows).items() if times > 1]
            if twice or cases != wanted:
                problem = f"{twice[0]!r} stands twice" if twice else f"{min(cases ^ wanted)[0]!r} is not in all"
                raise InputError(f"{place}: {name}: case {problem}; {MERGED}")
            wrong = budget and any(graded(row) and row["within_budget"] != (row["input_tokens"] <= int(budget))
                                   for row in rows)
            if wrong or canonical(level["summary"][name]) != canonical(summarize(rows)):
                raise InputError(f"{place}: {name}: the summary is not that of its rows; {MERGED}")
