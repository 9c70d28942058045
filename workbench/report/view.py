"""Turn recorded results into what the page and the Markdown summary show: tables, a matrix of cells, charts.

section  one result file: {"kind", "name", "facts" (what was hashed), and tables, matrices, charts or changes}
cell     one strategy's grade of one case: {"mark", "text", "state", "missing", "stale", "figures", "request"}
Marks are shapes and words, so that nothing depends on colour.
"""

from collections import Counter

from base.result_files import fact_name, graded, levels

from workbench.report.chart import chart

MARKS = {"complete": "●", "part": "◐", "none": "○", "failed": "×"}
HASHED = ("case_set", "case_set_sha256", "strategies_sha256", "tokenizer_manifest_sha256", "selectors_sha256",
          "counter", "grader", "trials", "environment")


def evaluation_section(name, report, shown, requests=None):
    """The section of an evaluation or a sweep.

    shown     cases that the matrix may hold; those on which strategies differ or miss something come first
    requests  (budget, strategy, case id) -> the request's view, where it could be made again
    """
    found = [(budget, level) for budget, level in levels(report).items()]
    return {
        "kind": "evaluation", "name": name, "identity": identity(report),
        "levels": [{"budget": budget, "summary": summary_rows(level["summary"]), "kinds": kind_table(level["cases"]),
                    "matrix": matrix(level["cases"], shown, budget, requests or {})}
                   for budget, level in found],
        "charts": sweep_charts(found) if len(found) > 1 else []}


def identity(report):
    """[(field, text)] of what a report says about its making, nested fields with a dot."""
    lines = []
    for field in [key for key in HASHED if key in report] + [key for key in report if key.endswith("_sha256")]:
        value = report[field]
        inner = value.items() if isinstance(value, dict) else [("", value)]
        lines += [(f"{field}.{key}" if key else field, str(one)) for key, one in inner]
    return list(dict.fromkeys(lines))


def summary_rows(summary):
    """[{"strategy", "split", figures…}] in the order of the report."""
    empty = dict.fromkeys(
        ("facts_found", "facts_total", "fact_recall", "complete_cases", "cases_with_stale_facts", "over_budget",
         "mean_input_tokens"))
    return [{"strategy": strategy, "split": split.replace("_", "-"), "errors": 0, **empty, **figures}
            for strategy, splits in summary.items()
            for split, figures in splits.items()]


def kind_table(cases):
    """Facts found by kind of case and strategy, or None where each kind is one or two cases: the matrix shows those."""
    sizes = Counter(row["kind"] for row in next(iter(cases.values())))
    if sum(sizes.values()) < 3 * len(sizes):
        return None
    rows = []
    for kind, size in sizes.items():
        counts = [tally([row for row in found if row["kind"] == kind]) for found in cases.values()]
        rows.append({"kind": kind, "cases": size, "cells": counts})
    return {"strategies": list(cases), "rows": rows}


def tally(rows):
    """Facts found and in all, and what else is counted, over rows that hold a grade."""
    rows = [row for row in rows if graded(row)]
    found, total = (sum(row[field] for row in rows) for field in ("required_found", "required_total"))
    return {"found": found, "total": total, "recall": found / total if total else None,
            "stale": sum(bool(row["stale_included"]) for row in rows), "cases": len(rows),
            "complete": sum(not row["missing"] for row in rows)}


def matrix(cases, shown, budget, requests):
    """{"strategies", "rows", "left_out"}: a row for each case, a cell for each strategy."""
    strategies, by_case = list(cases), rows_by_case(cases)
    rows = []
    for name in shown_cases(cases, shown):
        first = next(iter(by_case[name].values()))
        cells = [cell(by_case[name].get(strategy), requests.get((budget, strategy, name))) | {"strategy": strategy}
                 for strategy in strategies]
        rows.append({"case": name, "kind": first.get("kind", ""), "split": first.get("split", "").replace("_", "-"),
                     "cells": cells})
    return {"strategies": strategies, "rows": rows, "left_out": len(by_case) - len(rows)}


def rows_by_case(cases):
    """{case id: {strategy: row}} in the order of the report."""
    found = {}
    for strategy, rows in cases.items():
        for row in rows:
            found.setdefault(row["case"], {})[strategy] = row
    return found


