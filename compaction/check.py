"""Check whether a compactor keeps what must survive, and whether a change to it is safe.

Run:  python -m compaction.check --compactor notes --against recent > result.local.json

The result is JSON on standard output, a table for a person on standard error.
Exit status  with --against: 0 safe, 1 blocked; without: 0 compliant, 1 not; --require compliant asks for both.
             2 could not run; 3 not comparable, or not decided.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import tokenizer
from base.ci import is_junit_of, report_ci
from base.command import (InputError, check_replaceable, dump, file_hash, make_parser, progress, run_command, sha256,
                          write_json)
from base.stats import resolution
from base.turns import turn_texts
from compaction import table
from compaction.compactors import find_compactor
from compaction.comparison import compare
from compaction.contexts import BUDGET, KEEP_SHARE, grow_all, read_contexts
from compaction.fixtures.form import SHIPPED, load_fixtures
from compaction.judge.asking import judge_quality, recorded_judge
from compaction.result_file import code_hashes, is_result_of, read_candidate, record_path
from compaction.rows import GATES, decide_items, lost_at, read_gates, summarize
from strategies import available

STATES = {"met": "passed", "not worse": "passed", "missed": "failed", "worse": "failed", "undecided": "error"}


def parse_arguments(argv):
    parser = make_parser(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compactor", metavar="NAME", help="recent, notes, ledger, summary, FILE.py:NAME or module:name")
    what.add_argument("--contexts", metavar="FILE", help="contexts (JSON lines) of another system, or a result (.json)")
    parser.add_argument("--against", metavar="B", help="the incumbent: compactor, contexts (.jsonl), result (.json)")
    add_measuring(parser)
    parser.add_argument("--require", choices=["compliant"], help="with --against: every gate must be met too")
    parser.add_argument("--task-success", type=float, metavar="RATE", help="success rate of your own task runs")
    parser.add_argument("--task-runs", type=int, metavar="N", help="how many runs that rate was measured on")
    parser.add_argument("--task-drop", type=float, metavar="D", help="a drop in that rate that you would want to see")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write gates and items that got worse as JUnit XML")
    parser.add_argument("--record", nargs="?", const="", metavar="FILE", help="keep the result (default: in results/)")
    return parser.parse_args(argv)


def add_measuring(parser):
    """The options that say how a side is measured: a result was."""
    add_setting(parser)
    parser.add_argument("--extractive", action="store_true", help="the system that made --contexts only copies text")
    parser.add_argument("--against-extractive", action="store_true", help="the same of contexts given to --against")
    parser.add_argument("--model", type=Path, metavar="FILE", help="model block for the summary compactor")
    parser.add_argument("--gates", type=Path, metavar="FILE", help="JSON of gates that differ from the default")


def add_setting(parser):
    """The options that say on what compactors are run: fixtures, budget, tokenizer, judge."""
    parser.add_argument("--fixtures", nargs="+", type=Path, default=[SHIPPED], metavar="PATH", help="default: shipped")
    for field, told in (("context_limit", "the model's window"), ("max_new_tokens", "kept for the answer"),
                        ("margin", "kept free")):
        parser.add_argument(f"--{field.replace('_', '-')}", type=int, default=BUDGET[field], metavar="TOKENS",
                            help=f"{told} (default %(default)s)")
    parser.add_argument("--keep-share", type=float, default=KEEP_SHARE, metavar="SHARE",
                        help="of the available input, at most, that a compactor may leave filled (default %(default)s)")
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")
    parser.add_argument("--judge", metavar="NAME", help="human, FILE.py:NAME, module:function or a model block's file")
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="recorded verdicts: read, with --judge added to")
    parser.add_argument("--card", type=Path, metavar="FILE", help="the judge's card, as compaction.judge prints it")


def setting(args):
    """{"fixtures", "budget", "counter", "judge"} that these options name; the judge may be None. Or InputError."""
    budget = {field: getattr(args, field) for field in BUDGET}
    if min(budget.values()) < 0 or available({"budget": budget}) <= 0:
        raise InputError(f"the budget {budget} leaves no input; raise --context-limit or lower the other two")
    if not 0 < args.keep_share <= 1:
        raise InputError(f"--keep-share is {args.keep_share}; give a share above 0, at most 1")
    fixtures, counter = load_fixtures(args.fixtures), tokenizer.counter(args.tokenizer or tokenizer.MANIFEST)
    for fixture in fixtures:
        for number, turn in enumerate(fixture["history"], 1):
            if token := next(filter(None, map(counter.control_token, turn_texts(turn))), None):
                raise InputError(f"{fixture['conversation_id']}: turn {number}: holds the model's control token "
                                 f"{token!r}; write it otherwise")
    judge = recorded_judge(args.judge, args.verdicts, args.card, args.tokenizer)
    return {"fixtures": fixtures, "budget": budget, "counter": counter, "judge": judge}


def main(argv=None):
    args = parse_arguments(argv)
    given = {"candidate": args.compactor or Path(args.contexts)}
    if args.against:  # a file of contexts or a result as a path, anything else as a compactor's name
        given["incumbent"] = Path(args.against) if args.against.endswith((".jsonl", ".json")) else args.against
    recorded = {side: read_candidate(what) for side, what in given.items()
                if isinstance(what, Path) and what.suffix == ".json"}
    if len(recorded) == len(given) and (idle := idle_options(args)):
        raise InputError(f"{', '.join(idle)}: a result keeps the setting that it was made with; leave that out, or "
                         "name compactors or contexts")
    names = [recorded[side]["compactor"]["name"] if side in recorded else getattr(what, "name", what)
             for side, what in given.items()]
    path = None if args.record is None else record_path(args.record, names)
    rate, runs, drop = args.task_success, args.task_runs, args.task_drop
    if None in (rate, runs) and (rate, runs, drop) != (None, None, None):
        raise InputError("--task-success and --task-runs go together, --task-drop with both; give them or none")
    success = None if rate is None else resolution(rate, runs, drop)
    if args.junit:
        check_replaceable(args.junit, partial(is_junit_of, "compaction.check"))
    run = {} if len(recorded) == len(given) else setting(args) | {
        "gates": read_gates(args.gates) if args.gates else GATES}
    sides = {side: recorded.get(side) or measured(what, args, run, copies)
             for (side, what), copies in zip(given.items(), (args.extractive, args.against_extractive))}
    report = {"candidate": sides.pop("candidate"), "task_success": success, "code": code_hashes(), **sides}
    if sides:
        report["comparison"] = compare(report["candidate"], report["incumbent"])
    print(table.report_text(report), file=sys.stderr)
    report_ci("compaction.check", ci_checks(report, args.require), args.junit)
    if path:
        write_json(path, report, partial(is_result_of, names))
    sys.stdout.write(dump(report))
    return status(report, args.require)


def idle_options(args):
    """The options given that only say how a side is measured."""
    measuring = argparse.ArgumentParser()
    add_measuring(measuring)
    plain = vars(measuring.parse_args([]))
    return [f"--{name.replace('_', '-')}" for name, value in plain.items() if getattr(args, name) != value]


def measured(what, args, run, extractive):
    """One side of a report, for a compactor's name or a file of contexts, `extractive` or not."""
    fixtures, budget, judge, counter = run["fixtures"], run["budget"], run["judge"], run["counter"]
    manifest, left_out = args.tokenizer or tokenizer.MANIFEST, {"unplaced": 0, "unannotated": 0}
    if isinstance(what, Path):
        contexts, left_out, digest = read_contexts(what, fixtures, counter.count)
        about = {"name": what.name, "extractive": extractive, "sha256": digest}
    else:
        about = find_compactor(what, args.model, manifest)
        contexts = grow_all(fixtures, about.pop("function"), what, budget, counter.count, args.keep_share)
    waiting = progress(contexts, desc="check", unit="context")  # a judge may take a while
    items = decide_items(fixtures, waiting, about["extractive"], judge, counter)
    if not any(item["verdicts"] for item in items):
        raise InputError(f"{what}: no item was stated before a compaction, so nothing was checked; use longer "
                         "conversations, a smaller budget or contexts of these conversations")
    contexts = [{field: part for field, part in context.items() if field != "messages"} for context in contexts]
    limit = available({"budget": budget})
    return {"compactor": about, "budget": budget, "available_input": limit,
            "keep_share": None if isinstance(what, Path) else args.keep_share, "gates": run["gates"],
            "counter": counter.profile(), "manifest_sha256": file_hash(manifest),
            "fixtures": {"conversations": len(fixtures), "items": len(items), "sha256": sha256(dump(fixtures))},
            "judge": judge.about if judge else None, "left_out": left_out,
            **summarize(items, contexts, limit, run["gates"], judge_quality(judge.about["card"]) if judge else None),
            "contexts": contexts, "items": items}


