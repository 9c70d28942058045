"""Read a case set and refuse one that would make a strategy look bad for its author's mistake.

A case set is a list of cases, or the larger form that importers write, in which cases share histories:

    {"format": 1, "histories": {name: [turn, ...]}, "cases": [case, ...]}    a case's history is then a name

case    exactly id, split ("dev" or "held_out"), kind, instructions, current (the question), history, budget
        (context_limit, max_new_tokens, margin, in tokens), required and stale (lists of facts)
turn    user and assistant (texts), and optionally id, session, date (texts) and messages: the tool calls and results
        between the two (base/turns.py checks them)
fact    a text that stands inside one message of the history, or {"turn": id, "text": text}: that text of that turn
What needs a tokenizer is checked when a run starts (`check_requests`, `check_rendered`).
"""

import json
import re
from functools import cache
from itertools import count as numbers_from
from itertools import product
from pathlib import Path

from base.command import InputError, as_text, parse_json, read_bytes, sha256
from base.shapes import Each, Only, misfit, texts_in
from base.turns import fact_text, history_problem
from strategies import NOTES_HEADER, available, per_history, render, turn_messages

CASE = Only({"id": str, "split": str, "kind": str, "instructions": str, "current": str, "history": object,
             "budget": Only({"context_limit": int, "max_new_tokens": int, "margin": int}),
             "required": list, "stale": list})
LARGER = Only({"format": int, "histories": Each(object), "cases": list})
TURN_FACT = Only({"turn": str, "text": str})
SPLITS = ("dev", "held_out")
known_holders = per_history(lambda history: {})  # text -> numbers of turns, filled by `holders`
NOTES_FRAME = (NOTES_HEADER, "<notes>", "</notes>", "Question: ")


class CaseError(InputError):
    """A case set that cannot be used. `problem`: what is wrong, without place and remedy."""

    def __init__(self, text, problem=None):
        super().__init__(text)
        self.problem = problem or text


def refuse(problem, path, name=None, remedy="correct that place"):
    """CaseError where there is a problem; it names the file, the case and what to do."""
    if problem:
        raise CaseError(f"{path}: {'' if name is None else f'case {name!r}: '}{problem}; {remedy}", problem)


def load_cases(path):
    """The cases of a file as dicts, each with its turns as `history` (one list for all that share it), or CaseError."""
    return read_set(path)[0]


def read_set(path):
    """(cases, SHA-256 of the bytes they were read from) of a file or a pipe, which is read once, or CaseError."""
    path = Path(path)
    refuse(misfit(path.name, str) and "a file name that is not UTF-8: no report can hold it", path, None, "rename it")
    try:
        data = read_bytes(path)
        value = parse_json(as_text(data, path), path)
    except InputError as error:
        raise CaseError(f"{error}; nothing was run") from None
    return check_set(value, path), sha256(data)


def check_set(value, path):
    """The cases of a parsed case set of either form, or CaseError for the first thing wrong with it."""
    histories = None
    if isinstance(value, dict):
        refuse(misfit(value, LARGER, "the case set"), path)
        refuse(value["format"] != 1 and f"format {value['format']} is unknown, not 1", path)
        histories, value = value["histories"], value["cases"]
        for name, history in histories.items():
            refuse(history_problem(history, f"histories[{name!r}]"), path)
    refuse(not isinstance(value, list) and "the case set is no list", path, None, "put the cases into [ ]")
    refuse(not value and "the case set is empty", path, None, "a run over nothing shows nothing: add a case")
    seen = set()
    return [check_case(case, number, path, histories, seen) for number, case in enumerate(value, 1)]


