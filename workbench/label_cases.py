"""Label an imported case set in the terminal: which statements of the history does each answer depend on?

Run:  python -m workbench.label_cases traffic.local.json labelled.local.json

For each case the question is shown with numbered candidates: sentences of the history that share rare words with it,
then the newest others. Every answer is kept at once in a journal beside the output; stopped at any point, the same
command goes on where it was. The output is written when you stop or finish, with the cases that have a required fact;
the rest are counted. --help tells what can be answered.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from pathlib import Path

from base.shapes import FACT, Each, misfit
from base.shown import one_line
from modelkit.retrieval import Bm25Index
from modelkit.segments import split_sentences
from selection.cases import check_set
from strategies import turn_messages

from base.command import InputError, dump, parse_json, read_json, read_text, run_command, write_json

ANSWERS = """\
answers  1 4      these are required          s 2     this one is stale (replaced later)
         /words   other candidates, by words  t 3     show the whole turn of candidate 3
         n        nothing to find: leave the case out       u  undo the case before       q  stop, all is kept

example: echo '{"messages": [{"role": "user", "content": "Port 80."}, {"role": "user", "content": "Which?"}]}' \\
         > chat.local.jsonl
         python -m workbench.import_cases chat chat.local.jsonl > chat.local.json
         python -m workbench.label_cases chat.local.json labelled.local.json
