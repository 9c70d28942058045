"""Keep what a judge said, so that the same contexts are graded again without it.

Run:  not a script; check.py, replay.py use it (--judge, --verdicts, --card).
Does not judge (judge.py).

A line of the file: {"key", "judge", "verdict", "answer", "problems"}; key is the SHA-256 of probe, expected answer and
context (items.question_key), judge is who judged. A line counts only for its own judge; the last one for a key holds.
A reply that could not be read is kept with the verdict null: that is known, and no verdict. A context that changed has
another key and so no verdict.
"""

import json
from functools import partial
from pathlib import Path

from command import InputError, read_json
from compaction.items import JUDGED, question_key
from compaction.journal import append_line, read_lines
from compaction.named import code_hash, load_function

FIELDS = ("key", "judge", "verdict", "answer", "problems")


class RecordedJudge:
    """A judge that answers from recorded verdicts and asks another judge, where there is one, for the rest."""

    def __init__(self, identity, known, ask=None, keep=None, card="unmeasured"):
        """`known`: key -> recorded line; `ask`: the judge behind it or None; `keep(line)` stores a new verdict."""
        self.identity, self.card = identity, card
        self._known, self._ask, self._keep = dict(known), ask, keep

    def __call__(self, question):
        key = question_key(question)
        line = self._known.get(key)
        if self._ask and (line is None or line["verdict"] is None):
            reply = self._ask(question)
            reply = reply if isinstance(reply, dict) else {}
            verdict = reply.get("verdict") if reply.get("verdict") in JUDGED else None
            line = {
                "key": key,
                "judge": self.identity,
                "verdict": verdict,
                "answer": reply.get("answer"),
                "problems": reply.get("problems", []),
            }
            self._known[key] = line
            if self._keep:
                self._keep(line)
        return line

    def about(self):
        """What a report says of the judge."""
        return {"identity": self.identity, "card": self.card}


def recorded_judge(name=None, path=None, card_path=None):
    """The judge that a command's options name: one to ask, recorded verdicts, or both; InputError where they differ."""
    ask = find_judge(name) if name else None
    lines = read_verdicts(path) if path and Path(path).exists() else []
    if ask:
        identity = ask.identity
    elif not lines:
        raise InputError(f"{path}: holds no recorded verdict; name a --judge to record some")
    else:
        identities = list({json.dumps(line["judge"], sort_keys=True): line["judge"] for line in lines}.values())
        if len(identities) > 1:
            raise InputError(f"{path}: holds verdicts of {len(identities)} judges; keep one judge to a file")
        identity = identities[0]
    known = {line["key"]: line for line in lines if line["judge"] == identity}
    return RecordedJudge(
        identity,
        known,
        ask,
        partial(append_line, path) if ask and path else None,
        read_card(card_path, identity) if card_path else "unmeasured",
    )


def find_judge(name):
    """The judge that a module:function or the file of a model block names; it has an `identity`."""
    if ":" in name and not Path(name).exists():
        function = load_function(name, "the file of a model block")
        identity = getattr(function, "identity", None) or {"function": name, "sha256": code_hash(function)}

        def ask(question):
            return function(question)

        ask.identity = identity
        return ask
    from compaction.judge import model_judge  # here, since most runs need no model

    return model_judge(name)


def read_verdicts(path):
    """The lines of a file of recorded verdicts; InputError names the first that is none.

    A last line that was cut off while it was written is no verdict: its question is asked again.
    """
    found = []
    for number, line in read_lines(path):
        place = f"{path}: line {number}"
        if not isinstance(line, dict) or set(line) != set(FIELDS):
            raise InputError(f"{place}: is no object with {', '.join(FIELDS)}; remove or correct it")
        if line["verdict"] is not None and line["verdict"] not in JUDGED:
            raise InputError(f"{place}: verdict is {line['verdict']!r}; use {', '.join(JUDGED)} or null")
        if not isinstance(line["key"], str) or len(line["key"]) != 64:
            raise InputError(f"{place}: key is no SHA-256; record the verdict again")
        found.append(line)
    return found


def read_card(path, identity):
    """The card in a file, as judge_check.py prints it, if it is this judge's; InputError otherwise."""
    card = read_json(path)
    if not isinstance(card, dict) or "judge" not in card or "agreement" not in card:
        raise InputError(f"{path}: is no card; make one with judge_check.py")
    if card["judge"] != identity:
        raise InputError(f"{path}: is the card of {card['judge']!r}, not of {identity!r}; measure this judge")
    return card


def judge_quality(card):
    """What stands beside each judged row: how good its judge was measured to be."""
    if card == "unmeasured":
        return "unmeasured judge"
    kappa = "undefined" if card["kappa"] is None else f"{card['kappa']:.2f}"
    return f"judge agrees on {card['agreement']['right']} of {card['agreement']['labels']}, kappa {kappa}"
