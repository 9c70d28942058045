"""Grade which facts each selection rule brings into the request, and print the report.

Run:  python evaluate.py > report.local.json           the four rules on the twelve cases
      python evaluate.py --strategies recent,bm25 --cases my.json --budget 1024,4096

Prints the report as JSON on standard output and a table on standard error. Exit status 1: a selector failed or went
over its budget somewhere (the report says where); all else as in base/command.py.

Does not choose turns (strategies.py) or ask a model (answer_check.py does): a fact in the request is no answer yet.
"""

import argparse
import platform
import sys
from pathlib import Path

import strategies
from selection.cases import CaseError, load_cases

from base.command import InputError, dump, file_hash, run_command, whole_numbers

ROOT = Path(__file__).parent
CASES = ROOT / "cases.json"
SHOWN = 20  # complaints on the terminal
GRADER = "exact substring match of required and stale facts, raw or escaped, in the selected messages"

__all__ = ["CaseError", "grade", "load_cases", "run", "summarize"]


def grade(case, selected):
    """The row of one case: which required facts the selected messages hold, which are missing, which stale came along.

    A fact that names a turn is found when that turn was selected and a message holds its text (a selector may choose
    single messages of a turn), any other by its exact text, raw or escaped as in a note, inside one message.
    """
    contents = [message.get("content") or "" for message in selected["messages"]]
    missing = [fact for fact in case["required"] if not in_request(fact, case, selected, contents)]
    return {"case": case["id"], "split": case["split"], "kind": case["kind"], "turns": selected["turns"],
            "notes": selected["notes"], "input_tokens": selected["input_tokens"],
            "within_budget": selected["input_tokens"] <= strategies.available(case),
            "required_found": len(case["required"]) - len(missing), "required_total": len(case["required"]),
            "missing": missing,
            "stale_included": [fact for fact in case["stale"] if in_request(fact, case, selected, contents)]}


@strategies.per_history
def turn_numbers(history):
    """Turn id -> number of the turn in the history."""
    return {turn["id"]: number for number, turn in enumerate(history) if "id" in turn}


def in_request(fact, case, selected, contents):
    """Whether a fact of either form reached the request."""
    if isinstance(fact, dict):
        chosen = turn_numbers(case["history"]).get(fact["turn"]) in selected["turns"]
        return chosen and any(fact["text"] in content for content in contents)
    escaped = strategies.escape(fact)
    return any(fact in content or escaped in content for content in contents)


def summarize(rows):
    """{split: figures} of one strategy's rows; a split without cases is left out, rows with an error counted apart."""
    summary = {}
    for split in ("dev", "held_out"):
        of_split = [row for row in rows if row["split"] == split]
        graded = [row for row in of_split if "error" not in row]
        if graded:
            found, total = (sum(row[field] for row in graded) for field in ("required_found", "required_total"))
            summary[split] = {"cases": len(graded), "facts_found": found, "facts_total": total,
                              "fact_recall": round(found / total, 3),
                              "complete_cases": sum(not row["missing"] for row in graded),
                              "cases_with_stale_facts": sum(bool(row["stale_included"]) for row in graded),
                              "over_budget": sum(not row["within_budget"] for row in graded),
                              "mean_input_tokens": round(sum(row["input_tokens"] for row in graded) / len(graded), 1)}
        if len(graded) < len(of_split):
            summary.setdefault(split, {"cases": 0})["errors"] = len(of_split) - len(graded)
    return summary


def run(path=CASES, names=tuple(strategies.STRATEGIES), budgets=None, manifest=None, cases=None, **options):
    """The report of the strategies `names` on the case set at `path`.

    budgets: input tokens for all cases instead of their own; the report then has a level `budgets` in place of summary
    and cases. manifest: another model's. options: jobs, scheduler and verify of run_cases. Fields that are not in the
    published report appear only where something is not at its default.
    """
    from selection.run import ALWAYS_CHECKED, run_cases
    from tokenizer import profile_of
    from tokens.manifest import MANIFEST, read_manifest  # here, so that grading alone needs no tokenizer

    manifest, path = Path(manifest or MANIFEST), Path(path)
    cases = load_cases(path) if cases is None else cases
    check_names(path, names)
    about = {  # before the run, which may last: a file that is edited meanwhile was not run
        "case_set": path.name,
        "case_set_sha256": file_hash(path),
        "strategies_sha256": file_hash(strategies.__file__),
        "tokenizer_manifest_sha256": file_hash(manifest),
        "environment": {"python": platform.python_version(), "implementation": platform.python_implementation()},
        "counter": profile_of(read_manifest(manifest)),
        "trials": 1,
        "grader": GRADER,
    }
    others = selector_hashes(names)
    result, checked = run_cases(cases, names, path, grade, budgets or (None,), manifest, **options)
    report = {**about, "selectors_sha256": others} if others else about
    requests = len(names) * len(cases) * len(result)
    if requests > ALWAYS_CHECKED:
        report["counted_in_full"] = {"requests": requests, "checked": checked}
    levels = [{"summary": {name: summarize(rows) for name, rows in by_name.items()}, "cases": by_name}
              for by_name in result.values()]
    if budgets:
        return {**report, "budgets": {str(budget): level for budget, level in zip(budgets, levels)}}
    return {**report, **levels[0]}


