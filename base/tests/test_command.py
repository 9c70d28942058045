"""What every command does with its streams and errors: statuses, complaints of one line, output that cannot go out."""

import argparse
import importlib
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError, NotComparable, dump, read_json, whole_numbers
from base.lines import stream
from base.tests.made import ROOT, Files, commands, named_cases, run

SCRIPT = """
import sys
from base.command import InputError, run_command

def main(argv=None):
    parts = {"long": [*["data " * 5000] * 50, "end\\n"], "large": ["data " * 50000]}
    sys.stdout.writelines(parts.get(sys.argv[-1], ["data\\n"]))
    print("a complaint\\n" * 5000, file=sys.stderr)
    return 1 if "no" in sys.argv else 0

run_command(main)
"""


@unittest.skipUnless(Path("/dev/full").exists(), "needs a POSIX shell and /dev/full")
class Streams(Files):
    def test_a_stream_that_cannot_be_written_changes_the_status_or_the_data_or_is_a_traceback(self):
        command = f"'{sys.executable}' '{self.write('script.py', SCRIPT)}'"
        for case in named_cases(__file__, "streams.json"):
            words, out = ["bash", "-c", case["words"].replace("$RUN", command)], case["out"]
            with self.subTest(case["name"]), mock.patch.dict(os.environ, PYTHONPATH=str(ROOT)):
                done = subprocess.run(words, capture_output=True, text=True)
                ended = done.returncode, done.stdout[-len(out) :] if out else done.stdout
                self.assertEqual(ended, (case["status"], out))
                self.assertNotRegex(done.stderr, "Traceback|Exception ignored")
                self.assertRegex(done.stderr, case.get("says", "^"))


class Commands(Files):
    def test_an_error_has_another_status_or_takes_several_lines_or_moves_the_cursor(self):
        odd = "a\nb\r\x1b[2J\u2028\u202e\udcff naïve 日本.json"
        panic = type("Panic", (BaseException,), {})  # what bindings to other languages raise, outside of Exception
        for raised, status, says in (
                (InputError(odd), 2, r": a b\\r\\x1b\[2J\\u2028\\u202e\\udcff naïve 日本.json\n\Z"),
                (NotComparable(odd), 3, r": a b\\r\\x1b\[2J"), (KeyboardInterrupt(), 130, "stopped"),
                (ModuleNotFoundError("no", name="x"), 2, r"this Python \(.+\) has no module x; .*requirements.txt"),
                *((raised, 2, "^Traceback") for raised in (KeyError("x"), panic("x"), MemoryError(), OSError(28, "x"),
                                                           RecursionError("x"), BrokenPipeError("x")))):
            with self.subTest(repr(raised)):
                ended, _, err = run(mock.Mock(side_effect=raised))
                self.assertEqual((ended, err.count("\n") == 1), (status, says != "^Traceback"))
                self.assertRegex(err, says)

    def test_a_device_is_read_without_end(self):
        for path in filter(os.path.exists, ["/dev/zero"]):
            for read in (read_json, lambda path: next(stream(path))):
                self.assertRaisesRegex(InputError, f"{path}: cannot be read: is a device", read, path)

    def test_a_lone_surrogate_is_written_or_its_place_not_told(self):
        self.assertRaisesRegex(InputError, r"a lone surrogate, .*one b\\ud83d', which", dump, {"a": "one b\ud83d"})

    def test_a_list_of_numbers_that_is_none_is_not_told_in_words(self):
        self.assertEqual(whole_numbers("4096,64"), [4096, 64])
        for text in ("", ",", "64,", "64,,128", "0", "-1", "64,64", "64,064", "1.5", "\u00b2", "9" * 5000):
            with self.subTest(text[:9]), self.assertRaisesRegex(argparse.ArgumentTypeError, "is no list of positive"):
                whole_numbers(text)

    def test_ctrl_c_during_the_first_import_of_a_command_is_a_traceback(self):
        """pathlib, which all import early, is one here that is stopped while it is imported."""
        self.write("pathlib.py", "raise KeyboardInterrupt")
        for name in commands():
            start = ["-m", name] if "." in name else [f"{name}.py"]
            with self.subTest(name):
                ended = subprocess.run([sys.executable, "-S", *start], cwd=ROOT, capture_output=True, text=True,
                                       env={**os.environ, "PYTHONPATH": str(self.folder)}, stdin=subprocess.DEVNULL)
                self.assertRegex(ended.stderr, r"\A\w+(\.py)?: stopped\n\Z")
                self.assertEqual(ended.returncode, 130)

    def test_a_wrong_option_takes_several_lines(self):
        for name, module in commands().items():
            self.refused("--no-such-option|required", importlib.import_module(module).main, "--no-such-option")

    def test_an_example_is_missing_or_broken_in_a_terminal_of_eighty_columns(self):
        """A line broken after `>` is a shell's syntax error when it is pasted."""

        def help_of(module, columns, *command):
            with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
                return run(importlib.import_module(module).main, *command, "--help")[1]

        for name, module in commands().items():
            own = re.search(r"\{([a-z,]+)\} \.\.\.", help_of(module, 500))  # its commands, where it has some
            for command in [[], *([word] for word in (own[1].split(",") if own else ()))]:
                with self.subTest(name, command=command):
                    narrow, wide = (help_of(module, columns, *command).lower().partition("example:")[2]
                                    for columns in (80, 500))
                    self.assertRegex(narrow, rf"python (?:-m )?{re.escape(name)}(?:\.py)?.*{''.join(command)}")
                    self.assertEqual(narrow, wide)
