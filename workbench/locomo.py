"""Make a case set of LoCoMo's conversations and questions (locomo10.json, from the user's own download).

A turn is two utterances of one session that follow each other, never of two sessions, the session's date in front.
A fact is an utterance that the question's evidence names; it is found when the turn that holds it is in the request.
Does not use the answers: about one in fifteen of the set's answer keys is wrong by a public audit.
"""

import re

from base.shapes import NONE, Each, misfit

from base.command import InputError

UTTERANCE = {"dia_id": lambda name: re.fullmatch(r"\w+:\w+", str(name)), "speaker": str, "text": str,
             "blip_caption?": (str, NONE)}
CONVERSATION = Each((str, [UTTERANCE]), least=1)  # session_1, session_1_date_time and so on, and the two names
SETS = [{"sample_id": str, "conversation": CONVERSATION,
         "qa": [{"question": str, "evidence": [str], "category": int}]}]
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
INSTRUCTIONS = "Two people talk over many months. Answer the question from their conversation."
LABEL = re.compile(r"D:?(\d+):(\d+)")  # as in D8:6, and in the malformed D:11:26, D30:05 and "D8:6; D9:17"


def import_locomo(value, where, size=2):
    """(histories, cases without a budget, losses) of the parsed file; `size` utterances make a turn.

    losses  {"what", "where", "detail"} for each thing that was repaired or could not be imported
    The first half of the conversations is the development split, the rest is held out.
    """
    problem = misfit(value, SETS, "the set") or (None if value else "the set is empty")
    if problem:
        raise InputError(f"{where}: not as LoCoMo writes it: {problem}; use its file locomo10.json unchanged")
    histories, cases, losses = {}, [], []
    for number, sample in enumerate(value):
        name = sample["sample_id"]
        if name in histories:
            raise InputError(f"{where}: the conversation {name!r} stands twice in this LoCoMo; remove one")
        histories[name], utterances = read_turns(sample["conversation"], size, f"{where}: conversation {name!r}")
        split = "dev" if number < len(value) // 2 else "held_out"
        for place, question in enumerate(sample["qa"]):
            case, lost = read_question(question, f"{name}-{place}", utterances)
            losses += lost
            if case:
                cases.append({**case, "split": split, "history": name})
    return histories, cases, losses


def read_turns(conversation, size, where):
    """(turns, utterances) of a conversation; utterances: dialogue id -> (turn id, the text as it stands there)."""
    turns, utterances = [], {}
    sessions = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_[0-9]+", key))
    for session in sessions:
        said, date = (conversation.get(f"session_{session}{end}") for end in ("", "_date_time"))
        if not isinstance(said, list) or not isinstance(date, str):
            raise InputError(f"{where}: session {session} has no utterances or no date; use LoCoMo's file unchanged")
        for start in range(0, len(said), size):
            pair = said[start : start + size]
            lines = [show(utterance) for utterance in pair]
            first, *rest = [utterance["dia_id"] for utterance in pair]
            name = first + "".join("-" + other.split(":")[1] for other in rest[-1:])
            utterances.update({utterance["dia_id"]: (name, line.strip()) for utterance, line in zip(pair, lines)})
            turns.append({"id": name, "session": str(session), "date": date, "user": f"[{date}] {lines[0]}",
                          "assistant": "\n".join(lines[1:])})
    return turns, utterances


def show(utterance):
    """An utterance as it stands in a turn: who, what, and the caption of a picture that came with it."""
    caption = utterance.get("blip_caption")
    return f"{utterance['speaker']}: {utterance['text']}" + (f" [picture: {caption}]" if caption else "")


def read_question(question, name, utterances):
    """(the case without split and history, losses), or (None, losses) for a question with nothing to find."""
    labels, losses = [], []
    for label in question["evidence"]:
        if label in utterances:
            labels.append(label)
            continue
        repaired = [f"D{int(session)}:{int(place)}" for session, place in LABEL.findall(label)]
        known = [known_label for known_label in repaired if known_label in utterances]
        labels += known
        what = "label repaired" if known and known == repaired else "label left out"
        losses.append({"what": what, "where": name, "detail": f"{label!r} read as {', '.join(known) or 'nothing'}"})
    if not labels:
        losses.append({"what": "question left out", "where": name, "detail": "it has no evidence to find"})
        return None, losses
    category = CATEGORIES.get(question["category"], f"category {question['category']}")
    facts = [{"turn": turn, "text": text} for turn, text in dict.fromkeys(utterances[label] for label in labels)]
    return {"id": name, "kind": category, "instructions": INSTRUCTIONS, "current": question["question"],
            "required": facts, "stale": []}, losses
