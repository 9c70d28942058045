"""Say where a JSON value differs from the shape that a script needs, before the script relies on it.

shape   a type (a bool is no int), a tuple of shapes of which one has to fit,
        [shape] for a list of such values, {"field": shape, "field?": shape} for an object with such fields and any
        others, Only({...}) for one without others, Each(shape) for an object with any names, a function value -> bool
        for anything else; no text in it may hold half of a surrogate pair
Knows only what the readers use; the commands that write results say what their fields mean.
"""


class Only:
    """An object with such fields and no others."""

    def __init__(self, shape):
        self.shape = shape


class Each:
    """An object whose every value has a shape, at least `least` of them; `name` tells which names it may have."""

    def __init__(self, shape, least=0, name=None):
        self.shape, self.least, self.name = shape, least, name


def misfit(value, shape, place="it"):
    """Where the value does not fit the shape, as text with what is there; None where it fits."""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (isinstance(value, bool) and shape not in (bool, object))
        if fits and half_pair(value):
            return f"{place} holds half of a surrogate pair, {half_pair(value)!r}"
    elif isinstance(shape, tuple):
        fits = any(misfit(value, one) is None for one in shape)
    elif isinstance(shape, list) and isinstance(value, list):
        return first(misfit(one, shape[0], f"{place}[{number}]") for number, one in enumerate(value))
    elif isinstance(shape, Each) and isinstance(value, dict):
        if len(value) < shape.least:
            return f"{place} is empty"
        if shape.name and (wrong := [key for key in value if not shape.name(key)]):
            return f"{place} has the name {wrong[0]!r:.40}"
        return first(misfit(one, shape.shape, f"{place}.{key}") for key, one in value.items())
    elif isinstance(shape, Only) and isinstance(value, dict):
        known = [key.rstrip("?") for key in shape.shape]
        extra = [key for key in value if key not in known]
        if extra:
            return f"{place} has an unknown field {extra[0]!r:.40}; the fields are {', '.join(known)}"
        return misfit(value, shape.shape, place)
    elif isinstance(shape, dict) and isinstance(value, dict):
        needed = [key for key in shape if not key.endswith("?") and key not in value]
        if needed:
            return f"{place} has no field {needed[0]!r}"
        known = {key.rstrip("?"): one for key, one in shape.items()}
        return first(misfit(value[key], one, f"{place}.{key}") for key, one in known.items() if key in value)
    else:
        fits = callable(shape) and shape(value)
    return None if fits else f"{place} is {value!r:.60}{expected(shape)}"


def expected(shape):
    """What a value should have been, as the end of a sentence; nothing where the shape has no plain name."""
    kind = shape if isinstance(shape, type) else dict if isinstance(shape, (Each, Only)) else type(shape)
    return f", not {NAMES[kind]}" if kind in NAMES else ""


def texts_in(value):
    """All texts in a JSON value, keys of objects included. Not by recursion: a file may nest deep."""
    texts, level = [], [value]
    while level:
        texts += [part for part in level if isinstance(part, str)]
        lists = [part if isinstance(part, list) else [*part, *part.values()]
                 for part in level
                 if isinstance(part, (list, dict))]
        level = [inner for parts in lists for inner in parts]
    return texts


def half_pair(value):
    """The end of a text inside a JSON value that UTF-8 cannot hold, or None."""
    for text in texts_in(value):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return text[max(0, error.start - 10) : error.start + 1]
    return None


def is_said(value):
    """Whether a value is a text that is not blank."""
    return misfit(value, str) is None and value.strip() != ""


def first(problems):
    """The first problem that is one, or None."""
    return next((problem for problem in problems if problem), None)


NONE = type(None)
NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}
NUMBER = (int, float)
FACT = (str, {"turn": str, "text": str})
GRADED = {
    "case": str, "split": str, "kind": str, "turns": [int], "notes": int, "input_tokens": int, "within_budget": bool,
    "required_found": int, "required_total": int, "missing": [FACT], "stale_included": [FACT],
}  # fmt: skip
UNGRADED = {"case": str, "split": str, "kind": str, "error": str}
FIGURES = {
    "cases": int, "facts_found": int, "facts_total": int, "fact_recall": NUMBER, "complete_cases": int,
    "cases_with_stale_facts": int, "over_budget": int, "mean_input_tokens": NUMBER, "errors?": int,
}  # fmt: skip
NO_FIGURES = {"cases": lambda cases: cases == 0, "errors": int}


def is_interval(value):
    """Whether a value is an interval: two numbers, or none where there was nothing to count."""
    return value is None or misfit(value, [NUMBER]) is None and len(value) == 2


def is_row(row):
    """Whether a value is a row of an evaluation whose figures agree with each other, or one without a grade."""
    if misfit(row, UNGRADED) is None:
        return "required_found" not in row
    return misfit(row, GRADED) is None and row["required_found"] == row["required_total"] - len(row["missing"]) >= 0


LEVEL = {
    "summary": Each(Each((FIGURES, NO_FIGURES))),
    "cases": Each(lambda rows: isinstance(rows, list) and rows != [] and all(map(is_row, rows)), least=1),
}
EVALUATION = {
    "case_set": str, "case_set_sha256": str, "tokenizer_manifest_sha256": str, "grader": str, "counter": Each(object),
}  # fmt: skip
SWEEP = {
    **EVALUATION,
    "budgets": Each(LEVEL, least=1, name=lambda key: key.isascii() and key.isdecimal() and int(key) > 0),
}
SINGLE = {**EVALUATION, **LEVEL}

