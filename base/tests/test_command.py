"""What every command does with its streams and errors: statuses, complaints of one line, output that cannot go out."""

import argparse
import contextlib
import importlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError, NotComparable, read_json, status_of, whole_numbers

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from base.command import InputError, run_command

def main(argv=None):
    sys.stdout.write("data " * 5000 + "end\\n" if "long" in sys.argv else "data\\n")
    print("a complaint\\n" * 5000, file=sys.stderr)
    return 1 if "no" in sys.argv else 0

run_command(main)
"""


class Streams(unittest.TestCase):
    def run_shell(self, words):
        """The finished shell line in which $RUN is a command that writes data and complaints."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script.py")
            script.write_text(SCRIPT, encoding="utf-8")
            line = words.replace("$RUN", f"'{sys.executable}' '{script}'").replace("$FOLDER", folder)
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment)

    def setUp(self):
        if not Path("/dev/full").exists():
            self.skipTest("needs a POSIX shell and /dev/full")

    def test_a_stream_that_cannot_be_written_changes_the_status_or_is_a_traceback(self):
        for words, status in (("$RUN >&-", 0), ("$RUN no >&-", 1), ("$RUN 2>&-", 0), ("$RUN no 2>&-", 1),
                              ("$RUN >&- 2>&-", 0), ("$RUN 2>/dev/full", 0), ("$RUN no 2>/dev/full", 1),
                              ("$RUN no long 2>/dev/full", 1), ("$RUN >/dev/full", 2), ("$RUN long >/dev/full", 2),
                              ("$RUN no >/dev/full 2>&1", 2),
                              ("$RUN long | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", 0),
                              ("$RUN no 2>&1 >/dev/null | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}", 1)):
            with self.subTest(words):
                done = self.run_shell(words)
                self.assertEqual(done.returncode, status, done.stderr[-300:])
                self.assertNotIn("Traceback", done.stderr)
                self.assertNotIn("Exception ignored", done.stderr)

    def test_output_that_found_no_room_is_not_named(self):
        told = self.run_shell("$RUN >/dev/full").stderr.splitlines()[-1]
        self.assertRegex(told, "^script.py: standard output cannot be written: .*; free it")

    def test_complaints_that_nobody_reads_cut_the_data_or_go_to_it(self):
        done = self.run_shell("$RUN long 2> >(head -n 1 >/dev/null)")
        self.assertEqual((done.stdout[-4:], done.returncode), ("end\n", 0))
        self.assertEqual(self.run_shell("$RUN 2>&-").stdout, "data\n")


class Statuses(unittest.TestCase):
    def status_and_told(self, raised):
        with contextlib.redirect_stderr(io.StringIO()) as told:
            return status_of(mock.Mock(side_effect=raised)), told.getvalue()

    def test_a_complaint_takes_several_lines_or_moves_the_cursor(self):
        for kind, status in ((InputError, 2), (NotComparable, 3)):
            got, told = self.status_and_told(kind("a\nb\r\x1b[2J\u2028\u202e\udcff naïve 日本.json"))
            self.assertEqual(got, status)
            self.assertTrue(told.endswith(r"a b\r\x1b[2J\u2028\u202e\udcff naïve 日本.json" + "\n"), told)

    def test_an_unforeseen_error_is_a_no(self):
        panic = type("Panic", (BaseException,), {})  # what bindings to other languages raise, outside of Exception
        for raised in (KeyError("x"), panic("x"), MemoryError(), RecursionError("x"), OSError(28, "x"),
                       BrokenPipeError("x")):
            status, told = self.status_and_told(raised)
            self.assertEqual(status, 2)
            self.assertIn("Traceback", told)

    def test_a_package_that_is_not_installed_is_a_traceback(self):
        status, told = self.status_and_told(ModuleNotFoundError("No module named 'x'", name="x"))
        self.assertEqual((status, told.count("\n")), (2, 1))
        self.assertRegex(told, r"this Python \(.+\) has no module x; .*requirements.txt")

    def test_a_stop_by_the_user_is_a_failure(self):
        self.assertEqual(self.status_and_told(KeyboardInterrupt())[0], 130)

    def test_a_device_is_read_without_end(self):
        if not Path("/dev/zero").exists():
            self.skipTest("needs /dev/zero")
        self.assertRaisesRegex(InputError, "/dev/zero: cannot be read: is a device", read_json, "/dev/zero")


class Numbers(unittest.TestCase):
    def test_a_list_that_is_none_is_not_told_in_words(self):
        self.assertEqual(whole_numbers("4096,64"), [4096, 64])
        for text in ("", ",", "64,", "64,,128", "0", "-1", "64,64", "64,064", "1.5", "\u00b2", "9" * 5000):
            with self.subTest(text[:9]), self.assertRaisesRegex(argparse.ArgumentTypeError, "is no list of positive"):
                whole_numbers(text)


def help_of(words, columns):
    """What `--help` of a module, or of one of its commands, prints in a terminal of so many columns."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}), contextlib.redirect_stdout(out):
        package = (ROOT / words[0].replace(".", "/")).is_dir()
        module = importlib.import_module(words[0] + ".__main__" * package)
        status_of(module.main, [*words[1:], "--help"])
    return out.getvalue()


def commands():
    """The files of all commands."""
    return [path for path in sorted({*ROOT.glob("*.py"), *ROOT.glob("[a-z]*/**/*.py")})
            if "tests" not in path.parts and "    run_command(main)" in path.read_text(encoding="utf-8")]


class Early(unittest.TestCase):
    def test_ctrl_c_during_the_first_import_of_a_command_is_a_traceback(self):
        """pathlib, which all import early, is one here that is stopped while it is imported."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "pathlib.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
            environment = {**os.environ, "PYTHONPATH": folder}
            for path in commands():
                module = path.relative_to(ROOT).with_suffix("")
                start = ["-m", ".".join(module.parts)] if module.parts[1:] else [path.name]
                with self.subTest(path.name):
                    ended = subprocess.run([sys.executable, "-S", *start], cwd=ROOT, env=environment,
                                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
                    self.assertRegex(ended.stderr, r"\A\w+(\.py)?: stopped\n\Z")
                    self.assertEqual(ended.returncode, 130)


class Help(unittest.TestCase):
    def test_an_example_is_not_broken_in_a_terminal_of_eighty_columns(self):
        """A line broken after `>` is a shell's syntax error when it is pasted."""
        for path in commands():
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
            own = re.search(r"\{([a-z,]+)\} \.\.\.", help_of([name], 500))  # its commands, where it has some
            for command in ["", *(own[1].split(",") if own else ())]:
                with self.subTest(name, command=command):
                    words = [name, command] if command else [name]
                    narrow, wide = (help_of(words, columns).lower().partition("example:")[2] for columns in (80, 500))
                    self.assertRegex(narrow, rf"python (?:-m )?{re.escape(name)}(?:\.py)?.*{command}")
                    self.assertEqual(narrow, wide)
