"""Show a report of evaluate.py to a person: the summary by budget, what failed, and what to know of a case set.

stale alone   cases whose request holds a stale fact and lacks a required one: the model reads what was replaced and
              not what replaced it. Where both stand, the later one reads last.
"""

import re
import sys

from base.result_files import levels, stale_alone
from base.shown import columns, one_line
from selection.cases import ambiguous_facts

SHOWN = 20  # lines of a kind in a terminal
WORD_RULES = ("relevant", "notes", "hybrid")  # know a-z, 0-9 and English cues only, as published
HEADINGS = ("strategy", "split", "facts", "recall", "complete", "stale", "stale alone", "over", "mean tokens", "")


def tell(lines, limit=SHOWN):
    """Lines on standard error, those after `limit` as a number."""
    lines = list(lines)
    for line in lines[:limit]:
        print(one_line(line), file=sys.stderr)
    if len(lines[:limit]) < len(lines):
        print(f"and {len(lines) - limit} more, all in the report", file=sys.stderr)


def table(report):
    """The summary as lines, by budget; the splits are told apart where there are two."""
    for budget, level in levels(report).items():
        if budget is not None:
            yield f"input budget {budget}"
        rows = [[name, split, *cells(figures, [row for row in level["cases"][name] if row["split"] == split])]
                for name, by_split in level["summary"].items()
                for split, figures in by_split.items()]
        lines = [HEADINGS, *rows]
        if len({row[1] for row in rows}) == 1:
            lines = [[line[0], *line[2:]] for line in lines]
        yield from columns(lines)


def cells(figures, rows):
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
                if problem is None and not row["within_budget"]:
                    problem = f"over budget with {row['input_tokens']} tokens"
                if problem is not None:
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
    parts = [f"lacks {len(row['missing'])} of {row['required_total']}" if row["missing"] else "",
             f"holds {len(row['stale_included'])} stale" if row["stale_included"] else "",
             "" if row["within_budget"] else "is over budget"]
    return ", ".join(part for part in parts if part)


def remarks(cases, names):
    """What to know of a case set before its figures are believed."""
    for case, fact, turns in ambiguous_facts(cases):
        where = f"turn {turns[0] + 1} inside a longer word or number"
        if len(turns) > 1:
            where = f"turns {', '.join(str(turn + 1) for turn in turns)}"
        yield (f"case {case!r}: the fact {fact!r:.80} stands in {where}: another statement may be taken for it; "
               'name its turn, {"turn": id, "text": text}')
    unread = [case for case in cases if not re.search("[a-z0-9]", case["current"].lower())]
    if unread and (blind := [name for name in WORD_RULES if name in names]):
        yield (f"{len(unread)} of {len(cases)} questions have no word that {', '.join(blind)} can read (a-z, 0-9, "
               "English cues); bm25, near and near-messages read other scripts")
