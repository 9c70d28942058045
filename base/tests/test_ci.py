"""What a CI system is told: well-formed whatever was quoted, nothing undecided shown as a pass."""

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from xml.etree import ElementTree

from base.ci import annotations, junit, tell_ci
from base.command import InputError


def check(state, name="n", message="gone"):
    return {"name": name, "group": "recent", "state": state, "message": message}


HOSTILE = 'a<b> & "c" ]]> \x1b[2J \ud83d \ufffe \u202e %0A\n::error::forged'


class Junit(unittest.TestCase):
    def test_what_is_not_decided_looks_like_a_pass(self):
        suite = ElementTree.fromstring(junit("gate", [check("passed"), check("failed"), check("error")]).encode())
        self.assertEqual([suite.get(name) for name in ("tests", "failures", "errors")], ["3", "1", "1"])
        self.assertEqual([[child.tag for child in case] for case in suite], [[], ["failure"], ["error"]])

    def test_a_quoted_text_breaks_the_file(self):
        suite = ElementTree.fromstring(junit(HOSTILE, [check("failed", HOSTILE, HOSTILE)]).encode())
        self.assertIn("::error::forged", suite[0][0].text)
        self.assertIn("\\x1b[2J \\ud83d \\ufffe \\u202e", suite[0].get("name"))

    def test_a_file_of_something_else_is_replaced_or_an_earlier_one_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "junit.xml")
            for value in ("notes", junit("other", [check("passed")])):
                path.write_text(value, encoding="utf-8")
                with self.assertRaises(InputError):
                    tell_ci("gate", [check("passed")], path, {})
                self.assertEqual(path.read_text("utf-8"), value)
            path.unlink()
            for state in ("passed", "failed"):
                tell_ci("gate", [check(state)], path, {})
            self.assertEqual(Path(folder, "junit.previous.xml").read_text("utf-8"), junit("gate", [check("passed")]))


class Annotations(unittest.TestCase):
    def test_a_quoted_line_break_starts_a_command_of_its_own(self):
        (line,) = annotations([check("failed", HOSTILE, HOSTILE), check("passed")])
        self.assertEqual(line.count("\n"), 0)
        self.assertTrue(line.startswith("::error title=recent%3A a<b>"))
        self.assertIn("%250A%0A::error::forged", line)
        self.assertNotIn("\x1b", line)

    def test_they_are_written_outside_of_github(self):
        for environment, lines in (({}, 0), ({"GITHUB_ACTIONS": "false"}, 0), ({"GITHUB_ACTIONS": "true"}, 2)):
            err = io.StringIO()
            with redirect_stderr(err), tempfile.TemporaryDirectory() as folder:
                tell_ci("gate", [check("failed"), check("error")], Path(folder) / "gate.xml", environment)
                self.assertTrue((Path(folder) / "gate.xml").read_text(encoding="utf-8").endswith("</testsuite>\n"))
            self.assertEqual(len(err.getvalue().splitlines()), lines)
