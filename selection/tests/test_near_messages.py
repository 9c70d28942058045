"""near-messages against its formula written down plainly, and an index that grew against one built at once."""

import random
import unittest
from math import log

from modelkit.segments import words
from selection.near import LABEL, MessageIndex, NearIndex, stems
from selection.tests.made import random_text

NAMES = ["Ana: ", "Bob Lee: ", "", "[ERROR] Ana: ", "Note: "]


def random_messages(rng):
    return [(rng.choice(NAMES) + random_text(rng), rng.choice(["", "8 May"])) for _ in range(rng.randrange(1, 25))]


def index(*texts):
    return MessageIndex([(text, "") for text in texts])


class Scores(unittest.TestCase):
    def test_an_index_that_grew_differs_from_one_built_at_once(self):
        rng = random.Random(1)
        for _ in range(40):
            texts, grown, question = random_messages(rng), MessageIndex(), random_text(rng)
            for number, text in enumerate(texts):
                grown.scores("harbour lights")  # asking in between must leave nothing behind
                grown.add(text)
                if number % 5 == 0:
                    self.assertEqual(grown.scores(question), MessageIndex(texts[:number + 1]).scores(question))
            self.assertEqual(grown.scores(question), MessageIndex(texts).scores(question))

    def test_the_scores_are_not_those_of_the_formula(self):
        rng = random.Random(2)
        for _ in range(120):
            texts, question = random_messages(rng), rng.choice(["", "What did Ana say? "]) + random_text(rng)
            expected = plain_scores(texts, question)
            scores = MessageIndex(texts).scores(question)
            self.assertEqual(set(scores), {number for number, score in expected.items() if score > 1e-9})
            for number, score in scores.items():
                self.assertAlmostEqual(score, expected[number], 8)

    def test_the_order_of_the_questions_words_changes_a_score(self):
        made = index("harbour lights and dogs in Lagos", "lights", "dogs of Lagos", "Lagos harbour")
        self.assertEqual(list(made.scores("dogs Lagos lights harbour")), [0, 1, 2, 3])

    def test_nothing_there_scores_something(self):
        self.assertEqual(MessageIndex().scores("harbour"), {})
        made = index("", "the of", "dogs")
        self.assertEqual((made.scores(""), made.scores("harbour"), list(made.scores("dogs"))), ({}, {}, [2]))


class Terms(unittest.TestCase):
    def test_who_spoke_is_not_seen(self):
        said = ["I like the harbour", "I like the harbour", "dogs"] * 3
        made = index(*(("Ana: ", "Bob: ", "Eve: ")[number % 3] + text for number, text in enumerate(said)))
        scores = made.scores("Does Bob's family like the harbour?")
        self.assertGreater(scores[1], scores[0])
        self.assertGreater(scores[4], scores[3])

    def test_a_label_of_two_messages_or_of_nearly_all_counts(self):
        two = index("Ana: harbour", "Bob: harbour", "Ana: dogs", "Bob: cats")
        self.assertEqual(two._named("What did Ana say?"), set())
        nearly_all = index(*(f"User: harbour {number}" for number in range(99)), *["Ana: harbour"] * 3)
        self.assertEqual(nearly_all._named("Which user said so?"), set())
        self.assertEqual(nearly_all._named("Anas harbour"), {"ana"})

    def test_a_label_is_read_where_there_is_none(self):
        for text, label in (("Ana: hi", "Ana"), ("Ana Maria O'Neill: hi", "Ana Maria O'Neill"), ("12: hi", None),
                            ("http://x", None), ("a" * 31 + ": hi", "a" * 31), ("a" * 32 + ": hi", None)):
            with self.subTest(text):
                self.assertEqual((LABEL.match(text) or [None, None])[1], label)

    def test_a_message_that_says_what_the_best_ones_say_is_not_found(self):
        far = " ".join(f"filler{number}" for number in range(130))
        scores = index("the harbour had a carousel", far, "a carousel for Emil", far, "dogs").scores("harbour")
        self.assertIn(2, scores)
        self.assertNotIn(4, scores)

    def test_a_long_message_comes_before_a_short_one_that_says_the_same(self):
        scores = index("harbour " + " ".join(f"w{n}x" for n in range(160)), "harbour dogs").scores("harbour")
        self.assertGreater(scores[1], 1.5 * scores[0])


def plain_scores(messages, question):
    """{message: score} written down from the formula, no sums shared."""
    bodies = [text for text, _ in messages]
    labels = [match[1].lower() if (match := LABEL.match(body)) else None for body in bodies]
    said = [stems(body[len(label) + 2:] if label else body) for body, label in zip(bodies, labels)]
    near = NearIndex([f"[{date}] {text}" if date else text for text, date in messages]).scores(question)
    asked = {form for word in words(question) for form in (word, word.removesuffix("s"))}
    known = [label for label in labels if label and labels.count(label) >= 3]
    asked -= {word for word in asked if sum(word in words(label) for label in known) > 0.95 * len(known)}
    seeds, brief, before = [], [], set()
    for number, held in enumerate(said):
        fresh = min(1, log(1 + len(set(held) - before)) / log(21))
        before |= set(held)
        named = labels[number] in known and not asked.isdisjoint(words(labels[number]))
        brief.append((40 / len(held)) ** 0.5 if len(held) > 40 else 1)
        score = near.get(number, 0)
        seeds.append((score / max(near.values()) + 0.2 * named + 0.2 * fresh) * brief[-1] if score else 0)
    scores = {}
    for number, held in enumerate(said):
        total = weights = 0
        for stem in set(held):
            others = [other for other, text in enumerate(said) if stem in text and other != number]
            if others:
                holders = len(others) + 1
                idf = log(1 + (len(said) - holders + 0.5) / (holders + 0.5))
                weights += idf
                if stem not in stems(question):
                    total += idf * sum(seeds[other] ** 2 for other in others) / len(others)
        scores[number] = seeds[number] + (total / weights if weights else 0) * brief[number]
    return scores


if __name__ == "__main__":
    unittest.main()
