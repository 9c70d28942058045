"""Propose the items that a conversation's compaction must keep, let a person decide on each, and measure the proposals.

Run:  python -m compaction.annotate propose log.local.jsonl --conversation ID > draft.local.json
      python -m compaction.annotate review draft.local.json --fixture my-fixtures/ID.json
      python -m compaction.annotate measure
propose reads one conversation (JSON with history, or an event log) and prints a draft. review asks a person about each
proposal: confirm, edit or reject. Confirmed items go to the fixture after each decision, rejected ones to a file beside
it (.rejected.jsonl) and are not proposed again; what was neither is asked again next time.
measure shows recall and precision of the rules (classify.py) on both halves of the fixtures.

draft     {"conversation_id", "history", "turns", "compactions_expected", "proposals": [proposal, ...]}
proposal  {"class", "turn", "role", "literal", "rule"}
"""

import argparse
import sys
from pathlib import Path

from command import InputError, dump, read_json, run_command, write_json
from compaction.classify import TUNED_ON, classify
from compaction.conversation import printable
from compaction.fixtures import CLASSES, FixtureError, check_fixture, load_fixtures
from compaction.json_lines import append_line, read_lines
from compaction.literals import stands
from compaction.options import add_fixtures
from compaction.recorded import read_conversation

DECISIONS = "[c]onfirm, [e]dit, [r]eject, [s]kip, [q]uit: "


def propose(conversation, rejected=()):
    """The draft of a conversation; what was rejected before (class, turn, literal) is left out."""
    proposals = [
        {"class": one["class"], "turn": one["turn"], "role": one["role"], "literal": one["text"], "rule": one["rule"]}
        for one in classify(conversation["history"])
    ]
    return {
        "conversation_id": conversation["conversation_id"],
        "history": conversation["history"],
        "turns": len(conversation["history"]),
        "compactions_expected": max(1, conversation["compactions"]),
        "proposals": [one for one in proposals if place(one) not in rejected],
    }


def place(proposal):
    """What a proposal is known by."""
    return proposal["class"], proposal["turn"], proposal["literal"]


def review(draft, fixture_path, rejected_path, ask):
    """Let `ask` (prompt -> a line of the person's) decide on each open proposal; True when none is left open."""
    fixture = check_fixture(read_json(fixture_path), fixture_path) if fixture_path.exists() else None
    fixture = fixture or {
        key: draft[key] for key in ("conversation_id", "history", "turns", "compactions_expected")
    } | {"must_survive": []}
    if any(fixture.get(key) != draft[key] for key in ("conversation_id", "history")):
        raise InputError(
            f"{fixture_path}: is of another conversation than the draft, or of another version of it; name another file"
        )
    decided = {(item["turn"], item["literal"]) for item in fixture["must_survive"]}
    rejected = read_rejected(rejected_path)
    waiting = [
        one
        for one in draft["proposals"]
        if place(one) not in rejected
        and not any(one["turn"] == turn and literal in one["literal"] for turn, literal in decided)
    ]
    left = len(waiting)
    for number, proposal in enumerate(waiting, 1):
        print(
            f"\n{number} of {len(waiting)}: turn {proposal['turn']}, {proposal['role']}, {proposal['class']} "
            f"({proposal['rule']})\n  {printable(proposal['literal'])}"
        )
        choice = ask(DECISIONS).strip().lower()[:1]
        if choice == "q":
            break
        if choice == "r":
            reject(rejected_path, draft["conversation_id"], proposal)
        elif choice in ("c", "e"):
            item = edited(proposal, ask) if choice == "e" else dict(proposal)
            if not confirm(fixture, item, fixture_path, ask):
                continue
        else:
            continue
        left -= 1
    return left == 0


def edited(proposal, ask):
    """The proposal with what the person typed in place of its literal and class; an empty line keeps either."""
    literal = ask("literal (exact words of that turn, empty to keep): ").strip()
    name = ask(f"class ({', '.join(CLASSES)}, empty to keep): ").strip()
    return proposal | {"literal": literal or proposal["literal"], "class": name or proposal["class"]}


def confirm(fixture, proposal, path, ask):
    """Add an item with the person's probe and answer and write the fixture; False where the loader refuses it."""
    item = {
        "id": next_id(fixture),
        **{key: proposal[key] for key in ("class", "turn", "literal")},
        "probe": ask("probe (a closed question): ").strip(),
        "expect": ask("right answer: ").strip(),
    }
    candidate = fixture | {"must_survive": [*fixture["must_survive"], item]}
    try:
        check_fixture(candidate, path)
    except FixtureError as error:
        print(f"not taken: {error.problem}")
        return False
    fixture["must_survive"].append(item)
    write_json(path, fixture)
    return True


