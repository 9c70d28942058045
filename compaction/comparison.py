"""Is a change safe? Two results side by side: a gated row that got worse blocks it, whatever the rest did.

Does not ask whether a compactor meets its gates (rows.py): a baseline may miss them.

change  worse: below the incumbent with every unknown decision at its best for the candidate; not worse: not below with
        every one at its worst; undecided: what is not known could turn it. A decision that both leave unknown about the
        very same context counts the same on both sides.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from base.command import NotComparable
from base.stats import mcnemar
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import RETAINED, UNKNOWN
from compaction.rows import decisions, missing_verdicts, verdicts

HARM = {"contradicted": 0, "absent": 1, "opaque": 2, "unjudged": 2, "supported": 3, "verbatim": 3}


def incomparable(candidate, incumbent):
    """Why two results must not be compared (other fixtures, conversations, budgets, counters or judges), or None."""
    sides = (candidate, incumbent)
    for field, remedy in (("fixtures", "run both on the same fixtures"), ("budget", "run both at the same budget"),
                          ("counter", "count both with the same tokenizer"),
                          ("manifest_sha256", "count both with the same tokenizer"), ("gates", "use the same gates")):
        if candidate[field] != incumbent[field]:
            return f"{field} differ; {remedy}"
    if len({side["keep_share"] for side in sides} - {None}) > 1:
        return "the compactors were handed different shares of the budget (keep_share); give both the same --keep-share"
    new, old = ({item["conversation_id"] for item in side["items"] if item["verdicts"]} for side in sides)
    if new != old:
        return (f"only one side has decisions on {', '.join(sorted(new ^ old))}; give both sides contexts of the same "
                "conversations")
    left = [{verdict for verdict, key in decisions(side["items"]) if key} for side in sides]  # to a judge
    new, old = (side["judge"] and side["judge"]["identity"] for side in sides)
    if new != old and all(left) and left != [{"unjudged"}] * 2:  # where text decided all, no judge matters
        return f"judged by {new!r} and by {old!r}; use one judge for both"
    return None


def compare(candidate, incumbent):
    """{"decision", "failed", "rows", "changed", "unpaired", "unchecked", "missing_verdicts"} or NotComparable.

    decision: "safe", "blocked" or "not decided", as where a conversation has no context; failed: whether more
    compactions failed than before; unpaired: decisions that rows count and the other side has none to set against;
    unchecked: items on which only the incumbent was checked.
    """
    if reason := incomparable(candidate, incumbent):
        raise NotComparable(f"not comparable: {reason}")
    new, old = candidate["items"], incumbent["items"]
    rows, pairs = list(compare_rows(candidate, incumbent)), list(decision_pairs(new, old))
    for row in rows:
        if row["row"] in CLASSES:
            row |= discordant([pair for pair in pairs if pair["class"] == row["row"]])
    failed = len(candidate["failed"]) > len(incumbent["failed"])
    decision = "blocked" if failed else decide(rows)
    unchecked = sorted(set(candidate["never_checked"]) - set(incumbent["never_checked"]))  # a recording may end early
    if decision == "safe" and (candidate["uncovered"] or incumbent["uncovered"] or unchecked):
        decision = "not decided"
    alone = {"candidate": len(verdicts(new)) - len(pairs), "incumbent": len(verdicts(old)) - len(pairs)}
    return {"decision": decision, "failed": failed, "rows": rows, "changed": changed(pairs), "unpaired": alone,
            "unchecked": unchecked, "missing_verdicts": missing_verdicts(new + old)}


def compare_rows(candidate, incumbent):
    """Each gated row of two results with its change."""
    for new, old in zip(candidate["rows"], incumbent["rows"]):
        if new["gate"] is not None:
            asked = [Counter(key for verdict, key in decisions(side["items"], new["row"]) if verdict == "unjudged")
                     for side in (candidate, incumbent)]
            change = row_change(new, old, (asked[0] & asked[1]).total())
            yield {"row": new["row"], "name": new["name"], "change": change}


def row_change(new, old, shared):
    """How one row changed, so many unknown decisions being shared: "worse", "not worse" or "undecided"."""
    if new["row"] == "prompt_tokens":  # keeping more costs tokens, so only crossing the gate counts
        if "undecided" in (new["state"], old["state"]):
            return "undecided"
        return "worse" if (old["state"], new["state"]) == ("met", "missed") else "not worse"
    if not (new["of"] and old["of"]):
        return "undecided" if new["of"] or old["of"] else "not worse"
    same = min(shared, new["unknown"], old["unknown"])
    differences = [goodness(new, both + mine) - goodness(old, both + theirs)
                   for both, mine, theirs in product((0, same), (0, new["unknown"] - same), (0, old["unknown"] - same))]
    return "worse" if max(differences) < 0 else "not worse" if min(differences) >= 0 else "undecided"


def goodness(row, turned):
    """A row's value, more being better, where `turned` of its unknown decisions are retained (or are contradictions).
    goodness({"row": "constraint", "value": 1, "of": 4}, 2) -> Fraction(3, 4)"""
    value = row["value"] + turned
    return -value if row["row"] == "contradictions" else Fraction(value, row["of"])


def decide(rows):
    """Whether a change is safe, from compared rows: decide([{"change": "worse"}]) -> "blocked"."""
    changes = {row["change"] for row in rows}
    return "blocked" if "worse" in changes else "not decided" if "undecided" in changes else "safe"


def decision_pairs(new, old):
    """The two decisions on the same item at the compaction of the same number: {"conversation_id", "item", "class",
    "tags", "compaction", "candidate" (the new verdict), "incumbent", "candidate_line", "incumbent_line"}."""
    before = {(item["conversation_id"], item["item"]): item for item in old}
    for item in new:
        other = before.get((item["conversation_id"], item["item"]), {"verdicts": {}})
        for number, verdict in item["verdicts"].items():
            if number in other["verdicts"]:
                yield {**{field: item[field] for field in ("conversation_id", "item", "class", "tags")},
                       "compaction": int(number), "candidate": verdict, "incumbent": other["verdicts"][number],
                       "candidate_line": item["lines"].get(number), "incumbent_line": other["lines"].get(number)}


def discordant(pairs):
    """Pairs retained on one side only, with McNemar's exact test; pairs with an unknown verdict are counted apart.
    Decisions on one item at several compactions are not independent: p is a guide for reading and decides nothing."""
    both = [(pair["candidate"], pair["incumbent"]) for pair in pairs]
    known = [[verdict in RETAINED for verdict in pair] for pair in both if not set(pair) & set(UNKNOWN)]
    lost, gained = known.count([False, True]), known.count([True, False])
    return {"pairs": len(pairs), "unknown_pairs": len(pairs) - len(known), "lost": lost, "gained": gained,
            "p": mcnemar(lost, gained)}


def changed(pairs):
    """The pairs whose verdict differs, one for an item, the most harmful first: to contradicted, then to absent, to
    unknown, to kept; of these from the best state first."""
    def harm(pair):
        new, old = HARM[pair["candidate"]], HARM[pair["incumbent"]]
        return new, -old, pair["compaction"], pair["conversation_id"], pair["item"]

    worst = {}
    for pair in sorted((pair for pair in pairs if pair["candidate"] != pair["incumbent"]), key=harm):
        worst.setdefault((pair["conversation_id"], pair["item"]), pair)
    return list(worst.values())
