"""Is a change safe? Two results side by side: a gated row that got worse blocks it, whatever the rest did.

Does not ask whether a compactor meets its gates (rows.py): a baseline may miss them and still be what a change is
measured against.

change  worse      with every unknown decision at its best for the candidate, it is still below the incumbent
        not worse  with every one at its worst it is not below
        undecided  what is not known could turn it
A decision that both leave unknown about the very same context counts the same on both sides.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from base.command import NotComparable
from base.stats import mcnemar
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import RETAINED, UNKNOWN
from compaction.rows import items_of, judged, missing, open_questions, verdicts

HARM = {"contradicted": 0, "absent": 1, "opaque": 2, "unjudged": 2, "supported": 3, "verbatim": 3}


def check_comparable(candidate, incumbent):
    """NotComparable, with the reason, for results of other fixtures, conversations, budgets, counters or judges."""
    sides = (candidate, incumbent)
    for field, remedy in (("fixtures", "run both on the same fixtures"), ("budget", "run both at the same budget"),
                          ("counter", "count both with the same tokenizer"), ("gates", "use the same gates")):
        if candidate[field] != incumbent[field]:
            raise NotComparable(f"not comparable: {field} differ; {remedy}")
    if len({side["keep_share"] for side in sides} - {None}) > 1:
        raise NotComparable("not comparable: the compactors were handed different shares of the budget (keep_share); "
                            "run both with the same --keep-share")
    covered = [{item["conversation_id"] for item in side["items"] if item["verdicts"]} for side in sides]
    if covered[0] != covered[1]:
        raise NotComparable(
            f"not comparable: only one side has decisions on {', '.join(sorted(covered[0] ^ covered[1]))}; "
            "give both sides contexts of the same conversations")
    by_judge = [judged(side["items"]) for side in sides]
    left = [number or "unjudged" in verdicts(side["items"]) for number, side in zip(by_judge, sides)]
    identities = [side["judge"] and side["judge"]["identity"] for side in sides]
    if all(left) and any(by_judge) and identities[0] != identities[1]:  # where text decided all, no judge matters
        raise NotComparable(
            f"not comparable: judged by {identities[0]!r} and by {identities[1]!r}; use one judge for both")


def compare(candidate, incumbent):
    """{"decision", "rows", "failed", "changed", "unpaired", "missing_verdicts"} of two results.

    decision: "safe", "blocked" or "not decided", which it is too where a conversation has no context on either side.
    failed: whether more compactions failed than before. unpaired: decisions whose item has none at the compaction of
    the same number on the other side; rows count them.
    """
    check_comparable(candidate, incumbent)
    rows = compare_rows(candidate["rows"], incumbent["rows"], shared_unknown(candidate["items"], incumbent["items"]))
    pairs = paired(candidate["items"], incumbent["items"])
    for row in rows:
        if row["row"] in CLASSES:
            row |= discordant([pair["verdicts"] for pair in pairs if pair["class"] == row["row"]])
    failed = len(candidate["failed"]) > len(incumbent["failed"])
    decision = "blocked" if failed else decide(rows)
    partial = decision == "safe" and (candidate["uncovered"] or incumbent["uncovered"])
    return {"decision": "not decided" if partial else decision, "failed": failed, "rows": rows,
            "changed": changed(pairs),
            "unpaired": {side: len(verdicts(result["items"])) - len(pairs)
                         for side, result in (("candidate", candidate), ("incumbent", incumbent))},
            "missing_verdicts": missing(candidate["items"] + incumbent["items"])}


def compare_rows(candidate, incumbent, shared=None):
    """Each gated row of two reports with its change; `shared`: unknown decisions that both have, by row."""
    old = {row["row"]: row for row in incumbent}
    return [{"row": row["row"], "name": row["name"], "change": row_change(row, old[row["row"]], (shared or {}))}
            for row in candidate
            if row["gate"] is not None]


def row_change(new, old, shared):
    """How one row changed: "worse", "not worse" or "undecided"."""
    if new["row"] == "prompt_tokens":  # keeping more costs tokens, so only crossing the gate counts
        if "undecided" in (new["state"], old["state"]):
            return "undecided"
        return "worse" if (old["state"], new["state"]) == ("met", "missed") else "not worse"
    if not new["of"] and not old["of"]:
        return "not worse"
    if not new["of"] or not old["of"]:
        return "undecided"
    same = min(shared.get(new["row"], 0), new["unknown"], old["unknown"])
    differences = [goodness(new, both + mine) - goodness(old, both + theirs)
                   for both, mine, theirs in product((0, same), (0, new["unknown"] - same), (0, old["unknown"] - same))]
    return "worse" if max(differences) < 0 else "not worse" if min(differences) >= 0 else "undecided"


def goodness(row, turned):
    """A row's value, more being better, when `turned` of its unknown decisions are kept, or are contradictions."""
    value = row["value"] + turned
    return -value if row["row"] == "contradictions" else Fraction(value, row["of"])


