"""What names of a user's own function could be misread: a path with dots taken for a module, a missing function."""

import contextlib

from base.command import InputError
from base.own_code import load_function
from base.tests.made import Files


class Loading(Files):
    def test_a_file_in_another_folder_is_taken_for_a_module(self):
        place = self.write("a/rule.py", "def choose():\n    return 7\n").parent
        with contextlib.chdir(self.write("a/b/other.py", "").parent):
            for name in ("../rule.py:choose", "./../rule.py:choose", f"{place}/rule.py:choose"):
                self.assertEqual(load_function(name)(), 7)
            for name, says in (("../rule.py:other", "has no function"), ("../none.py:choose", "no such file"),
                               *((word, "is no name known") for word in ("..rule:choose", "rule:", ":choose", "a.py"))):
                with self.subTest(name), self.assertRaisesRegex(InputError, says):
                    load_function(name)
