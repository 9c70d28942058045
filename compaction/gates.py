"""The rows of the report, each with its gate, and whether they are met.

Does not check items (items.py) or compare two compactors (comparison.py).

row    {"row", "name", "decisions", "unknown", ..., "gate", "state"}; unknown: decisions unjudged or opaque
state  met       the low end (every unknown decision lost, or a contradiction) meets the gate
       missed    the high end (every unknown decision kept) misses it
       undecided between the two; also a row without decisions, which shows nothing
       no gate   reported only
"""

import math

from base.stats import percentile, wilson

from base.command import InputError, read_json
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import RETAINED, UNKNOWN

GATES = {
    "constraint": 0.95,
    "open_question": 0.90,
    "commitment": 0.95,
    "reference": 0.98,
    "contradictions": 0,
    "prompt_tokens": "budget",
}  # "budget": the available input of the run
NAMES = {
    "constraint": "constraints retained",
    "open_question": "open questions retained",
    "commitment": "commitments retained",
    "reference": "references retained",
    "contradictions": "contradictions",
    "prompt_tokens": "prompt tokens after compaction",
}


def read_gates(path):
    """The default gates with those of a JSON file in their place; null takes a gate away."""
    given = read_json(path)
    if not isinstance(given, dict):
        raise InputError(f'{path}: is no JSON object; give gates such as {{"constraint": 0.9}}')
    for name, gate in given.items():
        if name not in GATES:
            raise InputError(f"{path}: no row is named {name!r}; use {', '.join(GATES)}")
        number = isinstance(gate, (int, float)) and not isinstance(gate, bool)
        fits = (number and 0 <= gate <= 1
                if name in CLASSES
                else gate == "budget" or isinstance(gate, int) and number and gate >= 0
                if name == "prompt_tokens"
                else number and isinstance(gate, int) and gate >= 0)
        if gate is not None and not fits:
            raise InputError(f"{path}: gate {name!r} is {gate!r}; give a share from 0 to 1 for a class, a whole number "
                             'for contradictions, tokens or "budget" for prompt_tokens, or null for none')
    return GATES | given


def build_rows(decisions, contexts, limit, gates=GATES):
    """The report's rows from decisions ({"class", "verdict", "by"}) and contexts ({"tokens"}); `limit`: tokens."""
    rows = []
    for name in filter(CLASSES.__contains__, GATES):
        of_class = [one for one in decisions if one["class"] == name]
        kept = sum(one["verdict"] in RETAINED for one in of_class)
        judged = sum(one["by"] == "judge" for one in of_class)
        rows.append(retained_row(name, kept, len(of_class), unknown(of_class), gates[name], judged))
    count = sum(one["verdict"] == "contradicted" for one in decisions)
    judged = sum(one["by"] == "judge" for one in decisions)
    rows.append(contradictions_row(count, len(decisions), unknown(decisions), gates["contradictions"], judged))
    tokens = [one["tokens"] for one in contexts if one["tokens"] is not None]
    gate = limit if gates["prompt_tokens"] == "budget" else gates["prompt_tokens"]
    median, p95 = (percentile(tokens, 0.5), percentile(tokens, 0.95)) if tokens else (None, None)
    unreadable = len(contexts) - len(tokens)
    most = percentile([*tokens, *[math.inf] * unreadable], 0.95) if tokens else None
    return [*rows, tokens_row(median, p95, len(tokens), gate, unreadable, most)]


def unknown(decisions):
    """How many decisions are neither a pass nor a fail."""
    return sum(one["verdict"] in UNKNOWN for one in decisions)


def retained_row(name, kept, decisions, unknown=0, gate=None, judged=0):
    """A class's row: its share is a range while decisions are unknown; the Wilson interval spans both ends."""
    low, high = (kept / decisions, (kept + unknown) / decisions) if decisions else (None, None)
    interval = [wilson(kept, decisions)[0], wilson(kept + unknown, decisions)[1]] if decisions else None
    return {"row": name, "name": NAMES[name], "kept": kept, "decisions": decisions, "unknown": unknown,
            "judged": judged, "low": low, "high": high, "wilson": interval, "gate": gate,
            "state": state(low, high, gate)}


def contradictions_row(count, decisions, unknown=0, gate=None, judged=0):
    """The row of contradictions, a count: every unknown decision could be one more."""
    low, high = (-(count + unknown), -count) if decisions else (None, None)  # fewer is better
    return {"row": "contradictions", "name": NAMES["contradictions"], "count": count, "decisions": decisions,
            "unknown": unknown, "judged": judged, "gate": gate,
            "state": state(low, high, None if gate is None else -gate)}


def tokens_row(median, p95, contexts, gate=None, unreadable=0, most=None):
    """The row of prompt size: tokens of the request after each compaction; its gate is for the 95th percentile.

    p95  of the contexts whose size is known; with unreadable ones, `most` is the percentile if those were endless.
    """
    worst = p95 if most is None and not unreadable else most
    low, high = (-worst if worst is not None else -math.inf, -p95) if p95 is not None else (None, None)
    return {"row": "prompt_tokens", "name": NAMES["prompt_tokens"], "median": median, "p95": p95, "contexts": contexts,
            "unknown": unreadable, "gate": gate, "state": state(low, high, None if gate is None else -gate)}


def state(low, high, gate):
    """Whether a range of values from `low` to `high` (more is better) meets a gate; None: nothing was decided."""
    if gate is None:
        return "no gate"
    if low is None:
        return "undecided"
    return "met" if low >= gate else "missed" if high < gate else "undecided"


def compliant(rows):
    """True when every gate is met, False when one is missed, None when it depends on what is not known."""
    states = {row["state"] for row in rows}
    return False if "missed" in states else None if "undecided" in states else True
