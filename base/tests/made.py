"""JSON values with something broken in them, for tests of readers; tests that need the pinned tokenizer."""

import copy
import unittest

from base.command import InputError

ODD = [None, 0, True, "", [], {}, "x", [1], {"a": 1}, 1.5, "\ud800", " ", [{"type": "text", "text": "q"}]]


def places(value, path=()):
    """Every path into a JSON value: places({"a": [5]}) -> ("a",), ("a", 0)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def broken(value, rng):
    """The value with one or two of its parts taken out or replaced by something odd."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2))):
        *path, last = rng.choice(list(places(value)) or [(None,)])
        if last is None:
            break
        owner = value
        for key in path:
            owner = owner[key]
        if rng.random() < 0.3:
            del owner[last]
        else:
            owner[last] = copy.deepcopy(rng.choice(ODD))
    return value


def prepared():
    """Whether the pinned tokenizer can be loaded here."""
    from tokenizer import counter

    try:
        counter()
    except InputError:
        return False
    return True


needs_tokenizer = unittest.skipUnless(prepared(), "the tokenizer is not prepared: run python prepare.py")
