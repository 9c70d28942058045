"""Look through an event log for signs that a compaction lost something: calls made again, orders given again.

Run:  python -m compaction.signals log.local.jsonl > signals.local.json

One pass; memory is that of the longest conversation, of the evidence and of each id. Most calls made again are
innocent: each hit has its evidence and kind (calls.py), and beside the share stands the same share at places with no
compaction near. A sample of twenty conversations, the strongest evidence first, ties by --seed, is a table on standard
error. Does not measure how well a summary reads, or say that a compaction caused what followed it.
"""

import hashlib
import heapq
import sys
from collections import Counter
from functools import partial

from base.command import InputError, dump, make_parser, read_json, run_command
from base.shapes import misfit
from base.shown import columns, one_line
from base.stats import sign_test
from compaction.sessions.log import each_conversation, read_log
from compaction.signals.calls import Calls
from compaction.signals.restatements import Said

LABEL = {"conversation_id": str, "turn": int, "label": str}
# How strong a conversation's evidence is: the sum of its hits' and restatements' weights.
STRENGTH = {"idle": 3, "result changed": 1, "result unknown": 1, "restates": 2, "restates near": 4}  # others: 0
SAMPLE = 20
SIDES = ("after", "control")  # calls after a compaction, calls with none near


class Conversation:
    """Watches one conversation: its calls and compactions, its user's messages, and what is evidence."""

    def __init__(self, turns, name):
        self.name, self.calls, self.said, self.last = name, Calls(turns), Said(), None
        self.verdicts = []  # of every user message that is like an earlier one

    def take(self, event):
        kind, turn = event["kind"], event["turn"]
        if kind in ("tool_call", "tool_result", "compaction"):
            getattr(self.calls, kind)(event)
        elif kind == "user":
            after, near = self.calls.distance(turn)
            replied = self.last == "compaction" or self.last not in (None, "user") and not event.get("interrupted")
            verdict = self.said.take(event["content"], turn, event.get("origin"), replied, near)
            if verdict is not None and not event.get("copied"):
                self.verdicts.append({"turn": turn, **verdict, "turns_after_compaction": after, "near": near})
        self.last = kind


def find_signals(events, path, turns=5, open_at_once=1, labels=None, seed=0):
    """The report of a log's events; labels: as read_labels gives them."""
    counts, sessions, names = Counter(), Counter(up=0, down=0, equal=0), set()
    sums = {side: Counter(repeats=0, calls=0) for side in SIDES}
    idle, flagged, told = [], [], []  # told: the verdicts of all user messages
    for ended in each_conversation(events, partial(Conversation, turns), open_at_once, counts):
        hits, compactions, shares = ended.calls.end(), ended.calls.compactions, ended.calls.shares()
        own = [made for made in compactions if not made["copied"]]  # those count where they come from
        counts.update({"compactions": len(own), "opaque compactions": sum(bool(made["opaque"]) for made in own)})
        if compactions:  # the control is of the same sessions
            after, control = shares.values()
            sums["after"].update(after)
            sums["control"].update(control)
            if after["calls"] and control["calls"]:
                more = after["repeats"] * control["calls"] - control["repeats"] * after["calls"]
                sessions["up" if more > 0 else "down" if more < 0 else "equal"] += 1
        names.add(ended.name)
        told += [{"conversation_id": ended.name, **verdict} for verdict in ended.verdicts]
        restated = [verdict for verdict in ended.verdicts if verdict["kind"] == "restates"]
        row = {"conversation_id": ended.name, "compactions": len(compactions), "hits": hits, "restatements": restated}
        (flagged if hits or restated else idle).append(row)
        idle = strongest(idle, seed)
    if not counts["events"]:
        raise InputError(f"{path}: no event in it; import sessions first: python -m compaction.sessions")
    counts["flagged conversations"] = len(flagged)
    return concluded({
        "log": dict(sorted(counts.items())), "repeats": {"window_user_turns": turns, **sums, "sessions": sessions},
        "user_messages": {}, "labels": label_report(labels, told, names) if labels else None,
        "sample": {"seed": seed, "conversations": idle},
        "to_look_at": [verdict for verdict in told if verdict["kind"] == "to look at"], "flagged": flagged})


def concluded(report):
    """A report with what follows from its evidence, whatever stood there: sums, shares, the test, the sample."""
    flagged, seed = [row | {"strength": strength(row)} for row in report["flagged"]], report["sample"]["seed"]
    idle = [row | {"strength": 0} for row in report["sample"]["conversations"]
            if not (row["hits"] or row["restatements"])]
    kinds = Counter(hit["kind"] for row in flagged for hit in row["hits"])
    near = [said["near"] for row in flagged for said in row["restatements"]]
    messages = {"restates": len(near), "restates near a compaction": sum(near), "to look at": len(report["to_look_at"])}
    window, *sides, sessions = map(report["repeats"].get, ("window_user_turns", *SIDES, "sessions"))
    both = all(side["calls"] for side in sides)  # a rate without its control says nothing
    repeats = {"window_user_turns": window, "hits": kinds.total(), "kinds": dict(sorted(kinds.items())), **{
                   side: {**counts, "share": counts["repeats"] / counts["calls"] if both else None}
                   for side, counts in zip(SIDES, sides)},
               "sessions": sessions, "sign_test_p": sign_test(sessions["up"], sessions["down"])}
    sample = [{"rank": n, **row} for n, row in enumerate(strongest(flagged + idle, seed), 1)]
    return report | {"repeats": {**repeats, "says": says(repeats)},
                     "user_messages": {kind: number for kind, number in messages.items() if number or "near" in kind},
                     "sample": {"seed": seed, "conversations": sample}, "flagged": flagged}


