"""How people who work with agents give orders, complain and remind, and what of a message is pasted output.

English, and no grammar: patterns over a sentence. Typing errors that swap letters are read through (`mended`).
"""

import re

COMMANDS = frozenset(
    "abort add adjust align allow annotate answer append apply archive ask assume attach avoid begin bring build bump "
    "call cancel cap change check clean close combine comment commit compare configure continue convert copy cover "
    "create cut debug delete deploy describe disable do document don't drain drop dump edit enable ensure exclude execute "
    "expand explain export expose extract fetch fill filter find finish fix focus follow format freeze generate get "
    "give go group guard handle hide hold ignore implement import improve include inline insert inspect install "
    "integrate investigate join keep kill label leave let limit link lint list load log look lower make mark merge "
    "migrate mock monitor move name never note open order outline pass patch pick pin plan port post prefer prefix "
    "prepare preserve print profile promote propose provide publish pull push put quote raise read rebase record "
    "redo reduce refactor release remind remove rename render reorder repeat replace reply report reproduce request "
    "rerun reset resolve respect respond restart restore restrict retry return reuse revert review revise rewrite "
    "roll rotate run save scale schedule search send separate serve set ship show simplify skip sort spawn split "
    "squash stage start stay stick stop store strip suggest summarise summarize support swap switch sync tag take "
    "target tell test touch track translate treat trim try tune turn undo unpin update upgrade upload use validate "
    "verify wait walk warn wire work wrap write".split())
FILLER = re.compile(r"(?:(?:and|then|also|but|so|ok|okay|now|alright|yes|yeah|yep|no|nope|great|cool|nice|good|right|well|"
                    r"btw|first|next|finally|instead|actually|just|please|pls|lets|let's|go ahead|and)\b[\s,.:!-]*)+", re.I)
WISH = re.compile(
    r"\b(?:please|let'?s|i(?:'d| would| wd)? (?:\w+ )?(?:want|like|need|prefer|expect|assume)|we (?:want|need|should|must)|"
    r"(?:can|could|would|will) (?:you|we|u)|make sure|ensure|how about|has to|have to|needs? to|"
    r"(?:should|shouldn'?t|must|mustn'?t|shall)\b(?! (?:i|we|it|this|that|they)\b))\b", re.I)
RULE = re.compile(
    r"\b(?:do ?n'?t|do not|never|always|only|must|mustn'?t|should|shouldn'?t|without|no more|not (?:in|into|on|by|with|"
    r"from|before|after|until|allowed)|keep|stay|use|avoid|make sure|ensure|at (?:most|least)|every (?:time|\w+)|"
    r"instead of|rather than|prefer|from now on|unless|until|forbidden|required?|stick (?:to|with)|leave|everywhere|strictly|nothing|nobody|none|"
    r"(?:so|and|but|then),? no \w+)\b|^\W*no (?!idea|problem|worries|need|one|thanks)\w+", re.I)
ASKS = re.compile(r"\s*(?:so |and |but |ok,? |also |hm+,? )*(?:what|why|how(?! about)|when|where|who|which|is|are|was|were|"
                  r"does|did|do (?:you|we|i)|has|have|any)\b", re.I)
DECLARES = re.compile(
    r"\b(?:as (?:i|we) (?:\w+ )?(?:said|asked|told|mentioned|wrote|agreed|discussed)|like i (?:said|asked|told)|"
    r"as (?:discussed|agreed|requested|mentioned)|(?:i|we)(?:'?d|'?ve| had| have)?(?: already| just| specifically|"
    r" explicitly| clearly| literally)* (?:said|asked|told|mentioned|specified|agreed|requested|instructed)\b(?! me\b)|"
    r"(?:all|what|one thing) i (?:said|asked|wanted)|reminder|reminding|not what (?:i|we)|how many times|"
    r"(?:second|third|fourth|\w+th) time|we had a deal|(?:was|is|were) (?:a|the|our|my) (?:\w+ )?(?:requirement|rule|"
    r"deal|agreement|condition|instruction|order)|the (?:requirement|rule|deal|agreement|condition|instruction) was|"
    r"i repeat|to repeat|thought (?:that|this|it) was clear)\b|^\W*again\s*[:,]", re.I)
REMINDS = re.compile(r"(?<!i )(?<!n't )(?<!not )\bremember\b(?! (?:when|how)\b)|\b(?:don'?t forget|once more|one more time)\b", re.I)
COMPLAINS = re.compile(
    r"\b(?:still (?:not?|fail\w*|broken?|wrong|red|see\w*|gett?\w*|ha(?:ve|s)|says?|shows?|the|missing|crash\w*|hang\w*|"
    r"uses?|calls?|\w+(?:ing|ed)|(?:do|does|is|are|ca|wo)n'?t|on|in)|yet again|(?:not|was|were|you'?re) supposed to|you (?:\w+ ){1,4}without|misunderst\w+|mix-?up|confus\w+|"
    r"you(?:'ve| have|'re)? (?:(?:just|again|also) )?(?:ha\w*n'?t|did ?n'?t|do ?n'?t|are ?n'?t|forgot|forget|ignored?|"
    r"ignoring|missed|skipped|keep \w+ing|kept|never|broke|lost|reverted|removed|deleted|changed|undid)|did ?n'?t (?:i|we|you)|"
    r"did you (?:even|just|not|forget|actually|really|ever)|why (?:did|do|are|would|on earth|the hell)\b.{0,9}\byou|"
    r"why (?:isn'?t|aren'?t|didn'?t|is there (?:still|a diff))|stop \w+ing|no longer works?|is ?n'?t (?:done|fixed|there)|"
    r"(?:not|never) (?:done|fixed|there|working|follow\w*)|wrong (?:again|file|branch|place|way|one|order)|"
    r"(?:do|did|does|fix|try|happen\w*|fail\w*|broken?|wrong) (?:it |this |that )?again)\b|\?!|\?\?|!!|\bwtf\b", re.I)
