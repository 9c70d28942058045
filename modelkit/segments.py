"""Cut text into words and sentences, by one rule for every script.

A word is a run of letters, numbers and the marks that belong to them (accents, vowel signs), in lower case, after
Unicode's NFKC form: `ﬁ` is fi, and é is one letter however it was typed. All else separates, the apostrophe and the
underscore too; joiners, soft hyphens and variation selectors vanish. Scripts written without spaces (Chinese, Japanese,
Thai, Lao, Khmer, Burmese) have no such runs: each two neighbouring characters are a word there. Does not stem. Knows
no language but the English abbreviations below: a sentence that ends in one is joined to the next.
"""

import re
import unicodedata

_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)")
_ASCII_WORD = re.compile(r"[a-z0-9]+")

_NEVER_ENDS = frozenset("mr mrs ms dr prof st mt messrs rev gen col sgt lt capt gov sen rep hon e.g i.e cf vs viz al "
                        "approx esp resp incl".split())
_ENDS_UNLESS_NUMBER = frozenset("no nos fig figs p pp vol ch sec art eq jan feb mar apr jun jul aug sep sept oct nov "
                                "dec ca".split())
_ENDS_BEFORE_CAPITAL = frozenset("etc inc ltd co corp jr sr dept est a.m p.m u.s u.k ph.d".split())
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？｡]++[」』”’）]*+|\n[^\S\n]*+\n")
_NEXT = re.compile(r"\s*(\S?)")
_LAST_WORD = re.compile(r"([^\W\d_](?:\.?[^\W\d_])*)\.$")


def words(text):
    """The words of the text in order, in lower case: words("It's 東京都") -> ["it", "s", "東京", "京都"]."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    text = unicodedata.normalize("NFKC", text).lower()
    runs = text.translate({ord(character): _written(character) for character in set(text)}).split()
    return [part for run in runs if any(map(str.isalnum, run)) for part in _pairs(run)]


def _written(character):
    """The character as it stands in a word, "" where it vanishes, a space where it separates."""
    category = unicodedata.category(character)
    if character.isalnum() or (category in ("Mn", "Mc") and not "\ufe00" <= character <= "\ufe0f"):
        return character
    return "" if category in ("Cf", "Mn", "Me") and character != "\u200b" else " "


def _pairs(word):
    """The word, or where it is in a script without spaces its pairs of neighbouring characters."""
    return [part for number, run in enumerate(_UNSPACED.split(word)) if run
            for part in (map("".join, zip(run, run[1:])) if number % 2 and len(run) > 1 else [run])]


def split_sentences(text):
    """The sentences of a text in order: split_sentences("It is v1.2. Good? Yes.") -> ["It is v1.2.", "Good?", "Yes."].

    One ends at . ! ? or … (and the quotes and brackets that close with it) before white space, at 。！？, and at an
    empty line. Decimals, initials, abbreviations and the number of a list item do not end one.
    """
    sentences, begin = [], 0
    for stop in _STOP.finditer(text):
        if stop[0][0] != "." or _ends(text, begin, stop):
            sentences.append(text[begin:stop.end()].strip())
            begin = stop.end()
    return [sentence for sentence in (*sentences, text[begin:].strip()) if sentence]


def _ends(text, begin, stop):
    """Whether the full stop ends the sentence that begins at `begin`."""
    if stop[0] != ".":
        return True  # an ellipsis, or a quote or bracket closes with it
    if text[begin:stop.start()].strip().isdecimal():
        return False  # 1. an item of a list
    last = _LAST_WORD.search(text, max(begin, stop.start() - 40), stop.end())
    after = _NEXT.match(text, stop.end())[1]
    if not last or not after:
        return True
    word = last[1].lower()
    if word in _NEVER_ENDS or (len(word) == 1 and last[1].isupper() and word != "i"):
        return False
    if word in _ENDS_UNLESS_NUMBER:
        return not after.isdecimal()
    return not (word in _ENDS_BEFORE_CAPITAL or "." in word) or not after.islower() and not after.isdecimal()
