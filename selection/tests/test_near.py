"""near and near-messages against their formulas, indexes that grew against ones built at once, and each term."""

import random
import unittest
from math import log

from base.tests.made import named_cases
from modelkit.segments import words
from selection.near import LABEL, STOP_WORDS, MessageIndex, NearIndex, passages, stem, stems
from selection.tests.made import random_text

NAMES = ["Ana: ", "Bob Lee: ", "", "[ERROR] Ana: ", "Note: "]
FAR = " ".join(f"filler{number}" for number in range(200))


def index(*texts):
    return MessageIndex([(text, "") for text in texts])


class Stems(unittest.TestCase):
    def test_forms_of_a_word_do_not_meet(self):
        for forms in ("run runs running", "study studies studied studying", "hope hoped hoping", "wedding weddings wed",
                      "painting painted paints", "passwords password", "quickly quick", "naïve naïvely"):
            self.assertEqual(len(set(map(stem, forms.split()))), 1, forms)

    def test_another_ending_goes_than_one_of_each_list_or_fewer_than_three_letters_stay_or_a_number_is_cut(self):
        for case in named_cases(__file__, "stems.json"):  # named by their words
            self.assertEqual(stem(case["name"]), case["stem"])

    def test_a_text_has_other_stems(self):
        for text, expected in (("Caroline's dog didn’t bark; they'll see", stems("Caroline dog didn bark; they see")),
                               ("O'Brien", ["brien"]), ("'hello' l'Oréal", stems("hello l oréal")),
                               ("What's the time of these?", ["tim"]), ("東京都の", ["東京", "京都", "都の"])):
            self.assertEqual(stems(text)[-len(expected):], expected)

    def test_a_stop_word_that_no_text_can_have(self):
        self.assertEqual([word for word in STOP_WORDS if words(word) != [word]], [])

    def test_sentences_are_cut_or_packed_beyond_the_limit(self):
        long = " ".join(f"word{number}" for number in range(50))
        lines = "\n".join(" ".join(f"w{line}x{number}" for number in range(30)) for line in range(2))
        for text, sizes in (("one1 two2 three3. " * 20, [39, 21]), (f"Short one. {long}. Short two.", [2, 50, 2]),
                            (lines, [30, 30]), ("The. Of it!\n\n...", [])):
            self.assertEqual(list(map(len, passages(text))), sizes)


class Formulas(unittest.TestCase):
    def compare(self, scores, expected, least=0.0):
        self.assertEqual(set(scores), {number for number, score in expected.items() if score > least})
        for number, score in scores.items():
            self.assertAlmostEqual(score, expected[number], 9)

    def test_an_index_that_grew_differs_from_one_built_at_once(self):
        rng = random.Random(1)
        for _ in range(25):
            messages, question, grown, said = random_messages(rng), random_text(rng), NearIndex(), MessageIndex()
            for number, message in enumerate(messages, 1):
                grown.scores("harbour lights")  # asking in between must leave nothing behind
                said.scores("harbour lights")
                grown.add(message[0])
                said.add(message)
                if number % 5 == 0 or number == len(messages):
                    self.assertEqual(vars(grown), vars(NearIndex([text for text, _ in messages[:number]])))
                    self.assertEqual(said.scores(question), MessageIndex(messages[:number]).scores(question))

    def test_the_scores_of_near_are_not_those_of_the_formula(self):
        rng = random.Random(2)
        for _ in range(60):
            texts, question = [random_text(rng) for _ in range(rng.randrange(15))], random_text(rng)
            self.compare(NearIndex(texts).scores(question), near_scores(texts, question))

    def test_the_scores_of_near_messages_are_not_those_of_the_formula(self):
        rng = random.Random(2)
        for _ in range(60):
            texts, question = random_messages(rng), rng.choice(["", "What did Ana say? "]) + random_text(rng)
            self.compare(MessageIndex(texts).scores(question), message_scores(texts, question), 1e-9)

    def test_the_order_of_a_hash_or_of_the_questions_words_decides(self):
        texts = ["harbour lights and dogs in Lagos", "lights", "dogs of Lagos", "Lagos harbour"]
        for made in (NearIndex(texts), index(*texts)):
            self.assertEqual(list(made.scores("dogs Lagos lights harbour")), [0, 1, 2, 3])
            self.assertEqual(made.scores("harbour harbours"), made.scores("harbour"))  # a word asked twice counts once

    def test_nothing_there_scores_something(self):
        for made, empty in ((NearIndex(["", "the of", "dogs"]), NearIndex()), (index("", "the of", "dogs"), index())):
            self.assertEqual((empty.scores("dogs"), made.scores(""), made.scores("harbour"), list(made.scores("dogs"))),
                             ({}, {}, {}, [2]))


