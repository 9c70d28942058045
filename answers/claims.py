"""Grader version 2: what an answer claims, as a person would read it.

Version 1 asks whether a pattern occurs. That is wrong where an answer denies what it names ("three, not five" for
five), corrects itself ("was three, now five"), or writes a value in another form ("two hundred", "1,200", "**14**").
Version 2 brings the text to one form and asks whether some occurrence is claimed. Its rules are those of
the cases in answers/tests/grade-cases.json and no more: English, one sentence and the next; a hedge ("probably three")
still claims; a question claims nothing; irony, tables and reference over several sentences are not read.

Every pattern here is linear, and answer_check.py caps the text.
"""

import functools
import re

ONES = "zero one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
VALUES = {word: n for n, word in enumerate(ONES + TEENS)} | {word: 20 + 10 * n for n, word in enumerate(TENS)}
SMALL = rf"(?:(?:{'|'.join(TENS)})(?:[- ](?:{'|'.join(ONES[1:])}))?|{'|'.join(TEENS)}|{'|'.join(ONES)})"
HUNDREDS = rf"(?:(?:{SMALL}|a)[- ]hundred(?: (?:and )?{SMALL})?|{SMALL})"
NUMBER_WORDS = re.compile(rf"\b(?:(?:{HUNDREDS}|a)[- ]thousand(?: (?:and )?{HUNDREDS})?|{HUNDREDS})\b", re.IGNORECASE)
ONE_AS_PRONOUN = re.compile(r"\b(?:no|this|that|which|each|any|every|the|another|some) $", re.IGNORECASE)

MARKS = str.maketrans("‘’ʼ“”„«»‐‑‒–−", '\'\'\'"""""-----', "*`")
CLAUSE_START = re.compile(r"[,;:()]|\bbut\b|\band\b|\bhowever\b|\bnow\b| - ", re.IGNORECASE)
NEGATOR = r"(?:\bnot|\bnever|\bno longer|n't|\bcannot)"
LIMITING = (
    r"(?:exceed\w*|outlive|outlast|more|less|fewer|over|under|beyond|above|below|only|just|until|before|after|than"
    r"|least|most)")
DENIED_BEFORE = re.compile(
    rf"{NEGATOR}(?: (?!{LIMITING}\b)[\w'-]+){{0,5}} $"
    r"|\b(?:instead of|rather than|as opposed to|replac(?:e|es|ed|ing)|used to (?:be|use|have))(?: (?:the|our|an?))? $"
    r"|\b(?:move|switch|migrate|change|go|went|away)[ds]?(?:ed)? (?:away )?from(?: (?:the|our|an?))? $"
    r"|\b(?:raised|lowered|increased|reduced|extended|up|down) from $"
    r"|\b(?:decided|voted|advised|argued) against(?: (?:the|our|an?|using))* $"
    r"|\b(?:chose|chosen|picked|preferred)(?: [\w'-]+){0,3} over $"
    r"|\b(?:not sure|not certain|unsure|unclear|not clear|n't know|not know)\b.{0,40}$",
    re.IGNORECASE)
SUBJECT = r"(?: (?!(?:because|since|as|so|while|that|which|and|or|but|where|when|for)\b)[\w'-]+){0,3}"
GIVEN_UP = "(?:replaced|dropped|abandoned|removed|superseded|rejected|ruled out)"
PERIOD = "week|month|quarter|year|sprint"
MOVED = "(?:raised|lowered|increased|reduced|changed|updated)"
DENIED_AFTER = re.compile(
    rf"^{SUBJECT} (?:is|are|was|were|does|do|did|will|has|have|had)(?:n't| not| no longer| never)\b(?! (?:only|just))"
    rf"|^{SUBJECT} (?:is|are|was|were|has been|have been|had been|got)(?: (?:since|later|now|then))?"
    rf" (?:\w+ (?:but|and) (?:then |later )?)?{GIVEN_UP}\b"
    rf"|^{SUBJECT} (?:was|were|has been|have been|had been|got) {MOVED} (?:from [\w-]+ )?to \w"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}}[,;] (?:but |and )?(?:it's |it is )?now \w"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}} (?:but|until) [^.;]{{0,30}}\b{GIVEN_UP}\b"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}} last (?:{PERIOD})\b.{{0,80}}\b(?:now|today|this (?:{PERIOD}))\b"
    rf"|^{SUBJECT} (?:is|was|are|were) (?:the |our |an? )?(?:old|former|outdated)\b"
    r"|^[^,.;?!]{0,40}[,.;] ?(?:but |and )?(?:that|this|it|which) (?:was|is) (?:wrong|incorrect|outdated|a mistake)\b",
    re.IGNORECASE)
