"""How the command line reaches what stands in this folder: names of selectors, --unit, --fuse, and what is graded."""

import tempfile
import unittest
from pathlib import Path

import evaluate

from base.command import InputError
from selection.run import find_selector
from selection.tests.test_retrievers import case, count


class Names(unittest.TestCase):
    def names(self, *arguments):
        return evaluate.names_of(evaluate.parse_arguments(["--strategies", "bm25,near", *arguments]))

    def test_the_options_are_short_for_names(self):
        self.assertEqual(self.names(), ["bm25", "near"])
        self.assertEqual(self.names("--unit", "message"), ["bm25@message", "near@message"])
        self.assertEqual(self.names("--fuse", "e.py:f"), ["bm25", "near", "near+e.py:f"])

    def test_an_embedder_without_a_file_is_refused(self):
        with self.assertRaisesRegex(InputError, "--fuse embed: give FILE.py:NAME"):
            self.names("--fuse", "embed")

    def test_the_rules_of_the_lab_choose_turns_only(self):
        with self.assertRaisesRegex(InputError, "'recent@message' is unknown"):
            find_selector("recent@message")

    def test_an_embedder_is_loaded_from_its_file_and_hashed_with_near(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "e.py"
            path.write_text("def embed(texts):\n    return [[text.count('x')] for text in texts]\n", encoding="utf-8")
            select = find_selector(f"near+{path}:embed")
            self.assertEqual(select(case("x", "cats", "ox"), count)["turns"], [1])
            hashed = evaluate.selector_hashes([f"near+{path}:embed"])
            self.assertIn(path.as_posix(), hashed)
            self.assertIn("selection/near.py", hashed)
            self.assertIn("selection/near_stop_words.json", hashed)


class Grades(unittest.TestCase):
    def test_a_turn_of_which_another_message_was_chosen_is_not_found(self):
        given = case("harbour", {"id": "t", "user": "harbour", "assistant": "in May"})
        given |= {"split": "dev", "kind": "k", "required": [{"turn": "t", "text": "in May"}], "stale": []}
        for name, found in (("bm25", 1), ("bm25@message", 0), ("near@message", 1)):
            row = evaluate.grade(given, find_selector(name)(given, count))
            self.assertEqual((row["turns"], row["required_found"]), ([0], found), name)


if __name__ == "__main__":
    unittest.main()
