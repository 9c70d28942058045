"""Say whether a change to the strategies is safe: a fresh report against the recorded one, fact by fact.

Run:  python -m evaluate > fresh.local.json
      python -m workbench.compare evaluation-result.json fresh.local.json

Every lost fact, new stale fact and new selection over budget is listed by strategy and case; one that --allow does not
name ends with status 1. Means never decide: the paired figures stand beside the list for what they can show. Facts of
one case depend on each other, so the McNemar test over cases is the one to read.
Reports of other cases, budgets, counters or graders are refused with status 3: only the strategies may differ.
A row that holds no grade, since its selector failed, is neither pass nor fail: the gate is then not decided (3).

A report that does not follow from its own rows was edited or merged, and is refused.

allow file  [{"change": "lost" | "stale" | "over budget", "strategy", "case", "fact", "why"}], and "budget" in a sweep:
            the `blocking` that the gate printed, each entry with the reason added, or that whole result
"""

import sys
from collections import Counter
from pathlib import Path

from base.ci import tell_ci
from base.result_files import check_evaluation, fact_name, graded, levels, read_result
from base.shapes import FACT, misfit
from base.shown import columns, one_line
from base.stats import mcnemar, wilson
from evaluate import summarize
from modelkit import scoring

from base.command import InputError, NotComparable, dump, make_parser, read_json, run_command

# What may differ between two reports: their strategies and what was found. All else has to be equal.
FREE = {"case_set", "strategies_sha256", "selectors_sha256", "environment", "summary", "cases", "budgets",
        "counted_in_full"}
CHANGES = ("lost", "stale", "over budget")
LEVEL = 0.05


def is_words(value):
    """Whether a value is a text that says something."""
    return isinstance(value, str) and bool(value.strip())


ENTRY = {"change": lambda value: value in CHANGES, "strategy": is_words, "case": is_words, "fact?": FACT,
         "budget?": (int, is_words), "why": is_words}


def check_comparable(recorded, fresh):
    """NotComparable, with the reason, where anything but the strategies differs."""
    for field in sorted((set(recorded) | set(fresh)) - FREE):
        if recorded.get(field) != fresh.get(field):
            raise NotComparable(
                f"{field} differs: recorded {recorded.get(field)!r:.90}, fresh {fresh.get(field)!r:.90}; "
                "record both with the same cases, counter and grader")
    if list(levels(recorded)) != list(levels(fresh)):
        raise NotComparable(
            f"budgets differ: recorded {list(levels(recorded))}, fresh {list(levels(fresh))}; run both with the same")


def named_pairs(recorded, fresh, pairs):
    """[(strategy of the recorded report, of the fresh one)]: those given, else each recorded one with itself."""
    chosen = []
    for text in pairs:
        old, mark, new = text.partition("=")
        if not mark or not old or not new:
            raise InputError(f"--pair {text}: not two names; write RECORDED=FRESH, such as bm25=near")
        chosen.append((old, new))
    for budget, level in levels(recorded).items():
        other = levels(fresh)[budget]["cases"]
        chosen = chosen or [(name, name) for name in level["cases"]]
        for old, new in chosen:
            if old not in level["cases"] or new not in other:
                side, name = ("recorded", old) if old not in level["cases"] else ("fresh", new)
                raise NotComparable(f"the {side} report has no strategy {name!r}; run it there too, or name a --pair")
    return chosen


def compare_rows(recorded, fresh):
    """What changed between the rows of one strategy: lists of {"case", "fact"} by change, and the paired figures."""
    before, after = ({row["case"]: row for row in rows} for rows in (recorded, fresh))
    totals = [
        {name: row.get("required_total") for name, row in side.items() if graded(row)} for side in (before, after)]
    both = totals[0].keys() & totals[1].keys()
    if before.keys() != after.keys() or any(totals[0][name] != totals[1][name] for name in both):
        raise NotComparable("the reports grade other cases or facts under the same hash; record both again")
    found = {"lost": [], "stale": [], "over budget": [], "gained": [], "stale gone": []}
    pairs = {"cases": Counter(), "facts": Counter()}
    for name, old in before.items():
        if name not in both:
            continue
        new = after[name]
        lost, gained = difference(new["missing"], old["missing"]), difference(old["missing"], new["missing"])
        found["lost"] += [{"case": name, "fact": fact} for fact in lost]
        found["gained"] += [{"case": name, "fact": fact} for fact in gained]
        for change, one, other in (("stale", new, old), ("stale gone", old, new)):
            stale = difference(one["stale_included"], other["stale_included"])
            found[change] += [{"case": name, "fact": fact} for fact in stale]
        if old["within_budget"] and not new["within_budget"]:
            found["over budget"].append({"case": name})
        pairs["cases"][not old["missing"], not new["missing"]] += 1
        pairs["facts"] += Counter(
            {(True, True): old["required_total"] - len(old["missing"]) - len(lost), (True, False): len(lost),
             (False, True): len(gained), (False, False): len(old["missing"]) - len(gained)})
    ungraded = [name for name in before if name not in both]
    return {**found, "stale_cases": {"recorded": stale_cases(recorded), "fresh": stale_cases(fresh)}, "not_graded": ungraded, "paired": {unit: paired(counts) for unit, counts in pairs.items()}}


