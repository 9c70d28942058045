"""Label an imported case set in the terminal: which statements of the history does each answer depend on?

Run:  echo '[{"role": "user", "content": "Port 80."}, {"role": "user", "content": "Which port?"}]' > chat.local.json
      python -m workbench.import_cases chat chat.local.json > cases.local.json
      python -m workbench.label_cases cases.local.json labelled.local.json

For each case the question is shown, with the reply that was given, and numbered candidates: sentences of the history
that share rare words with the question, then the newest others; an equal sentence once, with its turns. Every answer is
kept at once in a journal beside the output; stopped at any point, the same command goes on where it was. The output is
written when you stop or finish, with the cases that have a required fact; an earlier output is kept beside it.
A log that has grown is imported anew and labelled with --labels OLD: a case whose history and question are as they were
in the labelled set OLD keeps its labels. --help tells what can be answered.
"""

import json
import re
import sys
from pathlib import Path

from base import command
from base.command import InputError, dump, make_parser, read_json, run_command, sha256
from base.lines import LineFile, read_lines
from base.shapes import FACT, NONE, Each, misfit
from base.shown import columns, one_line
from modelkit.retrieval import Bm25Index
from modelkit.segments import split_sentences
from selection.cases import check_requests, check_set, load_cases
from selection.retrievers import best_first, then_newest
from strategies import turn_messages
from tokenizer import TokenizerError, counter
from tokens.manifest import MANIFEST
from workbench.import_cases import UNCHECKED

ANSWERS = """\
answers  1 4      these are required          s 2     this one is stale (replaced later)
         d 1      take mark 1 back            t 3     show the last turn of candidate 3, whole
         /words   other candidates, by words  Enter   on to the next case
         n        nothing to find: leave the case out       u  undo the case before       q  stop, all is kept
         Of a sentence that stands in several turns its last is required, and all are stale.

"""
HELP = "numbers: required; s N: stale; d N: drop mark N; /words: search; t N: whole turn; n: nothing; u: undo; q: stop"
TURN = {"id": str, "user": str, "assistant": str, "messages?": [{"role": str, "content": str}]}
LABELS = {"required": [FACT], "stale": [FACT]}
CASE = {"id": str, "current": str, "history": str, "reply?": str, **LABELS}
UNLABELLED = {"histories": Each([TURN]), "cases": [CASE]}
ENTRIES = ({"set_sha256": str}, {"written_sha256": str}, {"case": str, "labels": (LABELS, NONE), "key?": str},
           {"case": str, "marks": LABELS})
WORDS = {"": "next", "n": "nothing", "u": "undo", "q": "stop"}
JOURNAL = ".journal.jsonl"  # behind the name of the output, beside it
CANDIDATES, WIDTH, LONG = 9, 160, 1000
ORDINAL = re.compile(r"(?i)\b(?:am|ab|im|vom|zum|zur|beim?|bis|seit|und|d(?:er|ie|as|en|em|es)) +\d{1,3}\.$")


def sentences(history):
    """[{"text", "turns", "role"}]: each sentence of a history once, by its last place, as it stands in its messages.

    turns  ids of the turns that hold it; role: who said it last
    """
    known = {}
    for turn in history:
        for message in turn_messages(turn):
            for text in [text for line in message["content"].split("\n") for text in pieces(line)]:
                turns = known.pop(text, {"turns": {}})["turns"] | {turn["id"]: True}
                known[text] = {"text": text, "turns": turns, "role": message["role"]}
    return [{**sentence, "turns": list(sentence["turns"])} for sentence in known.values()]


def pieces(line):
    """The sentences of a line as they stand in it; ordinals end none: "am 3. Mai kommt er. Ja." has two."""
    starts, end = [], 0
    for text in split_sentences(line):
        before = line[starts[-1] : end] if starts else ""
        begin = line.index(text, end)
        if not (ORDINAL.search(before) or text[0].islower() and re.search(r"\b\d{1,3}\.$", before)):
            starts.append(begin)
        end = begin + len(text)
    return [line[begin:following].strip() for begin, following in zip(starts, [*starts[1:], end])]


def candidates(known, words, fill=True):
    """At most CANDIDATES of the sentences `known`, by BM25 of `words`, best first; `fill`: then the newest others."""
    order = best_first(Bm25Index([sentence["text"] for sentence in known]).scores(words))
    return [known[place] for place in (then_newest(order, len(known)) if fill else order)[:CANDIDATES]]


