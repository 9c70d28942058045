"""What a recording keeps on the disk: its journal while it grows, then the finished file; and what either may hold.

The journal (answer-result.journal.jsonl beside answer-result.json) has one line for each answer, on the disk before the
next request is sent. A run may end at any moment (Ctrl-C, kill -9, power): what was appended stays, a last line without
its line feed never was, and the next run asks only for what is missing. One process at a time: the journal is locked
while it is open, and the lock ends with the process. Nothing is ever taken out but that torn last line.

line       {"kind": "answer", "strategy", "case", "seed", "request", "entry"}
           {"kind": "aside", the same, "why"}, and "raw" (text) or "entry": what came and is no answer to keep
request    SHA-256 of the exact request, the server's version and build among it: an answer belongs to no other
recording  {"model": {...}, "answers": {strategy: {case id: [entry]}}} and, where it was made by `record`, "recorded"
entry      {"seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"}, or {"seed", "incomplete"}
           for a reply that never became an answer
"""

import contextlib
import json
import os
import threading
from pathlib import Path

from base.command import InputError, dump, parse_json, read_json, write_bytes

KINDS = ("answer", "aside")
KEY_TYPES = {"strategy": str, "case": str, "seed": int, "request": str}
KEY = tuple(KEY_TYPES)
START = b'{"kind": "'  # of every line: what is cut off as torn is never somebody's other file
ENTRY_TYPES = {"answer": str, "tool_calls": list, "done_reason": str, "prompt_tokens": int, "answer_tokens": int}


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
            with contextlib.suppress(OSError):  # Windows cannot: the name of a new file has to outlast a power cut too
                folder = os.open(self.path.parent, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
        except BaseException:
            os.close(self.file)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)

    def read(self):
        """The answers by key and the lines set aside; the torn line of a killed run is cut off."""
        with open(self.path, "rb") as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        torn = data[whole:]
        if not (torn.startswith(START) or START.startswith(torn) or not torn.strip(b"\0")):
            raise InputError(f"{self.path}: the last line is none of a journal's; move the file away")
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
        os.ftruncate(self.file, whole)
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
                raise InputError(f"{self.path}: cannot be written: {error.strerror}; free some space and start again:"
                                 " what was recorded is kept") from None


def read_line(line, where):
    """One line of a journal, its shape checked, or InputError: a damaged journal is for a person to look at."""
    try:
        found = parse_json(line.decode("utf-8", "surrogatepass"), where)
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8; move the journal away") from None
    told = found if isinstance(found, dict) else {}
    if told.get("kind") not in KINDS or any(type(told.get(name)) is not kind for name, kind in KEY_TYPES.items()):
        raise InputError(f"{where}: no line of a journal; move the journal away")
    if found["kind"] == "aside" and not isinstance(found.get("why"), str):
        raise InputError(f"{where}: no reason why it was set aside; move the journal away")
    if found["kind"] == "answer":
        check_entry(found.get("entry"), where)
        if found["entry"]["seed"] != found["seed"]:
            raise InputError(f"{where}: an entry of another seed; move the journal away")
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


def beside(out, ending):
    """The path beside a recording that holds its journal or the recording before it."""
    out = Path(out)
    return out.with_name(f"{out.stem}.{ending}")


def open_journal(out):
    """The locked journal of a recording, from which a stopped run goes on; InputError for a place without a file."""
    out = Path(out)
    if not out.name or (out.exists() and not out.is_file()):  # told now, and not when all answers are there
        raise InputError(f"--out {out}: no name of a file; give the one that the recording shall have")
    return Journal(beside(out, "journal.jsonl"))


def keep(out, recording):
    """Write a finished recording in its place; another one that stood there is kept beside it, byte for byte."""
    data, out = dump(recording).encode("utf-8"), Path(out)
    try:
        before = out.read_bytes() if out.exists() else None
    except OSError as error:
        raise InputError(f"{out}: cannot be read: {error.strerror}; move it away and start again") from None
    if before == data:
        return
    if before is not None:
        write_bytes(beside(out, f"previous{out.suffix}"), before)
    write_bytes(out, data)


def read_recording(path):
    """The recording in a file, its shape checked, or InputError naming the first place that is not as it should be."""
    data = read_json(path)
    if (not isinstance(data, dict)
        or not isinstance(data.get("model"), dict)
        or not isinstance(data.get("answers"), dict)):
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
        check_entry(entry, f"{where}: answer {number}")
        if entry["seed"] in seeds:
            raise InputError(f"{where}: answer {number} needs a seed of its own; correct it")
        seeds.add(entry["seed"])


def check_entry(entry, where):
    """Nothing, or InputError for an entry of the wrong shape."""
    if not isinstance(entry, dict):
        raise InputError(f"{where} is no entry; correct it")
    types = {"seed": int, **({"incomplete": str} if "incomplete" in entry else ENTRY_TYPES)}
    for field, kind in types.items():
        if type(entry.get(field)) is not kind or entry[field] == "" and field == "incomplete":  # a bool is no number
            raise InputError(f"{where}: {field} is missing or no {kind.__name__}; correct it")


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
                        f" {entry['prompt_tokens']} tokens and the request {sent}; a cut prompt is never graded")