"""
TURN = {"id": str, "user": str, "assistant": str, "messages?": [{"role": str, "content": str}]}
CASE = {"id": str, "current": str, "history": str, "required": [FACT], "stale": [FACT]}
UNLABELLED = {"histories": Each([TURN]), "cases": [CASE]}
CANDIDATES, WIDTH = 9, 160
HELP = "numbers: required; s N: stale; /words: search; t N: whole turn; n: nothing; u: undo; q: stop; Enter: next"


def sentences(history):
    """[{"turn", "role", "text"}]: every sentence of a history, found again by exact text in its message."""
    found = []
    for turn in history:
        for message in turn_messages(turn):
            for line in (message.get("content") or "").split("\n"):
                found += [{"turn": turn["id"], "role": message["role"], "text": text}
                          for text in split_sentences(line)
                          if text.strip() and text in line]
    return found


def candidates(known, words, fill=True):
    """At most CANDIDATES of the sentences `known`, by BM25 of `words`, best first; `fill`: then the newest others."""
    scores = Bm25Index([one["text"] for one in known]).scores(words)
    best = sorted((place for place, score in scores.items() if score > 0), key=lambda place: (-scores[place], -place))
    others = [place for place in range(len(known) - 1, -1, -1) if place not in set(best)] if fill else []
    return [known[place] for place in [*best, *others][:CANDIDATES]]


def read_answer(text, shown):
    """What an answer means: ("required" | "stale", [facts]), ("search", words), ("turn", number), or a single word.

    InputError, worded for the person at the terminal, for anything else.
    """
    text = text.strip()
    if text in ("", "n", "u", "q"):
        return {"": "next", "n": "nothing", "u": "undo", "q": "stop"}[text], None
    if text.startswith("/") and text[1:].strip():
        return "search", text[1:].strip()
    kind, numbers = ("stale", text[1:]) if re.match(r"s\s*\d", text) else ("required", text)
    if re.match(r"t\s*\d", text):
        kind, numbers = "turn", text[1:]
    if not re.fullmatch(r"[\d\s,]+", numbers):
        raise InputError(HELP)
    chosen = [int(number) for number in re.findall(r"\d+", numbers)]
    if not chosen or not all(1 <= number <= len(shown) for number in chosen):
        raise InputError(f"numbers from 1 to {len(shown)}")
    if kind == "turn":
        return kind, shown[chosen[0] - 1]
    return kind, [
        {"turn": shown[number - 1]["turn"], "text": shown[number - 1]["text"]} for number in dict.fromkeys(chosen)]


def label(case, history, ask, say):
    """Walk one case: {"required", "stale"} as chosen, or "undo" or "stop"."""
    chosen = {"required": list(case["required"]), "stale": list(case["stale"])}
    known = sentences(history)
    shown = candidates(known, case["current"])
    say(f"\n{one_line(case['id'])}\nquestion: {one_line(case['current'], 600)}")
    show(shown, say)
    while True:
        try:
            kind, value = read_answer(ask("> "), shown)
        except InputError as error:
            say(str(error))
            continue
        if kind in ("undo", "stop"):
            return kind
        if kind == "nothing":
            return {"required": [], "stale": []}
        if kind == "next" and chosen["required"]:
            return chosen
        if kind == "next":
            say("no required fact yet; n leaves the case out")
        elif kind == "turn":
            turn = next(one for one in history if one["id"] == value["turn"])
            for message in turn_messages(turn):
                say(f"  {message['role']}: {one_line(message.get('content') or '', 4000)}")
        elif kind == "search":
            found = candidates(known, value, fill=False)
            shown = found or shown
            if not found:
                say("no sentence has such a word; the candidates stay")
            show(shown, say)
        else:
            other = "stale" if kind == "required" else "required"
            chosen[kind] += [fact for fact in value if fact not in chosen[kind]]
            chosen[other] = [fact for fact in chosen[other] if fact not in value]
            say(f"  {len(chosen['required'])} required, {len(chosen['stale'])} stale; Enter goes on")


def show(shown, say):
    """The numbered candidates."""
    for number, one in enumerate(shown, 1):
        say(f"  {number}  turn {one_line(one['turn'])}, {one['role']}: {one_line(one['text'], WIDTH)}")


def read_set(path):
    """An unlabelled case set of the larger form, its turns all with ids, or InputError."""
    value = read_json(path)
    problem = misfit(value, UNLABELLED, "the set")
    if problem:
        raise InputError(f"{path}: not as workbench.import_cases writes it: {problem}; import it again")
    for case in value["cases"]:
        if not sentences(value["histories"].get(case["history"], [])):
            raise InputError(
                f"{path}: case {case['id']!r}: no history with words is named {case['history']!r}; correct it")
    check_set({**value, "cases": [labelled_case(case, value) for case in value["cases"]]}, path)
    return value


def labelled_case(case, value):
    """A case that the loader takes although nothing is labelled yet: its first sentence stands as a fact."""
    case = {field: inner for field, inner in case.items() if field != "reply"}
    if case["required"]:
        return case
    first = sentences(value["histories"][case["history"]])[0]
    return {**case, "required": [{"turn": first["turn"], "text": first["text"]}], "stale": []}


def read_journal(path, set_hash):
    """({case id: labels}, {hash of each output written}) of the journal, empty where there is none yet.

    A torn last line is left out.
    InputError for a journal of another set: its labels would name other turns.
    """
    if not path.exists():
        return {}, set()
    lines = read_text(path).split("\n")
    entries = [parse_json(line, f"{path}: line {number}") for number, line in enumerate(lines[:-1], 1) if line.strip()]
    if entries and entries[0] != {"set_sha256": set_hash}:
        raise InputError(f"{path}: belongs to another case set; move it away or label into another file")
    done, written = {}, set()
    for entry in entries[1:]:
        if "written_sha256" in entry:
            written.add(entry["written_sha256"])
        elif entry["labels"] is None:
            done.pop(entry["case"], None)
        else:
            done[entry["case"]] = entry["labels"]
    return done, written


def check_out(path, written):
    """InputError where the output exists and is not what this command wrote: a wrong name, or corrected by hand."""
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() not in written:
        raise InputError(f"{path}: exists and is not as this command left it; name another file, or move it away")


def append(path, entry):
    """One entry at the end of the journal, on the disk before this returns."""
    try:
        with open(path, "ab+") as file:
            cut_torn_line(file)
            file.write((json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; give a file in a folder that exists") from None


def cut_torn_line(file):
    """Take off what stands after the last line feed: an entry that a crash cut short, whose case is asked again."""
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    if whole != file.tell():
        file.truncate(whole)


def walk(value, journal, done, ask, say):
    """Label the cases that are not done until all are or the person stops; each is kept in the journal at once."""
    cases, place, order = value["cases"], 0, list(done)
    while place < len(cases):
        case = cases[place]
        if case["id"] in done:
            place += 1
            continue
        say(f"\n[{len(done) + 1} of {len(cases)}] {HELP}")
        answer = label(case, value["histories"][case["history"]], ask, say)
        if answer == "stop":
            return
        if answer == "undo":
            if order:
                last = order.pop()
                append(journal, {"case": last, "labels": None})
                del done[last]
                place = 0
            continue
        append(journal, {"case": case["id"], "labels": answer})
        done[case["id"]] = answer
        order.append(case["id"])


def result(value, done):
    """The labelled set: the cases with a required fact, and the histories they use."""
    cases = [{**labelled_case(case, value), **done[case["id"]]} for case in value["cases"] if done.get(case["id"], {}).get("required")]
    used = {case["history"] for case in cases}
    return {**value, "histories": {name: turns for name, turns in value["histories"].items() if name in used},
            "cases": cases}


def finish(value, done, out, journal):
    """Write the labelled set, if any case is labelled, and say how far the work is."""
    made = result(value, done)
    if made["cases"]:
        check_set(made, out)
        append(journal, {"written_sha256": hashlib.sha256(dump(made).encode("utf-8")).hexdigest()})
        write_json(out, made)
    print(f"{len(made['cases'])} cases labelled, {len(done) - len(made['cases'])} left out, "
          f"{len(value['cases']) - len(done)} to do; {out if made['cases'] else 'nothing'} written",
          file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=ANSWERS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="case set to be labelled, as workbench.import_cases chat writes it")
    parser.add_argument("out", type=Path, help="where the labelled set goes; the journal stands beside it")
    args = parser.parse_args(argv)
    value = read_set(args.cases)
    journal = args.out.with_name(args.out.name + ".journal.jsonl")
    set_hash = hashlib.sha256(args.cases.read_bytes()).hexdigest()
    done, written = read_journal(journal, set_hash)
    check_out(args.out, written)
    if not journal.exists() or not journal.read_bytes():
        append(journal, {"set_sha256": set_hash})

    def ask(prompt):
        try:
            return input(prompt)
        except EOFError:
            return "q"

    try:
        walk(value, journal, done, ask, print)
    finally:  # also when stopped by Ctrl-C: what is labelled so far is written
        finish(value, done, args.out, journal)
    return 0


if __name__ == "__main__":
    run_command(main)
