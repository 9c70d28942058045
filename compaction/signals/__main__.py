"""Look through an event log for signs that a compaction lost something: calls made again, instructions given again.

Run:  python -m compaction.signals log.local.jsonl > signals.local.json
sessions/__main__.py makes the log from what agents' tools record. One pass; memory is that of the longest conversation.
Most calls made again are innocent: each hit has its evidence and kind (signals/calls.py), and beside every share stands
the same share at places with no compaction near. Restatements: signals/restatements.py. A sample of twenty conversations
for annotation stands first, the strongest evidence first, ties by --seed.

Does not measure how well a summary reads, or say that a compaction caused what followed it.
"""

import argparse
import json
import sys
import tempfile

from base.command import InputError, dump, progress, read_json, run_command
from compaction.signals.calls import Calls
from compaction.signals.events import each_conversation, moment, read_events
from compaction.signals.report import Totals, strength
from compaction.signals.restatements import Said


class Conversation:
    """Watches one conversation: its calls, its user's messages, its compactions, and what is evidence."""

    def __init__(self, name, turns, replies):
        self.name, self.near = name, turns
        self.calls, self.said = Calls(turns, replies), Said()
        self.last, self.turn_of_compaction, self.opaque, self.copied = None, None, 0, 0
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
            self.copied += bool(event.get("copied"))  # counted in the conversation that it was copied from
            self.opaque += bool(event.get("opaque")) and not event.get("copied")
            return  # no answer to the user: what was said last stays so
        elif kind == "user":
            self.user(event)
        self.last = kind

    def user(self, event):
        replied = self.last not in (None, "user") and not event.get("interrupted")
        verdict = self.said.take(event["content"], event["turn"], origin=event.get("origin"), replied=replied)
        if verdict is None or event.get("copied"):
            return
        after = None if self.turn_of_compaction is None else event["turn"] - self.turn_of_compaction
        near = after is not None and after <= self.near
        self.verdicts.append(
            {"turn": event["turn"], **verdict, "turns_after_compaction": after, "near": near, "time": event.get("time")}
        )

    def end(self):
        """{"conversation_id", "strength", "hits", "restatements", "times"} of the ended conversation."""
        hits = self.calls.end()
        for number, hit in enumerate(hits):
            hit["time"] = self.hit_times.get(number)
        restated = [v for v in self.verdicts if v["kind"] == "restates"]
        return {"conversation_id": self.name, "compactions": len(self.calls.compactions),
                "strength": strength(hits, restated), "hits": hits, "restatements": restated}


def read_labels(path):
    """{(conversation id, turn): label} of a file {"messages": [{"conversation_id", "turn", "label"}]}."""
    value = read_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        raise InputError(
            f'{path}: no list of labelled messages; give {{"messages": [{{conversation_id, turn, label}}]}}')
    labels = {}
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or any(field not in message for field in ("conversation_id", "turn", "label")):
            raise InputError(f"{path}: message {number} lacks conversation_id, turn or label; add it")
        labels[message["conversation_id"], message["turn"]] = message["label"]
    return labels


def find_signals(
    lines, path, turns=5, replies=32, open_at_once=1, labels=None, seed=0, since=None, until=None, flag=None
):
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
        raise InputError(f"{path}: no event in it; import sessions first (sessions/__main__.py)")
    return totals.report()


def time_option(text):
    found = moment(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no date or time; write 2026-01-31 or 2026-01-31T12:00:00Z")
    return found


def write_report(report, spool, out):
    """Write the report with the flagged conversations, which were put aside as JSON lines, as its last field."""
    head = dump({**report, "flagged": []})
    out.write(head[: head.rindex("[]")] + "[")
    spool.seek(0)
    between = "\n"
    for text in spool:
        block = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        out.write(between + "    " + block.replace("\n", "\n    "))
        between = ",\n"
    out.write("]\n}\n" if between == "\n" else "\n  ]\n}\n")


def options():
    """The command's parser."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  python -m compaction.signals.tests.made_log 2000 > log.local.jsonl   # or import_sessions\n"
        "  python -m compaction.signals log.local.jsonl > signals.local.json")
    parser.add_argument("log", help="event log (JSON lines), conversations one after the other")
    parser.add_argument(
        "--open", type=int, default=1, metavar="N", help="conversations kept open at once, where they are mixed")
    parser.add_argument(
        "--turns", type=int, default=5, help="window after a compaction in user turns (default %(default)s)")
    parser.add_argument("--replies",
                        type=int,
                        default=32,
                        help="window in model replies (default %(default)s: what five user "
                        "turns were at the median of 25 recorded sessions)")
    parser.add_argument("--labels", metavar="FILE", help="labelled user messages: report precision and recall")
    parser.add_argument("--seed", type=int, default=0, help="decides ties in the sample")
    parser.add_argument("--since", type=time_option, help="sample from this time on")
    parser.add_argument("--until", type=time_option, help="sample up to this time, itself not in it")
    return parser


def main(argv=None):
    parser = options()
    args = parser.parse_args(argv)
    if min(args.open, args.turns, args.replies) < 1:
        parser.error("--open, --turns and --replies are whole numbers from 1")
    labels = read_labels(args.labels) if args.labels else {}
    try:
        log = open(args.log, "rb")
    except OSError as error:
        raise InputError(f"{args.log}: cannot be read: {error.strerror}; name an event log") from None
    with log, tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        report = find_signals(progress(log, desc="signals", unit=" events"), args.log, args.turns, args.replies,
                              args.open, labels, args.seed, args.since, args.until,
                              lambda row: spool.write(json.dumps(row, ensure_ascii=False) + "\n"))
        write_report(report, spool, sys.stdout)
    late = report["log"].get("events of conversations closed before", 0)
    if late:
        print(f"{args.log}: {late} events belong to conversations that were closed before them and were not read; "
              "the log is mixed: give --open N",
              file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
