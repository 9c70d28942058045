"""The journal of a recording under way: one line for each answer, on the disk before the next request is sent.

It lies beside the recording (answer-result.journal.jsonl beside answer-result.json), locked while it is open.

line       {"kind": "answer", "strategy", "case", "seed", "request", "entry"}
           {"kind": "aside", the same, "why"}, and "raw" (text) or "entry": what came and is no answer to keep
request    SHA-256 of the exact request, the server's version and build among it: an answer belongs to no other
entry      as in a recording (answers/recording.py)
"""

import os
from pathlib import Path

from answers.recording import entry_misfit
from base.command import InputError
from base.lines import LineFile, read_lines
from base.shapes import misfit

KEY_TYPES = {"strategy": str, "case": str, "seed": int, "request": str}
KEY = tuple(KEY_TYPES)
SHAPES = {"answer": {**KEY_TYPES, "entry": dict}, "aside": {**KEY_TYPES, "why": str}}


class Journal(LineFile):
    """An open, locked journal. `answers` maps (strategy, case, seed, request) to an entry, `asides` is a list."""

    def __init__(self, path):
        super().__init__(path)
        try:
            self.answers, self.asides = read_journal(path)
        except BaseException:
            os.close(self.file)
            raise

    def add_answer(self, key, entry):
        """Keep an answer: on the disk when this returns."""
        self.append({"kind": "answer", **dict(zip(KEY, key)), "entry": entry})
        self.answers[key] = entry

    def set_aside(self, key, why, **came):
        """Keep what came and is no answer to grade (raw=text or entry=entry), under the name of the reason."""
        line = {"kind": "aside", **dict(zip(KEY, key)), "why": why, **came}
        self.append(line)
        self.asides.append(line)


def read_journal(path):
    """(answers by key, lines set aside) of a journal, or InputError: a damaged one is for a person to look at."""
    answers, asides = {}, []
    for number, line in read_lines(path):
        kind = line.get("kind") if isinstance(line, dict) else None
        problem = misfit(line, SHAPES[kind], "it") if kind in ("answer", "aside") else "it is no line of a journal"
        if kind == "answer" and not problem:
            key, entry = tuple(line[name] for name in KEY), line["entry"]
            problem = (entry_misfit(entry, "its entry")
                       or entry["seed"] != line["seed"] and "its entry has another seed"
                       or key in answers and "it is a second answer to one request")
            answers[key] = entry
        elif not problem:
            asides.append(line)
        if problem:
            raise InputError(f"{path}: line {number}: {problem}; move the journal away")
    return answers, asides


def open_journal(out):
    """The locked journal of a recording, from which a stopped run goes on."""
    return Journal(Path(out).with_name(f"{Path(out).stem}.journal.jsonl"))
