"""Tell a user message that says again what was asked before from the things that only look like it.

Not a script: signals.py feeds it; restatement_check.py measures it. Rules, no model: what they miss and what they wrongly
take stands in README-signals.md with its figures.

kinds   restates: an instruction given before is given again
        resent: the same message sent or edited again, no reply between
        machine text: another agent's orders, a hook, a tool's own lines under the user's role
        pasted output: only lines that a program printed are alike
        new round: the same job for another object, or the same job again after it was done
Only `restates` is a hit. Two messages are compared sentence by sentence, since a long one says several things.
"""

import re
from collections import Counter, deque

STOP = frozenset(
    "a an and are as at be been being but by can could did do does doing done for from get gets go goes going got had has have "
    "having he her here him his how i if in into is it its just let like me might more most my no nor not now of off ok okay on "
    "once one only or our out over own please really same she should since so some still such sure than that the their them then "
    "there these they thing this those though to too up us very was we well were what when where which while who why will with "
    "would yes yeah you your yours also always never again already about actually alright maybe think want wanted need needed "
    "btw hey hi hello thanks thank right see say said told tell asked ask remember remind mean meant way lets im ive id dont "
    "doesnt didnt isnt cant wont youre thats theres whats".split())
# Words by which a person says that this was said before, or that what came back is not what was asked for.
REMINDER = re.compile(
    r"\b(?:again|as i (?:said|asked|mentioned|wrote)|like i said|i (?:already |just )?(?:said|told|asked|mentioned|wanted|meant|specified)|"
    r"remember|remind(?:er)?|once more|one more time|repeat(?:ing)?|misunderst\w+|mix-?up|confus\w+|supposed to|we agreed|"
    r"you(?:'ve| have)? (?:ha\w*n\w*'?t|did ?n'?t|forgot|ignored?|missed|skipped|keep|kept)|(?:not|never) what i|"
    r"this is the (?:second|third|\w+th) time|how many times|did ?n'?t (?:i|we)|(?:let'?s|can we|please|my) focus)\b", re.IGNORECASE)
# Weaker ones: they go with much else.
HINT = re.compile(r"\b(?:already|still|earlier|instead of|rather than|not \w+ to|get back to|actually)\b|"
                  r"(?:,|\s)(?:right|or|no|correct|yeah|isn'?t it|won'?t (?:it|we)|should(?:n'?t)? (?:it|we))\s*\?\s*$", re.IGNORECASE)
# An instruction: a wish, an obligation, a prohibition, or a verb of command at its beginning.
INSTRUCTS = re.compile(
    r"\b(?:don'?t|do not|never|must|should|shouldn'?t|shall|always|only|make sure|ensure|please|let'?s|want|would (?:\w+ )?like|"
    r"i'?d (?:\w+ )?(?:like|prefer)|needs?|prefer|can you|could you|could we|can we|would you|keep|use|without|avoid|no more|instead|"
    r"has to|have to|rather|willing|stick (?:to|with)|leave|stop|how about|may not|not allowed|forbidden|required?)\b", re.IGNORECASE)
INQUIRES = re.compile(r"\s*(?:so |and |but |ok,? |also )?(?:(?:can|could|would|will) you (?:please )?(?:let me know|tell me|explain|remind me|say|confirm)|"
                      r"what|why|how (?!about)|when|where|who|which|is|are|was|were|does|did|do you)\b", re.IGNORECASE)
COMMANDS = frozenset(
    "add adjust align allow annotate answer append apply ask assume attach avoid begin bring build bump call change check clean "
    "close combine commit compare configure continue convert copy cover create cut debug delete deploy describe disable do "
    "document don't drop edit enable ensure exclude execute explain export extract fetch fill find finish fix focus follow format "
    "freeze generate get give go group handle hide hold ignore implement import improve include insert inspect install integrate "
    "investigate join keep kill label leave limit link list load log look make mark merge migrate mock monitor move name never "
    "note notify open order pin pick plan please post prefer prefix prepare preserve print promote propose provide publish pull push "
    "put quote read rebase record reduce refactor release remind remove rename reorder repeat replace reply report reproduce "
    "request rerun reset resolve respect respond restart restore restrict return reuse revert review rewrite roll rotate run save scale "
    "schedule scope search send separate set ship show simplify skip sort spawn split stage start stay stick stop store strip "
    "suggest summarise summarize switch sync tag take target tell test touch track translate treat trim try turn undo "
    "uninstall unpin update upgrade upload use validate verify wait warn wire work wrap write".split())
