"""Read stored conversations and the items that must survive their compaction; refuse what cannot be trusted.

Run:  python -m compaction.fixtures                      (the shipped set: a JSON summary, warnings on standard error)
      python -m compaction.fixtures my-fixtures/*.json   (files or folders of your own)
Does not compact (growth.py), check an item (items.py) or look for control tokens, which needs the model's tokenizer:
check.py does that when a run starts.

fixture  {"conversation_id", "history": [turn, ...], "turns", "compactions_expected", "must_survive": [item, ...]}
turn     as in the lab's cases: {"user", "assistant"}, optionally id, session, date, and messages: the tool calls and
         results between the two (conversation.py)
item     {"id", "class", "turn", "literal", "probe", "expect"}, optionally replaced, also, tags; turns count from 1
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from command import InputError, dump, read_json, run_command
from compaction.conversation import half_pair, turn_problem, turn_texts
from compaction.literals import negated, sentence_before, stands

SHIPPED = Path(__file__).parent / "fixtures"
CLASSES = ("constraint", "commitment", "open_question", "reference")
TAGS = ("hedge", "silent-constraint", "undecided", "uncued-correction", "revised-reference", "buried")
FIELDS = ("conversation_id", "history", "turns", "compactions_expected", "must_survive")
ITEM_FIELDS = ("id", "class", "turn", "literal", "probe", "expect")
ITEM_OPTIONAL = ("replaced", "also", "tags")
SHORT = 3  # a literal of fewer words than this is found by chance; references are names and may be shorter


class FixtureError(InputError):
    """A fixture that cannot be used; its place and the problem are fields, for a caller that lists them."""

    def __init__(self, path, conversation, item, field, problem, remedy):
        place = [
            f"conversation {conversation!r}" if conversation else "",
            f"item {item!r}" if item else "",
            f"field {field!r}" if field else "",
        ]
        super().__init__(": ".join([str(path), *filter(None, place), f"{problem}; {remedy}"]))
        self.path, self.conversation, self.item, self.field, self.problem = path, conversation, item, field, problem


def load_fixtures(paths=(SHIPPED,)):
    """Every fixture in `paths` (files, folders of *.json), by conversation id; FixtureError for the first problem."""
    found, ids, conversations = [], {}, {}
    for path in fixture_files(paths):
        fixture = check_fixture(read_json(path), path)
        name = fixture["conversation_id"]
        if name in conversations:
            raise FixtureError(
                path, name, None, "conversation_id", f"stands in {conversations[name]} too", "rename one"
            )
        conversations[name] = path
        for item in fixture["must_survive"]:
            if item["id"] in ids:
                raise FixtureError(path, name, item["id"], "id", f"is an item of {ids[item['id']]} too", "rename one")
            ids[item["id"]] = path
        found.append(fixture)
    return sorted(found, key=lambda fixture: fixture["conversation_id"])


def fixture_files(paths):
    """The JSON files that `paths` name, sorted within a folder; InputError where there is none."""
    files = []
    for path in map(Path, paths):
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no fixture (*.json) in this folder; name another or write one (README.md)")
        files += inside
    return files


def check_fixture(fixture, path):
    """The fixture as it is, or FixtureError for the first thing wrong with it."""
    name = fixture.get("conversation_id") if isinstance(fixture, dict) else None
    name = name if isinstance(name, str) else None

    def refuse(field, problem, remedy, item=None):
        raise FixtureError(path, name, item, field, problem, remedy)

    check_fields(fixture, FIELDS, (), refuse)
    if half_pair(fixture):
        refuse(None, f"holds half of a surrogate pair, {half_pair(fixture)!r}", "write the whole character")
    if not name_like(fixture["conversation_id"]):
        refuse("conversation_id", "must be a text on one line that is not blank", "name the conversation")
    check_history(fixture, refuse)
    if not whole(fixture["turns"]) or fixture["turns"] != len(fixture["history"]):
        refuse("turns", f"is {fixture['turns']!r}, the history has {len(fixture['history'])}", "correct it")
    if not whole(fixture["compactions_expected"]) or fixture["compactions_expected"] < 1:
        refuse("compactions_expected", f"is {fixture['compactions_expected']!r}", "give a whole number from 1")
    items = fixture["must_survive"]
    if not isinstance(items, list) or not items:
        refuse("must_survive", "must be a list of at least one item", "annotate the conversation (annotate.py)")
    seen = set()
    for number, item in enumerate(items, 1):
        label = item["id"] if isinstance(item, dict) and text(item.get("id")) else f"number {number}"
        check_item(item, fixture["history"], lambda field, problem, remedy: refuse(field, problem, remedy, label))
        if item["id"] in seen:
            refuse("id", "is given to two items", "rename one", label)
        seen.add(item["id"])
    return fixture


def check_fields(value, required, optional, refuse):
    """Refuse a value that is no object, lacks a field or has one that nobody reads."""
    if not isinstance(value, dict):
        refuse(None, "is no JSON object", f"give an object with {', '.join(required)}")
    for field in required:
        if field not in value:
            refuse(field, "is missing", "add it (README.md shows a fixture)")
    for field in value:
        if field not in required and field not in optional:
            refuse(field, "is not a field that anything reads", "remove it or correct its name")


def check_history(fixture, refuse):
    """Refuse a history that is no list of turns, and call ids that stand twice in one conversation."""
    history = fixture["history"]
    if not isinstance(history, list) or not history:
        refuse("history", "must be a list of at least one turn", "add the conversation")
    calls, ids = set(), set()
    for number, turn in enumerate(history, 1):
        problem = turn_problem(turn, calls)
        if problem:
            refuse("history", f"turn {number}: {problem}", "correct the turn")
        if turn.get("id") in ids:
            refuse("history", f"turn {number}: the id {turn['id']!r} stands twice", "rename one")
        ids |= {turn["id"]} if "id" in turn else set()


def check_item(item, history, refuse):
    """Refuse an item whose fields are wrong or whose words the history does not hold."""
    check_fields(item, ITEM_FIELDS, ITEM_OPTIONAL, refuse)
    for field in ("id", "literal", "probe", "expect"):
        if not text(item[field]):
            refuse(field, "must be a text that is not blank", "write it")
    if not name_like(item["id"]):
        refuse("id", "is no single line of printable text", "name the item otherwise")
    if item["class"] not in CLASSES:
        refuse("class", f"is {item['class']!r}", f"use one of {', '.join(CLASSES)}")
    if not whole(item["turn"]) or not 1 <= item["turn"] <= len(history):
        refuse("turn", f"is {item['turn']!r}", f"give a turn from 1 to {len(history)}")
    if not item["probe"].rstrip().endswith("?"):
        refuse("probe", "is no question", "end it with a question mark")
    turns = history[item["turn"] - 1 : item["turn"]]
    check_literal("literal", item["literal"], turns, f"turn {item['turn']}", refuse)
    for field in ("replaced", "also"):
        check_list(field, item.get(field, []), refuse)
    for literal in item.get("replaced", []):
        check_literal("replaced", literal, history[: item["turn"] - 1], f"a turn before {item['turn']}", refuse)
    for literal in item.get("also", []):
        check_literal("also", literal, history, "the history", refuse)
    both = set(item.get("replaced", [])) & {item["literal"], *item.get("also", [])}
    if both:
        refuse("replaced", f"{min(both)!r} is also a literal that answers the probe", "take it out of one of the two")
    check_list("tags", item.get("tags", []), refuse)
    for tag in item.get("tags", []):
        if tag not in TAGS:
            refuse("tags", f"{tag!r} is no known difficulty", f"use {', '.join(TAGS)}")


def check_literal(field, literal, turns, place, refuse):
    """Refuse words that no single message of `turns` holds as whole words: they could never be found again."""
    if "\n" in literal or "\r" in literal or literal != literal.strip():
        refuse(field, f"{literal!r} spans lines or has outer white space", "take the exact words from one line")
    texts = [one for turn in turns for one in turn_texts(turn)]
    if not any(stands(literal, one) for one in texts):
        inside = any(literal in one for one in texts)
        refuse(
            field,
            f"{literal!r} stands in {place} only inside a longer name"
            if inside
            else f"{literal!r} does not occur in one message of {place}",
            "copy the exact, whole words",
        )


def check_list(field, value, refuse):
    """Refuse anything but a list of distinct texts; an empty list says nothing and is left out instead."""
    if not isinstance(value, list) or not all(text(one) for one in value):
        refuse(field, "must be a list of texts that are not blank", "write it as one")
    if len(set(value)) != len(value):
        refuse(field, "holds a text twice", "remove one")


def text(value):
    """Whether `value` is a string with something in it."""
    return isinstance(value, str) and bool(value.strip())


def name_like(value):
    """Whether `value` is a text that can be shown on one line as it is."""
    return text(value) and value.isprintable()


def whole(value):
    """Whether `value` is a whole number; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def warnings(fixtures):
    """What is legal and still likely to mislead: short literals, and those that leave their negation behind."""
    found = []
    for fixture in fixtures:
        for item in fixture["must_survive"]:
            place = f"{fixture['conversation_id']}: item {item['id']}: literal {item['literal']!r}"
            if item["class"] != "reference" and len(item["literal"].split()) < SHORT:
                found.append(
                    f"{place} has fewer than {SHORT} words and may be found by chance; take more of the sentence"
                )
            if behind_negation(item, fixture["history"]):
                found.append(f"{place} starts behind a negation in its source; take the negation into the literal")
    return found


