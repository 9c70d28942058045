"""Tell a person's message that says again what they ordered before from the things that only look like it.

The index of selection/near.py over the person's own earlier messages finds the candidates; their sentences are compared
by stems. What the person says about it weighs: who reminds or complains needs less likeness than who says nothing.

kinds   restates: an order given before is given again, or its neglect is complained about
        to look at: alike, and the rules cannot tell; listed, never counted
        resent: the same message sent or edited again, no reply and no compaction between
        machine text: another agent's orders, a hook, a tool's own lines under the user's role
        pasted output: only lines that a program printed are alike
        new round: the same job for another object, or the same job again after it was done
"""

import re
from collections import Counter

from base.shown import one_line
from compaction.signals.words import LIFTS, MACHINE, PLAIN, RULE, cue, orders, prose, sentences
from selection.near import NearIndex, stem, stems

CANDIDATES = 8  # earlier messages that are compared, best first
SENTENCES = 40  # sentences of a message that are compared; more is a document that was pasted
READ = 4000  # characters of a message that are compared
SHOWN = 240  # characters of a sentence in the evidence
ALIKE = 0.9  # share of stems in common from which two messages are one
LONG = 200  # characters from which a cue counts for its own sentence only
# What the later sentence must have in common with the earlier one, by its cue: at least (share of its weight, stems,
# share of the earlier one's weight).
RESTATES = {"declares": [(0.15, 1, 0)], "complains": [(0.34, 2, 0), (0.9, 1, 0.4)], "reminds": [(0.5, 2, 0)],
            "hints": [(0.66, 3, 0.3), (0.9, 2, 0.4)], "rule": [(0.6, 3, 0.4)], "near": [(0.75, 3, 0.4)], None: []}
LOOK_AT = {"declares": (0.1, 1, 0), "complains": (0.3, 1, 0), "reminds": (0.3, 1, 0), "hints": (0.5, 2, 0.3),
           "rule": (0.5, 3, 0.3), "near": (0.6, 3, 0.3), None: (0.7, 4, 0.3)}
STRONG = ("declares", "complains", "reminds")
PLAIN_STEMS = frozenset(map(stem, PLAIN))
NAME = re.compile(r"[\w.$/-]*(?:[a-z][A-Z]|\d|_|/|\.\w)[\w$/-]*(?:\.[\w$-]+)*")


