import contextlib
import io
import re
import unittest
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


class Examples(unittest.TestCase):
    def test_every_example_runs_as_it_stands_and_prints_what_its_comments_say(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
        self.assertEqual(len(blocks), 5)
        for block in blocks:
            with self.subTest(block), contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, "README.md", "exec"), {})
                for expected in re.findall(r"^print\(.*\)  # (.+)$", block, re.MULTILINE):
                    pattern = re.escape(expected.split(";")[0]).replace(r"\.\.\.", ".*")
                    self.assertRegex(out.getvalue(), pattern)

    def test_every_module_of_the_folder_is_in_the_table(self):
        for path in Path(__file__).parents[1].glob("*.py"):
            if not path.name.startswith(("test_", "__")):
                self.assertIn(f"`{path.name}`", TEXT)