class Terms(unittest.TestCase):
    def test_who_spoke_is_not_seen(self):
        said = ["I like the harbour", "I like the harbour", "dogs"] * 3
        made = index(*(("Ana: ", "Bob: ", "Eve: ")[number % 3] + text for number, text in enumerate(said)))
        scores = made.scores("Does Bob's family like the harbour?")
        self.assertGreater(min(scores[1], scores[4]), max(scores[0], scores[3]))

    def test_a_label_of_two_messages_or_of_nearly_all_counts(self):
        two = index("Ana: harbour", "Bob: harbour", "Ana: dogs", "Bob: cats")
        self.assertEqual(two._named("What did Ana say?"), set())
        nearly_all = index(*(f"User: harbour {number}" for number in range(99)), *["Ana: harbour"] * 3)
        self.assertEqual(nearly_all._named("Which user said so?"), set())
        self.assertEqual(nearly_all._named("Anas harbour"), {"ana"})

    def test_a_label_is_read_where_there_is_none(self):
        for text, label in (("Ana: hi", "Ana"), ("Ana Maria O'Neill: hi", "Ana Maria O'Neill"), ("12: hi", None),
                            ("http://x", None), ("a" * 31 + ": hi", "a" * 31), ("a" * 32 + ": hi", None)):
            self.assertEqual((LABEL.match(text) or [None, None])[1], label, text)

    def test_a_message_that_says_what_the_best_ones_say_is_not_found(self):
        scores = index("the harbour had a carousel", FAR, "a carousel for Emil", FAR, "dogs").scores("harbour")
        self.assertEqual({2, 4} & set(scores), {2})

    def test_a_long_message_comes_before_a_short_one_that_says_the_same(self):
        scores = index("harbour " + " ".join(f"w{n}x" for n in range(160)), "harbour dogs").scores("harbour")
        self.assertGreater(scores[1], 1.5 * scores[0])


def random_messages(rng):
    return [(rng.choice(NAMES) + random_text(rng), rng.choice(["", "8 May"])) for _ in range(rng.randrange(1, 25))]


def near_scores(texts, question):
    """{text: score} written down from the formula: every pair of passages, no index."""
    held, owners, middles, begin = [], [], [], 0
    for number, text in enumerate(texts):
        for passage in passages(text):
            held.append(passage)
            owners.append(number)
            middles.append(begin + len(passage) / 2)
            begin += len(passage)
    apart = [[3 ** (-abs(here - there) / 40) for there in middles] for here in middles]
    weights = [[weight if weight >= 0.05 else 0.0 for weight in row] for row in apart]
    lengths = [sum(weight * len(passage) for weight, passage in zip(row, held)) for row in weights]
    scores = dict.fromkeys(range(len(texts)), 0.0)
    for owner, row, length in zip(owners, weights, lengths):
        score = 0.0
        for asked in set(stems(question)):
            holding = sum(asked in passage for passage in held)
            times = sum(weight * passage.count(asked) for weight, passage in zip(row, held))
            share = 1 - 0.75 + 0.75 * length / (sum(lengths) / len(lengths))
            score += log(1 + (len(held) - holding + 0.5) / (holding + 0.5)) * times * 2.2 / (times + 1.2 * share)
        scores[owner] = max(scores[owner], score)
    return scores


def message_scores(messages, question):
    """{message: score} written down from the formula, no sums shared."""
    bodies = [text for text, _ in messages]
    labels = [match[1].lower() if (match := LABEL.match(body)) else None for body in bodies]
    said = [stems(body[len(label) + 2:] if label else body) for body, label in zip(bodies, labels)]
    scored = NearIndex([f"[{date}] {text}" if date else text for text, date in messages]).scores(question)
    asked, in_question = {form for word in words(question) for form in (word, word.removesuffix("s"))}, stems(question)
    known = [label for label in labels if label and labels.count(label) >= 3]
    asked -= {word for word in asked if sum(word in words(label) for label in known) > 0.95 * len(known)}
    seeds, brief, before = [], [], set()
    for number, (held, label) in enumerate(zip(said, labels)):
        fresh = min(1, log(1 + len(set(held) - before)) / log(21))
        before |= set(held)
        named = label in known and not asked.isdisjoint(words(label))
        brief.append((40 / len(held)) ** 0.5 if len(held) > 40 else 1)
        score = scored.get(number, 0)
        seeds.append((score / max(scored.values()) + 0.2 * named + 0.2 * fresh) * brief[-1] if score else 0)
    scores = {}
    for number, held in enumerate(said):
        total = weights = 0
        for one_stem in set(held):
            others = [other for other, text in enumerate(said) if one_stem in text and other != number]
            if others:
                holders = len(others) + 1
                idf = log(1 + (len(said) - holders + 0.5) / (holders + 0.5))
                weights += idf
                if one_stem not in in_question:
                    total += idf * sum(seeds[other] ** 2 for other in others) / len(others)
        scores[number] = seeds[number] + (total / weights if weights else 0) * brief[number]
    return scores