def next_id(fixture):
    """The first id that no item of the fixture has."""
    taken = {item["id"] for item in fixture["must_survive"]}
    names = (f"{fixture['conversation_id']}-{number:02}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def reject(path, conversation, proposal):
    """Keep a rejected proposal, safe on the disk, so that it is not proposed again."""
    fields = ("class", "turn", "literal", "rule")
    append_line(path, {"conversation_id": conversation, **{field: proposal[field] for field in fields}})


def read_rejected(path):
    """{(class, turn, literal)} of a file of rejected proposals; a file that is not there holds none."""
    if path is None or not path.exists():
        return set()
    try:
        return {place(line) for _, line in read_lines(path)}
    except (KeyError, TypeError):
        raise InputError(f"{path}: is no file of rejected proposals; name another") from None


def measure(fixtures):
    """{"tuned", "held_out"}: recall and precision by class, on the fixtures that rules were tuned on and on others."""
    return {
        name: scores([one for one in fixtures if (one["conversation_id"] in TUNED_ON) == tuned])
        for name, tuned in (("tuned", True), ("held_out", False))
    }


def scores(fixtures):
    """{"conversations", "classes": {class: {"found", "items", "right", "proposals"}}}; recall is found of items,
    precision right of proposals. An item counts as found when a proposal of its class and turn holds its literal; a
    proposal that is no item may bind all the same: the annotators chose about a dozen a conversation."""
    classes = {name: {"found": 0, "items": 0, "right": 0, "proposals": 0} for name in CLASSES}
    for fixture in fixtures:
        proposals = propose({"compactions": 0, **fixture})["proposals"]
        for item in fixture["must_survive"]:
            classes[item["class"]]["items"] += 1
            classes[item["class"]]["found"] += any(meets(one, item) for one in proposals)
        for one in proposals:
            classes[one["class"]]["proposals"] += 1
            classes[one["class"]]["right"] += any(meets(one, item) for item in fixture["must_survive"])
    return {"conversations": [fixture["conversation_id"] for fixture in fixtures], "classes": classes}


def meets(proposal, item):
    """Whether a proposal is about an item: same class and turn, one's words in the other's."""
    return (proposal["class"], proposal["turn"]) == (item["class"], item["turn"]) and bool(
        stands(item["literal"], proposal["literal"]) or proposal["literal"] in item["literal"]
    )


def read_draft(path):
    """A draft as `propose` prints it, or InputError."""
    draft = read_json(path)
    fields = ("conversation_id", "history", "turns", "compactions_expected", "proposals")
    whole = isinstance(draft, dict) and all(field in draft for field in fields) and isinstance(draft["proposals"], list)
    if not whole or not all(map(is_proposal, draft["proposals"])):
        raise InputError(f"{path}: is no draft; make one with: python -m compaction.annotate propose")
    held = len(read_conversation(path)["history"])  # as strictly as a fixture, before a person spends time on it
    if draft["turns"] != held:
        raise InputError(f"{path}: turns is {draft['turns']!r}, the history has {held}; correct it")
    return draft


def is_proposal(value):
    """Whether a value is a proposal."""
    texts = ("class", "role", "literal", "rule")
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(field), str) for field in texts)
        and type(value.get("turn")) is int
    )


def make_folder(path):
    """Make a folder where there is none, or InputError: before a person's first answer, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {error.strerror or error}; name another folder") from None


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="example: python -m compaction.annotate measure"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shown = {"formatter_class": argparse.RawDescriptionHelpFormatter}  # an example broken at a hyphen is another name
    one = commands.add_parser(
        "propose",
        help="print a draft for one recorded conversation",
        epilog="example: python -m compaction.annotate propose compaction/fixtures/ci-speedup.json > draft.local.json",
        **shown,
    )
    one.add_argument(
        "conversation_file", type=Path, help="JSON with conversation_id and history, or an event log (.jsonl)"
    )
    one.add_argument("--conversation", metavar="ID", help="which conversation of an event log")
    one.add_argument("--rejected", type=Path, metavar="FILE", help="proposals rejected before")
    one = commands.add_parser(
        "review",
        help="decide on each proposal of a draft",
        epilog="example: python -m compaction.annotate review draft.local.json --fixture my-fixtures/ci-speedup.json",
        **shown,
    )
    one.add_argument("draft", type=Path)
    one.add_argument(
        "--fixture", type=Path, required=True, metavar="FILE", help="the fixture that confirmed items go to"
    )
    one.add_argument("--rejected", type=Path, metavar="FILE", help="default: the fixture's name with .rejected.jsonl")
    one = commands.add_parser(
        "measure",
        help="recall and precision of the rules on both halves of the fixtures",
        epilog="example: python -m compaction.annotate measure",
    )
    add_fixtures(one)
    args = parser.parse_args(argv)
    if args.command == "review":
        draft, rejected = read_draft(args.draft), args.rejected or args.fixture.with_suffix(".rejected.jsonl")
        for path in (args.fixture, rejected):
            make_folder(path.parent)
        try:
            return 0 if review(draft, args.fixture, rejected, input) else 1
        except EOFError:
            raise InputError(
                "the answers ended before the proposals did; what was decided is kept, run it again"
            ) from None
    if args.command == "propose":
        conversation = read_conversation(args.conversation_file, args.conversation)
        sys.stdout.write(dump(propose(conversation, read_rejected(args.rejected))))
    else:
        sys.stdout.write(dump(measure(load_fixtures(args.fixtures))))


if __name__ == "__main__":
    run_command(main)
