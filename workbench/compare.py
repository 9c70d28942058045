"""Say whether a change to the strategies is safe: a fresh report against the recorded one, fact by fact.

Run:  python -m evaluate > fresh.local.json
      python -m workbench.compare evaluation-result.json fresh.local.json

Every lost fact, new stale fact and new selection over budget is listed by strategy and case; one that --allow does not
name ends with status 1. Means never decide: the paired figures stand beside the list. Facts of one case depend on each
other, so the McNemar test over cases is the one to read. Reports of other cases, budgets, counters or graders are
refused with status 3: only the strategies may differ. A row without a grade, whose selector failed, is neither pass nor
fail: not decided (3). A report that does not follow from its own rows was edited or merged, and is refused.

allow file  [{"change": "lost" | "stale" | "over budget", "strategy", "case", "fact", "why"}], and "budget" in a sweep:
            the `blocking` that the gate printed, each entry with the reason added, or that whole result
"""

import sys
from collections import Counter
from pathlib import Path

from base.ci import report_ci
from base.command import InputError, NotComparable, dump, make_parser, read_json, run_command
from base.result_files import check_evaluation, fact_name, graded, levels, read_result
from base.shapes import FACT, Only, misfit, not_blank
from base.shown import columns, one_line
from base.stats import mcnemar, wilson
from evaluate import summarize

FREE = {"case_set", "strategies_sha256", "selectors_sha256", "environment", "summary", "cases",
        "counted_in_full"}  # what may differ between two reports: their strategies and what was found
CHANGES = ("lost", "stale", "over budget")
LEAST = 6  # discordant pairs, all on one side, with an exact p of at most 0.05: it is 0.03125, that of five 0.0625
NAMED = {"strategy": not_blank, "case": not_blank, "budget?": (int, not_blank), "why": not_blank}
ALLOWED = (Only({"change": lambda change: change in CHANGES[:2], "fact": FACT, **NAMED}),
           Only({"change": lambda change: change == CHANGES[2], **NAMED}))


def check_comparable(recorded, fresh):
    """NotComparable, with the reason, where anything but the strategies differs."""
    for field in sorted((set(recorded) | set(fresh)) - FREE):
        old, new = (sorted(levels(report)) if field == "budgets" else report.get(field) for report in (recorded, fresh))
        if old != new:
            raise NotComparable(f"{field} differs: recorded {old!r:.90}, fresh {new!r:.90}; record both with the same")


def named_pairs(recorded, fresh, pairs):
    """[(strategy of the recorded report, of the fresh one)]: those given, else each recorded one with itself."""
    if wrong := [text for text in pairs if not all(text.partition("="))]:
        raise InputError(f"--pair {wrong[0]}: not two names; write RECORDED=FRESH, such as bm25=near")
    known = [next(iter(levels(report).values()))["cases"] for report in (recorded, fresh)]
    chosen = [tuple(text.split("=", 1)) for text in pairs] or [(name, name) for name in known[0]]
    for pair in chosen:
        for side, name, names in zip(("recorded", "fresh"), pair, known):
            if name not in names:
                raise NotComparable(f"the {side} report has no strategy {name!r}; run it there, or name a --pair")
    return chosen


def compare_rows(recorded, fresh):
    """What changed between the rows of one strategy: lists of {"case", "fact"} by change, and the paired figures."""
    before, after = ({row["case"]: row for row in rows} for rows in (recorded, fresh))
    both = {name: (old, after[name]) for name, old in before.items() if graded(old) and graded(after.get(name, {}))}
    if before.keys() != after.keys() or any(old["required_total"] != new["required_total"]
                                            for old, new in both.values()):
        raise NotComparable("the reports grade other cases or facts under the same hash; record both again")
    changes = {change: [] for change in (*CHANGES, "gained", "stale gone")}
    for name, (old, new) in both.items():
        for field, more, less in (("missing", "lost", "gained"), ("stale_included", "stale", "stale gone")):
            was, now = (Counter(map(fact_name, row[field])) for row in (old, new))
            changes[more] += [{"case": name, "fact": fact} for fact in (now - was).elements()]
            changes[less] += [{"case": name, "fact": fact} for fact in (was - now).elements()]
        if old["within_budget"] and not new["within_budget"]:
            changes["over budget"].append({"case": name})
    complete = [(not old["missing"], not new["missing"]) for old, new in both.values()]
    lost, gained = complete.count((True, False)), complete.count((False, True))
    cases = paired(len(both), sum(old for old, _ in complete), lost, gained)
    facts = paired(*(sum(old[field] for old, _ in both.values()) for field in ("required_total", "required_found")),
                   len(changes["lost"]), len(changes["gained"]))
    return {**changes, "stale_cases": {"recorded": stale_cases(recorded), "fresh": stale_cases(fresh)},
            "not_graded": [name for name in before if name not in both], "paired": {"cases": cases, "facts": facts}}


