"""A recording of answers: what it may hold, whether its answers are as they were recorded, and where it is kept.

recording  {"model": {...}, "answers": {strategy: {case id: [entry]}}} and, where it was made by `record`, "recorded":
           what identifies server, requests and answers
entry      {"seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"}, counts in tokens, or
           {"seed", "incomplete"} for a reply that never became an answer
hashes     recorded.answers_sha256 is over all answers, recorded.requests.STRATEGY.CASE.entries_sha256 over each: an
           answer that was edited is named. A file that was forged as a whole, hashes included, cannot be told.
"""

import json

from base.command import InputError, read_json, sha256
from base.shapes import Each, misfit

WHOLE = {"seed": int, "answer": str, "tool_calls": list, "done_reason": str, "prompt_tokens": int,
         "answer_tokens": int, "thinking?": str}
INCOMPLETE = {"seed": int, "incomplete": lambda kind: isinstance(kind, str) and kind != ""}
REQUEST = {"input_tokens?": int, "messages_sha256?": str, "entries_sha256?": [str]}
RECORDING = {"model": dict, "answers": Each(Each([object], least=1), least=1),
             "recorded?": {"requests?": Each(Each(REQUEST)), "answers_sha256?": str}}


def entry_misfit(entry, place):
    """Where an entry has not the shape of one, as text; None where it has."""
    return misfit(entry, INCOMPLETE if isinstance(entry, dict) and "incomplete" in entry else WHOLE, place)


def read_recording(path):
    """The recording in a file, or InputError naming the first place that is not as it should be."""
    data = read_json(path)
    if problem := misfit(data, RECORDING, "it"):
        raise InputError(f"{path}: no recording: {problem}; give one that answer_check.py record wrote")
    seeds, whole = None, json_hash(data["answers"])
    for strategy, cases in data["answers"].items():
        for case, entries in cases.items():
            check_entries(entries, sent_request(data, strategy, case), f"{path}: {strategy}/{case}")
        own = {case: sorted(entry["seed"] for entry in entries) for case, entries in cases.items()}
        seeds = seeds or own
        if own != seeds:
            raise InputError(f"{path}: strategy {strategy!r} has other cases or seeds than the first; record it whole")
    if data.get("recorded", {}).get("answers_sha256", whole) != whole:
        raise InputError(f"{path}: the answers are not those that were recorded: their hash differs; record again")
    return data


def answered(recording):
    """[(strategy, case id, entries), ...] of everything that was answered, in recorded order."""
    return [(strategy, case, entries) for strategy, cases in recording["answers"].items()
            for case, entries in cases.items()]


def sent_request(recording, strategy, case):
    """What a recording says of the request of a strategy and case; {} where it says nothing."""
    return recording.get("recorded", {}).get("requests", {}).get(strategy, {}).get(case, {})


def check_entries(entries, sent, where):
    """Nothing, or InputError for the first entry of a case that is misshapen, edited, or of a cut prompt."""
    hashes = sent.get("entries_sha256", [])
    for number, entry in enumerate(entries):
        if problem := entry_misfit(entry, f"answer {number + 1}"):
            raise InputError(f"{where}: {problem}; correct it")
        place, tokens = f"{where} seed {entry['seed']}", sent.get("input_tokens")
        if entry["seed"] in [other["seed"] for other in entries[:number]]:
            raise InputError(f"{place}: stands twice; each answer needs a seed of its own")
        if hashes and hashes[number : number + 1] != [json_hash(entry)]:
            raise InputError(f"{place}: this answer was edited after it was recorded; restore it or record again")
        if tokens is not None and "incomplete" not in entry and entry["prompt_tokens"] != tokens:
            raise InputError(
                f"{place}: the prompt was {entry['prompt_tokens']} tokens and the request {tokens}; never graded")
    if not entries or len(hashes) > len(entries):
        raise InputError(f"{where}: answers are missing; record it again")


def json_hash(value):
    """SHA-256 of a JSON value, whatever the order of its fields."""
    return sha256(json.dumps(value, sort_keys=True))


def same_as_recorded(recording):
    """What is known of whether a recording's answers are those that were recorded, in words."""
    if "answers_sha256" in recording.get("recorded", {}):  # read_recording has compared it
        return "by the recording's own hash"
    return "not known: the recording has no hash of its answers"


def is_recording(path):
    """Whether a file is a recording, however damaged: nothing else is ever replaced by one, and it is kept beside."""
    try:
        return misfit(read_json(path), {"model": object, "answers": object}) is None
    except InputError:
        return False
