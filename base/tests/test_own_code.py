"""What names of a user's own function could be misread: a path with dots taken for a module, a missing function."""

import contextlib
import tempfile
import unittest
from pathlib import Path

from base.command import InputError
from base.own_code import load_function


class Loading(unittest.TestCase):
    def test_a_file_in_another_folder_is_taken_for_a_module(self):
        with tempfile.TemporaryDirectory() as place:
            here = Path(place, "a", "b")
            here.mkdir(parents=True)
            (here.parent / "rule.py").write_text("def choose():\n    return 7\n", encoding="utf-8")
            with contextlib.chdir(here):
                for name in ("../rule.py:choose", "./../rule.py:choose", f"{here.parent}/rule.py:choose"):
                    self.assertEqual(load_function(name)(), 7)
                for name in ("../rule.py:other", "../none.py:choose", "..rule:choose", "rule:", ":choose", "rule.py"):
                    with self.subTest(name), self.assertRaises(InputError):
                        load_function(name)
