"""What answers are graded by: a recording, whether it is as it was recorded, and keys that match in bounded time.

recording  {"model": {...}, "answers": {strategy: {case id: [entry]}}} and, where it was made by `record`, "recorded":
           what identifies server, requests and answers
entry      {"seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"}, counts in tokens, or
           {"seed", "incomplete"} for a reply that never became an answer
hashes     recorded.answers_sha256 is over all answers, recorded.requests.STRATEGY.CASE.entries_sha256 over each: an
           answer that was edited is named; recorded.sha256 is over the rest of it and "model". A file that was forged
           as a whole, hashes included, cannot be told.
keys       {case id: {"must": [compiled pattern], "stale": [compiled pattern]}}; a pattern that could run without end is
           refused: Python cannot stop it. The bound is taken from its text and errs on the safe side
"""

import json
import re

from base.command import InputError, read_json, sha256
from base.shapes import Each, Only, misfit, not_blank

WHOLE = {"seed": int, "answer": str, "tool_calls": list, "done_reason": str, "prompt_tokens": int,
         "answer_tokens": int, "thinking?": str}
INCOMPLETE = {"seed": int, "incomplete": not_blank}
REQUEST = {"input_tokens?": int, "messages_sha256?": str, "entries_sha256?": [str]}
RECORDING = {"model": dict, "answers": Each(Each([object], least=1), least=1),
             "recorded?": {"requests?": Each(Each(REQUEST)), "answers_sha256?": str, "sha256?": str}}
MAX_GRADED_CHARS = 8000
BLANKS = r"\s{0,9}"
THINKING = re.compile(  # marks of the models that people run: <think>, </thought>, <|channel>, <seed:think>, [THINK]
    rf"[<◁]{BLANKS}[/|]{{0,2}}{BLANKS}(?:seed{BLANKS}:{BLANKS}|(?:start|end|begin)[_ ](?:of[_ ])?|inner[_ ])?"
    rf"(?:channel|think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)(?:[_ ](?:start|end|begin|process))?"
    rf"(?:\s[^<>]{{0,80}})?"
    rf"{BLANKS}[/|]{{0,2}}{BLANKS}[>▷]|\[{BLANKS}/?{BLANKS}(?:think(?:ing)?|thoughts?|reasoning){BLANKS}\]",
    re.IGNORECASE)
WAYS_LIMIT = 4 * MAX_GRADED_CHARS  # one unbounded quantifier beside a small one, or a few small ones
KEYS = {"cases": Each(Only({"must": lambda texts: texts and misfit(texts, [str]) is None, "stale": [str]}), least=1)}
BOUNDS = {"*": "0,", "+": "1,", "?": "0,1"}
PART = re.compile(  # of a pattern: an escape, a set, the start or end of a group, an alternative, a quantifier
    r"(?P<reference>\\[1-9]|\(\?P=|\(\?\(|\(\?#|\(\?[a-zA-Z-]+[:)])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|(?P<open>\((?:\?(?:[:=!>]|<[=!]|P<\w+>))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<quantifier>[*+?]|\{(?:\d+(?:,\d*)?|,\d*)\})[?+]?|.", re.DOTALL)


def entry_misfit(entry, place):
    """Where an entry has not the shape of one, as text; None where it has."""
    return misfit(entry, INCOMPLETE if isinstance(entry, dict) and "incomplete" in entry else WHOLE, place)


def incomplete_kind(entry):
    """Why an entry is no whole answer, or None: incomplete_kind({"answer": " "}) -> "empty_text"."""
    if "incomplete" in entry:
        return entry["incomplete"]
    if entry.get("thinking") or THINKING.search(entry["answer"]):
        return "thinking"
    if not entry["answer"].strip():
        return "empty_text"
    if entry["done_reason"] != "stop":
        return "cut_by_length" if entry["done_reason"] == "length" else "unknown_end"
    return "too_long" if len(entry["answer"]) > MAX_GRADED_CHARS else None


def read_recording(path):
    """The recording in a file, or InputError naming the first place that is not as it should be."""
    data = read_json(path)
    if problem := misfit(data, RECORDING, "it"):
        raise InputError(f"{path}: no recording: {problem}; give one that answer_check.py record wrote")
    for strategy, case, entries, sent in answered(data):
        check_entries(entries, sent, f"{path}: {strategy}/{case}")
    seeds = {strategy: {case: sorted(entry["seed"] for entry in entries) for case, entries in cases.items()}
             for strategy, cases in data["answers"].items()}
    if odd := [strategy for strategy, own in seeds.items() if own != next(iter(seeds.values()))]:
        raise InputError(f"{path}: strategy {odd[0]!r} has other cases or seeds than the first; record it whole")
    recorded = data.get("recorded", {})
    if recorded.get("answers_sha256") not in (None, json_hash(data["answers"])):
        raise InputError(f"{path}: the answers are not those that were recorded: their hash differs; record again")
    if "sha256" in recorded and not has_own_hash({**recorded, "model": data["model"]}):
        raise InputError(f"{path}: 'model' or 'recorded' was edited after it was recorded; restore it or record again")
    return data


