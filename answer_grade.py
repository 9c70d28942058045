"""Grade recorded answers: does each state the facts it should, and no replaced decision as current?

Run:  not a script; `python answer_check.py` prints what `report` gives.

Version 1 is the published rule and the default. Version 2 (answer_claims.py) reads numbers, negations and corrections
as a person would. Neither is a judge of a whole answer: both look for the patterns of answer-keys.json.

What is no whole answer is never graded; `incomplete_kind` names why. Does not read files, and needs no tokenizer.

verdict  {"grade": "pass", "fail" or "incomplete"}, and "why": "said_missing", "missing", "stale_as_current" or the
         kind of incompleteness
"""

import re

import answer_claims
from answer_keys import MAX_GRADED_CHARS

REPLACED = re.compile(
    r"\b(?:replaced|instead|not|no longer|switched|changed|actually|previous|originally|earlier)\b", re.IGNORECASE
)
SAID_MISSING = re.compile(
    r"\b(?:do not|don't|does not|doesn't) (?:have|say|mention|state|specify|contain)\b"
    r"|\bnot (?:mention|state|specif|provide|includ|contain)"
    r"|\bno information\b|\bnot enough information\b|\bmissing\b|\bnot in the conversation\b"
    r"|\bcannot (?:find|determine)\b|\bprovide (?:more |the )?(?:context|conversation)\b",
    re.IGNORECASE,
)
THINKING = re.compile(r"<\|?channel\|?>|</?think(?:ing)?>", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
COUNTS = ("pass", "fail", "incomplete", "said_missing", "stale_as_current", "cases_passed_every_trial")


def sentences(text):
    """The sentences of an answer: cut after . ! or ? and white space."""
    return SENTENCE_END.split(text.strip())


def incomplete_kind(entry):
    """Why an entry is no whole answer, or None: a name that the report counts it under."""
    if "incomplete" in entry:
        return entry["incomplete"]
    if entry.get("thinking") or THINKING.search(entry["answer"]):
        return "thinking"
    if not entry["answer"].strip():
        return "empty_text"
    if entry["done_reason"] != "stop":
        return "cut_by_length" if entry["done_reason"] == "length" else "unknown_end"
    if len(entry["answer"]) > MAX_GRADED_CHARS:
        return "too_long"
    return None


def states_stale_as_current(text, key):
    """Version 1: a stale pattern in a sentence that neither speaks of a replacement nor holds a must pattern."""
    return any(
        any(pattern.search(sentence) for pattern in key["stale"])
        and not REPLACED.search(sentence)
        and not any(pattern.search(sentence) for pattern in key["must"])
        for sentence in sentences(text)
    )


def facts_given(text, key):
    """Version 1: for each must pattern in turn, whether it matches anywhere in the answer."""
    return [bool(pattern.search(text)) for pattern in key["must"]]


def says_missing(text):
    """Version 1: the answer says that it lacks the information, or asks for it."""
    return bool(SAID_MISSING.search(text))


GRADERS = {
    1: (facts_given, states_stale_as_current, says_missing),
    2: (answer_claims.facts_given, answer_claims.states_stale_as_current, answer_claims.says_missing),
}


def grade(entry, key, version=1):
    """The verdict on one entry under one key, by the published order: incomplete, stale, missing, pass."""
    given, stale, missing = GRADERS[version]
    kind = incomplete_kind(entry)
    if kind:
        return {"grade": "incomplete", "why": kind}
    if stale(entry["answer"], key):
        return {"grade": "fail", "why": "stale_as_current"}
    if not all(given(entry["answer"], key)):
        return {"grade": "fail", "why": "said_missing" if missing(entry["answer"]) else "missing"}
    return {"grade": "pass"}


def verdicts(recording, keys, version=1):
    """{strategy: {case: [verdict]}} for a whole recording, entries in their recorded order."""
    return {
        strategy: {case: [grade(entry, keys[case], version) for entry in entries] for case, entries in cases.items()}
        for strategy, cases in recording["answers"].items()
    }


def summarize(cases):
    """The counts of one strategy's verdicts; kinds of incompleteness stand beside them where there are any."""
    every = [verdict for found in cases.values() for verdict in found]
    counts = {
        "pass": sum(v["grade"] == "pass" for v in every),
        "fail": sum(v["grade"] == "fail" for v in every),
        "incomplete": sum(v["grade"] == "incomplete" for v in every),
        "said_missing": sum(v.get("why") == "said_missing" for v in every),
        "stale_as_current": sum(v.get("why") == "stale_as_current" for v in every),
        "cases_passed_every_trial": sum(all(v["grade"] == "pass" for v in found) for found in cases.values()),
    }
    kinds = sorted({v["why"] for v in every if v["grade"] == "incomplete"})
    if kinds:
        counts["incomplete_kinds"] = {kind: sum(v.get("why") == kind for v in every) for kind in kinds}
    return counts


def report(recording, keys, version=1):
    """The published report: a summary for each strategy, and every grade. Another grader than version 1 is named."""
    found = verdicts(recording, keys, version)
    named = {} if version == 1 else {"grader": version}
    return {
        **named,
        "summary": {strategy: summarize(cases) for strategy, cases in found.items()},
        "graded": {
            strategy: {case: [verdict["grade"] for verdict in row] for case, row in cases.items()}
            for strategy, cases in found.items()
        },
    }


def table(summary):
    """The summary as lines of text for a person, each kind of incompleteness on a line of its own."""
    lines = [f"{'strategy':<10}" + "".join(f"{name.replace('_', ' '):>{len(name) + 2}}" for name in COUNTS)]
    for strategy, counts in summary.items():
        lines.append(f"{strategy:<10}" + "".join(f"{counts[name]:>{len(name) + 2}}" for name in COUNTS))
    for strategy, counts in summary.items():
        for kind, number in counts.get("incomplete_kinds", {}).items():
            lines.append(f"incomplete, not graded: {strategy} {kind} {number}")
    return "\n".join(lines)
