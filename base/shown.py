"""Show text of a conversation to a person: unable to steer the terminal, or to turn about the text beside it."""


def visible(text, width=300):
    """A text on one line of at most `width` characters, control and format characters written out."""
    line = "".join(sign if sign.isprintable() else " " if sign in "\n\t" else repr(sign)[1:-1] for sign in text)
    return line if len(line) <= width else line[: width - 1] + "…"


# What acts on other text than itself: control characters but tab and line feed, and the overrides and embeddings of
# bidirectional text. Its plain marks stay: Hebrew and Arabic are written with them.
STEERING = [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
WRITTEN_OUT = {code: repr(chr(code))[1:-1] for code in STEERING}


def written_out(text):
    """A text with what could steer the text around it written out, as \\u202e."""
    return text.translate(WRITTEN_OUT)
