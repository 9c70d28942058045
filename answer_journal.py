"""The journal of a recording: one line for each answer, on the disk before the next request is sent.

Run:  not a script; answer_record.py writes one beside the recording (answer-result.journal.jsonl).

A run may end at any moment (Ctrl-C, kill -9, power): what was appended stays, a last line without its line feed never
was, and the next run asks only for what is missing. One process at a time: the journal is locked while it is open,
and the lock ends with the process. Nothing is ever taken out but that torn last line.

line    {"kind": "answer", "strategy", "case", "seed", "request", "entry"}
        {"kind": "aside", the same, "why"}, and "raw" (text) or "entry": what came and is no answer to keep
request SHA-256 of the exact request, the server's version and the build among it: an answer belongs to no other
"""

import json
import os
import threading
from pathlib import Path

from command import InputError, parse_json

KEY = ("strategy", "case", "seed", "request")


class Journal:
    """An open, locked journal. `answers` maps (strategy, case, seed, request) to an entry; threads may append."""

    def __init__(self, path):
        """Open or create the journal, or InputError where another run has it or a line of it cannot be read."""
        self.path, self.guard, self.broken = Path(path), threading.Lock(), False
        try:
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened: {error.strerror}; choose another place with --out") from None
        try:
            if not lock(self.file):
                raise InputError(f"{path}: another run is recording into it; wait for it or give --out another file")
            self.answers, self.asides = self.read()
        except BaseException:
            os.close(self.file)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)

    def read(self):
        """The answers by key and the lines set aside; the torn line of a killed run is cut off first."""
        with open(self.path, "rb") as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        os.ftruncate(self.file, whole)
        os.lseek(self.file, 0, os.SEEK_END)
        answers, asides = {}, []
        for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
            found = read_line(line, f"{self.path}: line {number}")
            if found["kind"] == "aside":
                asides.append(found)
                continue
            key = tuple(found[name] for name in KEY)
            if key in answers:
                raise InputError(f"{self.path}: line {number}: a second answer to one request; move the journal away")
            answers[key] = found["entry"]
        return answers, asides

    def add_answer(self, key, entry):
        """Keep an answer: appended, flushed and on the disk when this returns."""
        self.append({"kind": "answer", **dict(zip(KEY, key)), "entry": entry})
        self.answers[key] = entry

    def set_aside(self, key, why, **came):
        """Keep what came and is no answer to grade (raw=text or entry=entry), under the name of the reason."""
        line = {"kind": "aside", **dict(zip(KEY, key)), "why": why, **came}
        self.append(line)
        self.asides.append(line)

    def append(self, line):
        """Write one whole line through to the disk, or raise InputError, then for every further line as well."""
        data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass") + b"\n"
        with self.guard:
            if self.broken:
                raise InputError(f"{self.path}: cannot be written any more; see the first complaint")
            try:
                os.lseek(self.file, 0, os.SEEK_END)
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self.file, rest) :]
                os.fsync(self.file)
            except OSError as error:
                self.broken = True  # the torn line has to stay the last one: the next run cuts it off
                raise InputError(
                    f"{self.path}: cannot be written: {error.strerror}; free some space and start again:"
                    " what was recorded is kept"
                ) from None


def read_line(line, where):
    """One line of a journal, its shape checked, or InputError: a damaged journal is for a person to look at."""
    try:
        found = parse_json(line.decode("utf-8", "surrogatepass"), where)
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8; move the journal away") from None
    if not isinstance(found, dict) or found.get("kind") not in ("answer", "aside") or not all(k in found for k in KEY):
        raise InputError(f"{where}: no line of a journal; move the journal away")
    if found["kind"] == "answer" and not isinstance(found.get("entry"), dict):
        raise InputError(f"{where}: no entry; move the journal away")
    return found


def lock(file):
    """Whether this process got the file for itself, until it closes it or ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(file, 2**30, os.SEEK_SET)  # far behind the data, which stays readable
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
