"""Check every item after every compaction and add the verdicts up into rows, each held against its gate.

item     {"conversation_id", "item", "class", "tags", "turn", "literal", "probe", "verdicts", "lines", "keys"}
         the last three by compaction, its number as text: verdicts {"1": "verbatim", "2": "absent"}, lines of the
         context, and what a recorded verdict is found by. An item without verdicts was never checked.
row      {"row", "name", "value", "of", "unknown", "judged", "worst", "best", "gate", "state"}
         value         decisions retained of a class, contradictions, or the 95th percentile of the prompt sizes known
         of            decisions, or contexts whose size is known; unknown: of them not decided (contexts: besides them)
         worst, best   what the gate is held against (a share of a class) if all that is unknown went against, or for,
                       the compactor; None where nothing was decided, or where the worst has no bound
         and "wilson" of a class, [low, high] over both ends; "median" of the prompt sizes; "judge" where one decided
state    met: the worst meets the gate; missed: the best misses it; else undecided; no gate: reported only
"""

import math
from collections import Counter

from base.command import InputError, read_json
from base.shapes import Only, misfit
from base.stats import percentile, wilson
from compaction.fixtures.form import CLASSES, TAGS
from compaction.fixtures.items import JUDGED, RETAINED, UNKNOWN, check, find_all, rendered_texts

GATES = {"constraint": 0.95, "open_question": 0.90, "commitment": 0.95, "reference": 0.98, "contradictions": 0,
         "prompt_tokens": "budget"}  # "budget": the available input of the run  # fmt: skip
NAMES = {name: f"{name}s retained".replace("_", " ") for name in CLASSES} | {
    "contradictions": "contradictions", "prompt_tokens": "prompt tokens after compaction"}  # fmt: skip
SHARE = (lambda gate: not misfit(gate, (int, float)) and 0 <= gate <= 1, type(None))
COUNT = (lambda gate: not misfit(gate, int) and gate >= 0, type(None))
GIVEN = Only({**{f"{name}?": SHARE for name in CLASSES}, "contradictions?": COUNT,
              "prompt_tokens?": (*COUNT, lambda gate: gate == "budget")})  # fmt: skip


def read_gates(path):
    """The default gates with those of a JSON file in their place; null takes a gate away."""
    given = read_json(path)
    if problem := misfit(given, GIVEN, "the gates"):
        raise InputError(f"{path}: {problem}; give a share from 0 to 1 for a class, a whole number for contradictions, "
                         'tokens or "budget" for prompt_tokens, or null for none')
    return GATES | given


def decide_items(fixtures, contexts, extractive, judge=None, counter=None):
    """Every item of the fixtures with its verdict at each context that it was stated before. The counter renders what a
    model reads of a context; without one, the texts of its messages are that."""
    by_id = {fixture["conversation_id"]: fixture for fixture in fixtures}
    items = {(name, item["id"]): {
        "conversation_id": name, "item": item["id"], "class": item["class"], "tags": item.get("tags", []),
        **{field: item[field] for field in ("turn", "literal", "probe")}, "verdicts": {}, "lines": {}, "keys": {}}
        for name, fixture in by_id.items() for item in fixture["must_survive"]}  # fmt: skip
    for context in contexts:
        name, number = context["conversation_id"], str(context["compaction"])
        if counter and not (context["inside"] or context["opaque"] or context["failed"]):
            context = context | {"texts": rendered_texts(context["messages"], counter)}  # others were no whole request
        for item in by_id[name]["must_survive"]:
            if stated(item, by_id[name]["history"], context):
                for part, value in check(item, by_id[name]["history"], context, extractive, judge).items():
                    if value is not None:
                        items[name, item["id"]][part + "s"][number] = value
    return list(items.values())


def stated(item, history, context):
    """Whether an item was surely stated before a context. One made inside a turn comes after its user's words."""
    if item["turn"] == context["turn"] - 1 and context["inside"]:
        return bool(find_all(item["literal"], history[item["turn"] - 1]["user"]))
    return item["turn"] < context["turn"]


