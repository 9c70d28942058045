"""Find the objects in a text by their braces, in linear time on any text. What it finds need not be JSON at all.

candidate  (start, end) of balanced braces that stand in no other candidate; braces in double-quoted strings are text
"""

import re
from array import array

STRING = r'"(?:[^"\\]++|\\.?)*+"?'  # an unclosed one runs to the end, so that no text is scanned twice
_STRING = re.compile(STRING, re.DOTALL)
_MARKS = re.compile(r'\\+"?|[{}"]')
_OBJECT_BEGINS = re.compile(r"""\{\s*+(?:["'“”„‘’`/#]|[\w$.+-]++\s*+:|[\w$]*+\Z)""")
_HIDES_BRACES = re.compile(r"""['“”„‘’`#]|//|/\*""")
_KEY = re.compile(r"""(?:\A|[,{\[])\s*+["'“”’`][^"'“”’`]*+["'“”’`]\s*+:\s*+\Z""")
_KEY_REACH = 200  # characters before a brace in which its key is looked for
NEXT = re.compile(r"\s*+(.)?", re.DOTALL)  # the next character that is no white space


def candidates(text):
    """(start, end) of each candidate, (start, None) of a truncated object: candidates('{} {"a') -> [(0, 2), (3, None)].

    A brace that never closes encloses what follows when it begins like an object (a key, or the end of the text): what
    stands inside a cut object is not what was asked for. Else it is prose and passed over.
    """
    places, closes = _matching(text)
    here = 0
    while here < len(places):
        start = places[here]
        if text[start] == "{" and closes[here + 1] >= 0:
            here = closes[here + 1]
            yield start, places[here] + 1
        elif text[start] == "{" and _OBJECT_BEGINS.match(text, start):
            yield start, None
            return
        here += 1


def _matching(text):
    """(places of quotes and braces; for each the number of the brace that closes one opened just before it, or -1).

    Reading is taken to start outside a string at each of them, since any may turn out to be the first of an object:
    from the end to the beginning, which answers for all at once.
    """
    places, ends_string = array("q"), bytearray()
    for mark in _MARKS.finditer(text):
        last = mark.end() - 1
        if text[last] != "\\":
            places.append(last)
            ends_string.append(text[last] == '"' and (last - mark.start()) % 2 == 0)  # not after an odd run of \
    closes = array("q", [-1]) * (len(places) + 1)
    quote = -1  # the nearest one to the right that can end a string
    for here in range(len(places) - 1, -1, -1):
        character = text[places[here]]
        if character == "}":
            closes[here] = here
        elif character == "{":
            inner = closes[here + 1]
            closes[here] = closes[inner + 1] if inner >= 0 else -1
        else:
            closes[here] = closes[quote + 1] if quote >= 0 else -1
            quote = here if ends_string[here] else quote
    return places, closes


def with_places(text):
    """The candidates with a third item: whether the candidate is a part of something, of a list or of an object.

    It stands in a list when it comes right after [, when brackets are open and a comma comes before it or ] after it,
    and when the candidate before it did and no ] came since. It stands in an object whose braces nobody could match
    when it comes right after a quoted key and its colon, and the key after a comma, a bracket or nothing.
    """
    done, depth, listed = 0, 0, False
    for start, end in candidates(text):
        gap = text[done:start]
        depth = max(0, depth + gap.count("[") - gap.count("]"))
        before, after = gap.rstrip()[-1:], NEXT.match(text, end or len(text))[1]
        listed = listed and "]" not in gap or before == "[" or depth > 0 and (before == "," or after == "]")
        yield start, end, listed or bool(_KEY.search(text, max(done, start - _KEY_REACH), start))
        done = end


def ends_surely(text, start, end):
    """Whether an unreadable candidate certainly ends where its braces balance, so that the next is another object.

    Prose in braces does. What begins like an object does only when each double quote stands where a string begins or
    ends and nothing else could hide a brace: in `{'a': '}', 'b': {'c': 1}}` the braces around c are no second object.
    """
    if not _OBJECT_BEGINS.match(text, start, end):
        return True
    done = start
    for string in _STRING.finditer(text, start, end):
        between = text[done:string.start()]
        before, after = between.rstrip()[-1:], NEXT.match(text, string.end(), end)[1]
        if before not in ("", *"{[(,:|") or after not in (None, *"}]),:|") or _HIDES_BRACES.search(between):
            return False
        done = string.end()
    return not _HIDES_BRACES.search(text, done, end)
