"""Read the JSON object out of a model's reply, say what was wrong with it, and ask again.

Linear in any reply's length. A repair never changes a value; where it could, the reply is refused (README.md lists
what is repaired and what is not). What it cannot know: an object among a model's thoughts that comes first and parses
is taken for the reply; a single-quoted list that holds the one text  a', 'b  reads as two texts.
"""

import json
import re
from contextlib import suppress

from base.command import parse_json
from base.shown import one_line
from modelkit import check_whole
from modelkit.braces import NEXT, STRING, candidates, ends_surely, with_places

_COMMAS = re.compile(rf"{STRING}|'(?:[^'\\]++|\\.?)*+'?|[\[{{,:]\s*+,|(,)(?=\s*+[}}\]])", re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'(?:[^'\\]++|\\[^'])*+'")
_LATER_END = re.compile(r"(?s:.*?)'\s*+(?:[}\]]|,\s*+['}\]])")
# After a repair, what tells that a string is still open where the object seems to end.
_ENDS_BEFORE = {"trailing comma removed": re.compile(r'[^"]*+"\s*+[:,}\]]'), "single quotes swapped": _LATER_END,
                "comma and quotes": _LATER_END}
_FENCE_LINE = re.compile(r" {0,3}(?:`{3,}+|~{3,}+)\s*[\w.+#-]*\s*")
_NO_OBJECT = "no complete JSON object in the reply"
_NOT_REPAIRED = "found an object but could not repair it"
LONGEST = 200  # characters of a problem that a retry quotes
_CUT = "the reply was cut off before its object ended (truncated); raise the output allowance"
_TYPES = {kind.__name__: kind for kind in (str, int, float, bool, list, dict)}


def extract_json(text):
    """The text of the first balanced object or None: extract_json('See {"a": "}"}.') -> '{"a": "}"}'."""
    return next((text[start:end] for start, end in candidates(text) if end is not None), None)


def strip_fence(text):
    """A text without its Markdown fence lines, but in an object: strip_fence("~~~json\\n{}\\n~~~") -> "{}\\n"."""
    objects, kept, place = [span for span in candidates(text) if span[1] is not None][::-1], [], 0
    for line in text.splitlines(keepends=True):
        while objects and objects[-1][1] <= place:
            objects.pop()
        if objects and objects[-1][0] < place or not _FENCE_LINE.fullmatch(line):
            kept.append(line)
        place += len(line)
    return "".join(kept)


def drop_trailing_commas(text):
    """The text without trailing commas outside strings: drop_trailing_commas('["a,]",]') -> '["a,]"]'."""
    return _COMMAS.sub(lambda match: "" if match[1] else match[0], text)


def quotes_to_double(text):
    """The text with double quotes: quotes_to_double("{'a': 1}") -> '{"a": 1}'; ValueError where a value could change.

    Each has to open after { [ , or : and to close before } ] , or : (or at an end of the text).
    """
    if '"' in text:
        raise ValueError("the text already has a double quote; swapping quotes could corrupt a value")
    swapped, done = [], 0
    for string in _SINGLE_QUOTED.finditer(text):
        between, after = text[done:string.start()], NEXT.match(text, string.end())[1]
        opens = between.rstrip()[-1:] in tuple("{[,:") or (not done and not between.strip())
        if not opens or after not in (None, *"}],:"):
            break
        swapped += [between, '"', string[0][1:-1], '"']
        done = string.end()
    if "'" in text[done:]:
        raise ValueError("a single quote is not clearly a delimiter (an apostrophe?); swapping could corrupt a value")
    return "".join([*swapped, text[done:]])


def parse_reply(text):
    """(object, repair), or (None, why not); never raises: parse_reply("{'a': 1,}") -> ({"a": 1}, "comma and quotes").

    The first candidate that parses and is not empty wins, an empty one when nothing else looked like an object. One in
    a list, or under a key of an object that cannot be read, is not the one that was asked for.
    """
    return _read(text)[:2]


def diagnose(text):
    """"complete", "truncated" (raise the output limit) or "not an object at all": diagnose('{"a"') -> "truncated"."""
    return _read(text)[2]


def _read(text):
    """(object or None, what it took or why not, diagnosis)."""
    empty, unreadable = (None, _NO_OBJECT, "not an object at all"), False
    for start, end, is_part in with_places(text) if isinstance(text, str) else ():
        if end is None:
            return None, _NO_OBJECT, "truncated"
        if is_part:
            continue
        value, took = _parse(text[start:end])
        if took in _ENDS_BEFORE and _ENDS_BEFORE[took].match(text, end):
            return None, _NOT_REPAIRED, "complete"  # {'a': 'x'}y'}: the brace that ends it may be part of a value
        if value:
            return value, took, "complete"
        if value is None:
            unreadable = True
            if not ends_surely(text, start, end):
                break
        elif empty[0] is None:
            empty = value, took, "complete"
    return (None, _NOT_REPAIRED, "complete") if unreadable else empty


def _parse(text):
    """(the object, what it took) or (None, None)."""
    forms = {text: "none needed"}
    forms.setdefault(drop_trailing_commas(text), "trailing comma removed")
    if "'" in text and '"' not in text:
        with suppress(ValueError):  # the first two forms may still parse
            swapped = quotes_to_double(text)  # before the commas: one inside single quotes is no trailing comma
            forms.setdefault(swapped, "single quotes swapped")
            forms.setdefault(drop_trailing_commas(swapped), "comma and quotes")
    for form, took in forms.items():
        with suppress(ValueError, RecursionError):
            value = parse_json(form, "reply")
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate could never be written again
            if isinstance(value, dict):
                return value, took
    return None, None


def python_type(kind):
    """The type that a schema or a tool's arguments name: a Python type, or its name as text."""
    named = _TYPES.get(kind) if isinstance(kind, str) else kind
    if not isinstance(named, type):
        raise ValueError(f"unknown type {kind!r}; use one of {', '.join(_TYPES)}")
    return named


def has_type(value, kind):
    """Whether a JSON value is of the type: has_type(True, int) -> False; has_type(1, float) -> True."""
    wanted = python_type(kind)
    return wanted is bool if isinstance(value, bool) else isinstance(value, (int, float) if wanted is float else wanted)


def validate(obj, schema):
    """The problems of an object in plain English, schema order first; empty when it is valid.

    validate({"n": True}, {"n": {"type": "int"}}) -> ["n must be a whole number, not true or false"]

    schema  field -> {"type": a type or its name, "required": bool (default false), "one_of": values,
            "range": (least, most), "digits": true for text of the digits 0-9 only}; each rule is optional
    """
    if not isinstance(obj, dict):
        return [f"the top level is a {type(obj).__name__}, not an object"]
    problems = []
    for field, rule in schema.items():
        if field in obj:
            problems += _field_problems(field, obj[field], rule)
        elif rule.get("required"):
            problems.append(f"missing required field: {field}")
    return problems + [f"unexpected field: {field}" for field in obj if field not in schema]


def _field_problems(field, value, rule):
    if "type" in rule and not has_type(value, rule["type"]):
        wanted = python_type(rule["type"])
        if isinstance(value, bool) and wanted in (int, float):
            return [f"{field} must be a {'whole ' if wanted is int else ''}number, not true or false"]
        return [f"{field} must be a {wanted.__name__}, got a {type(value).__name__}"]
    (least, most), choices = rule.get("range", (None, None)), rule.get("one_of", ())
    choice = (value, isinstance(value, bool))  # in Python true is 1
    broken = {
        f"one of {', '.join(map(str, choices))}":
            "one_of" in rule and choice not in [(one, isinstance(one, bool)) for one in choices],
        f"from {least} to {most}": "range" in rule and not (has_type(value, float) and least <= value <= most),
        "digits only": rule.get("digits") and not (isinstance(value, str) and value.isascii() and value.isdigit())}
    return [f"{field} must be {wanted}, got {value!r}" for wanted, is_broken in broken.items() if is_broken]


def ask_for_object(model, base_prompt, validate, max_attempts=3):
    """(object, history), the object None where no reply was valid within `max_attempts`.

    model(prompt) -> reply text; validate(obj) -> problems (the caller's; `validate` above with its schema bound does).
    A rejected reply is asked for again with its problems quoted, each on one line, since it may quote what the model
    said. history holds {"attempt", "problems"} for each. A truncated one ends the loop: a larger allowance helps.
    """
    check_whole(1, max_attempts=max_attempts)
    history, prompt = [], base_prompt
    for attempt in range(1, max_attempts + 1):
        obj, _, diagnosis = _read(model(prompt))
        unread = _CUT if diagnosis == "truncated" else "the reply contained no usable JSON object"
        problems = [unread] if obj is None else list(validate(obj))
        history.append({"attempt": attempt, "problems": problems})
        if not problems:
            return obj, history
        if problems == [_CUT]:
            break
        prompt = "\n".join([base_prompt, "", "PROBLEMS TO FIX:", *(
            f"- {one_line(problem, LONGEST)}" for problem in problems)])
    return None, history
