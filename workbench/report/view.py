"""Turn evaluations, comparisons and surveys into what the page and the Markdown summary show.

section  one result file: {"kind", "title", "name", "verdict", "notes", "parts", "identity"}
part     a table, a list, charts or a matrix of cells; the summary shows tables and lists alone
cell     one strategy's grade of one case: {"mark", "text", "state", "missing", "stale", "figures", "request"}
Marks are shapes and words, so that nothing depends on colour. Turns are counted from 1. A function NAME_section takes
the file's name, the result and the options `show`, rows that a matrix may hold, and `only`, names that it shows.
"""

from collections import Counter

from base.command import InputError
from base.own_code import is_own
from base.result_files import canonical, fact_name, graded, levels, stale_alone
from workbench.compare import CHANGES, changes_of, decide, paired, place_of
from workbench.report.chart import chart
from workbench.survey import figures_of

MARKS = {"complete": "●", "part": "◐", "none": "○", "failed": "×"}
KEY = [("●", "all facts found"), ("◐", "some"), ("○", "none"), ("+N stale", "replaced statements in the request"),
       ("×", "no grade")]
HASHED = ("case_set", "counter", "grader", "trials", "environment")  # beside the fields that end in _sha256
SUMMARY = ("strategy", "split", "facts found", "recall", "complete cases", "with stale facts", "stale alone",
           "over budget", "without a grade", "mean input tokens")
STALE = "Stale alone: the request holds a replaced statement and lacks a required fact, so that nothing in it corrects."
PAIRED = ("strategy", "counted", "recorded", "fresh", "of", "gained", "lost", "exact McNemar p", "95% recorded",
          "95% fresh")
RULES = ("rule", "requests", "failed", "turns sent", "mean tokens", "cached")
BLANK = {"problem": None, "request": None, "missing": [], "stale": [], "figures": "", "lines": []}  # a cell's fields
SURVEY = ("log", "log_sha256", "tokenizer_manifest_sha256", "counter", "least", "block")


def section(kind, name, parts, identity, verdict=None, notes=()):
    """A section; the verdict is None or a text that begins with safe, compliant, blocked or not."""
    state = None
    if verdict is not None:
        bad, good = verdict.startswith(("blocked", "not compliant")), verdict.startswith(("safe", "compliant"))
        state = "bad" if bad else "good" if good and "not " not in verdict else "open"
    return {"kind": kind, "title": kind.capitalize(), "name": name, "parts": parts, "identity": identity,
            "verdict": verdict, "state": state, "notes": list(notes)}


def table_part(title, head, rows, text=(0, ), note=""):
    """A table part; the columns numbered in `text` stand to the left. A cell {"text", "share"} gets a bar."""
    return {"kind": "table", "title": title, "head": head, "rows": rows, "text": text, "note": note}


def listed(title, entries):
    """[a list part] of [(head, [(label, text)])], or [] where there is nothing to list."""
    return [{"kind": "list", "title": title, "entries": entries}] if entries else []


def must_follow(name, command, result, holds, again=dict):
    """InputError where a figure of a result does not hold, or a field is not as again() computes it from the rest."""
    wrong = [field for field, value in again().items() if canonical(value) != canonical(result.get(field))
             ] if holds else ["a figure in it"]
    if wrong:
        raise InputError(f"{name}: {wrong[0]} does not follow from the rest; it was edited or merged: run {command} "
                         "again")


def of(part, total):
    return f"{part} of {total}" if total else "none"


def share(value):
    """A share as a cell with a bar: share(0.5) -> {"text": "0.500", "share": 0.5}."""
    return "none" if value is None else {"text": f"{value:.3f}", "share": value}


def fields(report, names, prefix=""):
    """[(field, text)] of what a report says about its making, nested fields with a dot."""
    values = {prefix + name: report.get(name) for name in names}
    return [(f"{name}.{key}" if key else name, str(text)) for name, value in values.items()
            for key, text in (value if isinstance(value, dict) else {"": value}).items()]


