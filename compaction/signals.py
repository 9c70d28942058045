"""Look through an event log for signs that a compaction lost something: calls made again, instructions given again.

Run:  python -m compaction.signals log.jsonl > signals.json
import_sessions.py makes the log from what agents' tools record. One pass; memory is that of the longest conversation.
Most calls made again are innocent: each hit has its evidence and kind (signal_calls.py), and beside every share stands
the same share at places with no compaction near. Restatements: signal_restatements.py. A sample of twenty conversations
for annotation stands first, the strongest evidence first, ties by --seed.

Does not measure how well a summary reads, or say that a compaction caused what followed it.
"""

import argparse
import hashlib
import heapq
import json
import sys
import tempfile
from collections import Counter

from command import InputError, dump, progress, read_json, run_command
from compaction.signal_calls import Calls
from compaction.signal_log import each_conversation, moment, read_events
from compaction.signal_restatements import Said
from compaction.stats import sign_test

STRENGTH = {"idle": 3, "result changed": 1, "result unknown": 1, "restates": 2, "restates near": 4}  # others: 0
SAMPLE = 20
NAMES = {"turn": "user_turns", "reply": "model_replies"}
MEASURES = ("equal to any earlier call", "equal to one made before the place")


class Conversation:
    """Watches one conversation: its calls, its user's messages, its compactions, and what is evidence."""

    def __init__(self, name, turns, replies):
        self.name, self.near = name, turns
        self.calls, self.said = Calls(turns, replies), Said()
        self.last, self.turn_of_compaction, self.opaque = None, None, 0
        self.verdicts = []  # of every user message that is like an earlier one
        self.times, self.hit_times = [None, None], {}

    def take(self, event):
        kind = event["kind"]
        if event.get("time") is not None:
            self.times = [self.times[0] or event["time"], event["time"]]
        if kind == "tool_call":
            hits = len(self.calls.hits)
            self.calls.call(event)
            for number in range(hits, len(self.calls.hits)):
                self.hit_times[number] = event.get("time")
        elif kind == "tool_result":
            self.calls.result(event)
        elif kind == "compaction":
            self.calls.compaction(event)
            self.turn_of_compaction = event["turn"]
            self.opaque += bool(event.get("opaque"))
            return  # no answer to the user: what was said last stays so
        elif kind == "user":
            self.user(event)
        self.last = kind

    def user(self, event):
        replied = self.last == "assistant" and not event.get("interrupted")
        verdict = self.said.take(event["content"], event["turn"], origin=event.get("origin"), replied=replied)
        if verdict is None or event.get("copied"):
            return
        after = None if self.turn_of_compaction is None else event["turn"] - self.turn_of_compaction
        near = after is not None and after <= self.near
        self.verdicts.append({"turn": event["turn"], **verdict, "turns_after_compaction": after, "near": near,
                              "time": event.get("time")})

    def end(self):
        """{"conversation_id", "strength", "hits", "restatements", "times"} of the ended conversation."""
        hits = self.calls.end()
        for number, hit in enumerate(hits):
            hit["time"] = self.hit_times.get(number)
        restated = [v for v in self.verdicts if v["kind"] == "restates"]
        return {"conversation_id": self.name, "compactions": len(self.calls.compactions),
                "strength": strength(hits, restated), "hits": hits, "restatements": restated}


def strength(hits, restated):
    """How strong a conversation's evidence is: the sum of its hits' and restatements' weights."""
    return sum(STRENGTH.get(hit["kind"], 0) for hit in hits) + \
        sum(STRENGTH["restates near" if v["near"] else "restates"] for v in restated)


