"""Label an imported case set in the terminal: which statements of the history does each answer depend on?

Run:  echo '[{"role": "user", "content": "Port 80."}, {"role": "user", "content": "Which port?"}]' > chat.local.json
      python -m workbench.import_cases chat chat.local.json > cases.local.json
      python -m workbench.label_cases cases.local.json labelled.local.json

Each question is shown with the reply that was given and numbered candidates: sentences of the history that share rare
words with it, then the newest others; an equal sentence once, with its turns: its last turn is meant when it is marked
required, all of them when it is marked stale. Every answer is kept at once in a journal beside the output; stopped at
any point, the same command goes on there. The output, written when you stop or finish, has the cases with a required
fact; an earlier one is kept beside it. --labels OLD, when a log has grown and is imported anew: a case whose history
and question are as in the labelled set OLD keeps its labels.
"""

import json
import re
import sys
from pathlib import Path

from base import command
from base.command import InputError, dump, make_parser, read_json, run_command, sha256
from base.lines import LineFile, read_entries
from base.shapes import FACT, NONE, Each, misfit
from base.shown import columns, one_line
from modelkit.retrieval import Bm25Index
from modelkit.segments import split_sentences
from selection.cases import check_requests, check_set, load_cases
from selection.retrievers import best_first, then_newest
from strategies import turn_messages
from tokenizer import TokenizerError, counter
from tokens.manifest import MANIFEST
from workbench.import_cases import UNCHECKED, case_set

HELP = "numbers: required; s N: stale; d N: drop mark N; /words: search; t N: whole turn; n: nothing; u: undo; q: stop"
WORDS = {"": "next", "n": "nothing", "u": "undo", "q": "stop"}
LETTERS = {"": "required", "s": "stale", "d": "drop", "t": "turn"}
NOTHING = {"required": [], "stale": []}
LABELS = {"required": [FACT], "stale": [FACT]}
UNLABELLED = {
    "histories": Each([{"id": str, "user": str, "assistant": str, "messages?": [{"role": str, "content": str}]}]),
    "cases": [{"id": str, "current": str, "history": str, "reply?": str, **LABELS}]}
ENTRIES = ({"set_sha256": str}, {"written_sha256": str}, {"case": str, "key": str, "labels": (LABELS, NONE)},
           {"case": str, "marks": LABELS})  # of a journal: the set's hash first; labels of None take labels back
JOURNAL = ".journal.jsonl"  # behind the name of the output, beside it
CANDIDATES, WIDTH, LONG = 9, 160, 1000
ORDINAL = re.compile(r"(?i)\b(?:am|ab|im|vom|zum|zur|beim?|bis|seit|und|d(?:er|ie|as|en|em|es)) +"
                     r"\d{1,3}\.(?:\s+\d{1,3}\.)*(?=\s)|\b\d{1,3}\.(?=\s+(\S))")
NO_STOP = "\ud800"  # stands for the dot of an ordinal: a lone surrogate, which no text of a set can hold


def sentences(history):
    """[{"text", "turns": ids that hold it, "role": of the last}]: each sentence of a history once at its last place."""
    known = {}
    for turn in history:
        for message in turn_messages(turn):
            for text in [text for line in message["content"].split("\n") for text in pieces(line)]:
                turns = dict.fromkeys([*known.pop(text, {"turns": []})["turns"], turn["id"]])
                known[text] = {"text": text, "turns": list(turns), "role": message["role"]}
    return list(known.values())


def pieces(line):
    """The sentences of a line; an ordinal ends none: pieces("am 3. Mai. Ja.") -> ["am 3. Mai.", "Ja."]."""
    def hide(match):
        return match[0].replace(".", NO_STOP) if match[1] is None or match[1].islower() else match[0]

    return [text.replace(NO_STOP, ".") for text in split_sentences(ORDINAL.sub(hide, line))]


def candidates(known, words, fill=True):
    """At most CANDIDATES of the sentences `known`, by BM25 of `words`, best first; `fill`: then the newest others."""
    order = best_first(Bm25Index([sentence["text"] for sentence in known]).scores(words))
    return [known[place] for place in (then_newest(order, len(known)) if fill else order)[:CANDIDATES]]


