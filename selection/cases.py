"""Read a case set and refuse one that would make a strategy look bad for its author's mistake.

A case set is a list of cases, or the larger form that importers write, in which cases share histories:

    {"format": 1, "histories": {name: [turn, ...]}, "cases": [case, ...]}    a case's history is then a name

case    exactly id, split ("dev" or "held_out"), kind, instructions, current (the question), history, budget
        (context_limit, max_new_tokens, margin, in tokens), required and stale (lists of facts)
turn    user and assistant (texts), and optionally id, session, date (texts) and messages: the tool calls and results
        between the two (base/turns.py checks them)
fact    a text that stands inside one message of the history, or {"turn": id, "text": text}, found when that turn is
        in the request

Needs no tokenizer: `check_requests` checks what needs one when a run starts.
"""

from pathlib import Path

from base.shapes import texts_in
from base.turns import fact_text, history_problem
from strategies import NOTES_HEADER, available, render, turn_messages

from base.command import InputError, read_json

FORMAT = 1
FIELDS = ("id", "split", "kind", "instructions", "current", "history", "budget", "required", "stale")
TEXT_FIELDS = ("id", "split", "kind", "instructions", "current")
BUDGET_FIELDS = ("context_limit", "max_new_tokens", "margin")
SPLITS = ("dev", "held_out")
NOTES_FRAME = (NOTES_HEADER, "<notes>", "</notes>", "Question: ")
ROLES = ("user", "assistant", "tool")


class CaseError(InputError):
    """A case set that cannot be used. File, case, problem and remedy are fields, for a caller that lists them."""

    def __init__(self, path, case, problem, remedy):
        place = f"{path}: case {case!r}" if case is not None else str(path)
        super().__init__(f"{place}: {problem}; {remedy}")
        self.path, self.case, self.problem, self.remedy = path, case, problem, remedy

    def __reduce__(self):  # it has to come back whole from a worker process
        return CaseError, (self.path, self.case, self.problem, self.remedy)


def check_fields(value, needed, allowed, path, name, what):
    """CaseError unless the object has all the needed fields and no others than the allowed."""
    for field in needed:
        if field not in value:
            raise CaseError(path, name, f"{what} has no field {field!r}", "add it")
    extra = [field for field in value if field not in needed and field not in allowed]
    if extra:
        known = ", ".join([*needed, *allowed])
        raise CaseError(path, name, f"{what} has an unknown field {extra[0]!r}", f"remove it; the fields are {known}")


def check_text(value, path, name, field, blank=True):
    """CaseError unless the value is text that UTF-8 can hold, and not blank where that is no value."""
    if not isinstance(value, str):
        raise CaseError(path, name, f"{field} is {value!r:.60}, not a text", "put it in quotes")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"{field} holds half of a surrogate pair at character {error.start}"
        raise CaseError(path, name, problem, "write the whole character") from None
    if not blank and not value.strip():
        raise CaseError(path, name, f"{field} is blank", "give it a text")


def check_history(history, path, name, where):
    """CaseError unless the value is a list of turns with unique ids."""
    problem = history_problem(history, where)
    if problem:
        raise CaseError(path, name, problem, "correct that place")


def load_cases(path):
    """The cases of a file as dicts, each with its turns as `history` (one list for all that share it), or CaseError."""
    path = Path(path)
    try:
        value = read_json(path)
    except InputError as error:
        raise CaseError(path, None, str(error).removeprefix(f"{path}: "), "nothing was run") from None
    return check_set(value, path)


def check_set(value, path):
    """The cases of a parsed case set of either form, or CaseError for the first thing wrong with it."""
    histories = None
    if isinstance(value, dict):
        if type(value.get("format")) is not int or value["format"] != FORMAT:  # True and 1.0 equal 1
            raise CaseError(path, None, f"format {value.get('format')!r} is unknown", f"this lab reads format {FORMAT}")
        unknown = sorted(set(value) ^ {"format", "histories", "cases"})
        if unknown:
            raise CaseError(path, None, f"{unknown[0]!r} is missing or extra", "give format, histories and cases")
        histories, value = value["histories"], value["cases"]
        if not isinstance(histories, dict):
            raise CaseError(path, None, "histories is no object", "map each name to a list of turns")
        for name, history in histories.items():
            check_history(history, path, None, f"histories[{name!r}]")
    if not isinstance(value, list):
        raise CaseError(path, None, "the case set is no list", "put the cases into [ ]")
    if not value:
        raise CaseError(path, None, "the case set is empty", "a run over nothing shows nothing: add a case")
    seen, indexes = set(), {}
    return [check_case(case, number, path, histories, seen, indexes) for number, case in enumerate(value, 1)]


def check_case(case, number, path, histories, seen, indexes):
    """One case with its history in place, or CaseError. `seen` holds the ids so far, `indexes` turn ids by history."""
    name = case.get("id", f"number {number}") if isinstance(case, dict) else f"number {number}"
    if not isinstance(case, dict):
        raise CaseError(path, name, "is no object", f"give the fields {', '.join(FIELDS)}")
    check_fields(case, FIELDS, (), path, name, "the case")
    for field in TEXT_FIELDS:
        check_text(case[field], path, name, field, blank=field in ("kind", "instructions"))
    if case["split"] not in SPLITS:
        raise CaseError(path, name, f"split {case['split']!r} is unknown", f"use {' or '.join(SPLITS)}")
    if name in seen:
        raise CaseError(path, name, "the id stands twice in the set", "rename one of the two")
    seen.add(name)
    history = case["history"]
    if histories is not None:
        if not isinstance(history, str) or history not in histories:
            raise CaseError(path, name, f"history {history!r} names none of histories", "correct the name")
        history = histories[history]
    else:
        check_history(history, path, name, "history")
    check_budget(case["budget"], path, name)
    case = {**case, "history": history}
    if id(history) not in indexes:
        indexes[id(history)] = {turn["id"]: turn for turn in history if "id" in turn}
    check_facts(case, path, indexes[id(history)])
    return case


