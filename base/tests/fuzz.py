"""Mutated input for every command: no traceback, no hang, nothing written after a refusal, no wrong pass.

Run:  python -m base.tests.fuzz 20000            that many mutants over all targets; prints what broke, as JSON
      python -m base.tests.fuzz 500 evaluate     over the targets of one command

Structure-aware: half the mutants change a place of the JSON value that a file holds, the other half its bytes. A mutant
is told by its target and its number alone, so that it can be made again. They run in a child process, which is killed
where one takes longer than LIMIT_S: that is a hang.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from unittest import mock

from base.command import dump, make_parser, run_command
from base.tests.fuzz_samples import NEVER, SAMPLES, TARGETS
from base.tests.made import changed_value, commands, run

LIMIT_S = 120  # for one mutant: generous, since a busy machine is slow and a hang never ends
JUNK = [b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"[" * 100_000, b'{"a": NaN}', b'"\\ud800"', b"\r\n",
        b"\x1b[2J", b"1e999", b'{"a": 1, "a": 2}', b"\xf0\x9f\x98"]


def changed_bytes(data, chance):
    """The bytes with a piece cut off, taken out, repeated or replaced by junk."""
    begin, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    end = min(end, begin + chance.choice([1, 10, 200]))
    return chance.choice([data[:begin], data[:begin] + data[end:], data[:end] + data[begin:],
                          data[:begin] + chance.choice(JUNK) + data[end:]])


def mutant(data, chance):
    """One mutant of a file's bytes; a file of JSON, or of JSON lines, half the time by its structure."""
    if chance.random() < 0.5:
        return changed_bytes(data, chance)
    with contextlib.suppress(ValueError):
        return json.dumps(changed_value(json.loads(data), chance)).encode()
    lines = data.split(b"\n")
    number = chance.randrange(len(lines))
    try:
        lines[number] = json.dumps(changed_value(json.loads(lines[number]), chance)).encode()
    except ValueError:
        return changed_bytes(data, chance)
    return b"\n".join(lines)


def files_in(folder):
    """{path below the folder: bytes}, the locks that a run leaves aside."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".lock"}


def laid_out(target, folder):
    """(names of the samples that a target reads, its arguments), the samples written into a folder."""
    named = set(re.findall(r"\{([\w.-]+)\}", target))
    used = sorted(name for name in SAMPLES if name in named or name.partition("/")[0] in named)
    for name in used:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(SAMPLES[name]())
    return used, [re.sub(r"\{([\w.-]+)\}", lambda match: str(folder / match[1]), word) for word in target.split()[1:]]


def run_mutant(target, number):
    """What is wrong with how a target took its mutant of that number, as text, or None; number -1: unmutated."""
    chance = random.Random(f"{target} {number}")
    with tempfile.TemporaryDirectory() as folder:
        used, argv = laid_out(target, Path(folder))
        hit = chance.choice(used)
        if number >= 0:
            (Path(folder) / hit).write_bytes(mutant(SAMPLES[hit](), chance))
        before = files_in(folder)
        status, out, err = run_in(folder, target.split()[0], argv)
        after = files_in(folder)
    if status in NEVER.get(target.split()[0], ()):  # the sample itself has to be a no, too
        return f"{hit}: a wrong pass, exit status {status}"
    if number < 0:
        return f"refused without a mutation, so that it tests nothing: {err[-300:]}" if status == 2 else None
    if "Traceback" in err:
        return f"{hit}: traceback: {err.strip().splitlines()[-1][:300]}"
    if status not in (0, 1, 2, 3):
        return f"{hit}: exit status {status}"
    if status == 2 and (out or len(re.findall(rf"(?m)^{re.escape(Path(sys.argv[0]).name)}: ", err)) > 1):
        return f"{hit}: refused with output, or in more than one line: {err[-300:]!r}"
    if status == 2 and after != before:
        return f"{hit}: wrote {sorted(set(after) ^ set(before)) or 'over a file'} after a refusal"
    return None


def run_in(folder, command, argv):
    """(exit status, standard output, standard error) of a command in this process and that folder."""
    module = importlib.import_module(commands()[command])
    place = {"LAB_TOKENIZER": str(Path(folder) / ".made")} if command == "prepare" else {}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, place):
        return run(module.main, *argv)


def run_all(work):
    """[{"target", "number", "problem"}] of (target, number) pairs; the child that runs them is killed at a hang."""
    problems, children = [], partial(ProcessPoolExecutor, 1, multiprocessing.get_context("spawn"))
    pool = children()
    for target, number in work:
        try:
            problem = pool.submit(run_mutant, target, number).result(LIMIT_S)
        except Exception as error:  # the fuzz itself may fail too
            problem, pool = f"a hang, or the process ended: {error!r}", children()
            for child in multiprocessing.active_children():
                child.kill()
        problems += [{"target": target, "number": number, "problem": problem}] if problem else []
    pool.shutdown()
    return problems


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("count", type=int, help="mutants in all")
    parser.add_argument("command", nargs="?", help="only this command's targets")
    args = parser.parse_args(argv)
    names = [target for target in TARGETS if args.command in (None, target.split()[0])]
    work = [(target, number) for number in range(-(-args.count // len(names))) for target in names]
    problems = run_all(work)
    sys.stdout.write(dump({"mutants": len(work), "targets": len(names), "problems": problems}))
    return int(bool(problems))


if __name__ == "__main__":
    run_command(main)
