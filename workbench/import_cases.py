"""Make a case set for evaluate.py of LoCoMo, LongMemEval or one's own chat logs.

Run:  python -m workbench.import_cases locomo locomo10.json --budget 4096 > locomo.local.json
      python -m workbench.import_cases longmemeval longmemeval_s.json > longmemeval.local.json
      python -m workbench.import_cases chat traffic.local.jsonl --mask > traffic.local.json

Standard output is the case set in its larger form; what was repaired or left out is counted and listed on standard
error. Turns that hold the model's control tokens are left out too: no request could hold them. A chat log has no
labels: `python -m workbench.label_cases` adds them. Keep what you import out of commits (.gitignore leaves out
*.local.*): it is other people's words.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from base.mask import mask_values
from base.shown import one_line
from base.turns import texts_in
from selection.cases import check_set
from tokenizer import TokenizerError, counter

from base.command import InputError, dump, read_json, read_jsonl, run_command
from workbench.chat_log import import_chat
from workbench.locomo import import_locomo
from workbench.longmemeval import import_longmemeval

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
    return {"format": 1, "histories": {name: turns for name, turns in histories.items() if name in used},
            "cases": ordered}


def import_value(form, value, path, size):
    """(histories, cases, losses) of what a file in one of the three forms holds."""
    if form == "chat":
        return import_chat(value, path)
    if form == "longmemeval":
        return import_longmemeval(value, path)
    return import_locomo(value, path, size)


def without_control(histories, cases, control_token):
    """(histories, cases, losses) without turns and questions that hold a control token: no request could hold them.

    control_token  text -> the first control token of the model in it, or None
    """
    kept, gone, losses = {}, set(), []

    def lose(what, where, token):
        losses.append({"what": what, "where": where, "detail": f"holds the model's control token {token}"})

    for name, turns in histories.items():
        found = {turn["id"]: control_token("\n".join(texts_in(list(turn.values()))[0])) for turn in turns}
        gone |= {(name, turn) for turn, token in found.items() if token}
        for turn, token in found.items():
            if token:
                lose("turn left out", f"{name} {turn}", token)
        kept[name] = [turn for turn in turns if not found[turn["id"]]]
    left = []
    for case in cases:
        token = control_token("\n".join((case["instructions"], case["current"])))
        lost = [fact["turn"] for fact in case["required"] if (case["history"], fact["turn"]) in gone]
        if token:
            lose("question left out", case["id"], token)
        elif lost or not kept[case["history"]]:
            detail = f"turn {lost[0]}, which it needs, is left out" if lost else "no turn of its history is left"
            losses.append({"what": "question left out", "where": case["id"], "detail": detail})
        else:
            left.append(case)
    return kept, left, losses


def check_some(cases, losses, path):
    """InputError, with the first thing that was lost, where no case is left."""
    if not cases:
        detail = f"; the first: {losses[0]['where']}: {losses[0]['detail']}" if losses else ""
        raise InputError(f"{path}: nothing in it could be imported{detail}")


def control_tokens():
    """(text -> its first control token or None, why it cannot tell or None) of the prepared tokenizer."""
    try:
        return counter().control_token, None
    except TokenizerError as error:
        return lambda text: None, str(error)


def tell(cases, losses, masked):
    """What came in and what did not, on standard error."""
    facts = sum(len(case["required"]) for case in cases)
    print(f"{len(cases)} cases with {facts} facts to find", file=sys.stderr)
    for kind, number in Counter(case["kind"] for case in cases).items():
        print(f"  {number} {one_line(kind)}", file=sys.stderr)
    for what, number in Counter(loss["what"] for loss in losses).items():
        print(f"{number} times {what}:", file=sys.stderr)
        for loss in losses:
            if loss["what"] == what:
                print(f"  {one_line(loss['where'])}: {one_line(loss['detail'])}", file=sys.stderr)
    for what, number in masked.items():
        print(f"masked: {number} different {what}", file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=EXAMPLE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=("locomo", "longmemeval", "chat"))
    parser.add_argument("file", type=Path, help="the file as its authors publish it; for chat, JSON lines")
    parser.add_argument(
        "--budget", type=int, default=4096, metavar="N", help="input tokens a case (default %(default)s)")
    parser.add_argument(
        "--mask", action="store_true", help="replace addresses and key-shaped strings by numbered marks")
    parser.add_argument(
        "--utterances", type=int, default=2, metavar="N", help="LoCoMo's utterances a turn (default %(default)s)")
    args = parser.parse_args(argv)
    if args.budget < 1 or args.utterances < 1:
        raise InputError("--budget and --utterances: a number from 1 on is wanted")
    value, masked = (read_jsonl if args.format == "chat" else read_json)(args.file), {}
    if args.mask:  # before anything is cut or compared, so that a fact and its turn change alike
        value, masked = mask_values(value)
    histories, cases, losses = import_value(args.format, value, args.file, args.utterances)
    check_some(cases, losses, args.file)
    result = case_set(histories, cases, args.budget)
    if args.format != "chat":  # a chat log has no facts yet; workbench.label_cases checks the set that it writes
        check_set(result, args.file)
    control_token, unknown = control_tokens()
    histories, cases, found = without_control(result["histories"], result["cases"], control_token)
    check_some(cases, losses + found, args.file)
    text = dump(case_set(histories, cases, args.budget))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{args.file}: a name holds half of a surrogate pair; write the whole character") from None
    sys.stdout.write(text)
    tell(cases, losses + found, masked)
    if unknown:
        print(f"not checked for the model's control tokens, which evaluate.py refuses: {unknown}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
