"""Score texts of a conversation for a question by what they say and by what is said close to them.

The words of a question often stand in the message before or after the one that answers it. So the texts are cut into
short passages, and each is scored by BM25 as if it also held the words around it, the less the further away they are,
measured in words: where messages are long the help fades by itself. A text is worth its best passage.

Words are those of segments.py (in scripts without spaces: pairs of characters) without stop words, which are English;
words in Latin script are cut to a crude English stem, all others stay whole. It knows no synonyms and no meaning.

stem      a word as it is compared
place     where a passage's middle lies in the whole conversation, in half stems
Kin: positional language models (Lv and Zhai, SIGIR 2009); BM25 (Robertson and Zaragoza 2009).
"""

import re
from array import array
from collections import Counter
from functools import lru_cache
from math import log
from pathlib import Path

from base.command import read_json
from modelkit.segments import split_sentences, words

K1, B = 1.2, 0.75
PASSAGE = 40  # stems that a passage holds at most, one longer sentence aside
FADE = 40  # stems after which a word counts a third
LEAST = 0.05  # a weight below this is nothing
STEM = 6  # characters of a stem
WEIGHTS = [weight for half in range(400) if (weight := 3 ** (-half / 2 / FADE)) >= LEAST]  # by distance in half stems
ENDINGS = (("ies", "es", "s"), ("ing", "ied", "ed", "ly"), ("e", "y", "i"))
STOP_WORDS = Path(__file__).parent / "near_stop_words.json"
_AFTER_APOSTROPHE = re.compile(r"(?<=\w)['’]\w{1,2}(?!\w)")  # 's, 'm, 't, 'll; not the name in l'Oréal or O'Brien


@lru_cache(maxsize=1)
def read_stop_words():
    return frozenset(read_json(STOP_WORDS))


def stems(text):
    """The stems of the text in order, stop words left out: stems("Caroline's studies") -> ["caroli", "stud"]."""
    stop_words = read_stop_words()
    return [stem(word) for word in words(_AFTER_APOSTROPHE.sub("", text)) if word not in stop_words]


@lru_cache(maxsize=1 << 17)
def stem(word):
    """The word cut to a stem, where it is a word of over three letters in Latin script and no number.

    At most one ending of each list goes, the first that leaves three characters; then a doubled last letter is made
    single and six characters stay: running -> runn -> run, studies -> stud, wedding -> wed.
    """
    if len(word) <= 3 or word.isdecimal() or not all(map(_is_latin, word)):
        return word
    for endings in ENDINGS:
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1].isalpha():
        word = word[:-1]
    return word[:STEM]


def _is_latin(character):
    return character < "\u0250" or "\u1e00" <= character <= "\u1eff"


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
        self._owners, self._places, self._sizes = [], [], []  # by passage: its text's number, its place, its stems
        self._lengths, self._total = [], 0.0  # by passage: its weighted length; the sum of all
        self._holders = {}  # stem -> passages that hold it, each followed by how often, ascending
        for text in texts:
            self.add(text)

    def __len__(self):
        return self._texts

    def add(self, text):
        """Append the conversation's next text."""
        for passage in passages(text):
            self._add_passage(passage)
        self._texts += 1

    def _add_passage(self, passage):
        number, size = len(self._places), len(passage)
        place = (self._places[-1] + self._sizes[-1] if number else 0) + size
        length = float(size)
        for other in range(number - 1, -1, -1):
            apart = place - self._places[other]
            if apart >= len(WEIGHTS):
                break
            self._lengths[other] += WEIGHTS[apart] * size
            length += WEIGHTS[apart] * self._sizes[other]
            self._total += WEIGHTS[apart] * (size + self._sizes[other])
        self._total += size
        self._owners.append(self._texts)
        self._places.append(place)
        self._sizes.append(size)
        self._lengths.append(length)
        for held, times in Counter(passage).items():
            self._holders.setdefault(held, array("l")).extend((number, times))

    def scores(self, question):
        """{number of a text: score} of the texts that hold a stem of the question or stand near one."""
        best = {}
        for number, score in self._passage_scores(question).items():
            owner = self._owners[number]
            if score > best.get(owner, 0.0):
                best[owner] = score
        return best

    def _passage_scores(self, question):
        """{number of a passage: score}, in an order that the question and the conversation alone decide."""
        scores, count, lengths = {}, len(self._places), self._lengths
        fixed, by_length = K1 * (1 - B), K1 * B * count / (self._total or 1.0)
        for asked in dict.fromkeys(stems(question)):
            holders = self._holders.get(asked, ())
            holding = len(holders) // 2
            gain = (K1 + 1) * log(1 + (count - holding + 0.5) / (holding + 0.5))
            for number, times in self._spread(holders).items():
                score = gain * times / (times + fixed + by_length * lengths[number])
                scores[number] = scores.get(number, 0.0) + score
        return scores

    def _spread(self, holders):
        """{passage: how often a stem is held by it or near it} from the passages that hold it."""
        places, last, reach = self._places, len(self._places), len(WEIGHTS)
        spread = {}
        for number, times in zip(holders[::2], holders[1::2]):
            place = places[number]
            spread[number] = spread.get(number, 0.0) + times
            other = number - 1
            while other >= 0 and (apart := place - places[other]) < reach:
                spread[other] = spread.get(other, 0.0) + WEIGHTS[apart] * times
                other -= 1
            other = number + 1
            while other < last and (apart := places[other] - place) < reach:
                spread[other] = spread.get(other, 0.0) + WEIGHTS[apart] * times
                other += 1
        return spread
