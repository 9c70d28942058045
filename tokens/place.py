"""Put verified files into a folder, one process at a time, whole or not at all; what they replace is kept."""

import os
import sys
from contextlib import contextmanager
from itertools import count

from base.command import InputError, write_bytes
from base.lines import lock


def tell(line):
    print(f"prepare.py: {line}", file=sys.stderr, flush=True)


def leftovers(target):
    """Files on their way into `target` whose run was killed; a living run holds the lock."""
    return sorted(target.glob("*.part")) if target.is_dir() else []


@contextmanager
def one_at_a_time(target):
    """Hold the lock of a folder, made if need be and cleared of leftovers. A killed run's lock ends with it."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        file = open(target / ".lock", "ab")
    except OSError as error:
        raise cannot_write(target, error) from None
    with file:
        if not lock(file.fileno()):
            tell(f"waiting for another prepare.py that works in {target}")
            lock(file.fileno(), wait=True)
        for path in leftovers(target):
            path.unlink(missing_ok=True)
        yield


def cannot_write(target, error):
    return InputError(f"{target}: cannot be written: {error.strerror or error}; put that right, or name another "
                      "folder with LAB_TOKENIZER")


def put(path, data):
    """Write a verified file whole or not at all. What stands there and is another is kept: it may be the user's own.

    NAME becomes NAME.unverified, or NAME.unverified.2 and so on: the first name that is free.
    """
    names = (f"{path.name}.unverified{f'.{number}' if number > 1 else ''}" for number in count(1))
    try:
        if path.exists():
            kept = next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))
            os.rename(path, kept)
            tell(f"{path.name} was not the pinned file; it is {kept.name} now")
        if data is not None:
            write_bytes(path, data)
    except OSError as error:
        raise cannot_write(path.parent, error) from None
    except InputError as error:
        raise InputError(f"{error} (LAB_TOKENIZER names another folder)") from None