def read_answer(text, shown, marks):
    """What an answer means: ("required" | "stale" | "drop", [facts]), ("search", words), ("turn", id), (a word, None).

    shown  the numbered candidates; marks: the numbered facts marked so far
    InputError, worded for the person at the terminal, for anything else.
    """
    text = text.strip()
    if text in WORDS:
        return WORDS[text], None
    if text.startswith("/") and text[1:].strip():
        return "search", text[1:].strip()
    answer = re.fullmatch(r"([std]?)\s*(\d[\d\s,]*)", text)
    if not answer:
        raise InputError(HELP)
    letter, known = answer[1], marks if answer[1] == "d" else shown
    chosen = list(dict.fromkeys(map(int, re.findall(r"\d+", answer[2]))))
    if not all(1 <= number <= len(known) for number in chosen):
        raise InputError(f"numbers from 1 to {len(known)}" if known else "nothing is marked")
    chosen = [known[number - 1] for number in chosen]
    if letter == "d":
        return "drop", chosen
    if letter == "t":
        return "turn", chosen[0]["turns"][-1]
    return "stale" if letter else "required", [
        {"turn": turn, "text": sentence["text"]}
        for sentence in chosen for turn in sentence["turns"][0 if letter else -1 :]]


def label(case, history, chosen, ask, say, keep_marks):
    """Walk one case, `chosen` its marks so far: {"required", "stale"}, or "undo" or "stop"; keep_marks at each mark."""
    known = sentences(history)
    shown = candidates(known, case["current"])
    say(f"\n{one_line(case['id'])}\nquestion: {one_line(case['current'], LONG)}")
    if case.get("reply"):
        say(f"the reply was: {one_line(case['reply'], LONG)}")
    say(listed(shown))
    if any(chosen.values()):
        say(marked(chosen))
    while True:
        try:
            kind, value = read_answer(ask("> "), shown, chosen["required"] + chosen["stale"])
        except InputError as error:
            say(str(error))
            continue
        if kind in ("undo", "stop", "nothing") or kind == "next" and chosen["required"]:
            return {"nothing": {"required": [], "stale": []}, "next": chosen}.get(kind, kind)
        if kind == "next":
            say("no required fact yet; n leaves the case out")
        elif kind == "turn":
            for message in turn_messages(next(turn for turn in history if turn["id"] == value)):
                calls = [json.dumps(call, ensure_ascii=False) for call in message.get("tool_calls", ())]
                first, *rest = map(one_line, [*message["content"].split("\n"), *calls])
                say("\n      ".join([f"  {one_line(message['role'])}: {first}", *rest]))
        elif kind == "search":
            with_words = candidates(known, value, fill=False)
            if not with_words:
                say("no sentence has such a word; the candidates stay")
            shown = with_words or shown
            say(listed(shown))
        else:
            chosen = {field: [fact for fact in facts if fact not in value] for field, facts in chosen.items()}
            if kind != "drop":
                chosen[kind] += value
            keep_marks(chosen)
            say(marked(chosen))


def listed(shown):
    """The numbered candidates, as text."""
    return "\n".join(columns(
        [(f"  {number}", f"turn {', '.join(sentence['turns'])}", sentence["role"], one_line(sentence["text"], WIDTH))
         for number, sentence in enumerate(shown, 1)]))


def marked(chosen):
    """The numbered marks, as text."""
    marks = [(field, f"turn {fact['turn']}: {fact['text'][:LONG]}") for field in chosen for fact in chosen[field]]
    return "\n".join(columns([(f"  mark {number}", *mark) for number, mark in enumerate(marks, 1)])
                     or ["  nothing is marked"])


def read_set(path, manifest):
    """(unlabelled case set of the larger form, its turns with ids, that evaluate.py will take; what was not checked).

    InputError where it will not. Not checked, without a prepared tokenizer, is what needs one: a line, or None.
    """
    value = read_json(path)
    if problem := misfit(value, UNLABELLED, "the set"):
        raise InputError(f"{path}: not as workbench.import_cases writes it: {problem}; import it again")
    cases = check_set({**value, "cases": [loadable(case, value, path) for case in value["cases"]]}, path)
    try:
        check_requests(cases, counter(manifest), path)
    except TokenizerError as error:
        return value, f"{UNCHECKED}: {error}"
    return value, None


def loadable(case, value, path):
    """A case that the loader takes although nothing is labelled yet: the first text of its history stands as a fact."""
    case = {field: inner for field, inner in case.items() if field != "reply"}
    texts = [{"turn": turn["id"], "text": message["content"]} for turn in value["histories"].get(case["history"], [])
             for message in turn_messages(turn) if message["content"].strip()]
    if not texts:
        raise InputError(f"{path}: case {case['id']!r}: no history with words is named {case['history']!r}; correct it")
    return case if case["required"] else {**case, "required": texts[:1], "stale": []}


def key_of(question, history):
    """What labels depend on, as a hash: the question and the turns before it."""
    return sha256(dump([question, history]))


def read_journal(path):
    """(hash of its set or None, {case id: entry with labels}, {case id: marks before them}, {hash of each output})."""
    set_hash, done, marks, written = None, {}, {}, set()
    for number, entry in read_lines(path):
        if misfit(entry, ENTRIES):
            raise InputError(f"{path}: line {number}: no entry of a label journal; move the file away")
        set_hash = entry.get("set_sha256", set_hash)
        written |= {entry["written_sha256"]} if "written_sha256" in entry else set()
        if "marks" in entry:
            marks[entry["case"]] = entry["marks"]
        elif "labels" in entry:
            marks.pop(entry["case"], None)
            done.pop(entry["case"], None)
            if entry["labels"] is not None:
                done[entry["case"]] = entry
    return set_hash, done, marks, written


