"""Show what evaluate.py found to a person: the summary by budget, what failed, a case set's traps, a case turn by turn.

stale alone   cases whose request holds a stale fact and lacks a required one: the model reads what was replaced and
              not what replaced it. Where both stand, the later one reads last.
"""

import re
import sys

from base.result_files import levels, stale_alone
from base.shown import columns, one_line
from base.turns import fact_text
from selection.cases import ambiguous_facts, check_rendered, check_requests, load_cases, refuse
from selection.facts import notes_sent
from selection.run import run_one, selector_table, with_input
from strategies import available, render, turn_costs, turn_messages, turn_text, words
from tokenizer import counter
from tokens.manifest import MANIFEST

SHOWN = 20  # lines of a kind in a terminal
TEXT = 72  # characters of a text that --explain shows
WORD_RULES = ("relevant", "notes", "hybrid")  # know a-z, 0-9 and English cues only, as published
HEADINGS = ("strategy", "split", "facts", "recall", "complete", "stale", "stale alone", "over", "mean tokens", "")


def print_lines(lines, limit=SHOWN):
    """Lines on standard error, those after `limit` as a number."""
    lines = list(map(one_line, lines))
    if limit and len(lines) > limit:
        lines[limit:] = [f"and {len(lines) - limit} more, all in the report"]
    sys.stderr.writelines(line + "\n" for line in lines)


def summary_lines(report):
    """The summary as lines, by budget; the splits are told apart where there are two."""
    for budget, level in levels(report).items():
        if budget is not None:
            yield f"input budget {budget}"
        rows = [[name, split, *summary_cells(figures, [row for row in level["cases"][name] if row["split"] == split])]
                for name, by_split in level["summary"].items()
                for split, figures in by_split.items()]
        one_split = len({split for _, split, *_ in rows}) == 1
        yield from columns([[name, *cells] if one_split else [name, split, *cells]
                            for name, split, *cells in [HEADINGS, *rows]])


def summary_cells(figures, rows):
    """What the table says of one strategy and split."""
    failed = f"{figures['errors']} failed" if "errors" in figures else ""
    if not figures["cases"]:
        return ["-"] * 7 + [failed]
    return [f"{figures['facts_found']}/{figures['facts_total']}", figures["fact_recall"],
            f"{figures['complete_cases']}/{figures['cases']}", figures["cases_with_stale_facts"],
            sum(map(stale_alone, rows)), figures["over_budget"], figures["mean_input_tokens"], failed]


def complaints(report):
    """A line for each kind of failure of a selector: what it was, in how many cases, and the first of them."""
    for budget, level in levels(report).items():
        at = "" if budget is None else f" at {budget} tokens"
        for name, rows in level["cases"].items():
            kinds = {}
            for row in rows:
                problem = row.get("error")
                if problem or not row["within_budget"]:
                    problem = problem or f"over budget with {row['input_tokens']} tokens"
                    place = re.search(r"\([^()]+, line \d+\)\Z", problem)  # of the same error in the same line
                    kind = (re.sub(r"\d+", "0", problem.partition(":")[0]), place and place[0])
                    kinds.setdefault(kind, []).append((row["case"], problem))
            for (case, problem), *others in kinds.values():
                where = f"{len(others) + 1} cases, first {case!r}" if others else f"case {case!r}"
                yield f"{name}{at}, {where}: {problem}"


def failed_cases(report):
    """A line for each case that some rule failed: what its request lacks, or holds and should not."""
    for budget, level in levels(report).items():
        at = "" if budget is None else f" at {budget} tokens"
        for rows in zip(*level["cases"].values()):
            failed = [f"{name} {what}" for name, row in zip(level["cases"], rows) if (what := failing(row))]
            if failed:
                yield f"{rows[0]['case']}{at}: {'; '.join(failed)}"


def failing(row):
    """What is wrong with a row, or "": failing({"missing": ["x"], "required_total": 2, ...}) -> "lacks 1 of 2"."""
    if "error" in row:
        return "raised an error"
    parts = {f"lacks {len(row['missing'])} of {row['required_total']}": row["missing"],
             f"holds {len(row['stale_included'])} stale": row["stale_included"],
             "is over budget": not row["within_budget"]}
    return ", ".join(part for part, holds in parts.items() if holds)


def remarks(cases, names):
    """What to know of a case set before its figures are believed."""
    for case, fact, turns in ambiguous_facts(cases):
        numbers = ", ".join(str(turn + 1) for turn in turns)
        where = f"turns {numbers}" if len(turns) > 1 else f"turn {numbers} inside a longer word or number"
        yield (f"case {case!r}: the fact {fact!r:.80} stands in {where}: another statement may be taken for it; "
               'name its turn, {"turn": id, "text": text}')
    unread = [case for case in cases if not re.search("[a-z0-9]", case["current"].lower())]
    if unread and (blind := [name for name in WORD_RULES if name in names]):
        yield (f"{len(unread)} of {len(cases)} questions have no word that {', '.join(blind)} can read (a-z, 0-9, "
               "English cues); bm25, near and near-messages read other scripts")


def explain(path, case_id, names, grade, budgets=None, manifest=None):
    """(lines about one case for each budget and strategy, turns counted from 1; whether one failed or went over)."""
    cases = [case for case in load_cases(path) if case["id"] == case_id]
    refuse(not cases and "no such case in the set", path, case_id, "name one by its id")
    selectors, count = selector_table(names), counter(manifest or MANIFEST)
    check_rendered(cases, count, path)
    lines, failed = [], False
    for budget in budgets or (None,):
        case = with_input(cases[0], budget)
        check_requests([case], count, path)
        history, alone = case["history"], count(render(case, []))
        costs = [count(render(case, [number])) - alone if cost is None else cost
                 for number, cost in enumerate(turn_costs(case, count, range(len(history))))]
        lines += [f"case {one_line(case['id'])} ({case['split']}, {one_line(case['kind'])})",
                  f"question: {one_line(case['current'], TEXT)}",
                  f"input budget {available(case)} tokens; instructions and question alone {alone}",
                  *(f"  turn {number}  {cost:6} tokens  {one_line(turn_text(turn), TEXT)}"
                    for number, (turn, cost) in enumerate(zip(history, costs), 1))]
        for name, select in selectors.items():
            selected, problem = run_one(name, select, case, count, checked=True)
            row = None if problem else grade(case, selected)
            lines += ["", *(about_choice(name, case, selected, row, costs) if row else
                            [f"{name}: failed: {one_line(problem)}"])]
            failed = failed or not row or not row["within_budget"]
    return lines, failed


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
    if name in ("recent", "notes"):
        newer = [turn for turn in range(number + 1, len(case["history"])) if turn not in selected["turns"]]
        return f"not reached: turn {newer[-1] + 1} did not fit and ended the walk" if newer else (
            f"does not fit: costs {cost}")
    left = available(case) - selected["input_tokens"]
    too_much = f"costs {cost} where {left} are left" if cost > left else ""
    if name in ("relevant", "hybrid"):
        shared = sorted(words(case["current"]) & words(turn_text(case["history"][number])))
        return f"shares {', '.join(shared)}, but {too_much or 'was not taken'}" if shared else (
            "shares no word with the question")
    return too_much or "scored too low or nothing"
