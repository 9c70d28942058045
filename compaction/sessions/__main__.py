"""Turn what agents' tools recorded into one event log (JSON lines), as a stream, nothing left out in silence.

Run:  python -m compaction.sessions ~/.claude/projects ~/.codex/sessions --output log.local.jsonl
      python -m compaction.signals log.local.jsonl > signals.local.json

Reads files or folders of Claude Code, Codex, Gemini CLI and OpenAI messages; the format is seen by content. The summary
counts what could not be read, what was left out and what is odd, by kind, with its places. Memory: a line of a file of
JSON lines and about 100 bytes a line read, to know it when it comes again (of Claude Code also the session's messages,
which a compaction may keep), or a whole document.
"""

import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from base.command import (InputError, check_replaceable, dump, make_parser, progress, read_json, replace_file,
                          run_command)
from base.mask import Masks
from base.shown import one_line
from compaction.contexts import from_event
from compaction.sessions.files import conversation_ids, head_of, inputs, look, raw_conversations
from compaction.sessions.log import Tally, log_line, number

SIDES = {"the user's": ("user",), "the model's": ("assistant", "tool_call")}
UNMASKED = ("conversation_id", "kind", "time", "call_id", "turn", "reply")


def import_files(files, ids, rows):
    """Yield the events of looked-at files, those of one session together at the place of its first and the longest of
    them before; a summary row a file goes to `rows`."""
    before, groups = set(), {}
    for n, seen in enumerate(files):
        groups.setdefault(n if seen["session"] is None else seen["session"], []).append(seen)
    sessions = {session.lower() for session in groups if isinstance(session, str)}
    order = [(seen, len(group) > 1) for group in groups.values() for seen in sorted(group, key=lambda s: -s["bytes"])]
    for seen, shared in progress(order, desc="import", unit=" files"):
        row = {"file": str(seen["path"]), "format": seen["format"], "conversations": 0}
        counts, tally = Counter(), Tally(sessions - {str(seen["session"]).lower()})
        rows.append(row)
        if seen["format"] is None:
            like = f"that is not read, it looks like {seen['like']}" if seen["like"] else "of a format not known"
            tally.unread(f"file {like}", 1)
        elif (parts := raw_conversations(seen, tally, before, shared)) is None:
            row["stored_again"] = True  # all of it stands in a file above: nothing is lost by leaving it out
        else:
            row["conversations"] = len(parts)
            for end, raw_events in parts:
                for event in number(ids[seen["path"]] + end, raw_events, tally):
                    counts[event["kind"]] += 1
                    yield event
            sides = [side for side, kinds in SIDES.items() if any(counts[kind] for kind in kinds)]
            if len(sides) < 2:
                what = f"file with {sides[0]} side alone" if sides else "file that yields no event"
                tally.unread(f"{what}, it looks like {seen['like'] or seen['format']}", 1)
        row.update({"events": dict(sorted(counts.items())), **tally.summary()})


def summarize(rows, others):
    """The summary of an import: its files, the events of each kind, and each group's counts over all files."""
    sums = {"events": Counter(), "unread": Counter(), "left_out": Counter(), "noted": Counter()}
    for row in rows:
        for group, counts in sums.items():
            counts.update(row["events"] if group == "events" else {kind: n["count"] for kind, n in row[group].items()})
    return {"files": len(rows), "other_files": dict(sorted(others.items())),
            "conversations": sum(row["conversations"] for row in rows),
            "stored_again": sum("stored_again" in row for row in rows),
            **{name: dict(sorted(counts.items())) for name, counts in sums.items()}, "by_file": rows}


def with_contexts(events, contexts):
    """The events; what each compaction left goes to `contexts`, as a line for compaction.check --contexts."""
    for event in events:
        if event["kind"] == "compaction":
            earlier = sum(line["conversation_id"] == event["conversation_id"] for line in contexts)
            contexts.append(from_event(event, earlier + 1, "a compaction"))
        yield event


def made_here(path):
    """Whether a file is one that this command wrote: a log, contexts (either may be empty) or a summary."""
    head, unread = head_of(path)
    if head.startswith(b"{\n"):
        with suppress(InputError):
            return "by_file" in read_json(path)
    return head.startswith(b'{"conversation_id": ') or not (head or unread)


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("paths", nargs="+", help="session files, or folders that hold them")
    parser.add_argument("--output", metavar="FILE", help="where the log goes (default: standard output)")
    parser.add_argument("--contexts", metavar="FILE", help="write what each recorded compaction left, as JSON lines")
    parser.add_argument("--summary", metavar="FILE", help="write the summary there (default: standard error)")
    parser.add_argument("--mask", action="store_true", help="placeholders for addresses, numbers of people and keys")
    args = parser.parse_args(argv)
    paths, others = inputs(args.paths)
    named = [Path(name) for name in (args.output, args.contexts, args.summary) if name]
    for name in named:
        if [path.resolve() for path in named + paths].count(name.resolve()) > 1:
            raise InputError(f"{name}: is named twice, and one would replace the other; name another file")
        check_replaceable(name, made_here)
    files = [look(path) for path in paths]
    if not any(seen["format"] for seen in files):
        raise InputError(f"{files[0]['path']}: no format known here, it looks like {files[0]['like'] or 'nothing read'}"
                         f" ({len(files)} files looked at); --help lists the tools whose files are read")
    rows, contexts, masks = [], [], Masks()
    events = import_files(files, conversation_ids(paths), rows)
    if args.mask:
        events = ({field: value if field in UNMASKED else masks.value(value) for field, value in event.items()}
                  for event in events)
    lines = map(log_line, with_contexts(events, contexts))
    if args.output:
        replace_file(args.output, lines, made_here)
    else:
        sys.stdout.writelines(line.decode("utf-8") for line in lines)
    if args.contexts:
        replace_file(args.contexts, map(log_line, contexts), made_here)
    summary = summarize(rows, others) | ({"masked": masks.counts()} if args.mask else {})
    if args.summary:
        replace_file(args.summary, dump(summary).encode("utf-8"), made_here)
    else:
        sys.stderr.write(dump(summary))
    print(f"{sum(summary['events'].values())} events of {summary['conversations']} conversations in {len(rows)} files; "
          f"{sum(summary['unread'].values())} things could not be read", file=sys.stderr)
    for group in ("unread", "other_files", "masked"):
        for what, count in summary.get(group, {}).items():
            print(f"  {group.replace('_', ' ')}: {count} {one_line(what, 100)}", file=sys.stderr)


if __name__ == "__main__":
    run_command(main)
