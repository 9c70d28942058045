"""Run the blocks of a README as a reader pastes them, in order, in a folder that looks like the project's root.

A block is indented by four blanks and begins with `python` or `$`, or is fenced as sh or python. The comment
`<!-- only parsed: why -->` before it keeps it from being run: its commands and options are looked up instead. A Python
block whose first line is `# NAME.py` is kept as that file too. Lines after `$ command` are what the command says.
Commands of ours run in this process, where the tokenizer is loaded once; all else runs in a shell.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from base.tests import made

BLOCK = re.compile(r"(?m)(^<!-- only parsed: .+ -->\n+)?(?:^```(\w*)\n((?:.*\n)*?)```$|(?<=\n\n)((?: {4}.*\n|\n)+))")


def blocks(text):
    """[(line number, "sh" or "python", text, whether it is only parsed)] of a README."""
    kept = []
    for match in BLOCK.finditer(text):
        mark, kind, fenced, indented = match.groups()
        block = (fenced or re.sub("(?m)^ {4}", "", indented or "")).rstrip()
        if kind is None and re.match(r"(\.venv/bin/)?python|\$ |# ", block):
            kind = "sh"
        if kind in ("sh", "python"):
            kept.append((text.count("\n", 0, match.end()), kind, block, mark is not None))
    return kept


def commands(block):
    """[(command, lines that it says or None)] of a shell block, continued lines joined, comments left out.

    A block in which a quotation runs over lines is one command.
    """
    told, prompts = [], block.startswith("$ ")
    if not prompts and any(line.count("'") % 2 for line in block.split("\n")):
        return [(block, None)]
    for line in block.replace("\\\n", " ").split("\n"):
        if prompts and not line.startswith("$ "):
            told[-1][1].append(line)
        elif line.strip() and not line.startswith("#"):
            told.append((line.removeprefix("$ "), [] if prompts else None))
    return told


def words_of(command):
    """The words of a command, signs of the shell apart."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def ours(words):
    """(module, arguments) of a command of this project, or None."""
    match words:
        case ["python", "-m", name, *arguments] if name != "unittest":
            return name + ".__main__" * (made.ROOT / name.replace(".", "/")).is_dir(), arguments
        case ["python", script, *arguments] if re.fullmatch(r"\w+\.py", script):
            return script[:-3], arguments
    return None


def look_up(command):
    """What is wrong with a command that is not run: a script or an option that is not there. None where nothing is."""
    for part in re.split(r"\s(?:&&|\||;)\s", command):
        if not (part.lstrip().startswith("python") and (called := ours(words_of(part)))):
            continue
        main, words = importlib.import_module(called[0]).main, called[1]
        subcommand = [word for word in words if not word.startswith("-")][:1]
        shown = "".join(made.run(main, *front, "--help")[1] for front in ([], subcommand))
        for word in words:
            if re.match(r"--\w", word) and word.partition("=")[0] not in shown:
                return f"{called[0]} has no option {word}"
    return None


def run(command, last):
    """(status, what it said) of a command in the working directory; `last`: the status of the one before."""
    if command == "echo $?":
        return 0, str(last)
    module, words = ours(words_of(command)) or (None, [])
    files = {}
    while len(words) > 1 and words[-2] in (">", "<"):
        *words, sign, name = words
        files[sign] = name
    if not module or {"|", "&&", ";", ">", "<", "2"} & set(words) or "*" in command:
        command = re.sub(r"\bpython ", lambda _: f"{shlex.quote(sys.executable)} ", command)
        done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, encoding="utf-8", timeout=300,
                              env={**os.environ, "PYTHONPATH": str(made.ROOT)})
        return done.returncode, done.stdout + done.stderr
    stdin = Path(files["<"]).read_text(encoding="utf-8") if "<" in files else ""
    status, out, err = made.run(importlib.import_module(module).main, *words, stdin=stdin)
    if ">" in files:
        Path(files[">"]).write_text(out, encoding="utf-8")
    return status, ("" if ">" in files else out) + err
