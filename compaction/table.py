"""Show a report of check.py to a person: the decision first, then its reasons, in lines of at most 100 columns."""

import textwrap
from collections import Counter

from base.shown import columns, one_line
from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import UNKNOWN
from compaction.rows import lost_at, verdicts

WIDTH = 100
MET = {True: "compliant: every gate is met", False: "not compliant: a gate is missed", None: "compliance not decided"}


def report_text(report):
    """The whole text for standard error."""
    new, compared = report["candidate"], report.get("comparison")
    names = [side for side in ("candidate", "incumbent") if side in report]
    sides = [report[name] for name in names]
    items, unchecked = lost_lines(new["items"]), notes_on(new)
    if compared:
        items = changed_lines(compared["changed"]) + [f"{name}: {lost_count(report[name]['items'])}" for name in names]
        unchecked += [f"incumbent: {line}" for line in failures(sides[1]) + notes_on(sides[1])]
    parts = [[decision_text(report), *reasons(new, compared)], [heading(*sides)], row_lines(sides, compared),
             difficulty_lines(sides), items, unjudged_lines(new["items"]), unchecked,
             [success_line(report["task_success"])]]
    return "\n\n".join("\n".join(piece for line in part for piece in wrapped(line)) for part in parts if part)


def wrapped(line):
    """A line in pieces of at most WIDTH columns, the later ones indented; ids and names in it come from files."""
    line = one_line(line)
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def decision_text(report):
    """The answers to the two questions in one line; what is mostly unknown says so first."""
    new, compared, told = report["candidate"], report.get("comparison"), []
    decided = verdicts(new["items"])
    if 2 * (unknown := sum(verdict in UNKNOWN for verdict in decided)) > len(decided):
        told.append(f"mostly unknown: {unknown} of {len(decided)} decisions are unjudged or opaque")
    if compared:
        worse = ["failed compactions"] * compared["failed"]
        worse += [row["name"] for row in compared["rows"] if row["change"] == "worse"]
        told.append({"safe": "safe: no gated row got worse", "not decided": "not decided",
                     "blocked": f"blocked: worse in {', '.join(worse)}"}[compared["decision"]])
    failed = len(new["failed"])
    told.append(f"not compliant: {failed} compactions failed" if failed else MET[new["compliant"]])
    return "; ".join(told)


def reasons(new, compared):
    """Lines on what stands behind a decision besides its rows."""
    missing, alone = (compared or new)["missing_verdicts"], compared["unpaired"] if compared else {}
    yield from failures(new)
    if any(missing.values()):
        yield (f"missing verdicts: {missing['unjudged']} to be judged, "
               f"{missing['opaque']} in contexts that cannot be read")
    if any(alone.values()):
        yield (f"compacted at other turns: {alone['candidate']} decisions of the candidate and {alone['incumbent']} of "
               "the incumbent have no partner; rows count them, the list of changed items cannot")
    if compared and compared["unchecked"]:
        yield f"not safe by {len(compared['unchecked'])} items on which only the incumbent was checked: record them too"


def failures(result):
    """A line that names the failed compactions, where there are some."""
    places = [f"{failed['compaction']} of {failed['conversation_id']} ({failed['tokens']:,} tokens)"
              for failed in result["failed"]]
    return [f"{len(places)} compactions failed, as they left more than the model's window holds, and their "
            f"conversations went no further: {', '.join(places)}"] * bool(places)


def heading(new, old=None):
    names = new["compactor"]["name"] + (f" against {old['compactor']['name']}" if old else "")
    return (f"{names}: {new['fixtures']['conversations']} conversations, {new['fixtures']['items']} items, "
            f"{len(new['contexts'])} compactions, {len(verdicts(new['items']))} decisions, {new['available_input']:,} "
            "tokens available")


def row_lines(sides, compared):
    """One line a row: value, share and its 95% interval, gate, state; with an incumbent its value and the change."""
    changes = {row["row"]: row["change"] for row in compared["rows"]} if compared else {}
    cells = [["row", "value", "share", "95%", "gate", "state"] + ["incumbent", "change"] * bool(compared)]
    for row, *before in zip(*(side["rows"] for side in sides)):
        name = "tokens: median, p95" if row["row"] == "prompt_tokens" else row["name"].removesuffix(" retained")
        cells.append([name, *map(row_cells(row).get, ("value", "share", "95%", "gate")), row["state"]])
        cells[-1] += [cell for old in before for cell in (row_cells(old)["value"], changes.get(row["row"], "no gate"))]
    header, *lines = columns(cells)
    told = [header]
    for row, line in zip(sides[0]["rows"], lines):
        told += [line] + [f"    {row_cells(row)['judged']}"] * bool(row["judged"])
    unknown = any(row["unknown"] for side in sides for row in side["rows"])
    return told + ["    +n?: so many more are not known"] * unknown


