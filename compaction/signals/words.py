"""The words that tell restatements apart: what a stop word, a reminder, an instruction or a line of output is.

English, as developers and users of agents write it.
"""

import re

STOP = frozenset(
    "a an and are as at be been being but by can could did do does doing done for from get gets go goes going "
    "got had has have "
    "having he her here him his how i if in into is it its just let like me might more most my no nor not now "
    "of off ok okay on "
    "once one only or our out over own please really same she should since so some still such sure than that "
    "the their them then "
    "there these they thing this those though to too up us very was we well were what when where which while "
    "who why will with "
    "would yes yeah you your yours also always never again already about actually alright maybe think want "
    "wanted need needed "
    "btw hey hi hello thanks thank right see say said told tell asked ask remember remind mean meant way lets "
    "im ive id dont "
    "doesnt didnt isnt cant wont youre thats theres whats pls plz".split())
# How a person says that this was said before: by the words themselves, by what is found wrong, by a tag question.
DECLARES = re.compile(
    r"\b(?:(?:as|like) (?:i|we) (?:\w+ )?(?:said|asked|told|mentioned|wrote|agreed|discussed)|as (?:discussed|"
    r"agreed|requested|mentioned|stated)|"
    r"(?:i|we)(?:'?d|'?ve| had| have)?(?: already| just| specifically| explicitly)? (?:said|asked|told|"
    r"mentioned|specified|agreed)\b(?! (?:me|us)\b)|"
    r"(?:all|what|one thing) i (?:said|asked|wanted)|i (?:already|specifically|explicitly|clearly) \w+|"
    r"(?<!i )(?<!n't )(?<!not )remember\b|reminder|reminding|"
    r"(?:not|never) what (?:i|we)|how many times|(?:second|third|\w+th) time|we had a deal|thought (?:that|this|"
    r"it) was clear|"
    r"(?:was|is|were) (?:a|the|our|my) (?:hard |first |whole |main )?(?:requirement|rule|deal|point|agreement|"
    r"condition|instruction)|"
    r"the (?:requirement|rule|deal|agreement|condition|order|instruction) was)\b|^\W*(?:again|once more|"
    r"to repeat|repeat)\b\s*[:,]",
    re.IGNORECASE)
REMINDER = re.compile(
    r"\b(?:once more|one more time|repeat(?:ing)?|misunderst\w+|mix-?up|confus\w+|(?:not |was |were |"
    r"you'?re )supposed to|"
    r"you(?:'ve| have)? (?:ha\w*n\w*'?t|did ?n'?t|forgot|ignored?|missed|skipped|keep|kept)|did ?n'?t (?:i|we)|"
    r"did you just|"
    r"why (?:did|do|are|would|on earth) you|why (?:is|are|was) there|stop \w+ing|"
    r"(?:let'?s|can we|please|my) focus)\b|\?!|\?\?",
    re.IGNORECASE)
AGAIN = re.compile(r"\bagain\b", re.IGNORECASE)
TAG = re.compile(r"(?:,|\s)(?:right|or|yes|correct)\s*\?\s*$", re.IGNORECASE)
HINT = re.compile(r"\b(?:already|still|earlier|instead of|rather than|not \w+ to|get back to|actually)\b|"
                  r"(?:,|\s)(?:no|yeah|isn'?t it|doesn'?t it|won'?t (?:it|we)|should(?:n'?t)? (?:it|we))\s*\?\s*$",
                  re.IGNORECASE)
# What lifts or meets a condition says other than the instruction that set it, in its words.
LIFTS = re.compile(
    r"\b(?:no longer|any ?more|go ahead|(?:is|are) (?:done|out|over|ready)|signed off|said yes|from now on|"
    r"you (?:can|may) now|"
    r"now you (?:can|may))\b",
    re.IGNORECASE)
# An instruction: a wish, an obligation, a prohibition, or a verb of command at its beginning.
INSTRUCTS = re.compile(
    r"\b(?:don'?t|do not|never|must|should|shouldn'?t|shall|always|only|make sure|ensure|please|let'?s|want|"
    r"would (?:\w+ )?like|"
    r"i'?d (?:\w+ )?(?:like|prefer)|needs?|prefer|can you|could you|could we|can we|would you|keep|use|without|"
    r"avoid|no more|instead|"
    r"has to|have to|rather|willing|stick (?:to|with)|leave|stop|how about|may not|not allowed|forbidden|"
    r"required?|everywhere|everything|strictly|"
    r"not (?:in|into|on|by|with|from|before|after|until)|(?:so|and|but|then) no \w+)\b|^\W*no (?!idea|problem|"
    r"worries|need|one|thanks)\w+",
    re.IGNORECASE)
INQUIRES = re.compile(
    r"\s*(?:so |and |but |ok,? |also )?(?:(?:can|could|would|will) you (?:please )?(?:let me know|tell me|"
    r"explain|remind me|say|confirm|help me)|"
    r"what|why|how (?!about)|when|where|who|which|is|are|was|were|does|did|do you)\b",
    re.IGNORECASE)