class Said:
    """What the user of one conversation said so far: judges a message against it, then takes it in."""

    def __init__(self):
        self.messages, self.index, self.holders = [], NearIndex(), Counter()

    def take(self, text, turn, origin=None, replied=True, near=False):
        """Judge and remember a message: {"kind", "earlier" (turn), "score", "said", "before"}, or None: nothing alike.

        origin: where the words stood; replied: whether a reply or a compaction came since the message before; near:
        whether the message stands near a compaction, so that the very same order again is no new round.
        """
        machine = origin == "agent" or bool(MACHINE.match(text))
        written, pasted = (text[:READ], False) if machine else prose(text[:READ])
        parts = [described(one) for one in sentences(written)[:SENTENCES]]
        if 1 < len(parts) <= 3 and len(written) < LONG:  # what a short message says may go over its sentences
            parts.append({**described(" ".join(written.split())), "orders": any(part["orders"] for part in parts)})
        message = {"turn": turn, "text": written, "sentences": [part for part in parts if part["stems"]], "pasted": pasted,
                   "stems": set(stems(text[:READ])), "cue": cue(written) if len(written) < LONG else None,
                   "machine": machine}
        verdict = self.judge(message, replied, near) if self.messages else None
        self.messages.append(message)
        self.index.add(written)
        self.holders.update(message["stems"])
        return verdict

    def judge(self, message, replied, near):
        last = self.messages[-1]
        alike = overlap(message["stems"], last["stems"])
        holds = message["stems"] <= last["stems"] or last["stems"] <= message["stems"]
        if not replied and message["stems"] and (alike >= 0.6 or alike > 0.3 and holds):
            return told("resent", last, alike)
        best = self.best_pair(message, near)
        if message["pasted"] and (best is None or best[1] not in STRONG):
            before = max(self.messages, key=lambda one: (one["pasted"], overlap(message["stems"], one["stems"])))
            if before["pasted"] and overlap(message["stems"], before["stems"]) >= 0.5:
                return told("pasted output", before, overlap(message["stems"], before["stems"]))
        if best is None:
            return None
        (score, *_), way, before, said, there, sure = best
        if message["machine"]:
            return told("machine text", before, score, said, there)
        if way not in (*STRONG, "hints"):
            again = overlap(message["stems"], before["stems"]) >= ALIKE
            if said["names"] and there["names"] and not said["names"] & there["names"]:
                return told("new round", before, score, said, there)
            if not (again and near) and not RULE.search(said["text"]) and (
                    again or overlap(said["letters"], there["letters"]) >= 0.5 and said["letters"] - there["letters"]
                    and there["letters"] - said["letters"]):
                return told("new round", before, score, said, there)
        return told("restates" if sure else "to look at", before, score, said, there)

    def best_pair(self, message, near):
        """(rank, cue, earlier message, sentence, earlier sentence, beyond the bar of RESTATES) of the best pair, or None."""
        scores = self.index.scores(message["text"])
        candidates = sorted(scores, key=lambda number: (-scores[number], -number))[:CANDIDATES]
        best = None
        for said in message["sentences"]:
            way = said["cue"] if said["cue"] in STRONG or message["cue"] not in STRONG else message["cue"]
            if LIFTS.search(said["text"]) and way != "declares":
                continue
            ways = [way] if way in STRONG else [way, *["near"] * near, *["rule"] * bool(RULE.search(said["text"]))]
            for number in candidates:
                before = self.messages[number]
                for there in before["sentences"]:
                    if not there["orders"]:
                        continue
                    share, count, back = self.likeness(said, there)
                    if way in STRONG and said["names"] & there["names"]:
                        share, count = share + 0.5, count + 1  # "remember x.md": the name says what is meant
                    for way in ways if count else ():
                        sure = any(map(all, ((share >= a, count >= b, back >= c) for a, b, c in RESTATES[way])))
                        a, b, c = LOOK_AT[way]
                        rank = (round(min(1.0, share), 3), count, number)
                        if (sure or share >= a and count >= b and back >= c) and (
                                best is None or (sure, rank) > (best[5], best[0])):
                            best = rank, way, before, said, there, sure
        return best

    def likeness(self, said, there):
        """(share of the weight of `said` that is in common, stems in common, their share of `there`'s weight).

        Stems that the person says often weigh less.
        """
        common = [one for one, letters in said["stems"].items() if one in there["stems"] or letters in there["letters"]]
        if not common:
            return 0.0, 0, 0.0
        both = sum(map(self.weight, common))
        return both / sum(map(self.weight, said["stems"])), len(common), both / sum(map(self.weight, there["stems"]))

    def weight(self, one):
        return 1 / (1 + max(0, self.holders[one] - 3) / 6)


def described(text):
    """What is kept of a sentence; the letters of a stem in order, so that lsiten and listen are one."""
    names = {name.lower().rsplit("/", 1)[-1] for name in NAME.findall(text) if len(name) > 3}
    letters = {one: "".join(sorted(one)) if len(one) > 4 else one for one in stems(text) if one not in PLAIN_STEMS}
    return {"text": text, "stems": letters, "letters": set(letters.values()), "names": names, "orders": orders(text), "cue": cue(text)}


def overlap(one, other):
    """Share of stems that two texts have in common, of all stems of both. {a, b} and {b, c} -> 1/3"""
    return len(one & other) / len(one | other) if one | other else 0.0


def told(kind, before, score, said=None, there=None):
    texts = {"said": one_line(said["text"], SHOWN), "before": one_line(there["text"], SHOWN)} if said else {}
    return {"kind": kind, "earlier": before["turn"], "score": round(score, 3), **texts}