def check_case(case, number, path, histories, seen):
    """One case with its history in place, or CaseError. `seen` holds the ids so far."""
    name = case["id"] if isinstance(case, dict) and isinstance(case.get("id"), str) else f"number {number}"
    refuse(misfit(case, CASE, "the case"), path, name)
    for field in ("id", "current"):
        refuse(not case[field].strip() and f"{field} is blank", path, name)
    refuse(case["split"] not in SPLITS and f"split {case['split']!r} is unknown, not {' or '.join(SPLITS)}", path, name)
    refuse(name in seen and "the id stands twice in the set", path, name, "rename one of the two")
    seen.add(name)
    history = case["history"]
    if histories is None:
        refuse(history_problem(history), path, name)
    else:
        known = isinstance(history, str) and history in histories
        refuse(not known and f"history {history!r:.60} names none of histories", path, name)
        history = histories[history]
    for field, tokens in case["budget"].items():
        refuse(tokens < 0 and f"budget.{field} is {tokens}", path, name, "give a whole number of tokens")
    refuse(available(case) <= 0 and f"budget leaves {available(case)} tokens for input", path, name,
           "raise context_limit, or lower max_new_tokens or margin")
    case = {**case, "history": history}
    check_facts(case, path)
    return case


def check_facts(case, path):
    """CaseError for facts that every strategy would find, or none, or only together with another one."""
    name = case["id"]
    for field in ("required", "stale"):
        for number, fact in enumerate(case[field]):
            check_fact(fact, case, path, f"{field}[{number}]")
            refuse(fact in case[field][:number] and f"{field} holds {fact_text(fact)!r} twice", path, name)
    refuse(not case["required"] and "required is empty", path, name, "name a fact that a correct answer depends on")
    for fact, stale in product(case["required"], case["stale"]):
        text, other = fact_text(fact), fact_text(stale)
        refuse(fact == stale and f"{text!r} is both required and stale", path, name)
        refuse((fact_turn(fact) in (None, fact_turn(stale)) and text in other
                or fact_turn(stale) in (None, fact_turn(fact)) and other in text)
               and f"the required {text!r} and the stale {other!r} hold one another: finding one finds both",
               path, name, "make them longer or shorter until they differ")


def check_fact(fact, case, path, field):
    """CaseError unless the fact occurs inside one message of the history and nowhere else in the request."""
    name, history = case["id"], case["history"]
    refuse(misfit(fact, TURN_FACT if isinstance(fact, dict) else str, field), path, name)
    text, where = fact_text(fact), "the history"
    refuse(not text.strip() and f"{field} is blank", path, name)
    if isinstance(fact, dict):
        number = turn_numbers(history).get(fact["turn"])
        refuse(number is None and f"{field} names the turn {fact['turn']!r}", path, name, "give the id of a turn")
        history, where = [history[number]], f"turn {fact['turn']!r}"
    else:
        for place in ("instructions", "current"):
            refuse(text in case[place] and f"{field}: {text!r} already stands in {place}, so every strategy finds it",
                   path, name, "reword one of them")
        roles = ("user", "assistant", "tool")
        marks = (f"- [turn {number}, {role}] " for number in range(1, len(history) + 1) for role in roles)
        problem = f"{field}: {text!r} also stands in what frames a note, so every note would hold it"
        refuse(any(text in part for part in (*NOTES_FRAME, *marks)) and problem, path, name, "make it longer")
    contents = [message["content"] for turn in history for message in turn_messages(turn)]
    if not any(text in content for content in contents):
        across = any(text in between.join(contents) for between in (" ", "\n", ""))
        only = ", only across two that are joined" if across else ""
        refuse(f"{field}: {text!r} occurs in no message of {where}{only}", path, name, "copy it from one message")


def fact_turn(fact):
    """The turn's id of a fact that names one, else None: fact_turn("no") -> None."""
    return fact["turn"] if isinstance(fact, dict) else None


@per_history
def turn_numbers(history):
    """Turn id -> number of the turn in the history."""
    return {turn["id"]: number for number, turn in enumerate(history) if "id" in turn}


def holders(history, text):
    """Numbers of the turns whose messages hold the text: holders([{"user": "ab", "assistant": ""}], "b") -> [0]."""
    known = known_holders(history)
    if text not in known:
        known[text] = [number for number, turn in enumerate(history)
                       if any(text in message["content"] for message in turn_messages(turn))]
    return known[text]


