"""Turn what agents' tools recorded into one event log (JSON lines), as a stream, nothing left out in silence.

Run:  python -m compaction.sessions ~/.claude/projects --output log.local.jsonl --summary summary.local.json
Reads files or folders of Claude Code, Codex, pi, Copilot CLI, Gemini CLI, SWE-agent, mini-swe-agent, Cline and OpenAI
messages; the format is seen by content. The summary counts what could not be read, what was left out
and what is odd, by kind, with its places. --contexts FILE also writes what each recorded compaction left, for
`python -m compaction.check --contexts`.

sessions/log.py says what an event is; signals.py looks for signs of lost context in the log. Memory: a line of a file of
JSON lines, the whole of a document, and about 100 bytes a line read, to know it when it comes again.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from base.command import InputError, dump, progress, run_command, write_json
from compaction.sessions.files import conversation_ids, inputs, look, raw_conversations, stored_before
from compaction.sessions.log import Tally, number


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
            packed = seen.get("packed")
            tally.unread("packed file: unpack it first" if packed else "file of a format that is not known", 1)
        elif shared and stored_before(seen, before):
            row["stored_again"] = True  # every line of it stands in a file above: nothing is lost by leaving it out
        else:
            import_file(seen, ids[seen["path"]], tally, before, row, write, write_context)
        row.update(tally.summary())
    return rows


def import_file(seen, conversation_id, tally, before, row, write, write_context):
    """Write one file's conversations and count their events in `row`."""
    for end, events in raw_conversations(seen, tally, before):
        row["conversations"] += 1
        compactions = 0
        for event, context in number(conversation_id + end, events(tally), tally):
            row["events"][event["kind"]] = row["events"].get(event["kind"], 0) + 1
            write(event)
            if event["kind"] == "compaction":
                compactions += 1
                if write_context:
                    # The turn it falls into had begun: what its user said must be in the context, so it is the next
                    # one's, made inside the one before.
                    opaque = {"opaque": True} if event.get("opaque") else {}
                    write_context({"conversation_id": event["conversation_id"], "compaction": compactions,
                                   "turn": event["turn"] + 1, "inside": True, **opaque, "messages": context})


def total(rows):
    """The summary of an import: its files, the events of each kind, and each group's counts over all files."""
    sums = {"files": len(rows), "conversations": sum(r["conversations"] for r in rows),
            "stored_again": sum("stored_again" in r for r in rows), "events": {}, "unread": {}, "left_out": {},
            "noted": {}}
    for row in rows:
        for kind, count in row["events"].items():
            sums["events"][kind] = sums["events"].get(kind, 0) + count
        for group in ("unread", "left_out", "noted"):
            for kind, found in row[group].items():
                sums[group][kind] = sums[group].get(kind, 0) + found["count"]
    return {**{k: dict(sorted(v.items())) if isinstance(v, dict) else v for k, v in sums.items()}, "by_file": rows}


def line(value):
    """One JSON line as UTF-8. Half a surrogate pair, which UTF-8 cannot hold, stays as the escape it was read from."""
    try:
        return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(value, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


class LinesFile:
    """A file of JSON lines that appears under its name only when all of it was written; None: standard output."""

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        if self.path is None:
            return
        try:
            handle, self.part = tempfile.mkstemp(prefix=self.path.name + ".", suffix=".part", dir=self.path.parent)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}; choose another place") from None
        self.file = open(handle, "wb")

    def write(self, value):
        if self.path is None:
            sys.stdout.write(line(value).decode("utf-8"))
        else:
            self.file.write(line(value))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self.path is None:
            return
        self.file.close()
        if kind is None:
            os.chmod(self.part, 0o644)
            os.replace(self.part, self.path)
        else:
            Path(self.part).unlink(missing_ok=True)


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  python -m compaction.sessions ~/.claude/projects ~/.codex/sessions \\\n"
        "      --output log.local.jsonl --summary summary.local.json\n  python -m compaction.signals log.local.jsonl")
    parser.add_argument("paths", nargs="+", help="session files, or folders that hold them")
    parser.add_argument("--output", metavar="FILE", help="where the log goes (default: standard output)")
    parser.add_argument(
        "--contexts", metavar="FILE", help="write what each recorded compaction left there, as JSON lines")
    parser.add_argument("--summary", metavar="FILE", help="write the summary there (default: standard error)")
    args = parser.parse_args(argv)
    paths = inputs(args.paths)
    files = [look(path) for path in paths]
    if not any(seen["format"] for seen in files):
        raise InputError(f"{files[0]['path']}: no format known here ({len(files)} files looked at); "
                         "--help lists the tools whose files are read")
    if args.contexts:
        with LinesFile(args.output) as log, LinesFile(args.contexts) as contexts:
            rows = import_files(files, conversation_ids(paths), log.write, contexts.write)
    else:
        with LinesFile(args.output) as log:
            rows = import_files(files, conversation_ids(paths), log.write)
    summary = total(rows)
    if args.summary:
        write_json(args.summary, summary)
    else:
        sys.stderr.write(dump(summary))
    unread = sum(summary["unread"].values())
    print(f"{sum(summary['events'].values())} events of {summary['conversations']} conversations in {len(rows)} files; "
          f"{unread} things could not be read",
          file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
