"""Grader version 2: what an answer claims, as a person would read it.

Version 1 asks whether a pattern occurs: wrong where an answer denies what it names ("three, not five" for five),
corrects itself ("was three, now five") or writes a value in another form ("two hundred", "1,200", "**14**"). Version 2
brings answer and key to one form and asks whether some occurrence is claimed. It promises what tests/grade-cases.json
holds: English, one sentence and the next; a hedge ("probably three") still claims, a question does not, nor part of
another number ("12-14", "less than 14"). It does not read arithmetic ("3 + 2"), plans ("we will move off it"), reasons
("three are too few, so five"), denials of denials ("I doubt it is not three"), irony, nor what "it" is two sentences
on. Every pattern is linear, each look is at NEAR characters.
"""

import functools
import re

any_case = functools.partial(re.compile, flags=re.IGNORECASE)  # any_case("b").search("A B") matches "B"
ONES = "zero one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
VALUES = {word: n for n, word in enumerate(ONES + TEENS)} | {word: 20 + 10 * n for n, word in enumerate(TENS)}
SMALL = rf"(?:(?:{'|'.join(TENS)})(?:[- ](?:{'|'.join(ONES[1:])}))?|{'|'.join(TEENS)}|{'|'.join(ONES)})"
HUNDREDS = rf"(?:(?:{SMALL}|a)[- ]hundred(?: (?:and )?{SMALL})?|{SMALL})"
NUMBER_WORDS = any_case(rf"\b(?:(?:{HUNDREDS}|a)[- ]thousand(?: (?:and )?{HUNDREDS})?|{HUNDREDS})\b")
ONE_AS_PRONOUN = any_case(r"\b(?:no|this|that|which|each|any|every|the|another|some) $")
QUOTES = str.maketrans("‘’ʼ“”„«»‐‑‒–−", '\'\'\'"""""-----')
UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")  # without any width
MARKED = re.compile(r"[_`]|\\\*")  # a key that holds what could be a mark of Markdown
CLAUSE_START = any_case(r"[,;:()]|\bbut\b|\band\b|\bhowever\b|\bnow\b| - ")
NEGATOR = r"(?:\bnot|\bnever|\bno longer|n't|\bcannot)"
LIMITING = (r"(?:exceed\w*|outlive|outlast|more|less|fewer|over|under|beyond|above|below|only|just|until|before|after"
            r"|than|least|most)")
WRONG = (r"(?:wrong|false|incorrect|untrue|mistaken|outdated|obsolete|out of date"
         r"|(?:mistake|error)(?=[.,;:)!]| (?:to|that|and|in)\b))")
GIVEN_UP = ("(?:replaced|dropped|abandoned|removed|superseded|rejected|refused|lifted|scrapped|discarded|withdrawn"
            "|retired|cancell?ed|revoked|overturned|overruled|discontinued|deprecated|decommissioned|shelved|ditched"
            "|given up|ruled out|phased out|voted down|turned down)")
USING = "(?: (?:(?:us|adopt|choos|runn|keep|pick)ing|use|adopt|choose|run|keep|pick|go(?:ing)? (?:with|for)))?"
DENIED_BEFORE = any_case(
    rf"{NEGATOR}(?: (?!(?:{LIMITING}|doubt\w*|{WRONG}|{GIVEN_UP})\b)[\w'-]+){{0,5}} $"
    r"|\b(?:instead of|rather than|as opposed to|mov(?:ed|ing) off|(?:stop|cease|quit)(?:s|d|ped)?(?= using)"
    r"|(?:move|switch|migrate|change|go|went|away)[ds]?(?:ed)? (?:away )?from)"
    rf"{USING}(?: (?:the|our|an?))? $"
    r"|\b(?:replac(?:e|es|ed|ing)|used to (?:be|use|have)|no|neither|nor|any\w+ other than|hardly|by no means)"
    r"(?: (?:the|our|an?))? $"
    r"|\b(?:raised|lowered|increased|reduced|extended|up|down) from $"
    r"|\b(?:decided|voted|advised|argued) against(?: (?:the|our|an?|using))* $"
    r"|\b(?:chose|chosen|picked|preferred)(?: [\w'-]+){0,3} over $"
    r"|\b(?:not sure|not certain|unsure|unclear|not clear|n't know|not know)\b.{0,40}$")
