"""Files of JSON lines: add one so that it is safe on the disk, read them whole or one at a time.

Not for two writers of one file at a time.
"""

import json
import os
from pathlib import Path

from base.command import InputError, parse_json, read_text, write_text


def append_line(path, value):
    """Add a line for `value`, flushed to the disk; a half-written last line of an earlier run goes."""
    try:
        mend(path)
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}; choose another place") from None


def read_lines(path):
    """[(line number, value), ...] of the file; a last line that was cut off while it was written is left out."""
    lines = read_text(path).split("\n")
    if torn(lines[-1]):
        lines.pop()
    return [
        (number, parse_json(line, f"{path}: line {number}")) for number, line in enumerate(lines, 1) if line.strip()]


def torn(tail):
    """Whether the text after the last line end is the beginning of a line and no JSON object."""
    try:
        return bool(tail.strip()) and not isinstance(json.loads(tail), dict)
    except ValueError:
        return True


def mend(path):
    """Leave the file with a line end at its end: a half-written last line goes, a whole one is ended."""
    path = Path(path)
    if not path.exists() or path.stat().st_size == 0:
        return
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        if file.read() == b"\n":
            return
    data = path.read_bytes()
    start = data.rfind(b"\n") + 1
    whole = data[:start] if torn(data[start:].decode("utf-8", "replace")) else data + b"\n"
    write_text(path, whole.decode("utf-8"))


def stream(path):
    """(place for a message, value) of each line of a JSON lines file, one at a time; InputError where one is none."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    place = f"{path}: line {number}"
                    yield place, parse_json(line, place)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8: {error.reason}; save it as UTF-8") from None
