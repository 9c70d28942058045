import importlib.util
import unittest

from selection.fuse import products, unit_vectors

from workbench.minilm import embed

ABSENT = [name for name in ("all_minilm_l6_v2", "sentence_transformers") if importlib.util.find_spec(name) is None]


@unittest.skipIf(ABSENT, f"{', '.join(ABSENT)} not installed; pip install -r workbench/requirements-embed.txt")
class Embedder(unittest.TestCase):
    def test_texts_of_one_meaning_lie_closer_than_texts_of_one_word(self):
        texts = ["How do I get my money back?", "Refunds take five days.", "How do I get there?"]
        asked, *texts = unit_vectors(embed, texts)
        close, far = products(asked, texts)
        self.assertGreater(close, far)


class WithoutIt(unittest.TestCase):
    @unittest.skipUnless(ABSENT, "the packages are installed")
    def test_what_to_install_is_said(self):
        with self.assertRaisesRegex(ValueError, "requirements-embed.txt"):
            embed(["a"])


if __name__ == "__main__":
    unittest.main()
