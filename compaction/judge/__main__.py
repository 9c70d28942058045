"""Measure a judge on labelled items before its verdicts are believed: its card.

Run:  python -m compaction.judge --judge module:function > card.local.json
      python -m compaction.judge --judge model.local.json --keep answers.local.jsonl > card.local.json
The card goes to `python -m compaction.check --card card.local.json`. A judge without one is unmeasured.
Does not improve a judge or decide whether it is good enough: the card stands beside each row that it judged.

labels   {"labelled_by", "about", "items": [{"id", "probe", "expect", "context", "label", "planted"?}]}
card     agreement, kappa and the confusion table against the labels; flips: items whose verdict was not the same in
         ten repeats of the same input, and pairs whose verdict changed with the order of two contexts in one record;
         planted wrong answers, specific and vague, that it accepted (supported)
A reply that could not be read counts as "unjudged" everywhere, apart from right and wrong. Exit status: 0 measured, 3
not one reply could be read.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from base.lines import append_line, read_lines
from modelkit.scoring import kappa

from base.command import InputError, dump, progress, read_json, run_command
from compaction.fixtures.items import JUDGED
from compaction.judge.asking import find_judge

LABELS = Path(__file__).parent / "labels.json"
FIELDS = ("id", "probe", "expect", "context", "label")
PLANTED = ("specific", "vague")
REPEATS = 10


def read_labels(path):
    """The labelled items of a file, or InputError for the first thing wrong with them."""
    labels = read_json(path)
    items = labels.get("items") if isinstance(labels, dict) else None
    if not isinstance(items, list) or not items or not isinstance(labels.get("labelled_by"), str):
        raise InputError(f"{path}: is no set of labels; give labelled_by (who labelled them) and a list of items")
    seen = set()
    for number, item in enumerate(items, 1):
        place = f"{path}: item {number}"
        if not isinstance(item, dict) or any(not isinstance(item.get(f), str) or not item[f].strip() for f in FIELDS):
            raise InputError(f"{place}: needs the texts {', '.join(FIELDS)}; add what is missing")
        if item["label"] not in JUDGED or item.get("planted", "vague") not in PLANTED:
            raise InputError(
                f"{place}: label is one of {', '.join(JUDGED)} and planted {' or '.join(PLANTED)}; correct it")
        if item["id"] in seen:
            raise InputError(f"{place}: the id {item['id']!r} stands twice; rename one")
        seen.add(item["id"])
    return labels


def questions(items, repeats):
    """Every question of a card in order: (part, id, number, question); number 0 of "repeat" is what counts."""
    for item in items:
        for number in range(repeats):
            yield "repeat", item["id"], number, {key: item[key] for key in ("probe", "expect", "context")}
    for item, other in pairs(items):
        for number, texts in enumerate(((item["context"], other["context"]), (other["context"], item["context"]))):
            yield ("order", item["id"], number,
                   {"probe": item["probe"], "expect": item["expect"], "context": "\n\n".join(texts)})


def pairs(items):
    """Each item with the next one that asks something else: two contexts that make one record in either order."""
    for place, item in enumerate(items):
        later = [*items[place + 1 :], *items[:place]]
        other = next((one for one in later if one["probe"] != item["probe"]), None)
        if other:
            yield item, other


def ask_all(judge, items, repeats, known=(), keep=None):
    """{(part, id, number): verdict or "unjudged"} of every question; what is `known` is not asked again."""
    found, known = {}, dict(known)
    for part, id_, number, question in progress(list(questions(items, repeats)), desc="judge", unit="question"):
        key = part, id_, number
        if key in known:
            found[key] = known[key]
            continue
        reply = judge(question)
        verdict = reply.get("verdict") if isinstance(reply, dict) else None
        found[key] = verdict if verdict in JUDGED else "unjudged"
        if keep:
            keep(key, found[key])
    return found


def make_card(identity, labels, found, repeats):
    """The card from all verdicts."""
    items = labels["items"]
    first = {item["id"]: found["repeat", item["id"], 0] for item in items}
    read = [item for item in items if first[item["id"]] != "unjudged"]
    judged, wanted = [first[item["id"]] for item in read], [item["label"] for item in read]
    repeated = [[found["repeat", item["id"], n] for n in range(repeats)] for item in items]
    orders = [[found["order", item["id"], n] for n in range(2)] for item, _ in pairs(items)]
    return {
        "judge": identity,
        "labels": {"labelled_by": labels["labelled_by"], "items": len(items), "sha256": labels_hash(labels)},
        "agreement": {"right": sum(a == b for a, b in zip(judged, wanted)), "judged": len(read),
                      "unjudged": len(items) - len(read)},
        "kappa": kappa_or_none(judged, wanted),
        "confusion": {label: {verdict: sum(item["label"] == label and first[item["id"]] == verdict for item in items)
                              for verdict in JUDGED}
                      for label in JUDGED},
        "repeats": {"times": repeats, "items": len(items), **flips(repeated)},
        "order": {"pairs": len(orders), **flips(orders)},
        "planted": {
            kind: {"judged": sum(item.get("planted") == kind for item in read),
                   "accepted": sum(item.get("planted") == kind and first[item["id"]] == "supported" for item in read)}
            for kind in PLANTED}}


def flips(groups):
    """{"compared", "flipped"} of groups of verdicts that should be equal: groups with two verdicts or more that could
    be read, and those of them whose verdicts differ."""
    read = [[one for one in group if one != "unjudged"] for group in groups]
    compared = [group for group in read if len(group) > 1]
    return {"compared": len(compared), "flipped": sum(len(set(group)) > 1 for group in compared)}


def kappa_or_none(judged, wanted):
    """Cohen's kappa, or None where it is undefined: no verdicts, or one label throughout."""
    try:
        return kappa(judged, wanted)
    except ValueError:
        return None


