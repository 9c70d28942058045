"""Make a case set of LoCoMo's conversations and questions (locomo10.json, from the user's own download).

A turn is two utterances of one session that follow each other, never of two sessions, the session's date in front.
A fact is an utterance that the question's evidence names; it is found when the turn that holds it is in the request.
Does not use the answers: about one in fifteen of the set's answer keys is wrong by a public audit.
"""

import re

from base.command import InputError

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
INSTRUCTIONS = "Two people talk over many months. Answer the question from their conversation."
LABEL = re.compile(r"D:?(\d+):(\d+)")  # as in D8:6, and in the malformed D:11:26, D30:05 and "D8:6; D9:17"


def import_locomo(value, where, size=2):
    """(histories, cases without a budget, losses) of the parsed file; `size` utterances make a turn.

    losses  {"what", "where", "detail"} for each thing that was repaired or could not be imported
    The first half of the conversations is the development split, the rest is held out.
    """
    if not isinstance(value, list) or not value:
        raise InputError(f"{where}: not LoCoMo: a list of conversations is wanted; use its file locomo10.json")
    histories, cases, losses = {}, [], []
    for number, sample in enumerate(value):
        try:
            name = sample["sample_id"]
            if name in histories:
                raise InputError(f"{where}: the conversation {name!r} stands twice; remove one")
            histories[name], utterances = read_turns(sample["conversation"], size)
            split = "dev" if number < len(value) // 2 else "held_out"
            for place, question in enumerate(sample["qa"]):
                found, lost = read_question(question, f"{name}-{place}", utterances)
                losses += lost
                if found:
                    cases.append({**found, "split": split, "history": name})
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise InputError(
                f"{where}: conversation {number}: not as LoCoMo writes it ({type(error).__name__}: {error}); "
                "use its file locomo10.json unchanged") from None
    return histories, cases, losses


def read_turns(conversation, size):
    """(turns, utterances) of a conversation; utterances: dialogue id -> (turn id, the text as it stands there)."""
    turns, utterances = [], {}
    sessions = sorted(int(found[1]) for key in conversation if (found := re.fullmatch(r"session_(\d+)", key)))
    for session in sessions:
        said = conversation[f"session_{session}"]
        date = conversation[f"session_{session}_date_time"]
        for start in range(0, len(said), size):
            pair = said[start : start + size]
            lines = [show(utterance) for utterance in pair]
            first, *rest = [utterance["dia_id"] for utterance in pair]
            name = first + "".join("-" + other.split(":")[1] for other in rest[-1:])
            utterances.update({one["dia_id"]: (name, line) for one, line in zip(pair, lines)})
            turns.append({"id": name, "session": str(session), "date": date, "user": f"[{date}] {lines[0]}",
                          "assistant": "\n".join(lines[1:])})
    return turns, utterances


def show(utterance):
    """An utterance as it stands in a turn: who, what, and the caption of a picture that came with it."""
    caption = utterance.get("blip_caption")
    picture = f" [picture: {caption}]" if caption else ""
    return f"{utterance['speaker']}: {utterance['text']}{picture}"


def read_question(question, name, utterances):
    """(the case without split and history, losses), or (None, losses) for a question with nothing to find."""
    labels, losses = [], []
    for label in question["evidence"]:
        if label in utterances:
            labels.append(label)
            continue
        repaired = [f"D{int(session)}:{int(place)}" for session, place in LABEL.findall(label)]
        known = [one for one in repaired if one in utterances]
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
