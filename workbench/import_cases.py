"""Make a case set for evaluate.py of LoCoMo, LongMemEval or one's own chat logs.

Run:  python -m workbench.import_cases locomo locomo10.json --budget 4096 > locomo.local.json
      python -m workbench.import_cases longmemeval longmemeval_s.json > longmemeval.local.json
      python -m workbench.import_cases chat traffic.jsonl --mask > traffic.local.json

Standard output is the case set in its larger form; what was repaired or left out is counted and listed on standard
error. A chat log has no labels: `python -m workbench.label_cases` adds them. Keep what you import out of commits
(.gitignore leaves out *.local.json and *.local.jsonl): it is other people's words.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from cases import check_set
from command import InputError, dump, read_json, read_jsonl, run_command
from workbench.chat_log import import_chat
from workbench.locomo import import_locomo
from workbench.longmemeval import import_longmemeval
from workbench.mask import mask_values
from workbench.terminal import visible

FIELDS = ("id", "split", "kind", "instructions", "current", "history", "budget", "required", "stale")
MAX_NEW_TOKENS = 256
SAID = [{"role": "user", "content": "The port is 80."}, {"role": "user", "content": "Which port?"}]
EXAMPLE = f"""\
example: echo '{json.dumps({"messages": SAID})}' > chat.local.jsonl
         python -m workbench.import_cases chat chat.local.jsonl > chat.local.json"""


def case_set(histories, cases, budget):
    """The larger form of a case set, every case with `budget` input tokens and its fields in reading order."""
    limits = {"context_limit": budget + MAX_NEW_TOKENS, "max_new_tokens": MAX_NEW_TOKENS, "margin": 0}
    ordered = [{field: {**case, "budget": limits}[field] for field in FIELDS} for case in cases]
    used = {case["history"] for case in cases}
    return {
        "format": 1,
        "histories": {name: turns for name, turns in histories.items() if name in used},
        "cases": ordered,
    }


def import_value(form, value, path, size):
    """(histories, cases, losses) of what a file in one of the three forms holds."""
    if form == "chat":
        return import_chat(value, path)
    if form == "longmemeval":
        return import_longmemeval(value, path)
    return import_locomo(value, path, size)


def tell(cases, losses, masked):
    """What came in and what did not, on standard error."""
    facts = sum(len(case["required"]) for case in cases)
    print(f"{len(cases)} cases with {facts} facts to find", file=sys.stderr)
    for kind, number in Counter(case["kind"] for case in cases).items():
        print(f"  {number} {visible(kind)}", file=sys.stderr)
    for what, number in Counter(loss["what"] for loss in losses).items():
        print(f"{number} times {what}:", file=sys.stderr)
        for loss in losses:
            if loss["what"] == what:
                print(f"  {visible(loss['where'])}: {visible(loss['detail'])}", file=sys.stderr)
    for what, number in masked.items():
        print(f"masked: {number} different {what}", file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("format", choices=("locomo", "longmemeval", "chat"))
    parser.add_argument("file", type=Path, help="the file as its authors publish it; for chat, JSON lines")
    parser.add_argument(
        "--budget", type=int, default=4096, metavar="N", help="input tokens a case (default %(default)s)"
    )
    parser.add_argument(
        "--mask", action="store_true", help="replace addresses and key-shaped strings by numbered marks"
    )
    parser.add_argument(
        "--utterances", type=int, default=2, metavar="N", help="LoCoMo's utterances a turn (default %(default)s)"
    )
    args = parser.parse_args(argv)
    if args.budget < 1 or args.utterances < 1:
        raise InputError("--budget and --utterances: a number from 1 on is wanted")
    value, masked = (read_jsonl if args.format == "chat" else read_json)(args.file), {}
    if args.mask:  # before anything is cut or compared, so that a fact and its turn change alike
        value, masked = mask_values(value)
    histories, cases, losses = import_value(args.format, value, args.file, args.utterances)
    if not cases:
        detail = f"; the first: {losses[0]['where']}: {losses[0]['detail']}" if losses else ""
        raise InputError(f"{args.file}: nothing in it could be imported{detail}")
    result = case_set(histories, cases, args.budget)
    if args.format != "chat":  # a chat log has no facts yet; workbench.label_cases checks the set that it writes
        check_set(result, args.file)
    text = dump(result)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{args.file}: a name holds half of a surrogate pair; write the whole character") from None
    sys.stdout.write(text)
    tell(cases, losses, masked)
    return 0


if __name__ == "__main__":
    run_command(main)
