"""Make a case set of LongMemEval's questions and chat sessions (from the user's own download).

A turn is a user message and the assistant's reply in one session, the session's date in front. A fact is a message
marked `has_answer`; it is found when its turn is in the request. A question's sessions are put in the order of their
dates, which the oracle file does not keep: rules that go by the newest turn depend on it. Questions of abstention
(their id ends in _abs) are a kind of their own, and left out where nothing is marked. Does not use the answers.
"""

import re

from base.command import InputError
from base.shapes import misfit

INSTRUCTIONS = "You are a helpful assistant. Answer the user's question from the earlier conversations."
QUESTIONS = [{"question_id": str, "question_type": str, "question": str, "question_date": str, "haystack_dates": [str],
              "haystack_sessions": [[{"role": str, "content": str}]]}]
DATE = re.compile(r"\d{4}/\d{2}/\d{2} \(\w{3}\) \d{2}:\d{2}")  # as in 2023/05/20 (Sat) 02:21: in order as text
EXCERPT = 200  # characters of a message that name it as a fact: enough to recognise it, its turn is what is found


def import_longmemeval(value, where):
    """(histories, cases without a budget, losses) of the parsed file; every other question is held out.

    Every question has a history of its own. losses: {"what", "where", "detail"} for each thing left out or moved.
    """
    problem = misfit(value, QUESTIONS, "the set") or (None if value else "the set is empty")
    if problem:
        raise InputError(f"{where}: not as LongMemEval writes it: {problem}; use its file unchanged")
    histories, cases, losses, late = {}, [], [], []

    def lose(what, place, detail):
        losses.append({"what": what, "where": place, "detail": detail})

    for number, question in enumerate(value):
        name, kind, dates = question["question_id"], question["question_type"], question["haystack_dates"]
        if name in histories:
            raise InputError(f"{where}: the question {name!r} stands twice; remove one")
        if len(dates) != len(question["haystack_sessions"]):
            raise InputError(f"{where}: question {name!r}: not a date for each session; use the file unchanged")
        sessions = list(zip(range(1, len(dates) + 1), dates, question["haystack_sessions"]))
        if unread := [date for date in dates if not DATE.fullmatch(date)]:
            lose("order of the file kept", name, f"the date {unread[0]!r} is not read")
        else:
            late.append(sum(date < max(dates[:place]) for place, date in enumerate(dates) if place))
            sessions.sort(key=lambda session: session[1])
        histories[name], facts = read_history(sessions, name, lose)
        if name.endswith("_abs") or kind.endswith("_abs"):
            kind = "abstention"
        if facts:
            cases.append({"id": name, "split": "held_out" if number % 2 else "dev", "kind": kind,
                          "instructions": INSTRUCTIONS, "history": name, "required": facts, "stale": [],
                          "current": f"[{question['question_date']}] {question['question']}"})
        else:
            lose("abstention left out" if kind == "abstention" else "question left out", name,
                 "no message is marked as holding the answer")
    if any(late):
        lose("sessions put in the order of their dates", str(where), f"{sum(late)} sessions of "
             f"{sum(map(bool, late))} of the {len(value)} questions stood behind a later one")
    return histories, cases, losses


def read_history(sessions, name, lose):
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
            turn, role = f"S{number}:{place}", pair[0]["role"]
            if role not in ("user", "assistant"):
                lose("message left out", f"{name} {turn}", f"role {role!r}")
                continue
            said = {message["role"]: message["content"].strip() for message in pair}
            turns.append(
                {"id": turn, "session": str(number), "date": date, "user": f"[{date}] {said.get('user', '')}".strip(),
                 "assistant": said.get("assistant", "")})
            marked = [message["role"] for message in pair if message.get("has_answer")]
            texts = dict.fromkeys(said[role][:EXCERPT].strip() for role in marked)
            facts += [{"turn": turn, "text": text} for text in texts if text]
    return turns, facts
