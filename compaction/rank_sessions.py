"""Rank recorded sessions for annotation: what a compaction has most to lose in comes first.

Run:  python -m compaction.rank_sessions logs/ --incidents incidents.json
Reads event logs (*.jsonl, from import_sessions.py) in one pass. Order: reported incidents, compactions, flagged
constraints, user turns; ties by id. A session that never compacts is left out and counted.
Does not propose items (annotate.py) or look for signs of lost context (signals.py).

incidents  JSON: {conversation id: how many incidents were reported in it}
"""

import argparse
import sys
from pathlib import Path

from command import InputError, dump, progress, read_json, run_command
from compaction.classify import classify_text
from compaction.recorded import read_log


def rank(files, incidents):
    """{"sessions", "never_compacted", "unknown_incidents"}: sessions best first, with the figures that ranked them."""
    sessions = {}
    for path in files:
        for event in progress(read_log(path), desc=path.name, unit="event"):
            name = event["conversation_id"]
            session = sessions.setdefault(
                name,
                {
                    "conversation_id": name,
                    "file": path.name,
                    "incidents": incidents.get(name, 0),
                    "compactions": 0,
                    "constraints": 0,
                    "turns": 0,
                },
            )
            note(session, event)
    if not sessions:
        raise InputError("no event in these logs; write them with import_sessions.py")
    compacted = [one for one in sessions.values() if one["compactions"]]
    compacted.sort(
        key=lambda one: (
            -one["incidents"],
            -one["compactions"],
            -one["constraints"],
            -one["turns"],
            one["conversation_id"],
        )
    )
    return {
        "sessions": compacted,
        "never_compacted": len(sessions) - len(compacted),
        "unknown_incidents": sorted(set(incidents) - set(sessions)),
    }


def note(session, event):
    """Add one event to its session's figures."""
    if event["kind"] == "compaction":
        session["compactions"] += 1
    elif event["kind"] == "user":
        session["turns"] += 1
        found = classify_text(event.get("content") or "", "user")
        session["constraints"] += sum(one["class"] == "constraint" for one in found)


def log_files(paths):
    """The event logs that files and folders name, InputError where there is none."""
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    if not files:
        raise InputError(f"no event log (*.jsonl) in {', '.join(map(str, paths))}; write one with import_sessions.py")
    return files


def read_incidents(path):
    """{conversation id: incidents} from a JSON file, or InputError."""
    value = read_json(path)
    if not isinstance(value, dict) or any(type(count) is not int or count < 0 for count in value.values()):
        raise InputError(f"{path}: give an object of conversation ids and whole numbers of incidents")
    return value


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example:\n  python -m compaction.signal_log_double 2000 > log.local.jsonl   # or import_sessions\n"
        "  python -m compaction.rank_sessions log.local.jsonl",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", type=Path, help="event logs, or folders of them")
    parser.add_argument("--incidents", type=Path, metavar="FILE", help="JSON of reported incidents by conversation id")
    args = parser.parse_args(argv)
    ranked = rank(log_files(args.paths), read_incidents(args.incidents) if args.incidents else {})
    for place, one in enumerate(ranked["sessions"], 1):
        print(
            f"{place}. {one['conversation_id']}: {one['incidents']} incidents, {one['compactions']} compactions, "
            f"{one['constraints']} constraints flagged, {one['turns']} turns",
            file=sys.stderr,
        )
    print(f"{ranked['never_compacted']} sessions never compacted and were left out", file=sys.stderr)
    sys.stdout.write(dump(ranked))


if __name__ == "__main__":
    run_command(main)