def row_cells(row):
    """The cells {"value", "share", "95%", "gate", "judged"} of a row, "" for what it lacks.

    A constraint's, two of its decisions unknown -> "39 of 171 +2?", "22.8-24.0%", "17.2-30.9%", ">= 95%", ""
    """
    name, unknown, gate = row["row"], f" +{row['unknown']}?" if row["unknown"] else "", "none"
    value, share = f"{row['value']} {'in' if name == 'contradictions' else 'of'} {row['of']}{unknown}", ""
    if name == "prompt_tokens":
        value = "not known" if row["value"] is None else f"{row['median']:,}, {row['value']:,}{unknown}"
    if name in CLASSES and row["best"] is not None:  # a range where unknown decisions turn it
        share = "-".join(f"{100 * end:.1f}" for end in dict.fromkeys([row["worst"], row["best"]])) + "%"
    if row["gate"] is not None:
        gate = f">= {100 * row['gate']:g}%" if name in CLASSES else f"<= {row['gate']:,}"
    return {"value": value, "share": share, "gate": gate,
            "95%": "{:.1f}-{:.1f}%".format(*(100 * end for end in row["wilson"])) if row.get("wilson") else "",
            "judged": f"[{row['judged']} judged; {row['judge']}]" if row.get("judged") else ""}


def difficulty_lines(sides):
    """How the items of each difficulty fared; those that no item has are left out."""
    rows = [[counts[0]["tag"], *(cell for side in counts for cell in (kept_text(side), side["contradicted"]))]
            for counts in zip(*(side["difficulties"] for side in sides)) if any(side["decisions"] for side in counts)]
    header = ["difficulty", "kept", "contradicted"] + ["incumbent", "contradicted"] * (len(sides) - 1)
    return columns([header, *rows]) if rows else []


def kept_text(counts):
    return f"{counts['kept']} of {counts['decisions']}" + (f" +{counts['unknown']}?" if counts["unknown"] else "")


def changed_lines(changed):
    """Every item that changed its verdict, most harmful change first, with both contexts' lines."""
    lines = [f"{len(changed)} items changed their verdict (incumbent -> candidate), most harmful change first:"]
    for item in changed:
        lines.append(
            f"  {item['item']} ({', '.join([item['class'], *item['tags']])}) at compaction {item['compaction']}: "
            f"{item['incumbent']} -> {item['candidate']}")
        lines += [f"      {side}: {one_line(item[f'{side}_line'] or '(nothing like it)', WIDTH - 20)}"
                  for side in ("incumbent", "candidate")]
    return lines


def lost_lines(items):
    """Every item that a compaction lost, with its verdicts."""
    gone = [item for item in items if lost_at(item)]
    gone.sort(key=lambda item: list(item["verdicts"].values())[-1] != "contradicted")
    return [lost_count(items) + ":" * bool(gone)] + [
        f"  {item['item']} ({item['class']}) lost at compaction {lost_at(item)}: "
        + ", ".join(f"{number} {verdict}" for number, verdict in item["verdicts"].items())
        for item in gone]


def lost_count(items):
    """How many items were lost where, as "4 items lost: 3 at compaction 1, 1 at compaction 2", and how many may be."""
    places = Counter(lost_at(item) for item in items if lost_at(item))
    counts = ", ".join(f"{times} at compaction {number}" for number, times in sorted(places.items()))
    unclear = sum(not lost_at(item) and bool(set(item["verdicts"].values()) & set(UNKNOWN)) for item in items)
    told = f"{places.total()} items lost: {counts}" if places else f"no item {'is known to be ' * bool(unclear)}lost"
    return told + (f"; of {unclear} it is not known" if unclear else "")


def unjudged_lines(items):
    """The items that wait for a judge, with their probes."""
    lines = [f"  {item['item']} at compaction {', '.join(numbers)}: {item['probe']}" for item in items
             if (numbers := [number for number, verdict in item["verdicts"].items() if verdict == "unjudged"])]
    return [f"{len(lines)} items to be judged (--judge human asks you, --judge FILE a model):", *lines] if lines else []


def notes_on(result):
    """Lines about what was not checked: contexts that cannot be read or placed, items stated too late."""
    unplaced, others = result["left_out"]["unplaced"], result["left_out"]["unannotated"]
    opaque, lost = result["opaque_contexts"], result["missing_verdicts"]["opaque"]
    uncovered, late = ", ".join(result["uncovered"]), ", ".join(result["never_checked"])
    notes = [
        (opaque, f"opaque: {opaque} contexts that cannot be read, or not wholly: {lost} decisions, neither kept nor "
                 "lost"),
        (uncovered, f"not covered: no context of {uncovered}, so nothing here is met or safe by them; record some or "
                    "name the other fixtures with --fixtures"),
        (unplaced, f"unplaced: {unplaced} contexts say no turn and were not checked"),
        (others, f"unannotated: {others} contexts are of conversations without a fixture and were not checked"),
        (late, f"never checked (stated after the last compaction): {late}")]
    return [note for holds, note in notes if holds]


def success_line(success):
    if success is None:
        return "task success: not given (--task-success RATE --task-runs N)"
    needed = f"; a drop of {success['drop']:g} needs {success['needed']:,} runs" if "drop" in success else ""
    return (f"task success {success['rate']:.3f} over {success['n']} runs: standard error "
            f"{success['standard_error']:.3f}, 95% {success['low']:.2f} to {success['high']:.2f}, no drop below "
            f"{success['smallest_drop']:.3f} seen{needed}")
