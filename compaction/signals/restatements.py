"""Tell a user message that says again what was asked before from the things that only look like it.

Rules, no model: what they miss and what they
wrongly take stands in README-signals.md with its figures.

kinds   restates: an instruction given before is given again
        resent: the same message sent or edited again, no reply between
        machine text: another agent's orders, a hook, a tool's own lines under the user's role
        pasted output: only lines that a program printed are alike
        new round: the same job for another object, or the same job again after it was done
Only `restates` is a hit. Two messages are compared sentence by sentence, since a long one says several things.
"""

import re
from collections import Counter, deque
from functools import lru_cache

from compaction.signals.words import (
    IDENTIFIER,
    LIFTS,
    MACHINE,
    OUTPUT_LINE,
    RULE,
    SENTENCE,
    STOP,
    WORD,
    cue,
    instructs,
    stem,
)

ALIKE = 0.9  # share of terms in common from which two messages are one message edited
# (share of weight, terms) that two sentences must have in common, by how the later one says that it was said before.
BARS = {"none": (0.62, 3), "hint": (0.5, 3), "tag": (0.4, 2), "reminder": (0.36, 2), "declares": (0.15, 1)}
WAYS = list(BARS)  # from the weakest to the strongest
SEARCHED = 200  # earlier sentences looked at for each term, and messages for pasted output
SENTENCES = 60  # sentences of a message that are compared; more is a document that was pasted
SHOWN = 240  # characters of a sentence in the evidence
LONG = 400  # characters from which a reminder counts for its own sentence only
LENGTH = 0.12  # how much a longer sentence weighs against the shorter one's share


@lru_cache(maxsize=20_000)  # a conversation says the same words again and again
def parts(token):
    """The terms of one word with their weights, as pairs: stems, digits twice; of a path its last part, no ending."""
    token = token.strip("@'./-")
    if token.count("/") > 1 or IDENTIFIER.fullmatch(token) and "/" in token:
        token = token.rsplit("/", 1)[-1]
    token = re.sub(r"(?<=\w)\.[a-z]{1,4}$", "", token)
    number = re.fullmatch(r"v?\d+(?:\.\d+)*", token)
    found = {}
    for part in [token] if number else re.split(r"[/._:-]+|(?<=[a-z])(?=[A-Z])", token):
        part = part.lower().replace("'", "")
        if part not in STOP and (len(part) > 1 or part.isdigit()):
            found[stem(part) if part.isalpha() else part] = 2 if any(c.isdigit() for c in part) else 1
    return tuple(found.items())


@lru_cache(maxsize=20_000)
def name_in(token):
    """What a word says of which object is meant (a file, a commit, a number, a path by its last part), or None."""
    token = token.strip("@'./-$#%").rsplit("/", 1)[-1]
    return token.lower() if len(token) > 2 and IDENTIFIER.fullmatch(token) else None


def words(text):
    return WORD.findall(text.replace("’", "'"))


def terms(text):
    """{term: weight} of a text: stems of the words that carry meaning."""
    return {term: weight for word in words(text) for term, weight in parts(word)}


def described(text, instructs):
    """What is kept of a sentence. `compounds`: the terms of each word that was taken apart: they name one thing."""
    found, names, compounds = {}, set(), []
    for word in words(text):
        split = parts(word)
        found.update(split)
        if len(split) > 1:
            compounds.append({term for term, _ in split})
        names.add(name_in(word))
    names.discard(None)
    return {"text": text, "terms": found, "names": names, "compounds": compounds, "instructs": instructs}


def prose(text):
    """(what a person wrote, whether lines of program output stood beside it)."""
    text = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL)
    lines = text.split("\n")
    kept = [line for line in lines if line.strip() and not OUTPUT_LINE.search(line)]
    dropped = sum(1 for line in lines if line.strip()) - len(kept)
    return "\n".join(kept), dropped > 0


def sentences(text):
    return [part for part in SENTENCE.split(text) if part and part.strip()]


def digest_message(text, turn, **known):
    """What is kept of a user message: its sentences as weighed terms, for comparing later ones with it."""
    written, pasted = prose(text)
    split = sentences(written)
    parts = [described(sentence, instructs(sentence)) for sentence in split]
    if 1 < len(split) <= 3 and len(written) <= LONG:  # what a short message says may go over its sentences
        parts.append(described(written, False))
    return {"turn": turn, "sentences": [p for p in parts if p["terms"]], "pasted": pasted, "all": terms(text),
            "cue": cue(written) if len(written) <= LONG else "none", "machine": bool(MACHINE.match(text)), **known}


