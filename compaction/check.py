"""Check whether a compactor keeps what must survive, and whether a change to it is safe.

Run:  python -m compaction.check --compactor notes --against recent > result.local.json
The result is JSON on standard output, a table for a person on standard error.

Exit status  with --against: 0 safe, 1 blocked; without: 0 compliant, 1 not; --require compliant asks for both.
             2 could not run; 3 not comparable, or not decided.
Does not decide anything itself: growth.py compacts, items.py checks, gates.py and comparison.py decide, table.py shows,
result_file.py keeps.
"""

import argparse
import sys
from pathlib import Path

import tokenizer
from base.own_code import source_hash
from base.stats import resolution
from base.turns import turn_texts
from strategies import available

from base.command import InputError, dump, progress, run_command, write_json
from compaction import comparison, table
from compaction.contexts import read_contexts
from compaction.fixtures.form import load_fixtures
from compaction.gates import GATES, read_gates
from compaction.growth import BUDGET, KEEP_SHARE, grow, too_few
from compaction.judge.asking import judge_quality
from compaction.measure import decide_items, summarize
from compaction.options import add_budget, add_fixtures, add_judge, budget_of, find_compactor, judge_of
from compaction.result_file import code_hashes, fixtures_hash, packed, read_result, record_path


def arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python -m compaction.check --compactor notes --against recent > result.local.json",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compactor", metavar="NAME", help="recent, notes, ledger, summary or module:function")
    what.add_argument(
        "--contexts", type=Path, metavar="FILE", help="contexts (JSON lines) that another system recorded")
    parser.add_argument(
        "--against", metavar="B", help="the incumbent: a compactor, contexts (.jsonl) or a recorded result (.json)")
    add_fixtures(parser)
    add_budget(parser, BUDGET, KEEP_SHARE)
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
    parser.add_argument("--record", nargs="?", const="", metavar="FILE",
                        help="keep the result (default: compaction/results/A-against-B.json)")
    return parser.parse_args(argv)


def main(argv=None):
    args = arguments(argv)
    if args.record and not Path(args.record).absolute().parent.is_dir():  # not after an hour of a judge's answers
        raise InputError(f"{args.record}: there is no such folder to record in; make it or name another file")
    success = task_success(args.task_success, args.task_runs, args.task_drop)
    fixtures = load_fixtures(args.fixtures)
    setting = {"fixtures": fixtures, "budget": budget_of(args), "keep_share": args.keep_share,
               "gates": read_gates(args.gates) if args.gates else GATES, "judge": judge_of(args), "model": args.model}
    counter = tokenizer.counter()
    refuse_control_tokens(fixtures, counter.control_token)
    report = {"candidate": measured(args.compactor or args.contexts, setting, counter, args.extractive),
              "task_success": success, "code": code_hashes()}
    if args.against:
        report["incumbent"] = measured(against(args.against), setting, counter, args.against_extractive)
        report["comparison"] = comparison.compare(report["candidate"], report["incumbent"])
    print(table.render(report), file=sys.stderr)
    if args.record is not None:
        write_json(record_path(args.record, report), packed(report))
    sys.stdout.write(dump(packed(report)))
    return status(report, args.require)


def against(text):
    """What --against names: a file of contexts or a result as a path, anything else as a compactor's name."""
    return Path(text) if text.endswith((".jsonl", ".json")) else text


def measured(what, setting, counter, extractive):
    """The result for a compactor's name, a file of contexts (`extractive` or not) or a recorded result."""
    if isinstance(what, Path) and what.suffix == ".json":
        return read_result(what)
    fixtures, judge = setting["fixtures"], setting["judge"]
    left_out = {"unplaced": 0, "unannotated": 0}
    if isinstance(what, Path):
        contexts, left_out = read_contexts(what, fixtures, counter.count)
        about = {"name": what.name, "extractive": extractive, "sha256": source_hash(what)}
    else:
        about = find_compactor(what, setting["model"])
        function = about.pop("function")
        contexts = [one
                    for fixture in progress(fixtures, desc=what, unit="conversation")
                    for one in grow(fixture, function, setting["budget"], counter.count, setting["keep_share"])]
        refuse_too_few(fixtures, contexts, what)
    waiting = progress(contexts, desc="check", unit="context")  # a judge may take a while
    decisions = decide_items(fixtures, waiting, about["extractive"], judge)
    if not decisions:
        raise InputError(f"{what}: no item was stated before a compaction, so nothing was checked; use longer "
                         "conversations, a smaller budget or contexts of these conversations")
    found = summarize(fixtures, contexts, decisions, setting["budget"], setting["gates"])
    for row in found["rows"]:
        if row.get("judged"):
            row["judge"] = judge_quality(judge.card)
    return {"compactor": about, "budget": setting["budget"],
            "available_input": available({"budget": setting["budget"]}),
            "keep_share": None if isinstance(what, Path) else setting["keep_share"], "gates": setting["gates"],
            "counter": counter.profile(), "manifest_sha256": source_hash(tokenizer.MANIFEST),
            "fixtures": {"conversations": len(fixtures), "items": sum(len(one["must_survive"]) for one in fixtures),
                         "sha256": fixtures_hash(fixtures)},
            "judge": judge.about() if judge else None, "left_out": left_out, **found}


def refuse_too_few(fixtures, contexts, what):
    """InputError where a conversation compacted less often than its fixture expects: its items were hardly tested."""
    short = too_few(fixtures, contexts)
    if short:
        raise InputError(f"{what}: compacted less often than the fixtures expect: {'; '.join(short)}; use a smaller "
                         "budget or lower compactions_expected")


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