def shown_cases(cases, shown):
    """The ids of the cases in a matrix of at most `shown`: all in their order, or the telling ones first."""
    by_case = rows_by_case(cases)
    if len(by_case) <= shown:
        return list(by_case)
    return sorted(by_case, key=lambda name: interest(by_case[name]))[:shown]


def interest(rows):
    """Sort key: cases that tell strategies apart first, then those with something missing, then the others."""
    outcomes = {(row.get("required_found"), bool(row.get("stale_included"))) for row in rows.values()}
    misses = any(row.get("missing") or row.get("stale_included") or not graded(row) for row in rows.values())
    return (len(outcomes) == 1, not misses)


def cell(row, request):
    """A row of the report as a cell of the matrix."""
    if row is None or not graded(row):
        problem = "not run" if row is None else str(row.get("error", "the selector failed"))
        return {"state": "failed", "mark": MARKS["failed"], "text": "no grade", "problem": problem, "request": None,
                "missing": [], "stale": [], "figures": ""}
    found, total, stale = row["required_found"], row["required_total"], row["stale_included"]
    state = "complete" if found == total else "part" if found else "none"
    text = f"{found}/{total}" + (f" +{len(stale)} stale" if stale else "")
    if not row["within_budget"]:
        text += " over budget"
    return {"state": state, "mark": MARKS[state], "text": text, "problem": None, "request": request,
            "missing": [fact_name(fact) for fact in row["missing"]], "stale": [fact_name(fact) for fact in stale],
            "figures": f"{row['input_tokens']:,} tokens, {turns_text(row['turns'])}, {counted(row['notes'], 'note')}"}


def counted(number, noun):
    """3 turns, 1 turn, no turns."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def turns_text(turns):
    """The chosen turns, counted from 1 as notes do, long lists cut short."""
    if not turns:
        return "no turns"
    numbers = ", ".join(str(turn + 1) for turn in turns[:12])
    return f"{counted(len(turns), 'turn')} ({numbers}{', …' if len(turns) > 12 else ''})"


def sweep_charts(found):
    """Recall, stale facts and tokens used against the budget, over all cases."""
    budgets = [int(budget) for budget, _ in found]
    series = {"recall": {}, "stale": {}, "tokens": {}}
    for _, level in found:
        for strategy, rows in level["cases"].items():
            figures = tally(rows)
            used = [row["input_tokens"] for row in rows if graded(row)]
            series["recall"].setdefault(strategy, []).append(figures["recall"])
            series["stale"].setdefault(strategy, []).append(figures["stale"])
            series["tokens"].setdefault(strategy, []).append(sum(used) / len(used) if used else None)
    return [chart("Facts found, share", budgets, series["recall"], top=1.0),
            chart("Cases with stale facts", budgets, series["stale"]),
            chart("Mean input tokens used", budgets, series["tokens"])]


def comparison_section(name, result):
    """The section of what workbench.compare found."""
    rows = [{**row["paired"][unit], "strategy": row["strategy"], "budget": row.get("budget"),
             "unit": {"cases": "cases complete", "facts": "facts found"}[unit]}
            for row in result["results"]
            for unit in ("cases", "facts")]
    def found(field, change):
        return [{"change": change, "strategy": row["strategy"], "budget": row.get("budget"), **item}
                for row in result["results"]
                for item in row.get(field, ())]

    failed = [
        {"change": "not graded", "strategy": row["strategy"], "budget": row.get("budget"), "case": case,
         "fact": "a selector failed there"}
        for row in result["results"]
        for case in row.get("not_graded", ())
    ]  # fmt: skip
    return {"kind": "comparison", "name": name, "decision": result["decision"], "blocking": result["blocking"],
            "allowed": result["allowed"], "unused": result.get("allowed_unused", []),
            "gained": found("gained", "gained") + found("stale gone", "stale gone"), "not_graded": failed, "rows": rows,
            "least": result["smallest_difference"],
            "identity": [
                (f"{side}.{field}", text) for side in ("recorded", "fresh") for field, text in identity(result[side])]}
