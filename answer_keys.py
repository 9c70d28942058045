"""Read answer-keys.json and a recording, and refuse what cannot be graded: the checks before any grade.

Run:  not a script; answer_check.py reads both with it.

A key's patterns are regular expressions that somebody wrote by hand, so they are held to what ends in bounded time:
no quantifier over a part that can itself match in more than one way, no back-reference, and a bounded number of ways
to match from one place (answers are capped at MAX_GRADED_CHARS, which bounds the places).

Does not grade (answer_grade.py does).

keys       {case id: {"must": [compiled pattern], "stale": [compiled pattern]}}
recording  {"model": {...}, "answers": {strategy: {case id: [entry]}}} and, where it was made by `record`, "recorded"
entry      {"seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"}, or {"seed", "incomplete"}
           for a reply that never became an answer
"""

import re
from re import _constants, _parser  # private, but the one exact reader of Python's own pattern language

from command import InputError, read_json

MAX_GRADED_CHARS = 8000
WAYS_LIMIT = 4 * MAX_GRADED_CHARS  # one unbounded quantifier beside a small one, or a few small ones
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
ASSERTIONS = {_constants.ASSERT, _constants.ASSERT_NOT}
ENTRY_TYPES = {"answer": str, "tool_calls": list, "done_reason": str, "prompt_tokens": int, "answer_tokens": int}


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


def read_recording(path):
    """The recording in a file, its shape checked, or InputError naming the first place that is not as it should be."""
    data = read_json(path)
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("model"), dict)
        or not isinstance(data.get("answers"), dict)
    ):
        raise InputError(f"{path}: no recording; it needs the objects 'model' and 'answers'")
    shape = None
    for strategy, cases in data["answers"].items():
        if not isinstance(cases, dict) or not cases:
            raise InputError(f"{path}: strategy {strategy!r} has no answers; record it again")
        for case, entries in cases.items():
            check_entries(entries, f"{path}: {strategy}/{case}")
        found = {case: sorted(entry["seed"] for entry in entries) for case, entries in cases.items()}
        shape = shape or found
        if found != shape:
            raise InputError(f"{path}: strategy {strategy!r} has other cases or seeds than the first; record it whole")
    if shape is None:
        raise InputError(f"{path}: holds no answers; record some first")
    check_counts(data, path)
    return data


def check_entries(entries, where):
    """Nothing, or InputError for the first entry of one strategy and case that has the wrong shape."""
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{where}: no answers; record it again")
    seeds = set()
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or type(entry.get("seed")) is not int or entry["seed"] in seeds:
            raise InputError(f"{where}: answer {number} needs a seed of its own; correct it")
        seeds.add(entry["seed"])
        if "incomplete" in entry:
            if not isinstance(entry["incomplete"], str) or not entry["incomplete"]:
                raise InputError(f"{where}: answer {number}: incomplete names a kind; correct it")
            continue
        for field, kind in ENTRY_TYPES.items():
            if type(entry.get(field)) is not kind:  # exactly: a bool is no number
                raise InputError(f"{where}: answer {number}: {field} is missing or no {kind.__name__}; correct it")


def check_counts(recording, path):
    """Nothing, or InputError where a prompt's tokens are not those of the request that the recording names."""
    recorded = recording.get("recorded", {})
    requests = recorded.get("requests", {}) if isinstance(recorded, dict) else None
    if not isinstance(requests, dict) or not all(
        isinstance(cases, dict) and all(isinstance(sent, dict) for sent in cases.values())
        for cases in requests.values()
    ):
        raise InputError(f"{path}: recorded.requests is not an object of strategies and cases; record it again")
    for strategy, cases in recording["answers"].items():
        for case, entries in cases.items():
            sent = requests.get(strategy, {}).get(case, {}).get("input_tokens")
            for entry in entries:
                if sent is not None and "incomplete" not in entry and entry["prompt_tokens"] != sent:
                    raise InputError(
                        f"{path}: {strategy}/{case} seed {entry['seed']}: the prompt was"
                        f" {entry['prompt_tokens']} tokens and the request {sent}; a cut prompt is never graded"
                    )


def check_covered(recording, keys, where):
    """Nothing, or InputError unless the keys are for exactly the cases that were recorded."""
    recorded = {case for cases in recording["answers"].values() for case in cases}
    for case in sorted(recorded ^ set(keys)):
        missing = "no key" if case in recorded else "a key but no recorded answer"
        raise InputError(f"{where}: case {case!r} has {missing}; grade a recording with the keys of its own cases")
