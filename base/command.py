"""What every command of this project shares: strict JSON in, one JSON form out, arguments, exit statuses, progress.

Exit status  0 done; 1 done, and the answer is no; 2 could not be done; 3 not comparable or not decided; 130 stopped.
"""

import argparse
import contextlib
import filecmp
import hashlib
import io
import itertools
import json
import math
import os
import secrets
import shutil
import stat
import sys
import traceback
from collections import Counter
from pathlib import Path

from base.shapes import lone_surrogate
from base.shown import one_line

VERSION = "1.0"
DEEPEST = 200  # levels of lists and objects in a file: far from where Python's own parser and writer give up


class InputError(ValueError):
    """Something the user gave cannot be used. The text is one line: what was wrong, where, what to do."""


class NotComparable(ValueError):
    """Two things that must not be compared, or a question that cannot be decided; exit status 3."""


def parse_json(text, where, deepest=DEEPEST):
    """The JSON value of a text; InputError for duplicate keys, NaN, infinities and over `deepest` levels too."""

    def pairs(items):
        value = dict(items)
        if len(value) != len(items):
            twice = min(key for key, times in Counter(key for key, _ in items).items() if times > 1)
            raise InputError(f"{where}: the key {twice!r} stands twice in one object; remove one of the two")
        return value

    def number(text):
        if not math.isfinite(float(text)):
            raise InputError(f"{where}: {text} is no finite number; correct it")
        return float(text)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=number, parse_float=number)
        if too_deep(value, text, deepest):
            raise RecursionError
        return value
    except RecursionError:
        raise InputError(f"{where}: nested too deep, over {deepest} levels; flatten it") from None
    except InputError:
        raise
    except ValueError as error:  # also an integer of thousands of digits, which Python refuses to convert
        raise InputError(f"{where}: not JSON: {error}; correct that place") from None


def too_deep(value, text, deepest=DEEPEST):
    """Whether the JSON value of a text nests more than `deepest` levels deep, its brackets counted first."""
    return text.count("[") + text.count("{") > deepest and depth(value) > deepest


def depth(value):
    """Levels of lists and objects in a JSON value: depth([{"a": []}]) -> 3. Not recursive: a file may nest deep."""
    levels, level = 0, [value]
    while level := [part for part in level if isinstance(part, (list, dict))]:
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
        levels += 1
    return levels


def open_bytes(path):
    """A file opened for reading; OSError for a character device too, since /dev/zero never ends."""
    file = open(path, "rb")
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
        file.close()
        raise OSError("is a device, not a file")
    return file


def read_bytes(path):
    """The bytes of a file, or InputError for one that cannot be read."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}; check the path and its permissions") from None


def as_text(data, path):
    """The text of UTF-8 bytes, its line ends kept, a byte order mark removed; InputError for other bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def read_json(path):
    """The JSON value in a file, or InputError for a file that is unreadable, not UTF-8 or not strict JSON."""
    return parse_json(as_text(read_bytes(path), path), path)


def whole_characters(value):
    """A JSON value with "?" for each lone surrogate, which UTF-8 cannot hold."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def sha256(data):
    """SHA-256 of bytes, or of a text as UTF-8, as hexadecimal digits."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()


def file_hash(path):
    """SHA-256 of the bytes of a file, or InputError."""
    return sha256(read_bytes(path))


def dump(value):
    """The one JSON form that this project writes; InputError for a text that UTF-8 cannot hold."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if lone := lone_surrogate(text):
        raise InputError(f"a lone surrogate, {lone!r}, which UTF-8 cannot hold; write the whole character")
    return text


def replace_file(path, data, own=None):
    """Replace a file atomically: a temporary file beside it, flushed to the disk, is moved over it, or nothing is.

    data: bytes, or an iterable of bytes. own: own(path) tells whether the file there is an earlier output of the same
    command, which is then kept under another name; anything else is left as it is, with an InputError.
    """
    path = Path(path)
    if own:
        check_replaceable(path, own)
    temporary = path.parent / f"{path.name}.{secrets.token_hex(4)}.part"
    try:
        if path.exists() and not path.is_file():  # moved over a device such as /dev/null, a file would take its place
            raise InputError(f"{path}: is no file that can be replaced; choose another place")
        with open(temporary, "xb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
            if own and not filecmp.cmp(path, temporary, shallow=False):
                keep_earlier(path)
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be written: {reason}; choose another place or free it") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_json(path, value, own=None):
    """`dump(value)` into a file, whole or not at all; own: as for `replace_file`."""
    replace_file(path, dump(value).encode("utf-8"), own)


def whole_numbers(text):
    """The positive whole numbers of a list without duplicates: whole_numbers("1024,4096") -> [1024, 4096]."""
    numbers = [int(part) if part.isdecimal() and len(part) < 19 else 0 for part in text.split(",")]
    if min(numbers) < 1 or len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is no list of positive whole numbers like 1024,4096")
    return numbers


def keep_earlier(path):
    """Give the file a second name, the first free one of NAME.previous.SUFFIX, NAME.previous.2.SUFFIX and so on."""
    for number in itertools.count(1):
        ending = f"previous.{number}" if number > 1 else "previous"
        with contextlib.suppress(FileExistsError):  # fails where the name is taken, unlike a rename
            return os.link(path, path.with_name(f"{path.stem}.{ending}{path.suffix}"))


def check_replaceable(path, own):
    """InputError where `path` has no folder, or a file that own(path) does not know as this command's own output."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder; make it or name another file")
    if path.exists() and not (path.is_file() and own(path)):
        raise InputError(f"{path}: stands there already and is no output of this command; name another file")


