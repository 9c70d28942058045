"""Show a report of check.py to a person.

Text from conversations is shown on one line, control characters made visible.
"""

from collections import Counter

from base.shown import one_line

from compaction.fixtures.form import CLASSES

LINE = 100  # characters of a context's line that are shown


def render(report):
    """The table, the items that changed or were lost, and the answers, as text for standard error."""
    new, old = report["candidate"], report.get("incumbent")
    lines = [heading(new, old), *row_lines(new, old, report.get("comparison"))]
    lines += [*difficulty_lines(new, old), ""]
    lines += changed_lines(report["comparison"]["changed"]) if old else lost_lines(new["lost"])
    lines += ["", *(f"{side['compactor']['name']}: {lost_at(side['lost'])}" for side in (new, old))] if old else []
    notes = notes_on(new) + (["incumbent: " + line for line in notes_on(old)] if old else [])
    lines += ["", *notes, ""] if notes else [""]
    return "\n".join([*lines, *answers(new, report.get("comparison")), success_line(report["task_success"])])


def heading(new, old):
    names = new["compactor"]["name"] + (f" against {old['compactor']['name']}" if old else "")
    compactions = sum(new["compactions"].values())
    return (
        f"{names}: {new['fixtures']['conversations']} conversations, {new['fixtures']['items']} items, "
        f"{compactions} compactions, {len(new['decisions'])} decisions, {new['available_input']} tokens available\n")


def row_lines(new, old, compared):
    """One line a row: value, 95% interval, gate, state; with an incumbent its value and the change."""
    before = {row["row"]: row for row in old["rows"]} if old else {}
    changes = {row["row"]: row["change"] for row in compared["rows"]} if compared else {}
    titles = ["row", "value", "share", "95% interval", "gate", "state"] + (["incumbent", "change"] if old else [])
    cells = [titles]
    for row in new["rows"]:
        cell = [row["name"], value(row), share(row), interval(row), gate(row), row["state"] + judged_note(row)]
        cells.append(cell + ([value(before[row["row"]]), changes.get(row["row"], "no gate")] if old else []))
    return columns(cells)


def columns(cells):
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]


def value(row):
    unknown = f" (+{row['unknown']} unknown)" if row["unknown"] else ""
    if row["row"] == "prompt_tokens":
        return "not known" if row["p95"] is None else f"median {row['median']}, p95 {row['p95']}"
    if row["row"] == "contradictions":
        return f"{row['count']} in {row['decisions']}{unknown}"
    return f"{row['kept']} of {row['decisions']}{unknown}"


def share(row):
    if row.get("low") is None:
        return ""
    return percent(row["low"]) if row["low"] == row["high"] else f"{percent(row['low'])} to {percent(row['high'])}"


def percent(number):
    return f"{100 * number:.1f}%"


def interval(row):
    return f"{percent(row['wilson'][0])} to {percent(row['wilson'][1])}" if row.get("wilson") else ""


def gate(row):
    if row["gate"] is None:
        return "none"
    if row["row"] in CLASSES:
        return f"at least {percent(row['gate'])}"
    return f"at most {row['gate']}"


def judged_note(row):
    """What stands beside a judged row: how many decisions were judged, and how good the judge is."""
    return f" [{row['judged']} judged; {row['judge']}]" if row.get("judged") else ""


def difficulty_lines(new, old):
    """How the items of each difficulty fared; those that no item has are left out."""
    before = {one["tag"]: one for one in old["difficulties"]} if old else {}
    cells = [["difficulty", "kept", "contradicted"] + (["incumbent", "contradicted"] if old else [])]
    for one in new["difficulties"]:
        other = before.get(one["tag"])
        if not (one["decisions"] or other and other["decisions"]):
            continue
        cells.append([one["tag"], value({"row": "difficulty", **one}), str(one["contradicted"])]
                     + ([value({"row": "difficulty", **other}), str(other["contradicted"])] if old else []))
    return ["", *columns(cells)] if len(cells) > 1 else []