def strength(row):
    """The evidence of a conversation: strength({"hits": [{"kind": "idle"}], "restatements": []}) -> 3."""
    kinds = [hit["kind"] for hit in row["hits"]] + ["restates" + " near" * said["near"] for said in row["restatements"]]
    return sum(STRENGTH.get(kind, 0) for kind in kinds)


def strongest(rows, seed):
    """The sample of rows, the strongest evidence first; the seed decides ties."""
    def place(row):
        name = f"{seed}\0{row['conversation_id']}".encode("utf-8", "surrogatepass")
        return strength(row), hashlib.blake2b(name, digest_size=8).digest()

    return sorted(heapq.nlargest(SAMPLE, rows, key=place), key=lambda row: (-strength(row), place(row)))


def label_report(labels, told, names):
    """Precision and recall of `restates` over labels; one of a conversation that is not in the log is no miss."""
    met = {(verdict["conversation_id"], verdict["turn"]): verdict["kind"] for verdict in told}
    here = {place: label for place, label in labels.items() if place[0] in names}
    pairs = Counter((label, met.get(place, "none")) for place, label in here.items())
    wrong = [{"conversation_id": name, "turn": turn, "label": label} for (name, turn), label in here.items()
             if label not in ("restates", "unclear") and met.get((name, turn)) == "restates"]
    right, there = pairs["restates", "restates"], list(here.values()).count("restates")
    return {"labelled": len(here), "conversations_not_in_the_log": sorted({name for name, _ in labels} - names),
            "restates": there, "found": right, "false_alarms": len(wrong),
            "precision": right / (right + len(wrong)) if right or wrong else None,
            "recall": right / there if there else None,
            "table": [{"label": label, "told": kind, "messages": n} for (label, kind), n in sorted(pairs.items())],
            "wrongly_taken": wrong, "restatements_without_a_label": sum(
                kind == "restates" for place, kind in met.items() if place not in labels)}


def says(repeats):
    """One line: whether calls repeat more after a compaction than elsewhere, beyond chance by conversation."""
    after, control, sessions, p = (repeats[field] for field in (*SIDES, "sessions", "sign_test_p"))
    line = (f"{after['repeats']} of {after['calls']} calls within {repeats['window_user_turns']} turns after a "
            "compaction repeat an earlier one")
    if after["share"] is None:
        return line + "; without calls far from one in the same conversations nothing can be compared"
    return (f"{line} ({after['share']:.1%}), {control['repeats']} of {control['calls']} elsewhere "
            f"({control['share']:.1%}); by conversation {sessions['up']} up, {sessions['down']} down, "
            f"{sessions['equal']} equal: the difference is {'more' if p < 0.05 else 'no more'} than chance (sign test, "
            f"p = {p:.2g})")


def lines_of(report):
    """The report's lines for a person: the sample as a table, best first, what is to look at, and the one line."""
    rows = [["", "conversation", "strength", "calls again", "restated", "evidence"]]
    for row in report["sample"]["conversations"]:
        evidence = [f"turn {said['turn']} <- {said['earlier']}: {said['said']}" for said in row["restatements"]]
        evidence += [f"turn {hit['turn']}: {hit['name']} {hit['arguments']}" for hit in row["hits"]
                     if hit["kind"] == "idle"]
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(hit["kind"] for hit in row["hits"]).items()))
        rows.append([row["rank"], one_line(row["conversation_id"], 32), row["strength"], calls or "-",
                     len(row["restatements"]) or "-", one_line([*evidence, "-"][0], 60)])
    told, labels = Counter(report["user_messages"]), report["labels"]
    lines = [*columns(rows, right=(0, 2, 4)), "", report["repeats"]["says"],
             f"{told['restates']} messages restate an order ({told['restates near a compaction']} near a compaction); "
             f"{told['to look at']} are to look at and not counted"]
    if labels:
        lines.append(f"labels: {labels['found']} of {labels['restates']} restatements found, "
                     f"{labels['false_alarms']} false alarms")
    if labels and (absent := ", ".join(labels["conversations_not_in_the_log"])):
        lines.append(f"labelled conversations that are not in the log, not counted: {one_line(absent, 200)}")
    return lines


def read_labels(path):
    """{(conversation id, turn): label} of a file {"messages": [{"conversation_id", "turn", "label"}]}."""
    value = read_json(path)
    problem = misfit(value, {"messages": [LABEL]}, "it") or (None if value["messages"] else "no message in it")
    if problem:
        raise InputError(f'{path}: {problem}; give {{"messages": [{{"conversation_id", "turn", "label"}}]}}')
    return {(message["conversation_id"], message["turn"]): message["label"] for message in value["messages"]}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("log", help="event log (JSON lines), conversations one after the other")
    parser.add_argument("--open", type=int, default=1, metavar="N", help="conversations kept open where they are mixed")
    parser.add_argument("--turns", type=int, default=5, help="user turns after a compaction (default %(default)s)")
    parser.add_argument("--labels", metavar="FILE", help="labelled user messages: report precision and recall")
    parser.add_argument("--seed", type=int, default=0, help="decides ties in the sample")
    args = parser.parse_args(argv)
    if min(args.open, args.turns) < 1:
        parser.error("--open and --turns are whole numbers from 1")
    labels = read_labels(args.labels) if args.labels else {}
    report = find_signals(read_log(args.log), args.log, args.turns, args.open, labels, args.seed)
    sys.stdout.write(dump(report))
    print("\n".join(lines_of(report)), file=sys.stderr)
    if late := report["log"].get("events of conversations closed before"):
        print(f"{args.log}: {late} events belong to conversations that were closed before them and were not read; "
              "the log is mixed: give --open N", file=sys.stderr)


if __name__ == "__main__":
    run_command(main)
