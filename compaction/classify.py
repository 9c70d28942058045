"""Find statements that bind what comes later: constraints, commitments, open questions, references.

Run:  not a script; annotate.py proposes with it and measures it, the `ledger` compactor pins with it.
Does not understand a sentence: each rule is a pattern in the table below, tuned on one half of the shipped fixtures
(`python -m compaction.annotate measure` shows recall and precision on both halves).

found  {"class", "turn" (from 1), "role", "text" (the whole sentence as it stands), "name" (what the pattern matched),
       "rule"}
"""

import re

from modelkit.segments import split_sentences
from strategies import turn_messages, words

LONGEST = 320  # characters; a longer "sentence" is a log or a listing, which binds nobody
ANSWERED = 0.6  # of a question's words in one later statement of the user's: then it is taken for answered
TUNED_ON = (  # every other shipped fixture by id; annotate.py measures on the rest
    "bucket-region-move", "feature-store-flakes", "ledger-migration", "paging-misroute", "search-reindex",
    "tls-rotation",
)
PEOPLE, USER, TOOL = ("user", "assistant"), ("user",), ("tool",)
RULES = (  # class, rule, whose messages, alternatives: any one of them makes the sentence one of the class
    ("constraint", "prohibition", USER, (
        r"\b(?:do not|don['\u2019]t|must not|mustn['\u2019]t|may not|never|cannot|can['\u2019]t)\b",
        r"\b(?:nothing|nobody|no one|none of|no other|not before|not until|not without)\b",
    )),
    ("constraint", "obligation", USER, (
        r"\b(?:must|ha(?:s|ve) to|need(?:s|ed)? (?:an? |to )|stays?|always|only|keeps?)\b",
        r"\b(?:at (?:most|least)|no more than|not more than)\b",
    )),
    ("constraint", "hedged approval", USER, (
        r"\b(?:fine|ok|okay|acceptable|agree[ds]?|yes|principle|theory|hold it)\b.*"
        r"\b(?:if|but|once|after|until|unless|when|provided|as (?:long|soon) as|needs?)\b",
    )),
    ("constraint", "condition", USER, (r"\b(?:provided|as (?:long|soon) as|unless)\b",)),
    ("constraint", "value", USER, (
        r"(?:\bis|\bgoes? to|\bleaves?|\btimeout|\bttl|\blimit)\b.*(?:\d|\b[A-Z]{3,}_\w+)",
        r"^\d+ \w+ an? \w+|\b\d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?)\b",
        r"\b\d+ (?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    )),
    ("constraint", "note in a tool's output", TOOL, (
        r"(?:#|note|comment|desc)\W.*\b(?:must|never|do not|only|has to|have to|stays?|keep)\b",
        r"(?:#|note|comment|desc)\W.*\b(?:under hold|deletes)\b",
        r"\b(?:must not|must never|do not|has to stay|at most|under hold)\b",
    )),
    ("commitment", "promise", PEOPLE, (
        r"\bI(?:['\u2019]ll| will| shall| am going to|['\u2019]m going to) .*"
        r"\b(?:when|once|before|after|as soon as|until|by|on|in|tomorrow|every|always|again)\b",
        r"\bI(?:['\u2019]ll| will| shall| am going to|['\u2019]m going to) .*"
        r"\b(?:\w+days?|myself|to|from|for|with)\b",
    )),
    ("commitment", "task taken", PEOPLE, (
        r"\b(?:is|are) mine\b|\bon my list\b|\bfrom me\b|\bleave (?:it|that) to me\b",
    )),
    ("open_question", "decision asked for", USER, (  # of five words at least: "and?" asks for a fact
        r"^(?=(?:\S+\s+){4}).*\b(?:or|should|shall|do we|who|why did|stays?)\b.*\?$",
    )),
    ("open_question", "left open", USER, (
        r"\b(?:never settled|(?:must|should|have to|ought to) (?:settle|decide)|still open|undecided|to be decided)\b",
        r"\b(?:no idea (?:who|what|whether|if)|can['\u2019]t tell whether|not sure (?:whether|if))\b",
        r"\bnobody (?:knows|could tell|decided)\b",
    )),
    ("reference", "ticket", USER, (r"\b[A-Z]{2,}-\d[\w-]*",)),
    ("reference", "path", PEOPLE, (
        r"(?<![\w/])(?:[a-z0-9]+://)?[\w.~+-]*(?:/[\w.+=-]*\w){2,}/?",
        r"(?<![\w/])/?[\w.-]+/[\w.-]*[\d.][\w.-]*\w",
        r"\b(?:alias|fix|feat|spec)/[\w.-]*\w",
    )),
    ("reference", "revision", PEOPLE, (
        r"\brev [A-Z\d]+|\b\w[\w/.-]* v\d+(?:\.\d+)+\b|\b[\w-]+:v\d+\b",
        r"\b\d{4}\.\d\d[\w.-]*-\w+|\b\d{4}_[a-z]\w+",
    )),
)
ASKS = re.compile(r"\?$|^(?:how|does|is|are|what|where|which|can|why|who|when|did|do (?!not))\b", re.IGNORECASE)
COMPILED = [
    (class_, name, roles, re.compile("|".join(patterns), 0 if class_ == "reference" else re.IGNORECASE))
    for class_, name, roles, patterns in RULES
]


def classify(history):
    """Every statement that a rule finds in these turns, in order: once for each class, a name at its first mention."""
    found, names = [], set()
    for number, turn in enumerate(history, 1):
        for message in turn_messages(turn):
            for one in classify_text(message["content"], message["role"]):  # a call's arguments bind nobody
                if one["class"] != "reference" or one["name"] not in names:
                    names.add(one["name"])
                    found.append({"class": one["class"], "turn": number, "role": message["role"], **one})
    return [one for one in found if one["class"] != "open_question" or not answered(one, history)]


def classify_text(text, role):
    """The statements in one text of a message: {"class", "text", "name", "rule"}."""
    found = []
    for sentence in sentences(text):
        classes = set()
        for class_, name, roles, pattern in COMPILED:
            match = pattern.search(sentence) if role in roles and class_ not in classes else None
            if match and not (class_ == "constraint" and ASKS.search(sentence)):  # who asks does not bind yet
                classes.add(class_)
                found.append({"class": class_, "text": sentence, "name": match[0].strip(), "rule": name})
    return found


def sentences(text):
    """The sentences of a text, line by line, those too long to be one left out."""
    for line in text.split("\n"):
        for sentence in split_sentences(line):
            if sentence and len(sentence) <= LONGEST:
                yield sentence


def answered(question, history):
    """Whether a later statement of the user's takes up most words of the question without asking in turn."""
    asked = words(question["text"])
    later = (sentence for turn in history[question["turn"] :] for sentence in sentences(turn["user"]))
    return any(len(asked & words(one)) >= max(3, ANSWERED * len(asked)) for one in later if not one.endswith("?"))
