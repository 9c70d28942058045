"""Look through an event log for signs that a compaction lost something: calls made again, orders given again.

Run:  python -m compaction.signals log.local.jsonl > signals.local.json

One pass; memory is that of the longest conversation, of the evidence and of each id. Most calls made again are
innocent: each hit has its evidence and kind (calls.py), and beside the share stands the same share at places with no
compaction near. A sample of twenty conversations, the strongest evidence first, ties by --seed, is a table on standard
error. Does not measure how well a summary reads, or say that a compaction caused what followed it.
"""

import sys
from functools import partial

from base.command import InputError, dump, make_parser, progress, read_json, run_command
from base.shapes import misfit
from compaction.sessions.log import each_conversation, read_log
from compaction.signals.calls import Calls
from compaction.signals.restatements import Said
from compaction.signals.totals import Totals, shown

LABEL = {"conversation_id": str, "turn": int, "label": str}


class Conversation:
    """Watches one conversation: its calls, its user's messages, its compactions, and what is evidence."""

    def __init__(self, turns, name):
        self.name, self.turns = name, turns
        self.calls, self.said = Calls(turns), Said()
        self.last, self.turn_of_compaction, self.opaque, self.copied = None, None, 0, 0
        self.verdicts = []  # of every user message that is like an earlier one

    def take(self, event):
        kind = event["kind"]
        if kind in ("tool_call", "tool_result", "compaction"):
            getattr(self.calls, kind)(event)
        if kind == "compaction":
            self.turn_of_compaction = event["turn"]
            self.copied += bool(event.get("copied"))  # counted in the conversation that it was copied from
            self.opaque += bool(event.get("opaque")) and not event.get("copied")
        elif kind == "user":
            self.user(event)
        self.last = kind

    def user(self, event):
        after = None if self.turn_of_compaction is None else event["turn"] - self.turn_of_compaction
        near = after is not None and after <= self.turns
        replied = self.last == "compaction" or self.last not in (None, "user") and not event.get("interrupted")
        verdict = self.said.take(event["content"], event["turn"], event.get("origin"), replied, near)
        if verdict is not None and not event.get("copied"):
            self.verdicts.append({"turn": event["turn"], **verdict, "turns_after_compaction": after, "near": near})


def read_labels(path):
    """{(conversation id, turn): label} of a file {"messages": [{"conversation_id", "turn", "label"}]}."""
    value = read_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    problem = misfit(messages, [LABEL], "messages") or (None if messages else "no message in it")
    if problem:
        raise InputError(f'{path}: {problem}; give {{"messages": [{{"conversation_id", "turn", "label"}}]}}')
    return {(message["conversation_id"], message["turn"]): message["label"] for message in messages}


def find_signals(events, path, turns=5, open_at_once=1, labels=None, seed=0):
    """The report of a log's events."""
    totals = Totals(turns, labels or {}, seed)
    for ended in each_conversation(events, partial(Conversation, turns), open_at_once, totals.counts):
        totals.counts["compactions"] += len(ended.calls.compactions) - ended.copied
        totals.counts["opaque compactions"] += ended.opaque
        hits = ended.calls.end()
        totals.take(ended.name, len(ended.calls.compactions), ended.calls.shares(), hits, ended.verdicts)
    if not totals.counts["events"]:
        raise InputError(f"{path}: no event in it; import sessions first: python -m compaction.sessions")
    return totals.report()


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("log", help="event log (JSON lines), conversations one after the other")
    parser.add_argument(
        "--open", type=int, default=1, metavar="N", help="conversations kept open at once, where they are mixed")
    parser.add_argument(
        "--turns", type=int, default=5, help="window after a compaction in user turns (default %(default)s)")
    parser.add_argument("--labels", metavar="FILE", help="labelled user messages: report precision and recall")
    parser.add_argument("--seed", type=int, default=0, help="decides ties in the sample")
    args = parser.parse_args(argv)
    if min(args.open, args.turns) < 1:
        parser.error("--open and --turns are whole numbers from 1")
    labels = read_labels(args.labels) if args.labels else {}
    events = read_log(args.log, partial(progress, desc="signals", unit=" events"))
    report = find_signals(events, args.log, args.turns, args.open, labels, args.seed)
    sys.stdout.write(dump(report))
    print("\n".join(shown(report)), file=sys.stderr)
    late = report["log"].get("events of conversations closed before", 0)
    if late:
        print(f"{args.log}: {late} events belong to conversations that were closed before them and were not read; "
              "the log is mixed: give --open N", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
