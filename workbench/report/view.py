"""Turn recorded evaluations and comparisons into what the page and the Markdown summary show.

section  one result file: {"kind", "title", "name", "verdict", "notes", "parts", "identity"}
part     a table, a list, charts or a matrix of cells; the summary shows tables and lists alone
cell     one strategy's grade of one case: {"mark", "text", "state", "missing", "stale", "figures", "request"}
Marks are shapes and words, so that nothing depends on colour. Turns are counted from 1.
"""

from collections import Counter
from functools import partial

from base.command import InputError
from base.result_files import fact_name, graded, levels
from workbench.compare import changes_of, decide, place_of
from workbench.report.chart import chart

MARKS = {"complete": "●", "part": "◐", "none": "○", "failed": "×"}
KEY = [("●", "all facts found"), ("◐", "some"), ("○", "none"), ("+N stale", "replaced statements in the request"),
       ("×", "no grade")]
HASHED = ("case_set", "counter", "grader", "trials", "environment")  # beside the fields that end in _sha256
SUMMARY = ("strategy", "split", "facts found", "recall", "complete cases", "with stale facts", "stale alone",
           "over budget", "without a grade", "mean input tokens")
STALE = "Stale alone: the request holds a replaced statement and lacks a required fact, so that nothing in it corrects."


def section(kind, name, parts, identity, verdict=None, notes=()):
    """A section; the verdict is None or a text that begins with safe, compliant, blocked or not."""
    state = None
    if verdict is not None:
        bad, good = verdict.startswith(("blocked", "not compliant")), verdict.startswith(("safe", "compliant"))
        state = "bad" if bad else "good" if good and "not " not in verdict else "open"
    return {"kind": kind, "title": kind.capitalize(), "name": name, "parts": parts, "identity": identity,
            "verdict": verdict, "state": state, "notes": list(notes)}


def table(title, head, rows, text=(0, ), note=""):
    """A table part; the columns numbered in `text` stand to the left. A cell {"text", "share"} gets a bar."""
    return {"kind": "table", "title": title, "head": head, "rows": rows, "text": text, "note": note}


def listed(title, entries):
    """[a list part] of [(head, [(label, text)])], or [] where there is nothing to list."""
    return [{"kind": "list", "title": title, "entries": entries}] if entries else []


def of(part, whole):
    return f"{part} of {whole}" if whole else "none"


def share(value):
    """A share as a cell with a bar."""
    return "none" if value is None else {"text": f"{value:.3f}", "share": value}


def fields(report, names, prefix=""):
    """[(field, text)] of what a report says about its making, nested fields with a dot."""
    lines = []
    for field in names:
        value = report.get(field)
        inner = value.items() if isinstance(value, dict) else [("", value)]
        lines += [(f"{prefix}{field}.{key}" if key else prefix + field, str(text)) for key, text in inner]
    return lines


def identity(report):
    """What was hashed for an evaluation."""
    return fields(report, [key for key in report if key in HASHED or key.endswith("_sha256")])


def evaluation_section(name, report, most, requests=None, only=()):
    """The section of an evaluation or a sweep.

    most      cases that the matrix may hold; those on which strategies differ or miss something come first
    requests  (budget, strategy, case id) -> the request's view, where it could be made again
    only      names of the cases that the matrix shows; all where none is named. Figures are always of all
    """
    sweep, parts = list(levels(report).items()), []
    if len(sweep) > 1:
        parts.append({"kind": "charts", "title": "Against the budget", "charts": sweep_charts(sweep)})
    for budget, level in sweep:
        at = "" if budget is None else f" at {int(budget):,} input tokens"
        rows = [summary_row(strategy, split, figures, level["cases"][strategy])
                for strategy, splits in level["summary"].items()
                for split, figures in splits.items()]
        parts.append(table(f"Summary{at}", SUMMARY, rows, text=(0, 1), note=STALE))
        parts += kind_table(level["cases"], at)
        parts.append(matrix(level["cases"], most, budget, requests or {}, only, f"Cases by strategies{at}"))
    return section("evaluation", name, parts, identity(report))


