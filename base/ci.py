"""Tell a CI system what a gate found: JUnit XML in a file, annotations in the log of GitHub Actions.

check  {"name", "group" (JUnit's classname), "state": "passed", "failed" or "error", "message"}; "error": what could not
       be decided: a CI system shows it as no pass
"""

import os
import re
import sys
from xml.sax.saxutils import escape, quoteattr

from base.command import replace_file
from base.shown import written_out

NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold in any form


def tell_ci(suite, checks, path=None, environment=os.environ):
    """Write the checks as JUnit XML to `path`, if given, and annotate those not passed where GitHub Actions runs us."""
    if path is not None:
        data = junit(suite, checks).encode("utf-8")
        opening = data[: data.index(b" tests=")]  # of an earlier output of the same gate
        replace_file(path, data, lambda other: other.read_bytes().startswith(opening))
    if environment.get("GITHUB_ACTIONS") == "true":
        for line in annotations(checks):
            print(line, file=sys.stderr)  # the runner reads both streams; standard output is data


def junit(suite, checks):
    """JUnit XML of one suite: a test case for each check, `failure` or `error` inside those that did not pass."""
    failed, errors = (sum(check["state"] == state for check in checks) for state in ("failed", "error"))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name={attribute(suite)} tests="{len(checks)}" '
             f'failures="{failed}" errors="{errors}">']
    for check in checks:
        lines.append(f"  <testcase classname={attribute(check['group'])} name={attribute(check['name'])}>")
        if check["state"] != "passed":
            tag, message = "failure" if check["state"] == "failed" else "error", plain(check["message"])
            lines.append(f"    <{tag} message={attribute(message.partition(chr(10))[0])}>{escape(message)}</{tag}>")
        lines.append("  </testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


def annotations(checks):
    """A workflow command for each check that did not pass.

    {"name": "a, b", "group": "g", "state": "failed", "message": "lost"} -> "::error title=g%3A a%2C b::lost"
    """
    level = {"failed": "error", "error": "warning"}
    for check in checks:
        if check["state"] in level:
            title = command(f"{check['group']}: {check['name']}").replace(":", "%3A").replace(",", "%2C")
            yield f"::{level[check['state']]} title={title}::{command(check['message'])}"


def plain(text):
    """A text that XML and a terminal can take: control characters and bidirectional overrides written out."""
    return NO_XML.sub(lambda match: repr(match[0])[1:-1], written_out(text))


def attribute(text):
    return quoteattr(plain(text))


def command(text):
    """A text as the value of a workflow command, which ends with its line."""
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