def behind_negation(item, history):
    """Whether every place of the literal in its turn has a negation before it in the same sentence."""
    before = [
        sentence_before(one, start)
        for one in turn_texts(history[item["turn"] - 1])
        for start in stands(item["literal"], one)
    ]
    return all(negated(one) for one in before)


def summary(fixtures):
    """Counts of a fixture set: conversations, turns, items by class and by difficulty."""
    items = [item for fixture in fixtures for item in fixture["must_survive"]]
    by_class, by_tag = Counter(item["class"] for item in items), Counter(t for i in items for t in i.get("tags", []))
    return {
        "conversations": len(fixtures),
        "turns": {fixture["conversation_id"]: fixture["turns"] for fixture in fixtures},
        "items": len(items),
        "classes": {name: by_class[name] for name in CLASSES},
        "tags": {name: by_tag[name] for name in TAGS},
        "warnings": len(warnings(fixtures)),
    }


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="example: python -m compaction.fixtures"
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[SHIPPED], help="files or folders (default: the shipped set)"
    )
    args = parser.parse_args(argv)
    fixtures = load_fixtures(args.paths)
    for line in warnings(fixtures):
        print(f"warning: {line}", file=sys.stderr)
    sys.stdout.write(dump(summary(fixtures)))


if __name__ == "__main__":
    run_command(main)
