"""Make a case set for evaluate.py of LoCoMo, LongMemEval or one's own chat logs.

Run:  echo '[{"role": "user", "content": "Port 80."}, {"role": "user", "content": "Which port?"}]' > chat.local.json
      python -m workbench.import_cases chat chat.local.json > cases.local.json

Standard output is the case set in its larger form; what was repaired or left out is counted and listed on standard
error. Left out too is what no request could hold: turns with the model's control tokens, questions over the budget.
Keep what you import out of commits (.gitignore leaves out *.local.*): it is other people's words.

chat         Has no labels: `python -m workbench.label_cases` adds them, and shows the reply that was given, which the
             set keeps until then.
locomo       The user's download of its authors' file. A turn is two utterances of one session that follow each other,
             the session's date in front; a fact is an utterance that the question's evidence names. The answers are
             not used: about one in fifteen is wrong by a public audit.
longmemeval  The same of LongMemEval. A turn is a user message and the reply to it, the session's date in front; a fact
             is a message marked `has_answer`. A question's sessions are put in the order of their dates, which the
             oracle file does not keep: rules that go by the newest turn depend on it. Questions of abstention (their
             id ends in _abs) are a kind of their own, and left out where nothing is marked.

An importer gives (histories, cases without a budget), and adds to `losses` a (what, where, detail) for each thing that
was repaired, moved or could not be imported. A fact is found when the turn that holds it is in the request.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, read_json, run_command
from base.mask import Masks
from base.shapes import NONE, Each, misfit, texts_in
from base.shown import one_line
from selection.cases import CaseError, check_requests, check_set
from selection.reporting import print_lines
from tokenizer import TokenizerError, counter
from tokens.manifest import MANIFEST
from workbench.chat_log import import_chat, read_chat_log

LOCOMO = [{
    "sample_id": str,
    "conversation": Each((str, [{  # session_1, session_1_date_time and so on, and the two names
        "dia_id": lambda name: re.fullmatch(r"\w+:\w+", str(name)), "speaker": str, "text": str,
        "blip_caption?": (str, NONE)}]), least=1),
    "qa": [{"question": str, "evidence": [str], "category": int}]}]
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
LABEL = re.compile(r"D:?(\d+):(\d+)")  # as in D8:6, and in the malformed D:11:26, D30:05 and "D8:6; D9:17"
LONGMEMEVAL = [{"question_id": str, "question_type": str, "question": str, "question_date": str,
                "haystack_dates": [str], "haystack_sessions": [[{"role": str, "content": str}]]}]
DATE = re.compile(r"\d{4}/\d{2}/\d{2} \(\w{3}\) \d{2}:\d{2}")  # as in 2023/05/20 (Sat) 02:21: in order as text
EXCERPT = 200  # characters of a message that name it as a fact: enough to recognise it, its turn is what is found
FIELDS = ("id", "split", "kind", "instructions", "current", "history", "budget", "required", "stale", "reply")
MAX_NEW_TOKENS = 256
UNCHECKED = "control tokens and long questions, which evaluate.py refuses, were not looked for"


def check_shape(value, shape, name, where):
    """InputError unless the parsed file is as its authors write it."""
    if problem := misfit(value, shape, "the set") or not value and "the set is empty":
        raise InputError(f"{where}: not as {name} writes it: {problem}; use its file unchanged")


def import_locomo(value, where, losses):
    """The first half of LoCoMo's conversations is the development split, the rest is held out."""
    check_shape(value, LOCOMO, "LoCoMo", where)
    histories, cases = {}, []
    for number, sample in enumerate(value):
        name = sample["sample_id"]
        if name in histories:
            raise InputError(f"{where}: the conversation {name!r} stands twice in this LoCoMo; remove one")
        histories[name], utterances = read_sessions(sample["conversation"], f"{where}: conversation {name!r}")
        for place, question in enumerate(sample["qa"]):
            case = f"{name}-{place}"
            if facts := find_evidence(question["evidence"], case, utterances, losses):
                cases.append({
                    "id": case, "split": "dev" if number < len(value) // 2 else "held_out", "history": name,
                    "kind": CATEGORIES.get(question["category"], f"category {question['category']}"),
                    "instructions": "Two people talk over many months. Answer the question from their conversation.",
                    "current": question["question"], "required": facts, "stale": []})
    return histories, cases