def labels_hash(labels):
    """SHA-256 of the labels as this project writes JSON."""
    return hashlib.sha256(dump(labels).encode("utf-8")).hexdigest()


def kept_answers(path, run):
    """(verdicts recorded by the same run, a function that adds one) for a file of answers; other runs' are refused."""
    known = {}
    if path.exists():
        for _, line in read_lines(path):
            fits = isinstance(line, dict) and set(line) == {"run", "question", "verdict"} and line["run"] == run
            if not fits or not isinstance(line["question"], list):
                raise InputError(f"{path}: holds answers of another judge, prompt or set of labels; name another file")
            known[tuple(line["question"])] = line["verdict"]

    def keep(key, verdict):
        append_line(path, {"run": run, "question": list(key), "verdict": verdict})

    return known, keep


def table(card):
    """The card for a person."""
    right, planted = card["agreement"], card["planted"]
    kappa_text = "undefined" if card["kappa"] is None else f"{card['kappa']:.2f}"
    lines = [f"judge: {json.dumps(card['judge'], ensure_ascii=False)}",
             f"labels: {card['labels']['items']} items, by {card['labels']['labelled_by']}",
             f"agreement {right['right']} of {right['judged']} ({right['unjudged']} unjudged), kappa {kappa_text}",
             "label \\ verdict  " + "  ".join(JUDGED)]
    for label, row in card["confusion"].items():
        lines.append(f"{label:15}  " + "  ".join(f"{count:{len(verdict)}}" for verdict, count in row.items()))
    return "\n".join(
        lines
        + [f"flips: {card['repeats']['flipped']} of {card['repeats']['compared']} items in {card['repeats']['times']} "
           "repeats, "
           f"{card['order']['flipped']} of {card['order']['compared']} pairs with the order swapped",
           "planted wrong answers accepted: "
           + ", ".join(f"{kind} {planted[kind]['accepted']} of {planted[kind]['judged']}" for kind in PLANTED)])


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python -m compaction.judge --judge compaction.tests.doubles:overlap_judge",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True, metavar="NAME", help="module:function, or the file of a model block")
    parser.add_argument("--labels", type=Path, default=LABELS, metavar="FILE", help="labelled items (default: shipped)")
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help="times that each item is asked (default %(default)s)")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep each answer as it comes; go on where it stopped")
    args = parser.parse_args(argv)
    if args.repeats < 1:
        raise InputError(f"--repeats is {args.repeats}; ask each item at least once")
    labels, judge = read_labels(args.labels), find_judge(args.judge)
    run = hashlib.sha256(dump([judge.identity, labels]).encode("utf-8")).hexdigest()
    known, keep = kept_answers(args.keep, run) if args.keep else ({}, None)
    card = make_card(judge.identity, labels, ask_all(judge, labels["items"], args.repeats, known, keep), args.repeats)
    print(table(card), file=sys.stderr)
    sys.stdout.write(dump(card))
    return 0 if card["agreement"]["judged"] else 3


if __name__ == "__main__":
    run_command(main)