def summary_row(strategy, split, figures, rows):
    """A line of the summary; a split in which nothing was graded has dashes."""
    told, errors = ["–"] * 6, figures.get("errors", 0)
    if figures["cases"]:
        told = [of(figures["facts_found"], figures["facts_total"]), share(figures["fact_recall"]),
                of(figures["complete_cases"], figures["cases"]), figures["cases_with_stale_facts"],
                sum(stale_alone(row) for row in rows if row["split"] == split), figures["over_budget"]]
    mean = f"{figures['mean_input_tokens']:,.1f}" if figures["cases"] else "–"
    return [strategy, split.replace("_", "-"), *told, errors, mean]


def stale_alone(row):
    """Whether a request holds a stale fact and lacks a required one."""
    return graded(row) and bool(row["stale_included"] and row["missing"])


def kind_table(cases, at):
    """[facts found by kind of case], or [] where each kind is one or two cases: the matrix shows those."""
    sizes = Counter(row["kind"] for row in next(iter(cases.values())))
    recalls = {kind: [share(tally([row for row in rows if row["kind"] == kind])["recall"]) for rows in cases.values()]
               for kind in sizes}
    rows = [[kind, size, *recalls[kind]] for kind, size in sizes.items() if sum(sizes.values()) >= 3 * len(sizes)]
    return [table(f"Facts found by kind of case{at}", ["kind", "cases", *cases], rows)] if rows else []


def tally(rows):
    """Share of facts found, cases with stale facts and mean tokens, over rows that hold a grade."""
    rows = [row for row in rows if graded(row)]
    found, total = (sum(row[field] for row in rows) for field in ("required_found", "required_total"))
    return {"recall": found / total if total else None, "stale": sum(bool(row["stale_included"]) for row in rows),
            "tokens": sum(row["input_tokens"] for row in rows) / len(rows) if rows else None}


def matrix(cases, most, budget, requests, only, title):
    """A matrix part: a row for each case, a cell for each strategy."""
    by_case, rows = rows_by_case(cases), []
    for name in chosen_cases(cases, most, only):
        first = next(iter(by_case[name].values()))
        cells = [cell(by_case[name].get(strategy), requests.get((budget, strategy, name))) | {"strategy": strategy}
                 for strategy in cases]
        rows.append({"case": name, "kind": first["kind"], "split": first["split"].replace("_", "-"), "cells": cells})
    return {"kind": "matrix", "title": title, "what": "case", "key": KEY, "strategies": list(cases), "rows": rows,
            "left_out": 0 if only else len(by_case) - len(rows), "note": "Open a cell for what was selected."}


def rows_by_case(cases):
    """{case id: {strategy: row}} in the order of the report."""
    by_case = {}
    for strategy, rows in cases.items():
        for row in rows:
            by_case.setdefault(row["case"], {})[strategy] = row
    return by_case


def chosen_cases(cases, most, only=()):
    """The ids of the cases in a matrix: those named, else all, else at most so many.

    Cases that tell strategies apart come first then, and after them those with something missing or stale.
    """
    by_case = rows_by_case(cases)
    if unknown := [name for name in only if name not in by_case]:
        raise InputError(f"--only {unknown[0]}: no such case in the report; take a name from it")
    if only or len(by_case) <= most:
        return [name for name in by_case if not only or name in only]

    def interest(name):
        rows = by_case[name].values()
        outcomes = {(row.get("required_found"), bool(row.get("stale_included"))) for row in rows}
        return len(outcomes) == 1, not any(row.get("missing", True) or row["stale_included"] for row in rows)

    return sorted(by_case, key=interest)[:most]


def blank_cell(**fields_):
    """A cell with nothing in it but what is given."""
    return {"problem": None, "request": None, "missing": [], "stale": [], "figures": "", "lines": [], **fields_}


def cell(row, request):
    """A row of the report as a cell of the matrix."""
    if row is None or not graded(row):
        problem = "not run" if row is None else row["error"]
        return blank_cell(state="failed", mark=MARKS["failed"], text="no grade", problem=problem)
    found, total, stale = row["required_found"], row["required_total"], row["stale_included"]
    state = "complete" if found == total else "part" if found else "none"
    text = f"{found}/{total}" + (f" +{len(stale)} stale{' alone' if stale_alone(row) else ''}" if stale else "")
    return blank_cell(state=state, mark=MARKS[state], text=text + ("" if row["within_budget"] else " over budget"),
                      request=request, missing=[*map(fact_name, row["missing"])], stale=[*map(fact_name, stale)],
                      figures=f"{row['input_tokens']:,} tokens; {turns_text(row['turns'])}; notes: {row['notes']}")