def hashed_fields(report):
    """What was hashed for an evaluation, as `fields`."""
    return fields(report, [key for key in report if key in HASHED or key.endswith("_sha256")])


def evaluation_section(name, report, args, requests={}):
    """The section of an evaluation or a sweep; its figures are always of all cases.

    requests  (budget, strategy, case id) -> the request's view, where it could be made again
    """
    sweep, parts = levels(report), []
    if len(sweep) > 1:
        tallies = {strategy: [tally(level["cases"][strategy]) for level in sweep.values()]
                   for strategy in next(iter(sweep.values()))["cases"]}
        parts.append({"kind": "charts", "title": "Against the budget", "charts": [
            chart(title, list(map(int, sweep)),
                  {strategy: [figures[field] for figures in line] for strategy, line in tallies.items()}, top)
            for field, title, top in (("recall", "Facts found, share", 1.0), ("stale", "Cases with stale facts", None),
                                      ("tokens", "Mean input tokens used", None))]})
    for budget, level in sweep.items():
        at, cases = "" if budget is None else f" at {int(budget):,} input tokens", level["cases"]
        rows = [summary_row(strategy, split, figures, cases[strategy])
                for strategy, splits in level["summary"].items() for split, figures in splits.items()]
        parts.append(table_part(f"Summary{at}", SUMMARY, rows, text=(0, 1), note=STALE))
        kinds = Counter(row["kind"] for row in next(iter(cases.values())))
        if kinds.total() >= 3 * len(kinds):  # else each is a case or two, which the matrix shows
            rows = [[kind, size, *(share(tally(row for row in rows if row["kind"] == kind)["recall"])
                                   for rows in cases.values())] for kind, size in kinds.items()]
            parts.append(table_part(f"Facts found by kind of case{at}", ["kind", "cases", *cases], rows))
        rows = [{"case": case, "kind": first["kind"], "split": first["split"].replace("_", "-"), "cells": [
                    cell(row, requests.get((budget, strategy, case))) | {"strategy": strategy}
                    for strategy, row in of_case.items()]}
                for case, of_case in chosen_cases(cases, args).items() for first in [next(iter(of_case.values()))]]
        parts.append({"kind": "matrix", "title": f"Cases by strategies{at}", "what": "case", "key": KEY, "rows": rows,
                      "strategies": list(cases), "left_out": 0 if args.only else kinds.total() - len(rows),
                      "note": "Open a cell for what was selected."})
    return section("evaluation", name, parts, hashed_fields(report))


def summary_row(strategy, split, figures, rows):
    """A line of the summary; a split in which nothing was graded has dashes."""
    place, errors = [strategy, split.replace("_", "-")], figures.get("errors", 0)
    if not figures["cases"]:
        return [*place, *["–"] * 6, errors, "–"]
    return [*place, of(figures["facts_found"], figures["facts_total"]), share(figures["fact_recall"]),
            of(figures["complete_cases"], figures["cases"]), figures["cases_with_stale_facts"],
            sum(stale_alone(row) for row in rows if row["split"] == split), figures["over_budget"], errors,
            f"{figures['mean_input_tokens']:,.1f}"]


def tally(rows):
    """Share of facts found, cases with stale facts and mean tokens, over rows that hold a grade."""
    rows = list(filter(graded, rows))
    right, total = (sum(row[field] for row in rows) for field in ("required_found", "required_total"))
    return {"recall": right / total if total else None, "stale": sum(bool(row["stale_included"]) for row in rows),
            "tokens": sum(row["input_tokens"] for row in rows) / len(rows) if rows else None}


def chosen_cases(cases, args):
    """{case id: {strategy: row}} of the cases in a matrix: those named, else all, else the `show` most telling."""
    by_case = {}
    for strategy, rows in cases.items():
        for row in rows:
            by_case.setdefault(row["case"], {})[strategy] = row
    if unknown := [name for name in args.only if name not in by_case]:
        raise InputError(f"--only {unknown[0]}: no such case in the report; take a name from it")

    def interest(name):  # first cases that tell strategies apart, then those with something missing or stale
        rows = by_case[name].values()
        outcomes = {(row.get("required_found"), bool(row.get("stale_included"))) for row in rows}
        return len(outcomes) == 1, not any(row.get("missing", True) or row["stale_included"] for row in rows)

    names = [name for name in by_case if not args.only or name in args.only]
    few = args.only or len(names) <= args.show
    return {name: by_case[name] for name in (names if few else sorted(names, key=interest)[: args.show])}


