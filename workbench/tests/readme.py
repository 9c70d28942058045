"""Run the blocks of a README as a reader pastes them, in order, in a folder that looks like the project's root.

A block is indented by four blanks and begins with `python` or `$`, or is fenced as sh or python. The comment
`<!-- only parsed: why -->` before it keeps it from being run: its commands and options are looked up instead. A Python
block whose first line is `# NAME.py` is kept as that file too. Lines after `$ command` are what the command says.
Commands of ours run in this process, where the tokenizer is loaded once; all else runs in a shell.
"""

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from base.command import status_of

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- only parsed: .+ -->")
REDIRECTED = {">": "stdout", "<": "stdin"}


def blocks(text):
    """[(line number, "sh" or "python", text, whether it is only parsed)] of a README."""
    found, lines, number, marked = [], text.split("\n"), 0, False
    while number < len(lines):
        line, start = lines[number], number + 1
        if line.startswith("```"):
            end = next(place for place in range(start, len(lines)) if lines[place].startswith("```"))
            if line[3:] in ("sh", "python"):
                found.append((start, line[3:], "\n".join(lines[start:end]), marked))
            number, marked = end + 1, False
        elif line.startswith("    ") and not (lines[number - 1].strip() if number else ""):
            end = next((place for place in range(number, len(lines)) if lines[place] and lines[place][:4].strip()),
                       len(lines))
            block = "\n".join(one[4:] for one in lines[number:end]).rstrip()
            if re.match(r"(\.venv/bin/)?python|\$ |# ", block):
                found.append((start, "sh", block, marked))
            number, marked = end, False
        else:
            marked = bool(MARK.match(line)) or marked and not line
            number += 1
    return found


def commands(block):
    """[(command, lines that it says or None)] of a shell block, continued lines joined, comments left out.

    A block in which a quotation runs over lines is one command.
    """
    found, prompts = [], block.startswith("$ ")
    if not prompts and any(line.count("'") % 2 for line in block.split("\n")):
        return [(block, None)]
    for line in block.replace("\\\n", " ").split("\n"):
        if prompts and not line.startswith("$ "):
            found[-1][1].append(line)
        elif line.strip() and not line.startswith("#"):
            found.append((line.removeprefix("$ "), [] if prompts else None))
    return found


def words_of(command):
    """The words of a command, signs of the shell apart."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def ours(words):
    """(module, arguments) of a command of this project, or None."""
    if words[:1] != ["python"] or len(words) < 2:
        return None
    if words[1] == "-m" and len(words) > 2 and words[2] != "unittest":
        folder = ROOT / words[2].replace(".", "/")
        return words[2] + ".__main__" * folder.is_dir(), words[3:]
    return (words[1][:-3], words[2:]) if re.fullmatch(r"\w+\.py", words[1]) else None


def look_up(command):
    """What is wrong with a command that is not run: a script or an option that is not there. None where nothing is."""
    for part in re.split(r"\s(?:&&|\||;)\s", command):
        found = ours(words_of(part)) if part.lstrip().startswith("python") else None
        if not found:
            continue
        help_ = io.StringIO()
        with contextlib.redirect_stdout(help_), contextlib.redirect_stderr(help_):
            main = importlib.import_module(found[0]).main
            for front in ([], [word for word in found[1] if not word.startswith("-")][:1]):  # and of a subcommand
                status_of(main, [*front, "--help"])
        missing = [
            word for word in found[1] if re.match(r"--\w", word) and word.partition("=")[0] not in help_.getvalue()]
        if missing:
            return f"{found[0]} has no option {missing[0]}"
    return None


def run(command, last):
    """(status, what it said) of a command in the working directory; `last`: the status of the one before."""
    words = words_of(command)
    if command == "echo $?":
        return 0, str(last)
    found, files = ours(words), {}
    while found and len(found[1]) > 1 and found[1][-2] in REDIRECTED:
        files[REDIRECTED[found[1][-2]]] = found[1][-1]
        found = (found[0], found[1][:-2])
    if not found or any(word in ("|", "&&", ";", ">", "<", "2") for word in found[1]) or "*" in command:
        python = f"{shlex.quote(sys.executable)} "
        done = subprocess.run(["sh", "-ec", re.sub(r"\bpython ", lambda _: python, command)], capture_output=True,
                              text=True, encoding="utf-8", timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)})
        return done.returncode, done.stdout + done.stderr
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO(Path(files["stdin"]).read_text(encoding="utf-8") if "stdin" in files else "")
    before, sys.stdin = sys.stdin, stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = status_of(importlib.import_module(found[0]).main, found[1])
    finally:
        sys.stdin = before
    if "stdout" in files:
        Path(files["stdout"]).write_text(out.getvalue(), encoding="utf-8")
    return status, ("" if "stdout" in files else out.getvalue()) + err.getvalue()