def ambiguous_facts(cases):
    """[(case id, fact, turns from 0), ...] of texts that stand in two turns, or inside a longer word or number."""
    plain = [(case, fact, holders(case["history"], fact)) for case in cases
             for fact in [*case["required"], *case["stale"]] if isinstance(fact, str)]
    return [(case["id"], fact, turns) for case, fact, turns in plain
            if len(turns) > 1 or any(inside_word(fact, message["content"])
                                     for turn in turns for message in turn_messages(case["history"][turn]))]


def inside_word(text, content):
    """Whether a text stands inside a longer word or number somewhere: inside_word("4 h", "24 h") -> True.

    Words are those of scripts that put blanks between them, which stand before U+0E00 in Unicode.
    """
    letter = "[^\\W\u0e00-\U0010ffff]"
    inside = rf"(?:(?<={letter})(?={letter})|(?<=\d[.,])(?=\d)|(?<=\d)(?=[.,]\d))"
    return re.search(f"{inside}{re.escape(text)}|{re.escape(text)}{inside}", content) is not None


def fact_places(case):
    """(text, turn number, place in the turn) of every message that a fact of the case may be found by."""
    for fact in [*case["required"], *case["stale"]]:
        text, history = fact_text(fact), case["history"]
        for number in [turn_numbers(history)[fact["turn"]]] if isinstance(fact, dict) else holders(history, text):
            for place, message in enumerate(turn_messages(history[number])):
                if text in message["content"]:
                    yield text, number, place


def check_rendered(cases, count, path):
    """CaseError for a fact that the chat template does not write, as it is or as in a JSON string.

    Graders read messages, the model reads the rendering. Each message that holds a fact is rendered once.
    """
    rendering = cache(lambda messages: count.text(json.loads(messages)))
    for case in cases:
        for text, number, place in fact_places(case):
            run = turn_messages(case["history"][number])
            try:
                before, with_it = (rendering(json.dumps(messages)) for messages in alone(run, place))
            except InputError as error:
                raise CaseError(f"{path}: case {case['id']!r}: turn {number + 1}: {error}; nothing was run") from None
            refuse(not any(with_it.count(form) > before.count(form) for form in written_forms(text))
                   and f"{text!r}: the chat template cuts it out of turn {number + 1} ({run[place]['role']})",
                   path, case["id"], "name what the model gets to read, without white space at its ends")


def written_forms(text):
    """How a template may write a text, as it is or as in JSON: written_forms("é") -> ("é", "é", "\\\\u00e9")."""
    return text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


def alone(run, place):
    """(a turn and a question without texts, the same with one message's), a sign that it lacks for all others."""
    sign = next(chr(code) for code in numbers_from(0x4E00) if chr(code) not in run[place]["content"])
    bare = [{**message, "content": message["content"] and sign} for message in run]
    if bare[-1]["role"] != "assistant" or "tool_calls" in bare[-1]:
        bare.append({"role": "assistant", "content": sign})
    bare.append({"role": "user", "content": sign})
    return bare, [*bare[:place], run[place], *bare[place + 1 :]]


def check_requests(cases, count, path):
    """CaseError for what only a tokenizer can tell: a control token in a text, a question too long for its budget."""
    checked = set()
    for case in cases:
        history, texts = case["history"], [(field, case[field]) for field in ("instructions", "current")]
        if id(history) not in checked:
            checked.add(id(history))
            texts += [(f"turn {number}", text) for number, turn in enumerate(history, 1)
                      for text in texts_in([turn["user"], turn["assistant"], turn.get("messages", [])])]
        for where, text in texts:
            token = count.control_token(text)
            refuse(token is not None and f"{where} holds the model's control token {token}", path, case["id"],
                   "the template would act on it: write it another way")
        try:
            needed, room = count(render(case, [])), available(case)
        except InputError as error:
            raise CaseError(f"{path}: case {case['id']!r}: {error}; nothing was run", str(error)) from None
        problem = f"instructions and question alone cost {needed} tokens, the budget leaves {room} for input"
        refuse(needed > room and problem, path, case["id"], "shorten them or raise context_limit")
