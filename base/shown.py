"""Show text that somebody else wrote: on one line, in a table, unable to steer a terminal or the text beside it."""

from itertools import zip_longest

# What acts on other text than itself: control characters but tab and line feed, and the overrides and embeddings of
# bidirectional text. Its plain marks stay: Hebrew and Arabic are written with them.
STEERING = [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
WRITTEN_OUT = {code: repr(chr(code))[1:-1] for code in STEERING}


def written_out(text):
    """A text, control characters and bidirectional overrides written out: written_out("\\x1b\\n") -> "\\\\x1b\\n"."""
    return str(text).translate(WRITTEN_OUT)


def one_line(text, width=None):
    """A text on one line of at most `width` characters: blanks for line breaks, control characters written out.

    one_line("a\\nb\\x1b[2J") -> "a b\\\\x1b[2J"
    """
    line = "".join(sign if sign.isprintable() else " " if sign in "\n\t" else repr(sign)[1:-1] for sign in str(text))
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def error_line(error):
    """An exception on one line, whatever it says: error_line(ValueError("no\\nway")) -> "ValueError: no way"."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # one of the user's own, whose __str__ fails
        text = ""
    return f"{type(error).__name__}: {one_line(text or 'no message', 200)}"


def columns(rows, right=()):
    """Rows of cells as lines, each column as wide as its widest cell; the columns numbered in `right` end flush.

    columns([["strategy", "found"], ["recent", 2]], right=[1]) -> ["strategy  found", "recent        2"]
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip_longest(*rows, fillvalue="")]
    return ["  ".join(cell.rjust(width) if place in right else cell.ljust(width)
                      for place, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def figure_table(names, rows):
    """A table of {strategy: {column's name: figure}}: figure_table(["found"], {"recent": {"found": 2}}), as above."""
    cells = [["strategy", *(name.replace("_", " ") for name in names)]]
    cells += [[row, *(values[name] for name in names)] for row, values in rows.items()]
    return columns(cells, right=range(1, len(names) + 1))
