"""Score single messages for a question: near, who spoke, how much is new, how short, and what the best ones say.

    seed(m)  = (near(m) + 0.2 named(m) + 0.2 fresh(m)) brief(m), 0 where near(m) is 0
    score(m) = seed(m) + company(m) brief(m)

near     near.py's score of the message, divided by the best of the question
named    1 where the speaker's label shares a word with the question, else 0
fresh    min(1, ln(1 + n) / ln 21), n the stems that no earlier message holds
brief    (40 / stems) ** 0.5 of a message with more than 40 stems, else 1: a long one costs more than it tells
company  the mean over the stems of m that another message holds, weighted by idf = ln((N + 1) / (h + 0.5)) with h
         holders of N messages, of the mean of seed squared over the other holders; 0 for stems of the question

A message's stems are near's. A label is a name of up to 31 characters, a colon and a blank at the beginning, which at
least three messages bear; a word that stands in over 95% of the labelled messages' labels tells nothing.

Does not know what a word means, or which of two statements holds.
"""

import re
from collections import Counter
from math import fsum, log

from modelkit.segments import words
from selection.near import NearIndex, passages, stems

LABEL = re.compile(r"([^\W\d_](?:[\w .'’-]{0,29}[\w.])?): ")
NAMED, FRESH = 0.2, 0.2  # beside near, which is at most 1
PLENTY = 20  # new stems that count as entirely new
BRIEF = 40  # stems up to which a message is short
BEARERS, COMMON = 3, 0.95


class MessageIndex:
    """Messages (text, date) in conversation order, ready for many questions; `add` appends one and rebuilds nothing.

    MessageIndex([("Are you still at the harbour?", "")]).scores("Which harbour?") -> {0: 1.07}: near 1, fresh 0.07
    """

    def __init__(self, messages=()):
        self._near = NearIndex()
        self._numbers, self._holders = {}, []  # stem -> its number; by that number: messages that hold the stem
        self._stems, self._fresh, self._brief = [], [], []  # by message; stems as numbers, each once
        self._labels, self._bearers = [], Counter()  # by message: its label or None; label -> messages that bear it
        self._shares = None  # what depends on all messages, made at the first question after an `add`
        for message in messages:
            self.add(message)

    def add(self, message):
        """Append the conversation's next message; near alone reads the date that is shown before it."""
        text, date = message
        self._near.add(f"[{date}] {text}" if date else text)
        label = LABEL.match(text)
        self._labels.append(label and label[1].lower())
        self._bearers.update(self._labels[-1:] if label else ())
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
                if (score := seed + max(0.0, fsum(map(worth, held)) - square * share) * factor) > 0}

    def _named(self, question):
        """The labels that share a word with the question."""
        bearers = {label: times for label, times in self._bearers.items() if times >= BEARERS}
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
