"""Make a case set for evaluate.py of LoCoMo, LongMemEval or one's own chat logs.

Run:  echo '[{"role": "user", "content": "Port 80."}, {"role": "user", "content": "Which port?"}]' > chat.local.json
      python -m workbench.import_cases chat chat.local.json > cases.local.json

Standard output is the case set in its larger form; what was repaired or left out is counted and listed on standard
error. Left out too is what no request could hold: turns with the model's control tokens, questions over the budget.
LoCoMo and LongMemEval are read from their authors' files. A chat log has no labels: `python -m workbench.label_cases`
adds them, and shows the reply that was given, which the set keeps until then. Keep what you import out of commits
(.gitignore leaves out *.local.*): it is other people's words.
"""

import sys
from collections import Counter
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, read_json, run_command
from base.mask import Masks
from base.shapes import texts_in
from base.shown import one_line
from selection.cases import CaseError, check_requests, check_set
from selection.reporting import tell
from tokenizer import TokenizerError, counter
from tokens.manifest import MANIFEST
from workbench.chat_log import import_chat, read_log
from workbench.published_sets import import_locomo, import_longmemeval

FIELDS = ("id", "split", "kind", "instructions", "current", "history", "budget", "required", "stale", "reply")
MAX_NEW_TOKENS = 256
UNCHECKED = "control tokens and long questions, which evaluate.py refuses, were not looked for"


def case_set(histories, cases, budget=0):
    """The larger form of a case set, fields in reading order; `budget`: input tokens of cases that have none yet."""
    limits = {"context_limit": budget + MAX_NEW_TOKENS, "max_new_tokens": MAX_NEW_TOKENS, "margin": 0}
    used = {case["history"] for case in cases}
    cases = [{"budget": limits, **case} for case in cases]
    return {"format": 1, "histories": {name: turns for name, turns in histories.items() if name in used},
            "cases": [{field: case[field] for field in FIELDS if field in case} for case in cases]}


def that_fit(made, count, losses):
    """A case set without what no request could hold: control tokens of the model, questions over their budget."""
    kept, left, gone = {}, [], set()
    for name, turns in made["histories"].items():
        kept[name] = []
        for turn in turns:
            if token := count.control_token("\n".join(texts_in(turn))):
                gone.add((name, turn["id"]))
                losses.append(("turn left out", f"{name} {turn['id']}", f"holds the model's control token {token}"))
            else:
                kept[name].append(turn)
    for case in progress(made["cases"], desc="cases"):
        lost = [fact["turn"] for fact in case["required"] if (case["history"], fact["turn"]) in gone]
        problem = f"turn {lost[0]}, which it needs, is left out" if lost else None
        if not (problem or kept[case["history"]]):
            problem = "no turn of its history is left"
        try:
            check_requests([{**case, "history": [], "required": [], "stale": []}], count, "")
        except CaseError as error:
            problem = problem or error.problem
        if problem:
            losses.append(("question left out", case["id"], problem))
        else:
            left.append(case)
    return case_set(kept, left)


def check_some(made, losses, path):
    """InputError, with the first thing that was lost, where a set has no case."""
    if not made["cases"]:
        detail = f"; the first: {losses[0][1]}: {losses[0][2]}" if losses else ""
        raise InputError(f"{path}: nothing in it could be imported{detail}")


def loss_lines(cases, losses, masked):
    """What came in and what did not, as lines."""
    yield f"{len(cases)} cases with {sum(len(case['required']) for case in cases)} facts to find"
    yield from (f"  {number} {kind}" for kind, number in Counter(case["kind"] for case in cases).items())
    for kind, number in Counter(what for what, _, _ in losses).items():
        yield f"{kind}: {number}"
        yield from (f"  {where}: {one_line(detail, 300)}" for what, where, detail in losses if what == kind)
    yield from (f"masked: {number} different {what}" for what, number in masked.items())


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("format", choices=("locomo", "longmemeval", "chat"))
    parser.add_argument("file", type=Path, help="the file as its authors publish it; of a chat, JSON lines or a list")
    parser.add_argument("--budget", type=int, default=4096, metavar="N", help="input tokens a case (%(default)s)")
    parser.add_argument("--question", choices=("last", "all"), default="last",
                        help="which user messages of a chat become cases (%(default)s); all make a large set")
    parser.add_argument("--mask", action="store_true", help="replace addresses and keys by numbered marks")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST", help="another model's manifest")
    args = parser.parse_args(argv)
    if args.budget < 1:
        raise InputError(f"--budget {args.budget}: give a number from 1")
    value, losses = read_log(args.file) if args.format == "chat" else (read_json(args.file), [])
    masks, unchecked = Masks(), []
    if args.mask:  # before anything is cut or compared, so that a fact and its turn change alike
        value = masks.value(value)
    if args.format == "chat":
        histories, cases = import_chat(value, losses, every=args.question == "all")
    else:
        importer = import_locomo if args.format == "locomo" else import_longmemeval
        histories, cases = importer(value, args.file, losses)
    made = case_set(histories, cases, args.budget)
    try:
        made = that_fit(made, counter(args.tokenizer), losses)
    except TokenizerError as error:
        unchecked = [f"{UNCHECKED}: {error}"]
    check_some(made, losses, args.file)
    if args.format != "chat":  # a chat log has no facts yet; workbench.label_cases checks the set that it writes
        check_set(made, args.file)
    sys.stdout.write(dump(made))
    tell([*loss_lines(made["cases"], losses, masks.counts()), *unchecked], limit=None)
    return 0


if __name__ == "__main__":
    run_command(main)
