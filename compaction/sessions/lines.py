"""Read records from files of JSON lines as tools leave them: torn, doubled, two on a line, lines of any length.

Nothing is repaired by guess: what is not whole is counted in the tally with its line.
"""

import hashlib
import json

from base.command import DEEPEST, depth

DECODER = json.JSONDecoder(parse_constant=str)  # NaN as "NaN": the log is strict JSON


def read_lines(path, tally):
    """Yield (line number, record) of a file."""
    with open(path, "rb") as file:
        for number, data in enumerate(file, 1):
            tally.place, text = number, data.decode("utf-8", "replace")
            if "\ufffd" in text and "\ufffd".encode() not in data:
                tally.note("bytes that are not UTF-8, read as U+FFFD")
            values, rest = split_values(text.lstrip("\ufeff") if number == 1 else text)
            if len(values) > 1:
                tally.note("several records on one line")
            if rest is not None:
                tally.unread("torn record on a line with others" if values else "torn line")
            for value in values:
                yield number, value


def split_values(text):
    """(the JSON objects that follow one another in `text`, what could not be read after them or None)."""
    values, at = [], 0
    while True:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        if at >= len(text):
            return values, None
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return values, text[at:]
        if not isinstance(value, (dict, list)) or too_deep(value, text):
            return values, text[at:]
        values.append(value)
        at = end


def too_deep(value, text):
    """Whether a value that stands in a text nests deeper than this project reads or writes."""
    return text.count("[") + text.count("{") > DEEPEST and depth(value) > DEEPEST


def digest(value):
    """Eight bytes that stand for a JSON value, as a number; equal for equal values whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "big")