def read_answer(text, numbered, marks):
    """What an answer means: ("required" | "stale" | "drop", [facts]), ("search", words), ("turn", id), (a word, None).

    numbered  sentences as they were shown; marks: the facts marked so far, as they are numbered
    ("wrong", why) for anything else.
    """
    text = text.strip()
    if text in WORDS:
        return WORDS[text], None
    if text.startswith("/") and text[1:].strip():
        return "search", text[1:].strip()
    answer = re.fullmatch(r"([std]?)\s*(\d[\d\s,]*)", text)
    if not answer:
        return "wrong", HELP
    kind, numbers = LETTERS[answer[1]], dict.fromkeys(map(int, re.findall(r"\d+", answer[2])))
    known = marks if kind == "drop" else numbered
    if not all(1 <= number <= len(known) for number in numbers):
        return "wrong", f"numbers from 1 to {len(known)}" if known else "nothing is marked"
    chosen = [known[number - 1] for number in numbers]
    if kind == "drop":
        return kind, chosen
    if kind == "turn":
        return kind, chosen[0]["turns"][-1]
    return kind, [{"turn": turn, "text": sentence["text"]}
                  for sentence in chosen for turn in sentence["turns"][0 if kind == "stale" else -1 :]]


def label(case, marks, keep_marks):
    """Walk one case from its marks on: {"required", "stale"}, or "undo" or "stop"; keep_marks at each new mark."""
    known = sentences(case["history"])
    numbered = candidates(known, case["current"])
    lines = [f"\n{one_line(case['id'])}", f"question: {one_line(case['current'], LONG)}"]
    lines += [f"the reply was: {one_line(case['reply'], LONG)}"] if case.get("reply") else []
    lines += candidate_lines(numbered) + (mark_lines(marks) if any(marks.values()) else [])
    while True:
        print("\n".join(lines))
        try:
            answer = input("> ")
        except EOFError:
            answer = "q"
        kind, value = read_answer(answer, numbered, marks["required"] + marks["stale"])
        match kind:
            case "undo" | "stop":
                return kind
            case "nothing":
                return NOTHING
            case "next" if marks["required"]:
                return marks
            case "next":
                lines = ["no required fact yet; n leaves the case out"]
            case "wrong":
                lines = [value]
            case "turn":
                lines = []
                for message in turn_messages(next(turn for turn in case["history"] if turn["id"] == value)):
                    parts = f"  {message['role']}: {message['content']}".split("\n")
                    parts += [json.dumps(call, ensure_ascii=False) for call in message.get("tool_calls", ())]
                    lines.append("\n      ".join(map(one_line, parts)))
            case "search":
                matching = candidates(known, value, fill=False)
                numbered = matching or numbered
                lines = [] if matching else ["no sentence has such a word; the candidates stay"]
                lines += candidate_lines(numbered)
            case _:
                marks = {field: [fact for fact in facts if fact not in value] for field, facts in marks.items()}
                if kind != "drop":
                    marks[kind] += value
                keep_marks(marks)
                lines = mark_lines(marks)


def candidate_lines(numbered):
    return columns([(f"  {number}", f"turn {', '.join(sentence['turns'])}", sentence["role"],
                     one_line(sentence["text"], WIDTH)) for number, sentence in enumerate(numbered, 1)])


def mark_lines(marks):
    facts = [(field, (fact if isinstance(fact, str) else f"turn {fact['turn']}: {fact['text']}")[:LONG])
             for field in marks for fact in marks[field]]
    return columns([(f"  mark {number}", *fact) for number, fact in enumerate(facts, 1)]) or ["  nothing is marked"]


def read_unlabelled(path, manifest):
    """(unlabelled set of the larger form, what was not checked or None); InputError for what evaluate.py refuses."""
    value, cases = read_json(path), []
    if problem := misfit(value, UNLABELLED, "the set"):
        raise InputError(f"{path}: not as workbench.import_cases writes it: {problem}; import it again")
    for case in value["cases"]:
        history = value["histories"].get(case["history"], ())
        texts = [{"turn": turn["id"], "text": message["content"]} for turn in history
                 for message in turn_messages(turn) if message["content"].strip()]
        if not texts:
            problem = f"no history with words is named {case['history']!r}"
            raise InputError(f"{path}: case {case['id']!r}: {problem}; correct it")
        # where nothing is labelled yet, the first text stands as a fact, so that the loader takes the case
        cases.append(without_reply(case) | ({} if case["required"] else {"required": texts[:1], "stale": []}))
    try:
        check_requests(check_set({**value, "cases": cases}, path), counter(manifest), path)
    except TokenizerError as error:
        return value, f"{UNCHECKED}: {error}"
    return value, None


def without_reply(case):  # as the loader knows a case
    return {field: inner for field, inner in case.items() if field != "reply"}


def key_of(case):
    """A journal's `key`: what the labels of a case depend on, its question and the turns before it."""
    return sha256(dump([case["current"], case["history"]]))