AGAIN = re.compile(r"\bagain\b", re.I)
HINTS = re.compile(
    r"\b(?:is|are|was|were|does|do|did)(?: not|n'?t)\b|\bwhere (?:is|are|did)\b|"
    r"(?:,|\s)(?:right|or|yes|correct|no|yeah|isn'?t it|doesn'?t it|won'?t (?:it|we)|should(?:n'?t)? (?:it|we))\s*\?\s*$|"
    r"\b(?:(?:let'?s|can we|please|my) focus|get back to|back to)\b", re.I)
# What lifts or meets a condition says other than the order that set it, in its words.
LIFTS = re.compile(r"\b(?:(?:open|back|allowed|free) again|no longer|any ?more|go ahead|(?:is|are) (?:done|out|over|ready|back)|signed off|said yes|"
                   r"from now on|you (?:can|may) now|now you (?:can|may)|never ?mind|changed my mind)\b", re.I)
OUTPUT_LINE = re.compile(
    r"^\s*(?:[$>#%➜❯]\s|! \[|---|===|\+\+\+|@@|[+-]\s{2,}|\d{4}-\d\d-\d\d|\d+[:|]|\[[\w :.-]+\]|at \S+[:(]|File \"|Traceback|"
    r"\w*(?:Error|Exception|Warning)\b:|(?:On branch|Your branch|Changes (?:not )?(?:staged|to be)|Untracked files|"
    r"modified:|new file:|deleted:|renamed:|commit [0-9a-f]{7,}|Author:|Date:|Merge:|index [0-9a-f]{6,}|diff --git)|"
    r"(?:remote|fatal|hint|stderr|stdout|FAIL|PASS|ok|FAILED|ERROR|WARN|WARNING|INFO|DEBUG|error|warning|npm|npx)\b[:\s]|"
    r"[{}\[\]();,]+\s*$|[\w./-]+:\d+|\S+@\S+[:~]|[✓✗✔✘×●│├└]|\|.*\|\s*$|[0-9a-f]{7,40}\b|</?\w)"
    r"|[{};]\s*$|^\s*[\w.-]+\s*[:=]\s*[\d\"'{\[]|\s{3,}\S+\s{3,}\S+|^\s{4,}\S|^\t")
MACHINE = re.compile(
    r"\s*(?:<[a-z][\w-]*[ >]|\{\"|\[\{|\[(?:SYSTEM|system|bot|hook|auto)\b|\[Request interrupted|Stop hook|PreToolUse|"
    r"PostToolUse|This session is being continued|Permission denied|The todo list|# (?:AGENTS|CLAUDE)\.md|"
    r"You are (?:a|an|the) [\w -]*(?:agent|reviewer|assistant|subagent)\b)")
SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+(?=\S)|\n+|;\s+|\s+-\s+|(?<=,)\s+(?=but\b|also\b|and (?:please|also|don)|make sure\b|"
                      r"please\b|then\b)")
# Words that orders and complaints are made of, whatever they are about: nothing that two of them could have in common.
PLAIN = ("all already also always any anything again can could did do does don done ever every everything focus get give go "
         "going good had has have here if it just keep kept let like look make me must need never new no not nothing now ok "
         "only one other please pls put really remember right said see should so some stay still such sure take tell that "
         "the them then there thing things think this to told too try use used using want wanted way we well why will with "
         "without work works would wrong yes you before after until first actually instead where when how what who").split()
KNOWN = {"".join(sorted(word)): word for word in
         "haven't didn't doesn't don't shouldn't still already again remember forgot should always never only".split()}


def prose(text):
    """(what a person wrote, whether program output stood beside it): fenced blocks and lines of output are taken out."""
    text = re.sub(r"```.*?(?:```|\Z)", "\n", text.replace("’", "'"), flags=re.DOTALL)
    lines = [line for line in text.split("\n") if line.strip()]
    kept = [line for line in lines if not OUTPUT_LINE.search(line)]
    return "\n".join(kept), len(kept) < len(lines)


def sentences(text):
    """The sentences of a person's prose; a line end, a semicolon or a clause that orders begins one too."""
    return [part.strip() for part in SENTENCE.split(text) if part and part.strip()]


def mended(text):
    """The text with letters put back in order in the words that cues are made of: "you havne't" -> "you haven't"."""
    return re.sub(r"[a-z']{4,9}", lambda word: KNOWN.get("".join(sorted(word[0])), word[0]), text.lower())


def orders(sentence):
    """Whether a sentence gives an order: a wish, a rule, or a verb of command at its beginning."""
    if ASKS.match(sentence) and not re.search(r"\b(?:only|never|should|must)\b", sentence, re.I):
        return False
    first = re.match(r"\W*([\w']+)", FILLER.sub("", sentence.lower().lstrip(" \t-*•\"'"), count=1))
    return bool(WISH.search(sentence) or RULE.search(sentence)) or bool(first and first[1] in COMMANDS)


def cue(text):
    """How a text says that something was said before: "declares", "complains", "reminds", "hints" or None."""
    text = mended(text)
    if DECLARES.search(text):
        return "declares"
    if COMPLAINS.search(text) or AGAIN.search(text) and not orders(text):
        return "complains"
    return "reminds" if REMINDS.search(text) else "hints" if HINTS.search(text) else None
