"""Show text of a conversation on a terminal: on one line, unable to steer it.

Run:  not a script; the commands of this folder use it for what they tell on standard error and in a dialogue.
"""


def visible(text, width=300):
    """A text on one line of at most `width` characters, control and format characters written out."""
    line = "".join(sign if sign.isprintable() else " " if sign in "\n\t" else repr(sign)[1:-1] for sign in text)
    return line if len(line) <= width else line[: width - 1] + "…"
