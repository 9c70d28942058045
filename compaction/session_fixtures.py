"""Make fixtures of imported sessions and the items annotated in them, so that their compactions can be checked.

Run:  python -m compaction.session_fixtures log.local.jsonl items.local.json --output my-fixtures
      python -m compaction.check --contexts contexts.local.jsonl --fixtures my-fixtures
import_sessions.py writes the log and, with --contexts, the contexts. A file of items is {"items": [item]}: an item as
in a fixture with its conversation_id; fields that no fixture has (who, recorded) are left out.

Does not annotate (annotate.py helps with that) or judge (check.py does). Calls are numbered anew, since tools use an id
twice; a result that joins no call is left out and counted; arguments that are a text stand under "input".
"""

import argparse
import sys
from pathlib import Path

from command import InputError, progress, read_json, run_command, write_json
from compaction.fixtures import ITEM_FIELDS, ITEM_OPTIONAL, check_fixture
from compaction.signal_log import read_events

EXAMPLE = """example:
  python -m compaction.signal_log_double 2000 > log.local.jsonl   # or import_sessions
  echo '{"items": [{"conversation_id": "generated-0000001", "id": "pages", "class": "constraint", "turn": 1,
    "literal": "in plain English, two pages at most", "probe": "May the report have three pages?",
    "expect": "no"}]}' > items.local.json
  python -m compaction.session_fixtures log.local.jsonl items.local.json --output my-fixtures"""
NO_REPLY = "[no reply was recorded]"  # a turn must have an answer; this one was broken off or the log ends here


def read_items(path):
    """{conversation id: [item]} of an items file, in its order."""
    value = read_json(path)
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or not items:
        raise InputError(
            f'{path}: no list of items; give {{"items": [{{conversation_id, id, class, turn, literal, probe, …}}]}}'
        )
    found = {}
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or not isinstance(item.get("conversation_id"), str):
            raise InputError(f"{path}: item {number}: field 'conversation_id' must be a text; name its conversation")
        kept = {field: item[field] for field in (*ITEM_FIELDS, *ITEM_OPTIONAL) if field in item}
        found.setdefault(item["conversation_id"], []).append(kept)
    return found


class History:
    """The turns of one conversation as they are read from its events, and what of it has no place in a turn."""

    def __init__(self):
        self.turns, self.calls, self.open, self.compactions, self.left_out = [], 0, {}, 0, 0

    def take(self, event):
        kind = event["kind"]
        if kind == "compaction":
            self.compactions += 1
        elif kind == "user":
            self.open = {}
            self.turns.append({"user": event["content"], "messages": []})
        elif not self.turns:
            self.left_out += 1
        elif kind == "assistant":
            self.turns[-1]["messages"].append({"role": "assistant", "content": event.get("content") or ""})
        elif kind == "tool_call":
            self.call(event)
        elif event.get("call_id") in self.open:
            name = self.open.pop(event["call_id"])
            self.turns[-1]["messages"].append({"role": "tool", "tool_call_id": name, "content": event["content"]})
        else:
            self.left_out += 1

    def call(self, event):
        self.calls += 1
        name, given = f"c{self.calls}", event.get("arguments")
        self.open[event.get("call_id")] = name
        function = {"name": str(event.get("name")), "arguments": given if isinstance(given, dict) else {"input": given}}
        messages = self.turns[-1]["messages"]
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": ""})
        messages[-1].setdefault("tool_calls", []).append({"id": name, "type": "function", "function": function})

    def finished(self):
        """The turns as a fixture has them: the last text without calls is the answer, the rest stands between."""
        done = []
        for turn in self.turns:
            messages = turn["messages"]
            last = messages[-1] if messages else {}
            closing = last["content"] if last.get("role") == "assistant" and "tool_calls" not in last else ""
            between = messages[:-1] if closing else messages
            done.append(
                {
                    "user": turn["user"],
                    "assistant": closing or ("" if between else NO_REPLY),
                    **({"messages": between} if between else {}),
                }
            )
        return done


def make_fixtures(events, items, path):
    """(fixtures of the annotated conversations, events that are in no turn). `path` names the log in errors."""
    histories = {name: History() for name in items}
    for event in events:
        history = histories.get(event["conversation_id"])
        if history is not None:
            history.take(event)
    missing = [name for name, history in histories.items() if not history.turns]
    if missing:
        raise InputError(
            f"{path}: no conversation {missing[0]!r}, in which items are annotated; import it or correct its name"
        )
    made = []
    for name, history in histories.items():
        turns = history.finished()
        fixture = {
            "conversation_id": name,
            "history": turns,
            "turns": len(turns),
            "compactions_expected": history.compactions,
            "must_survive": items[name],
        }
        made.append(check_fixture(fixture, path))
    return made, sum(history.left_out for history in histories.values())


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("log", help="event log that import_sessions.py wrote")
    parser.add_argument("items", help="JSON file of annotated items")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FOLDER", help="folder for the fixtures, one a conversation"
    )
    args = parser.parse_args(argv)
    items = read_items(args.items)
    try:
        with open(args.log, "rb") as log:
            fixtures, left_out = make_fixtures(
                read_events(progress(log, desc="read", unit=" events"), args.log), items, args.log
            )
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}; check the path") from None
    for fixture in fixtures:
        write_json(args.output / f"{fixture['conversation_id'].replace('/', '-')}.json", fixture)
    print(
        f"{len(fixtures)} fixtures with {sum(len(f['must_survive']) for f in fixtures)} items in {args.output}; "
        f"{left_out} events stand in no turn (results without a call, what came before the first user turn)",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    run_command(main)
