"""Score what was said in a conversation for a question: near for texts, near-messages for single messages.

near: the words of a question often stand in the message before or after the one that answers it. So texts are cut into
short passages, each scored by BM25 as if it also held the words around it, the less the further away, measured in
words: where messages are long the help fades by itself. A text is worth its best passage. near-messages adds to that:

    seed(m)  = (near(m) + 0.2 named(m) + 0.2 fresh(m)) brief(m), 0 where near(m) is 0
    score(m) = seed(m) + company(m) brief(m)

near     near's score of the message, divided by the best of the question
named    1 where the speaker's label shares a word with the question, else 0
fresh    min(1, ln(1 + n) / ln 21), n the stems that no earlier message holds
brief    (40 / stems) ** 0.5 of a message with more than 40 stems, else 1: a long one costs more than it tells
company  the mean over the stems of m that another message holds, weighted by idf = ln((N + 1) / (h + 0.5)) with h
         holders of N messages, of the mean of seed squared over the other holders; 0 for stems of the question

Words are those of segments.py without English stop words; those in Latin script are cut to a crude English stem. A
label is a name of up to 31 characters, a colon and a blank at the beginning, which at least three messages bear; a word
of over 95% of the labelled messages' labels tells nothing. Neither knows synonyms or which of two statements holds.
Kin: positional language models (Lv and Zhai, SIGIR 2009); BM25 (Robertson and Zaragoza 2009).
"""

import re
from array import array
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from math import fsum, log
from pathlib import Path

from base.command import read_json
from modelkit.segments import split_sentences, words

K1, B = 1.2, 0.75
PASSAGE = 40  # stems that a passage holds at most, one longer sentence aside
FADE = 40  # stems after which a word counts a third
WEIGHTS = [weight for half in range(400) if (weight := 3 ** (-half / 2 / FADE)) >= 0.05]  # by distance in half stems
ENDINGS = [re.compile(rf"(?<=...)(?:{endings})\Z") for endings in ("ies|es|s", "ing|ied|ed|ly", "e|y|i")]
STOP_WORDS = frozenset(read_json(Path(__file__).with_name("near_stop_words.json")))
LABEL = re.compile(r"([^\W\d_](?:[\w .'’-]{0,29}[\w.])?): ")
NAMED, FRESH = 0.2, 0.2  # beside near, which is at most 1
PLENTY = 20  # new stems that count as entirely new
BRIEF = 40  # stems up to which a message is short
BEARERS, COMMON = 3, 0.95
_NOT_LATIN = re.compile("[^\0-\u024f\u1e00-\u1eff]")
_AFTER_APOSTROPHE = re.compile(r"(?<=\w)['’]\w{1,2}(?!\w)")  # 's, 'm, 't, 'll; not the name in l'Oréal or O'Brien


def stems(text):
    """The stems of the text in order, stop words left out: stems("Caroline's studies") -> ["caroli", "stud"]."""
    return [stem(word) for word in words(_AFTER_APOSTROPHE.sub("", text)) if word not in STOP_WORDS]


@lru_cache(maxsize=1 << 17)
def stem(word):
    """The word cut to a stem, where it is a word of over three letters in Latin script and no number.

    One ending of each of ENDINGS goes, the longest that leaves three characters; then a doubled last letter is made
    single and six characters stay: running -> runn -> run, studies -> stud, wedding -> wed.
    """
    if len(word) <= 3 or word.isdecimal() or _NOT_LATIN.search(word):
        return word
    for endings in ENDINGS:
        word = endings.sub("", word)
    if len(word) > 3 and word[-1] == word[-2] and word[-1].isalpha():
        word = word[:-1]
    return word[:6]


@lru_cache(maxsize=1 << 15)  # texts: a running conversation is read anew at each request
def passages(text):
    """The text as tuples of stems: whole sentences (ended by line breaks too), packed in order up to PASSAGE stems."""
    packed = []
    for line in text.splitlines():
        for sentence in split_sentences(line):
            stemmed = stems(sentence)
            if packed and len(packed[-1]) + len(stemmed) <= PASSAGE:
                packed[-1] += stemmed
            elif stemmed:
                packed.append(stemmed)
    return tuple(map(tuple, packed))


