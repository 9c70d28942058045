"""Write results as a Markdown summary for a pull request.

Run:  python -m workbench.report evaluation-result.json --markdown

Names and facts stand in <code>, escaped, on one line: no text of a conversation can start a table, a link or a mention.
"""

from html import escape

from base.shown import written_out

FACTS_LISTED = 40  # of each kind; a comment of thousands of lines is read by nobody


def markdown(sections):
    """The summary of all sections as text."""
    lines = []
    for section in sections:
        lines += [f"## {section['title']}: {code(section['name'])}", ""]
        lines += WRITERS[section["kind"]](section)
    return "\n".join(lines)


def code(text):
    """Text as an inline literal."""
    return f"<code>{safe(text)}</code>"


def safe(text):
    """Text on one line that Markdown and HTML leave alone."""
    line = escape(" ".join(written_out(str(text)).split()), quote=False)
    for sign in "|\\`*_[]~@":
        line = line.replace(sign, f"&#{ord(sign)};")
    return line


def table(head, rows):
    """A table's lines, an empty one at the end; cells are text that is already safe."""
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(map(str, row))} |" for row in rows),
            ""]


def of(part, whole):
    return f"{part} of {whole}" if whole else "–"


def evaluation(section):
    """The summary by strategy and split, at each budget of a sweep; figures of no graded case are a dash."""
    lines = []
    for level in section["levels"]:
        if level["budget"] is not None:
            lines += [f"### {int(level['budget']):,} input tokens", ""]
        rows = [[code(row["strategy"]), safe(row["split"]), of(row["facts_found"], row["facts_total"]),
                 of(row["complete_cases"], row["cases"]),
                 *(row[field] if row["cases"] else "–" for field in ("cases_with_stale_facts", "over_budget")),
                 row["errors"], row["mean_input_tokens"] if row["cases"] else "–"]
                for row in level["summary"]]
        lines += table(
            ["strategy", "split", "facts found", "complete cases", "with stale facts", "over budget", "without a grade",
             "mean input tokens"],
            rows)
    return [*lines, *identity(section)]


def comparison(section):
    """The decision, what was lost, and the paired figures."""
    lines = [f"**{safe(section['decision'])}**", ""]
    for title, items in (("Not allowed", section["blocking"]), ("Allowed by name", section["allowed"]),
                         ("Allowed, but did not happen", section["unused"]),
                         ("Not graded, so neither found nor lost", section["not_graded"]),
                         ("Gained, or no longer stale", section["gained"])):
        lines += listed(title, [change(item) for item in items])
    rows = [[code(row["strategy"] + (f" at {row['budget']}" if row["budget"] else "")), row["unit"],
             of(row["found_recorded"], row["total"]), of(row["found_fresh"], row["total"]), row["gained"], row["lost"],
             f"{row['mcnemar_p']:.3g}"]
            for row in section["rows"]]
    lines += table(["strategy", "counted", "recorded", "fresh", "gained", "lost", "exact McNemar p"], rows)
    least = section["least"]
    lines += [f"The least this set could have shown: {least['discordant_pairs']} discordant cases on one side, "
              f"of {least['cases']} cases.",
              ""]
    return [*lines, *identity(section)]


def change(item):
    """One change of a comparison as safe text."""
    budget = f" at {item['budget']} tokens" if item.get("budget") else ""
    why = f" (allowed: {code(item['why'])})" if "why" in item else ""
    fact = code(item["fact"]) if "fact" in item else "the whole request"
    return f"{item['change']}, {code(item['strategy'])}{budget}, {code(item['case'])}: {fact}{why}"


def listed(title, items):
    """A list under a title, cut at FACTS_LISTED with the number of the rest; nothing where it is empty."""
    if not items:
        return []
    more = [f"- and {len(items) - FACTS_LISTED} more"] if len(items) > FACTS_LISTED else []
    return [f"{title}:", "", *(f"- {item}" for item in items[:FACTS_LISTED]), *more, ""]


def identity(section):
    """What was hashed, folded away."""
    rows = [[code(field), code(text)] for field, text in section["identity"]]
    return ["<details><summary>What was hashed</summary>", "", *table(["field", "value"], rows), "</details>", ""]


def compaction(section):
    """The rows with their gates, the decision, and the items that changed."""
    lines = [f"**{safe(section['decision'])}**", ""]
    lines += table(["row", *map(code, section["columns"]), "gate"],
                   [[code(row["name"]), *map(safe, row["cells"]), safe(row["gate"])] for row in section["rows"]])
    lines += listed("Items that changed", [code(text) for text in section["changes"]])
    return [*lines, *identity(section)]


WRITERS = {"evaluation": evaluation, "comparison": comparison, "compaction": compaction}
