"""Read records from files of JSON lines as tools leave them: torn, doubled, two on a line, lines of any length.

Nothing is repaired by guess: a record is yielded only when it is whole, and what was not is counted in the tally with
its line.
"""

import hashlib
import json

from base.command import DEEPEST, depth

DECODER = json.JSONDecoder(parse_constant=str)  # NaN as "NaN": the log is strict JSON
LENIENT = json.JSONDecoder(parse_constant=str, strict=False)  # a line end inside a string, where a record was broken
TRIES = 200  # places tried on one torn line; more is a line of braces, not a record


def read_lines(path, tally, is_record):
    """Yield (line number, record) of a file. `is_record(value)` says whether a value can be a record of its tool."""
    broken = None  # (line number, text) of a line that is no JSON: its rest may be the next line
    with open(path, "rb") as file:
        for number, data in enumerate(file, 1):
            tally.place = number
            text = decode(data, number, tally)
            if not text.strip():
                continue
            values, rest = split_values(text)
            if rest is not None and not values and broken is not None:
                joined, left = split_values(broken[1] + "\n" + text, LENIENT)
                if left is None and len(joined) == 1:
                    tally.note("record broken over two lines", broken[0])
                    yield number, joined[0]
                    broken = None
                    continue
            if broken is not None:
                tally.unread("torn line", broken[0])
                broken = None
            if len(values) > 1:
                tally.note("several records on one line")
            for value in values:
                yield number, value
            if rest is not None:
                found = after_tear(rest, is_record)
                if values or found:
                    tally.unread("torn record on a line with others")
                else:
                    broken = (number, text)
                for value in found:
                    yield number, value
    if broken is not None:
        tally.unread("torn line", broken[0])


def decode(data, number, tally):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        tally.note("bytes that are not UTF-8, read as U+FFFD")
        text = data.decode("utf-8", "replace")
    text = text.rstrip("\r\n")
    return text.lstrip("\ufeff") if number == 1 else text


def split_values(text, decoder=DECODER):
    """(the JSON objects that follow one another in `text`, what could not be read after them or None)."""
    values, at = [], 0
    while True:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        if at >= len(text):
            return values, None
        try:
            value, at_end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return values, text[at:]
        if not isinstance(value, (dict, list)) or too_deep(value, text):
            return values, text[at:]
        values.append(value)
        at = at_end


def too_deep(value, text):
    """Whether a value that stands in a text nests deeper than this project reads or writes."""
    return text.count("[") + text.count("{") > DEEPEST and depth(value) > DEEPEST


def after_tear(text, is_record):
    """Whole records at the end of a line that begins with a torn one: from a brace to the line's end."""
    at = text.find('{"', 1)
    for _ in range(TRIES):
        if at < 0:
            return []
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at
        if isinstance(value, dict) and is_record(value) and not too_deep(value, text):
            more, rest = split_values(text[end:])
            if rest is None and all(isinstance(v, dict) and is_record(v) for v in more):
                return [value, *more]
        at = text.find('{"', max(at + 1, end))
    return []


def digest(value):
    """Eight bytes that stand for a JSON value, as a number; equal for equal values whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "big")