class NearIndex:
    """Texts in conversation order, ready for many questions; `add` appends one and rebuilds nothing.

    score of a passage p = sum over the question's distinct stems of
        idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean length)),
    tf and length being sums over all passages q of what q holds, weighted by 3 ** (-d / FADE), d stems between the
    middles of p and q; the mean is that of those lengths; idf = ln(1 + (N - n + 0.5) / (n + 0.5)), N and n counted
    over passages as they are.

    NearIndex(["Are you still at the harbour?", "Yes, three weeks now."]).scores("Which harbour?") -> {0: 0.70, 1: 0.66}
    """

    def __init__(self, texts=()):
        self._texts = 0
        self._owners, self._places, self._sizes = [], [], []  # by passage: text, middle in half stems, stems
        self._lengths, self._total = [], 0.0  # by passage: its weighted length; the sum of all
        self._near = []  # by passage: (the first passage within reach, the weights of it and those behind it)
        self._holders = {}  # stem -> passages that hold it, each followed by how often, ascending
        for text in texts:
            self.add(text)

    def add(self, text):
        """Append the conversation's next text."""
        for passage in passages(text):
            self._add_passage(passage)
        self._texts += 1

    def _add_passage(self, passage):
        number, size = len(self._places), len(passage)
        place = (self._places[-1] + self._sizes[-1] if number else 0) + size
        first = bisect_right(self._places, place - len(WEIGHTS))
        length, weights = float(size), [1.0]
        for other in reversed(range(first, number)):
            weight = WEIGHTS[place - self._places[other]]
            weights.append(weight)
            self._near[other][1].append(weight)
            self._lengths[other] += weight * size
            length += weight * self._sizes[other]
            self._total += weight * (size + self._sizes[other])
        self._total += size
        self._owners.append(self._texts)
        self._places.append(place)
        self._sizes.append(size)
        self._lengths.append(length)
        self._near.append((first, weights[::-1]))
        for held, times in Counter(passage).items():
            self._holders.setdefault(held, array("l")).extend((number, times))

    def scores(self, question):
        """{number of a text: score} of the texts that hold a stem of the question or stand near one."""
        count, lengths, scores = len(self._places), self._lengths, {}  # scores: by passage
        fixed, by_length = K1 * (1 - B), K1 * B * count / (self._total or 1.0)
        for asked in dict.fromkeys(stems(question)):
            holders, near = self._holders.get(asked, ()), {}  # near: how often a passage holds the stem or stands by it
            for number, times in zip(holders[::2], holders[1::2]):
                first, weights = self._near[number]
                for other, weight in enumerate(weights, first):
                    near[other] = near.get(other, 0.0) + weight * times
            holding = len(holders) // 2
            gain = (K1 + 1) * log(1 + (count - holding + 0.5) / (holding + 0.5))
            for number, times in near.items():
                score = gain * times / (times + fixed + by_length * lengths[number])
                scores[number] = scores.get(number, 0.0) + score
        best = {}
        for number, score in scores.items():
            best[self._owners[number]] = max(score, best.get(self._owners[number], 0.0))
        return best


class MessageIndex:
    """Messages (text, date) in conversation order, ready for many questions; `add` appends one and rebuilds nothing.

    MessageIndex([("Are you still at the harbour?", "")]).scores("Which harbour?") -> {0: 1.07}: near 1, fresh 0.07
    """

    def __init__(self, messages=()):
        self._near = NearIndex()
        self._numbers, self._holders = {}, []  # stem -> its number; by that number: messages that hold the stem
        self._stems, self._fresh, self._brief = [], [], []  # by message; stems as numbers, each once
        self._labels = []  # by message: its label or None
        self._shares = None  # what depends on all messages, made at the first question after an `add`
        for message in messages:
            self.add(message)

    def add(self, message):
        """Append the conversation's next message; near alone reads the date that is shown before it."""
        text, date = message
        self._near.add(f"[{date}] {text}" if date else text)
        label = LABEL.match(text)
        self._labels.append(label and label[1].lower())
        own = [stem for passage in passages(text[label.end():] if label else text) for stem in passage]
        numbers, known = self._numbers, len(self._numbers)
        held = list(dict.fromkeys([numbers.setdefault(stem, len(numbers)) for stem in own]))
        self._holders += [[] for _ in range(len(numbers) - known)]
        number = len(self._stems)
        for stem in held:
            self._holders[stem].append(number)
        self._stems.append(held)
        self._fresh.append(min(1.0, log(1 + len(numbers) - known) / log(1 + PLENTY)))
        self._brief.append((BRIEF / len(own)) ** 0.5 if len(own) > BRIEF else 1.0)
        self._shares = None

    def scores(self, question):
        """{number of a message: score} of the messages that score more than nothing."""
        near, named = self._near.scores(question), self._named(question)
        best = max(near.values(), default=0)
        seeds, squares, totals = [0.0] * len(self._stems), [0.0] * len(self._stems), [0.0] * len(self._holders)
        for number, score in near.items():
            more = FRESH * self._fresh[number] + NAMED * (self._labels[number] in named)
            seeds[number] = seed = (score / best + more) * self._brief[number]
            squares[number] = square = seed * seed
            for stem in self._stems[number]:
                totals[stem] += square
        self._shares = self._shares or self._weigh()
        each, sums, factors = self._shares
        each, sums = list(each), list(sums)
        for stem in {self._numbers[stem] for stem in stems(question) if stem in self._numbers}:
            for number in self._holders[stem]:
                sums[number] -= each[stem]
            each[stem] = 0.0
        worth = [total * share for total, share in zip(totals, each)].__getitem__
        # of a stem with h holders: (the sum of squares over its holders, less the message's own) / (h - 1)
        parts = enumerate(zip(seeds, self._stems, squares, sums, factors)) if near else ()
        return {number: score for number, (seed, held, square, share, factor) in parts
                if (score := seed + (fsum(map(worth, held)) - square * share) * factor) > 0}

    def _named(self, question):
        """The labels that share a word with the question."""
        bearers = {label: times for label, times in Counter(self._labels).items() if label and times >= BEARERS}
        counts = Counter()
        for label, times in bearers.items():
            counts.update(dict.fromkeys(words(label), times))
        asked = {form for word in words(question) for form in (word, word.removesuffix("s"))
                 if counts[form] <= COMMON * sum(bearers.values())}
        return {label for label in bearers if not asked.isdisjoint(words(label))}

    def _weigh(self):
        """(idf / (holders - 1) by stem, 0 for a stem of one message; its sum by message; brief / sum of idf)."""
        more = len(self._stems) + 1
        idf = [log(more / (len(holders) + 0.5)) if len(holders) > 1 else 0.0 for holders in self._holders]
        each = [weight and weight / (len(holders) - 1) for weight, holders in zip(idf, self._holders)]
        totals, sums = ([fsum(map(of.__getitem__, held)) for held in self._stems] for of in (idf, each))
        return each, sums, [brief / total if total else 0.0 for brief, total in zip(self._brief, totals)]
