"""Measure what selecting costs, each figure as a ratio taken in one run, with peak memory.

Run:  python -m workbench.bench > bench.local.json              all of it: about fifteen minutes
      python -m workbench.bench --parts selection,start --turns 50,200,600

Parts  selection  our rules against the floor (every distinct message tokenised once with encode_batch, nothing else),
                  against the plain way (every candidate rendered and tokenised) and against langchain's trim_messages
                  given the same exact counter (pip install -r workbench/requirements-bench.txt)
       sets       whole runs over a generated set in the shape of LoCoMo, all selectors, on one and two processes
       start      evaluate.py on the twelve cases against verifying and loading the tokenizer
       near       indexing and asking with `near`
       choose     a program's call of choose_messages on a chat of 2,000 turns, its tokenizer warm
       signals    compaction.signals over a generated log

Each measurement has a process of its own: it starts cold, and its peak memory is its own. Cold means that no message
was tokenised before, warm that the same question was asked just before. Seconds are of this machine; ratios carry
over better. Prints JSON on standard output, a table on standard error.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tokens.manifest import MANIFEST, folder, read_manifest, verify

from base.command import InputError, dump, run_command, whole_numbers
from workbench import bench_parts
from workbench.bench_set import case_set

BUDGET = 16384
TURNS = (50, 200, 600, 2000, 5000, 10000)
PEERS_UP_TO = 2000  # turns: beyond, the plain way would take hours
LONGEST = 10000
BUDGETS = (1024, 4096, 16384)
PARTS = ("selection", "sets", "start", "near", "choose", "signals")


def alone(function, *arguments):
    """The function's result from a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()


def tell(line):
    print(line, file=sys.stderr, flush=True)


def measure_selection(turns, peers):
    """Rows of our rules at each number of turns, with the ratios to the floor and, where asked, to the peers."""
    rows = []
    tell(f"{'turns':>6}  {'rule':9}{'cold s':>9}{'warm s':>9}{'floor s':>9}{'cold/floor':>11}{'plain/cold':>11}"
         f"{'langchain/cold':>15}  peak MB")
    for number in turns:
        for name in ("recent", "relevant", "notes", "hybrid"):
            row = alone(bench_parts.selection, name, number, BUDGET)
            if peers and number <= PEERS_UP_TO and name in ("recent", "relevant"):
                row.update(alone(bench_parts.plain_way, name, number, BUDGET))
                if row["plain_turns"] != row["turns_chosen"]:
                    raise RuntimeError(f"{name} at {number} turns: the plain way chose other turns")
                row["plain_over_cold"] = round(row["plain_s"] / row["cold_s"], 1)
                if name == "recent":
                    row.update(alone(bench_parts.langchain, number, BUDGET))
                    if row["langchain_s"] is not None:
                        row["langchain_over_cold"] = round(row["langchain_s"] / row["cold_s"], 1)
            row.pop("plain_turns", None)
            row["turns_chosen"] = len(row["turns_chosen"])
            rows.append(row)
            tell(f"{number:6}  {name:9}{row['cold_s']:9.3f}{row['warm_s']:9.4f}{row['floor_s']:9.3f}"
                 f"{row['cold_over_floor']:11.2f}{row.get('plain_over_cold', '-'):>11}"
                 f"{row.get('langchain_over_cold', '-'):>15}  {row['peak_mb']}")
    return rows


def measure_sets(questions):
    """Rows of whole runs over a generated set, at each budget, on one and on two processes."""
    rows = []
    tell(f"{'budget':>6}{'questions':>10}{'load s':>8}{'1 process s':>12}{'2 processes s':>14}{'1/2':>6}{'floor s':>9}"
         f"{'limit s':>9}  peak MB")
    with tempfile.TemporaryDirectory() as folder:
        path = case_set(Path(folder, "set.json"), questions)
        for budget in BUDGETS:
            row = alone(bench_parts.whole_set, str(path), budget)
            rows.append(row)
            tell(
                f"{budget:6}{row['questions']:10}{row['load_s']:8.2f}{row['one_process_s']:12.2f}{row['two_processes_s']:14.2f}"
                f"{row['one_over_two']:6.2f}{row['floor_s']:9.2f}{row['limit_s']:9.2f}  {row['peak_mb']}"
            )
    return rows


def measure_one(function, *arguments):
    """One row, told as it is."""
    row = alone(function, *arguments)
    tell("  ".join(f"{name} {value}" for name, value in row.items()))
    return row


def at_least_one(text):
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def check_prepared():
    """InputError where the tokenizer is not there to be measured with."""
    problems = verify(folder(), read_manifest(MANIFEST))
    if problems:
        raise InputError(f"{problems[0]}; run: python prepare.py")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python -m workbench.bench --parts selection --turns 50,200 --no-peers > bench.local.json",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, of %(default)s")
    parser.add_argument("--turns", type=whole_numbers, default=TURNS, help="lengths of history")
    parser.add_argument("--questions", type=at_least_one, default=1982, help="questions of the generated set")
    parser.add_argument("--events", type=at_least_one, default=1_000_000, help="events of the generated log")
    parser.add_argument("--no-peers", action="store_true", help="leave out the slow ones: the plain way, langchain")
    arguments = parser.parse_args(argv)
    parts = arguments.parts.split(",")
    if not set(parts) <= set(PARTS):
        raise InputError(f"--parts: {arguments.parts!r}; name some of {', '.join(PARTS)}")
    if set(parts) != {"signals"}:
        check_prepared()
    result = {"machine": bench_parts.machine()}
    for part in parts:
        tell(f"\n{part}")
        if part == "selection":
            result[part] = measure_selection(arguments.turns, not arguments.no_peers)
        elif part == "sets":
            result[part] = measure_sets(arguments.questions)
        elif part == "start":
            result[part] = measure_one(bench_parts.start)
        elif part == "near":
            result[part] = measure_one(bench_parts.near, LONGEST)
        elif part == "choose":
            result[part] = measure_one(bench_parts.choose, PEERS_UP_TO, BUDGET)
        else:
            result[part] = measure_one(bench_parts.signals, arguments.events)
    sys.stdout.write(dump(result))
    return 0


if __name__ == "__main__":
    run_command(main)
