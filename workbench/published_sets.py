"""Make case sets of LoCoMo and LongMemEval, from the user's own download of their authors' files.

LoCoMo       A turn is two utterances of one session that follow each other, the session's date in front; a fact is an
             utterance that the question's evidence names.
LongMemEval  A turn is a user message and the reply to it, the session's date in front; a fact is a message marked
             `has_answer`. A question's sessions are put in the order of their dates, which the oracle file does not
             keep: rules that go by the newest turn depend on it. Questions of abstention (their id ends in _abs) are a
             kind of their own, and left out where nothing is marked.

A fact is found when the turn that holds it is in the request. The answers are not used: about one in fifteen of
LoCoMo's is wrong by a public audit. An importer gives (histories, cases without a budget), and adds to `losses` a
(what, where, detail) for each thing that was repaired, moved or could not be imported.
"""

import re

from base.command import InputError
from base.shapes import NONE, Each, misfit

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
        name, kind, dates = question["question_id"], question["question_type"], question["haystack_dates"]
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
        if name.endswith("_abs"):
            kind = "abstention"
        if facts:
            cases.append({
                "id": name, "split": "held_out" if number % 2 else "dev", "history": name, "kind": kind,
                "instructions": "You are a helpful assistant. Answer the user's question from the earlier "
                                "conversations.",
                "current": f"[{question['question_date']}] {question['question']}", "required": facts, "stale": []})
        else:
            what = "abstention left out" if kind == "abstention" else "question left out"
            losses.append((what, name, "no message is marked as holding the answer"))
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
            turns.append(
                {"id": turn, "session": str(number), "date": date, "user": f"[{date}] {said.get('user', '')}".strip(),
                 "assistant": said.get("assistant", "")})
            texts = dict.fromkeys(
                said[message["role"]][:EXCERPT].strip() for message in pair if message.get("has_answer"))
            facts += [{"turn": turn, "text": text} for text in texts if text]
    return turns, facts
