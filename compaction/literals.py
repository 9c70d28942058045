"""Find exact words in a text the way a reader would: whole, and not inside their own negation.

Run:  not a script; fixtures.py, items.py and annotate.py use it.
Does not decide a verdict (items.py) and knows no conversation.

sentence  what lies between line ends and between . ! or ? before white space; an abbreviation ends one too
"""

import html
import re

NEGATION = re.compile(r"\b(?:not|never|no|without|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
ENDS = re.compile(r"[.!?](?=\s)|[\u3002\uff01\uff1f\n]")
WORD = r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"  # less the scripts that put no space between words
REPLACEMENT = re.compile(
    r"\b(?:replace[ds]?|replacing|instead|not|no longer|switch(?:ed)?|change[ds]?|actually|"
    r"previous(?:ly)?|original(?:ly)?|earlier|formerly|superseded?)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def stands(literal, text):
    """Offsets at which `literal` stands in `text`, raw or escaped, without a word character, - or / directly beside it.

    A dot between two word characters belongs to a name too: "v1.2" stands neither in "v1.20" nor in "v1.2.1", "main"
    neither in "main-old" nor in "feature/main" nor in "main.py".
    """
    found = set()
    for form in {literal, html.escape(literal, quote=False)}:
        pattern = rf"(?<!{WORD})(?<![/-])(?<!{WORD}\.)" + re.escape(form) + rf"(?!{WORD}|[/-]|\.{WORD})"
        found |= {match.start() for match in re.finditer(pattern, text)}
    return sorted(found)


def sentence_before(text, start):
    """The part of the sentence around offset `start` that lies before it."""
    ends = [match.end() for match in ENDS.finditer(text, 0, start)]
    return text[ends[-1] if ends else 0 : start]


def sentence_at(text, start):
    """The whole sentence around offset `start`, stripped."""
    end = ENDS.search(text, start)
    return (sentence_before(text, start) + text[start : end.end() if end else len(text)]).strip()


def negated(text):
    """Whether `text` holds a word that turns round what follows it: not (also n't, cannot), never, no, without."""
    return bool(NEGATION.search(text))


def speaks_of_replacement(sentence):
    """Whether a sentence says that something was replaced, so that naming the older value in it misleads nobody."""
    return bool(REPLACEMENT.search(sentence))