def summarize(items, contexts, limit, gates=GATES, judge=None):
    """The part of a result that follows from its items and contexts. limit: the available input, in tokens; judge: what
    stands beside a judged row, how good its judge is"""
    covered = {context["conversation_id"] for context in contexts}
    uncovered = sorted({item["conversation_id"] for item in items} - covered)
    fields = ("conversation_id", "compaction", "tokens")
    failed = [{field: context[field] for field in fields} for context in contexts if context["failed"]]
    rows = []
    for name in list(GATES)[:-1]:
        made = decisions(items, name)
        judged = sum(bool(key) and verdict in JUDGED for verdict, key in made)
        row = verdict_row(name, Counter(verdict for verdict, _ in made), gates[name], judged)
        rows.append(row | ({"judge": judge} if judged else {}))
    gate = limit if gates["prompt_tokens"] == "budget" else gates["prompt_tokens"]
    rows.append(tokens_row([context["tokens"] for context in contexts], gate))
    met = compliant(rows)
    return {"compliant": False if failed else None if met and uncovered else met, "failed": failed, "rows": rows,
            "difficulties": [difficulty(tag, items) for tag in TAGS], "uncovered": uncovered,
            "never_checked": [
                item["item"] for item in items if not item["verdicts"] and item["conversation_id"] in covered],
            "opaque_contexts": sum(context["opaque"] for context in contexts),
            "missing_verdicts": missing_verdicts(items)}


def decisions(items, name="contradictions"):
    """[(verdict, key, or None where no judge was needed), ...] of the row of that name; contradictions are of all."""
    of_row = [item for item in items if name in (item["class"], "contradictions")]
    return [(verdict, item["keys"].get(number)) for item in of_row for number, verdict in item["verdicts"].items()]


def verdicts(items):
    """All verdicts of these items, one for each decision."""
    return [verdict for verdict, _ in decisions(items)]


def verdict_row(name, counts, gate=None, judged=0):
    """The row of a class, or of contradictions, from a Counter of verdicts.

    verdict_row("reference", Counter(verbatim=58, absent=2, unjudged=1)) -> value 58 of 61, worst 58/61, best 59/61
    """
    of, unknown = counts.total(), sum(counts[verdict] for verdict in UNKNOWN)
    if name == "contradictions":  # every unknown decision could be one more
        value = counts["contradicted"]
        return new_row(name, value, of, unknown, judged, (value + unknown, value) if of else (None, None), gate)
    value = sum(counts[verdict] for verdict in RETAINED)
    ends = (value / of, (value + unknown) / of) if of else (None, None)
    interval = [wilson(value, of)[0], wilson(value + unknown, of)[1]] if of else None
    return new_row(name, value, of, unknown, judged, ends, gate, wilson=interval)


def tokens_row(tokens, gate=None):
    """The row of prompt sizes, None for one that is not known; its gate is for the 95th percentile, bounded by those
    with each unknown size taken as 0 and as infinite."""
    known = [size for size in tokens if size is not None]
    unknown = len(tokens) - len(known)
    if not known:
        return new_row("prompt_tokens", None, 0, unknown, 0, (None, None), gate, median=None)
    worst, best = (percentile([*known, *[end] * unknown], 0.95) for end in (math.inf, 0))
    ends = (None if worst == math.inf else worst, best)
    median, value = (percentile(known, share) for share in (0.5, 0.95))
    return new_row("prompt_tokens", value, len(known), unknown, 0, ends, gate, median=median)


def new_row(name, value, of, unknown, judged, ends, gate, **more):
    """A row with the state of its gate; ends: (worst, best)."""
    worst, best = ends
    sign = 1 if name in CLASSES else -1  # of classes more is better, of the others less
    if gate is None:
        state = "no gate"
    elif worst is not None and sign * worst >= sign * gate:
        state = "met"
    else:
        state = "missed" if best is not None and sign * best < sign * gate else "undecided"
    return {"row": name, "name": NAMES[name], "value": value, "of": of, "unknown": unknown, "judged": judged,
            "worst": worst, "best": best, **more, "gate": gate, "state": state}


def compliant(rows):
    """True: every gate is met; False: one is missed; else None: compliant([{"state": "no gate"}]) -> None."""
    states = {row["state"] for row in rows} - {"no gate"}
    return False if "missed" in states else None if "undecided" in states or not states else True


def difficulty(tag, items):
    """How the items of one difficulty fared; no gate, since a set has few of each."""
    counts = Counter(verdicts([item for item in items if tag in item["tags"]]))
    return {"tag": tag, "kept": sum(counts[verdict] for verdict in RETAINED), "decisions": counts.total(),
            "unknown": sum(counts[verdict] for verdict in UNKNOWN), "contradicted": counts["contradicted"]}


def lost_at(item):
    """The compaction that lost an item, or None: lost_at({"verdicts": {"1": "verbatim", "2": "absent"}}) -> 2."""
    return min((int(number) for number, verdict in item["verdicts"].items() if verdict in ("absent", "contradicted")),
               default=None)


def missing_verdicts(items):
    """Verdicts that are not there: distinct questions for a judge, and decisions in contexts that cannot be read."""
    return {"unjudged": len({key for verdict, key in decisions(items) if verdict == "unjudged"}),
            "opaque": verdicts(items).count("opaque")}
