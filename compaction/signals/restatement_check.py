"""Measure how well restatements are told from what only looks like them, on labelled pairs of user messages.

Run:  python -m compaction.signals.restatement_check                 (the shipped pairs: JSON, misses on standard error)
      python -m compaction.signals.restatement_check my-pairs.json
Does not look through logs (signals.py --labels measures on those). No model: the rules of signals/restatements.py.
Of the shipped pairs, `pair-*` were read while the rules were tuned; `fresh-*` were written afterwards. Both are shown.

pair   {"id", "earlier", "later", "label"}, and "replied": false where no reply came between the two
label  restates, new (another thing said), resent, machine text, pasted output, new round; only restates is a hit
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from base.command import InputError, dump, read_json, run_command
from compaction.signals.restatements import Said

SHIPPED = Path(__file__).parent / "tests" / "restatement_pairs.json"
LABELS = ("restates", "new", "resent", "machine text", "pasted output", "new round")


def read_pairs(path):
    """The pairs of a file {"pairs": [...]}, or InputError for the first that cannot be used."""
    value = read_json(path)
    pairs = value.get("pairs") if isinstance(value, dict) else None
    if not isinstance(pairs, list) or not pairs:
        raise InputError(f'{path}: no list of pairs; give {{"pairs": [{{id, earlier, later, label}}]}}')
    ids = set()
    for number, pair in enumerate(pairs, 1):
        place = f"{path}: pair {number}"
        if not isinstance(pair, dict) or any(
            not isinstance(pair.get(f), str) or not pair[f].strip() for f in ("id", "earlier", "later")
        ):
            raise InputError(f"{place}: id, earlier and later must be texts; correct it")
        if pair.get("label") not in LABELS:
            raise InputError(f"{place}: label is {pair.get('label')!r}; use one of {', '.join(LABELS)}")
        if pair["id"] in ids:
            raise InputError(f"{place}: the id {pair['id']!r} stands twice; rename one")
        if not isinstance(pair.get("replied", True), bool):
            raise InputError(f"{place}: replied is {pair['replied']!r}; give true or false")
        ids.add(pair["id"])
    return pairs


def told_kind(pair):
    """What the rules say of a pair's later message: a kind of signals/restatements.py, or "none"."""
    said = Said()
    said.take(pair["earlier"], 1)
    verdict = said.take(pair["later"], 2, replied=pair.get("replied", True))
    return verdict["kind"] if verdict else "none"


def measure(pairs):
    """Counts, precision and recall of `restates` over pairs, the table behind them, and the pairs that went wrong."""
    table, missed, wrong = Counter(), [], []
    for pair in pairs:
        kind = told_kind(pair)
        table[pair["label"], kind] += 1
        if pair["label"] == "restates" and kind != "restates":
            missed.append(pair["id"])
        elif pair["label"] != "restates" and kind == "restates":
            wrong.append(pair["id"])
    right = table["restates", "restates"]
    there = right + len(missed)
    return {"pairs": len(pairs), "restates": there, "found": right, "false_alarms": len(wrong),
            "precision": right / (right + len(wrong)) if right + len(wrong) else None,
            "recall": right / there if there else None,
            "table": [{"label": label, "told": kind, "pairs": n} for (label, kind), n in sorted(table.items())],
            "missed": missed, "wrongly_taken": wrong}


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="example: python -m compaction.signals.restatement_check")
    parser.add_argument("pairs", nargs="?", default=SHIPPED, help="JSON file of pairs (default: the shipped ones)")
    args = parser.parse_args(argv)
    pairs = read_pairs(args.pairs)
    report = {"all": measure(pairs)}
    for start in ("pair", "fresh") if Path(args.pairs) == SHIPPED else ():
        report[start] = measure([pair for pair in pairs if pair["id"].startswith(start)])
    sys.stdout.write(dump(report))
    by_id = {pair["id"]: pair for pair in pairs}
    for kind in ("missed", "wrongly_taken"):
        for name in report["all"][kind]:
            earlier, later = by_id[name]["earlier"][:80], by_id[name]["later"][:100]
            print(f"{kind.replace('_', ' ')}: {name}: {later!r} after {earlier!r}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