class Parser(argparse.ArgumentParser):
    """A parser that tells a wrong option in one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {one_line(message)}; --help tells what it takes\n")


def make_parser(doc, commands=None, name=None):
    """An argument parser with the description and the examples of a docstring; a subcommand's with `commands`, `name`.

    The description is the docstring's first line, the examples are the lines behind "Run:" up to an empty one.
    """
    description = doc.partition("\n")[0]
    examples = "\n         ".join(map(str.strip, doc.partition("Run:")[2].partition("\n\n")[0].splitlines()))
    options = {"description": description, "formatter_class": argparse.RawDescriptionHelpFormatter,
               "epilog": f"example: {examples}" if examples else None}
    if commands:
        return commands.add_parser(name, help=description, **options)
    parser = Parser(prog=command_name(), **options)
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    return parser


def progress(items, **options):
    """`items` with tqdm's bar on standard error when that is a terminal and the work lasts over two seconds."""
    from tqdm import tqdm  # here, since most commands are done before a bar would show

    return tqdm(items, disable=None, delay=2, file=sys.stderr, **options)


class Output(io.TextIOWrapper):
    """Standard output: a write error is an InputError; a reader that closes the pipe early (EPIPE) changes nothing."""

    def write(self, text):
        try:
            return super().write(text)
        except OSError as error:
            return self.failed(error)

    def flush(self):
        try:
            super().flush()
        except OSError as error:
            self.failed(error)

    def failed(self, error):
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # else the flush at exit fails again
        if isinstance(error, BrokenPipeError):
            return 0  # and main goes on to its status: a blocked change is blocked whoever stops reading
        raise InputError(f"standard output cannot be written: {error.strerror}; free it or write elsewhere") from None


class Complaints(Output):
    """Standard error whose write errors are ignored: a closed terminal must not change the exit status."""

    def failed(self, error):
        return 0


def run_command(main, argv=None):
    """Run `main(argv)`, standard output as UTF-8 with LF, and leave the process with its status."""
    for name in "stdout", "stderr":
        if getattr(sys, name) is None:  # closed by who started us: print would write to standard output instead
            setattr(sys, name, open(os.devnull, "w"))
    encoding, terminal = sys.stderr.encoding, sys.stdout.isatty()
    raw = sys.stdout.detach()
    whole = io.BufferedWriter(raw) if isinstance(raw, io.RawIOBase) else raw  # a raw one loses what a full disk refuses
    sys.stdout = Output(whole, encoding="utf-8", newline="\n", line_buffering=terminal)
    sys.stderr = Complaints(sys.stderr.detach(), encoding=encoding, errors="backslashreplace", line_buffering=True)
    sys.exit(status_of(main, argv))


def status_of(main, argv=None):
    """The exit status of `main(argv)`, errors printed to standard error; 1 is always main's own "no"."""
    try:
        status = main(argv)
        sys.stdout.flush()
        return status or 0
    except (InputError, NotComparable) as error:
        return complain(error, 3 if isinstance(error, NotComparable) else 2)
    except KeyboardInterrupt:
        return complain("stopped", 130)
    except ModuleNotFoundError as error:
        remedy = "run it with the one of the virtual environment, or: python -m pip install -r requirements.txt"
        return complain(f"this Python ({sys.executable}) has no module {error.name}; {remedy}", 2)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) or exit_.code is None else 2
    except BaseException:  # also what libraries in other languages raise, which is no Exception
        traceback.print_exc()
        return 2


def command_name():
    """The name of the running command: evaluate.py, compare.py; compaction.signals for a package's __main__."""
    name, spec = Path(sys.argv[0]).name, getattr(sys.modules["__main__"], "__spec__", None)
    return spec.parent if name == "__main__.py" and spec else name


def complain(problem, status):
    """Print a problem as one line, whatever it quotes, and return `status`."""
    print(f"{command_name()}: {one_line(problem)}", file=sys.stderr)
    return status