REJECTED = any_case(  # unless that is denied ("no doubt it is three"); what "was dropped" is not what stands behind it
    rf"\b(?:doubt(?:s|ed)?|doubtful (?:that|if|whether)|unlikely (?:that|to be)"
    rf"|(?:{WRONG}|(?:not|n't) (?:true|right|correct|the case)) (?:that|to (?:say|claim|state|assume|think|believe)))\b"
    rf"(?: (?!(?:{LIMITING}|because|since|so|while|whereas|where|when|though)\b)[\w'-]+){{0,9}} $"
    rf"|\bno (?:evidence|indication|proof|sign|mention) (?:that|of)(?: [\w'-]+){{0,4}} $"
    rf"|\b(?:without|except(?: for)?|avoid(?:s|ed|ing)?){USING}(?: (?:the|our|an?))? $"
    rf"|\b(?:wrong|mistaken) about(?: (?:it|being|the|our))* $"
    rf"|(?<!was |ere |een |got | is |are )\b{GIVEN_UP}(?: (?:the|our|its|an?))?(?: (?:[\w-]+ ){{1,2}}of)? $")
SUBJECT = (r"(?: (?!(?:because|since|as|so|while|that|which|and|or|but|where|when|for|if|after|before|until|once"
           r"|than)\b)[\w'][\w'-]*){0,3}")
MEANWHILE = (any_case(r"\b(?:after|once|if|when|upon)(?: [\w-]+)? $"),  # "after three attempts the invoice is dropped"
             any_case(r"^(?: [\w-]+){1,2} (?:the|an?|our|your|it|he|she|they|you|we) "))
ANOTHER = rf"(?:\d|(?-i:[A-Z])|{SMALL}\b)"  # begins a number or a name
PERIOD = "week|month|quarter|year|sprint"
WHEN = (r"(?:\w+day|last \w+|this \w+|(?-i:[A-Z])\w+|\d|recently|now|the (?:change|switch|move|migration|end|start)"
        r"|(?:you|we|he|she|they) \w+ed)\b")
DENIED_AFTER = any_case(
    rf"^{SUBJECT} (?:is|are|was|were|does|do|did|will|has|have|had)(?:n't| not| no longer| never)\b"
    rf"(?! (?:only|just|(?:been )?(?:{WRONG}|{GIVEN_UP}|changed))\b)"
    rf"|^{SUBJECT} (?:is|are|was|were|has been|have been|had been|got)(?: (?:since|later|now|then))?"
    rf" (?:\w+ (?:but|and) (?:then |later )?)?{GIVEN_UP}\b"
    rf"|^{SUBJECT} (?:was|were|has been|have been|had been|got)"
    rf" (?:raised|lowered|increased|reduced|changed|updated) (?:from [\w-]+ )?to \w"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}}[,;] (?:but |and )?(?:it's |it is )?now \w"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}} (?:but|until) [^.;]{{0,30}}\b{GIVEN_UP}\b"
    rf"|^{SUBJECT} (?:was|were)(?: \w+)? (?:considered|proposed|suggested|discussed)\b(?! and)[^.;]{{0,40}} but\b"
    rf"|^{SUBJECT} (?:is|was|are|were) out(?=[.,;!]| of the (?:question|race|running))"
    rf"|^{SUBJECT} (?:was|were|had been)\b[^.;]{{0,60}} last (?:{PERIOD})\b.{{0,80}}\b(?:now|today|this (?:{PERIOD}))\b"
    rf"|^{SUBJECT} (?:was|were|had been) (?:in|on|at|the|our|an?|used)\b(?! (?:only|first))[^,.;]{{0,40}} until {WHEN}"
    rf"|^{SUBJECT},? (?:and )?(?:then|later) {ANOTHER}[\w' -]{{0,40}} (?:since|as of) {WHEN}"
    rf"|^{SUBJECT} no longer (?:appl|hold|stand|work|count)"
    rf"|^{SUBJECT} (?:is|was|are|were|would be) (?:the |our |an? |just |simply )?(?:old|former|{WRONG})\b(?! about|-)"
    rf"|^{SUBJECT} ?[:,(-] ?(?:an? )?(?:{WRONG}|{GIVEN_UP})(?=[.,;)!])"
    rf"|^{SUBJECT},? (?:perhaps|maybe|possibly) not(?=[.,;!])"
    rf"|^[^,.;?!]{{0,40}}[,.;] ?(?:but |and )?(?:that|this|it|which)(?: was| is|'s) (?:an? )?{WRONG}\b(?! (?:to|that))"
    r"|^[^,.;?!]{0,40}[,.;] ?(?:but |though )?(?:i|we) doubt (?:it|that|this)(?=[.,;!])")