class Totals:
    """What is kept of all conversations: counts, the pairs for the sign test, the best of the sample, the labels met."""

    def __init__(self, windows, labels, seed, since, until):
        self.windows, self.labels, self.seed, self.since, self.until = windows, labels, seed, since, until
        self.counts, self.kinds, self.messages = Counter(), {unit: Counter() for unit in windows}, Counter()
        self.shares = {unit: {"after": [0, 0, 0], "control": [0, 0, 0]} for unit in windows}
        self.pairs = {(unit, measure): Counter() for unit in windows for measure in MEASURES}
        self.best, self.found_labels, self.undated = [], {}, 0

    def take(self, conversation):
        """Count an ended conversation; its row when it is flagged, else None."""
        row = conversation.end()
        self.counts["compactions"] += row["compactions"]
        self.counts["opaque compactions"] += conversation.opaque
        for window in conversation.calls.windows if row["compactions"] else ():  # the control is of the same sessions
            self.add_window(window)
        for hit in row["hits"]:
            for unit in hit["windows"]:
                self.kinds[unit][hit["kind"]] += 1
        for verdict in conversation.verdicts:
            self.messages[verdict["kind"]] += 1
            self.messages["restates near a compaction"] += verdict["kind"] == "restates" and verdict["near"]
            self.found_labels[row["conversation_id"], verdict["turn"]] = verdict["kind"] \
                if (row["conversation_id"], verdict["turn"]) in self.labels else None
            if self.found_labels[row["conversation_id"], verdict["turn"]] is None:
                del self.found_labels[row["conversation_id"], verdict["turn"]]
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
        tie = hashlib.blake2b(f"{self.seed}\0{row['conversation_id']}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        entry = (inside["strength"], tie, inside)
        if len(self.best) < SAMPLE:
            heapq.heappush(self.best, entry)
        elif entry[:2] > self.best[0][:2]:
            heapq.heapreplace(self.best, entry)

    def within(self, time):
        found = moment(time)
        return found is not None and (self.since is None or found >= self.since) and (self.until is None or found < self.until)

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
        return {"log": dict(sorted(self.counts.items())), "repeats": repeats, "user_messages": dict(sorted(self.messages.items())),
                "labels": label_report(self.labels, self.found_labels, self.counts["unlabelled restatements"]),
                "sample": {"seed": self.seed, "undated": self.undated, "conversations": sample}}


def share(repeats, calls, other_calls):
    """{"repeats", "calls", "share"}; no share without calls on both sides: a rate without its control says nothing."""
    return {"repeats": repeats, "calls": calls, "share": repeats / calls if calls and other_calls else None}


def label_report(labels, found, unlabelled):
    """Precision and recall of `restates` over the labelled messages, the table behind them, and what was wrongly taken."""
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


def read_labels(path):
    """{(conversation id, turn): label} of a file {"messages": [{"conversation_id", "turn", "label"}]}."""
    value = read_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        raise InputError(f"{path}: no list of labelled messages; give {{\"messages\": [{{conversation_id, turn, label}}]}}")
    labels = {}
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or any(field not in message for field in ("conversation_id", "turn", "label")):
            raise InputError(f"{path}: message {number} lacks conversation_id, turn or label; add it")
        labels[message["conversation_id"], message["turn"]] = message["label"]
    return labels


def find_signals(lines, path, turns=5, replies=32, open_at_once=1, labels=None, seed=0, since=None, until=None, flag=None):
    """The report of a log's lines (bytes); each flagged conversation's row goes to `flag(row)` when it ends."""
    totals = Totals({"turn": turns, "reply": replies}, labels or {}, seed, since, until)
    begin = lambda name: Conversation(name, turns, replies)  # noqa: E731
    for conversation in each_conversation(read_events(lines, path), begin, open_at_once, totals.counts):
        row = totals.take(conversation)
        if row is not None:
            totals.counts["flagged conversations"] += 1
            if flag is not None:
                flag(row)
    if not totals.counts["events"]:
        raise InputError(f"{path}: no event in it; import sessions first (import_sessions.py)")
    return totals.report()


def time_option(text):
    found = moment(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no date or time; write 2026-01-31 or 2026-01-31T12:00:00Z")
    return found


def write_report(report, spool, out):
    """Write the report with the flagged conversations, which were put aside as JSON lines, as its last field."""
    head = dump({**report, "flagged": []})
    out.write(head[:head.rindex("[]")] + "[")
    spool.seek(0)
    between = "\n"
    for text in spool:
        block = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        out.write(between + "    " + block.replace("\n", "\n    "))
        between = ",\n"
    out.write("]\n}\n" if between == "\n" else "\n  ]\n}\n")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  python -m compaction.import_sessions ~/.codex/sessions --output log.jsonl\n"
               "  python -m compaction.signals log.jsonl --since 2026-01-01 > signals.json")
    parser.add_argument("log", help="event log (JSON lines), conversations one after the other")
    parser.add_argument("--open", type=int, default=1, metavar="N", help="conversations kept open at once, where they are mixed")
    parser.add_argument("--turns", type=int, default=5, help="window after a compaction in user turns (default %(default)s)")
    parser.add_argument("--replies", type=int, default=32, help="window in model replies (default %(default)s: what five user "
                        "turns were at the median of 25 recorded sessions)")
    parser.add_argument("--labels", metavar="FILE", help="labelled user messages: report precision and recall")
    parser.add_argument("--seed", type=int, default=0, help="decides ties in the sample")
    parser.add_argument("--since", type=time_option, help="sample from this time on")
    parser.add_argument("--until", type=time_option, help="sample up to this time, itself not in it")
    args = parser.parse_args(argv)
    if min(args.open, args.turns, args.replies) < 1:
        parser.error("--open, --turns and --replies are whole numbers from 1")
    labels = read_labels(args.labels) if args.labels else {}
    try:
        log = open(args.log, "rb")
    except OSError as error:
        raise InputError(f"{args.log}: cannot be read: {error.strerror}; name an event log") from None
    with log, tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        report = find_signals(progress(log, desc="signals", unit=" events"), args.log, args.turns, args.replies, args.open,
                              labels, args.seed, args.since, args.until,
                              lambda row: spool.write(json.dumps(row, ensure_ascii=False) + "\n"))
        write_report(report, spool, sys.stdout)
    late = report["log"].get("events of conversations closed before", 0)
    if late:
        print(f"{args.log}: {late} events belong to conversations that were closed before them and were not read; "
              "the log is mixed: give --open N", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
