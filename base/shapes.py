"""Say where a JSON value differs from the shape that a script needs, before the script relies on it.

shape   a type (a bool is no int), a tuple of shapes of which one has to fit,
        [shape] for a list of such values, {"field": shape, "field?": shape} for an object with such fields and any
        others, Only({...}) for one without others, Each(shape) for an object with any names, a function value -> bool
        for anything else; no text in it may hold a lone surrogate
What the fields of a result mean, the commands say that write it. What of a result is computed again from the rest
(summaries, rows, comparisons) needs no shape: it has to be equal.
"""


class Only(dict):
    """An object with such fields and no others."""


class Each:
    """An object whose every value has a shape, at least `least` of them; `name` tells which names it may have."""

    def __init__(self, shape, least=0, name=None):
        self.shape, self.least, self.name = shape, least, name


def misfit(value, shape, place="it"):
    """Where the value does not fit the shape, as text with what is there; None where it fits.

    misfit({"n": [1, True]}, {"n": [int]}) -> "it.n[1] is True, not a whole number"
    """
    fits, parts = True, ()  # parts: (value, shape, place) of what stands inside
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (isinstance(value, bool) and shape not in (bool, object))
        if fits and (lone := lone_surrogate(value)):
            return f"{place} holds a lone surrogate, {lone!r}"
    elif isinstance(shape, tuple):
        fits = any(misfit(value, kind) is None for kind in shape)
    elif isinstance(shape, list) and isinstance(value, list):
        parts = ((item, shape[0], f"{place}[{number}]") for number, item in enumerate(value))
    elif isinstance(shape, Each) and isinstance(value, dict):
        if len(value) < shape.least:
            return f"{place} is empty"
        if shape.name and (wrong := [key for key in value if not shape.name(key)]):
            return f"{place} has the name {wrong[0]!r:.40}"
        parts = ((item, shape.shape, f"{place}.{key}") for key, item in value.items())
    elif isinstance(shape, dict) and isinstance(value, dict):
        fields = {key.rstrip("?"): kind for key, kind in shape.items()}
        if isinstance(shape, Only) and (extra := [key for key in value if key not in fields]):
            return f"{place} has an unknown field {extra[0]!r:.40}; the fields are {', '.join(fields)}"
        if missing := [key for key in shape if not key.endswith("?") and key not in value]:
            return f"{place} has no field {missing[0]!r}"
        parts = ((value[key], kind, f"{place}.{key}") for key, kind in fields.items() if key in value)
    else:
        fits = callable(shape) and shape(value)
    if not fits:
        wanted = NAMES.get(shape if isinstance(shape, type) else type(shape))
        return f"{place} is {value!r:.60}" + (f", not {wanted}" if wanted else "")
    return next((problem for part in parts if (problem := misfit(*part))), None)


def texts_in(value, keys=True):
    """The texts in a JSON value, keys too: texts_in({"a": ["b", 1]}) -> ["a", "b"]. Not recursive: it may nest deep."""
    texts, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, list):
            stack += reversed(part)
        elif isinstance(part, dict):
            stack += reversed([*part, *part.values()] if keys else part.values())
    return texts


def lone_surrogate(value):
    """The first lone surrogate in a JSON value, and up to ten characters before it: ["ab\\ud83dc"] -> "ab\\ud83d"."""
    for text in texts_in(value):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return text[max(0, error.start - 10) : error.start + 1]
    return None


def not_blank(value):
    """Whether a value is a text that is not blank: not_blank(" ") -> False."""
    return misfit(value, str) is None and value.strip() != ""


def is_name(value):
    """Whether a value is a text that can stand on one line as it is: is_name("a\\nb") -> False."""
    return not_blank(value) and value.isprintable()


def is_count(value):
    """Whether a value is a whole number from 0 on of at most nine digits: an exact test of more would take hours."""
    return misfit(value, int) is None and 0 <= value < 10**9


NONE = type(None)
NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list",
         **dict.fromkeys((dict, Only, Each), "an object")}
NUMBER = (int, float)
SHARE = (*NUMBER, NONE)
FACT = (str, {"turn": str, "text": str})


def of_type(kind, names):
    """Fields of one shape: of_type(int, "hits kept?") -> {"hits": int, "kept?": int}."""
    return dict.fromkeys(names.split(), kind)


GRADED = {**of_type(str, "case kind"), **of_type(int, "notes input_tokens required_found"), "turns": [int],
          "split": lambda split: split in ("dev", "held_out"), "within_budget": bool, "missing": [FACT],
          "required_total": lambda total: type(total) is int and total > 0, "stale_included": [FACT]}
