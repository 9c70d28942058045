"""Tell a CI system what a gate found: JUnit XML in a file, annotations in the log of GitHub Actions.

check  {"name", "group" (JUnit's classname), "state": "passed", "failed" or "error" (not decided: no pass), "message"}
"""

import os
import re
import sys
from functools import partial
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from base.command import replace_file
from base.shown import written_out

NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold in any form


def report_ci(suite, checks, path=None, environment=os.environ):
    """Write the checks as JUnit XML to `path`, if given, and annotate those not passed where GitHub Actions runs us."""
    if path is not None:
        replace_file(path, junit(suite, checks).encode(), partial(is_junit_of, suite))
    if environment.get("GITHUB_ACTIONS") == "true":
        for line in annotations(checks):
            print(line, file=sys.stderr)  # the runner reads both streams; standard output is data


def is_junit_of(suite, path):
    """Whether a file is an earlier output of the same gate."""
    return path.read_bytes().startswith(junit(suite, []).partition(" tests=")[0].encode())


def junit(suite, checks):
    """JUnit XML of one suite: a test case for each check, `failure` or `error` inside those that did not pass."""
    failed, errors = (str(sum(check["state"] == state for check in checks)) for state in ("failed", "error"))
    root = Element("testsuite", name=xml_text(suite), tests=str(len(checks)), failures=failed, errors=errors)
    for check in checks:
        case = SubElement(root, "testcase", classname=xml_text(check["group"]), name=xml_text(check["name"]))
        if check["state"] != "passed":
            message, tag = xml_text(check["message"]), "failure" if check["state"] == "failed" else "error"
            SubElement(case, tag, message=message.partition("\n")[0]).text = message
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def annotations(checks):
    """A workflow command for each check that did not pass.

    {"name": "a, b", "group": "g", "state": "failed", "message": "lost"} -> "::error title=g%3A a%2C b::lost"
    """
    level = {"failed": "error", "error": "warning"}
    for check in checks:
        if check["state"] in level:
            title, message = (xml_text(text).replace("%", "%25").replace("\n", "%0A")  # a command ends with its line
                              for text in (f"{check['group']}: {check['name']}", check["message"]))
            title = title.replace(":", "%3A").replace(",", "%2C")
            yield f"::{level[check['state']]} title={title}::{message}"


def xml_text(text):
    """A text, what XML 1.0 or a terminal cannot take written out: xml_text("a\\ufffe") -> "a\\\\ufffe"."""
    return NO_XML.sub(lambda match: repr(match[0])[1:-1], written_out(text))
