"""What is kept of all conversations of a log: counts, shares with their control, labels met, a sample; and it shown."""

import hashlib
import heapq
from collections import Counter

from base.shown import columns, one_line
from base.stats import sign_test

# How strong a conversation's evidence is: the sum of its hits' and restatements' weights.
STRENGTH = {"idle": 3, "result changed": 1, "result unknown": 1, "restates": 2, "restates near": 4}  # others: 0
SAMPLE = 20


class Totals:
    """What is kept of all conversations."""

    def __init__(self, turns, labels, seed):
        self.turns, self.labels, self.seed = turns, labels, seed
        self.counts, self.kinds, self.messages, self.sessions = Counter(), Counter(), Counter(), Counter()
        self.shares = {"after": [0, 0], "control": [0, 0]}  # repeats, calls
        self.best, self.flagged, self.to_look_at, self.met, self.names = [], [], [], {}, set()

    def take(self, name, compactions, counts, hits, verdicts):
        """Count an ended conversation, and keep it where it is flagged. `counts`: those of its window of calls."""
        restated = [verdict for verdict in verdicts if verdict["kind"] == "restates"]
        kinds = [hit["kind"] for hit in hits] + ["restates" + " near" * verdict["near"] for verdict in restated]
        row = {"conversation_id": name, "compactions": compactions, "hits": hits, "restatements": restated,
               "strength": sum(STRENGTH.get(kind, 0) for kind in kinds)}
        if compactions:  # the control is of the same sessions
            self.shares = {kind: [a + b for a, b in zip(both, counts[kind])] for kind, both in self.shares.items()}
            (after, calls_after), (control, calls_control) = counts["after"], counts["control"]
            if calls_after and calls_control:
                more = after * calls_control - control * calls_after
                self.sessions["up" if more > 0 else "down" if more < 0 else "equal"] += 1
        self.kinds.update(hit["kind"] for hit in hits)
        self.names.update({name} & {place[0] for place in self.labels})
        self.messages.update(verdict["kind"] for verdict in verdicts)
        self.messages["restates near a compaction"] += sum(verdict["near"] for verdict in restated)
        self.met.update({(name, verdict["turn"]): verdict["kind"] for verdict in verdicts})
        unsure = [verdict for verdict in verdicts if verdict["kind"] == "to look at"]
        self.to_look_at += [{"conversation_id": name, **verdict} for verdict in unsure]
        self.flagged += [row] if hits or restated else []
        tie = hashlib.blake2b(f"{self.seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        keep = heapq.heappush if len(self.best) < SAMPLE else heapq.heappushpop
        keep(self.best, (row["strength"], tie, len(self.flagged), row))

    def report(self):
        (after, calls_after), (control, calls_control) = self.shares["after"], self.shares["control"]
        sessions = {kind: self.sessions[kind] for kind in ("up", "down", "equal")}
        self.counts["flagged conversations"] = len(self.flagged)
        repeats = {"window_user_turns": self.turns, "hits": sum(self.kinds.values()),
                   "kinds": dict(sorted(self.kinds.items())), "after": share(after, calls_after, calls_control),
                   "control": share(control, calls_control, calls_after), "sessions": sessions,
                   "sign_test_p": sign_test(sessions["up"], sessions["down"])}
        best = [row for *_, row in sorted(self.best, key=lambda entry: (-entry[0], entry[1]))]
        return {"log": dict(sorted(self.counts.items())), "repeats": {**repeats, "says": says(repeats)},
                "user_messages": dict(sorted(self.messages.items())), "labels": self.label_report(),
                "sample": {"seed": self.seed, "conversations": [{"rank": n, **row} for n, row in enumerate(best, 1)]},
                "to_look_at": self.to_look_at, "flagged": self.flagged}

    def label_report(self):
        """Precision and recall of `restates` over labels; one of a conversation that is not in the log is no miss."""
        if not self.labels:
            return None
        here = {place: label for place, label in self.labels.items() if place[0] in self.names}
        table = Counter((label, self.met.get(place, "none")) for place, label in here.items())
        wrong = [{"conversation_id": name, "turn": turn, "label": label} for (name, turn), label in here.items()
                 if label not in ("restates", "unclear") and self.met.get((name, turn)) == "restates"]
        right, there = table["restates", "restates"], sum(n for (label, _), n in table.items() if label == "restates")
        absent = sorted({name for name, _ in self.labels} - self.names)
        return {"labelled": len(here), "conversations_not_in_the_log": absent, "restates": there, "found": right,
                "false_alarms": len(wrong),
                "precision": right / (right + len(wrong)) if right or wrong else None,
                "recall": right / there if there else None,
                "table": [{"label": label, "told": kind, "messages": n} for (label, kind), n in sorted(table.items())],
                "wrongly_taken": wrong, "restatements_without_a_label": sum(
                    kind == "restates" for place, kind in self.met.items() if place not in self.labels)}


def share(repeats, calls, other_calls):
    """{"repeats", "calls", "share"}; no share without calls on both sides: a rate without its control says nothing."""
    return {"repeats": repeats, "calls": calls, "share": repeats / calls if calls and other_calls else None}


def says(repeats):
    """One line: whether calls repeat more after a compaction than elsewhere, beyond chance by conversation."""
    after, control, sessions, p = (repeats[field] for field in ("after", "control", "sessions", "sign_test_p"))
    line = (f"{after['repeats']} of {after['calls']} calls within {repeats['window_user_turns']} turns after a "
            "compaction repeat an earlier one")
    if after["share"] is None:
        return line + "; without calls far from one in the same conversations nothing can be compared"
    more = "more than chance" if p < 0.05 else "no more than chance"
    return (f"{line} ({after['share']:.1%}), {control['repeats']} of {control['calls']} elsewhere "
            f"({control['share']:.1%}); by conversation {sessions['up']} up, {sessions['down']} down, "
            f"{sessions['equal']} equal: the difference is {more} (sign test, p = {p:.2g})")


def shown(report, width=60):
    """The report's lines for a person: the sample as a table, best first, what is to look at, and the one line."""
    rows = [["", "conversation", "strength", "calls again", "restated", "evidence"]]
    for row in report["sample"]["conversations"]:
        kinds = Counter(hit["kind"] for hit in row["hits"])
        lines = [f"turn {said['turn']} <- {said['earlier']}: {said['said']}" for said in row["restatements"]]
        idle = [hit for hit in row["hits"] if hit["kind"] == "idle"]
        lines += [f"turn {hit['turn']}: {hit['name']} {hit['arguments']}" for hit in idle] or ["-"]
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        rows.append([row["rank"], one_line(row["conversation_id"], 32), row["strength"], calls or "-",
                     len(row["restatements"]) or "-", one_line(lines[0], width)])
    told, labels = Counter(report["user_messages"]), report["labels"]
    lines = [*columns(rows, right=(0, 2, 4)), "", report["repeats"]["says"],
             f"{told['restates']} messages restate an order ({told['restates near a compaction']} near a compaction); "
             f"{told['to look at']} are to look at and not counted"]
    if labels:
        absent = ", ".join(labels["conversations_not_in_the_log"])
        lines.append(f"labels: {labels['found']} of {labels['restates']} restatements found, "
                     f"{labels['false_alarms']} false alarms")
        if absent:
            lines.append(f"labelled conversations that are not in the log, not counted: {one_line(absent, 200)}")
    return lines
