"""Is a change safe? Two results side by side: a gated row that got worse blocks it, whatever the rest did.

Does not ask whether a compactor meets its gates (gates.py): a baseline may miss them and still be what a change is
measured against.

change  worse      with every unknown decision at its best for the candidate, it is still below the incumbent
        not worse  with every one at its worst it is not below
        undecided  what is not known could turn it
A decision that both leave unknown about the very same context counts the same on both sides.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from base.stats import mcnemar

from base.command import NotComparable
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import RETAINED, UNKNOWN

HARM = {"contradicted": 0, "absent": 1, "opaque": 2, "unjudged": 2, "supported": 3, "verbatim": 3}


def check_comparable(candidate, incumbent):
    """NotComparable, with the reason, for results of other fixtures, conversations, budgets, counters or judges."""
    for field, remedy in (("fixtures", "run both on the same fixtures"), ("budget", "run both at the same budget"),
                          ("counter", "count both with the same tokenizer"), ("gates", "use the same gates")):
        if candidate[field] != incumbent[field]:
            raise NotComparable(f"not comparable: {field} differ; {remedy}")
    shares = {one["keep_share"] for one in (candidate, incumbent)} - {None}
    if len(shares) > 1:
        raise NotComparable("not comparable: the compactors were handed different shares of the budget (keep_share); "
                            "run both with the same --keep-share")
    covered = [{one["conversation_id"] for one in side["decisions"]} for side in (candidate, incumbent)]
    if covered[0] != covered[1]:
        only = sorted(covered[0] ^ covered[1])
        raise NotComparable(
            f"not comparable: only one side has decisions on {', '.join(only)}; give both sides contexts "
            "of the same conversations")
    left_to_judge = [
        {one["by"] for one in side["decisions"] if one["by"] == "judge" or one["verdict"] == "unjudged"}
        for side in (candidate, incumbent)
    ]  # where text alone decided everything on one side, no judge could have changed it
    if all(left_to_judge) and "judge" in set.union(*left_to_judge) and identity(candidate) != identity(incumbent):
        raise NotComparable(
            f"not comparable: judged by {identity(candidate)!r} and by {identity(incumbent)!r}; use one judge for both")


def identity(result):
    """Who judged: the identity of a result's judge, or None."""
    return result["judge"] and result["judge"]["identity"]


def compare(candidate, incumbent):
    """{"decision", "rows", "changed", "unpaired", "missing_verdicts"} of two results.

    decision: "safe", "blocked" or "not decided", which it is too where a conversation has no context on either side.
    unpaired: decisions whose item has none at the compaction of the same number on the other side; rows count them.
    """
    check_comparable(candidate, incumbent)
    shared = shared_unknown(candidate["decisions"], incumbent["decisions"])
    rows = compare_rows(candidate["rows"], incumbent["rows"], shared)
    decision, partial = decide(rows), candidate["uncovered"] or incumbent["uncovered"]
    pairs = paired(candidate["decisions"], incumbent["decisions"])
    for row in rows:
        if row["row"] in CLASSES:
            row |= discordant([pair for pair in pairs if pair[0]["class"] == row["row"]])
    return {"decision": "not decided" if partial and decision == "safe" else decision, "rows": rows,
            "changed": changed(pairs),
            "unpaired": {"candidate": len(candidate["decisions"]) - len(pairs),
                         "incumbent": len(incumbent["decisions"]) - len(pairs)},
            "missing_verdicts": missing(candidate["decisions"] + incumbent["decisions"])}


def compare_rows(candidate, incumbent, shared=None):
    """Each gated row of two reports with its change; `shared`: unknown decisions that both have, by class."""
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
    if not new["decisions"] and not old["decisions"]:
        return "not worse"
    if not new["decisions"] or not old["decisions"]:
        return "undecided"
    same = min(shared.get(new["row"], 0), new["unknown"], old["unknown"])
    differences = [value(new, both + mine) - value(old, both + theirs)
                   for both, mine, theirs in product((0, same), (0, new["unknown"] - same), (0, old["unknown"] - same))]
    return "worse" if max(differences) < 0 else "not worse" if min(differences) >= 0 else "undecided"


def value(row, turned):
    """A row's value, more being better, when `turned` of its unknown decisions are kept, or are contradictions."""
    if row["row"] == "contradictions":
        return -(row["count"] + turned)
    return Fraction(row["kept"] + turned, row["decisions"])


def decide(rows):
    """The answer to "is this change safe?" from compared rows."""
    changes = {row["change"] for row in rows}
    return "blocked" if "worse" in changes else "not decided" if "undecided" in changes else "safe"


def shared_unknown(new, old):
    """How many unjudged decisions ask the very same question on both sides, by class and in all ("contradictions")."""
    found = {}
    for name in (*CLASSES, "contradictions"):
        keys = [
            Counter(
                one["key"] for one in side if one["verdict"] == "unjudged" and name in (one["class"], "contradictions"))
            for side in (new, old)]
        found[name] = (keys[0] & keys[1]).total()
    return found


def missing(decisions):
    """Verdicts that are not there: distinct questions for a judge, and decisions in contexts that cannot be read."""
    return {"unjudged": len({one["key"] for one in decisions if one["verdict"] == "unjudged"}),
            "opaque": sum(one["verdict"] == "opaque" for one in decisions)}


def paired(new, old):
    """(candidate's, incumbent's) decisions on the same item at the compaction of the same number."""

    def place(one):
        return one["conversation_id"], one["item"], one["compaction"]

    before = {place(one): one for one in old}
    return [(one, before[place(one)]) for one in new if place(one) in before]


def discordant(pairs):
    """Pairs that were kept on one side only, with the exact McNemar test; unknown ones are counted apart.

    Decisions on one item at several compactions are not independent, so p is a guide for reading and decides nothing.
    """
    known = [pair for pair in pairs if not any(one["verdict"] in UNKNOWN for one in pair)]
    kept = [[one["verdict"] in RETAINED for one in pair] for pair in known]
    lost, gained = kept.count([False, True]), kept.count([True, False])
    return {"pairs": len(pairs), "unknown_pairs": len(pairs) - len(known), "lost": lost, "gained": gained,
            "p": mcnemar(lost, gained)}


def changed(pairs):
    """Items whose verdict differs somewhere, at their most harmful difference, most harmful change first.

    -> {"conversation_id", "item", "class", "tags", "compaction", "candidate", "incumbent", "candidate_line",
    "incumbent_line"}; each side's items hold its verdicts at the other compactions.
    """
    items = {}
    for pair in pairs:
        items.setdefault((pair[0]["conversation_id"], pair[0]["item"]), []).append(pair)
    found = []
    for trail in items.values():
        different = [pair for pair in trail if pair[0]["verdict"] != pair[1]["verdict"]]
        if different:
            new, old = min(different, key=harm)
            found.append({"conversation_id": new["conversation_id"], "item": new["item"], "class": new["class"],
                          "tags": new["tags"], "compaction": new["compaction"], "candidate": new["verdict"],
                          "incumbent": old["verdict"], "candidate_line": new["line"], "incumbent_line": old["line"],
                          "order": harm((new, old))})
    found.sort(key=lambda one: (one.pop("order"), one["conversation_id"], one["item"]))
    return found


def harm(pair):
    """Sort key of a change: to contradicted first, then to absent, to unknown, to kept; from the best state first."""
    new, old = pair
    return HARM[new["verdict"]], -HARM[old["verdict"]], new["compaction"]