COMMANDS = frozenset(
    "add adjust align allow annotate answer append apply ask assume attach avoid begin bring build bump call "
    "change check clean "
    "close combine commit compare configure continue convert copy cover create cut debug delete deploy describe "
    "disable do "
    "document don't drop edit enable ensure exclude execute explain export extract fetch fill find finish fix "
    "focus follow format "
    "freeze generate get give go group handle hide hold ignore implement import improve include insert inspect "
    "install integrate "
    "investigate join keep kill label leave limit link list load log look make mark merge migrate mock monitor "
    "move name never "
    "note notify open order pin pick plan please post prefer prefix prepare preserve print promote propose "
    "provide publish pull push "
    "put quote read rebase record reduce refactor release remind remove rename reorder repeat replace reply "
    "report reproduce "
    "request rerun reset resolve respect respond restart restore restrict return reuse revert review rewrite "
    "roll rotate run save scale "
    "schedule scope search send separate set ship show simplify skip sort spawn split stage start stay stick "
    "stop store strip "
    "suggest summarise summarize switch sync tag take target tell test touch track translate treat trim try "
    "turn undo "
    "cordon drain flush patch ping provision reimage uncordon uninstall unpin update upgrade upload use "
    "validate verify wait warn wire work wrap write".split())
OUTPUT_LINE = re.compile(
    r"^\s*(?:[$>#%➜]\s|---|===|\+\+\+|@@|\d{4}-\d\d-\d\d|\d+[:|]|\[[\w :.-]+\]|at \S+[:(]|File \"|Traceback|"
    r"\w*(?:Error|Exception|Warning)\b:|"
    r"(?:remote|fatal|hint|stderr|FAIL|PASS|ok|FAILED|ERROR|WARN|INFO|DEBUG|error|warning|npm)\b[:\s]|"
    r"[{}\[\]();]+\s*$|[\w./-]+:\d+|\S+@\S+[:~]|[✓✗✔✘×])"
    r"|[{};]\s*$|^\s*[\w.-]+\s*[:=]\s*[\d\"'{\[]|\s{3,}\S+\s{3,}\S+|^\s{4,}\S")
MACHINE = re.compile(
    r"\s*(?:<[a-z][\w-]*[ >]|\{\"|\[\{|\[(?:SYSTEM|system|bot|hook|auto)\b|\[Request interrupted|Stop hook|"
    r"PreToolUse|PostToolUse|"
    r"This session is being continued|Permission denied|The todo list|"
    r"You are (?:a|an|the) [\w -]*(?:agent|reviewer|assistant|subagent)\b|# (?:AGENTS|CLAUDE)\.md)")
IDENTIFIER = re.compile(r"[\w.$-]*(?:[a-z][A-Z]|\d|_|\.\w)[\w$-]*(?:\.[\w$-]+)*")
WORD = re.compile(r"[@\w$./'#%-]*\w")
SENTENCE = re.compile(
    r"(?<=[.!?])\s+(?=\S)|\n+|;\s+|\s+-\s+|(?<=,)\s+(?=but\b|also\b|and (?:please|also|don)|make sure\b|"
    r"please\b|then\b)")
RULE = re.compile(
    r"\b(?:don'?t|do not|never|must|should|shouldn'?t|always|only|without|no|not|keep|use|avoid|want|prefer|"
    r"make sure|"
    r"need|focus)\b",
    re.IGNORECASE)
REQUEST = re.compile(r"\b(?:can you|could you|could we|can we|would you|please|let'?s)\b", re.IGNORECASE)
SAME = {
    word: group[0]
    for group in (("folder", "directory", "dir"), ("prod", "production"), ("repo", "repository"), ("db", "database"),
                  ("config", "configuration"), ("doc", "documentation"), ("env", "environment"), ("msg", "message"),
                  ("dep", "dependency", "package"), ("int", "integer"), ("big", "huge", "large"),
                  ("customer", "client"), ("test", "spec"), ("delete", "remove"), ("comment", "remark"))
    for word in group
}


def stem(word):
    """A word without its commonest endings, so that changing and change, tests and test are one term."""
    word = SAME.get(word, SAME.get(word.removesuffix("s"), word))
    for ending in ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ied", "ers", "er", "ed", "es", "ly", "s",
                   "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word
    return word


def first_word(sentence):
    """The first word of a sentence that is no filler, in lower case."""
    found = re.match(r"\W*(?:(?:and|then|also|but|so|ok|okay|now|alright|yes|yeah|no)\W+)*([\w']+)", sentence.lower())
    return found.group(1) if found else ""


def instructs(sentence):
    """Whether a sentence gives an instruction: words of wish or duty, or a verb of command at its beginning."""
    if INQUIRES.match(sentence) and not re.search(r"\b(?:only|never|should|must|not)\b", sentence, re.IGNORECASE):
        return False
    return bool(INSTRUCTS.search(sentence)) or first_word(sentence) in COMMANDS


def cue(text):
    """How a text says that something was said before: a key of BARS."""
    if DECLARES.search(text):
        return "declares"
    if REMINDER.search(text) or AGAIN.search(text) and not REQUEST.search(text) and first_word(text) not in COMMANDS:
        return "reminder"
    return "tag" if TAG.search(text) else "hint" if HINT.search(text) else "none"
