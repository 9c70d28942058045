"""Make a case set of LoCoMo's conversations and questions (locomo10.json, from the user's own download).

A turn is two utterances of one session that follow each other, never of two sessions, the session's date in front.
A fact is an utterance that the question's evidence names; it is found when the turn that holds it is in the request.
Does not use the answers: about one in fifteen of the set's answer keys is wrong by a public audit.
"""

import re

from base.command import InputError
from base.shapes import NONE, Each, misfit

UTTERANCE = {"dia_id": lambda name: re.fullmatch(r"\w+:\w+", str(name)), "speaker": str, "text": str,
             "blip_caption?": (str, NONE)}
CONVERSATION = Each((str, [UTTERANCE]), least=1)  # session_1, session_1_date_time and so on, and the two names
SETS = [{"sample_id": str, "conversation": CONVERSATION,
         "qa": [{"question": str, "evidence": [str], "category": int}]}]
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
INSTRUCTIONS = "Two people talk over many months. Answer the question from their conversation."
LABEL = re.compile(r"D:?(\d+):(\d+)")  # as in D8:6, and in the malformed D:11:26, D30:05 and "D8:6; D9:17"


def import_locomo(value, where):
    """(histories, cases without a budget, losses) of the parsed file.

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
        histories[name], utterances = read_turns(sample["conversation"], f"{where}: conversation {name!r}")
        split = "dev" if number < len(value) // 2 else "held_out"
        for place, question in enumerate(sample["qa"]):
            case = f"{name}-{place}"
            if facts := find_evidence(question["evidence"], case, utterances, losses):
                kind = CATEGORIES.get(question["category"], f"category {question['category']}")
                cases.append({"id": case, "kind": kind, "instructions": INSTRUCTIONS, "current": question["question"],
                              "required": facts, "stale": [], "split": split, "history": name})
    return histories, cases, losses


def read_turns(conversation, where):
    """(turns, utterances) of a conversation; utterances: dialogue id -> the fact that it is."""
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
    """The facts that the labels of a question name; what is repaired or left out goes to `losses`."""
    facts = []
    for label in evidence:
        ids = [label]
        if label not in utterances:
            repaired = [f"D{int(session)}:{int(place)}" for session, place in LABEL.findall(label)]
            ids = [name for name in repaired if name in utterances]
            what = "label repaired" if ids and ids == repaired else "label left out"
            losses.append({"what": what, "where": case, "detail": f"{label!r} read as {', '.join(ids) or 'nothing'}"})
        facts += [utterances[name] for name in ids if utterances[name] not in facts]
    if not facts:
        losses.append({"what": "question left out", "where": case, "detail": "it has no evidence to find"})
    return facts