def stale_cases(rows):
    """{"alone", "replaced"}: cases whose request holds a stale fact and lacks a required one; and lacks none."""
    stale = [row for row in rows if graded(row) and row["stale_included"]]
    alone = [row["case"] for row in stale if row["missing"]]
    return {"alone": alone, "replaced": [row["case"] for row in stale if not row["missing"]]}


def difference(one, other):
    """Names of the facts of `one` that `other` has not, each as often as it stands there more."""
    return list((Counter(map(fact_name, one)) - Counter(map(fact_name, other))).elements())


def paired(counts):
    """Figures of Counter {(found before, found after): pairs}: discordant counts, exact p, Wilson intervals (95%)."""
    total, lost, gained = sum(counts.values()), counts[True, False], counts[False, True]
    before, after = counts[True, True] + lost, counts[True, True] + gained
    return {"total": total, "found_recorded": before, "found_fresh": after, "gained": gained, "lost": lost,
            "mcnemar_p": float(f"{mcnemar(lost, gained):.6g}"), "interval_recorded": rounded(wilson(before, total)),
            "interval_fresh": rounded(wilson(after, total))}


def rounded(interval):
    """An interval to three places, as shares are written."""
    return None if interval is None else [round(value, 3) for value in interval]


def smallest_difference(cases):
    """The least that so many cases could have shown: discordant pairs, all on one side, with p at most LEVEL."""
    pairs = next(n for n in range(1, 100) if mcnemar(n, 0) <= LEVEL)
    return {"discordant_pairs": pairs, "mcnemar_p": mcnemar(pairs, 0), "cases": cases, "within_reach": cases >= pairs}


def read_allowed(path):
    """The entries of an allow file, fact and budget as the gate names them; InputError for one without a reason."""
    if path is None:
        return []
    value = read_json(path)
    entries = value.get("blocking") if isinstance(value, dict) else value
    problem = misfit(entries, [ENTRY], "the list")
    if problem:
        raise InputError(f"{path}: {problem}; an allowed change needs a change out of {', '.join(CHANGES)}, its names "
                         "and the reason as why")
    for number, entry in enumerate(entries, 1):
        wanted = {"change", "strategy", "case", "why"} | ({"fact"} if entry["change"] != "over budget" else set())
        if set(entry) - {"budget"} != wanted:
            raise InputError(f"{path}: entry {number}: fields {sorted(entry)}; wanted are {sorted(wanted)}, and budget "
                             "in a sweep")
    as_named = {"fact": fact_name, "budget": str}
    return [{key: as_named.get(key, str)(value) for key, value in entry.items()} for entry in entries]


def compare(recorded, fresh, pairs=(), allowed=()):
    """The gate's result for two reports. `decision` is safe, blocked or undecided."""
    check_comparable(recorded, fresh)
    results, blocking, used = [], [], []
    for old, new in named_pairs(recorded, fresh, pairs):
        for budget, level in levels(recorded).items():
            rows = compare_rows(level["cases"][old], levels(fresh)[budget]["cases"][new])
            place = {"strategy": new, **({"budget": budget} if budget else {})}
            results.append({**place, **({"recorded_strategy": old} if old != new else {}), **rows})
            for change in CHANGES:
                for item in rows[change]:
                    entry = allowing({"change": change, **place, **item}, allowed)
                    (used if entry else blocking).append(entry or {"change": change, **place, **item})
    cases = max(result["paired"]["cases"]["total"] for result in results)
    undecided = any(result["not_graded"] for result in results)
    return {"decision": "blocked" if gate(results, blocking) == "hold" else "undecided" if undecided else "safe",
            "blocking": blocking, "allowed": used, "allowed_unused": [entry for entry in allowed if entry not in used],
            "smallest_difference": smallest_difference(cases), "recorded": identity(recorded), "fresh": identity(fresh),
            "results": results}


def gate(results, blocking):
    """"ship" or "hold" by modelkit's gate, blind to the mean: each strategy scores 0, less its changes not allowed."""
    before = {(result["strategy"], result.get("budget")): 0 for result in results}
    harm = Counter((change["strategy"], change.get("budget")) for change in blocking)
    return scoring.gate_on_regressions(scoring.compare(before, {place: -harm[place] for place in before}))


