import random
import unittest

from modelkit.segments import split_sentences, words


class Words(unittest.TestCase):
    def test_each_script_gives_its_words(self):
        for text, expected in (("Don't_stop ZX-40 2,500", ["don", "t", "stop", "zx", "40", "2", "500"]),
                               ("Größe Ünïcode naïve", ["größe", "ünïcode", "naïve"]),
                               ("cafe\u0301 caf\u00e9", ["café", "café"]), ("ＡＢＣ１２ ﬁne ½", ["abc12", "fine", "1", "2"]),
                               ("Москва, ΑΘΗΝΑ", ["москва", "αθηνα"]), ("हिन्दी में", ["हिन्दी", "में"]),
                               ("مرحبا می\u200cخواهم", ["مرحبا", "میخواهم"]),
                               ("co\u00adoperate a\u200bb", ["cooperate", "a", "b"]), ("서울에 간다", ["서울에", "간다"]),
                               ("hi❤️there 1️⃣ 👩‍🚀", ["hi", "there", "1"]),
                               ("東京都に iPhone手机", ["東京", "京都", "都に", "iphone", "手机"]), ("猫", ["猫"]),
                               ("カタカナー", ["カタ", "タカ", "カナ", "ナー"]), ("\u0301 \u0301", [])):
            with self.subTest(text):
                self.assertEqual(words(text), expected)

    def test_text_that_is_all_ascii_goes_the_short_way_to_the_same_words(self):
        rng = random.Random(1)
        for _ in range(300):
            text = "".join(rng.choice("aZ9 _-'.\n\t\"{é") for _ in range(12))
            self.assertEqual(words(text.replace("é", "")), [w for w in words(text.replace("é", "") + " é") if w != "é"])

    def test_words_of_words_are_the_same_words(self):
        for text in ("Größe İstanbul ﬁne", "हिन्दी ² ①", "ΑΘΗΝΑΣ"):
            self.assertEqual(words(" ".join(words(text))), words(text))


class Sentences(unittest.TestCase):
    def test_where_a_sentence_ends(self):
        for parts in (["It costs 3.50 or 2,500.75 naira.", "Pay now."], ["Version 3.11.7 is out.", "Use it!"],
                      ["Ask Dr. Okafor or Mrs. A. Bello.", "They know."],
                      ["Use a cache, e.g. Redis, i.e. memory.", "Done."], ["We met at 5 p.m. on Friday.", "It rained."],
                      ["We met at 5 p.m.", "It rained."], ["Bring pens, paper etc.", "Then start."],
                      ["See no. 5 and fig. 3.", "They differ."], ["No.", "I will not."], ["So do I.", "And you?"],
                      ["Really?!", "Yes...", "well.", "ok"], ['He said "stop."', "(He meant it.)", "We did."],
                      ["1. Open the box.", "2. Close it."], ["i moved.", "now i live in lagos."],
                      ["The U.S. market fell.", "It rose."], ["東京です。", "大阪です！", "はい"], ["A heading", "A paragraph."],
                      ["see https://example.com/a.b?c=d for more.", "Bye."], ["J. R. Smith wrote it."],
                      ["On Jan. 5 we start."], ["That was in Jan.", "We start."]):
            with self.subTest(parts[0]):
                separator = "\n\n" if parts[0] == "A heading" else "" if parts[0].startswith("東京") else " "
                self.assertEqual(split_sentences(separator.join(parts)), parts)

    def test_nothing_but_white_space_is_lost(self):
        rng = random.Random(2)
        for _ in range(500):
            text = "".join(rng.choice(["a", "Mr", ".", "!", "。", " ", "\n", "\n\n", "5", '"', ")", "e.g", "…"])
                           for _ in range(15))
            with self.subTest(text):
                self.assertEqual("".join("".join(split_sentences(text)).split()), "".join(text.split()))

    def test_text_without_sentences_has_none(self):
        for text in ("", " \n\n ", "\u3000"):
            self.assertEqual(split_sentences(text), [])

    def test_long_runs_of_stops_come_to_an_end(self):  # a quadratic expression would take hours
        for run in (".", "a.", '."', "。", "\n", "\n ", "Mr. ", "1. ", "?!", "x" * 50 + ". "):
            split_sentences(run * (150_000 // len(run)))
