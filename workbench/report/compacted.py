"""Turn what compaction.check, .replay and .signals gave into what the page and the Markdown summary show.

The matrix of a check has a row for each item and a cell for each compactor; a cell holds the item's verdict after every
compaction, and opens to the line of the context that decided it. Unjudged and opaque are no pass and no fail.
"""

from base.command import InputError
from base.shown import one_line
from compaction import table
from compaction.fixtures.items import RETAINED
from compaction.replay.__main__ import differences, summarize
from compaction.result_file import SIDES, check_report
from compaction.signals.__main__ import SAMPLE, concluded
from workbench.report.view import BLANK, fields, listed, must_follow, of, section, table_part

MARKS = {"verbatim": "●", "supported": "●", "absent": "○", "contradicted": "!", "unjudged": "?", "opaque": "?"}
LOST = ("absent", "contradicted")
KEY = [*zip("●◐○!×", ("kept at every compaction", "at some", "at none", "contradicted", "not checked"))]


def compaction_section(name, report, args):
    """The section of one result: rows with their gates, items that changed, items by compactors."""
    check_report(report, name)
    sides = {side: report[side] for side in SIDES if side in report}
    names = {side: f"{side}: {result['compactor']['name']}" for side, result in sides.items()}
    compared = report.get("comparison")
    changes = {row["row"]: row["change"] for row in compared["rows"]} if compared else {}
    rows = [[row["name"], table.row_cells(row)["gate"], row["state"],
             *([changes.get(row["row"], "no gate")] if compared else []),
             *(" ".join(filter(None, map(table.row_cells(side).get, ("value", "share", "judged")))) for side in both),
             table.row_cells(row)["95%"]]
            for row, *both in zip(report["candidate"]["rows"], *(result["rows"] for result in sides.values()))]
    head = ["row", "gate", "state", *(["change"] if compared else []), *names.values(), "95%"]
    parts, trails = [table_part("Rows and their gates", head, rows, text=range(9))], {}
    for side, result in sides.items():
        for item in result["items"]:
            trails.setdefault((item["conversation_id"], item["item"]), {})[side] = item
    changed = {(item["conversation_id"], item["item"]): item for item in (compared["changed"] if compared else ())}
    parts += listed("Items that changed, most harmful first", [
        (f"{item['item']} ({item['class']}) at compaction {item['compaction']}: {item['incumbent']} to "
         f"{item['candidate']}", [("item", trails[key]["candidate"]["literal"]), *(
             (side, one_line(item[f"{side}_line"] or "(nothing like it)", 400)) for side in reversed(SIDES))])
        for key, item in changed.items()])
    difficulties = [[both[0]["tag"], *(f"{table.kept_text(counts)} kept, {counts['contradicted']} contradicted"
                                       for counts in both)]
                    for both in zip(*(result["difficulties"] for result in sides.values())) if both[0]["decisions"]]
    if difficulties:
        parts.append(table_part("By difficulty", ["difficulty", *names.values()], difficulties, text=range(3)))
    chosen = [key for key in trails if not args.only or key[1] in args.only]
    if not chosen:
        raise InputError(f"--only {', '.join(args.only)}: no such item in the result; take a name from it")
    if len(chosen) > args.show:  # changed items first, then lost ones
        chosen.sort(key=lambda key: (key not in changed, not any(
            verdict in LOST for item in trails[key].values() for verdict in item["verdicts"].values())))
    rows = [{"case": item, "kind": first["class"].replace("_", " "), "split": ", ".join([conversation, *first["tags"]]),
             "cells": [item_cell(trails[conversation, item].get(side)) | {"strategy": result["compactor"]["name"]}
                       for side, result in sides.items()]}
            for conversation, item in chosen[: args.show]
            for first in [next(iter(trails[conversation, item].values()))]]
    parts.append({"kind": "matrix", "title": "Items by compactors", "what": "item", "key": KEY, "rows": rows,
                  "strategies": list(names.values()), "left_out": len(chosen) - len(rows),
                  "note": "Open a cell for the verdict after each compaction and the line that decided it."})
    made = [pair for side, result in sides.items() for pair in made_of(result, f"{side}.")] + fields(report, ["code"])
    notes = [table.heading(report["candidate"], report.get("incumbent")),
             *table.reasons(report["candidate"], compared),
             *(f"{side}: {line}" for side, result in sides.items() for line in table.notes_on(result)),
             table.success_line(report["task_success"])]
    return section("compaction", name, parts, made, table.decision_text(report), notes)