def answered(recording):
    """[(strategy, case id, entries, what is said of their request: a dict)] of all that was answered, in its order."""
    return [(strategy, case, entries, recording.get("recorded", {}).get("requests", {}).get(strategy, {}).get(case, {}))
            for strategy, cases in recording["answers"].items() for case, entries in cases.items()]


def check_entries(entries, sent, where):
    """Nothing, or InputError for the first entry of a case that is misshapen, edited, or of a cut prompt."""
    hashes, seeds = sent.get("entries_sha256", []), set()
    for number, entry in enumerate(entries):
        if problem := entry_misfit(entry, f"answer {number + 1}"):
            raise InputError(f"{where}: {problem}; correct it")
        place, tokens = f"{where} seed {entry['seed']}", sent.get("input_tokens")
        if entry["seed"] in seeds:
            raise InputError(f"{place}: stands twice; each answer needs a seed of its own")
        if hashes and hashes[number : number + 1] != [json_hash(entry)]:
            raise InputError(f"{place}: this answer was edited after it was recorded; restore it or record again")
        if tokens is not None and entry.get("prompt_tokens", tokens) != tokens:
            raise InputError(f"{place}: prompt of {entry['prompt_tokens']} tokens, request of {tokens}; never graded")
        seeds.add(entry["seed"])
    if not entries or len(hashes) > len(entries):
        raise InputError(f"{where}: answers are missing; record it again")


def json_hash(value):
    """SHA-256 of a JSON value, whatever the order of its fields."""
    return sha256(json.dumps(value, sort_keys=True))


def has_own_hash(value):
    """Whether "sha256" of a JSON object is the hash over its other fields."""
    return value["sha256"] == json_hash({name: value[name] for name in value if name != "sha256"})


def same_as_recorded(recording):
    """What is known of whether a recording's answers are those that were recorded, in words."""
    hashed = "answers_sha256" in recording.get("recorded", {})  # read_recording has compared it
    return "by the recording's own hash" if hashed else "not known: the recording has no hash of its answers"


def is_recording(path):
    """Whether a file is a recording, however damaged: nothing else is ever replaced by one, and it is kept beside."""
    try:
        return misfit(read_json(path), {"model": object, "answers": object}) is None
    except InputError:
        return False


def read_keys(path):
    """The keys in a file, patterns compiled, or InputError naming the case and pattern that cannot be used."""
    data = read_json(path)
    if problem := misfit(data, KEYS, "it"):
        raise InputError(f"{path}: no keys: {problem}; 'cases' maps case ids to must, at least one pattern, and stale")
    return {case: {kind: [compile_pattern(pattern, f"{path}: case {case!r}") for pattern in patterns]
                   for kind, patterns in key.items()} for case, key in data["cases"].items()}


def compile_pattern(pattern, where):
    """The pattern, compiled without regard to case, or InputError for one that is broken, empty or too costly."""
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
        if ways_to_match(pattern) > WAYS_LIMIT:
            raise ValueError("it could match in too many ways to end in time; use at most one unbounded quantifier")
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise InputError(f"{where}: pattern {pattern!r} is refused: {error}; correct it or write it plainly") from None
    if compiled.search(""):
        raise InputError(f"{where}: pattern {pattern!r} matches the empty text, so every answer; correct it")
    return compiled


def ways_to_match(pattern):
    """An upper bound on the ways to match at one place: ways_to_match("a{1,9}(?:b|c)") -> 18; or ValueError."""
    groups, inner = [[1, 0]], 1  # of each open group: ways of its parts, alternatives before the last; of the last part
    for part in PART.finditer(f"{pattern})"):  # the whole as a group
        kind, last, inner = part.lastgroup, inner, 1
        if kind == "reference":
            raise ValueError("it refers back to a group, sets flags or holds a comment")
        if kind == "open":
            groups.append([1, 0])
        elif kind == "bar":
            groups[-1][1] += 1
        elif kind == "quantifier":
            low, comma, high = BOUNDS.get(part[kind], part[kind][1:-1]).partition(",")
            low, high = int(low or 0), int(high or MAX_GRADED_CHARS) if comma else int(low)
            if last > 1 and high > 1:
                raise ValueError("a quantifier stands over a part that can itself match in several ways")
            groups[-1][0] *= max(1, min(high, MAX_GRADED_CHARS) - low + 1)
        elif kind == "close":
            ways, bars = groups.pop()
            inner = ways * (bars + 1)
            if groups:
                groups[-1][0] *= inner
    return inner


def check_covered(recording, keys, where):
    """Nothing, or InputError unless the keys are for exactly the cases that were recorded."""
    recorded = {case for cases in recording["answers"].values() for case in cases}
    for case in sorted(recorded ^ set(keys)):
        missing = "no key" if case in recorded else "a key but no recorded answer"
        raise InputError(f"{where}: case {case!r} has {missing}; grade a recording with the keys of its own cases")