def decide(rows):
    """The answer to "is this change safe?" from compared rows."""
    changes = {row["change"] for row in rows}
    return "blocked" if "worse" in changes else "not decided" if "undecided" in changes else "safe"


def shared_unknown(new, old):
    """How many unjudged decisions ask the very same question on both sides, by class and in all ("contradictions")."""
    return {name: (Counter(open_questions(items_of(name, new))) & Counter(open_questions(items_of(name, old)))).total()
            for name in (*CLASSES, "contradictions")}


def paired(new, old):
    """Decisions on the same item at the compaction of the same number, candidate's first: {item fields, "compaction",
    "verdicts": (new, old), "lines": (new, old)}."""
    before = {(item["conversation_id"], item["item"]): item for item in old}
    pairs = []
    for item in new:
        other = before.get((item["conversation_id"], item["item"]), {"verdicts": {}})
        pairs += [{**{field: item[field] for field in ("conversation_id", "item", "class", "tags")},
                   "compaction": int(number), "verdicts": (verdict, other["verdicts"][number]),
                   "lines": (item["lines"].get(number), other["lines"].get(number))}
                  for number, verdict in item["verdicts"].items()
                  if number in other["verdicts"]]
    return pairs


def discordant(pairs):
    """Pairs of verdicts that were kept on one side only, with the exact McNemar test; unknown ones are counted apart.

    Decisions on one item at several compactions are not independent, so p is a guide for reading and decides nothing.
    """
    known = [[verdict in RETAINED for verdict in pair] for pair in pairs if not set(pair) & set(UNKNOWN)]
    lost, gained = known.count([False, True]), known.count([True, False])
    return {"pairs": len(pairs), "unknown_pairs": len(pairs) - len(known), "lost": lost, "gained": gained,
            "p": mcnemar(lost, gained)}


def changed(pairs):
    """Items whose verdict differs somewhere, at their most harmful difference, most harmful change first.

    -> {"conversation_id", "item", "class", "tags", "compaction", "candidate", "incumbent", "candidate_line",
    "incumbent_line"}
    """
    worst = {}
    for pair in sorted((pair for pair in pairs if pair["verdicts"][0] != pair["verdicts"][1]), key=harm):
        worst.setdefault((pair["conversation_id"], pair["item"]), pair)
    return [{field: value for field, value in pair.items() if field not in ("verdicts", "lines")}
            | {side + suffix: pair[field][place]
               for field, suffix in (("verdicts", ""), ("lines", "_line"))
               for place, side in enumerate(("candidate", "incumbent"))}
            for pair in worst.values()]


def harm(pair):
    """Sort key of a change: to contradicted first, then to absent, to unknown, to kept; from the best state first."""
    new, old = pair["verdicts"]
    return HARM[new], -HARM[old], pair["compaction"], pair["conversation_id"], pair["item"]
