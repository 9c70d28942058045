"""Turn what agents' tools recorded into one event log (JSON lines), as a stream, nothing left out in silence.

Run:  python -m compaction.sessions ~/.claude/projects ~/.codex/sessions --output log.local.jsonl
      python -m compaction.signals log.local.jsonl > signals.local.json

Reads files or folders of Claude Code, Codex, Gemini CLI and OpenAI messages; the format is seen by content. The summary
counts what could not be read, what was left out and what is odd, by kind, with its places. --contexts FILE also writes
what each recorded compaction left, for `python -m compaction.check --contexts`. README.md says how to write the log for
another tool. Memory: a line of a file of JSON lines and about 100 bytes a line read, to know it when it comes again (of
Claude Code its messages, which a compaction may keep), or a whole document.
"""

import filecmp
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from base.command import (InputError, check_replaceable, dump, keep_earlier, make_parser, progress, replace_file,
                          run_command)
from base.mask import Masks
from base.shown import one_line
from compaction.sessions.files import conversation_ids, inputs, look, raw_conversations, stored_before
from compaction.sessions.log import Tally, context_line, log_line, number

GROUPS = ("unread", "left_out", "noted")
UNMASKED = ("conversation_id", "kind", "time", "call_id", "turn", "reply")


def in_order(files):
    """The looked-at files, those of one session together at the place of its first, the longest of them before."""
    groups = {}
    for n, seen in enumerate(files):
        groups.setdefault(n if seen["session"] is None else seen["session"], []).append(seen)
    return [(seen, len(group) > 1) for group in groups.values() for seen in sorted(group, key=lambda s: -s["bytes"])]


def import_files(files, ids, write, write_context=None):
    """Pass each event to `write` and each recorded compaction's context to `write_context`; a summary row a file."""
    rows, before = [], set()
    sessions = [str(seen["session"]).lower() for seen in files if seen["session"] is not None]
    for seen, shared in progress(in_order(files), desc="import", unit=" files"):
        row = {"file": str(seen["path"]), "format": seen["format"], "conversations": 0, "events": {}}
        rows.append(row)
        tally = Tally()
        tally.known_sessions = frozenset(s for s in sessions if s != str(seen["session"]).lower())
        if seen["format"] is None:
            tally.unread(f"file that is not read, it looks like {seen['like']}" if seen["like"] else
                         "file of a format that is not known", 1)
        elif shared and stored_before(seen, before):
            row["stored_again"] = True  # every line of it stands in a file above: nothing is lost by leaving it out
        else:
            import_file(seen, ids[seen["path"]], tally, before, row, write, write_context)
        row.update(tally.summary())
    return rows


def import_file(seen, conversation_id, tally, before, row, write, write_context):
    """Write one file's conversations and count their events in `row`."""
    conversations = raw_conversations(seen, tally, before)
    if conversations is None:
        row["stored_again"] = True
        return
    counts = Counter()
    for end, raw_events in conversations:
        row["conversations"] += 1
        compactions = 0
        for event in number(conversation_id + end, raw_events(), tally):
            counts[event["kind"]] += 1
            write(event)
            if event["kind"] == "compaction":
                compactions += 1
                if write_context:
                    write_context(context_line(event, compactions))
    row["events"] = dict(sorted(counts.items()))
    sides = ("the user's" if counts["user"] else "", "the model's" if counts["assistant"] + counts["tool_call"] else "")
    if "" in sides:
        side = f"file with {''.join(sides)} side alone" if any(sides) else "file that yields no event"
        tally.unread(f"{side}, it looks like {seen['like'] or seen['format']}", 1)


def total(rows, others=()):
    """The summary of an import: its files, the events of each kind, and each group's counts over all files."""
    sums = {"events": Counter(), **{group: Counter() for group in GROUPS}}
    for row in rows:
        sums["events"].update(row["events"])
        for group in GROUPS:
            sums[group].update({kind: one["count"] for kind, one in row[group].items()})
    return {"files": len(rows), "other_files": dict(sorted(dict(others).items())),
            "conversations": sum(r["conversations"] for r in rows),
            "stored_again": sum("stored_again" in r for r in rows),
            **{name: dict(sorted(counts.items())) for name, counts in sums.items()}, "by_file": rows}


def is_log(path):
    """Whether a file is a log or contexts that this command wrote: its first line is of a conversation, or it is empty."""
    try:
        with open(path, "rb") as file:
            first = file.readline()
        return not first or "conversation_id" in json.loads(first)
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def is_summary(path):
    try:
        return {"by_file", "left_out"} <= json.loads(path.read_bytes()).keys()
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


class LinesFile:
    """A file of JSON lines that appears under its name only when all of it was written; None: standard output."""

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        if self.path is None:
            return
        check_replaceable(self.path, is_log)
        try:
            handle, self.part = tempfile.mkstemp(prefix=self.path.name + ".", suffix=".part", dir=self.path.parent)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}; choose another place") from None
        self.file = open(handle, "wb")

    def write(self, value):
        if self.path is None:
            sys.stdout.write(log_line(value).decode("utf-8"))
        else:
            self.file.write(log_line(value))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.path is None:
            return
        self.file.close()
        if kind is None:
            if self.path.exists() and not filecmp.cmp(self.path, self.part, shallow=False):
                keep_earlier(self.path)
            os.chmod(self.part, 0o644)
            os.replace(self.part, self.path)
        else:
            Path(self.part).unlink(missing_ok=True)


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("paths", nargs="+", help="session files, or folders that hold them")
    parser.add_argument("--output", metavar="FILE", help="where the log goes (default: standard output)")
    parser.add_argument("--contexts", metavar="FILE", help="write what each recorded compaction left, as JSON lines")
    parser.add_argument("--summary", metavar="FILE", help="write the summary there (default: standard error)")
    parser.add_argument("--mask", action="store_true", help="replace addresses, numbers of people and keys by marks")
    args = parser.parse_args(argv)
    named = [Path(name).resolve() for name in (args.output, args.contexts, args.summary) if name]
    paths, others = inputs(args.paths)
    for name in named:
        if named.count(name) > 1 or name in [path.resolve() for path in paths]:
            raise InputError(f"{name}: is named twice, and one would replace the other; name another file")
    files = [look(path) for path in paths]
    if not any(seen["format"] for seen in files):
        like = f", it looks like {files[0]['like']}" if files[0]["like"] else ""
        raise InputError(f"{files[0]['path']}: no format known here{like} ({len(files)} files looked at); "
                         "--help lists the tools whose files are read")
    if args.summary:
        check_replaceable(Path(args.summary), is_summary)
    masks = Masks()

    def writer(file):
        if not args.mask:
            return file.write
        return lambda line: file.write({field: value if field in UNMASKED else masks.value(value)
                                        for field, value in line.items()})

    with ExitStack() as stack:
        log = writer(stack.enter_context(LinesFile(args.output)))
        contexts = writer(stack.enter_context(LinesFile(args.contexts))) if args.contexts else None
        rows = import_files(files, conversation_ids(paths), log, contexts)
    summary = {**total(rows, others), **({"masked": masks.counts()} if args.mask else {})}
    if args.summary:
        replace_file(args.summary, dump(summary).encode("utf-8"), is_summary)
    else:
        sys.stderr.write(dump(summary))
    print(f"{sum(summary['events'].values())} events of {summary['conversations']} conversations in {len(rows)} files; "
          f"{sum(summary['unread'].values())} things could not be read", file=sys.stderr)
    for group in ("unread", "other_files", "masked"):
        for what, count in summary.get(group, {}).items():
            print(f"  {group.replace('_', ' ')}: {count} {one_line(what, 100)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
