"""Grade which facts each selection rule brings into the request, and print the report.

Run:  python evaluate.py
      python evaluate.py --strategies recent,bm25 --cases my.json --budget 1024,4096 > report.local.json
      python evaluate.py --explain held-spread

In a terminal a table, and a line for each case that some rule failed; into a file or a pipe the report as JSON, the
table beside it on standard error. Exit status 1: a selector failed or went over its budget somewhere.

Does not choose turns (strategies.py) or ask a model (answer_check.py does): a fact in the request is no answer yet.
"""

import base  # noqa: F401, I001 (first, for Ctrl-C during the other imports)

import platform
import sys
from pathlib import Path

import strategies
from base.command import InputError, dump, file_hash, make_parser, run_command, whole_numbers
from selection.cases import CaseError, ambiguous_facts, load_cases, read_set
from selection.facts import in_request
from selection.reporting import complaints, explain, failed_cases, print_lines, remarks, summary_lines

ROOT = Path(__file__).parent
CASES = ROOT / "cases.json"
GRADER = "exact substring match of required and stale facts, raw or escaped, in the selected messages"

__all__ = ["CaseError", "grade", "load_cases", "run", "summarize"]


def grade(case, selected):
    """The row of one case: which required facts the selected messages hold, which are missing, which stale came along.

    A fact that is a text is found where one message holds it, or a note holds its escaped form; one that names its turn
    where the request shows that turn's words (selection/facts.py). Needs no tokenizer.
    """
    missing = [fact for fact in case["required"] if not in_request(fact, case, selected)]
    return {"case": case["id"], "split": case["split"], "kind": case["kind"], "turns": selected["turns"],
            "notes": selected["notes"], "input_tokens": selected["input_tokens"],
            "within_budget": selected["input_tokens"] <= strategies.available(case),
            "required_found": len(case["required"]) - len(missing), "required_total": len(case["required"]),
            "missing": missing,
            "stale_included": [fact for fact in case["stale"] if in_request(fact, case, selected)]}


def summarize(rows):
    """{split: figures} of one strategy's rows; a split without cases is left out, rows with an error counted apart."""
    summary = {}
    for split in ("dev", "held_out"):
        of_split = [row for row in rows if row["split"] == split]
        graded = [row for row in of_split if "error" not in row]
        if graded:
            facts, total = (sum(row[field] for row in graded) for field in ("required_found", "required_total"))
            summary[split] = {"cases": len(graded), "facts_found": facts, "facts_total": total,
                              "fact_recall": round(facts / total, 3),
                              "complete_cases": sum(not row["missing"] for row in graded),
                              "cases_with_stale_facts": sum(bool(row["stale_included"]) for row in graded),
                              "over_budget": sum(not row["within_budget"] for row in graded),
                              "mean_input_tokens": round(sum(row["input_tokens"] for row in graded) / len(graded), 1)}
        if len(graded) < len(of_split):
            summary.setdefault(split, {"cases": 0})["errors"] = len(of_split) - len(graded)
    return summary


def run(path=CASES, names=tuple(strategies.STRATEGIES), budgets=None, manifest=None, cases=None, digest=None,
        **options):
    """The report of the strategies `names` on the case set at `path`; fields beside the published only off defaults.

    budgets: input tokens for all cases instead of their own; the report then has a level `budgets` in place of summary
    and cases. manifest: another model's. cases, digest: what read_set(path) gave, for a set that was read before.
    options: jobs, scheduler and verify of run_cases.
    """
    from selection.run import ALWAYS_CHECKED, run_cases, selector_hashes
    from tokenizer import profile_of
    from tokens.manifest import MANIFEST, read_manifest  # here, so that grading alone needs no tokenizer

    manifest, path = Path(manifest or MANIFEST), Path(path)
    if cases is None:
        cases, digest = read_set(path)
    report = {  # hashed before the run, which may last: a file that is edited meanwhile was not run
        "case_set": path.name, "case_set_sha256": digest or file_hash(path),
        "strategies_sha256": file_hash(strategies.__file__), "tokenizer_manifest_sha256": file_hash(manifest),
        "environment": {"python": platform.python_version(), "implementation": platform.python_implementation()},
        "counter": profile_of(read_manifest(manifest)), "trials": 1, "grader": GRADER}
    if others := selector_hashes(names):
        report["selectors_sha256"] = others
    if ambiguous := ambiguous_facts(cases):
        report["ambiguous_facts"] = len(ambiguous)
    result, checked = run_cases(cases, names, path, grade, budgets or (None,), manifest, **options)
    if (options.get("jobs", 1) > 1 or options.get("scheduler")) and selector_hashes(names) != others:
        raise InputError("a selector's code was edited during the run, its processes may have read both; run it again")
    requests = len(names) * len(cases) * len(result)
    if requests > ALWAYS_CHECKED:
        report["counted_in_full"] = {"requests": requests, "checked": checked}
    levels = [{"summary": {name: summarize(rows) for name, rows in by_name.items()}, "cases": by_name}
              for by_name in result.values()]
    if budgets:
        return {**report, "budgets": {str(budget): level for budget, level in zip(budgets, levels)}}
    return {**report, **levels[0]}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="the case set (default: the twelve cases)")
    parser.add_argument("--strategies", default=",".join(strategies.STRATEGIES), metavar="NAME,…",
                        help="which rules: the four of strategies.py (default), others, FILE.py:NAME for your own")
    parser.add_argument("--budget", type=whole_numbers, metavar="N,…", help="input tokens for every case, one run each")
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")
    parser.add_argument("--verify", action="store_true", help="count every chosen request in full as well")
    parser.add_argument("--explain", metavar="CASE", help="show one case turn by turn instead of the report")
    parser.add_argument("--json", action="store_true", help="print the report as JSON in a terminal too")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="spread histories over N processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="spread them over a Dask cluster instead")
    arguments = parser.parse_args(argv)
    if arguments.jobs < 1:
        parser.error("--jobs takes a whole number from 1")
    names = [name.strip() for name in arguments.strategies.split(",") if name.strip()]
    options = {"budgets": arguments.budget, "manifest": arguments.tokenizer}
    if arguments.explain is not None:
        lines, failed = explain(arguments.cases, arguments.explain, names, grade, **options)
        sys.stdout.writelines(line + "\n" for line in lines)
        return int(failed)
    cases, digest = read_set(arguments.cases)
    print_lines(remarks(cases, names))
    report = run(arguments.cases, names, **options, cases=cases, digest=digest, jobs=arguments.jobs,
                 scheduler=arguments.scheduler, verify=arguments.verify)
    for_a_person = sys.stdout.isatty() and not arguments.json
    if not for_a_person:
        sys.stdout.write(dump(report))
    failures = list(complaints(report))
    print_lines(summary_lines(report), limit=None)
    print_lines(failures)
    print_lines(failed_cases(report) if for_a_person else ())
    return int(bool(failures))


if __name__ == "__main__":
    run_command(main)
