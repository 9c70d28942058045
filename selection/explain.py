"""Show one case in the terminal: each turn, what it costs, and why each strategy took it or not.

Run:  python evaluate.py --explain held-spread

Text of the conversation is shown on one line with its control characters written out: it is data, not layout.
"""

from base.shown import one_line
from base.turns import fact_text
from selection.cases import check_rendered, check_requests, load_cases, refuse
from selection.facts import notes_sent
from selection.run import run_one, selector_table, with_input
from strategies import NOTES_RESERVE, available, render, turn_costs, turn_messages, turn_text, words
from tokenizer import counter
from tokens.manifest import MANIFEST

SHOWN = 72  # characters of a text


def explain(path, case_id, names, grade, budgets=None, manifest=None):
    """(lines about one case of a set for each budget and each strategy of `names`, whether one failed or went over).

    grade(case, selection) gives a row, as in run_cases. Turns are counted from 1.
    """
    cases = [case for case in load_cases(path) if case["id"] == case_id]
    refuse(not cases and "no such case in the set", path, case_id, "name one by its id")
    selectors, count = selector_table(names), counter(manifest or MANIFEST)
    check_rendered(cases, count, path)
    lines, failed = [], False
    for budget in budgets or (None,):
        case = with_input(cases[0], budget)
        check_requests([case], count, path)
        costs = [count(render(case, [number])) - count(render(case, [])) if cost is None else cost
                 for number, cost in enumerate(turn_costs(case, count, range(len(case["history"]))))]
        lines += about_case(case, costs, count)
        for name, select in selectors.items():
            selected, problem = run_one(name, select, case, count, {})
            if problem is None:
                row = grade(case, selected)
                lines += ["", *about_choice(name, case, selected, row, costs)]
            else:
                lines += ["", f"{name}: failed: {one_line(problem)}"]
            failed = failed or problem is not None or not row["within_budget"]
    return lines, failed


def about_case(case, costs, count):
    """The question, what it costs alone, and each turn with its cost."""
    yield f"case {one_line(case['id'])} ({case['split']}, {one_line(case['kind'])})"
    yield f"question: {one_line(case['current'], SHOWN)}"
    yield f"input budget {available(case)} tokens; instructions and question alone {count(render(case, []))}"
    for number, (turn, cost) in enumerate(zip(case["history"], costs), 1):
        yield f"  turn {number}  {cost:6} tokens  {one_line(turn_text(turn), SHOWN)}"


def about_choice(name, case, selected, row, costs):
    """What one strategy chose: every turn with the reason, every note, the facts found, missing and stale."""
    yield f"{name}: {selected['input_tokens']} tokens, {selected['notes']} notes"
    for number, cost in enumerate(costs):
        taken = number in selected["turns"]
        why = taken_part(case["history"][number], selected) if taken else why_not(name, number, case, selected, cost)
        yield f"  turn {number + 1}  {'+' if taken else '-'} {why}"
    if selected["notes"]:
        notes = [note for _, note in notes_sent(case, selected)]
        if len(notes) != selected["notes"]:  # another rule's: all that stands before the question
            notes = selected["messages"][-1]["content"].removesuffix(case["current"]).splitlines()
        yield from (f"  note    {one_line(note)}" for note in notes)
    yield f"  found {row['required_found']} of {row['required_total']}"
    for label, facts in (("missing", row["missing"]), ("stale", row["stale_included"])):
        yield from (f"  {label}: {one_line(fact_text(fact))}" for fact in facts)


def taken_part(turn, selected):
    """Which messages of a chosen turn are sent: a rule may choose single ones, and show a session's date elsewhere."""
    sent = [message.get("content") or "" for message in selected["messages"][:-1]]
    roles = [message["role"] for message in turn_messages(turn)
             if message in selected["messages"] or message["content"] and any(
                 message["content"].removeprefix(f"[{turn.get('date')}] ") in content for content in sent)]
    return "taken" if len(roles) == len(turn_messages(turn)) else f"taken in part: {', '.join(roles)}"


def why_not(name, number, case, selected, cost):
    """Why a turn was left out, as far as the rule's own terms tell."""
    room = available(case) - (NOTES_RESERVE if name == "notes" else 0)
    left = room - selected["input_tokens"]
    if name in ("recent", "notes"):
        newer = [turn for turn in range(number + 1, len(case["history"])) if turn not in selected["turns"]]
        if newer:
            return f"not reached: turn {newer[-1] + 1} did not fit and ended the walk"
        return f"does not fit: costs {cost}"
    if name in ("relevant", "hybrid"):
        shared = sorted(words(case["current"]) & words(turn_text(case["history"][number])))
        if not shared:
            return "shares no word with the question"
        return f"shares {', '.join(shared)}, but costs {cost} where {left} are left" if cost > left else "not taken"
    return f"costs {cost} where {left} are left" if cost > left else "scored too low or nothing"
