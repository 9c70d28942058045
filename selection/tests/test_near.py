import json
import random
import unittest
from math import log
from pathlib import Path

from selection import near
from selection.near import NearIndex, passages, stem, stems
from selection.tests.made import random_text


class Stems(unittest.TestCase):
    def test_forms_of_a_word_meet(self):
        for forms in (("run", "runs", "running"), ("study", "studies", "studied", "studying"),
                      ("hope", "hoped", "hoping"), ("wedding", "weddings", "wed"), ("painting", "painted", "paints"),
                      ("passwords", "password"),
                      ("quickly", "quick"), ("naïve", "naïvely")):
            self.assertEqual(len({stem(form) for form in forms}), 1, forms)

    def test_at_most_one_ending_of_each_list_goes_and_three_letters_stay(self):
        for word, expected in (("ties", "tie"), ("bees", "bee"), ("does", "doe"), ("ring", "ring"), ("bring", "bring"),
                               ("goings", "going"), ("happily", "hap"), ("added", "add"), ("missing", "mis"),
                               ("hello", "hello"), ("chargers", "charge"), ("bus", "bus"), ("2000s", "2000")):
            with self.subTest(word):
                self.assertEqual(stem(word), expected)

    def test_numbers_and_other_scripts_stay_whole(self):
        for word in ("1234567", "гавани", "ελληνικές", "हिन्दीमें", "서울에서부터요", "مدرسةكبيرة"):
            self.assertEqual(stem(word), word)

    def test_what_follows_an_apostrophe_goes_and_names_stay(self):
        self.assertEqual(stems("Caroline's dog didn’t bark; they'll see"), stems("Caroline dog didn bark; they see"))
        self.assertIn("brien", stems("O'Brien"))
        self.assertEqual(stems("'hello' l'Oréal"), stems("hello l oréal"))

    def test_stop_words_go_before_the_stem_is_cut(self):
        self.assertEqual(stems("What's the time of these?"), ["tim"])

    def test_scripts_without_spaces_are_pairs_of_characters(self):
        self.assertEqual(stems("東京都の"), ["東京", "京都", "都の"])


class Passages(unittest.TestCase):
    def test_whole_sentences_are_packed_up_to_the_limit(self):
        text = "one1 two2 three3. " * 20
        self.assertEqual([len(found) for found in passages(text)], [39, 21])

    def test_a_longer_sentence_stays_whole_and_ends_what_came_before(self):
        long = " ".join(f"word{number}" for number in range(50))
        self.assertEqual([len(found) for found in passages(f"Short one. {long}. Short two.")], [2, 50, 2])

    def test_a_line_break_ends_a_sentence(self):
        lines = "\n".join(" ".join(f"w{line}x{number}" for number in range(30)) for line in range(2))
        self.assertEqual([len(found) for found in passages(lines)], [30, 30])

    def test_what_has_no_stems_is_no_passage(self):
        self.assertEqual(passages("The. Of it!\n\n..."), ())


class Index(unittest.TestCase):
    def test_one_that_grew_turn_by_turn_equals_one_built_at_once(self):
        rng = random.Random(1)
        for _ in range(60):
            texts, grown = [random_text(rng) for _ in range(rng.randrange(12))], NearIndex()
            for number, text in enumerate(texts):
                grown.scores("harbour lights")  # asking in between must leave nothing behind
                grown.add(text)
                self.assertEqual(vars(grown), vars(NearIndex(texts[:number + 1])))
            question = random_text(rng)
            self.assertEqual(grown.scores(question), NearIndex(texts).scores(question))

    def test_the_scores_are_those_of_the_formula(self):
        rng = random.Random(2)
        for _ in range(120):
            texts, question = [random_text(rng) for _ in range(rng.randrange(15))], random_text(rng)
            scores, expected = NearIndex(texts).scores(question), plain_scores(texts, question)
            self.assertEqual(set(scores), {number for number, score in expected.items() if score > 0})
            for number, score in scores.items():
                self.assertAlmostEqual(score, expected[number], 9)

    def test_the_order_of_equal_work_does_not_depend_on_hashes(self):
        texts = ["harbour lights and dogs in Lagos", "lights", "dogs of Lagos"]
        self.assertEqual(list(NearIndex(texts).scores("dogs Lagos lights harbour")), [0, 1, 2])

    def test_a_turn_next_to_the_words_of_a_question_is_found_and_one_far_off_is_not(self):
        far = " ".join(f"filler{number}" for number in range(200))
        texts = ["Yes, in May.", "Did you see the harbour?", "We loved it.", far, "Sure, why not."]
        scores = NearIndex(texts).scores("harbour")
        self.assertEqual(max(scores, key=scores.get), 1)
        self.assertIn(0, scores)
        self.assertIn(2, scores)
        self.assertNotIn(4, scores)

    def test_a_word_asked_twice_counts_once(self):
        index = NearIndex(["harbour lights", "dogs"])
        self.assertEqual(index.scores("harbour harbours"), index.scores("harbour"))

    def test_nothing_there_scores_nothing(self):
        self.assertEqual(NearIndex().scores("harbour"), {})
        self.assertEqual(NearIndex(["", "the of", "dogs"]).scores(""), {})
        self.assertEqual(NearIndex(["", "the of", "dogs"]).scores("harbour"), {})
        self.assertEqual(list(NearIndex(["", "the of", "dogs"]).scores("dogs")), [2])

    def test_the_weight_of_a_distance_is_as_the_description_has_it(self):
        self.assertEqual(near.WEIGHTS[0], 1.0)
        self.assertAlmostEqual(near.WEIGHTS[80], 1 / 3)  # 40 stems, in halves
        self.assertGreaterEqual(near.WEIGHTS[-1], 0.05)
        self.assertLess(3 ** (-len(near.WEIGHTS) / 80), 0.05)

    def test_the_stop_list_is_lower_case_and_sorted(self):
        listed = json.loads(Path(near.__file__).with_name("near_stop_words.json").read_text(encoding="utf-8"))
        self.assertEqual(listed, sorted({word.lower() for word in listed}))
        self.assertEqual(near.STOP_WORDS, set(listed))


def plain_scores(texts, question):
    """{text: score} written down from the formula: every pair of passages, no index."""
    found, owners, middles, begin = [], [], [], 0
    for number, text in enumerate(texts):
        for passage in passages(text):
            found.append(passage)
            owners.append(number)
            middles.append(begin + len(passage) / 2)
            begin += len(passage)

    def weight(one, other):
        value = 3 ** (-abs(middles[one] - middles[other]) / 40)
        return value if value >= 0.05 else 0.0

    every = range(len(found))
    lengths = [sum(weight(one, other) * len(found[other]) for other in every) for one in every]
    scores = dict.fromkeys(range(len(texts)), 0.0)
    for one in every:
        score = 0.0
        for asked in set(stems(question)):
            holding = sum(asked in passage for passage in found)
            times = sum(weight(one, other) * found[other].count(asked) for other in every)
            share = 1 - 0.75 + 0.75 * lengths[one] / (sum(lengths) / len(lengths))
            score += log(1 + (len(found) - holding + 0.5) / (holding + 0.5)) * times * 2.2 / (times + 1.2 * share)
        scores[owners[one]] = max(scores[owners[one]], score)
    return scores


if __name__ == "__main__":
    unittest.main()
