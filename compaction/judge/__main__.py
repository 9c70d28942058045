"""Measure a judge on labelled items before its verdicts are believed: its card.

Run:  python -m compaction.judge --judge compaction.tests.doubles:overlap_judge > card.local.json
      python -m compaction.judge --judge model.local.json --keep answers.local.jsonl > card.local.json

The card goes to `python -m compaction.check --card card.local.json` and stands beside each row that it judged.

labels   {"labelled_by", "about", "items": [{"id", "probe", "expect", "context", "label", "planted"?}]}
card     agreement, kappa and the confusion table against the labels; flips: items whose verdict was not the same in
         ten repeats of the same input, and pairs whose verdict changed with the order of two contexts in one record;
         planted wrong answers, specific and vague, that it accepted (supported)
A reply that could not be read counts as "unjudged" everywhere. Exit status: 0 measured, 3 not one could be read.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, read_json, run_command, sha256
from base.lines import append_line, read_entries
from base.shapes import misfit, not_blank
from base.shown import columns, one_line
from compaction.fixtures.items import JUDGED
from compaction.judge.asking import find_judge, kappa_text
from modelkit.scoring import kappa

LABELS = Path(__file__).parent / "labels.json"
PLANTED = ("specific", "vague")
REPEATS = 10
ITEM = {**dict.fromkeys(("id", "probe", "expect", "context"), not_blank), "label": lambda label: label in JUDGED,
        "planted?": lambda kind: kind in PLANTED}
LABELLED = {"labelled_by": str, "items": [ITEM]}
KEPT = {"run": str, "question": [(str, int)], "verdict": lambda verdict: verdict in (*JUDGED, "unjudged")}


def read_labels(path):
    """The labelled items of a file, or InputError for the first thing wrong with them."""
    labels = read_json(path)
    problem = misfit(labels, LABELLED, "it")
    ids = Counter() if problem else Counter(item["id"] for item in labels["items"])
    if not problem and set(ids.values()) != {1}:
        problem = f"the id {max(ids, key=ids.get)!r} stands twice" if ids else "it has no items"
    if problem:
        raise InputError(f"{path}: is no set of labels: {problem}; a label is {', '.join(JUDGED)}")
    return labels


def questions(items, repeats):
    """{("repeat", id): an item's question so many times, ("order", id): twice, its record also that of the next item
    that asks something else, in either order}."""
    groups = {}
    for place, item in enumerate(items):
        question = {field: item[field] for field in ("probe", "expect", "context")}
        groups["repeat", item["id"]] = [question] * repeats
        others = [other for other in [*items[place + 1 :], *items[:place]] if other["probe"] != item["probe"]]
        for other in others[:1]:
            both = item["context"], other["context"]
            groups["order", item["id"]] = [question | {"context": "\n\n".join(texts)} for texts in (both, both[::-1])]
    return groups


def ask_all(judge, groups, path=None, run=None):
    """{key of a group: [verdict or "unjudged", ...]}. Each answer is kept in a file, if one is given, and not asked for
    again by the same `run`; InputError where another run kept its answers there."""
    lines = read_entries(path, KEPT, "kept answer")
    if any(line["run"] != run for line in lines):
        raise InputError(f"{path}: holds answers of another judge, prompt or set of labels; name another file")
    known, verdicts = {tuple(line["question"]): line["verdict"] for line in lines}, {key: [] for key in groups}
    asked = {(*key, number): question for key, group in groups.items() for number, question in enumerate(group)}
    for key, question in progress(asked.items(), desc="judge", unit="question"):
        if key not in known:
            known[key] = judge(question)["verdict"] or "unjudged"
            if path:
                append_line(path, {"run": run, "question": list(key), "verdict": known[key]})
        verdicts[key[:2]].append(known[key])
    return verdicts


def make_card(identity, labels, verdicts):
    """The card from all verdicts; the first of an item's own is what counts."""
    items = labels["items"]
    repeats, orders = ([group for (part, _), group in verdicts.items() if part == name] for name in ("repeat", "order"))
    given = [(item["label"], group[0], item.get("planted")) for item, group in zip(items, repeats)]
    read = [entry for entry in given if entry[1] != "unjudged"]
    try:
        kappa_or_none = kappa([verdict for _, verdict, _ in read], [label for label, _, _ in read])
    except ValueError:  # undefined: no verdicts, or one label throughout
        kappa_or_none = None
    planted = {kind: [verdict for _, verdict, planted in read if planted == kind] for kind in PLANTED}
    return {
        "judge": identity,
        "labels": {"labelled_by": labels["labelled_by"], "items": len(items), "sha256": sha256(dump(labels))},
        "agreement": {"right": sum(label == verdict for label, verdict, _ in read), "judged": len(read),
                      "unjudged": len(items) - len(read)},
        "kappa": kappa_or_none,
        "confusion": {label: {verdict: sum(entry[:2] == (label, verdict) for entry in given) for verdict in JUDGED}
                      for label in JUDGED},
        "repeats": {"times": len(repeats[0]), "items": len(items), **flips(repeats)},
        "order": {"pairs": len(orders), **flips(orders)},
        "planted": {kind: {"judged": len(judged), "accepted": judged.count("supported")}
                    for kind, judged in planted.items()}}


def flips(groups):
    """Of groups of verdicts that should be equal: those with two or more that could be read, and those that differ.

    flips([["absent", "absent"], ["absent", "supported"], ["absent", "unjudged"]]) -> {"compared": 2, "flipped": 1}
    """
    read = [[verdict for verdict in group if verdict != "unjudged"] for group in groups]
    return {"compared": sum(len(group) > 1 for group in read), "flipped": sum(len(set(group)) > 1 for group in read)}


def card_text(card):
    """The card for a person."""
    right, planted = card["agreement"], card["planted"]
    rows = [["label \\ verdict", *JUDGED], *([label, *row.values()] for label, row in card["confusion"].items())]
    return "\n".join([
        f"judge: {one_line(json.dumps(card['judge'], ensure_ascii=False))}",
        f"labels: {card['labels']['items']} items, by {one_line(card['labels']['labelled_by'])}",
        f"agreement {right['right']} of {right['judged']} ({right['unjudged']} unjudged), kappa {kappa_text(card)}",
        *columns(rows, right=range(1, len(rows[0]))),
        f"flips: {card['repeats']['flipped']} of {card['repeats']['compared']} items in {card['repeats']['times']}"
        f" repeats, {card['order']['flipped']} of {card['order']['compared']} pairs with the order swapped",
        "planted wrong answers accepted: "
        + ", ".join(f"{kind} {planted[kind]['accepted']} of {planted[kind]['judged']}" for kind in PLANTED)])


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--judge", required=True, help="human, FILE.py:NAME, module:function or a model block's file")
    parser.add_argument("--labels", type=Path, default=LABELS, metavar="FILE", help="labelled items (default: shipped)")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="times an item is asked (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep each answer as it comes; go on from it")
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")
    args = parser.parse_args(argv)
    if args.repeats < 1:
        raise InputError(f"--repeats is {args.repeats}; ask each item at least once")
    labels, judge = read_labels(args.labels), find_judge(args.judge, args.tokenizer)
    groups, run = questions(labels["items"], args.repeats), sha256(dump([judge.identity, labels]))
    card = make_card(judge.identity, labels, ask_all(judge, groups, args.keep, run))
    print(card_text(card), file=sys.stderr)
    sys.stdout.write(dump(card))
    return 0 if card["agreement"]["judged"] else 3


if __name__ == "__main__":
    run_command(main)