def ci_checks(report, require):
    """What a CI system is told: the decision, each gated row, and each item that got worse, or was lost."""
    decided = {0: "passed", 1: "failed", 3: "error"}[status(report, require)]
    told = [("decision", decided, table.decision_text(report))]
    if compared := report.get("comparison"):
        told += [(row["name"], STATES[row["change"]], row["change"]) for row in compared["rows"]]
        change = "{class}: {incumbent} -> {candidate} at compaction {compaction}"
        told += [(item["item"], "failed", change.format(**item))
                 for item in compared["changed"] if item["candidate"] in ("absent", "contradicted")]
    else:
        told += [(row["name"], STATES[row["state"]], row["state"])
                 for row in report["candidate"]["rows"] if row["gate"] is not None]
        told += [(item["item"], "failed", f"{item['class']}: lost at compaction {lost_at(item)}")
                 for item in report["candidate"]["items"] if lost_at(item)]
    return [dict(zip(("group", "name", "state", "message"), ("compaction.check", *check))) for check in told]


def status(report, require):
    """The exit status that a report's answers give."""
    answers = []
    if "comparison" in report:
        answers.append({"safe": 0, "blocked": 1, "not decided": 3}[report["comparison"]["decision"]])
    if "comparison" not in report or require:
        answers.append({True: 0, False: 1, None: 3}[report["candidate"]["compliant"]])
    return 1 if 1 in answers else max(answers)


if __name__ == "__main__":
    run_command(main)
