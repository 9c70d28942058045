"""Read the keys that answers are graded with, and hold their patterns to what ends in bounded time.

The patterns of answer-keys.json were written by hand, so they are held to what ends in bounded time: no quantifier over
a part that can itself match in more than one way, no back-reference, and a bounded number of ways to match from one
place (answers are capped at MAX_GRADED_CHARS, which bounds the places).

keys  {case id: {"must": [compiled pattern], "stale": [compiled pattern]}}
"""

import re
from re import _constants, _parser  # private, but the one exact reader of Python's own pattern language

from answers.reply import MAX_GRADED_CHARS
from base.command import InputError, read_json

WAYS_LIMIT = 4 * MAX_GRADED_CHARS  # one unbounded quantifier beside a small one, or a few small ones
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
ASSERTIONS = {_constants.ASSERT, _constants.ASSERT_NOT}


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
        raise InputError(f"{where}: pattern {pattern!r} is refused: it could match in too many ways from one place to"
                         " end in time; use at most one unbounded quantifier")
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