class Said:
    """What the user of one conversation said so far: judges a message against it, then takes it in.

    Kept: the weighed sentences, and for each term the newest SEARCHED of them that hold it, so that a long
    conversation costs no more for each message than a short one.
    """

    def __init__(self):
        self.messages, self.sentences, self.holding, self.common = [], [], {}, Counter()

    def take(self, text, turn, **known):
        """Judge and remember a message: {"kind", "earlier" (turn), "score", "said", "before"}, or None: nothing alike.

        known: "origin" (where the words stood), "replied" (False: no whole reply came since the message before).
        """
        message = digest_message(text, turn, **known)
        verdict = self.judge(message) if self.messages else None
        self.messages = [*self.messages[-SEARCHED:], message]
        self.common.update(message["all"].keys())
        for sentence in message["sentences"]:
            if sentence["instructs"]:
                self.sentences.append((message, sentence))
                for term in sentence["terms"]:
                    self.holding.setdefault(term, deque(maxlen=SEARCHED)).append(len(self.sentences) - 1)
        return verdict

    def judge(self, message):
        last = self.messages[-1]
        if not message.get("replied", True) and resent(message, last):
            return told("resent", last, overlap(message["all"], last["all"]))
        best = self.best_pair(message)
        if best is None:
            alike = max(self.messages, key=lambda m: overlap(message["all"], m["all"])) if message["pasted"] else None
            if alike and overlap(message["all"], alike["all"]) >= 0.5:
                return told("pasted output", alike, overlap(message["all"], alike["all"]))
            return None
        score, before, said, there = best
        if message.get("origin") == "agent" or message["machine"]:
            return told("machine text", before, score, said, there)
        if new_round(message, before, said, there):
            return told("new round", before, score, said, there)
        return told("restates", before, score, said, there)

    def best_pair(self, message):
        """(score, earlier message, sentence, earlier one) of the two sentences most alike beyond the bar, or None."""
        best = None
        for said in message["sentences"][:SENTENCES]:
            way = max(cue(said["text"]), min(message["cue"], "reminder", key=WAYS.index), key=WAYS.index)
            bar, least = BARS[way]
            if way in ("none", "hint") and LIFTS.search(said["text"]):
                continue
            held = Counter(number for term in said["terms"] for number in self.holding.get(term, ()))
            for number, count in held.items():
                before, there = self.sentences[number]
                score = share(said["terms"], there["terms"], self.common)
                named = said["names"] & there["names"]
                count -= sum(max(0, len(parts & there["terms"].keys()) - 1) for parts in said["compounds"])
                if way == "declares" and named:
                    score += 1  # "remember x.md": the name says what is meant
                elif way != "declares" and count - len(named) < 2:
                    continue  # two sentences about one file are not yet one instruction
                if score >= bar and count >= least and (best is None or (score, -number) > best[0]):
                    best = ((score, -number), before, said, there)
        return best and (best[0][0], *best[1:])


def share(one, other, common):
    """Weight that two sentences have in common, of both together; terms frequent in the conversation weigh less."""
    mine = its = both = 0.0
    for term, weight in one.items():
        rarity = 1 + max(0, common.get(term, 0) - 4) / 8
        mine += weight / rarity
        if term in other:
            both += min(weight, other[term]) / rarity
    for term, weight in other.items():
        its += weight / (1 + max(0, common.get(term, 0) - 4) / 8)
    whole = min(mine, its) + LENGTH * abs(mine - its)
    return min(1.0, both / whole) if whole else 0.0


def overlap(one, other):
    """Share of terms that two whole messages have in common, of all terms of both."""
    every = one.keys() | other.keys()
    return len(one.keys() & other.keys()) / len(every) if every else 0.0


def resent(message, last):
    """Whether a message is the one before it, edited or not: most terms in common, or one holds all the other's."""
    mine, its = message["all"], last["all"]
    alike = overlap(mine, its)
    return bool(mine) and (alike >= 0.6 or alike > 0.3 and (mine.keys() <= its.keys() or its.keys() <= mine.keys()))


def told(kind, before, score, said=None, there=None):
    texts = {"said": shown(said["text"]), "before": shown(there["text"])} if said else {}
    return {"kind": kind, "earlier": before["turn"], "score": round(score, 3), **texts}


def shown(text):
    text = text.strip().encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def new_round(message, before, said, there):
    """The same job anew: something else put in one place of it, or the very words of a request for an act, no rule."""
    if message["cue"] in ("declares", "reminder") or cue(said["text"]) in ("declares", "reminder"):
        return False
    only_said, only_there = terms(" ".join(said["names"])), terms(" ".join(there["names"]))
    if only_said and only_there and not only_said.keys() & only_there.keys():
        return True
    one, other = said["terms"], there["terms"]
    if RULE.search(said["text"]):
        return False
    return (overlap(one, other) >= 0.5
            and bool(one.keys() - other.keys())
            and bool(other.keys() - one.keys())
            or overlap(message["all"], before["all"]) >= ALIKE)