def earlier_labels(path):
    """{key: labels} of an earlier labelled set, and of the cases that its journal, if it is there, left out."""
    journal = path.with_name(path.name + JOURNAL)
    entries = read_journal(journal)[1].values() if journal.exists() else ()
    left_out = [entry for entry in entries if "key" in entry and not entry["labels"]["required"]]
    return {entry["key"]: entry["labels"] for entry in left_out} | {
        key_of(case["current"], case["history"]): {field: case[field] for field in LABELS} for case in load_cases(path)}


def keep(journal, case, labels, value, done):
    """Labels of a case into the journal and into `done` {case id: labels}; None takes them back."""
    key = key_of(case["current"], value["histories"][case["history"]])
    journal.append({"case": case["id"], "key": key, "labels": labels})
    done.pop(case["id"], None)
    if labels is not None:
        done[case["id"]] = labels


def walk(value, journal, done, marks, ask, say):
    """Label the cases that are not done until all are or the person stops; each mark is kept in the journal at once."""
    cases = {case["id"]: case for case in value["cases"]}
    while left := [case for case in cases.values() if case["id"] not in done]:
        case = left[0]
        say(f"\n[{len(done) + 1} of {len(cases)}] {HELP}")

        def keep_marks(chosen, name=case["id"]):
            marks[name] = chosen
            journal.append({"case": name, "marks": chosen})

        chosen = marks.get(case["id"], {field: case[field] for field in LABELS})
        answer = label(case, value["histories"][case["history"]], chosen, ask, say, keep_marks)
        if answer == "stop":
            return
        if answer != "undo":
            marks.pop(case["id"], None)
            keep(journal, case, answer, value, done)
        elif done:
            keep(journal, cases[list(done)[-1]], None, value, done)


def finish(value, done, out, journal, own):
    """Write the cases with a required fact and the histories they use, if there are any; say how far the work is."""
    cases = [{**loadable(case, value, "the set"), **done[case["id"]]}
             for case in value["cases"] if done.get(case["id"], {}).get("required")]
    used = {case["history"] for case in cases}
    made = {**value, "histories": {name: turns for name, turns in value["histories"].items() if name in used},
            "cases": cases}
    if cases:
        check_set(made, out)
        data = dump(made).encode("utf-8")
        journal.append({"written_sha256": sha256(data)})
        command.replace_file(out, data, own)
    print(f"{len(cases)} cases labelled, {len(done) - len(cases)} left out, {len(value['cases']) - len(done)} to do; "
          f"{out if cases else 'nothing'} written", file=sys.stderr)


def main(argv=None):
    parser = make_parser(__doc__)
    parser.epilog = ANSWERS + parser.epilog
    parser.add_argument("cases", type=Path, help="case set to be labelled, as workbench.import_cases chat writes it")
    parser.add_argument("out", type=Path, help="where the labelled set goes; the journal stands beside it")
    parser.add_argument("--labels", type=Path, metavar="OLD", help="take over labels of unchanged cases of this set")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST",
                        help="the model that the set is for: what its evaluation would refuse is refused here")
    args = parser.parse_args(argv)
    value, unchecked = read_set(args.cases, args.tokenizer)
    earlier = earlier_labels(args.labels) if args.labels else {}
    journal, written = args.out.with_name(args.out.name + JOURNAL), set()

    def own(path):
        return command.file_hash(path) in written

    if not journal.exists():
        command.check_replaceable(args.out, own)  # before a journal is made
    with LineFile(journal) as lines:  # open and locked: a second person at it is told so
        set_hash, entries, marks, hashes = read_journal(journal)
        written |= hashes
        if set_hash not in (None, command.file_hash(args.cases)):
            raise InputError(f"{journal}: of another case set; label into a new file with --labels {args.out}")
        command.check_replaceable(args.out, own)
        if set_hash is None:
            lines.append({"set_sha256": command.file_hash(args.cases)})
        names = {case["id"] for case in value["cases"]}
        done = {name: entry["labels"] for name, entry in entries.items() if name in names}  # in the order of labelling
        if args.labels:
            keys = {case["id"]: key_of(case["current"], value["histories"][case["history"]]) for case in value["cases"]}
            new = [case for case in value["cases"] if case["id"] not in done]
            same = [case for case in new if keys[case["id"]] in earlier]
            for case in same:
                keep(lines, case, earlier[keys[case["id"]]], value, done)
            print(f"{len(same)} of {len(new)} cases keep their labels of {args.labels}", file=sys.stderr)

        def ask(prompt):
            try:
                return input(prompt)
            except EOFError:
                return "q"

        if unchecked:
            print(unchecked, file=sys.stderr)
        try:
            walk(value, lines, done, marks, ask, print)
        finally:  # also when stopped by Ctrl-C: what is labelled so far is written
            finish(value, done, args.out, lines, own)
    return 0


if __name__ == "__main__":
    run_command(main)
