"""What a reader would paste and find broken: an example that fails, a command without help or without an example."""

import contextlib
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from evaluate import grade, load_cases
from strategies import STRATEGIES
from tokenizer import counter
from tokens.manifest import folder

from base.command import status_of

HERE = Path(__file__).parents[1]
ROOT = HERE.parent


def commands():
    """Names of the folder's modules that can be run."""
    paths = [*HERE.glob("*.py"), *HERE.glob("*/__main__.py")]
    paths = [path for path in paths if "run_command(main)" in path.read_text(encoding="utf-8")]
    return sorted(path.parent.name if path.stem == "__main__" else path.stem for path in paths)


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (HERE / "README.md").read_text(encoding="utf-8")

    def test_every_command_is_in_the_table_and_every_script_of_the_table_exists(self):
        named = re.findall(r"^\| `(\w+)\.py` \|", self.text, re.MULTILINE)
        self.assertEqual(sorted(named), commands())

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_the_example_runs_as_it_stands_and_does_what_its_comment_says(self):
        (example,) = re.findall(r"```python\n(.*?)```", self.text, re.DOTALL)
        out, names = io.StringIO(), {}
        with contextlib.redirect_stdout(out):
            exec(compile(example, "README.md", "exec"), names)
        self.assertEqual(out.getvalue().strip(), "['system', 'user', 'assistant', 'tool', 'assistant', 'user']")
        self.assertFalse(any("lunch" in message["content"] for message in names["request"]))

    def test_options_named_in_the_readme_exist(self):
        helps = "".join(shown(name) for name in commands()) + "--cases --budget"
        for option in re.findall(r"--[a-z]+", self.text):
            self.assertIn(option, helps)


class Snippet(unittest.TestCase):
    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_the_worse_rule_of_the_front_page_loses_the_fact_that_the_page_names(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        (rule,) = re.findall(r"`worse\.py`.*?```python\n(.*?)```", text, re.DOTALL)
        lost = re.search(r"^      lost: ([\w-]+): (.*)$", text, re.MULTILINE)
        names = {}
        exec(compile(rule, "worse.py", "exec"), names)
        case = next(case for case in load_cases(ROOT / "cases.json") if case["id"] == lost[1])
        for notes, missing in ((STRATEGIES["notes"], []), (names["notes"], [lost[2]])):
            chosen = notes(case, counter().count)
            self.assertEqual(grade(case, chosen)["missing"], missing)

    @unittest.skipUnless(shutil.which("sh"), "no POSIX shell to paste into")
    def test_the_page_is_made_of_what_there_is_also_when_the_gate_wrote_nothing(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        line = re.search(r"^ *(results=.*)$", text, re.MULTILINE)[1]
        for held in (["fresh"], ["gate"], ["fresh", "gate"]):
            with self.subTest(held), tempfile.TemporaryDirectory() as place:
                for name in ("fresh", "gate"):
                    (Path(place) / f"{name}.local.json").write_text("{}" if name in held else "", encoding="utf-8")
                done = subprocess.run(
                    ["sh", "-ec", f'{line}\necho $results'], cwd=place, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout.split()), (0, [f"{name}.local.json" for name in held]))


class Ignored(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "no repository to ask")
    def test_no_file_that_the_readmes_name_for_traffic_or_results_of_it_can_be_committed(self):
        pages = [ROOT / "README.md", HERE / "README.md", *sorted((ROOT / "compaction").glob("README*.md"))]
        texts = [page.read_text(encoding="utf-8") for page in pages]
        shown = r"^    (?:\$ )?python (?:.*\\\n)?.*$|python -m workbench\.\w+ \S+"
        lines = re.findall(shown, "\n".join(texts), re.MULTILINE)
        names = set(re.findall(r"[\w./-]+\.(?:jsonl?|html)\b", "\n".join(lines))) - {"evaluation-result.json"}
        names |= {"labelled.local.json.journal.jsonl", "traffic.jsonl", "report.local.md", "locomo10.json"}
        self.assertGreater(len(names), 15)
        for name in names:
            with self.subTest(name):
                done = subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT, timeout=60)
                self.assertEqual(done.returncode, 0)


def shown(name):
    """The help of a command."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        package = (HERE / name).is_dir()
        status_of(importlib.import_module(f"workbench.{name}" + ".__main__" * package).main, ["--help"])
    return out.getvalue()


class Help(unittest.TestCase):
    def test_every_command_shows_an_example_of_itself(self):
        for name in commands():
            with self.subTest(name):
                self.assertRegex(shown(name), rf"(?s)example: .*python -m workbench\.{name}")

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    @unittest.skipUnless(shutil.which("sh"), "no POSIX shell to paste into")
    def test_the_examples_run_as_they_stand(self):
        with tempfile.TemporaryDirectory() as place:
            for name in ("evaluation-result.json", "cases.json"):
                shutil.copy(ROOT / name, place)
            for name in ("adapter", "compare", "report", "import_cases", "label_cases"):
                example = shown(name).rpartition("example: ")[2].replace("python -m", f"{sys.executable} -m")
                with self.subTest(name):
                    done = subprocess.run(
                        ["sh", "-ec", example], cwd=place, input="1\n\n", capture_output=True, text=True,
                        encoding="utf-8", timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
                    )  # fmt: skip
                    self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((Path(place) / "labelled.local.json").exists())


if __name__ == "__main__":
    unittest.main()