CHANGE = {"strategy": str, "case": str, "change": str, "fact?": str, "budget?": str, "why?": str}
PAIRED = {
    "total": int, "found_recorded": int, "found_fresh": int, "gained": int, "lost": int, "mcnemar_p": NUMBER,
    "interval_recorded": is_interval, "interval_fresh": is_interval,
}  # fmt: skip
STALE_CASES = {"alone": [str], "replaced": [str]}
COMPARISON = {
    "decision": str, "blocking": [CHANGE], "allowed": [CHANGE], "allowed_unused?": [CHANGE],
    "recorded": Each(object), "fresh": Each(object),
    "smallest_difference": {"discordant_pairs": int, "mcnemar_p": NUMBER, "cases": int, "within_reach": bool},
    "results": [{"strategy": str, "budget?": str, "not_graded?": [str],
                 **dict.fromkeys(("lost", "stale", "gained", "stale gone"), [{"case": str, "fact": str}]),
                 "over budget": [{"case": str}], "stale_cases?": {"recorded": STALE_CASES, "fresh": STALE_CASES},
                 "paired": {"cases": PAIRED, "facts": PAIRED}}],
}  # fmt: skip

NUMBERED = dict(name=lambda key: key.isascii() and key.isdecimal() and key[0] != "0")  # by compaction
VERDICTS = ("verbatim", "supported", "absent", "contradicted", "unjudged", "opaque")
CHECKED = {
    "conversation_id": str, "item": str, "class": str, "tags": [str], "turn": int, "literal": str, "probe": str,
    "verdicts": Each(lambda verdict: verdict in VERDICTS, **NUMBERED), "lines": Each(str, **NUMBERED),
    "keys": Each(str, **NUMBERED),
}  # fmt: skip
SHARE = (int, float, NONE)
ROW = {
    "row": str,
    "name": str,
    "value": (int, NONE),
    "of": int,
    "unknown": int,
    "judged": int,
    "worst": SHARE,
    "best": SHARE,
    "wilson?": is_interval,
    "median?": SHARE,
    "gate": SHARE,
    "state": str,
    "judge?": str,
}
CONTEXT = {
    "conversation_id": str,
    "compaction": int,
    "turn": int,
    "tokens": (int, NONE),
    "inside": bool,
    "opaque": bool,
    "failed": bool,
}
COMPACTED = {
    "compactor": {"name": str}, "fixtures": {"sha256": str, "conversations": int, "items": int}, "budget": Each(int),
    "available_input": int, "keep_share": SHARE, "gates": Each((int, float, str, NONE)), "counter": Each(object),
    "judge": ({"identity": object, "card": object}, NONE), "left_out": Each(int), "compliant": (bool, NONE),
    "failed": [dict],
    "rows": [ROW], "difficulties": [{"tag": str, "kept": int, "decisions": int, "contradicted": int}],
    "uncovered": [str], "never_checked": [str], "opaque_contexts": int, "missing_verdicts": Each(int),
    "contexts": [CONTEXT], "items": [CHECKED],
}  # fmt: skip
CHANGED = {"item": str, "class": str, "compaction": int, "candidate": str, "incumbent": str}
COMPACTION = {
    "candidate": COMPACTED, "incumbent?": COMPACTED, "task_success": (dict, NONE), "code?": Each(str),
    "comparison?": {"decision": str, "changed": [CHANGED], "rows": [{"row": str, "change": str}],
                    "missing_verdicts": Each(int)},
}  # fmt: skip

IS_BUDGET = dict(least=1, name=lambda key: key.isascii() and key.isdecimal() and int(key) > 0)
SURVEY = {
    "log": str, "counter": Each(object), "least": int, "block": int, "conversations": int, "user_turns": int,
    "left_out": Each(int), "budgets": Each({
        "fit_whole": int, "never_fit": int, "rules": Each({
            "requests": int, "failed": int, "turns": int, "turns_sent": int, "tokens": int, "cached_tokens": int})},
        **IS_BUDGET),
}  # fmt: skip
REPEATED = {"repeats": int, "calls": int, "share": (*NUMBER, NONE)}
SIGNALS = {
    "log": Each(int), "user_messages": Each(int), "repeats": {
        "window_user_turns": int, "hits": int, "kinds": Each(int), "after": REPEATED, "control": REPEATED,
        "sessions": {"up": int, "down": int, "equal": int}, "sign_test_p": NUMBER},
    "sample": {"conversations": [{
        "conversation_id": str, "strength": NUMBER, "restatements": [{"turn": int, "said?": str}],
        "hits": [{"turn": int, "kind": str, "name": str, "arguments": str}]}]},
}  # fmt: skip
PAIRS = {"pairs": int, "lost": int, "gained": int, "unknown": int, "p": NUMBER}
REPLAY = {
    "compactor": {"name": str}, "judge": ({"identity": object}, NONE), "fixtures": Each(object), "budget": Each(int),
    "counter": Each(object),
    "rows": [{"conversation_id": str, "outcome": str, "reference": str, "failed": bool, "calls_differ": bool,
              "pairs": Each(str)}],
    "summary": {"references": {"run": int, "accepted_trace": int}, "conversations": PAIRS, "items": PAIRS,
                "failed": int, "calls_differ": int, "to_read": [
                    {"conversation_id": str, "outcome": str, "lost": [str], "gained": [str]}]},
}  # fmt: skip