def stale_cases(rows):
    """{"alone", "replaced"}: cases whose request holds a stale fact and lacks a required one; and lacks none."""
    stale = [row for row in rows if graded(row) and row["stale_included"]]
    return {"alone": [row["case"] for row in stale if row["missing"]],
            "replaced": [row["case"] for row in stale if not row["missing"]]}


def paired(total, before, lost, gained):
    """Figures of `total` pairs, `before` of them found in the recorded report: exact p, Wilson intervals (95%).
    paired(12, 8, 3, 0) -> found_fresh 5, mcnemar_p 0.25, interval_recorded [0.391, 0.862]"""
    after = before - lost + gained
    was, now = ([round(end, 3) for end in wilson(part, total)] if total else None for part in (before, after))
    return {"total": total, "found_recorded": before, "found_fresh": after, "gained": gained, "lost": lost,
            "mcnemar_p": float(f"{mcnemar(lost, gained):.6g}"), "interval_recorded": was, "interval_fresh": now}


def read_allowed(path):
    """The entries of an allow file, fact and budget as the gate names them; InputError for one without a reason."""
    value = read_json(path) if path else []
    entries = value.get("blocking") if isinstance(value, dict) else value
    if problem := misfit(entries, [ALLOWED], "the list"):
        raise InputError(f"{path}: {problem}: wanted: change ({', '.join(CHANGES)}), strategy, case, fact (unless over "
                         "budget), budget in a sweep, and the reason as why")
    as_named = {"fact": fact_name, "budget": str}
    return [{field: as_named.get(field, str)(value) for field, value in entry.items()} for entry in entries]


def compare(recorded, fresh, pairs=(), allowed=()):
    """The gate's result for two reports."""
    check_comparable(recorded, fresh)
    pairs = named_pairs(recorded, fresh, pairs)
    results = [{"strategy": new, **({"budget": budget} if budget else {}),
                **({"recorded_strategy": old} if old != new else {}),
                **compare_rows(level["cases"][old], levels(fresh)[budget]["cases"][new])}
               for budget, level in levels(recorded).items() for old, new in pairs]
    hashes = [{key: report[key] for key in report if key.endswith("_sha256") or key == "case_set"}
              for report in (recorded, fresh)]
    return {**decide(results, allowed), "recorded": hashes[0], "fresh": hashes[1], "results": results}


def decide(results, allowed):
    """What follows from the results: {"decision": safe, blocked or undecided, "blocking": the changes that nothing
    allows, "allowed": the entries that allow the others, "allowed_unused", "smallest_difference": the least that so
    many cases could have shown}."""
    entries = {name_of(entry): entry for entry in reversed(allowed)}
    blocking, used = [], []
    for change in changes_of(results, CHANGES):
        entry = entries.get(name_of(change)) or entries.get(name_of({**change, "budget": None}))
        (used if entry else blocking).append(entry or change)
    decision = "blocked" if blocking else "undecided" if any(row["not_graded"] for row in results) else "safe"
    names, cases = set(map(name_of, used)), max(row["paired"]["cases"]["total"] for row in results)
    return {"decision": decision, "blocking": blocking, "allowed": used,
            "allowed_unused": [entry for entry in allowed if name_of(entry) not in names],
            "smallest_difference": {"discordant_pairs": LEAST, "mcnemar_p": mcnemar(LEAST, 0), "cases": cases,
                                    "within_reach": cases >= LEAST}}


def changes_of(results, kinds):
    """The changes of these kinds, as `blocking` has them."""
    return [{"change": kind, **{key: row[key] for key in ("strategy", "budget") if key in row}, **item}
            for row in results for kind in kinds for item in row[kind]]