UNGRADED = {**of_type(str, "case kind error"), "split": GRADED["split"]}


def is_row(row):
    """Whether a value is a row of an evaluation whose figures agree with each other, or one without a grade."""
    if misfit(row, UNGRADED) is None:
        return "required_found" not in row
    return (misfit(row, GRADED) is None and "error" not in row
            and 0 <= row["required_found"] == row["required_total"] - len(row["missing"]))


LEVEL = {"summary": dict,
         "cases": Each(lambda rows: isinstance(rows, list) and rows != [] and all(map(is_row, rows)), least=1)}
EVALUATION = {**of_type(str, "case_set case_set_sha256 tokenizer_manifest_sha256 grader"), "counter": Each(object)}
BY_BUDGET = dict(least=1, name=lambda key: key.isascii() and key.isdecimal() and int(key) > 0)
SWEEP = {**EVALUATION, "budgets": Each(LEVEL, **BY_BUDGET)}
SINGLE = {**EVALUATION, **LEVEL}

ALLOWED = {**of_type(str, "strategy case change fact? budget?"), "why": not_blank}
PAIRED = of_type(is_count, "total found_recorded found_fresh gained lost")
STALE_CASES = {"alone": [str], "replaced": [str]}
COMPARISON = {
    **of_type([ALLOWED], "allowed allowed_unused"), **of_type(Each(object), "recorded fresh"),
    "results": [{"strategy": str, "budget?": str, "not_graded": [str],
                 **dict.fromkeys(("lost", "stale", "gained", "stale gone"), [Only(of_type(str, "case fact"))]),
                 "over budget": [Only(case=str)], "stale_cases": {"recorded": STALE_CASES, "fresh": STALE_CASES},
                 "paired": Only(cases=PAIRED, facts=PAIRED)}]}

NUMBERED = dict(name=lambda key: key.isascii() and key.isdecimal() and key[0] != "0")
VERDICTS = ("verbatim", "supported", "absent", "contradicted", "unjudged", "opaque")
CHECKED = {**of_type(str, "conversation_id item class literal probe"), "tags": [str], "turn": int,
           "verdicts": Each(VERDICTS.__contains__, **NUMBERED), **of_type(Each(str, **NUMBERED), "lines keys")}
CONTEXT = {"conversation_id": str, **of_type(int, "compaction turn"), "tokens": (int, NONE),
           **of_type(bool, "inside opaque failed")}
COMPACTED = {
    "compactor": {"name": str}, "fixtures": {"sha256": str}, "keep_share": SHARE, "gates": Each((*SHARE, str)),
    "counter": Each(object), "manifest_sha256": str, "judge": ({"identity": object, "card": object}, NONE),
    "budget": of_type(int, "context_limit max_new_tokens margin"), "contexts": [CONTEXT], "items": [CHECKED],
    "left_out": of_type(is_count, "unplaced unannotated")}
COMPACTION = {"candidate": COMPACTED, "incumbent?": COMPACTED, "task_success": (dict, NONE), "code?": Each(str)}

SURVEY = {
    "log": str, "counter": Each(object), **of_type(is_count, "least block conversations user_turns"),
    "left_out": Each(is_count), "budgets": Each({**of_type(is_count, "fit_whole never_fit"), "rules": Each(
        {**of_type(is_count, "requests failed"), **of_type(int, "turns turns_sent tokens cached_tokens")}, least=1)},
        **BY_BUDGET)}
TALK = {"conversation_id": str, "restatements": [{"turn": int, "near": bool, "said?": str}],
        "hits": [{"turn": int, **of_type(str, "kind name arguments")}]}
SIGNALS = {
    "log": Each(is_count), "repeats": {
        "window_user_turns": is_count, **of_type(of_type(is_count, "repeats calls"), "after control"),
        "sessions": Only(of_type(is_count, "up down equal"))},
    "sample": {"seed": int, "conversations": [TALK]}, "to_look_at": list, "flagged": [TALK]}
RUN = {"calls": list, "checks": Each((*VERDICTS, "accepted").__contains__), "probe_calls": (dict, NONE)}
REPLAY = {
    "compactor": {"name": str}, "judge": ({"identity": object}, NONE), "fixtures": {"conversations": int},
    "budget": Each(int), "counter": Each(object), "rows": [{
        "conversation_id": str, "reference": ("run", "accepted trace").__contains__, "failed": bool,
        **of_type(RUN, "reference_run compacted_run")}]}
