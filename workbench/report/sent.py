"""Make the requests behind a report's rows again, so that the page can show what was selected.

A request without notes follows from the row's turns; one with notes is selected again by the named rule. Either is
shown only if it costs exactly the recorded tokens. A selector of the user's own file is never run for a page: what a
report names is data. Where a request cannot be made again the cell says why.
"""

import hashlib
import json
from pathlib import Path

from base.result_files import graded, levels
from selection.cases import load_cases
from selection.run import find_selector, with_input
from strategies import escape, render, turn_messages
from tokenizer import MANIFEST, TokenizerError, counter

from base.command import InputError, progress
from workbench.report.view import shown_cases

ROOT = Path(__file__).parents[2]
PAGE_CHARACTERS = 4_000_000  # of requests on one page; the cells after that show their figures
KEEP_FRONT, KEEP_BACK = 500, 300  # characters of a long stretch without a fact


def read_requests(path, report, given, shown, only):
    """({(budget, strategy, case id): {"messages"} or {"problem"}}, notes for the page) for the cells that are shown."""
    cases_path = find_cases(path, report, given)
    if cases_path is None:
        return {}, [f"The case set {report['case_set']} that was hashed is not at hand, so cells show figures alone; "
                    "--cases FILE names it."]
    cases, notes = {case["id"]: case for case in load_cases(cases_path)}, []
    count = counter_of(report, notes)
    found, written = {}, 0
    for budget, strategy, row in progress(shown_rows(report, shown, only), desc="requests"):
        case = with_input(cases[row["case"]], None if budget is None else int(budget))
        view = {"problem": "left out to keep the page small; --only shows a single case"}
        if written < PAGE_CHARACTERS:
            view = request_view(case, strategy, row, count)
            written += sum(len(part["text"]) for one in view.get("messages", ()) for part in one["parts"])
        found[budget, strategy, row["case"]] = view
    return found, notes


def shown_rows(report, shown, only):
    """[(budget, strategy, row)] of the cells that the page shows and that hold a grade."""
    rows = []
    for budget, level in levels(report).items():
        names = set(only or shown_cases(level["cases"], shown))
        rows += [(budget, strategy, row)
                 for strategy, found in level["cases"].items()
                 for row in found
                 if row["case"] in names and graded(row)]
    return rows


def find_cases(path, report, given):
    """The file of the case set that the report hashed, or None; InputError where the given file is another set."""
    name = Path(report["case_set"]).name
    for candidate in [given] if given else [path.parent / name, Path(name), ROOT / name]:
        try:
            if hashlib.sha256(candidate.read_bytes()).hexdigest() == report["case_set_sha256"]:
                return candidate
        except OSError as error:
            if given:
                raise InputError(f"{given}: cannot be read: {error.strerror}; name the case set") from None
    if given:
        raise InputError(f"{given}: not the case set that {path} was made from (its hash differs); give that one")
    return None


def counter_of(report, notes):
    """The counter that the report used, or None with the reason added to `notes`."""
    if hashlib.sha256(MANIFEST.read_bytes()).hexdigest() != report["tokenizer_manifest_sha256"]:
        notes.append("Counted with another tokenizer than the pinned one: requests are shown without a check of cost.")
        return None
    try:
        return counter()
    except TokenizerError as error:
        notes.append(f"Requests with notes are not shown, others without a check of their cost: {error}.")
        return None


def request_view(case, strategy, row, count):
    """{"messages": [{"role", "parts"}]} of the request behind a row, or {"problem"}."""
    messages = again(case, strategy, row, count)
    if messages is None:
        return {"problem": "the request could not be made again: another rule, counter or file than recorded"}
    facts = [fact for fact in case["required"] if fact not in row["missing"]]
    marks = [("found", words) for words in map(words_of, facts)]
    marks += [("stale", words) for words in map(words_of, row["stale_included"])]
    return {"messages": [{"role": label, "parts": shorten(mark_parts(text_of(message), marks))}
                         for label, message in zip(labels(case, row, messages), messages)]}


def again(case, strategy, row, count):
    """The messages of the request that the row recorded, or None where they cannot be shown to be the same."""
    if row["notes"] == 0 and "@" not in strategy and all(turn < len(case["history"]) for turn in row["turns"]):
        messages = render(case, row["turns"])
        if count is None or count(messages) == row["input_tokens"]:
            return messages
    if count is None or ".py" in strategy:
        return None
    select = rule(strategy)
    selected = select and select(case, count)
    same = selected and all(selected[field] == row[field] for field in ("turns", "notes", "input_tokens"))
    return selected["messages"] if same else None


def rule(name):
    """The project's own selector of that name, or None."""
    try:
        return find_selector(name)
    except InputError:
        return None


def words_of(fact):
    """The words of a fact of either form."""
    return fact if isinstance(fact, str) else fact["text"]


def text_of(message):
    """What a message says, its tool calls as JSON below."""
    calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls") or ()]
    return "\n".join([part for part in (message.get("content"),) if part] + calls)


def labels(case, row, messages):
    """Whose each message is, with its turn where the request is made of whole turns."""
    plain = [message["role"] for message in messages]
    turns = [turn for turn in row["turns"] for _ in turn_messages(case["history"][turn])]
    front = 1 if plain[0] == "system" else 0
    if len(plain) != front + len(turns) + 1:
        return plain
    middle = [f"turn {turn + 1}, {role}" for turn, role in zip(turns, plain[front:])]
    return [*plain[:front], *middle, "question" if row["notes"] == 0 else "notes and question"]


def mark_parts(text, marks):
    """[{"mark": None, "found" or "stale", "text"}] of a text; a fact is marked as written or as escaped in a note.

    Where two facts overlap the one that begins first is marked, the longer of two that begin together.
    """
    places = []
    for mark, words in marks:
        for form in dict.fromkeys((words, escape(words))):
            start = text.find(form)
            while start >= 0:
                places.append((start, -len(form), mark))
                start = text.find(form, start + len(form))
    parts, end = [], 0
    for start, negative, mark in sorted(places):
        if start < end:
            continue
        parts += [{"mark": None, "text": text[end:start]}, {"mark": mark, "text": text[start : start - negative]}]
        end = start - negative
    return [part for part in [*parts, {"mark": None, "text": text[end:]}] if part["text"]]


def shorten(parts):
    """The parts with the middle of long unmarked stretches left out, saying how much."""
    shown = []
    for part in parts:
        text = part["text"]
        left = len(text) - KEEP_FRONT - KEEP_BACK
        if part["mark"] or left < 200:
            shown.append(part)
            continue
        shown += [{"mark": None, "text": text[:KEEP_FRONT]},
                  {"mark": "cut", "text": f" … {left:,} characters not shown … "},
                  {"mark": None, "text": text[-KEEP_BACK:]}]
    return shown
