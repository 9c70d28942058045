"""Make a case set of LongMemEval's questions and chat sessions (from the user's own download).

A turn is a user message and the assistant's reply in one session, the session's date in front. A fact is a message
marked `has_answer`; it is found when its turn is in the request. A question's sessions are put in the order of their
dates, which the oracle file does not keep: rules that go by the newest turn depend on it. Questions of abstention
(their id ends in _abs) are a kind of their own, and left out where nothing is marked. Does not use the answers.
"""

import re

from base.shapes import misfit

from base.command import InputError

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
    for number, question in enumerate(value):
        name, kind = question["question_id"], question["question_type"]
        if name in histories:
            raise InputError(f"{where}: the question {name!r} stands twice; remove one")
        if len(question["haystack_dates"]) != len(question["haystack_sessions"]):
            raise InputError(f"{where}: question {name!r}: not a date for each session; use the file unchanged")
        sessions, moved = in_order(question["haystack_dates"], question["haystack_sessions"], name, losses)
        late += [moved] if moved else []
        histories[name], facts, lost = read_history(sessions, name)
        losses += lost
        if name.endswith("_abs") or kind.endswith("_abs"):
            kind = "abstention"
        if facts:
            cases.append({"id": name, "split": "held_out" if number % 2 else "dev", "kind": kind,
                          "instructions": INSTRUCTIONS, "history": name, "required": facts, "stale": [],
                          "current": f"[{question['question_date']}] {question['question']}"})
        else:
            what = "abstention left out" if kind == "abstention" else "question left out"
            losses.append({"what": what, "where": name, "detail": "no message is marked as holding the answer"})
    if late:
        detail = f"{sum(late)} sessions of {len(late)} of the {len(value)} questions stood behind a later one"
        losses.append({"what": "sessions put in the order of their dates", "where": str(where), "detail": detail})
    return histories, cases, losses


def in_order(dates, sessions, name, losses):
    """([(number in the file, date, session)] by date, equal dates as they stand; how many stood behind a later one)."""
    sessions = list(zip(range(1, len(dates) + 1), dates, sessions))
    if not all(map(DATE.fullmatch, dates)):
        unread = next(date for date in dates if not DATE.fullmatch(date))
        losses.append({"what": "order of the file kept", "where": name, "detail": f"the date {unread!r} is not read"})
        return sessions, 0
    late = sum(date < max(dates[:number]) for number, date in enumerate(dates) if number)
    return sorted(sessions, key=lambda session: session[1]), late


def read_history(sessions, name):
    """(turns, facts, losses) of a question's sessions, numbered as in the file."""
    turns, facts, losses = [], [], []
    for number, date, session in sessions:
        for place, pair in enumerate(pairs(session), 1):
            turn = f"S{number}:{place}"
            if pair[0]["role"] not in ("user", "assistant"):
                role = pair[0]["role"]
                losses.append({"what": "message left out", "where": f"{name} {turn}", "detail": f"role {role!r}"})
                continue
            said = {message["role"]: message["content"].strip() for message in pair}
            turns.append(
                {"id": turn, "session": str(number), "date": date, "user": f"[{date}] {said.get('user', '')}".strip(),
                 "assistant": said.get("assistant", "")})
            marked = [message["role"] for message in pair if message.get("has_answer")]
            texts = dict.fromkeys(said[role][:EXCERPT].strip() for role in marked)
            facts += [{"turn": turn, "text": text} for text in texts if text]
    return turns, facts, losses


def pairs(session):
    """The messages of a session in twos: a user's and the reply to it; either may stand alone."""
    found = []
    for message in session:
        if message["role"] == "assistant" and found and [one["role"] for one in found[-1]] == ["user"]:
            found[-1].append(message)
        else:
            found.append([message])
    return found
