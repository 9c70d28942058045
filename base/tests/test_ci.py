"""What a CI system is told: well-formed whatever was quoted, nothing undecided shown as a pass."""

import io
from contextlib import redirect_stderr
from xml.etree import ElementTree

from base.ci import annotations, junit, report_ci
from base.command import InputError
from base.tests.made import Files

HOSTILE = 'a<b> & "c" ]]> \x1b[2J \ud83d \ufffe \u202e %0A\n::error::forged'


def check(state, name="n", message="gone"):
    return {"name": name, "group": "recent", "state": state, "message": message}


class ToldToCi(Files):
    def test_what_is_not_decided_looks_like_a_pass_or_a_quoted_text_breaks_the_file(self):
        checks = [check("passed"), check("failed", HOSTILE, HOSTILE), check("error")]
        suite = ElementTree.fromstring(junit("gate", checks).encode())
        self.assertEqual([suite.get(name) for name in ("tests", "failures", "errors")], ["3", "1", "1"])
        self.assertEqual([[child.tag for child in case] for case in suite], [[], ["failure"], ["error"]])
        self.assertIn("::error::forged", suite[1][0].text)
        self.assertIn("\\x1b[2J \\ud83d \\ufffe \\u202e", suite[1].get("name"))

    def test_a_file_of_something_else_is_replaced_or_an_earlier_one_lost(self):
        for name, content in (("notes.xml", "notes"), ("other.xml", junit("other", [check("passed")]))):
            path = self.write(name, content)
            self.assertRaises(InputError, report_ci, "gate", [check("passed")], path, {})
            self.assertEqual(path.read_text("utf-8"), content)
        for state in ("passed", "failed"):
            report_ci("gate", [check(state)], self.folder / "junit.xml", {})
            self.assertEqual((self.folder / "junit.xml").read_text("utf-8"), junit("gate", [check(state)]))
        self.assertEqual((self.folder / "junit.previous.xml").read_text("utf-8"), junit("gate", [check("passed")]))

    def test_a_quoted_line_break_starts_a_command_of_its_own(self):
        (line,) = annotations([check("failed", HOSTILE, HOSTILE), check("passed")])
        self.assertRegex(line, r"\A::error title=recent%3A a<b>[^\n\x1b]*%250A%0A::error::forged\Z")

    def test_they_are_written_outside_of_github(self):
        for environment, lines in (({}, 0), ({"GITHUB_ACTIONS": "false"}, 0), ({"GITHUB_ACTIONS": "true"}, 2)):
            with redirect_stderr(io.StringIO()) as err:
                report_ci("gate", [check("failed"), check("error")], None, environment)
            self.assertEqual(err.getvalue().count("\n::") + err.getvalue().startswith("::"), lines)
