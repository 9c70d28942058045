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
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, read_json, run_command, sha256
from base.lines import append_line, read_lines
from base.shapes import misfit
from base.shown import columns, one_line
from compaction.fixtures.items import JUDGED
from compaction.judge.asking import find_judge, kappa_text
from modelkit.scoring import kappa

LABELS = Path(__file__).parent / "labels.json"
PLANTED = ("specific", "vague")
REPEATS = 10
ITEM = {**dict.fromkeys(("id", "probe", "expect", "context"), lambda text: isinstance(text, str) and text.strip()),
        "label": lambda label: label in JUDGED, "planted?": lambda kind: kind in PLANTED}
SET = {"labelled_by": str, "items": lambda items: isinstance(items, list) and items != []}
KEPT = {"run": str, "question": [(str, int)], "verdict": lambda verdict: verdict in (*JUDGED, "unjudged")}


def read_labels(path):
    """The labelled items of a file, or InputError for the first thing wrong with them."""
    labels = read_json(path)
    problem = misfit(labels, SET, "it") or misfit(labels["items"], [ITEM], "items")
    if problem:
        raise InputError(f"{path}: is no set of labels: {problem}; a label is {', '.join(JUDGED)}")
    ids = [item["id"] for item in labels["items"]]
    if len(set(ids)) < len(ids):
        raise InputError(f"{path}: the id {next(id_ for id_ in ids if ids.count(id_) > 1)!r} stands twice; rename one")
    return labels


def questions(items, repeats):
    """{(part, id, number): question} of a card in order; number 0 of "repeat" is what counts."""
    texts = {("repeat", item["id"], number): (item, item["context"]) for item in items for number in range(repeats)}
    for item, other in pairs(items):
        for number, both in enumerate(((item, other), (other, item))):
            texts["order", item["id"], number] = item, "\n\n".join(one["context"] for one in both)
    return {key: {"probe": item["probe"], "expect": item["expect"], "context": context}
            for key, (item, context) in texts.items()}


def pairs(items):
    """Each item with the next one that asks something else: two contexts that make one record in either order."""
    for place, item in enumerate(items):
        others = [other for other in [*items[place + 1 :], *items[:place]] if other["probe"] != item["probe"]]
        if others:
            yield item, others[0]


def ask_all(judge, items, repeats, known=(), keep=lambda key, verdict: None):
    """{(part, id, number): verdict or "unjudged"} of every question; what is `known` is not asked again."""
    verdicts = dict(known)
    asked = questions(items, repeats)
    for key in progress(asked, desc="judge", unit="question"):
        if key not in verdicts:
            reply = judge(asked[key])
            verdict = reply.get("verdict") if isinstance(reply, dict) else None
            verdicts[key] = verdict if verdict in JUDGED else "unjudged"
            keep(key, verdicts[key])
    return verdicts


def make_card(identity, labels, verdicts, repeats):
    """The card from all verdicts."""
    items = labels["items"]
    first = {item["id"]: verdicts["repeat", item["id"], 0] for item in items}
    both = [(item["label"], first[item["id"]], item.get("planted")) for item in items]
    read = [item for item in both if item[1] != "unjudged"]
    try:
        kappa_or_none = kappa([verdict for _, verdict, _ in read], [label for label, _, _ in read])
    except ValueError:  # undefined: no verdicts, or one label throughout
        kappa_or_none = None
    repeated = [[verdicts["repeat", item["id"], n] for n in range(repeats)] for item in items]
    orders = [[verdicts["order", item["id"], n] for n in range(2)] for item, _ in pairs(items)]
    planted = {kind: [verdict for _, verdict, planted in read if planted == kind] for kind in PLANTED}
    return {
        "judge": identity,
        "labels": {"labelled_by": labels["labelled_by"], "items": len(items), "sha256": sha256(dump(labels))},
        "agreement": {"right": sum(label == verdict for label, verdict, _ in read), "judged": len(read),
                      "unjudged": len(items) - len(read)},
        "kappa": kappa_or_none,
        "confusion": {label: {verdict: sum(item[:2] == (label, verdict) for item in both) for verdict in JUDGED}
                      for label in JUDGED},
        "repeats": {"times": repeats, "items": len(items), **flips(repeated)},
        "order": {"pairs": len(orders), **flips(orders)},
        "planted": {kind: {"judged": len(judged), "accepted": judged.count("supported")}
                    for kind, judged in planted.items()}}


def flips(groups):
    """Of groups of verdicts that should be equal: those with two or more that could be read, and those that differ.

    flips([["absent", "absent"], ["absent", "supported"], ["absent", "unjudged"]]) -> {"compared": 2, "flipped": 1}
    """
    read = [[verdict for verdict in group if verdict != "unjudged"] for group in groups]
    compared = [group for group in read if len(group) > 1]
    return {"compared": len(compared), "flipped": sum(len(set(group)) > 1 for group in compared)}


def kept_answers(path, run):
    """(verdicts recorded by the same run, a function that adds one) for a file of answers; other runs' are refused."""
    known = {}
    for number, line in read_lines(path) if path.exists() else ():
        if problem := misfit(line, KEPT, "it"):
            raise InputError(f"{path}: line {number}: {problem}, so no kept answer; name another file")
        if line["run"] != run:
            raise InputError(f"{path}: holds answers of another judge, prompt or set of labels; name another file")
        known[tuple(line["question"])] = line["verdict"]
    return known, lambda key, verdict: append_line(path, {"run": run, "question": list(key), "verdict": verdict})


def table(card):
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
    parser.add_argument("--judge", required=True, metavar="NAME",
                        help="human, your own function (FILE.py:NAME, module:function) or the file of a model block")
    parser.add_argument("--labels", type=Path, default=LABELS, metavar="FILE", help="labelled items (default: shipped)")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N",
                        help="times that each item is asked (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE",
                        help="keep each answer as it comes; go on where it stopped")
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")
    args = parser.parse_args(argv)
    if args.repeats < 1:
        raise InputError(f"--repeats is {args.repeats}; ask each item at least once")
    labels, judge = read_labels(args.labels), find_judge(args.judge, args.tokenizer)
    kept = kept_answers(args.keep, sha256(dump([judge.identity, labels]))) if args.keep else ()
    card = make_card(judge.identity, labels, ask_all(judge, labels["items"], args.repeats, *kept), args.repeats)
    print(table(card), file=sys.stderr)
    sys.stdout.write(dump(card))
    return 0 if card["agreement"]["judged"] else 3


if __name__ == "__main__":
    run_command(main)
