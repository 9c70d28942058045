"""Show a report of check.py to a person: the decision first, then its reasons, in lines of at most 100 columns."""

import textwrap

from base.shown import columns, one_line

from compaction.fixtures.form import CLASSES
from compaction.fixtures.items import UNKNOWN
from compaction.rows import lost_at, verdicts

WIDTH = 100
SHORT = {"prompt_tokens": "tokens: median, p95"}  # names of rows that leave room for the rest
SUCCESS_MISSING = "task success: not given (--task-success RATE --task-runs N)"


def render(report):
    """The whole text for standard error."""
    new, old, compared = report["candidate"], report.get("incumbent"), report.get("comparison")
    lines = [decision(report), *reasons(new, compared), "", heading(new, old), "", *row_lines(new, old, compared)]
    lines += [*difficulty_lines(new, old), "",
              *(changed_lines(compared["changed"]) if old else lost_lines(new["items"]))]
    for name, side in (("candidate", new), ("incumbent", old)) if old else ():
        lines.append(f"{name}: {lost_count(side['items'])}")
    lines += ["", *unjudged_lines(new["items"]), *notes_on(new)] + (
        ["incumbent: " + line for line in notes_on(old)] if old else [])
    lines.append(success_line(report["task_success"]))
    return "\n".join(part for line in lines for part in wrapped(line))


def wrapped(line):
    """A line in pieces of at most WIDTH columns, the later ones indented."""
    line = one_line(line)  # ids and names come from files
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]


def decision(report):
    """The answers to the two questions in one line; what is mostly unknown says so first."""
    new, compared = report["candidate"], report.get("comparison")
    told = [{True: "compliant: every gate is met", False: "not compliant: a gate is missed",
             None: "compliance not decided"}[new["compliant"]]]
    if compared:
        worse = ["failed compactions"] * compared["failed"]
        worse += [row["name"] for row in compared["rows"] if row["change"] == "worse"]
        told.insert(0,
                    {"safe": "safe: no gated row got worse", "not decided": "not decided",
                     "blocked": f"blocked: worse in {', '.join(worse)}"}[compared["decision"]])
    decided = verdicts(new["items"])
    unknown = sum(verdict in UNKNOWN for verdict in decided)
    if 2 * unknown > len(decided):
        told.insert(0, f"mostly unknown: {unknown} of {len(decided)} decisions are unjudged or opaque")
    return "; ".join(told)


def reasons(new, compared):
    """Lines on what stands behind a decision besides its rows."""
    lines = []
    if new["failed"]:
        places = ", ".join(
            f"{one['compaction']} of {one['conversation_id']} ({one['tokens']:,} tokens)" for one in new["failed"])
        lines.append(
            f"{len(new['failed'])} compactions failed, as they left more than the model's window holds, and their "
            f"conversations went no further: {places}")
    missing = (compared or new)["missing_verdicts"]
    if any(missing.values()):
        lines.append(
            f"missing verdicts: {missing['unjudged']} to be judged, {missing['opaque']} in contexts that cannot be read"
        )
    alone = compared["unpaired"] if compared else {}
    if any(alone.values()):
        lines.append(
            f"compacted at other turns: {alone['candidate']} decisions of the candidate and {alone['incumbent']} of "
            "the incumbent have no partner; rows count them, the list of changed items cannot")
    return lines


def heading(new, old):
    names = new["compactor"]["name"] + (f" against {old['compactor']['name']}" if old else "")
    return (f"{names}: {new['fixtures']['conversations']} conversations, {new['fixtures']['items']} items, "
            f"{len(new['contexts'])} compactions, {len(verdicts(new['items']))} decisions, {new['available_input']:,} "
            "tokens available")


def row_lines(new, old, compared):
    """One line a row: value, share and its 95% interval, gate, state; with an incumbent its value and the change."""
    before = {row["row"]: row for row in old["rows"]} if old else {}
    changes = {row["row"]: row["change"] for row in compared["rows"]} if compared else {}
    cells = [["row", "value", "share", "95%", "gate", "state"] + (["incumbent", "change"] if old else [])]
    for row in new["rows"]:
        name = SHORT.get(row["row"], row["name"].removesuffix(" retained"))
        cell = [name, value(row), share(row), interval(row), gate(row), row["state"]]
        cells.append(cell + ([value(before[row["row"]]), changes.get(row["row"], "no gate")] if old else []))
    lines = columns(cells)
    for place in reversed(range(len(new["rows"]))):
        note = judged_note(new["rows"][place])
        lines[place + 2 : place + 2] = [f"    {note}"] if note else []
    unknown = any(row["unknown"] for row in new["rows"] + list(before.values()))
    return lines + ["    +n?: so many more are not known"] * unknown


def value(row):
    """39 of 171 +2?: two decisions are not known."""
    unknown = f" +{row['unknown']}?" if row["unknown"] else ""
    if row["row"] == "prompt_tokens":
        return "not known" if row["value"] is None else f"{row['median']:,}, {row['value']:,}{unknown}"
    return f"{row['value']} {'in' if row['row'] == 'contradictions' else 'of'} {row['of']}{unknown}"


