"""Turn a result of compaction.check into what the page and the Markdown summary show.

The matrix has a row for each item and a cell for each compactor; a cell holds the item's verdict after every
compaction, and opens to the line of the context that decided it. Unjudged and opaque are no pass and no fail.
"""

import hashlib

from compaction.fixtures.form import SHIPPED, load_fixtures

from base.command import InputError, dump
from compaction import table

MARKS = {"verbatim": "●", "supported": "●", "absent": "○", "contradicted": "!", "unjudged": "?", "opaque": "?"}
SIDES = ("candidate", "incumbent")


def compaction_section(name, report, shown, only):
    """The section of one result: rows with their gates, items by compactors, what changed, what was hashed."""
    sides = [side for side in SIDES if side in report]
    for field in ("rows", "difficulties"):
        if len({len(report[side][field]) for side in sides}) > 1:
            raise InputError(
                f"{name}: the {field} of candidate and incumbent do not pair up; run compaction.check again")
    changed = report["comparison"]["changed"] if "comparison" in report else []
    words = literals(report["candidate"])
    return {"kind": "compaction", "name": name, "identity": identity(report, sides), "decision": decision(report),
            "columns": [f"{side}: {report[side]['compactor']['name']}" for side in sides],
            "rows": [row_view(place, report, sides) for place in range(len(report["candidate"]["rows"]))],
            "difficulties": [
                difficulty_view(place, report, sides) for place in range(len(report["candidate"]["difficulties"]))],
            "changes": [change_text(one) for one in changed],
            "matrix": items_matrix(report, sides, words, shown, only, {one["item"] for one in changed}),
            "notes": notes(report, words)}


def decision(report):
    """The answers in words: safe or not where there is an incumbent, compliant or not."""
    compliant = {True: "compliant", False: "not compliant", None: "compliance not decided"}
    words = compliant[report["candidate"]["compliant"]]
    return f"{report['comparison']['decision']}, {words}" if "comparison" in report else words


def notes(report, words):
    """What stands under the heading."""
    found = [table.success_line(report["task_success"])]
    if not words:
        found.append("The fixtures that were hashed are not at hand, so items are shown by their ids alone.")
    for name, missing in report.get("comparison", {}).get("missing_verdicts", {}).items():
        if missing:
            found.append(f"{missing} verdicts are missing ({name}).")
    return found


def literals(result):
    """{item id: literal} of the shipped fixtures where they are those that were hashed, else nothing."""
    try:
        fixtures = load_fixtures([SHIPPED])
    except InputError:
        return {}
    if hashlib.sha256(dump(fixtures).encode("utf-8", "surrogatepass")).hexdigest() != result["fixtures"]["sha256"]:
        return {}
    return {item["id"]: item["literal"] for fixture in fixtures for item in fixture["must_survive"]}


def row_view(place, report, sides):
    """One gated row: its value and share on each side, the gate, and how it changed."""
    rows = [report[side]["rows"][place] for side in sides]
    changes = {row["row"]: row["change"] for row in report.get("comparison", {}).get("rows", ())}
    cells = [
        " ".join(filter(None, (table.value(row), table.share(row), table.judged_note(row).strip()))) for row in rows]
    return {"name": rows[0]["name"], "cells": cells, "interval": table.interval(rows[0]), "gate": table.gate(rows[0]),
            "state": rows[0]["state"], "change": changes.get(rows[0]["row"], "")}


def difficulty_view(place, report, sides):
    """One difficulty: decisions kept and contradicted on each side."""
    found = [report[side]["difficulties"][place] for side in sides]
    return {"tag": found[0]["tag"],
            "cells": [f"{one['kept']} of {one['decisions']} kept, {one['contradicted']} contradicted" for one in found]}


def change_text(one):
    """One item that changed, as a line."""
    return f"{one['item']} ({one['class']}) at compaction {one['compaction']}: {one['incumbent']} to {one['candidate']}"


def items_matrix(report, sides, words, shown, only, changed):
    """{"strategies", "rows", "left_out"} as a matrix of cases has it; changed items first, then lost ones."""
    trails = {}
    for side in sides:
        for item in report[side]["items"]:
            trails.setdefault(item["item"], {})[side] = item
    names = [name for name in trails if not only or name in only]
    if not names:
        raise InputError(f"--only {', '.join(only)}: no such item in the result; take a name from it")
    if len(names) > shown:
        names.sort(key=lambda name: (name not in changed, not lost(trails[name])))
    rows = []
    for name in names[:shown]:
        first = next(iter(trails[name].values()))
        cells = [item_cell(trails[name].get(side), words.get(name)) | {"strategy": report[side]["compactor"]["name"]}
                 for side in sides]
        rows.append(
            {"case": name, "kind": first["class"].replace("_", " "), "split": ", ".join(first["tags"]), "cells": cells})
    return {"strategies": [f"{side}: {report[side]['compactor']['name']}" for side in sides], "rows": rows,
            "left_out": len(names) - len(rows)}


def lost(trails):
    """Whether any side lost the item at any compaction."""
    verdicts = (verdict for item in trails.values() for verdict in item["verdicts"].values())
    return any(verdict in ("absent", "contradicted") for verdict in verdicts)


def item_cell(item, literal):
    """An item as one side has it, or None, as a cell; `lines` has the deciding line of each compaction."""
    blank = {"problem": None, "request": None, "missing": [], "stale": [], "figures": literal or ""}
    if not item or not item["verdicts"]:
        return blank | {"state": "failed", "mark": "×", "text": "not checked",
                        "problem": "stated after the last compaction, or no context of its conversation"}
    verdicts = list(item["verdicts"].values())
    kept = sum(verdict in ("verbatim", "supported") for verdict in verdicts)
    gone = sum(verdict in ("absent", "contradicted") for verdict in verdicts)
    turned = "contradicted" in verdicts
    state = "complete" if kept == len(verdicts) else "none" if turned or gone and not kept else "part"
    text = f"{kept}/{len(verdicts)}" + "".join(
        f" {word}" for word in ("contradicted", "unjudged", "opaque") if word in verdicts)
    lines = [f"compaction {number}: {MARKS[verdict]} {verdict}"
             + (f": {item['lines'][number]}" if number in item["lines"] else "")
             for number, verdict in item["verdicts"].items()]
    mark = "!" if turned else {"complete": "●", "part": "◐", "none": "○"}[state]
    return blank | {"state": state, "mark": mark, "text": text, "lines": lines}


def identity(report, sides):
    """[(field, text)] of what a result says about its making."""
    lines = []
    for side in sides:
        result = report[side]
        for field in ("compactor", "fixtures", "budget", "counter"):
            lines += [(f"{side}.{field}.{key}", str(value)) for key, value in result[field].items()]
        lines.append((f"{side}.manifest_sha256", str(result.get("manifest_sha256"))))
        judge = result["judge"]
        lines.append((f"{side}.judge", "none" if judge is None else str(judge["identity"])))
    return lines + [(f"code.{name}", value) for name, value in report.get("code", {}).items()]
