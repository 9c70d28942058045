"""Which files a pinned tokenizer consists of, where they lie, whether they are the pinned ones, how they get there.

manifest  {"model", "revision", "license", "bos_token", "files": {name: {"bytes", "sha256"}}, "packages": {name: ...}};
          "packages" names, where one is known, a published package that carries a file (tokens/index.py); "today" is
          the date that a template which asks for one writes, so that a count does not depend on the day
"""

import os
import re
import sys
from contextlib import contextmanager, suppress
from datetime import date
from itertools import count
from pathlib import Path

from base.command import InputError, read_json, replace_file, sha256
from base.lines import lock
from base.shapes import Each, Only, is_name, misfit

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "tokenizer-manifest.json"
FILES = ("tokenizer.json", "chat_template.jinja")
ELSEWHERE = "put that right, or name another folder with LAB_TOKENIZER"


class TokenizerError(InputError):
    """The tokenizer's files are missing, differ from the manifest, or cannot be used."""


def read_manifest(path):
    """The manifest in a JSON file, or InputError naming the field that cannot be used."""
    manifest = read_json(path)
    where = "the manifest"
    if problem := misfit(manifest, SHAPE, where) or misfit(special_tokens(manifest), Each(str), where):
        raise InputError(f"{path}: {problem}; correct it, or pin the model again with prepare.py --model")
    return manifest


def is_date(value):
    """Whether a value is an ISO date: is_date("2026-01-31") -> True."""
    with suppress(ValueError):
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    return False


PINNED = {"bytes": lambda size: type(size) is int and size > 0,
          "sha256": lambda digest: isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)}
PACKAGE = {"project": is_name, "archive": is_name, "sha256": is_name, "member": is_name}
SHAPE = {"model": is_name, "revision?": (type(None), is_name), "files": Only(dict.fromkeys(FILES, PINNED)),
         "packages?": Each(PACKAGE), "today?": is_date}


def special_tokens(manifest):
    """The tokens that a template writes by name: special_tokens({"eos_token": "a", "n": 1}) -> {"eos_token": "a"}."""
    return {name: text for name, text in manifest.items() if name.endswith("_token")}


def folder(manifest_path=MANIFEST):
    """Where the files of a manifest lie: the default one's in .tokenizer/ or LAB_TOKENIZER, another's below it."""
    base = Path(os.environ.get("LAB_TOKENIZER") or ROOT / ".tokenizer")
    return base if is_shipped(manifest_path) else base / Path(manifest_path).stem


def is_shipped(manifest_path):
    return Path(manifest_path).resolve() == MANIFEST


def verify(target, manifest):
    """The problems of a prepared folder, empty when every file has its pinned size and hash."""
    return [f"{name} {problem}" for name, pinned in manifest["files"].items()
            if (problem := read_pinned(Path(target) / name, pinned)[1])]


def read_pinned(path, pinned):
    """(the bytes of a file, what is wrong with them or None), or (None, why it cannot be read)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"
    return data, bytes_problem(data, pinned)


def bytes_problem(data, pinned):
    """What is wrong with a file's bytes, or None."""
    if len(data) != pinned["bytes"]:
        return f"has {len(data):,} bytes instead of the pinned {pinned['bytes']:,}"
    digest = sha256(data)
    return None if digest == pinned["sha256"] else f"has other bytes than the pinned ones (SHA-256 {digest})"


def read_verified(manifest_path, manifest):
    """The bytes of the manifest's files by name, each hashed before use, or TokenizerError."""
    files, option = {}, "" if is_shipped(manifest_path) else f" --manifest {manifest_path}"
    for name, pinned in manifest["files"].items():
        path = folder(manifest_path) / name
        files[name], problem = read_pinned(path, pinned)
        if problem:
            raise TokenizerError(f"{path}: {problem}; run: python prepare.py{option}")
    return files


def print_step(line):
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
        raise InputError(f"{target}: cannot be written: {error.strerror}; {ELSEWHERE}") from None
    with file:
        if not lock(file.fileno()):
            print_step(f"waiting for another prepare.py that works in {target}")
            lock(file.fileno(), wait=True)
        for path in leftovers(target):
            path.unlink(missing_ok=True)
        yield


def put(path, data):
    """Write a verified file whole or not at all (None: nothing). What stands there is kept: it may be the user's own.

    NAME becomes NAME.unverified, or NAME.unverified.2 and so on: the first name that is free.
    """
    names = (path.with_name(f"{path.name}.unverified{f'.{number}' if number > 1 else ''}") for number in count(1))
    try:
        if path.exists():
            kept = path.rename(next(name for name in names if not os.path.lexists(name)))
            print_step(f"{path.name} was not the pinned file; it is {kept.name} now")
        if data is not None:
            replace_file(path, data)
    except (OSError, InputError) as error:
        raise InputError(f"{error}; {ELSEWHERE}") from None