def share(row):
    """22.8%, or 22.8-23.9% where unknown decisions make it a range; nothing where a row is no share."""
    if row["row"] not in CLASSES or row["best"] is None:
        return ""
    return percents(row["worst"], row["best"]) if row["worst"] != row["best"] else f"{100 * row['best']:.1f}%"


def percents(low, high):
    return f"{100 * low:.1f}-{100 * high:.1f}%"


def interval(row):
    return percents(*row["wilson"]) if row.get("wilson") else ""


def gate(row):
    if row["gate"] is None:
        return "none"
    return f">= {100 * row['gate']:g}%" if row["row"] in CLASSES else f"<= {row['gate']:,}"


def judged_note(row):
    """What stands beside a judged row: how many decisions were judged, and how good the judge is."""
    return f"[{row['judged']} judged; {row['judge']}]" if row.get("judged") else ""


def difficulty_lines(new, old):
    """How the items of each difficulty fared; those that no item has are left out."""
    before = {one["tag"]: one for one in old["difficulties"]} if old else {}
    cells = [["difficulty", "kept", "contradicted"] + (["incumbent", "contradicted"] if old else [])]
    for one in new["difficulties"]:
        sides = [one, before[one["tag"]]] if old else [one]
        if any(side["decisions"] for side in sides):
            cells.append([one["tag"]] + [text for side in sides for text in (kept(side), str(side["contradicted"]))])
    return ["", *columns(cells)] if len(cells) > 1 else []


def kept(counts):
    return f"{counts['kept']} of {counts['decisions']}" + (f" +{counts['unknown']}?" if counts["unknown"] else "")


def changed_lines(changed):
    """Every item that changed its verdict, most harmful change first, with both contexts' lines."""
    lines = [f"{len(changed)} items changed their verdict (incumbent -> candidate), most harmful change first:"]
    for one in changed:
        lines.append(f"  {one['item']} ({', '.join([one['class'], *one['tags']])}) at compaction {one['compaction']}: "
                     f"{one['incumbent']} -> {one['candidate']}")
        lines += [f"      {side}: {line_text(one[f'{side}_line'])}" for side in ("incumbent", "candidate")]
    return lines


def line_text(text):
    return "(nothing like it)" if text is None else one_line(text, WIDTH - 20)


def lost_lines(items):
    """Every item that a compaction lost, with its verdicts."""
    gone = sorted((item for item in items if lost_at(item)),
                  key=lambda item: list(item["verdicts"].values())[-1] != "contradicted")
    lines = [lost_count(items) + (":" if gone else "")]
    for item in gone:
        trail = ", ".join(f"{number} {verdict}" for number, verdict in item["verdicts"].items())
        lines.append(f"  {item['item']} ({item['class']}) lost at compaction {lost_at(item)}: {trail}")
    return lines


def lost_count(items):
    """4 items lost: 3 at compaction 1, 1 at compaction 2; where nothing is known of others, how many those are."""
    places = [lost_at(item) for item in items if lost_at(item)]
    counts = ", ".join(f"{places.count(number)} at compaction {number}" for number in sorted(set(places)))
    open_ = sum(not lost_at(item) and bool(set(item["verdicts"].values()) & set(UNKNOWN)) for item in items)
    told = (
        f"{len(places)} items lost: {counts}" if places else "no item is known to be lost" if open_ else "no item lost")
    return told + (f"; of {open_} it is not known" if open_ else "")


def unjudged_lines(items):
    """The items that wait for a judge, with their probes."""
    waiting = [
        (item, [number for number, verdict in item["verdicts"].items() if verdict == "unjudged"]) for item in items]
    waiting = [(item, numbers) for item, numbers in waiting if numbers]
    lines = [f"{len(waiting)} items to be judged (--judge human asks you, --judge FILE a model):"] if waiting else []
    return lines + [
        f"  {item['item']} at compaction {', '.join(numbers)}: {item['probe']}" for item, numbers in waiting]


def notes_on(result):
    """Lines about what was not checked: contexts that cannot be read or placed, items stated too late."""
    lines = []
    if result["opaque_contexts"]:
        lines.append(f"opaque: {result['opaque_contexts']} contexts that cannot be read, or not wholly: "
                     f"{result['missing_verdicts']['opaque']} decisions, neither kept nor lost")
    if result["uncovered"]:
        lines.append(
            f"not covered: no context of {', '.join(result['uncovered'])}, so nothing here is met or safe by them; "
            "record some or name the other fixtures with --fixtures")
    for name, reason in (("unplaced", "say no turn"), ("unannotated", "are of conversations without a fixture")):
        if result["left_out"][name]:
            lines.append(f"{name}: {result['left_out'][name]} contexts {reason} and were not checked")
    if result["never_checked"]:
        lines.append(f"never checked (stated after the last compaction): {', '.join(result['never_checked'])}")
    return lines


def success_line(success):
    if success is None:
        return SUCCESS_MISSING
    needed = f"; a drop of {success['drop']:g} needs {success['needed']:,} runs" if "drop" in success else ""
    return (
        f"task success {success['rate']:.3f} over {success['n']} runs: standard error {success['standard_error']:.3f}, "
        f"95% {success['low']:.2f} to {success['high']:.2f}, no drop below {success['smallest_drop']:.3f} seen{needed}")
