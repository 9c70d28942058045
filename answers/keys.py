"""The keys that answers are graded with: read, compiled, and held to patterns that end in bounded time.

Python cannot stop a pattern once it runs, so one that could run without end is refused before, by a bound taken from
its text that errs on the safe side: ways_to_match("a{1,9}(?:b|c)") -> 18.

keys  {case id: {"must": [compiled pattern], "stale": [compiled pattern]}}
"""

import re

from answers.reply import MAX_GRADED_CHARS
from base.command import InputError, read_json
from base.shapes import Each, Only, misfit

WAYS_LIMIT = 4 * MAX_GRADED_CHARS  # one unbounded quantifier beside a small one, or a few small ones
KEYS = {"cases": Each(Only({"must": [str], "stale": [str]}), least=1)}
BOUNDS = {"*": "0,", "+": "1,", "?": "0,1"}
PART = re.compile(  # of a pattern: an escape, a set, the start or end of a group, an alternative, a quantifier
    r"(?P<reference>\\[1-9]|\(\?P=|\(\?\(|\(\?#|\(\?[a-zA-Z-]+[:)])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|(?P<open>\((?:\?(?:[:=!>]|<[=!]|P<\w+>))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<quantifier>[*+?]|\{(?:\d+(?:,\d*)?|,\d*)\})[?+]?|.",
    re.DOTALL)


def read_keys(path):
    """The keys in a file, patterns compiled, or InputError naming the case and pattern that cannot be used."""
    data = read_json(path)
    if problem := misfit(data, KEYS, "it"):
        raise InputError(f"{path}: no keys: {problem}; 'cases' maps a case id to the lists must and stale")
    keys = {}
    for case, key in data["cases"].items():
        if not key["must"]:
            raise InputError(f"{path}: case {case!r}: must needs at least one pattern; add it")
        keys[case] = {kind: [compile_pattern(p, f"{path}: case {case!r}") for p in key[kind]] for kind in key}
    return keys


def compile_pattern(pattern, where):
    """The pattern, compiled without regard to case, or InputError for one that is broken, empty or too costly."""
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
        if ways_to_match(pattern) > WAYS_LIMIT:
            raise ValueError("it could match in too many ways to end in time; use at most one unbounded quantifier")
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise InputError(f"{where}: pattern {pattern!r} is refused: {error}; correct it or write it plainly") from None
    if compiled.search(""):
        raise InputError(f"{where}: pattern {pattern!r} matches the empty text, so every answer; correct it")
    return compiled


def ways_to_match(pattern):
    """An upper bound on the ways a valid pattern can match from one place; ValueError for what has no bound here."""
    groups, inner = [[1, 0]], 1  # of each open group: ways of its parts, alternatives before the last; of the last part
    for part in PART.finditer(pattern):
        if part["reference"]:
            raise ValueError("it refers back to a group, sets flags or holds a comment")
        if part["open"]:
            groups.append([1, 0])
            continue
        if part["quantifier"]:
            low, comma, high = BOUNDS.get(part["quantifier"], part["quantifier"][1:-1]).partition(",")
            low, high = int(low or 0), int(high or MAX_GRADED_CHARS) if comma else int(low)
            if inner > 1 and high > 1:
                raise ValueError("a quantifier stands over a part that can itself match in several ways")
            groups[-1][0] *= max(1, min(high, MAX_GRADED_CHARS) - low + 1)
            inner = 1
            continue
        inner = 1
        if part["bar"]:
            groups[-1][1] += 1
        if part["close"]:
            ways, bars = groups.pop()
            inner = ways * (bars + 1)
            groups[-1][0] *= inner
    ways, bars = groups[0]
    return ways * (bars + 1)


def check_covered(recording, keys, where):
    """Nothing, or InputError unless the keys are for exactly the cases that were recorded."""
    recorded = {case for cases in recording["answers"].values() for case in cases}
    for case in sorted(recorded ^ set(keys)):
        missing = "no key" if case in recorded else "a key but no recorded answer"
        raise InputError(f"{where}: case {case!r} has {missing}; grade a recording with the keys of its own cases")