def allowing(change, allowed):
    """The entry that allows a change by name, or None. An entry without a budget allows it at any."""
    for entry in allowed:
        if all(change.get(field) == value for field, value in entry.items() if field != "why"):
            return entry
    return None


def identity(report):
    """What was hashed in a report, and by what its strategies are known."""
    return {key: report[key] for key in report if key.endswith("_sha256") or key == "case_set"}


def place_of(row):
    """The strategy of a result or a change, and its budget in a sweep, as a person reads it."""
    return row["strategy"] + (f" at {row['budget']} tokens" if "budget" in row else "")


def told(result):
    """The result as lines of text for a person."""
    rows = [["strategy", "unit", "found", "of", "gained", "lost", "exact McNemar p"]]
    for row in result["results"]:
        for unit, figures in row["paired"].items():
            found = f"{figures['found_recorded']} -> {figures['found_fresh']}"
            rows.append([place_of(row), "complete cases" if unit == "cases" else "facts", found, figures["total"],
                         figures["gained"], figures["lost"], f"{figures['mcnemar_p']:.3g}"])
    yield from columns(rows, right=(2, 3, 4, 5))
    for row in result["results"]:
        old, new = row["stale_cases"]["recorded"], row["stale_cases"]["fresh"]
        if any((*old.values(), *new.values())):
            yield (f"{place_of(row)}: cases with a stale fact: {len(old['alone'])} -> {len(new['alone'])} without its "
                   f"replacement, {len(old['replaced'])} -> {len(new['replaced'])} with it")
        for change in ("gained", "stale gone", *CHANGES):
            for item in row[change]:
                yield f"{place_of(row)}: {change}: {item['case']}: {said_of(change, item, new)}"
        for name in row["not_graded"]:
            yield f"{place_of(row)}: not graded: {name}: a selector failed there"
    least = result["smallest_difference"]
    reach = "" if least["within_reach"] else f", which {least['cases']} cases cannot have"
    yield f"the least this set could have shown: {least['discordant_pairs']} discordant cases on one side{reach}"
    for entry in result["allowed"]:
        yield f"allowed: {entry['change']} in {entry['case']}, {entry['strategy']}: {entry['why']}"
    for entry in result["allowed_unused"]:
        yield f"allowed, but did not happen: {entry['change']} in {entry['case']}, {entry['strategy']}"
    yield f"{result['decision']}: {len(result['blocking'])} changes that nothing allows"


def said_of(change, item, stale):
    """What a change is about; of a new stale fact also whether it came without its replacement."""
    alone = change == "stale" and item["case"] in stale["alone"]
    return item.get("fact", "the whole request") + (", without its replacement" if alone else "")


def checks(result, fresh):
    """The result for base.ci: a check for each change that nothing allows, and for each case without one."""
    blocking = {}
    for change in result["blocking"]:
        key = (change["strategy"], change.get("budget"), change["case"])
        blocking.setdefault(key, []).append(change)
    for row in result["results"]:
        for case in levels(fresh)[row.get("budget")]["cases"][row["strategy"]]:
            changes = blocking.get((row["strategy"], row.get("budget"), case["case"]), [])
            check = {"group": place_of(row), "name": case["case"], "state": "passed", "message": ""}
            if case["case"] in row["not_graded"]:
                yield {**check, "state": "error", "message": "not graded: a selector failed there"}
            elif not changes:
                yield check
            for change in changes:
                said = f"{change['change']}: {said_of(change['change'], change, row['stale_cases']['fresh'])}"
                yield {**check, "name": f"{case['case']}: {said}", "state": "failed", "message": said}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("recorded", type=Path, help="the report that evaluate.py gave before the change")
    parser.add_argument("fresh", type=Path, help="the report that it gives now")
    parser.add_argument(
        "--allow", type=Path, metavar="FILE", help="JSON list of changes allowed by name, each with why")
    parser.add_argument("--pair", action="append", default=[], metavar="RECORDED=FRESH",
                        help="compare these two strategies instead of each with itself; may be repeated")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write what was found as JUnit XML, for CI")
    args = parser.parse_args(argv)
    reports = []
    for path in (args.recorded, args.fresh):
        reports.append(read_result(path, "evaluation")[1])
        check_evaluation(reports[-1], path, summarize)
    result = compare(*reports, args.pair, read_allowed(args.allow))
    tell_ci("workbench.compare", list(checks(result, reports[1])), args.junit)
    sys.stdout.write(dump(result))
    for line in told(result):
        print(one_line(line, 500), file=sys.stderr)
    return {"safe": 0, "blocked": 1, "undecided": 3}[result["decision"]]


if __name__ == "__main__":
    run_command(main)