def cell(row, request):
    if not graded(row):
        return {**BLANK, "state": "failed", "mark": MARKS["failed"], "text": "no grade", "problem": row["error"]}
    right, total, stale, turns = map(row.get, ("required_found", "required_total", "stale_included", "turns"))
    state = "complete" if right == total else "part" if right else "none"
    text = f"{right}/{total}" + (f" +{len(stale)} stale{' alone' if stale_alone(row) else ''}" if stale else "")
    numbers = ", ".join(str(turn + 1) for turn in turns[:12]) + ", …" * (len(turns) > 12)
    figures = f"{row['input_tokens']:,} tokens; turns: {len(turns)}{f' ({numbers})' if turns else ''}"
    return {**BLANK, "state": state, "mark": MARKS[state], "text": text + " over budget" * (not row["within_budget"]),
            "request": request, "missing": [*map(fact_name, row["missing"])], "stale": [*map(fact_name, stale)],
            "figures": f"{figures}; notes: {row['notes']}"}


def figures_follow(row):
    """Yield whether the figures of one strategy in a comparison can be those of the changes that it lists."""
    lost, stale, over, gained, gone = ({item["case"] for item in row[kind]}
                                       for kind in (*CHANGES, "gained", "stale gone"))
    cases, facts, ungraded = row["paired"]["cases"], row["paired"]["facts"], {*row["not_graded"]}
    yield not ungraded & (lost | gained | stale | gone | over)
    yield facts["lost"] == len(row["lost"]) and facts["gained"] == len(row["gained"])
    yield cases["lost"] <= len(lost - gained) and cases["gained"] <= len(gained - lost)
    for unit in (cases, facts):
        yield unit["lost"] <= unit["found_recorded"] <= unit["total"] - unit["gained"]
        yield canonical(unit) == canonical(paired(*map(unit.get, ("total", "found_recorded", "lost", "gained"))))
    both, lacked = (unit["total"] - unit["found_recorded"] - unit["gained"] for unit in (cases, facts))  # twice missed
    yield len(lost | gained) - cases["lost"] - cases["gained"] <= both <= lacked + len(lost & gained)
    yield both > 0 or lacked == 0
    for side, other, less, new in (("recorded", "fresh", gained, gone), ("fresh", "recorded", lost, stale)):
        found = cases[f"found_{side}"]
        alone, replaced, was_alone, was_replaced = (  # with a stale fact there, of the cases that both grade
            {*row["stale_cases"][at][kind]} - ungraded for at in (side, other) for kind in ("alone", "replaced"))
        yield len(alone | less) <= cases["total"] - found and len(replaced) <= found <= facts[f"found_{side}"]
        yield not replaced & (alone | less) and alone & was_replaced <= less
        yield (alone | replaced) - was_alone - was_replaced <= new <= alone | replaced


