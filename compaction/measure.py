"""Check every item after every compaction and add the decisions up into one result.

Does not make contexts (growth.py, contexts.py), read files or compare results (comparison.py).

result  {"compactor", "budget", "keep_share", "gates", "counter", "fixtures", "judge", "compliant", "rows",
         "difficulties", "compactions", "uncovered", "left_out", "opaque", "never_checked", "lost",
         "missing_verdicts", "decisions"}
decision  {"conversation_id", "item", "class", "tags", "compaction", "verdict", "by", "line", "key"}
"""

from collections import Counter

from strategies import available

from compaction.comparison import missing
from compaction.fixtures.form import TAGS
from compaction.fixtures.items import RETAINED, check
from compaction.fixtures.literals import stands
from compaction.gates import GATES, build_rows, compliant, unknown


def decide_items(fixtures, contexts, extractive, judge=None):
    """A decision for each item that was stated before each context; contexts in their order, items in the fixture's."""
    by_id = {fixture["conversation_id"]: fixture for fixture in fixtures}
    found = []
    for context in contexts:
        fixture = by_id[context["conversation_id"]]
        for item in fixture["must_survive"]:
            if stated(item, fixture, context):
                found.append({"conversation_id": fixture["conversation_id"], "item": item["id"], "class": item["class"],
                              "tags": item.get("tags", []), "compaction": context["compaction"],
                              **check(item, fixture["history"], context, extractive, judge)})
    return found


def stated(item, fixture, context):
    """Whether an item was surely stated before a context. One made inside a turn comes after its user's words."""
    if item["turn"] == context["turn"] - 1 and context.get("inside"):
        return bool(stands(item["literal"], fixture["history"][item["turn"] - 1]["user"]))
    return item["turn"] < context["turn"]


def summarize(fixtures, contexts, decisions, budget, gates=GATES):
    """The part of a result that follows from its decisions."""
    rows = build_rows(decisions, contexts, available({"budget": budget}), gates)
    made = Counter(one["conversation_id"] for one in contexts)
    uncovered = [fixture["conversation_id"] for fixture in fixtures if not made[fixture["conversation_id"]]]
    met, checked = compliant(rows), {one["item"] for one in decisions}
    return {
        "compliant": None if met and uncovered else met,
        "rows": rows,
        "difficulties": [difficulty(tag, decisions) for tag in TAGS],
        "compactions": {fixture["conversation_id"]: made[fixture["conversation_id"]] for fixture in fixtures},
        "uncovered": uncovered,  # conversations without a context: nothing is known of their items
        "opaque": {"contexts": sum(bool(one.get("opaque")) for one in contexts),
                   "decisions": sum(one["verdict"] == "opaque" for one in decisions)},
        "never_checked": [
            item["id"]
            for fixture in fixtures
            for item in fixture["must_survive"]
            if fixture["conversation_id"] not in uncovered and item["id"] not in checked
        ],  # stated after the last compaction
        "lost": lost(decisions),
        "missing_verdicts": missing(decisions),
        "decisions": decisions,
    }


def difficulty(tag, decisions):
    """How the items of one difficulty fared; no gate, since a set has few of each."""
    tagged = [one for one in decisions if tag in one["tags"]]
    return {"tag": tag, "kept": sum(one["verdict"] in RETAINED for one in tagged), "decisions": len(tagged),
            "unknown": unknown(tagged), "contradicted": sum(one["verdict"] == "contradicted" for one in tagged)}


def lost(decisions):
    """Items that one compaction lost: {"conversation_id", "item", "class", "tags", "lost_at", "verdicts"}, worst last
    verdict first; verdicts are one for each compaction that the item was checked at, from the number `first` on."""
    trails = {}
    for one in decisions:
        trails.setdefault((one["conversation_id"], one["item"]), []).append(one)
    found = []
    for trail in trails.values():
        gone = [one for one in trail if one["verdict"] in ("absent", "contradicted")]
        if gone:
            found.append({key: gone[0][key] for key in ("conversation_id", "item", "class", "tags")}
                         | {"lost_at": gone[0]["compaction"], "first": trail[0]["compaction"],
                            "verdicts": [one["verdict"] for one in trail]})
    return sorted(found, key=lambda one: (one["verdicts"][-1] != "contradicted", one["conversation_id"], one["item"]))
