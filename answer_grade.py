"""Grade recorded answers: does each state the facts it should, and no replaced decision as current?

Run:  not a script; `python answer_check.py` prints what `report` gives.

The patterns of answer-keys.json were written by hand, so they are held to what ends in bounded time: no quantifier over
a part that can itself match in more than one way, no back-reference, and a bounded number of ways to match from one
place (answers are capped at MAX_GRADED_CHARS, which bounds the places).

Version 1 is the published rule and the default. Version 2 (answer_claims.py) reads numbers, negations and corrections
as a person would. Neither is a judge of a whole answer: both look for the patterns of answer-keys.json.

What is no whole answer is never graded; `incomplete_kind` names why. Needs no tokenizer; reads no file but the keys'.

keys     {case id: {"must": [compiled pattern], "stale": [compiled pattern]}}
verdict  {"grade": "pass", "fail" or "incomplete"}, and "why": "said_missing", "missing", "stale_as_current" or the
         kind of incompleteness
"""

import re
from re import _constants, _parser  # private, but the one exact reader of Python's own pattern language

import answer_claims
from command import InputError, read_json

MAX_GRADED_CHARS = 8000
WAYS_LIMIT = 4 * MAX_GRADED_CHARS  # one unbounded quantifier beside a small one, or a few small ones
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
ASSERTIONS = {_constants.ASSERT, _constants.ASSERT_NOT}
REPLACED = re.compile(
    r"\b(?:replaced|instead|not|no longer|switched|changed|actually|previous|originally|earlier)\b", re.IGNORECASE
)
SAID_MISSING = re.compile(
    r"\b(?:do not|don't|does not|doesn't) (?:have|say|mention|state|specify|contain)\b"
    r"|\bnot (?:mention|state|specif|provide|includ|contain)"
    r"|\bno information\b|\bnot enough information\b|\bmissing\b|\bnot in the conversation\b"
    r"|\bcannot (?:find|determine)\b|\bprovide (?:more |the )?(?:context|conversation)\b",
    re.IGNORECASE,
)
THINKING = re.compile(r"<\|?channel\|?>|</?think(?:ing)?>", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
COUNTS = ("pass", "fail", "incomplete", "said_missing", "stale_as_current", "cases_passed_every_trial")


def read_keys(path):
    """The keys in a file, patterns compiled, or InputError naming the case and pattern that cannot be used."""
    data = read_json(path)
    cases = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(cases, dict) or not cases:
        raise InputError(f"{path}: no keys; it needs an object 'cases' from case id to must and stale patterns")
    keys = {}
    for case, key in cases.items():
        if not isinstance(key, dict) or set(key) != {"must", "stale"}:
            raise InputError(f"{path}: case {case!r}: a key has exactly the lists must and stale; correct it")
        if not isinstance(key["must"], list) or not isinstance(key["stale"], list) or not key["must"]:
            raise InputError(f"{path}: case {case!r}: must needs at least one pattern and stale is a list; correct it")
        keys[case] = {kind: [compile_pattern(p, f"{path}: case {case!r}") for p in key[kind]] for kind in key}
    return keys


def compile_pattern(pattern, where):
    """The pattern, compiled without regard to case, or InputError for one that is broken, empty or too costly."""
    if not isinstance(pattern, str):
        raise InputError(f"{where}: pattern {pattern!r} is no text; correct it")
    try:
        ways = ways_to_match(_parser.parse(pattern, re.IGNORECASE))
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{where}: pattern {pattern!r} is no regular expression: {error}; correct it") from None
    except ValueError as error:
        raise InputError(f"{where}: pattern {pattern!r} is refused: {error}; write it more plainly") from None
    if ways > WAYS_LIMIT:
        raise InputError(
            f"{where}: pattern {pattern!r} is refused: it could match in too many ways from one place to"
            " end in time; use at most one unbounded quantifier"
        )
    if compiled.search(""):
        raise InputError(f"{where}: pattern {pattern!r} matches the empty text, so every answer; correct it")
    return compiled


def ways_to_match(parsed):
    """An upper bound on the ways a parsed pattern can match from one place; ValueError for what has no bound."""
    ways = 1
    for kind, value in parsed:
        if kind in REPEATS:
            low, high, body = value
            inner = ways_to_match(body)
            if inner > 1 and high > 1:
                raise ValueError("a quantifier stands over a part that can itself match in several ways")
            ways *= inner + min(int(high), MAX_GRADED_CHARS) - low
        elif kind == _constants.BRANCH:
            ways *= sum(ways_to_match(branch) for branch in value[1])
        elif kind == _constants.SUBPATTERN:
            ways *= ways_to_match(value[3])
        elif kind == _constants.ATOMIC_GROUP:
            ways *= ways_to_match(value)
        elif kind in ASSERTIONS:
            ways *= ways_to_match(value[1])
        elif kind in (_constants.GROUPREF, _constants.GROUPREF_EXISTS):
            raise ValueError("it refers back to a group")
    return ways


def check_covered(recording, keys, where):
    """Nothing, or InputError unless the keys are for exactly the cases that were recorded."""
    recorded = {case for cases in recording["answers"].values() for case in cases}
    for case in sorted(recorded ^ set(keys)):
        missing = "no key" if case in recorded else "a key but no recorded answer"
        raise InputError(f"{where}: case {case!r} has {missing}; grade a recording with the keys of its own cases")


def sentences(text):
    """The sentences of an answer: cut after . ! or ? and white space."""
    return SENTENCE_END.split(text.strip())


def incomplete_kind(entry):
    """Why an entry is no whole answer, or None: a name that the report counts it under."""
    if "incomplete" in entry:
        return entry["incomplete"]
    if entry.get("thinking") or THINKING.search(entry["answer"]):
        return "thinking"
    if not entry["answer"].strip():
        return "empty_text"
    if entry["done_reason"] != "stop":
        return "cut_by_length" if entry["done_reason"] == "length" else "unknown_end"
    if len(entry["answer"]) > MAX_GRADED_CHARS:
        return "too_long"
    return None


def states_stale_as_current(text, key):
    """Version 1: a stale pattern in a sentence that neither speaks of a replacement nor holds a must pattern."""
    return any(
        any(pattern.search(sentence) for pattern in key["stale"])
        and not REPLACED.search(sentence)
        and not any(pattern.search(sentence) for pattern in key["must"])
        for sentence in sentences(text)
    )


def facts_given(text, key):
    """Version 1: for each must pattern in turn, whether it matches anywhere in the answer."""
    return [bool(pattern.search(text)) for pattern in key["must"]]


def says_missing(text):
    """Version 1: the answer says that it lacks the information, or asks for it."""
    return bool(SAID_MISSING.search(text))


GRADERS = {
    1: (facts_given, states_stale_as_current, says_missing),
    2: (answer_claims.facts_given, answer_claims.states_stale_as_current, answer_claims.says_missing),
}


def grade(entry, key, version=1):
    """The verdict on one entry under one key, by the published order: incomplete, stale, missing, pass."""
    given, stale, missing = GRADERS[version]
    kind = incomplete_kind(entry)
    if kind:
        return {"grade": "incomplete", "why": kind}
    if stale(entry["answer"], key):
        return {"grade": "fail", "why": "stale_as_current"}
    if not all(given(entry["answer"], key)):
        return {"grade": "fail", "why": "said_missing" if missing(entry["answer"]) else "missing"}
    return {"grade": "pass"}


def verdicts(recording, keys, version=1):
    """{strategy: {case: [verdict]}} for a whole recording, entries in their recorded order."""
    return {
        strategy: {case: [grade(entry, keys[case], version) for entry in entries] for case, entries in cases.items()}
        for strategy, cases in recording["answers"].items()
    }


def summarize(cases):
    """The counts of one strategy's verdicts; kinds of incompleteness stand beside them where there are any."""
    every = [verdict for found in cases.values() for verdict in found]
    counts = {
        "pass": sum(v["grade"] == "pass" for v in every),
        "fail": sum(v["grade"] == "fail" for v in every),
        "incomplete": sum(v["grade"] == "incomplete" for v in every),
        "said_missing": sum(v.get("why") == "said_missing" for v in every),
        "stale_as_current": sum(v.get("why") == "stale_as_current" for v in every),
        "cases_passed_every_trial": sum(all(v["grade"] == "pass" for v in found) for found in cases.values()),
    }
    kinds = sorted({v["why"] for v in every if v["grade"] == "incomplete"})
    if kinds:
        counts["incomplete_kinds"] = {kind: sum(v.get("why") == kind for v in every) for kind in kinds}
    return counts


def report(recording, keys, version=1):
    """The published report: a summary for each strategy, and every grade. Another grader than version 1 is named."""
    found = verdicts(recording, keys, version)
    named = {} if version == 1 else {"grader": version}
    return {
        **named,
        "summary": {strategy: summarize(cases) for strategy, cases in found.items()},
        "graded": {
            strategy: {case: [verdict["grade"] for verdict in row] for case, row in cases.items()}
            for strategy, cases in found.items()
        },
    }


def table(summary):
    """The summary as lines of text for a person, each kind of incompleteness on a line of its own."""
    lines = [f"{'strategy':<10}" + "".join(f"{name.replace('_', ' '):>{len(name) + 2}}" for name in COUNTS)]
    for strategy, counts in summary.items():
        lines.append(f"{strategy:<10}" + "".join(f"{counts[name]:>{len(name) + 2}}" for name in COUNTS))
    for strategy, counts in summary.items():
        for kind, number in counts.get("incomplete_kinds", {}).items():
            lines.append(f"incomplete, not graded: {strategy} {kind} {number}")
    return "\n".join(lines)