def name_of(change):
    """The key of a change and of the entry that allows it; an entry without a budget allows it at any."""
    return tuple(change.get(field) for field in ("change", "strategy", "case", "fact", "budget"))


def place_of(row):
    """Strategy and budget of a result or change: place_of({"strategy": "a", "budget": "64"}) -> "a at 64 tokens"."""
    return row["strategy"] + (f" at {row['budget']} tokens" if "budget" in row else "")


def change_text(change, stale):
    """A change in words, as "stale: one: port 80, without its replacement"; `stale`: stale_cases of the fresh rows."""
    kind, case = change["change"], change["case"]
    alone = kind == "stale" and case in stale["alone"]
    return f"{kind}: {case}: {change.get('fact', 'the whole request')}" + ", without its replacement" * alone


def gate_lines(result):
    """The result as lines of text for a person."""
    rows = [["strategy", "unit", "found", "of", "gained", "lost", "exact McNemar p"]]
    rows += [[place_of(row), "complete cases" if unit == "cases" else "facts",
              f"{figures['found_recorded']} -> {figures['found_fresh']}", figures["total"], figures["gained"],
              figures["lost"], f"{figures['mcnemar_p']:.3g}"]
             for row in result["results"] for unit, figures in row["paired"].items()]
    yield from columns(rows, right=(2, 3, 4, 5))
    for row in result["results"]:
        place, old, new = place_of(row), row["stale_cases"]["recorded"], row["stale_cases"]["fresh"]
        if any((*old.values(), *new.values())):
            yield (f"{place}: cases with a stale fact: {len(old['alone'])} -> {len(new['alone'])} without its "
                   f"replacement, {len(old['replaced'])} -> {len(new['replaced'])} with it")
        for change in changes_of([row], ("gained", "stale gone", *CHANGES)):
            yield f"{place}: {change_text(change, new)}"
        yield from (f"{place}: not graded: {name}: a selector failed there" for name in row["not_graded"])
    least = result["smallest_difference"]
    reach = "" if least["within_reach"] else f", which {least['cases']} cases cannot have"
    yield f"the least this set could have shown: {least['discordant_pairs']} discordant cases on one side{reach}"
    for entry in result["allowed"]:
        yield f"allowed: {entry['change']} in {entry['case']}, {entry['strategy']}: {entry['why']}"
    for entry in result["allowed_unused"]:
        yield f"allowed, but did not happen: {entry['change']} in {entry['case']}, {entry['strategy']}"
    yield f"{result['decision']}: {len(result['blocking'])} changes that nothing allows"


def checks(result, fresh):
    """Yield for base.ci a check for each change that nothing allows, and for each case without one."""
    for row in result["results"]:
        group = place_of(row)
        for case in (case["case"] for case in levels(fresh)[row.get("budget")]["cases"][row["strategy"]]):
            states = [("failed", text := change_text(change, row["stale_cases"]["fresh"]), text)
                      for change in result["blocking"] if (place_of(change), change["case"]) == (group, case)]
            states += [("error", case, "not graded: a selector failed there")] * (case in row["not_graded"])
            for state, name, message in states or [("passed", case, "")]:
                yield {"group": group, "name": name, "state": state, "message": message}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("recorded", type=Path, help="the report that evaluate.py gave before the change")
    parser.add_argument("fresh", type=Path, help="the report that it gives now")
    parser.add_argument("--allow", type=Path, metavar="FILE", help="JSON list of allowed changes, each with why")
    parser.add_argument("--pair", action="append", default=[], metavar="RECORDED=FRESH",
                        help="compare these two strategies instead of each with itself; may be repeated")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write what was found as JUnit XML, for CI")
    args = parser.parse_args(argv)
    reports = []
    for path in (args.recorded, args.fresh):
        reports.append(read_result(path, "evaluation")[1])
        check_evaluation(reports[-1], path, summarize)
    result = compare(*reports, args.pair, read_allowed(args.allow))
    report_ci("workbench.compare", list(checks(result, reports[1])), args.junit)
    sys.stdout.write(dump(result))
    for line in gate_lines(result):
        print(one_line(line, 500), file=sys.stderr)
    return {"safe": 0, "blocked": 1, "undecided": 3}[result["decision"]]


if __name__ == "__main__":
    run_command(main)
