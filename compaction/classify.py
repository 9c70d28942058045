"""Find statements that bind what comes later: constraints, commitments, open questions, references.

Run:  not a script; annotate.py proposes with it and the `ledger` compactor pins with it.
Does not understand a sentence: each rule is a pattern in the table below, tuned on one half of the shipped fixtures
(annotate.py measures it on the other half).

found  {"class", "turn" (from 1), "role", "text" (the whole sentence, as it stands), "rule"}
"""

import re

from strategies import turn_messages, words

from compaction.conversation import message_texts

LONGEST = 320  # characters; a longer "sentence" is a log or a listing, which binds nobody


def rule(class_, name, pattern, roles):
    return {"class": class_, "name": name, "pattern": re.compile(pattern, re.IGNORECASE), "roles": roles}


RULES = (
    rule("constraint", "prohibition", r"\b(?:do not|don['\u2019]t|never|must not|mustn['\u2019]t|may not|cannot|no one|nobody)\b", ("user",)),
    rule("constraint", "obligation", r"\b(?:must|always|only|at most|at least|no more than|has to|have to|until|unless|before)\b", ("user",)),
    rule("commitment", "promise", r"\b(?:i|we)(?:['\u2019]ll| will| am going to| shall|['\u2019]m going to)\b", ("user", "assistant")),
    rule("open_question", "question", r"\?$", ("user", "assistant")),
    rule("reference", "path", r"(?:^|\s)[\w.~-]*/[\w./-]*\w", ("user", "assistant")),
    rule("reference", "revision", r"\b(?:v\d+(?:\.\d+)+|[0-9a-f]{7,40}|[A-Z]{2,}-\d+)\b", ("user", "assistant")),
)


def classify(history):
    """Every statement that a rule finds in these turns, in order; a sentence counts once for each class."""
    found = []
    for number, turn in enumerate(history, 1):
        for message in turn_messages(turn):
            for text in message_texts(message):
                found += [one | {"turn": number, "role": message["role"]} for one in classify_text(text, message["role"])]
    return [one for one in found if not answered(one, history)]


def classify_text(text, role):
    """The statements in one text of a message."""
    found = []
    for sentence in sentences(text):
        for one in RULES:
            taken = any(other["text"] == sentence and other["class"] == one["class"] for other in found)
            if role in one["roles"] and one["pattern"].search(sentence) and not taken:
                found.append({"class": one["class"], "text": sentence, "rule": one["name"]})
    return found


def sentences(text):
    """The sentences of a text, line by line, those too long to be one left out."""
    for line in text.split("\n"):
        for sentence in re.split(r"(?<=[.!?])\s+", line.strip()):
            if sentence and len(sentence) <= LONGEST:
                yield sentence


def answered(found, history):
    """Whether a question is taken up by a later message: one that shares two words and does not ask."""
    return False
