"""Running a command in this process, folders with files in them, JSON values with something broken in them."""

import contextlib
import copy
import io
import json
import re
import tempfile
import unittest
from functools import lru_cache
from pathlib import Path
from unittest import mock

from base.command import InputError, status_of

ROOT = Path(__file__).resolve().parents[2]
ODD = [None, True, False, 0, 1, -1, 1.5, 10**40, "", " ", "x", "\ud800", "\u202e\x1b[2J", "../../x", "a/b", "<bos>", [],
       {}, [1], {"a": 1}, [{"type": "text", "text": "q"}], "y" * 5000, json.loads("[" * 120 + "]" * 120)]


@lru_cache
def commands():
    """{name: module} of all that can be run, so {"compaction.signals": "compaction.signals.__main__"}."""
    places = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.py"))]
    modules = [place.removesuffix(".py").replace("/", ".") for place in places
               if not re.search(r"(^|/)(\.|tests/|venv/)", place)
               and "\n    run_command(main)" in (ROOT / place).read_text(encoding="utf-8")]
    return {module.removesuffix(".__main__"): module for module in modules}


def run(main, *arguments, stdin=""):
    """(exit status, standard output, standard error) of a command's `main` in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")), encoding="utf-8")):
            status = status_of(main, list(map(str, arguments)))
    return status, out.getvalue(), err.getvalue()


def as_bytes(name, content):
    """What a file of that name holds: bytes as they are, a text as UTF-8, a list for NAME.jsonl by lines, else JSON."""
    if name.endswith(".jsonl") and isinstance(content, list):
        content = "".join(json.dumps(line) + "\n" for line in content)
    text = content if isinstance(content, (bytes, str)) else json.dumps(content)
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def named_cases(beside, name):
    """The cases of a JSON file that stands beside a module: it has some, and no two share a name."""
    cases = json.loads(Path(beside).with_name(name).read_text(encoding="utf-8"))
    assert cases and len({case["name"] for case in cases}) == len(cases), name
    return cases


class Files(unittest.TestCase):
    """A test with a folder of its own, `self.folder`, which goes with it."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name, content):
        """The path of a new file with `content` as `as_bytes` writes it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(name, content))
        return path

    def refused(self, pattern, main, *arguments, status=2):
        """The command ends so with one line that the pattern finds, and prints and writes nothing else."""
        before = self.held()
        ended, out, err = run(main, *arguments)
        self.assertEqual((ended, out, err.count("\n")), (status, "", 1), err)
        self.assertRegex(err, pattern)
        self.assertEqual(before, self.held())

    def held(self):
        """{path: bytes} of the folder's files, but for the bytecode that Python keeps of a module it imports."""
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def places(value, path=()):
    """Every path into a JSON value: places({"a": [5]}) -> ("a",), ("a", 0)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def edited(value, path, *put):
    """A copy of a JSON value with `put` at a place, or without what stands there: edited({"a": [5]}, ["a", 0], 6)."""
    value = owner = copy.deepcopy(value)
    *path, last = path
    for key in path:
        owner = owner[key]
    if put:
        (owner[last],) = put
    else:
        del owner[last]
    return value


def changed_value(value, chance):
    """A copy of a JSON value with one place taken out, replaced, repeated or exchanged with another's value."""
    value = copy.deepcopy(value)
    paths = list(places(value))
    if not paths:
        return chance.choice(ODD)
    *path, last = chance.choice(paths)
    owner = value
    for key in path:
        owner = owner[key]
    deed = chance.randrange(5)
    if deed == 0:
        del owner[last]
    elif deed == 1 and isinstance(owner, list):
        owner.insert(last, copy.deepcopy(owner[last]))
    elif deed == 2 and isinstance(owner, dict):
        owner[chance.choice(["x", "\ud800", "../y", *owner])] = copy.deepcopy(owner[last])
    elif deed == 3:
        other = value
        for key in chance.choice(paths):
            other = other[key]
        owner[last] = copy.deepcopy(other)
    else:
        owner[last] = copy.deepcopy(chance.choice(ODD))
    return value


def prepared():
    """Whether the pinned tokenizer can be loaded here."""
    from tokenizer import counter

    with contextlib.suppress(InputError):
        counter()
        return True
    return False


needs_tokenizer = unittest.skipUnless(prepared(), "the tokenizer is not prepared: run python prepare.py")