def check_names(path, names):
    """InputError for files that a report cannot name or identify."""
    if not path.is_file():
        raise InputError(f"{path}: is no regular file that can be hashed into the report; save the cases as one")
    for name in (path.name, *names):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{name}: a report cannot hold a file name that is not UTF-8; rename it") from None


def selector_hashes(names):
    """SHA-256 by file for the selectors that are not in strategies.py: their own file, or all of selection's and modelkit's."""
    files = {}
    for name in names:
        file = name.rpartition(":")[0]
        if ".py:" in name and Path(file).is_file():  # one that is not there is told of where it is loaded
            files[Path(file).as_posix()] = file_hash(file)
        if name not in strategies.STRATEGIES and ".py:" not in name:
            for path in sorted([*(ROOT / "modelkit").glob("*.py"), *(ROOT / "selection").glob("*.[pj][ys]*")]):
                files[path.relative_to(ROOT).as_posix()] = file_hash(path)
    return files


def levels_of(report):
    """[(budget or None, {"summary", "cases"}), ...] of a report with or without the level of budgets."""
    if "budgets" in report:
        return [(int(budget), level) for budget, level in report["budgets"].items()]
    return [(None, report)]


def table(report):
    """The summary as lines of text for a terminal."""
    width = max(len(name) for _, level in levels_of(report) for name in level["summary"])
    for budget, level in levels_of(report):
        if budget is not None:
            yield f"input budget {budget}"
        yield f"{'strategy':{width}}  split     facts      recall  complete  stale  over  mean tokens"
        for name, splits in level["summary"].items():
            for split, figures in splits.items():
                failed = f"  {figures['errors']} failed" if "errors" in figures else ""
                if not figures["cases"]:
                    yield f"{name:{width}}  {split:8}{failed}"
                    continue
                facts = f"{figures['facts_found']}/{figures['facts_total']}"
                complete = f"{figures['complete_cases']}/{figures['cases']}"
                yield (f"{name:{width}}  {split:8}  {facts:9}  {figures['fact_recall']:<6}  {complete:8}"
                       f"  {figures['cases_with_stale_facts']:<5}  {figures['over_budget']:<4}"
                       f"  {figures['mean_input_tokens']}{failed}")


def complaints(report):
    """A line for each row of a selector that failed or went over its budget."""
    for budget, level in levels_of(report):
        at = "" if budget is None else f" at {budget} tokens"
        for name, rows in level["cases"].items():
            for row in rows:
                if "error" in row:
                    yield f"{name}{at}, case {row['case']!r}: {row['error']}"
                elif not row["within_budget"]:
                    yield f"{name}{at}, case {row['case']!r}: over budget with {row['input_tokens']} tokens"


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python evaluate.py --strategies recent,notes,bm25 --budget 128,256 > report.local.json",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES, help="the case set (default: the twelve cases)")
    parser.add_argument(
        "--strategies", default=",".join(strategies.STRATEGIES), metavar="NAME,…",
        help="which rules: recent,relevant,notes,hybrid (default), modelkit's, or FILE.py:NAME for your own")
    parser.add_argument("--budget", type=whole_numbers, metavar="N,…", help="input tokens for every case, one run each")
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")
    parser.add_argument("--verify", action="store_true", help="count every chosen request in full as well")
    parser.add_argument("--explain", metavar="CASE", help="show one case turn by turn instead of the report")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="spread histories over N processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="spread them over a Dask cluster instead")
    arguments = parser.parse_args(argv)
    if arguments.jobs < 1:
        parser.error("--jobs takes a whole number from 1")
    return arguments


def main(argv=None):
    arguments = parse_arguments(argv)
    names = [name.strip() for name in arguments.strategies.split(",") if name.strip()]
    options = {"budgets": arguments.budget, "manifest": arguments.tokenizer}
    if arguments.explain is not None:
        from selection.explain import explain

        lines = list(explain(arguments.cases, arguments.explain, names, grade, **options))  # all or, at an error, nothing
        sys.stdout.writelines(line + "\n" for line in lines)
        return 0
    report = run(arguments.cases, names, **options, jobs=arguments.jobs, scheduler=arguments.scheduler,
                 verify=arguments.verify)
    sys.stdout.write(dump(report))
    failures = list(complaints(report))
    more = [f"and {len(failures) - SHOWN} more, all in the report"] if len(failures) > SHOWN else []
    for line in [*table(report), *failures[:SHOWN], *more]:
        print(line, file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    run_command(main)