OUTPUT_LINE = re.compile(
    r"^\s*(?:[$>#%➜]\s|---|===|\+\+\+|@@|\d{4}-\d\d-\d\d|\d+[:|]|\[[\w :.-]+\]|at \S+[:(]|File \"|Traceback|\w*(?:Error|Exception|Warning)\b:|"
    r"(?:FAIL|PASS|ok|FAILED|ERROR|WARN|INFO|DEBUG|error|warning|npm)\b[:\s]|[{}\[\]();]+\s*$|[\w./-]+:\d+|\S+@\S+[:~]|[✓✗✔✘×])"
    r"|[{};]\s*$|^\s*[\w.-]+\s*[:=]\s*[\d\"'{\[]|\s{3,}\S+\s{3,}\S+|^\s{4,}\S")
MACHINE = re.compile(r"\s*(?:<[a-z][\w-]*[ >]|\{\"|\[\{|\[SYSTEM|\[Request interrupted|Stop hook|PreToolUse|PostToolUse|"
                     r"You are (?:a|an|the) [\w -]*(?:agent|reviewer|assistant|subagent)\b|# (?:AGENTS|CLAUDE)\.md)")
IDENTIFIER = re.compile(r"[\w.$-]*(?:[a-z][A-Z]|\d|_|\.\w)[\w$-]*(?:\.[\w$-]+)*")
WORD = re.compile(r"[@\w$./'#%-]*\w")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)|\n+|;\s+|\s+-\s+|(?<=,)\s+(?=but\b|also\b|and (?:please|also|don)|make sure\b|please\b|then\b)")

ALIKE = 0.9  # share of terms in common from which two messages are one message edited
# (share of weight, terms) that two sentences must have in common: with no word of it, a hint, a reminder that it was said.
BARS = {"none": (0.62, 3), "hint": (0.5, 3), "reminder": (0.38, 2)}
SEARCHED = 200  # earlier sentences looked at for each term, and messages for pasted output
SENTENCES = 60  # sentences of a message that are compared; more is a document that was pasted
SHOWN = 240  # characters of a sentence in the evidence
LONG = 400  # characters from which a reminder counts for its own sentence only
LENGTH = 0.12  # how much a longer sentence weighs against the shorter one's share


def stem(word):
    """A word without its commonest endings, so that changing and change, tests and test are one term."""
    for ending in ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[:-len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            return word[:-1] if ending == "ations" and word.endswith("at") else word
    return word


def terms(text):
    """{term: weight} of a sentence: stems of words that carry meaning. A path is its last part, without the ending."""
    found = {}
    for match in WORD.finditer(text.replace("’", "'")):
        token = match.group(0).strip("@'./-")
        if token.count("/") > 1 or IDENTIFIER.fullmatch(token) and "/" in token:
            token = token.rsplit("/", 1)[-1]
        token = re.sub(r"(?<=\w)\.[a-z]{1,4}$", "", token)
        for part in re.split(r"[/._:-]+|(?<=[a-z])(?=[A-Z])", token):
            part = part.lower().replace("'", "")
            if part not in STOP and (len(part) > 1 or part.isdigit()):
                found[stem(part) if part.isalpha() else part] = 2 if any(c.isdigit() for c in part) else 1
    return found


def identifiers(text):
    """Names in a text that say which object is meant: files, commits, numbers, code names, a path by its last part."""
    found = set()
    for match in WORD.finditer(text):
        token = match.group(0).strip("@'./-$#%").rsplit("/", 1)[-1]
        if IDENTIFIER.fullmatch(token) and len(token) > 2:
            found.add(token.lower())
    return found


def prose(text):
    """(what a person wrote, whether lines of program output stood beside it)."""
    text = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL)
    lines = text.split("\n")
    kept = [line for line in lines if line.strip() and not OUTPUT_LINE.search(line)]
    dropped = sum(1 for line in lines if line.strip()) - len(kept)
    return "\n".join(kept), dropped > 0


