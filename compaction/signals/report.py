"""What is kept of all conversations of a log: counts, the share of repeated calls with its control, labels met, the sample."""

import hashlib
import heapq
from collections import Counter

from base.shown import columns, one_line
from base.stats import sign_test

STRENGTH = {"idle": 3, "result changed": 1, "result unknown": 1, "restates": 2, "restates near": 4}  # others: 0
SAMPLE = 20


def strength(hits, restated):
    """How strong a conversation's evidence is: the sum of its hits' and restatements' weights."""
    return sum(STRENGTH.get(hit["kind"], 0) for hit in hits) + sum(
        STRENGTH["restates near" if one["near"] else "restates"] for one in restated)


class Totals:
    """What is kept of all conversations."""

    def __init__(self, turns, labels, seed):
        self.turns, self.labels, self.seed = turns, labels, seed
        self.counts, self.kinds, self.messages, self.sessions = Counter(), Counter(), Counter(), Counter()
        self.shares = {"after": [0, 0], "control": [0, 0]}  # repeats, calls
        self.best, self.flagged, self.to_look_at, self.met, self.names = [], [], [], {}, set()

    def take(self, conversation):
        """Count an ended conversation, and keep it where it is flagged."""
        row = conversation.end()
        self.counts["compactions"] += row["compactions"] - conversation.copied
        self.counts["opaque compactions"] += conversation.opaque
        if row["compactions"]:  # the control is of the same sessions
            self.add_window(conversation.calls.window.counts)
        self.kinds.update(hit["kind"] for hit in row["hits"])
        name = row["conversation_id"]
        self.names.update({name} & {place[0] for place in self.labels})
        for verdict in conversation.verdicts:
            self.messages[verdict["kind"]] += 1
            self.messages["restates near a compaction"] += verdict["kind"] == "restates" and verdict["near"]
            if (name, verdict["turn"]) in self.labels:
                self.met[name, verdict["turn"]] = verdict["kind"]
            else:
                self.counts["unlabelled restatements"] += verdict["kind"] == "restates"
            if verdict["kind"] == "to look at":
                self.to_look_at.append({"conversation_id": name, **verdict})
        tie = hashlib.blake2b(f"{self.seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        entry = (row["strength"], tie, row)
        if len(self.best) < SAMPLE:
            heapq.heappush(self.best, entry)
        elif entry[:2] > self.best[0][:2]:
            heapq.heapreplace(self.best, entry)
        if row["hits"] or row["restatements"]:
            self.flagged.append(row)

    def add_window(self, counts):
        for kind, both in counts.items():
            self.shares[kind] = [a + b for a, b in zip(self.shares[kind], both)]
        (one, calls_after), (other, calls_control) = counts["after"], counts["control"]
        if calls_after and calls_control:
            more = one * calls_control - other * calls_after
            self.sessions["up" if more > 0 else "down" if more < 0 else "equal"] += 1

    def report(self):
        (after, calls_after), (control, calls_control) = self.shares["after"], self.shares["control"]
        sessions = {kind: self.sessions[kind] for kind in ("up", "down", "equal")}
        self.counts["flagged conversations"] = len(self.flagged)
        repeats = {"window_user_turns": self.turns, "hits": sum(self.kinds.values()), "kinds": dict(sorted(self.kinds.items())),
                   "after": share(after, calls_after, calls_control), "control": share(control, calls_control, calls_after),
                   "sessions": sessions, "sign_test_p": sign_test(sessions["up"], sessions["down"])}
        repeats["says"] = says(repeats)
        sample = [{"rank": n, **row} for n, (_, _, row) in enumerate(sorted(self.best, key=lambda e: (-e[0], e[1])), 1)]
        return {"log": dict(sorted(self.counts.items())), "repeats": repeats,
                "user_messages": dict(sorted(self.messages.items())),
                "labels": label_report(self.labels, self.met, self.names, self.counts["unlabelled restatements"]),
                "sample": {"seed": self.seed, "conversations": sample}, "to_look_at": self.to_look_at,
                "flagged": self.flagged}


def share(repeats, calls, other_calls):
    """{"repeats", "calls", "share"}; no share without calls on both sides: a rate without its control says nothing."""
    return {"repeats": repeats, "calls": calls, "share": repeats / calls if calls and other_calls else None}


def says(repeats):
    """One line: whether calls repeat more after a compaction than elsewhere, beyond chance by conversation."""
    after, control, sessions, p = (repeats[field] for field in ("after", "control", "sessions", "sign_test_p"))
    if after["share"] is None:
        return (f"{after['repeats']} of {after['calls']} calls after a compaction repeat an earlier one; without calls far "
                "from one in the same conversations nothing can be compared")
    more = "the difference is more than chance" if p < 0.05 else "the difference is no more than chance"
    return (f"{after['repeats']} of {after['calls']} calls within {repeats['window_user_turns']} turns after a compaction "
            f"repeat an earlier one ({after['share']:.1%}), {control['repeats']} of {control['calls']} elsewhere "
            f"({control['share']:.1%}); by conversation {sessions['up']} up, {sessions['down']} down, "
            f"{sessions['equal']} equal: {more} (sign test, p = {p:.2g})")


def label_report(labels, met, names, unlabelled):
    """Precision and recall of `restates` over labelled messages; a label of a conversation not in the log is no miss."""
    if not labels:
        return None
    table, wrong = Counter(), []
    absent = sorted({name for name, _ in labels} - names)
    for place, label in labels.items():
        if place[0] in names:
            kind = met.get(place, "none")
            table[label, kind] += 1
            if label not in ("restates", "unclear") and kind == "restates":
                wrong.append({"conversation_id": place[0], "turn": place[1], "label": label})
    right = table["restates", "restates"]
    said, there = right + len(wrong), sum(n for (label, _), n in table.items() if label == "restates")
    return {"labelled": sum(table.values()), "conversations_not_in_the_log": absent, "restates": there, "found": right,
            "false_alarms": len(wrong), "precision": right / said if said else None, "recall": right / there if there else None,
            "table": [{"label": label, "told": kind, "messages": n} for (label, kind), n in sorted(table.items())],
            "wrongly_taken": wrong, "restatements_without_a_label": unlabelled}


def shown(report, width=60):
    """The report's lines for a person: the sample as a table, best first, what is to look at, and the one line."""
    rows = [["", "conversation", "strength", "calls again", "restated", "evidence"]]
    for row in report["sample"]["conversations"]:
        kinds = Counter(hit["kind"] for hit in row["hits"])
        lines = [f"turn {one['turn']} <- {one['earlier']}: {one['said']}" for one in row["restatements"]]
        lines += [f"turn {hit['turn']}: {hit['name']} {hit['arguments']}" for hit in row["hits"] if hit["kind"] == "idle"]
        rows.append([row["rank"], one_line(row["conversation_id"], 32), row["strength"],
                     ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "-", len(row["restatements"]) or "-",
                     one_line((lines or ["-"])[0], width)])
    lines = columns(rows, right=(0, 2, 4)) + ["", report["repeats"]["says"]]
    told = report["user_messages"]
    lines.append(f"{told.get('restates', 0)} messages restate an order ({told.get('restates near a compaction', 0)} near a "
                 f"compaction); {told.get('to look at', 0)} are to look at and not counted")
    labels = report["labels"]
    if labels:
        lines.append(f"labels: {labels['found']} of {labels['restates']} restatements found, {labels['false_alarms']} false alarms")
        if labels["conversations_not_in_the_log"]:
            lines.append("labelled conversations that are not in the log, not counted: "
                         + one_line(", ".join(labels["conversations_not_in_the_log"]), 200))
    return lines
