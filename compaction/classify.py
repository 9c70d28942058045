"""Find statements that bind what comes later: constraints, commitments, open questions, references.

Run:  not a script; annotate.py proposes with it and measures it, the `ledger` compactor pins with it.
Does not understand a sentence: each rule is a pattern in the table below, tuned on one half of the shipped fixtures
(`python -m compaction.annotate measure` shows recall and precision on both halves).

found  {"class", "turn" (from 1), "role", "text" (the whole sentence as it stands), "name" (what the pattern matched),
       "rule"}
"""

import re

from strategies import turn_messages, words

LONGEST = 320  # characters; a longer "sentence" is a log or a listing, which binds nobody
ANSWERED = 0.6  # of a question's words in one later statement of the user's: then it is taken for answered
TUNED_ON = ("bucket-region-move", "feature-store-flakes", "ledger-migration", "paging-misroute", "search-reindex",
            "tls-rotation")  # every other shipped fixture by id; annotate.py measures on the rest
PEOPLE, USER, TOOL = ("user", "assistant"), ("user",), ("tool",)
RULES = (  # class, rule, whose messages, pattern
    ("constraint", "prohibition", USER,
     r"\b(?:do not|don['\u2019]t|must not|mustn['\u2019]t|may not|never|cannot|can['\u2019]t|nothing|nobody|no one|none of|no other|not before"
     r"|not until|not without|stays? out)\b|^no (?!idea)\w+ .*\b(?:in|between|goes?|go|to)\b"),
    ("constraint", "obligation", USER,
     r"\b(?:must|ha(?:s|ve) to|need(?:s|ed)? (?:an? |to )|stays?|always|only|keeps?|at (?:most|least)|or below|no more than|strictly"
     r"|byte for byte|guarantees?)\b"),
    ("constraint", "hedged approval", USER,
     r"\b(?:fine|ok|okay|acceptable|agree[ds]?|yes|principle|theory|hold it)\b.*\b(?:if|but|once|after|until|unless|when|provided|as (?:long|soon)"
     r" as|as soon|needs?)\b"),
    ("constraint", "condition", USER, r"\b(?:provided|as (?:long|soon) as|unless|once (?:the|he|she|they|it)? ?\w+ (?:has|have|confirms?|signs?))\b"),
    ("constraint", "value", USER,
     r"(?:\bis|\bgoes? to|\bcarries|\bleaves?|\bceiling|\bfloor|\btimeout|\bttl|\blimit)\b.*(?:\d|\b[A-Z]{3,}_\w+)|^\d+ \w+ an? \w+"),
    ("constraint", "note in a tool's output", TOOL,
     r"(?:#|note|comment|desc)\W.*\b(?:must|never|do not|only|has to|have to|stays?|keep|under hold|excluded|deletes|guarantees)\b"
     r"|\b(?:must not|must never|do not|has to stay|at most|excluded from|under hold)\b"),
    ("commitment", "promise", PEOPLE,
     r"\b(?:I['\u2019]ll|I will|I shall|I am going to|I['\u2019]m going to)\s+(?:\w+\s+)*?(?:\w+)\b.*\b(?:when|once|before|after|as soon as|until|by"
     r"|on|in|tomorrow|monday|tuesday|wednesday|thursday|friday|every|always|myself|to|from|for|again|with)\b"),
    ("commitment", "task taken", PEOPLE,
     r"\b(?:is|are) mine\b|\bthat['\u2019]s on me\b|\bon my list\b|\bI see to (?:it|that)\b|\bfrom me\b|\bI send it\b|\bleave (?:it|that) to me\b"),
    ("open_question", "decision asked for", USER,
     r"^(?=(?:\S+\s+){4}).*(?:\bor\b|\bshould\b|\bshall\b|\bdo we\b|\bwho\b|\bwhy did\b|\bwhat do\b|\bfall under\b|\bstays?\b|\bdoes it end\b).*\?$"),
    ("open_question", "left open", USER,
     r"\b(?:never settled|(?:must|should|have to|ought to) (?:settle|decide)|no idea (?:who|what|whether|if)|can['\u2019]t tell whether|not sure (?:whether|if)"
     r"|nobody (?:knows|could tell|decided)|still open|undecided|to be decided)\b"),
    ("reference", "ticket", USER, r"\b[A-Z]{2,}-\d[\w-]*"),
    ("reference", "path", PEOPLE, r"(?<![\w/])(?:[a-z0-9]+://)?[\w.~+-]*(?:/[\w.+=-]*\w){2,}/?|(?<![\w/])/?[\w.-]+/[\w.-]*[\d.][\w.-]*\w|\b(?:alias|fix|feat|spec)/[\w.-]*\w"),
    ("reference", "revision", PEOPLE, r"\brev [A-Z\d]+|\b\w[\w/.-]* v\d+(?:\.\d+)+\b|\b[\w-]+:v\d+\b|\b\d{4}\.\d\d[\w.-]*-\w+|\b\d{4}_[a-z]\w+"),
)
ASKS = re.compile(r"\?$|^(?:how|does|is|are|what|where|which|can|why|who|when|did|do (?!not))\b", re.IGNORECASE)
COMPILED = [(class_, name, roles, re.compile(pattern, 0 if class_ == "reference" else re.IGNORECASE))
            for class_, name, roles, pattern in RULES]


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
        for sentence in re.split(r"(?<=[.!?])\s+", line.strip()):
            if sentence and len(sentence) <= LONGEST:
                yield sentence


def answered(question, history):
    """Whether a later statement of the user's takes up most words of the question without asking in turn."""
    asked = words(question["text"])
    later = (sentence for turn in history[question["turn"]:] for sentence in sentences(turn["user"]))
    return any(len(asked & words(one)) >= max(3, ANSWERED * len(asked)) for one in later if not one.endswith("?"))