PAST = r"(?:previously|originally|formerly|initially|earlier|at first)"
PAST_BEFORE = re.compile(rf"\b(?:was|were|had been|old|former|{PAST})\b", re.IGNORECASE)
PAST_ONLY = re.compile(  # a value said to be of the past, with or without another in its place
    rf"\b{PAST},? (?:it|that|this|the [\w-]+(?: [\w-]+)?) (?:was|were|had been)(?: set to| at)? $"
    rf"|\b(?:was|were|had been) {PAST}(?: set to| at)? $"
    rf"|\((?:it )?(?:was|were|{PAST}|not)(?: {PAST})? $"
    rf"|\b(?:now|currently)\b[^.;?!]{{0,60}}[,;] {PAST} $",
    re.IGNORECASE,
)
SWITCH = re.compile(r"\b(?:now|currently|changed|replaced|switched|moved|raised|lowered|increased|reduced|updated)\b"
                    r"|\bnew(?: [\w-]+)?(?::| is\b| are\b)",
                    re.IGNORECASE)
CORRECTED = re.compile(r"^(?: [\w'-]+){0,2} ?[,.;(-]+ ?"
                       r"(?:no[,:]|wait,|sorry,|(?:actually|or rather|rather|i mean|make that|correction)\b)",
                       re.IGNORECASE)
FROM = re.compile(r"\bfrom $", re.IGNORECASE)
OTHER_NUMBER = r"(?:\d[\w]*|" + SMALL + r"\b)"
OR_ANOTHER = re.compile(rf"^ or {OTHER_NUMBER}", re.IGNORECASE)
ANOTHER_OR = re.compile(rf"{OTHER_NUMBER} or $", re.IGNORECASE)
A_NUMBER = re.compile(rf"\b{OTHER_NUMBER}", re.IGNORECASE)
A_WORD = re.compile(r"\w")
NEAR = 300
NUMBER_NEAR = 40
REPLACEMENT = re.compile(
    r"\b(?:replaced|instead|not|no longer|switched|changed|actually|previous|previously|originally|earlier|formerly"
    r"|initially|used to)\b|\b(?:old|before|former):",
    re.IGNORECASE)
LATER_CUE = re.compile(
    r"\b(?:now|then|later|since|moved|currently|today|updated|replaced|instead|no longer|switched|changed|actually)\b",
    re.IGNORECASE)
NOT_MISSING = re.compile(r"\b(?:nothing|none|not|no \w+|isn't|aren't)(?: (?:is|are|was|were|else is))? missing\b", re.I)
SAID_MISSING = re.compile(
    r"\b(?:do not|don't|does not|doesn't|did not|didn't)"
    r" (?:have|say|mention|state|specify|contain|know|give|provide|include|show|name|see)\b"
    r"|\b(?:not|isn't|wasn't|aren't) (?:mention|state|specif|provide|includ|contain|available|given)"
    r"|\bno (?:[\w-]+ ){1,4}(?:is|are|was|were) (?:mentioned|stated|given|specified|provided|included|found)\b"
    r"|\bno information\b|\bnot enough information\b|\bmissing\b|\bnot in the conversation\b"
    r"|\b(?:cannot|can't|could not|couldn't|unable to) (?:find|determine|tell|say|see)\b"
    r"|\bprovide (?:more |the )?(?:context|conversation)\b|\b(?:not sure|unsure|not certain)\b",
    re.IGNORECASE)


def plain(text):
    """The text in one form: marks of Markdown out, struck words out, plain quotes and dashes, bare numbers."""
    text = re.sub(r"~~[^~\n]{0,200}~~", " ", text)
    text = re.sub(r"(?<=\d)[,'’\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\n\s*(?=\n|[-*•#>]|\d+[.)] )", ".\n", text)  # a list item or paragraph is a sentence of its own
    text = text.replace("—", " - ").replace("…", "...").translate(MARKS)
    text = re.sub(r"(?<!\w)_+|_+(?!\w)", "", text)
    return " ".join(text.split())