PAST = r"(?:previously|originally|formerly|initially|earlier|at first)"
UNTIL = (any_case(r"\b(?:was|were|had been|used)(?: (?:in|on|at|the|our|an?))* $"),
         any_case(rf"^{SUBJECT} until {WHEN}"))  # "it was three until Monday"
FAILED = any_case(rf"^{SUBJECT} (?:failed\b(?! (?:over|to)\b)|lost (?:out )?to\b|resigned\b|stepped (?:down|aside)\b"
                  r"|(?:left|quit|declined)(?=[.,;!]| (?:the (?:team|company|project|role|job)|last|in)\b))")
PAST_BEFORE = any_case(rf"\b(?:was|were|had been|old|former|{PAST})\b")
PAST_ONLY = any_case(  # a value said to be of the past, with or without another in its place
    rf"\b{PAST},? (?:it|that|this|the [\w-]+(?: [\w-]+)?) (?:was|were|had been)(?: set to| at)? $"
    rf"|(?:^|[,;(] ?|\b(?:but|and) )until {WHEN},? (?:it|that|the [\w-]+(?: [\w-]+)?) (?:was|were)(?: set to| at)? $"
    rf"|\b(?:was|were|had been) {PAST}(?: set to| at)? $"
    rf"|\((?:it )?(?:was|were|{PAST}|not)(?: {PAST})? $|\b(?:any|every)(?:one|body|thing) but $"
    rf"|\b(?:now|currently)\b[^.;?!]{{0,60}}[,;] {PAST} $")
SWITCH = any_case(r"\b(?:now|currently|changed|replaced|switched|moved|raised|lowered|increased|reduced|updated)\b"
                  rf"|\bnew(?: [\w-]+)?(?::| is\b| are\b)"
                  rf"|(?:[,;.-]|\b(?:but|and)) (?:today|nowadays|these days|this (?:{PERIOD}))\b"
                  rf"|\b(?:is|are|it's) (?={ANOTHER}[\w' -]{{0,40}} (?:now|today|currently)\b)")
CORRECTED = any_case(r"^(?: [\w'-]+){0,2} ?[,.;(-]+ ?"
                     r"(?:no[,:]|wait,|sorry,|(?:actually|or rather|rather|i mean|make that|correction"
                     r"|(?:scratch|strike) that|should (?:read|have been))\b)")
FROM = any_case(r"\bfrom $")
FROM_OR_SWITCH = any_case(r"\bfrom\b|\b(?:chang|rais|lower|increas|reduc|mov|switch|updat)\w+")
OTHER_NUMBER = r"(?:\d[\w]*|" + SMALL + r"\b)"
PART_BEFORE = any_case(  # makes the number behind it part of another claim: 12-14, 1/14, -14, between 8 and 14
    rf"\d(?:[.,:/^~]|\.\.\.?)?$|{OTHER_NUMBER}(?: ?[-/×] ?| (?:or|through|thru|times) )$|(?:^|[^\w-])-$"
    rf"|\b(?:minus|half of|twice|double) $|\bbetween (?:{OTHER_NUMBER}(?: [\w%]+){{0,2}} and (?:about )?)?$"
    rf"|\b(?:rang\w+|anywhere|var\w+) from {OTHER_NUMBER} to $")
PART_AFTER = any_case(  # and the number before it: 14-16, 14/20, 14:30, 14 000, 14 million
    rf"^(?:(?:[.,:/^~]|\.\.\.?)?\d| ?[-/×] ?{OTHER_NUMBER}| (?:or|through|thru|times) {OTHER_NUMBER}| \d{{3}}\b"
    rf"| \d/\d| and a half\b|(?:, {OTHER_NUMBER}){{1,3}},? or {OTHER_NUMBER}"
    r"|[ -]?(?:hundred|thousand|million|billion|trillion|mio|mn|bn|lakh|crore|dozen)\b)")
