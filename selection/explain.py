"""Show one case in the terminal: each turn, what it costs, and why each strategy took it or not.

Run:  python evaluate.py --explain held-spread

Text of the conversation is shown on one line with its control characters replaced: it is data, not layout.
"""

from strategies import NOTES_RESERVE, available, render, turn_messages, turn_text, words
from tokenizer import counter
from tokens.manifest import MANIFEST

from selection.cases import CaseError, check_requests, load_cases
from selection.run import run_one, selector_table, with_input

SHOWN = 72  # characters of a text


def explain(path, case_id, names, grade, budgets=None, manifest=None):
    """Lines of text about one case of a set, for each budget and each strategy of `names`; grade as in run_cases."""
    cases = [case for case in load_cases(path) if case["id"] == case_id]
    if not cases:
        raise CaseError(path, case_id, "no such case in the set", "name one by its id")
    table, count = selector_table(names), counter(manifest or MANIFEST)
    for budget in budgets or (None,):
        case = with_input(cases[0], budget)
        check_requests([case], count, path)
        yield from about_case(case, count)
        for name, select in table.items():
            yield ""
            selected, problem = run_one(name, select, case, count, {})
            if problem is None:
                yield from about_choice(name, case, selected, grade(case, selected), count)
            else:
                yield f"{name}: failed: {one_line(problem)}"


def about_case(case, count):
    """The question, what it costs alone, and each turn with its cost."""
    alone = count(render(case, []))
    yield f"case {one_line(case['id'])} ({case['split']}, {one_line(case['kind'])})"
    yield f"question: {one_line(case['current'])}"
    yield f"input budget {available(case)} tokens; instructions and question alone {alone}"
    for number, cost in enumerate(turn_costs(case, count)):
        yield f"  turn {number}  {cost:6} tokens  {one_line(turn_text(case['history'][number]))}"


def about_choice(name, case, selected, row, count):
    """What one strategy chose: every turn with the reason, the facts found, missing and stale."""
    yield f"{name}: {selected['input_tokens']} tokens, {selected['notes']} notes"
    costs = turn_costs(case, count)
    for number, cost in enumerate(costs):
        taken = number in selected["turns"]
        why = "taken" if taken else why_not(name, number, case, selected, cost)
        yield f"  turn {number}  {'+' if taken else '-'} {why}"
    for message in selected["messages"][-1:]:
        if selected["notes"]:
            for line in message["content"].splitlines():
                if line.startswith("- ["):
                    yield f"  note    {one_line(line)}"
    yield f"  found {row['required_found']} of {row['required_total']}"
    for label, facts in (("missing", row["missing"]), ("stale", row["stale_included"])):
        for fact in facts:
            yield f"  {label}: {one_line(fact if isinstance(fact, str) else fact['text'])}"


def why_not(name, number, case, selected, cost):
    """Why a turn was left out, as far as the rule's own terms tell."""
    room = available(case) - (NOTES_RESERVE if name == "notes" else 0)
    left = room - selected["input_tokens"]
    if name in ("recent", "notes"):
        newer = [turn for turn in range(number + 1, len(case["history"])) if turn not in selected["turns"]]
        if newer:
            return f"not reached: turn {newer[-1]} did not fit and ended the walk"
        return f"does not fit: costs {cost}"
    if name in ("relevant", "hybrid"):
        shared = sorted(words(case["current"]) & words(turn_text(case["history"][number])))
        if not shared:
            return "shares no word with the question"
        return f"shares {', '.join(shared)}, but costs {cost} where {left} are left" if cost > left else "not taken"
    return f"costs {cost} where {left} are left" if cost > left else "scored too low or nothing"


def turn_costs(case, count):
    """What each turn adds to a request with nothing else in it, in tokens."""
    alone = count(render(case, []))
    pieces = count.part([turn_messages(turn) for turn in case["history"]])
    return [count(render(case, [number])) - alone if cost is None else cost for number, cost in enumerate(pieces)]


def one_line(text):
    """Text on one line, cut to a width, with what a terminal would act on replaced."""
    flat = "".join(character if character.isprintable() else " " for character in text)
    flat = " ".join(flat.split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"
