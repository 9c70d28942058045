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
from math import fsum, log

from modelkit.segments import words
from selection.near import NearIndex, passages, stems

LABEL = re.compile(r"([^\W\d_](?:[\w .'’-]{0,29}[\w.])?): ")
NAMED, FRESH = 0.2, 0.2  # beside near, which is at most 1
PLENTY = 20  # new stems that count as entirely new
BRIEF = 40  # stems up to which a message is short
BEARERS, COMMON = 3, 0.95
SCALE = 1 << 40  # sums of whole numbers are the same in every order and on every Python, and fast


class MessageIndex:
    """Messages (text, date) in conversation order, ready for many questions; `add` appends one and rebuilds nothing.

    MessageIndex([("Are you still at the harbour?", "")]).scores("Which harbour?") -> {0: 1.07}: near 1, fresh 0.07
    """

    def __init__(self, messages=()):
        self._near = NearIndex()
        self._numbers, self._holders = {}, []  # stem -> its number; by that number: messages that hold the stem
        self._stems, self._fresh, self._brief = [], [], []  # by message; stems as numbers, each once
        self._labels, self._bearers = [], {}  # by message: its label or None; label -> messages that bear it
        self._weights = None  # what depends on all messages, made at the first question after an `add`
        for text, date in messages:
            self.add(text, date)

    def __len__(self):
        return len(self._stems)

    def add(self, text, date=""):
        """Append the conversation's next message; near alone reads the date that is shown before it."""
        self._near.add(f"[{date}] {text}" if date else text)
        label = LABEL.match(text)
        self._labels.append(label and label[1].lower())
        if label:
            self._bearers[label[1].lower()] = self._bearers.get(label[1].lower(), 0) + 1
        own = [stem for passage in passages(text[label.end():] if label else text) for stem in passage]
        numbers, known = self._numbers, len(self._numbers)
        held = list(dict.fromkeys([numbers.setdefault(stem, len(numbers)) for stem in own]))
        self._holders += [[] for _ in range(len(numbers) - known)]
        message = len(self._stems)  # one object for all its stems: copies would miss the processor's cache
        for stem in held:
            self._holders[stem].append(message)
        self._stems.append(held)
        self._fresh.append(min(1.0, log(1 + len(numbers) - known) / log(1 + PLENTY)))
        self._brief.append((BRIEF / len(own)) ** 0.5 if len(own) > BRIEF else 1.0)
        self._weights = None

    def scores(self, question):
        """{number of a message: score} of the messages that score more than nothing."""
        near = self._near.scores(question)
        best, named, seeds = max(near.values(), default=0), self._named(question), [0.0] * len(self)
        for number, score in near.items():
            more = FRESH * self._fresh[number] + NAMED * (self._labels[number] in named)
            seeds[number] = (score / best + more) * self._brief[number]
        company = self._company(seeds, question) if near else ()
        return {number: score for number, (seed, more, brief) in enumerate(zip(seeds, company, self._brief))
                if (score := seed + more * brief) > 0}

    def _named(self, question):
        """The labels that share a word with the question."""
        bearers = {label: times for label, times in self._bearers.items() if times >= BEARERS}
        counts = {}
        for label, times in bearers.items():
            for word in set(words(label)):
                counts[word] = counts.get(word, 0) + times
        asked = {form for word in words(question) for form in (word, word.removesuffix("s"))
                 if counts.get(form, 0) <= COMMON * sum(bearers.values())}
        return {label for label in bearers if not asked.isdisjoint(words(label))}

    def _company(self, seeds, question):
        """By message, the mean of what the stems that it shares with others are worth.

        Of a stem with h holders: (the sum of seed squared over its holders, less the message's own) / (h - 1).
        """
        self._weights = self._weights or self._weigh()
        idf, each, totals, own_shares = self._weights
        each, own_shares = list(each), list(own_shares)
        for stem in {self._numbers[stem]: None for stem in stems(question) if stem in self._numbers}:
            for number in self._holders[stem]:
                own_shares[number] -= each[stem]
            each[stem] = 0.0
        squares = [seed * seed for seed in seeds]
        scaled = [int(square * SCALE) for square in squares].__getitem__
        worth = [int(sum(map(scaled, holders)) * share) if share else 0 for holders, share in zip(self._holders, each)]
        worth = worth.__getitem__
        return [max(0.0, sum(map(worth, held)) / SCALE - square * share) / total if total else 0.0
                for held, square, share, total in zip(self._stems, squares, own_shares, totals)]

    def _weigh(self):
        """(idf by stem, idf / (holders - 1) by stem, the sums of both by message); 0 for a stem of one message."""
        more = len(self) + 1
        idf = [log(more / (len(holders) + 0.5)) if len(holders) > 1 else 0.0 for holders in self._holders]
        each = [weight and weight / (len(holders) - 1) for weight, holders in zip(idf, self._holders)]
        return idf, each, *([fsum(map(of.__getitem__, held)) for held in self._stems] for of in (idf, each))
