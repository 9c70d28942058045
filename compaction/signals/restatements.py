"""Tell a person's message that says again what they ordered before from the things that only look like it.

The index of selection/near.py over the person's own earlier messages finds the candidates; their sentences are compared
by stems, and who reminds or complains needs less likeness than who says nothing. No restatement: a message sent or
edited again with no reply and no compaction between, another agent's orders and a tool's own lines, lines of output
that are alike, the same job for another object, or again after it was done.
"""

import re
from collections import Counter
from math import fsum

from base.shown import one_line
from compaction.fixtures.directives import LIFTS, MACHINE, PLAIN, RULE, cue, orders, prose, sentences
from selection.near import NearIndex, stem, stems

CANDIDATES = 8  # earlier messages that are compared, best first
SENTENCES = 40  # sentences of a message that are compared; more is a document that was pasted
READ = 4000  # characters of a message that are compared
SHOWN = 240  # characters of a sentence in the evidence
LONG = 200  # characters from which a cue counts for its own sentence only
# What the later sentence must have in common with the earlier one, by its cue: at least (share of its weight, stems,
# share of the earlier one's weight).
RESTATES = {"declares": [(0.15, 1, 0)], "complains": [(0.34, 2, 0), (0.9, 1, 0.4)], "reminds": [(0.5, 2, 0)],
            "hints": [(0.66, 3, 0.3), (0.9, 2, 0.4)], "rule": [(0.6, 3, 0.4)], "near": [(0.75, 3, 0.4)], None: []}
LOOK_AT = {"declares": [(0.1, 1, 0)], "complains": [(0.3, 1, 0)], "reminds": [(0.3, 1, 0)], "hints": [(0.5, 2, 0.3)],
           "rule": [(0.5, 3, 0.3)], "near": [(0.6, 3, 0.3)], None: [(0.7, 4, 0.3)]}
STRONG = ("declares", "complains", "reminds")
PLAIN_STEMS = frozenset(map(stem, PLAIN))
NAME = re.compile(r"[\w.$/-]*(?:[a-z][A-Z]|\d|_|/|\.\w)[\w$/-]*(?:\.[\w$-]+)*")


class Said:
    """What the user of one conversation said so far: judges a message against it, then takes it in."""

    def __init__(self):
        self.messages, self.index, self.holders = [], NearIndex(), Counter()

    def take(self, text, turn, origin=None, replied=True, near=False):
        """Judge and remember a message: {"kind", "earlier" (turn), "score", "said", "before"}, or None.

        kind: "restates", or "to look at" where the rules cannot tell. origin: where the words stood; replied: whether a
        reply or a compaction came since the message before; near: whether it stands near a compaction.
        """
        written, pasted = prose(text[:READ])
        parts = list(map(analysed, sentences(written)[:SENTENCES]))
        if 1 < len(parts) <= 3 and len(written) < LONG:  # what a short message says may go over its sentences
            parts.append({**analysed(" ".join(written.split())), "orders": any(part["orders"] for part in parts)})
        message = {"turn": turn, "text": written, "pasted": pasted, "stems": set(stems(text[:READ])),
                   "sentences": [part for part in parts if part["letters"]],
                   "cue": cue(written) if len(written) < LONG else None}
        judged = self.messages and origin != "agent" and not MACHINE.match(text) and (
            replied or not self.resent(message))
        verdict = self.judge(message, near) if judged else None
        self.messages.append(message)
        self.index.add(written)
        self.holders.update(set().union(*(part["letters"] for part in parts)))
        return verdict

    def resent(self, message):
        """Whether a message is the one before it, edited or not: most stems in common, or one holds all the other's."""
        mine, its = message["stems"], self.messages[-1]["stems"]
        alike = overlap(mine, its)
        return bool(mine) and (alike >= 0.6 or alike > 0.3 and (mine <= its or its <= mine))

    def judge(self, message, near):
        pairs = list(self.pairs(message, near))
        if not pairs:
            return None
        sure, score, _, _, way, before, said, there = max(pairs, key=lambda pair: pair[:4])
        again = overlap(message["stems"], before["stems"])
        if way not in STRONG and message["pasted"] and before["pasted"] and again >= 0.5:
            return None  # output that is alike
        if way not in (*STRONG, "hints"):
            more, less = said["letters"] - there["letters"], there["letters"] - said["letters"]
            other = said["names"] and there["names"] and not said["names"] & there["names"]
            anew = not near if again >= 0.9 else overlap(said["letters"], there["letters"]) >= 0.5 and more and less
            if other or anew and not RULE.search(said["text"]):
                return None  # the same job for another object, or again
        return {"kind": "restates" if sure else "to look at", "earlier": before["turn"], "score": score,
                "said": one_line(said["text"], SHOWN), "before": one_line(there["text"], SHOWN)}

    def pairs(self, message, near):
        """(beyond RESTATES, share, stems, number of the earlier message, cue, that message, sentence, earlier sentence)
        of each pair beyond LOOK_AT."""
        scores = self.index.scores(message["text"])
        candidates = sorted(scores, key=lambda number: (-scores[number], -number))[:CANDIDATES]
        earlier = [(number, there) for number in candidates for there in self.messages[number]["sentences"]
                   if there["orders"]]
        for said in message["sentences"]:
            strong = next((told for told in (said["cue"], message["cue"]) if told in STRONG), None)
            ways = [strong] if strong else [said["cue"], *["near"] * near, *["rule"] * bool(RULE.search(said["text"]))]
            lifted = strong != "declares" and LIFTS.search(said["text"])
            for number, there in () if lifted else earlier:
                if not (common := said["letters"] & there["letters"]):
                    continue
                both, mine, its = map(self.weight, (common, said["letters"], there["letters"]))
                named = bool(strong and said["names"] & there["names"])  # "remember x.md": the name says what is meant
                share, count, back = both / mine + named / 2, len(common) + named, both / its
                for way in ways:
                    sure, look = (any(share >= a and count >= b and back >= c for a, b, c in bars[way])
                                  for bars in (RESTATES, LOOK_AT))
                    if sure or look:
                        yield sure, round(min(1, share), 3), count, number, way, self.messages[number], said, there

    def weight(self, letters):
        """The weight of stems, those that the person says often less; the same whatever their order."""
        return fsum(1 / (1 + max(0, self.holders[word] - 3) / 6) for word in letters)


def analysed(text):
    """What is kept of a sentence. `letters`: its stems, letters of long ones in order: lsiten and listen are one."""
    names = {name.lower().rsplit("/", 1)[-1] for name in NAME.findall(text) if len(name) > 3}
    letters = {"".join(sorted(word)) if len(word) > 4 else word for word in stems(text) if word not in PLAIN_STEMS}
    return {"text": text, "letters": letters, "names": names, "orders": orders(text), "cue": cue(text)}


def overlap(stems_a, stems_b):
    """Jaccard index of two sets of stems: overlap({1, 2}, {2, 3}) -> 1/3."""
    return len(stems_a & stems_b) / len(stems_a | stems_b) if stems_a | stems_b else 0.0
