"""Keep a report of check.py as a file and read it again, so that a change can be measured against what was recorded.

Does not check or compare anything.

In a file the decisions stand by item: {"conversation_id", "item", "class", "tags", "lost_at" (number of the compaction
that lost it, or null), "verdicts": {compaction: verdict}, "lines": {compaction: line of the context}, "keys":
{compaction: what a recorded verdict is found by}}; compactions without a line or a key are left out of the last two.
"""

import hashlib
from pathlib import Path

from base.own_code import source_hash

from base.command import InputError, dump, read_json
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import JUDGED, RETAINED, UNKNOWN
from compaction.gates import GATES
from compaction.measure import lost

RESULTS = Path(__file__).parent / "results"
CODE = (  # what decides a figure
    "base/shapes.py",
    "base/turns.py",
    "base/stats.py",
    "compaction/comparison.py",
    "compaction/compactors.py",
    "compaction/contexts.py",
    "compaction/fixtures/classify.py",
    "compaction/fixtures/form.py",
    "compaction/fixtures/items.py",
    "compaction/fixtures/literals.py",
    "compaction/gates.py",
    "compaction/growth.py",
    "compaction/measure.py",
    "strategies.py",
)
SIDES = ("candidate", "incumbent")
OF_ITEM = ("conversation_id", "item", "class", "tags")
NEEDED = (
    *("compactor", "budget", "keep_share", "gates", "counter", "fixtures", "judge", "compliant", "rows"),
    *("difficulties", "compactions", "uncovered", "opaque", "left_out", "never_checked", "missing_verdicts", "items"))


def packed(report):
    """The report as it is written: each side's decisions by item."""
    return {name: pack(part) if name in SIDES else part for name, part in report.items()}


def pack(result):
    """A result with its decisions by item, in the order in which items were first decided on."""
    gone = {(one["conversation_id"], one["item"]): one["lost_at"] for one in result["lost"]}
    items = {}
    for one in result["decisions"]:
        place, number = (one["conversation_id"], one["item"]), str(one["compaction"])
        item = items.setdefault(place,
                                {field: one[field] for field in OF_ITEM}
                                | {"lost_at": gone.get(place), "verdicts": {}, "lines": {}, "keys": {}})
        item["verdicts"][number] = one["verdict"]
        item["lines"] |= {number: one["line"]} if one["line"] is not None else {}
        item["keys"] |= {number: one["key"]} if one["key"] is not None else {}
    return {name: part for name, part in result.items() if name not in ("decisions", "lost")} | {
        "items": list(items.values())}


def unpack(result):
    """The result with its decisions one by one again: `pack` turned round, but for their order."""
    verdicts = {verdict for item in result["items"] for verdict in item["verdicts"].values()}
    if not verdicts <= {*RETAINED, *JUDGED, *UNKNOWN}:
        raise ValueError(f"{sorted(verdicts)}: not all of these are verdicts")
    decisions = [{field: item[field] for field in OF_ITEM}
                 | {"compaction": int(number), "verdict": verdict, "by": decided_by(verdict, item["keys"].get(number)),
                    "line": item["lines"].get(number), "key": item["keys"].get(number)}
                 for item in result["items"]
                 for number, verdict in item["verdicts"].items()]
    return {name: part for name, part in result.items() if name != "items"} | {
        "lost": lost(decisions), "decisions": decisions}


def decided_by(verdict, key):
    """Who decided: only where a judge was needed does a decision have a key."""
    if key is not None:
        return "judge" if verdict in JUDGED else None
    return {"absent": "copy", "opaque": None}.get(verdict, "text")


def read_result(path):
    """The candidate's part of a recorded report, its decisions one by one, to be compared with; or InputError."""
    report = read_json(path)
    result = report.get("candidate") if isinstance(report, dict) else None
    if not isinstance(result, dict) or any(field not in result for field in NEEDED):
        raise InputError(f"{path}: is no result that check.py recorded; make one with --record")
    try:
        whole = [row["row"] for row in result["rows"]] == list(GATES) and all(map(is_row, result["rows"]))
        result = unpack(result)
    except (AttributeError, KeyError, TypeError, ValueError):
        whole = False
    if not whole or not result["decisions"]:
        raise InputError(f"{path}: was changed since check.py recorded it; record it again")
    return result


def is_row(row):
    """Whether a row holds what a comparison reads of it."""
    value = "kept" if row["row"] in CLASSES else "count" if row["row"] == "contradictions" else "contexts"
    return "state" in row and "name" in row and all(type(row.get(field)) is int for field in (value, "unknown"))


def record_path(given, report):
    """Where a result is kept: the file given, else one in the results folder named after the compactors."""
    if given:
        return Path(given)
    names = [report[side]["compactor"]["name"] for side in SIDES if side in report]
    RESULTS.mkdir(exist_ok=True)
    return RESULTS / ("-against-".join(name.replace(":", "-") for name in names) + ".json")


def fixtures_hash(fixtures):
    """SHA-256 of a loaded fixture set as this project writes JSON: white space in a file changes nothing."""
    return hashlib.sha256(dump(fixtures).encode("utf-8")).hexdigest()


def code_hashes():
    """SHA-256 of every file that decides a figure."""
    return {name: source_hash(Path(__file__).parents[1] / name) for name in CODE}
