"""Turn results of compaction.check and compaction.replay into what the page and the Markdown summary show.

The matrix has a row for each item and a cell for each compactor; a cell holds the item's verdict after every
compaction, and opens to the line of the context that decided it. Unjudged and opaque are no pass and no fail.
"""

from base.command import InputError
from base.shown import one_line
from compaction import table as told
from compaction.fixtures.items import RETAINED
from compaction.replay.__main__ import summarize
from compaction.result_file import check_report
from workbench.report.view import blank_cell, fields, listed, of, section, table

MARKS = {"verbatim": "●", "supported": "●", "absent": "○", "contradicted": "!", "unjudged": "?", "opaque": "?"}
LOST = ("absent", "contradicted")
SIDES = ("candidate", "incumbent")
KEY = [("●", "kept at every compaction"), ("◐", "at some"), ("○", "at none"), ("!", "contradicted"),
       ("×", "not checked")]


def compaction_section(name, report, most, only=()):
    """The section of one result: rows with their gates, items that changed, items by compactors."""
    check_report(report, name)
    sides = [side for side in SIDES if side in report]
    names = [f"{side}: {report[side]['compactor']['name']}" for side in sides]
    compared = report.get("comparison")
    changes = {row["row"]: row["change"] for row in compared["rows"]} if compared else {}
    rows = [[row["name"], told.gate(row), row["state"], *([changes.get(row["row"], "no gate")] if compared else []),
             *(" ".join(filter(None, (told.value(one), told.share(one), told.judged_note(one))))
               for side in sides for one in [report[side]["rows"][place]]),
             told.interval(row)] for place, row in enumerate(report["candidate"]["rows"])]
    parts = [table("Rows and their gates", ["row", "gate", "state", *(["change"] if compared else []), *names, "95%"],
                   rows, text=range(9))]
    changed = compared["changed"] if compared else []
    trails = {}
    for side in sides:
        for item in report[side]["items"]:
            trails.setdefault((item["conversation_id"], item["item"]), {})[side] = item
    keys = [(one["conversation_id"], one["item"]) for one in changed]
    parts += listed("Items that changed, most harmful first", [
        change_entry(one, trails[key]["candidate"]["literal"]) for one, key in zip(changed, keys)])
    difficulties = [[one["tag"], *(f"{told.kept(side)} kept, {side['contradicted']} contradicted" for side in pair)]
                    for one, *pair in zip(*(report[side]["difficulties"] for side in sides[:1] + sides))
                    if one["decisions"]]
    if difficulties:
        parts.append(table("By difficulty", ["difficulty", *names], difficulties, text=range(3)))
    columns = {side: (heading, report[side]["compactor"]["name"]) for side, heading in zip(sides, names)}
    parts.append(items_matrix(trails, columns, most, only, keys))
    made = [pair for side in sides for pair in made_of(report[side], f"{side}.")] + fields(report, ["code"])
    notes = [told.heading(report["candidate"], report.get("incumbent")), *told.reasons(report["candidate"], compared),
             *(f"{side}: {line}" for side in sides for line in told.notes_on(report[side])),
             told.success_line(report["task_success"])]
    return section("compaction", name, parts, made, told.decision(report), notes)


def change_entry(one, literal):
    """An item that changed: what it says and the line of each side's context."""
    head = f"{one['item']} ({one['class']}) at compaction {one['compaction']}: {one['incumbent']} to {one['candidate']}"
    return head, [("item", literal), *((side, one_line(one[f"{side}_line"] or "(nothing like it)", 400))
                                       for side in ("incumbent", "candidate"))]


def items_matrix(trails, columns, most, only, changed):
    """A matrix part as a matrix of cases has it; changed items first, then lost ones.

    trails   {(conversation, item): {side: item}}; columns: {side: (heading, compactor)}
    """
    chosen = [key for key in trails if not only or key[1] in only]
    if not chosen:
        raise InputError(f"--only {', '.join(only)}: no such item in the result; take a name from it")
    if len(chosen) > most:
        chosen.sort(key=lambda key: (key not in changed, not any(
            verdict in LOST for item in trails[key].values() for verdict in item["verdicts"].values())))
    rows = [{"case": key[1], "kind": first["class"].replace("_", " "), "split": ", ".join([key[0], *first["tags"]]),
             "cells": [item_cell(trails[key].get(side)) | {"strategy": name} for side, (_, name) in columns.items()]}
            for key in chosen[:most] for first in [next(iter(trails[key].values()))]]
    return {"kind": "matrix", "title": "Items by compactors", "what": "item", "key": KEY, "rows": rows,
            "strategies": [heading for heading, _ in columns.values()], "left_out": len(chosen) - len(rows),
            "note": "Open a cell for the verdict after each compaction and the line that decided it."}


def item_cell(item):
    """An item as one side has it, or None, as a cell; `lines` has the deciding line of each compaction."""
    if not item or not item["verdicts"]:
        return blank_cell(state="failed", mark="×", text="not checked", figures=item["literal"] if item else "",
                          problem="stated after the last compaction, or no context of its conversation")
    verdicts = list(item["verdicts"].values())
    kept, gone = (sum(verdict in kinds for verdict in verdicts) for kinds in (RETAINED, LOST))
    turned = "contradicted" in verdicts
    state = "complete" if kept == len(verdicts) else "none" if turned or gone and not kept else "part"
    text = f"{kept}/{len(verdicts)}" + "".join(
        f" {word}" for word in ("contradicted", "unjudged", "opaque") if word in verdicts)
    lines = [f"compaction {number}: {MARKS[verdict]} {verdict}" +
             (f": {item['lines'][number]}" if number in item["lines"] else "")
             for number, verdict in item["verdicts"].items()]
    mark = "!" if turned else {"complete": "●", "part": "◐", "none": "○"}[state]
    return blank_cell(state=state, mark=mark, text=text, lines=lines, figures=item["literal"])


def made_of(result, prefix=""):
    """[(field, text)] of what one side says about its making."""
    judge = result["judge"]
    return [*fields(result, ["compactor", "fixtures", "budget", "counter"], prefix),
            (f"{prefix}judge", "none" if judge is None else str(judge["identity"]))]


def replay_section(name, report, most, only=()):
    """The section of a replay: the pairs of runs, and what to read."""
    found = report["summary"]
    if found != summarize(report["rows"]):
        raise InputError(f"{name}: the summary does not follow from its rows; it was edited or merged: run "
                         "compaction.replay again")
    rows = [[unit, *(found[unit][field] for field in ("pairs", "lost", "gained", "unknown")), f"{found[unit]['p']:.3g}"]
            for unit in ("conversations", "items")]
    parts = [table("With compaction against without", ["unit", "pairs", "lost", "gained", "unknown", "exact McNemar p"],
                   rows, note="Lost: passes without compaction and fails with it. Items are for finding what to read.")]
    chosen = [one for one in found["to_read"] if not only or one["conversation_id"] in only]
    parts += listed("Conversations to read", [
        (f"{one['conversation_id']}: {one['outcome']}", [(kind, ", ".join(one[kind])) for kind in ("lost", "gained")])
        for one in chosen[:most]])
    notes = [f"References: {found['references']['run']} run, {found['references']['accepted_trace']} from the accepted "
             f"trace. Tool calls differ in {of(found['calls_differ'], len(report['rows']))}. After compaction "
             f"{found['failed']} did not fit the window: unknown, not run."]
    return section("replay", name, parts, made_of(report), None, notes)