COMPARED = any_case(
    r"\b(?:(?:less|fewer|more|greater|higher|lower|larger|smaller|longer|shorter) (?:[\w-]+ ){0,3}than|under|over|above"
    r"|below|beyond|exceed\w*) (?:about |the )?$|[\w)] ?[<>] ?$|^ ?< ?$")
DENIAL = any_case(rf"{NEGATOR}|\b(?:no|nobody|none|without|beyond|despite)\b")  # "no more than 14" is a claim of 14
RANGE = any_case(rf"{OTHER_NUMBER} to $"), any_case(rf"^ to {OTHER_NUMBER}")
A_NUMBER = any_case(rf"\b{OTHER_NUMBER}")
A_WORD = re.compile(r"\w")
NEAR, NUMBER_NEAR = 300, 40
REPLACEMENT = any_case(
    r"\b(?:replaced|instead|not|no longer|switched|changed|actually|previous|previously|originally|earlier|formerly"
    r"|initially|used to)\b|\b(?:old|before|former):")
LATER_CUE = any_case(
    r"\b(?:now|then|later|since|moved|currently|today|updated|replaced|instead|no longer|switched|changed|actually)\b")
NOT_MISSING = any_case(r"\b(?:nothing|none|not|no \w+|isn't|aren't)(?: (?:is|are|was|were|else is))? missing\b")
SAID_MISSING = any_case(
    r"\b(?:do not|don't|does not|doesn't|did not|didn't)"
    r" (?:have|say|mention|state|specify|contain|know|give|provide|include|show|name|see)\b"
    r"|\b(?:not|isn't|wasn't|aren't) (?:mention|state|specif|provide|includ|contain|available|given)"
    r"|\bno (?:[\w-]+ ){1,4}(?:is|are|was|were) (?:mentioned|stated|given|specified|provided|included|found)\b"
    r"|\bno information\b|\bnot enough information\b|\bmissing\b|\bnot in the conversation\b"
    r"|\b(?:cannot|can't|could not|couldn't|unable to) (?:find|determine|tell|say|see)\b"
    r"|\bprovide (?:more |the )?(?:context|conversation)\b|\b(?:not sure|unsure|not certain)\b")


def unified(text):
    """The text without struck words and zero-width characters, quotes plain: unified("“1,200”") -> '"1200"'."""
    text = re.sub(r"~~[^~\n]{0,200}~~", " ", UNSEEN.sub("", text))
    text = re.sub(r"(?<=\d)[,'’\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\\([_*`])", r"\1", text.replace("—", " - ").replace("…", "...").translate(QUOTES))
    return re.sub(r"[^\S\n]+", " ", text)


def plain(text):
    """The unified text in sentences and without marks of Markdown: plain("**1,200** `rows`") -> "1200 rows"."""
    text = re.sub(r"\n\s*(?=\n|[-*•#>]|\d+[.)] )", ".\n", unified(text))  # a list item is a sentence of its own
    return " ".join(re.sub(r"(?<!\w)_+|_+(?!\w)|[*`]", "", text).split())


