"""What is kept of all conversations of a log: counts, shares with their control, labels met, the best for the sample.
"""

import hashlib
import heapq
from collections import Counter

from base.stats import sign_test

from compaction.signals.events import moment

STRENGTH = {"idle": 3, "result changed": 1, "result unknown": 1, "restates": 2, "restates near": 4}  # others: 0
SAMPLE = 20
NAMES = {"turn": "user_turns", "reply": "model_replies"}
MEASURES = ("equal to any earlier call", "equal to one made before the place")


def strength(hits, restated):
    """How strong a conversation's evidence is: the sum of its hits' and restatements' weights."""
    return sum(STRENGTH.get(hit["kind"], 0) for hit in hits) + sum(
        STRENGTH["restates near" if v["near"] else "restates"] for v in restated)


class Totals:
    """What is kept of all conversations: counts, pairs for the sign test, the best of the sample, labels met."""

    def __init__(self, windows, labels, seed, since, until):
        self.windows, self.labels, self.seed, self.since, self.until = windows, labels, seed, since, until
        self.counts, self.kinds, self.messages = Counter(), {unit: Counter() for unit in windows}, Counter()
        self.shares = {unit: {"after": [0, 0, 0], "control": [0, 0, 0]} for unit in windows}
        self.pairs = {(unit, measure): Counter() for unit in windows for measure in MEASURES}
        self.best, self.found_labels, self.undated = [], {}, 0

    def take(self, conversation):
        """Count an ended conversation; its row when it is flagged, else None."""
        row = conversation.end()
        self.counts["compactions"] += row["compactions"] - conversation.copied
        self.counts["opaque compactions"] += conversation.opaque
        for window in conversation.calls.windows if row["compactions"] else ():  # the control is of the same sessions
            self.add_window(window)
        for hit in row["hits"]:
            for unit in hit["windows"]:
                self.kinds[unit][hit["kind"]] += 1
        for verdict in conversation.verdicts:
            self.messages[verdict["kind"]] += 1
            self.messages["restates near a compaction"] += verdict["kind"] == "restates" and verdict["near"]
            place = conversation.name, verdict["turn"]
            if place in self.labels:
                self.found_labels[place] = verdict["kind"]
            else:
                self.counts["unlabelled restatements"] += verdict["kind"] == "restates"
        self.sample(row, conversation)
        return row if row["hits"] or row["restatements"] else None

    def add_window(self, window):
        shares = self.shares[window.unit]
        for kind, counts in window.counts.items():
            shares[kind] = [a + b for a, b in zip(shares[kind], counts)]
        (*after, calls_after), (*control, calls_control) = window.counts["after"], window.counts["control"]
        if calls_after and calls_control:
            for measure, one, other in zip(MEASURES, after, control):
                more = one * calls_control - other * calls_after
                self.pairs[window.unit, measure]["up" if more > 0 else "down" if more < 0 else "equal"] += 1

    def sample(self, row, conversation):
        """Offer a conversation to the sample: with dates given, by the evidence inside them alone."""
        inside = {**row}
        if self.since is not None or self.until is not None:
            if not any(conversation.times):
                self.undated += 1
                return
            if not any(self.within(time) for time in conversation.times) and not self.spans(conversation.times):
                return
            inside["hits"] = [hit for hit in row["hits"] if self.within(hit["time"])]
            inside["restatements"] = [v for v in row["restatements"] if self.within(v["time"])]
            inside["strength"] = strength(inside["hits"], inside["restatements"])
        tie = hashlib.blake2b(
            f"{self.seed}\0{row['conversation_id']}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        entry = (inside["strength"], tie, inside)
        if len(self.best) < SAMPLE:
            heapq.heappush(self.best, entry)
        elif entry[:2] > self.best[0][:2]:
            heapq.heapreplace(self.best, entry)

    def within(self, time):
        found = moment(time)
        return (found is not None
                and (self.since is None or found >= self.since)
                and (self.until is None or found < self.until))

    def spans(self, times):
        """Whether a conversation began before --since and ended after --until."""
        first, last = map(moment, times)
        return None not in (first, last, self.since, self.until) and first < self.since and last >= self.until

    def report(self):
        repeats = {}
        for unit, length in self.windows.items():
            row = repeats[f"within_{length}_{NAMES[unit]}"] = {
                "hits": sum(self.kinds[unit].values()), "kinds": dict(sorted(self.kinds[unit].items())), "shares": []}
            (*after, calls_after), (*control, calls_control) = self.shares[unit]["after"], self.shares[unit]["control"]
            for measure, one, other in zip(MEASURES, after, control):
                pairs = self.pairs[unit, measure]
                row["shares"].append({"repeat": measure, "after": share(one, calls_after, calls_control),
                                      "control": share(other, calls_control, calls_after),
                                      "sessions": {kind: pairs[kind] for kind in ("up", "down", "equal")},
                                      "sign_test_p": sign_test(pairs["up"], pairs["down"])})
        sample = [{"rank": n, **row} for n, (_, _, row) in enumerate(sorted(self.best, key=lambda e: (-e[0], e[1])), 1)]
        return {"log": dict(sorted(self.counts.items())), "repeats": repeats,
                "user_messages": dict(sorted(self.messages.items())),
                "labels": label_report(self.labels, self.found_labels, self.counts["unlabelled restatements"]),
                "sample": {"seed": self.seed, "undated": self.undated, "conversations": sample}}


def share(repeats, calls, other_calls):
    """{"repeats", "calls", "share"}; no share without calls on both sides: a rate without its control says nothing."""
    return {"repeats": repeats, "calls": calls, "share": repeats / calls if calls and other_calls else None}


def label_report(labels, found, unlabelled):
    """Precision and recall of `restates` over labelled messages, the table behind them, what was wrongly taken."""
    if not labels:
        return None
    table, wrong = Counter(), []
    for place, label in labels.items():
        kind = found.get(place, "none")
        table[label, kind] += 1
        if label not in ("restates", "unclear") and kind == "restates":
            wrong.append({"conversation_id": place[0], "turn": place[1], "label": label})
    right = table["restates", "restates"]
    said = right + len(wrong)
    there = sum(n for (label, _), n in table.items() if label == "restates")
    return {"labelled": len(labels), "restates": there, "found": right, "false_alarms": len(wrong),
            "precision": right / said if said else None, "recall": right / there if there else None,
            "table": [{"label": label, "told": kind, "messages": n} for (label, kind), n in sorted(table.items())],
            "wrongly_taken": wrong, "restatements_without_a_label": unlabelled}