def check_budget(budget, path, name):
    """CaseError unless the budget has its three whole numbers and leaves room for input."""
    if not isinstance(budget, dict):
        raise CaseError(path, name, "budget is no object", f"give {', '.join(BUDGET_FIELDS)}")
    check_fields(budget, BUDGET_FIELDS, (), path, name, "budget")
    for field in BUDGET_FIELDS:
        if type(budget[field]) is not int or budget[field] < 0:  # type: a bool is an int to isinstance
            raise CaseError(path, name, f"budget, {field} is {budget[field]!r}", "give a whole number of tokens")
    left = available({"budget": budget})
    if left <= 0:
        remedy = "raise context_limit, or lower max_new_tokens or margin"
        raise CaseError(path, name, f"budget leaves {left} tokens for input", remedy)


def check_facts(case, path, turns):
    """CaseError unless every fact can be found by one strategy and missed by another. `turns`: by id."""
    name = case["id"]
    for field in ("required", "stale"):
        facts = case[field]
        if not isinstance(facts, list):
            raise CaseError(path, name, f"{field} is no list", "give a list of facts")
        for fact in facts:
            check_fact(fact, case, path, field, turns)
        for number, fact in enumerate(facts):
            if fact in facts[:number]:
                raise CaseError(path, name, f"{field} holds {fact_text(fact)!r} twice", "remove one of the two")
    if not case["required"]:
        raise CaseError(path, name, "required is empty", "name a fact that a correct answer depends on")
    for fact in case["required"]:
        if fact in case["stale"]:
            raise CaseError(path, name, f"{fact_text(fact)!r} is both required and stale", "keep one of the two")
        for stale in case["stale"]:
            one, other = fact_text(fact), fact_text(stale)
            if turn_of(fact) == turn_of(stale) and (one in other or other in one):
                problem = f"the required {one!r} and the stale {other!r} hold one another: finding one finds both"
                raise CaseError(path, name, problem, "make them longer or shorter until they differ")


def check_fact(fact, case, path, field, turns):
    """CaseError unless the fact occurs inside one message of the history and nowhere else in the request."""
    name = case["id"]
    if isinstance(fact, dict):
        check_fields(fact, ("turn", "text"), (), path, name, f"a fact of {field}")
        check_text(fact["text"], path, name, f"{field}, text", blank=False)
        if not isinstance(fact["turn"], str) or fact["turn"] not in turns:
            raise CaseError(path, name, f"{field} names the turn {fact['turn']!r}", "give the id of a turn")
        history, where = [turns[fact["turn"]]], f"turn {fact['turn']!r}"
    else:
        check_text(fact, path, name, f"a fact of {field}", blank=False)
        history, where = case["history"], "the history"
        for place in ("instructions", "current"):
            if fact in case[place]:
                problem = f"{field}: {fact!r} already stands in {place}, so every strategy finds it"
                raise CaseError(path, name, problem, "reword one of them")
        if in_frame(fact, len(history)):
            problem = f"{field}: {fact!r} also stands in what frames a note, so every note would hold it"
            raise CaseError(path, name, problem, "make it longer")
    text = fact_text(fact)
    contents = [message["content"] for turn in history for message in turn_messages(turn)]
    if not any(text in content for content in contents):
        problem = f"{field}: {text!r} occurs in no message of {where}"
        if text in " ".join(contents) or text in "\n".join(contents) or text in "".join(contents):
            problem += ", only across two that are joined"
        raise CaseError(path, name, problem, "copy it from one message, character by character")


def in_frame(fact, turns):
    """Whether a text stands in the block that notes stand in, or in the mark before a note: "- [turn 12, user] "."""
    marks = (f"- [turn {number}, {role}] " for number in range(1, turns + 1) for role in ROLES)
    return any(fact in part for part in NOTES_FRAME) or len(fact) < 32 and any(fact in mark for mark in marks)


def turn_of(fact):
    """The turn that a fact names, or None."""
    return fact["turn"] if isinstance(fact, dict) else None


def check_requests(cases, count, path):
    """CaseError for what only a tokenizer can tell: a control token in a text, a question too long for its budget."""
    checked = set()
    for case in cases:
        texts = [("instructions", case["instructions"]), ("current", case["current"])]
        if id(case["history"]) not in checked:
            checked.add(id(case["history"]))
            texts += [(f"turn {number}", text)
                      for number, turn in enumerate(case["history"], 1)
                      for text in texts_in([turn["user"], turn["assistant"], turn.get("messages", [])])]
        for where, text in texts:
            token = count.control_token(text)
            if token is not None:
                problem = f"{where} holds the model's control token {token}"
                raise CaseError(path, case["id"], problem, "the template would act on it: write it another way")
        try:
            needed, room = count(render(case, [])), available(case)
        except InputError as error:
            raise CaseError(path, case["id"], str(error), "nothing was run") from None
        if needed > room:
            problem = f"instructions and question alone cost {needed} tokens, the budget leaves {room} for input"
            raise CaseError(path, case["id"], problem, "shorten them or raise context_limit")
