"""Files of JSON lines: append safely, one process at a time; read them whole or as a stream.

A process may end at any moment (Ctrl-C, kill -9, power): a line that was appended stays, and the half-written last line
that a kill can leave is cut off before the next one is appended. Nothing else is ever taken out.
"""

import codecs
import contextlib
import json
import os
import re
import threading
from pathlib import Path

from base.command import DEEPEST, InputError, as_text, open_bytes, parse_json, read_bytes
from base.shapes import misfit


class LineFile(contextlib.AbstractContextManager):
    """A file of JSON lines, open and locked until it is closed or the process ends; threads may append."""

    def __init__(self, path, wait=False):
        """Open or create the file; InputError where it is no file of ours or another process has it (`wait`: wait)."""
        self.path, self.guard, self.broken, self.mended = Path(path), threading.Lock(), False, False
        try:
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}; choose another place") from None
        if not lock(self.file, wait):
            os.close(self.file)
            raise InputError(f"{path}: another run has it open; wait for it or name another file")
        with contextlib.suppress(OSError):  # Windows cannot: the name of a new file has to outlast a power cut too
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def __exit__(self, *_):
        os.close(self.file)

    def mend(self):
        """Before the first line is added: cut off a half-written last line, or end a whole one."""
        os.lseek(self.file, 0, os.SEEK_SET)
        with open(self.file, "rb", closefd=False) as file:
            whole, end, tail = file.read().rpartition(b"\n")
        if is_torn(tail):
            os.ftruncate(self.file, len(whole + end))
        elif isinstance(json_in(tail), dict):
            self.write(b"\n")
        else:  # somebody's notes: no line of this project begins like that
            raise InputError(f"{self.path}: the last line is no JSON object; move the file away")
        self.mended = True

    def append(self, value):
        """Write one line through to the disk, or raise InputError, and then for every further line as well."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
        with self.guard:
            if self.broken:
                raise InputError(f"{self.path}: cannot be written any more; see the first complaint")
            try:
                if not self.mended:
                    self.mend()
                self.write(text.encode("utf-8", "backslashreplace"))  # a lone surrogate becomes its escape
            except OSError as error:
                self.broken = True  # the torn line has to stay the last one: the next run cuts it off
                raise InputError(f"{self.path}: cannot be written: {error.strerror}; free some space and start again:"
                                 " what was recorded is kept") from None

    def write(self, data):
        """Add bytes at the end, on the disk when this returns."""
        os.lseek(self.file, 0, os.SEEK_END)
        while data:
            data = data[os.write(self.file, data) :]
        os.fsync(self.file)


def append_line(path, value):
    """Add a line for `value`, on the disk when this returns; waits while another process adds one."""
    with LineFile(path, wait=True) as file:
        file.append(value)


def lock(file, wait=False):
    """Whether this process got the exclusive lock of an open file; it holds until the file is closed."""
    with contextlib.suppress(OSError):
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except ImportError:  # Windows
            import msvcrt

            os.lseek(file, 2**30, os.SEEK_SET)  # far behind the data, which stays readable
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        return True
    return False


def read_lines(path):
    """[(line number, value), ...] of the file; a last line that was cut off while it was written is left out."""
    whole, end, tail = read_bytes(path).rpartition(b"\n")
    lines = enumerate(as_text(whole + end + (b"" if is_torn(tail) else tail), path).split("\n"), 1)
    return [(number, parse_json(line, f"{path}: line {number}")) for number, line in lines if line.strip()]


def read_entries(path, shape, what):
    """The values of a file of JSON lines, none where there is no file; InputError names the first that is no `what`."""
    lines = read_lines(path) if path and Path(path).exists() else []
    for number, value in lines:
        if problem := misfit(value, shape):
            raise InputError(f"{path}: line {number}: {problem}, so no {what}; correct it or name another file")
    return [value for _, value in lines]


def is_torn(tail):
    """Whether the bytes behind the last line end are a torn write, or the zeros that a power cut left of one.

    A prefix of JSON is torn: is_torn(b'{"a": fals') -> True. What is no such prefix is somebody's text, to be kept.
    """
    tail = tail.strip(b"\0 \t\r")
    if not tail.startswith(b"{"):
        return not tail
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(tail)  # the last character may be cut too
        json.loads(text)
    except json.JSONDecodeError as error:
        inside = re.match("Unterminated string|Invalid .u", error.msg)  # "Sun, or \\u00e
        return bool(inside or error.msg != "Extra data" and re.fullmatch(r"[\w.+-]{0,5}", text[error.pos :]))  # fals
    except (ValueError, RecursionError):
        pass
    return False


def json_in(data, deepest=DEEPEST):
    """The JSON value that some bytes are, None where they are none."""
    with contextlib.suppress(InputError):
        return parse_json(as_text(data, "line"), "line", deepest)


def stream(path, digest=None):
    """(place for a message, value) of each line of a JSON lines file, one at a time; InputError where one is none.

    digest   of hashlib: takes up all bytes as they are read, so that what was read of a pipe can be told
    """
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(file, 1):
                if digest:
                    digest.update(line)
                place = f"{path}: line {number}"
                text = as_text(line, place)
                if text.strip():
                    yield place, parse_json(text, place)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
