"""Make the requests behind a report's rows again, and grade them again.

A request without notes follows from the row's turns; one with notes or single messages is selected again by the named
rule. Either is shown only if it costs exactly the recorded tokens; where its grade is not the row's both are told. A
rule of one's own (FILE.py:NAME) is never run for a page. Where a request cannot be made again the cell says why.
"""

import json
import re
from contextlib import suppress
from pathlib import Path

from base.command import InputError, file_hash, progress
from base.own_code import is_own
from base.result_files import fact_name, graded, levels
from base.turns import fact_text
from evaluate import grade
from selection.cases import load_cases
from selection.run import find_selector, with_input
from strategies import escape, render, turn_messages
from tokenizer import TokenizerError, counter
from workbench.report.view import chosen_cases

ROOT = Path(__file__).parents[2]
PAGE_CHARACTERS = 4_000_000  # of requests on one page; the cells after that show their figures
KEEP_FRONT, KEEP_BACK = 500, 300  # characters of a long stretch without a fact
OWN = "a rule of one's own is not run for a page, for safety: what a report names is data"
SELECTED = ("turns", "notes", "input_tokens")  # what a row records of a selection beside its messages
ELSE = "the request could not be made again: another rule, counter or file than recorded"


def request_views(path, report, args):
    """({(budget, strategy, case id): {"messages", "disagreement"} or {"problem"}}, notes) for the cells on the page."""
    cases_path = find_cases(path, report, args.cases)
    if cases_path is None:
        return {}, [f"The case set {report['case_set']} that was hashed is not at hand, so cells show figures alone; "
                    "--cases FILE names it."]
    cases, notes = {case["id"]: case for case in load_cases(cases_path)}, []
    count = counter_of(report, args.tokenizer, notes)
    cells = [(budget, strategy, row) for budget, level in levels(report).items()
             for names in [set(chosen_cases(level["cases"], args))] for strategy, rows in level["cases"].items()
             for row in rows if row["case"] in names and graded(row)]
    views, written = {}, 0
    for budget, strategy, row in progress(cells, desc="requests"):
        case, view = cases.get(row["case"]), {"problem": "left out to keep the page small; --only shows a single case"}
        if case is None:
            view = {"problem": "the case set has no case of this name"}
        elif written < PAGE_CHARACTERS:
            view = request_view(with_input(case, None if budget is None else int(budget)), strategy, row, count)
            written += sum(len(part["text"]) for message in view.get("messages", ()) for part in message["parts"])
        views[budget, strategy, row["case"]] = view
    if disagree := sum(bool(view.get("disagreement")) for view in views.values()):
        notes.append(f"{disagree} requests, graded again, do not give their rows: another grader's, or edited.")
    return views, notes


def find_cases(path, report, given):
    """The file of the case set that the report hashed, or None; InputError where the given file is another set."""
    name = Path(report["case_set"]).name
    for candidate in [given] if given else [path.parent / name, Path(name), ROOT / name]:
        if (given or candidate.is_file()) and file_hash(candidate) == report["case_set_sha256"]:
            return candidate
    if given:
        raise InputError(f"{given}: not the case set that {path} was made from (its hash differs); give that one")
    return None


def counter_of(report, manifest, notes):
    """The counter that the report used, or None with the reason added to `notes`."""
    try:
        if file_hash(manifest) == report["tokenizer_manifest_sha256"]:
            return counter(manifest)
        notes.append("Counted with another tokenizer than this one: requests are shown without a check of cost; "
                     "--tokenizer MANIFEST names the model that was counted for.")
    except TokenizerError as error:
        notes.append(f"Requests with notes are not shown, others without a check of their cost: {error}.")
    return None


def request_view(case, strategy, row, count):
    """{"messages": [{"role", "parts"}], "disagreement"} of the request behind a row, or {"problem"}."""
    messages = remade(case, strategy, row, count)
    if messages is None:
        return {"problem": OWN if is_own(strategy) else ELSE}
    fresh = grade(case, {"messages": messages, **{field: row[field] for field in SELECTED}})
    marks = [("found", fact_text(fact)) for fact in case["required"] if fact not in fresh["missing"]]
    marks += [("stale", fact_text(fact)) for fact in fresh["stale_included"]]
    return {"messages": [{"role": label, "parts": shorten(mark_parts(message_text(message), marks))}
                         for label, message in zip(labels(case, row, messages), messages)],
            "disagreement": disagreement(row, fresh)}


def disagreement(row, fresh):
    """How the grade of the request differs from the recorded row, as text; "" where it does not."""
    told = []
    for field in ("missing", "stale_included", "within_budget", "required_found", "required_total"):
        was, now = (", ".join(map(fact_name, value)) or "none" if isinstance(value, list) else value
                    for value in (row[field], fresh[field]))
        told += [f"{field}: recorded {was}; now {now}"] if was != now else []
    return "; ".join(told)


def remade(case, strategy, row, count):
    """The messages that the row recorded, or None where they cannot be shown to be the same."""
    if row["notes"] == 0 and all(0 <= turn < len(case["history"]) for turn in row["turns"]):
        messages = render(case, row["turns"])
        if count is None or count(messages) == row["input_tokens"]:
            return messages
    if count is not None and not is_own(strategy):
        with suppress(InputError):
            selected = find_selector(strategy)(case, count)
            if selected == {"messages": selected["messages"], **{field: row[field] for field in SELECTED}}:
                return selected["messages"]
    return None


def message_text(message):
    """What a message says, its tool calls as JSON below."""
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls") or ()]
    return "\n".join(filter(None, [message.get("content"), *calls]))


def labels(case, row, messages):
    """The role of each message, with its turn where the request is made of whole turns."""
    roles = [message["role"] for message in messages]
    turns = [turn for turn in row["turns"] for _ in turn_messages(case["history"][turn])]
    front = int(roles[0] == "system")
    if len(roles) != front + len(turns) + 1:
        return roles
    told = [f"turn {turn + 1}, {role}" for turn, role in zip(turns, roles[front:])]
    return [*roles[:front], *told, "question" if row["notes"] == 0 else "notes and question"]


def mark_parts(text, marks):
    """[{"mark": None, "found" or "stale", "text"}] of a text; a fact is marked as it stands or as escaped in a note.

    Where two facts overlap the one that begins first is marked, the longer of two that begin together.
    """
    forms = {form: mark for mark, words in reversed(marks) for form in (words, escape(words))}
    pattern = "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or r"\Z"
    parts = [{"mark": forms.get(part) if number % 2 else None, "text": part}
             for number, part in enumerate(re.split(f"({pattern})", text))]
    return [part for part in parts if part["text"]]


def shorten(parts):
    """The parts with the middle of long unmarked stretches left out, saying how much."""
    short = []
    for part in parts:
        text, left = part["text"], len(part["text"]) - KEEP_FRONT - KEEP_BACK
        middle = f" … {left:,} characters not shown … "
        cut = [(None, text[:KEEP_FRONT]), ("cut", middle), (None, text[-KEEP_BACK:])]
        short += [part] if part["mark"] or left < 200 else [{"mark": mark, "text": piece} for mark, piece in cut]
    return short