def read_sessions(conversation, where):
    """(turns, utterances) of a conversation of LoCoMo; utterances: dialogue id -> the fact that it is."""
    turns, utterances = [], {}
    for session in sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_[0-9]+", key)):
        said, date = (conversation.get(f"session_{session}{end}") for end in ("", "_date_time"))
        if not isinstance(said, list) or not isinstance(date, str):
            raise InputError(f"{where}: session {session} has no utterances or no date; use LoCoMo's file unchanged")
        for pair in (said[start : start + 2] for start in range(0, len(said), 2)):
            name = pair[0]["dia_id"] + "".join("-" + other["dia_id"].split(":")[1] for other in pair[1:])
            lines = []
            for utterance in pair:
                caption = utterance.get("blip_caption")  # of a picture that came with it
                picture = f" [picture: {caption}]" if caption else ""
                lines.append(f"{utterance['speaker']}: {utterance['text']}{picture}")
                utterances[utterance["dia_id"]] = {"turn": name, "text": lines[-1].strip()}
            turns.append({"id": name, "session": str(session), "date": date, "user": f"[{date}] {lines[0]}",
                          "assistant": "\n".join(lines[1:])})
    return turns, utterances


def find_evidence(evidence, case, utterances, losses):
    """The facts that the labels of a question of LoCoMo name."""
    facts = []
    for label in evidence:
        ids = [label]
        if label not in utterances:
            repaired = [f"D{int(session)}:{int(place)}" for session, place in LABEL.findall(label)]
            ids = [name for name in repaired if name in utterances]
            what = "label repaired" if ids and ids == repaired else "label left out"
            losses.append((what, case, f"{label!r} read as {', '.join(ids) or 'nothing'}"))
        facts += [utterances[name] for name in ids if utterances[name] not in facts]
    if not facts:
        losses.append(("question left out", case, "it has no evidence to find"))
    return facts


def import_longmemeval(value, where, losses):
    """Every other question of LongMemEval is held out; each has a history of its own."""
    check_shape(value, LONGMEMEVAL, "LongMemEval", where)
    histories, cases, late = {}, [], []
    for number, question in enumerate(value):
        name, dates = question["question_id"], question["haystack_dates"]
        kind = "abstention" if name.endswith("_abs") else question["question_type"]
        if name in histories:
            raise InputError(f"{where}: the question {name!r} stands twice; remove one")
        if len(dates) != len(question["haystack_sessions"]):
            raise InputError(f"{where}: question {name!r}: not a date for each session; use the file unchanged")
        sessions = list(zip(range(1, len(dates) + 1), dates, question["haystack_sessions"]))
        if unread := [date for date in dates if not DATE.fullmatch(date)]:
            losses.append(("order of the file kept", name, f"the date {unread[0]!r} is not read"))
        else:
            late.append(sum(date < max(dates[:place]) for place, date in enumerate(dates) if place))
            sessions.sort(key=lambda session: session[1])
        histories[name], facts = read_turns(sessions, name, losses)
        if not facts:
            what = "abstention left out" if kind == "abstention" else "question left out"
            losses.append((what, name, "no message is marked as holding the answer"))
            continue
        cases.append({
            "id": name, "split": "held_out" if number % 2 else "dev", "history": name, "kind": kind,
            "instructions": "You are a helpful assistant. Answer the user's question from the earlier conversations.",
            "current": f"[{question['question_date']}] {question['question']}", "required": facts, "stale": []})
    if any(late):
        moved = f"{sum(late)} sessions of {sum(map(bool, late))} of the {len(value)} questions stood behind a later one"
        losses.append(("sessions put in the order of their dates", str(where), moved))
    return histories, cases