def labelled(entries):
    """{case id: its entry} of the cases that are done, in the order of labelling."""
    done = {}
    for entry in entries:
        if "labels" in entry:
            done.pop(entry["case"], None)
            done |= {entry["case"]: entry} if entry["labels"] is not None else {}
    return done


def earlier_labels(path):
    """{key: labels} of an earlier labelled set, and of the cases that its journal, if it is there, left out."""
    journal = read_entries(path.with_name(path.name + JOURNAL), ENTRIES, "entry of a label journal")
    left_out = {entry["key"]: entry["labels"] for entry in labelled(journal).values()
                if not entry["labels"]["required"]}
    return left_out | {key_of(case): {field: case[field] for field in LABELS} for case in load_cases(path)}


def walk(cases, entries, add):
    """Label the cases that are not done until all are or the person stops; add(entry) keeps each answer at once."""
    while len(done := labelled(entries)) < len(cases):
        name, case = next((name, case) for name, case in cases.items() if name not in done)
        print(f"\n[{len(done) + 1} of {len(cases)}] {HELP}")
        last = next((entry for entry in reversed(entries) if entry.get("case") == name), {})
        labels = label(case, last.get("marks", {field: case[field] for field in LABELS}),
                       lambda marks: add({"case": name, "marks": marks}))
        if labels == "stop":
            return
        if labels == "undo" and done:
            case, labels = cases[list(done)[-1]], None
        if labels != "undo":
            add({"case": case["id"], "key": key_of(case), "labels": labels})


def finish(value, entries, add, out, own):
    """Write the cases with a required fact and the histories they use, if there are any; say how far the work is."""
    done = labelled(entries)
    cases = [without_reply(case) | done[case["id"]]["labels"] for case in value["cases"] if case["id"] in done]
    cases = [case for case in cases if case["required"]]
    if cases:
        made = case_set(value["histories"], cases)
        check_set(made, out)
        data = dump(made).encode("utf-8")
        add({"written_sha256": sha256(data)})
        command.replace_file(out, data, own)
    print(f"{len(cases)} cases labelled, {len(done) - len(cases)} left out, {len(value['cases']) - len(done)} to do; "
          f"{out if cases else 'nothing'} written", file=sys.stderr)


def main(argv=None):
    parser = make_parser(__doc__)
    parser.epilog = (f"answers  {HELP}\n         of a sentence in several turns its last is required, and all are stale"
                     f"\n\n{parser.epilog}")
    parser.add_argument("cases", type=Path, help="case set to be labelled, as workbench.import_cases chat writes it")
    parser.add_argument("out", type=Path, help="where the labelled set goes; the journal stands beside it")
    parser.add_argument("--labels", type=Path, metavar="OLD", help="take over labels of unchanged cases of this set")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST",
                        help="the model that the set is for: what its evaluation would refuse is refused here")
    args = parser.parse_args(argv)
    value, unchecked = read_unlabelled(args.cases, args.tokenizer)
    cases = {case["id"]: {**case, "history": value["histories"][case["history"]]} for case in value["cases"]}
    earlier = earlier_labels(args.labels) if args.labels else {}
    path, opening = args.out.with_name(args.out.name + JOURNAL), {"set_sha256": command.file_hash(args.cases)}
    if not path.exists():
        command.check_replaceable(args.out, lambda path: False)  # before a journal is made
    with LineFile(path) as journal:  # open and locked: a second person at it is told so
        entries = read_entries(path, ENTRIES, "entry of a label journal")

        def own(path):
            return {"written_sha256": command.file_hash(path)} in entries

        def add(entry):
            journal.append(entry)
            entries.append(entry)

        if entries[:1] not in ([], [opening]) or labelled(entries).keys() - cases.keys():
            raise InputError(f"{path}: of another case set; label into a new file with --labels {args.out}")
        command.check_replaceable(args.out, own)
        if not entries:
            add(opening)
        if args.labels:
            new = {name: key_of(case) for name, case in cases.items() if name not in labelled(entries)}
            same = {name: key for name, key in new.items() if key in earlier}
            for name, key in same.items():
                add({"case": name, "key": key, "labels": earlier[key]})
            print(f"{len(same)} of {len(new)} cases keep their labels of {args.labels}", file=sys.stderr)
        if unchecked:
            print(unchecked, file=sys.stderr)
        try:
            walk(cases, entries, add)
        finally:  # also when stopped by Ctrl-C: what is labelled so far is written
            finish(value, entries, add, args.out, own)
    return 0


if __name__ == "__main__":
    run_command(main)