def changed_lines(changed):
    """Every item that changed its verdict, most harmful change first, with both contexts' lines."""
    lines = [f"{len(changed)} items changed their verdict (incumbent -> candidate), most harmful change first:"]
    for one in changed:
        lines.append(f"  {one['item']} ({one['class']}{', ' + ', '.join(one['tags']) if one['tags'] else ''}) "
                     f"at compaction {one['compaction']}: {one['incumbent']} -> {one['candidate']}")
        lines += [f"      incumbent: {shown(one['incumbent_line'])}",
                  f"      candidate: {shown(one['candidate_line'])}"]
    return lines


def lost_lines(lost):
    """Every item that a compaction lost, with the number of that compaction."""
    lines = [f"{len(lost)} items lost:"]
    for one in lost:
        lines.append(f"  {one['item']} ({one['class']}) lost at compaction {one['lost_at']}: "
                     f"{', '.join(one['verdicts'])} from compaction {one['first']} on")
    return lines


def lost_at(lost):
    """How many items each compaction lost."""
    counts = Counter(one["lost_at"] for one in lost)
    places = ", ".join(f"{counts[number]} at compaction {number}" for number in sorted(counts))
    return f"{len(lost)} items lost" + (f": {places}" if places else "")


def shown(text):
    """A line of a conversation, cut to what fits."""
    if text is None:
        return "(nothing like it)"
    text = one_line(text)
    return text if len(text) <= LINE else text[:LINE] + "..."


def notes_on(result):
    """Lines about what was not checked: contexts that cannot be read or placed, items stated too late."""
    opaque, late = result["opaque"], result["never_checked"]
    lines = []
    if opaque["contexts"]:
        lines.append(f"opaque: {opaque['contexts']} contexts that cannot be read, or not wholly: {opaque['decisions']} "
                     "decisions, neither kept nor lost")
    if result["uncovered"]:
        lines.append(
            f"not covered: no context of {', '.join(result['uncovered'])}, so nothing here is met or safe by them; "
            "record some or name the other fixtures with --fixtures")
    for name, reason in (("unplaced", "say no turn"), ("unannotated", "are of conversations without a fixture")):
        if result["left_out"][name]:
            lines.append(f"{name}: {result['left_out'][name]} contexts {reason} and were not checked")
    if late:
        lines.append(f"never checked (stated after the last compaction): {', '.join(late)}")
    return lines


def answers(new, compared):
    """The answers to the two questions, and how many verdicts are missing where they matter."""
    told = {True: "compliant: every gate is met", False: "not compliant: a gate is missed",
            None: "compliance not decided"}[new["compliant"]]
    lines = [told]
    if compared:
        worse = [row["name"] for row in compared["rows"] if row["change"] == "worse"]
        lines.append({"safe": "safe: no gated row got worse", "not decided": "not decided",
                      "blocked": f"blocked: worse in {', '.join(worse)}"}[compared["decision"]])
        alone = compared["unpaired"]
        if any(alone.values()):
            lines.append(
                f"compacted at other turns: {alone['candidate']} decisions of the candidate and {alone['incumbent']} "
                "of the incumbent have no partner; rows count them, the list of changed items cannot")
    missing = (compared or new)["missing_verdicts"]
    if any(missing.values()):
        lines.append(
            f"missing verdicts: {missing['unjudged']} to be judged, {missing['opaque']} in contexts that cannot be read"
        )
    return lines


def success_line(success):
    if success is None:
        return "task success: not given (--task-success RATE --task-runs N)"
    needed = f"; a drop of {success['drop']:g} needs {success['needed']:,} runs" if "drop" in success else ""
    return (f"task success {success['rate']:.3f} over {success['n']} runs: standard error "
            f"{success['standard_error']:.3f}, 95% interval {success['low']:.2f} to {success['high']:.2f}; "
            f"a drop below {success['smallest_drop']:.3f} cannot be seen{needed}")