def read_turns(sessions, name, losses):
    """(turns, facts) of a question's sessions [(number in the file, date, messages)]."""
    turns, facts = [], []
    for number, date, session in sessions:
        pairs = []  # a user's message and the reply to it; either may stand alone
        for message in session:
            if message["role"] == "assistant" and pairs and [said["role"] for said in pairs[-1]] == ["user"]:
                pairs[-1].append(message)
            else:
                pairs.append([message])
        for place, pair in enumerate(pairs, 1):
            turn, said = f"S{number}:{place}", {message["role"]: message["content"].strip() for message in pair}
            if not said.keys() <= {"user", "assistant"}:
                losses.append(("message left out", f"{name} {turn}", f"role {pair[0]['role']!r}"))
                continue
            turns.append({"id": turn, "session": str(number), "date": date,
                          "user": f"[{date}] {said.get('user', '')}".strip(), "assistant": said.get("assistant", "")})
            texts = dict.fromkeys(said[part["role"]][:EXCERPT].strip() for part in pair if part.get("has_answer"))
            facts += [{"turn": turn, "text": text} for text in texts if text]
    return turns, facts


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
        problem = (f"turn {lost[0]}, which it needs, is left out" if lost
                   else None if kept[case["history"]] else "no turn of its history is left")
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
        first = sorted(losses, key=lambda loss: loss[0] != "question left out")[:1]  # what cost a case tells more
        detail = "".join(f"; the first: {place}: {problem}" for _, place, problem in first)
        raise InputError(f"{path}: nothing in it could be imported{detail}")


def loss_lines(cases, losses, masked):
    yield f"{len(cases)} cases with {sum(len(case['required']) for case in cases)} facts to find"
    yield from (f"  {number} {kind}" for kind, number in Counter(case["kind"] for case in cases).items())
    for kind, number in Counter(what for what, _, _ in losses).items():
        yield f"{kind}: {number}"
        yield from (f"  {where}: {one_line(detail, 300)}" for what, where, detail in losses if what == kind)
    yield from (f"masked: {number} different {what}" for what, number in masked.items())


PUBLISHED = {"locomo": import_locomo, "longmemeval": import_longmemeval}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("format", choices=(*PUBLISHED, "chat"))
    parser.add_argument("file", type=Path, help="the file as its authors publish it; of a chat, JSON lines or a list")
    parser.add_argument("--budget", type=int, default=4096, metavar="N", help="input tokens a case (%(default)s)")
    parser.add_argument("--question", choices=("last", "all"), default="last",
                        help="which user messages of a chat become cases (%(default)s); all make a large set")
    parser.add_argument("--mask", action="store_true", help="replace addresses and keys by numbered placeholders")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST", help="another model's manifest")
    args = parser.parse_args(argv)
    if args.budget < 1:
        raise InputError(f"--budget {args.budget}: give a number from 1")
    value, losses = read_chat_log(args.file) if args.format == "chat" else (read_json(args.file), [])
    masks, unchecked = Masks(), []
    if args.mask:  # before anything is cut or compared, so that a fact and its turn change alike
        value = masks.value(value)
    if args.format == "chat":
        histories, cases = import_chat(value, losses, every=args.question == "all")
    else:
        histories, cases = PUBLISHED[args.format](value, args.file, losses)
    made = case_set(histories, cases, args.budget)
    try:
        made = that_fit(made, counter(args.tokenizer), losses)
    except TokenizerError as error:
        unchecked = [f"{UNCHECKED}: {error}"]
    check_some(made, losses, args.file)
    if args.format != "chat":  # a chat log has no facts yet; workbench.label_cases checks the set that it writes
        check_set(made, args.file)
    sys.stdout.write(dump(made))
    print_lines([*loss_lines(made["cases"], losses, masks.counts()), *unchecked], limit=None)
    return 0


if __name__ == "__main__":
    run_command(main)
