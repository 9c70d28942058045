"""Grade recorded answers again, offline; record new ones; tell which facts were used; compare two recordings.

Run:  python answer_check.py
      python answer_check.py record --help

Without a command it grades answer-result.json: the grades as JSON on standard output, a table on standard error. That
needs no tokenizer and no model. `record` needs both.

Does not grade (answer_grade.py), speak to a server (answer_model.py) or keep a journal (answer_journal.py) itself.
"""

import argparse
import sys
from pathlib import Path

import answer_grade
from answer_keys import check_covered, read_keys, read_recording
from command import dump, run_command

HERE = Path(__file__).parent
RECORDING = HERE / "answer-result.json"
KEYS = HERE / "answer-keys.json"


def read_both(args):
    """The recording and the keys that the arguments name, checked against each other."""
    recording, keys = read_recording(args.recording), read_keys(args.keys)
    check_covered(recording, keys, args.keys)
    return recording, keys


def run_grade(args):
    """Print the report of the grades, and its table on standard error."""
    recording, keys = read_both(args)
    report = answer_grade.report(recording, keys, args.grader)
    sys.stdout.write(dump(report))
    print(answer_grade.table(report["summary"]), file=sys.stderr)
    return 0


def add_grading(parser):
    """The options of every command that grades."""
    parser.add_argument("--recording", type=Path, default=RECORDING, metavar="FILE",
                        help="recorded answers (default answer-result.json)")
    parser.add_argument("--keys", type=Path, default=KEYS, metavar="FILE", help="patterns (default answer-keys.json)")
    parser.add_argument("--grader", type=int, choices=sorted(answer_grade.GRADERS), default=1,
                        help="version of the rule: 1 as published, 2 reads negations and corrections (default 1)")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Example: python answer_check.py")
    add_grading(parser)
    parser.set_defaults(run=run_grade)
    args = parser.parse_args(argv)
    return args.run(args)


if __name__ == "__main__":
    run_command(main)