def turns_text(turns):
    """The chosen turns, counted from 1 as notes do, long lists cut short: [0, 4] -> "turns: 2 (1, 5)"."""
    numbers = ", ".join(str(turn + 1) for turn in turns[:12])
    return f"turns: {len(turns)}" + (f" ({numbers}{', …' if len(turns) > 12 else ''})" if turns else "")


def sweep_charts(sweep):
    """Recall, stale facts and tokens used against the budget, over all cases."""
    tallies = {strategy: [tally(level["cases"][strategy]) for _, level in sweep] for strategy in sweep[0][1]["cases"]}
    return [chart(title, [int(budget) for budget, _ in sweep],
                  {strategy: [figures[field] for figures in line] for strategy, line in tallies.items()}, top)
            for field, title, top in (("recall", "Facts found, share", 1.0), ("stale", "Cases with stale facts", None),
                                      ("tokens", "Mean input tokens used", None))]


def comparison_section(name, result):
    """The section of what workbench.compare found: the decision, what changed, the paired figures."""
    check_decision(name, result)
    results, parts = result["results"], []
    alone = {(place_of(row), case) for row in results if "stale_cases" in row
             for case in row["stale_cases"]["fresh"]["alone"]}
    entry = partial(change_entry, alone=alone)
    failed = [(f"not graded, {place_of(row)}, {case}: a selector failed there", [])
              for row in results for case in row.get("not_graded", ())]
    for title, entries in (
        ("Changes that nothing allows", map(entry, result["blocking"])),
        ("Allowed by name", map(entry, result["allowed"])),
        ("Allowed, but did not happen", map(entry, result.get("allowed_unused", ()))),
        ("Not graded, so neither found nor lost", failed),
        ("Gained, or no longer stale", map(entry, changes_of(results, ("gained", "stale gone"))))):
        parts += listed(title, list(entries))
    head = ["strategy", "counted", "recorded", "fresh", "of", "gained", "lost", "exact McNemar p", "95% recorded",
            "95% fresh"]
    rows = [[place_of(row), {"cases": "cases complete", "facts": "facts found"}[unit], paired["found_recorded"],
             paired["found_fresh"], paired["total"], paired["gained"], paired["lost"], f"{paired['mcnemar_p']:.3g}",
             *(" to ".join(map(str, paired[f"interval_{side}"] or ["none"])) for side in ("recorded", "fresh"))]
            for row in results for unit, paired in sorted(row["paired"].items())]
    least = result["smallest_difference"]
    reach = "" if least["within_reach"] else f"; it has only {least['cases']}"
    parts.append(table("Paired figures", head, rows, text=(0, 1), note=(
        f"The least this set could have shown: {least['discordant_pairs']} cases that changed, all to one side (exact "
        f"McNemar p {least['mcnemar_p']}){reach}. Facts of one case depend on each other: read the test over cases.")))
    stale = [[place_of(row), *(" to ".join(str(len(row["stale_cases"][side][kind])) for side in ("recorded", "fresh"))
                               for kind in ("alone", "replaced"))] for row in results if "stale_cases" in row]
    head = ["strategy", "alone", "with its replacement"]
    parts.append(table("Cases with a stale fact, recorded to fresh", head, stale, note=STALE))
    made = [(f"{side}.{field}", text) for side in ("recorded", "fresh") for field, text in identity(result[side])]
    return section("comparison", name, parts, made, result["decision"])


def check_decision(name, result):
    """InputError for a comparison whose decision does not follow from its own changes: it was edited or merged."""
    decision, blocking, _ = decide(result["results"], result["allowed"])
    counted = all(row["paired"]["facts"][kind] == len(row[kind])
                  for row in result["results"] for kind in ("lost", "gained"))
    if not counted or (blocking, decision) != (result["blocking"], result["decision"]):
        raise InputError(f"{name}: the decision does not follow from its changes: edited or merged? compare again")


def change_entry(item, alone=()):
    """A change as an entry of a list; alone: {(place, case)} whose fresh request lacks a required fact."""
    said = ", without its replacement" * (item["change"] == "stale" and (place_of(item), item["case"]) in alone)
    return (f"{item['change']}, {place_of(item)}, {item['case']}{said}", [
        ("fact", item.get("fact", "the whole request")), *([("allowed", item["why"])] if "why" in item else [])])