def comparison_section(name, result, args):
    """The section of a comparison; InputError where it does not follow from the changes that it lists."""
    results, parts = result["results"], []
    sizes = {row["paired"]["cases"]["total"] + len(row["not_graded"]) for row in results}
    must_follow(name, "workbench.compare", result,
                len(sizes - {0}) == len(sizes) == 1 and all(map(all, map(figures_follow, results))),
                lambda: decide(results, result["allowed"] + result["allowed_unused"]))
    alone = {(place_of(row), case) for row in results for case in row["stale_cases"]["fresh"]["alone"]}

    def entry(item):
        said = ", without its replacement" * (item["change"] == "stale" and (place_of(item), item["case"]) in alone)
        return f"{item['change']}, {place_of(item)}, {item['case']}{said}", [
            ("fact", item.get("fact", "the whole request")), *([("allowed", item["why"])] if "why" in item else [])]

    failed = [(f"not graded, {place_of(row)}, {case}: a selector failed there", [])
              for row in results for case in row["not_graded"]]
    for title, entries in (
        ("Changes that nothing allows", map(entry, result["blocking"])),
        ("Allowed by name", map(entry, result["allowed"])),
        ("Allowed, but did not happen", map(entry, result["allowed_unused"])),
        ("Not graded, so neither found nor lost", failed),
        ("Gained, or no longer stale", map(entry, changes_of(results, ("gained", "stale gone"))))):
        parts += listed(title, list(entries))
    rows = [[place_of(row), {"cases": "cases complete", "facts": "facts found"}[unit], paired["found_recorded"],
             paired["found_fresh"], paired["total"], paired["gained"], paired["lost"], f"{paired['mcnemar_p']:.3g}",
             *(" to ".join(map(str, paired[f"interval_{side}"] or ["none"])) for side in ("recorded", "fresh"))]
            for row in results for unit, paired in sorted(row["paired"].items())]
    least = result["smallest_difference"]
    reach = "" if least["within_reach"] else f"; it has only {least['cases']}"
    parts.append(table_part("Paired figures", PAIRED, rows, text=(0, 1), note=(
        f"The least this set could have shown: {least['discordant_pairs']} cases that changed, all to one side (exact "
        f"McNemar p {least['mcnemar_p']}){reach}. Facts of one case depend on each other: read the test over cases.")))
    stale = [[place_of(row), *(" to ".join(str(len(row["stale_cases"][side][kind])) for side in ("recorded", "fresh"))
                               for kind in ("alone", "replaced"))] for row in results]
    parts.append(table_part("Cases with a stale fact, recorded to fresh",
                            ["strategy", "alone", "with its replacement"], stale, note=STALE))
    made = [(f"{side}.{field}", text) for side in ("recorded", "fresh") for field, text in hashed_fields(result[side])]
    return section("comparison", name, parts, made, result["decision"])


def survey_section(name, report, args):
    """The section of a survey: what each rule sends at every user turn, and what a prompt cache keeps of it."""
    rules = {tuple(level["rules"]) for level in report["budgets"].values()}
    must_follow(name, "workbench.survey", report, len(rules) == 1 and all(
        rule["requests"] + rule["failed"] + level["never_fit"] == report["user_turns"]
        and level["fit_whole"] + level["never_fit"] <= report["user_turns"]
        and 0 <= rule["turns_sent"] <= rule["turns"] and 0 <= rule["cached_tokens"] <= rule["tokens"]
        and (is_own(strategy) or rule["tokens"] <= rule["requests"] * int(budget))  # one's own may send more
        for budget, level in report["budgets"].items() for strategy, rule in level["rules"].items()))
    by_budget, parts = {int(budget): figures_of(level) for budget, level in report["budgets"].items()}, []
    if len(by_budget) > 1:
        rules = {lines[0][0]: [line[-1] for line in lines] for lines in zip(*by_budget.values())}
        parts.append({"kind": "charts", "title": "Against the budget",
                      "charts": [chart("Cached tokens, share", list(by_budget), rules, top=1.0)]})
    for (budget, lines), level in zip(by_budget.items(), report["budgets"].values()):
        rows = [[rule, requests, failed, share(sent), "none" if mean is None else f"{mean:,.1f}", share(cached)]
                for rule, requests, failed, sent, mean, cached in lines]
        note = f"Of {report['user_turns']} user turns {level['fit_whole']} fit whole, {level['never_fit']} never fit."
        parts.append(table_part(f"At {budget:,} input tokens", RULES, rows, note=note))
    notes = [f"{report['conversations']} conversations. Cached: the common prefix of a request and "
             f"the one before it, of at least {report['least']} tokens in blocks of {report['block']}."]
    notes += [f"{what}: {number}." for what, number in report["left_out"].items()]
    return section("survey", name, parts, fields(report, SURVEY), None, notes)
