"""Check whether a compactor keeps what must survive, and whether a change to it is safe.

Run:  python -m compaction.check --compactor notes --against recent > result.local.json

The result is JSON on standard output, a table for a person on standard error.
Exit status  with --against: 0 safe, 1 blocked; without: 0 compliant, 1 not; --require compliant asks for both.
             2 could not run; 3 not comparable, or not decided.
"""

import sys
from pathlib import Path

import tokenizer
from base.ci import tell_ci
from base.command import InputError, dump, file_hash, make_parser, progress, run_command
from base.stats import resolution
from base.turns import turn_texts
from compaction import comparison, table
from compaction.contexts import read_contexts
from compaction.fixtures.form import load_fixtures
from compaction.fixtures.items import rendered_texts
from compaction.growth import BUDGET, KEEP_SHARE, grow, refuse_too_few
from compaction.judge.asking import judge_quality
from compaction.options import (add_budget, add_fixtures, add_judge, add_tokenizer, budget_of, counter_of,
                                find_compactor, judge_of)
from compaction.result_file import code_hashes, fixtures_hash, read_report, record, record_path
from compaction.rows import GATES, decide_items, lost_at, read_gates, summarize
from strategies import available


def arguments(argv):
    parser = make_parser(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--compactor", metavar="NAME", help="recent, notes, ledger, summary, FILE.py:NAME or module:function")
    what.add_argument("--contexts", metavar="FILE",
                      help="contexts (JSON lines) that another system recorded, or a recorded result (.json)")
    parser.add_argument(
        "--against", metavar="B", help="the incumbent: a compactor, contexts (.jsonl) or a recorded result (.json)")
    add_fixtures(parser)
    add_budget(parser, BUDGET, KEEP_SHARE)
    add_tokenizer(parser)
    add_judge(parser)
    parser.add_argument(
        "--extractive", action="store_true", help="the system that recorded --contexts only copies text")
    parser.add_argument("--against-extractive", action="store_true", help="the same of contexts given to --against")
    parser.add_argument("--model", type=Path, metavar="FILE", help="model block for the summary compactor")
    parser.add_argument("--gates", type=Path, metavar="FILE", help="JSON of gates that differ from the default")
    parser.add_argument("--require", choices=["compliant"], help="with --against: every gate must be met too")
    parser.add_argument("--task-success", type=float, metavar="RATE", help="success rate of your own task runs")
    parser.add_argument("--task-runs", type=int, metavar="N", help="how many runs that rate was measured on")
    parser.add_argument("--task-drop", type=float, metavar="D", help="a drop in that rate that you would want to see")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write gates and items that got worse as JUnit XML")
    parser.add_argument("--record", nargs="?", const="", metavar="FILE",
                        help="keep the result (default: compaction/results/A-against-B.json)")
    return parser.parse_args(argv)


def main(argv=None):
    args = arguments(argv)
    given = {"candidate": args.compactor or Path(args.contexts)}
    if args.against:  # a file of contexts or a result as a path, anything else as a compactor's name
        given["incumbent"] = Path(args.against) if args.against.endswith((".jsonl", ".json")) else args.against
    recorded = {side: read_report(what)["candidate"]
                for side, what in given.items()
                if isinstance(what, Path) and what.suffix == ".json"}
    names = [recorded[side]["compactor"]["name"] if side in recorded else getattr(what, "name", what)
             for side, what in given.items()]
    if args.record is not None:
        path = record_path(args.record, names)
    success = task_success(args.task_success, args.task_runs, args.task_drop)
    fixtures, counter = load_fixtures(args.fixtures), counter_of(args)
    setting = {"fixtures": fixtures, "budget": budget_of(args), "keep_share": args.keep_share,
               "gates": read_gates(args.gates) if args.gates else GATES, "judge": judge_of(args), "model": args.model,
               "manifest": args.tokenizer or tokenizer.MANIFEST, "counter": counter}
    refuse_control_tokens(fixtures, counter.control_token)
    extractive = {"candidate": args.extractive, "incumbent": args.against_extractive}
    sides = {side: recorded.get(side) or measured(what, setting, extractive[side]) for side, what in given.items()}
    report = {"candidate": sides.pop("candidate"), "task_success": success, "code": code_hashes(), **sides}
    if sides:
        report["comparison"] = comparison.compare(report["candidate"], report["incumbent"])
    print(table.render(report), file=sys.stderr)
    tell_ci("compaction.check", ci_checks(report, args.require), args.junit)
    if args.record is not None:
        record(path, report, names)
    sys.stdout.write(dump(report))
    return status(report, args.require)


def measured(what, setting, extractive):
    """One side of a report, for a compactor's name or a file of contexts, `extractive` or not."""
    fixtures, judge, counter = setting["fixtures"], setting["judge"], setting["counter"]
    left_out = {"unplaced": 0, "unannotated": 0}
    if isinstance(what, Path):
        contexts, left_out, sha256 = read_contexts(what, fixtures, counter.count)
        about = {"name": what.name, "extractive": extractive, "sha256": sha256}
    else:
        about = find_compactor(what, setting["model"], setting["manifest"])
        function = about.pop("function")
        contexts = [context
                    for fixture in progress(fixtures, desc=what, unit="conversation")
                    for context in grow(fixture, function, setting["budget"], counter.count, setting["keep_share"])]
        refuse_too_few(fixtures, contexts, what)
    waiting = progress(contexts, desc="check", unit="context")  # a judge may take a while

    def render(context):  # what another model's system left inside a turn was no request of this template's
        unread = context.get("inside") or context.get("opaque") or context.get("failed")
        return None if unread else rendered_texts(context["messages"], counter)

    items = decide_items(fixtures, waiting, about["extractive"], judge, render)
    if not any(item["verdicts"] for item in items):
        raise InputError(f"{what}: no item was stated before a compaction, so nothing was checked; use longer "
                         "conversations, a smaller budget or contexts of these conversations")
    contexts = [
        {"conversation_id": context["conversation_id"], "compaction": context["compaction"], "turn": context["turn"],
         "tokens": context["tokens"], **{field: bool(context.get(field)) for field in ("inside", "opaque", "failed")}}
        for context in contexts]
    limit = available({"budget": setting["budget"]})
    return {"compactor": about, "budget": setting["budget"], "available_input": limit,
            "keep_share": None if isinstance(what, Path) else setting["keep_share"], "gates": setting["gates"],
            "counter": counter.profile(), "manifest_sha256": file_hash(setting["manifest"]),
            "fixtures": {"conversations": len(fixtures), "items": len(items), "sha256": fixtures_hash(fixtures)},
            "judge": judge.about() if judge else None, "left_out": left_out,
            **summarize(items, contexts, limit, setting["gates"], judge_quality(judge.card) if judge else None),
            "contexts": contexts, "items": items}


def refuse_control_tokens(fixtures, control_token):
    """InputError where a text of a fixture holds a control token: the template would act on it."""
    for fixture in fixtures:
        for number, turn in enumerate(fixture["history"], 1):
            for text in turn_texts(turn):
                token = control_token(text)
                if token:
                    raise InputError(f"{fixture['conversation_id']}: turn {number}: holds the model's control token "
                                     f"{token!r}; write it otherwise")


def task_success(rate, runs, drop=None):
    """`resolution` of the user's own success rate, or None where none was given."""
    if rate is None and runs is None and drop is None:
        return None
    if rate is None or runs is None:
        raise InputError("--task-success and --task-runs go together, --task-drop with both; give them or none")
    try:
        return resolution(rate, runs, drop)
    except ValueError as error:
        raise InputError(str(error)) from None


def ci_checks(report, require):
    """What a CI system is told: the decision, each gated row, and each item that got worse, or was lost."""
    checks = [("decision", {0: "passed", 1: "failed", 3: "error"}[status(report, require)], table.decision(report))]
    states = {"met": "passed", "not worse": "passed", "missed": "failed", "worse": "failed", "undecided": "error"}
    if "comparison" in report:
        checks += [(row["name"], states[row["change"]], row["change"]) for row in report["comparison"]["rows"]]
        worse = [item for item in report["comparison"]["changed"] if item["candidate"] in ("absent", "contradicted")]
        gone = [
            (item, f"{item['incumbent']} -> {item['candidate']} at compaction {item['compaction']}") for item in worse]
    else:
        rows = [row for row in report["candidate"]["rows"] if row["gate"] is not None]
        checks += [(row["name"], states[row["state"]], row["state"]) for row in rows]
        gone = [(item, f"lost at compaction {lost_at(item)}") for item in report["candidate"]["items"] if lost_at(item)]
    checks += [(item["item"], "failed", f"{item['class']}: {told}") for item, told in gone]
    return [{"group": "compaction.check", "name": name, "state": state, "message": message}
            for name, state, message in checks]


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