def sentences(text):
    return [part for part in SENTENCE.split(text) if part and part.strip()]


def instructs(sentence):
    """Whether a sentence gives an instruction: words of wish or duty, or a verb of command at its beginning."""
    first = re.match(r"\W*(?:(?:and|then|also|but|so|ok|okay|now|alright|yes|yeah|no)\W+)*([\w']+)", sentence.lower())
    if INQUIRES.match(sentence) and not re.search(r"\b(?:only|never|should|must|not)\b", sentence, re.IGNORECASE):
        return False
    return bool(INSTRUCTS.search(sentence)) or bool(first) and first.group(1) in COMMANDS


def digest_message(text, turn, **known):
    """What is kept of a user message: its sentences as weighed terms, for comparing later ones with it."""
    written, pasted = prose(text)
    parts = [{"text": s, "terms": terms(s), "names": identifiers(s), "instructs": instructs(s)} for s in sentences(written)]
    return {"turn": turn, "sentences": [p for p in parts if p["terms"]], "pasted": pasted, "all": terms(text),
            "reminds": len(written) <= LONG and bool(REMINDER.search(written)), "machine": bool(MACHINE.match(text)), **known}


class Said:
    """What the user of one conversation said so far: judges a message against it, then takes it in.

    Kept: the weighed sentences, and for each term the newest SEARCHED of them that hold it, so that a long
    conversation costs no more for each message than a short one.
    """

    def __init__(self):
        self.messages, self.sentences, self.holding, self.common = [], [], {}, Counter()

    def take(self, text, turn, **known):
        """Judge a message and remember it: {"kind", "earlier" (turn), "score", "said", "before"}, or None: nothing alike.

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
        """(score, earlier message, sentence, earlier sentence) of the two sentences most alike beyond the bar, or None."""
        best = None
        for said in message["sentences"][:SENTENCES]:
            reminds = bool(REMINDER.search(said["text"]))
            bar, least = BARS["reminder" if reminds or message["reminds"] else "hint" if HINT.search(said["text"]) else "none"]
            held = Counter(number for term in said["terms"] for number in self.holding.get(term, ()))
            for number, count in held.items():
                before, there = self.sentences[number]
                score = share(said["terms"], there["terms"], self.common)
                named = said["names"] & there["names"]
                if reminds and named:
                    score, count = max(score, bar), max(count, least)  # "remember x.md": the name says what is meant
                elif count - len(terms(" ".join(named))) < 2:
                    continue  # two sentences about one file are not yet one instruction
                if score >= bar and count >= least and (best is None or (score, -number) > best[0]):
                    best = ((score, -number), before, said, there)
        return best and (best[0][0], *best[1:])


def share(one, other, common):
    """Weight that two sentences have in common, of both together; terms frequent in the conversation weigh less."""
    def weigh(found, keys):
        return sum(found[t] / (1 + max(0, common.get(t, 0) - 4) / 8) for t in keys)

    both = one.keys() & other.keys()
    lighter, heavier = sorted((weigh(one, one), weigh(other, other)))
    whole = lighter + LENGTH * (heavier - lighter)
    return min(1.0, weigh({t: min(one[t], other[t]) for t in both}, both) / whole) if whole else 0.0


def overlap(one, other):
    """Share of terms that two whole messages have in common, of all terms of both."""
    every = one.keys() | other.keys()
    return len(one.keys() & other.keys()) / len(every) if every else 0.0


def resent(message, last):
    """Whether a message is the one before it again, or edited: most terms in common, or one holds all of the other's."""
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
    """The same job anew: other objects are named in both, or the very words of a request that asks for an act, no rule."""
    if REMINDER.search(said["text"]):
        return False
    only_said, only_there = terms(" ".join(said["names"])), terms(" ".join(there["names"]))
    if only_said and only_there and not only_said.keys() & only_there.keys():
        return True
    return overlap(message["all"], before["all"]) >= ALIKE and not RULE.search(said["text"])


RULE = re.compile(r"\b(?:don'?t|do not|never|must|should|shouldn'?t|always|only|without|no|not|keep|use|avoid|want|prefer|make sure|"
                  r"need|focus)\b", re.IGNORECASE)