def item_cell(item):
    """An item as one side has it, or None, as a cell; `lines` has the deciding line of each compaction."""
    if not item or not item["verdicts"]:
        problem = "stated after the last compaction, or no context of its conversation"
        return {**BLANK, "state": "failed", "mark": "×", "text": "not checked", "problem": problem,
                "figures": item["literal"] if item else ""}
    verdicts = list(item["verdicts"].values())
    kept, gone = (sum(verdict in kinds for verdict in verdicts) for kinds in (RETAINED, LOST))
    turned = "contradicted" in verdicts
    state = "complete" if kept == len(verdicts) else "none" if turned or gone and not kept else "part"
    words = [word for word in ("contradicted", "unjudged", "opaque") if word in verdicts]
    lines = [f"compaction {number}: {MARKS[verdict]} {verdict}" + (f": {line}" if line is not None else "")
             for number, verdict in item["verdicts"].items() for line in [item["lines"].get(number)]]
    mark = "!" if turned else {"complete": "●", "part": "◐", "none": "○"}[state]
    return {**BLANK, "state": state, "mark": mark, "text": " ".join([f"{kept}/{len(verdicts)}", *words]),
            "lines": lines, "figures": item["literal"]}


def made_of(result, prefix=""):
    """[(field, text)] of what one side says about its making."""
    judge = "none" if result["judge"] is None else str(result["judge"]["identity"])
    return [*fields(result, ["compactor", "fixtures", "budget", "counter"], prefix), (f"{prefix}judge", judge)]


def replay_section(name, report, args):
    """The section of a replay: the pairs of runs, and what to read."""
    rows = report["rows"]
    must_follow(name, "compaction.replay", report, (
        0 < len({row["conversation_id"] for row in rows}) == len(rows) == report["fixtures"]["conversations"]
        and all(reference.keys() == compacted.keys() and "accepted" not in compacted.values()
                and {verdict == "accepted" for verdict in reference.values()} <= {row["reference"] == "accepted trace"}
                and {verdict == "opaque" for verdict in compacted.values()} <= {row["failed"]}
                for row in rows for reference, compacted in [
                    (row["reference_run"]["checks"], row["compacted_run"]["checks"])])),
                lambda: {"rows": (again := [row | differences(row) for row in rows]), "summary": summarize(again)})
    summary = report["summary"]
    counts = ("pairs", "lost", "gained", "unknown")
    rows = [[unit, *map(summary[unit].get, counts), f"{summary[unit]['p']:.3g}"] for unit in ("conversations", "items")]
    note = "Lost: passes without compaction and fails with it. Items are for finding what to read."
    parts = [table_part("With compaction against without", ["unit", *counts, "exact McNemar p"], rows, note=note)]
    chosen = [row for row in summary["to_read"] if not args.only or row["conversation_id"] in args.only]
    parts += listed("Conversations to read", [
        (f"{row['conversation_id']}: {row['outcome']}", [(kind, ", ".join(row[kind])) for kind in ("lost", "gained")])
        for row in chosen[: args.show]])
    references = summary["references"]
    notes = [f"References: {references['run']} run, {references['accepted_trace']} from the accepted trace. Tool calls "
             f"differ in {of(summary['calls_differ'], len(report['rows']))}. After compaction {summary['failed']} did "
             "not fit the window: unknown, not run."]
    return section("replay", name, parts, made_of(report), None, notes)


def signals_section(name, report, args):
    """The section of compaction.signals: calls made again beside their control, and the conversations to read."""
    log, repeats, flagged = (report[field] for field in ("log", "repeats", "flagged"))
    after, control, sessions = (repeats[field] for field in ("after", "control", "sessions"))
    talks, met = report["sample"]["conversations"], log.get("conversations", 0)
    must_follow(name, "compaction.signals", report, (
        sum(len(row["hits"]) for row in flagged) == after["repeats"] <= after["calls"]
        and sessions["up"] <= sum(row["hits"] != [] for row in flagged)  # no session is up without a hit
        and sessions["down"] <= control["repeats"] <= control["calls"]
        and sum(sessions.values()) <= met and len(talks) == min(SAMPLE, met)
        and len({row["conversation_id"] for row in flagged}) == len(flagged) == log.get("flagged conversations")),
        lambda: concluded(report))
    notes = [", ".join(f"{number} {what}" for what, number in log.items()) + ".", repeats["says"] + "."]
    evidence = {"calls made again after a compaction": repeats["kinds"], "user messages": report["user_messages"]}
    kinds = [[where, kind, number] for where, counts in evidence.items() for kind, number in counts.items()]
    parts = [table_part("Kinds of evidence", ["where", "kind", "number"], kinds, text=(0, 1))] if kinds else []
    sample = [talk for talk in talks if not args.only or talk["conversation_id"] in args.only]
    parts += listed("Conversations to read, strongest evidence first", [
        (f"{talk['conversation_id']}: strength {talk['strength']}",
         [(f"call, turn {hit['turn']}, {hit['kind']}", f"{hit['name']} {hit['arguments']}") for hit in talk["hits"][:5]]
         + [(f"restated, turn {said['turn']}", said.get("said", "")) for said in talk["restatements"][:5]])
        for talk in sample[: args.show]])
    return section("signals", name, parts, [], None, notes)