@functools.lru_cache(maxsize=256)
def adapted(pattern):
    """A key's pattern normalised as `plain` normalises answers: quotes, dashes, blanks and thousands."""
    text = UNSEEN.sub("", pattern.pattern).replace("—", r" \- ").replace("…", r"\.\.\.")
    text = re.sub("[‐‑‒–−]", r"\\-", text).translate(QUOTES)
    return re.compile(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", re.sub(r"\s+", " ", text)), pattern.flags)


def held(text, key):
    """(unified text, adapted key). What a pattern with Markdown marks matches becomes a word: `plain` drops marks."""
    text, key = unified(text), {kind: list(map(adapted, patterns)) for kind, patterns in key.items()}
    for kind, patterns in key.items():
        for number, pattern in enumerate(patterns):
            if MARKED.search(pattern.pattern):
                word = f"held{kind}{number}x"
                text = pattern.sub(word, text)
                patterns[number] = re.compile(f"{word}|(?:{pattern.pattern})", pattern.flags)
    return text, key


def digits(text):
    """The text with its number words as digits: digits("two hundred and five") -> "205"."""

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


def readings(text):
    """[[(sentence, next or ""), ...], ...], by form of the text: plain, hyphens as blanks, numbers as digits."""
    text = plain(text)
    parted = re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", " ", text)
    forms = [re.split(r"(?<=[.!?]) ", form) for form in dict.fromkeys((text, parted, digits(text)))]
    return [list(zip(sentences, [*sentences[1:], ""])) for sentences in forms]


def claimed(sentence, following, patterns):
    """For each occurrence of the patterns in a sentence, whether the answer claims what it says."""
    question = sentence[-3:].rstrip("\"')").endswith("?")
    for match in (match for pattern in patterns for match in pattern.finditer(sentence)):
        start, end = match.span()
        before, after = sentence[max(0, start - NEAR) : start], f"{sentence[end : end + NEAR]} {following[:NEAR]}"
        yield not question and is_claimed(before, match[0], after)


@functools.lru_cache(maxsize=4096)  # an answer that says one thing over and over is read in little more than one look
def is_claimed(before, said, after):
    """Whether an occurrence, NEAR characters to each side, is claimed: is_claimed("it is not ", "14", ".") -> False."""
    clause = CLAUSE_START.split(before)[-1]
    other = A_NUMBER if A_NUMBER.fullmatch(said) else A_WORD
    if (is_part_of_number(before[-NUMBER_NEAR:], said, after[:NUMBER_NEAR], clause) or not_denied(REJECTED, clause)
        or DENIED_BEFORE.search(clause) or PAST_ONLY.search(before)
        or DENIED_AFTER.search(after) and not (MEANWHILE[0].search(clause) and MEANWHILE[1].search(after))
        or UNTIL[0].search(clause) and UNTIL[1].search(after)
        or other is A_WORD and FAILED.search(after)  # "three attempts failed" is a count
        or FROM.search(clause) and re.search(r"\bto\b", after)):
        return False
    given_up = PAST_BEFORE.search(clause) and not SWITCH.search(clause)  # "was changed to Redis" gives nothing up
    switch = SWITCH.search(after) if given_up else CORRECTED.search(after)
    if switch is None:
        return True
    return not other.search(after, switch.end())  # given up only for something else


def not_denied(pattern, clause):
    """Whether the pattern occurs in a clause without a negation before it."""
    match = pattern.search(clause)
    return match and not DENIAL.search(clause[: match.start()])


def is_part_of_number(before, said, after, clause):
    """Whether the number that was said is part of another claim: the 3 of 3.5, the 14 of 12-14 or of less than 14."""
    first, last = A_NUMBER.match(said), any(number.end() == len(said) for number in A_NUMBER.finditer(said))
    ends = (len(before), len(before) + len(said))
    return bool(
        first and (PART_BEFORE.search(before) or re.search(r"(?<!\w)\d{1,3} $", before) and re.match(r"\d{3}\b", said))
        or last and PART_AFTER.search(after)
        or first and not_denied(COMPARED, clause)
        or (first and RANGE[0].search(before) or last and RANGE[1].search(after)) and not FROM_OR_SWITCH.search(clause)
        or any(number.start() < end < number.end()
               for number in NUMBER_WORDS.finditer(f"{before}{said}{after}") for end in ends))


def facts_given(text, key):
    """Version 2: for each must pattern in turn, whether the answer claims it somewhere.
    facts_given("Five, not three.", {"must": [re.compile("(?i)five"), re.compile("three")]}) -> [True, False]"""
    text, key = held(text, key)
    read = [pair for sentences in readings(text) for pair in sentences]
    return [any(any(claimed(*pair, [pattern])) for pair in read) for pattern in key["must"]]


def states_stale_as_current(text, key):
    """Version 2: a stale pattern is claimed, and neither its sentence nor a later one retracts it."""
    text, key = held(text, key)
    for sentences in readings(text) if key["stale"] else ():
        for sentence, following in reversed(sentences):  # from the end, where it can be retracted
            musts = set(claimed(sentence, following, key["must"]))
            denied_fact = musts == {False}  # "RabbitMQ instead of Redis": a cue that denies the fact
            replaced = REPLACEMENT.search(sentence) and not denied_fact
            if True not in musts and not replaced and any(claimed(sentence, following, key["stale"])):
                return True
            if True in musts and LATER_CUE.search(sentence):
                break  # what stands before is retracted
    return False


def says_missing(text):
    """Version 2: the answer says that it lacks the information: says_missing("I do not know.") -> True."""
    return bool(SAID_MISSING.search(NOT_MISSING.sub("", plain(text))))