def digits(text):
    """The text with its number words as digits: "two hundred and five" becomes 205."""

    def value(match):
        words = re.split(r"[- ]", match[0].lower())
        if words == ["one"] and (ONE_AS_PRONOUN.search(text[max(0, match.start() - 10) : match.start()])
                                 or text.startswith((" of", " another"), match.end())):
            return match[0]
        total = group = 0
        for word in words:
            if word == "thousand":
                total, group = total + max(group, 1) * 1000, 0
            else:
                group = max(group, 1) * 100 if word == "hundred" else group + VALUES.get(word, 0)
        return str(total + group)

    return NUMBER_WORDS.sub(value, text)


@functools.lru_cache(maxsize=256)
def adapted(pattern):
    """A key's pattern for text that `plain` has changed: its thousands separators are taken out as well."""
    return re.compile(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", pattern.pattern), pattern.flags)


def readings(text):
    """The sentences of the plain text as it is, with its hyphens parted, and with its number words as digits."""
    text = plain(text)
    parted = re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", " ", text)
    return [re.split(r"(?<=[.!?]) ", form) for form in dict.fromkeys((text, parted, digits(text)))]


def claims(sentences, patterns):
    """For each sentence, whether the answer claims there what each occurrence of each pattern says: lists of bools."""
    return [[is_claimed(sentence, match, following)
             for pattern in patterns
             for match in adapted(pattern).finditer(sentence)]
            for sentence, following in zip(sentences, [*sentences[1:], ""])]


def is_claimed(sentence, match, following):
    """Whether an occurrence is claimed: no question, not denied, not given up for another value, no alternative.

    Looks no further than NEAR characters to each side, so that the work stays linear in the text.
    """
    before = sentence[max(0, match.start() - NEAR) : match.start()]
    after = f"{sentence[match.end() : match.end() + NEAR]} {following[:NEAR]}"
    starts = [found.end() for found in CLAUSE_START.finditer(before)]
    clause = before[starts[-1] if starts else 0 :]
    if sentence[-3:].rstrip("\"')").endswith("?"):
        return False
    if DENIED_BEFORE.search(clause) or PAST_ONLY.search(before) or DENIED_AFTER.search(after):
        return False
    if is_part_of_number(match[0], before, after):
        return False
    number = bool(A_NUMBER.fullmatch(match[0]))
    if number and (OR_ANOTHER.search(after) or ANOTHER_OR.search(before)):
        return False
    if FROM.search(clause) and re.search(r"\bto\b", after):
        return False
    given_up = PAST_BEFORE.search(clause) and not SWITCH.search(clause)  # "was changed to Redis" gives nothing up
    switch = SWITCH.search(after) if given_up else CORRECTED.search(after)
    if switch is None:
        return True
    return not (A_NUMBER if number else A_WORD).search(after, switch.end())  # given up only for something else


def is_part_of_number(found, before, after):
    """Whether what was found is a piece of a longer number: the 3 of 3.5, the three of thirty-three."""
    if found[0].isdigit() and re.search(r"\d\.$", before) or found[-1].isdigit() and re.match(r"\.\d", after):
        return True
    around, start = f"{before[-NUMBER_NEAR:]}{found}{after[:NUMBER_NEAR]}", len(before[-NUMBER_NEAR:])
    ends = (start, start + len(found))
    return any(number.start() < end < number.end() for number in NUMBER_WORDS.finditer(around) for end in ends)


def facts_given(text, key):
    """Version 2: for each must pattern in turn, whether the answer claims it somewhere."""
    forms = readings(text)
    return [any(any(found) for form in forms for found in claims(form, [pattern])) for pattern in key["must"]]


def states_stale_as_current(text, key):
    """Version 2: a stale pattern is claimed and nothing in its sentence, or in a later one, takes it back."""
    return any(form_is_stale(form, key) for form in readings(text))


def form_is_stale(sentences, key):
    """Whether some sentence gives a replaced decision as current; read from the end, where it can be taken back."""
    if not key["stale"]:
        return False
    taken_back = False
    found = zip(sentences, claims(sentences, key["must"]), claims(sentences, key["stale"]))
    for sentence, must, stale in reversed(list(found)):
        denied_fact = bool(must) and not any(must)  # "RabbitMQ instead of Redis": a cue, but the wrong way round
        replaced = REPLACEMENT.search(sentence) and not denied_fact
        if any(stale) and not any(must) and not replaced and not taken_back:
            return True
        taken_back = taken_back or (any(must) and bool(LATER_CUE.search(sentence)))
    return False


def says_missing(text):
    """Version 2: the answer says that it lacks the information; "nothing is missing" does not."""
    return bool(SAID_MISSING.search(NOT_MISSING.sub("", plain(text))))
