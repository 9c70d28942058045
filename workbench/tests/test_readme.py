"""What a reader would paste and find broken: an example that fails, a path that is gone, a page of many screens."""

import contextlib
import importlib
import io
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from base.command import read_json
from base.tests.made import ROOT, Files, commands, needs_tokenizer, run
from workbench.tests import readme

ROOMS = """base tokens modelkit selection answers compaction compaction/fixtures compaction/judge compaction/replay
compaction/sessions compaction/signals workbench workbench/report""".split()
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in
         ("README.md", *(f"{room}/README.md" for room in ROOMS))}
OTHERS = {"--headless", "--no-sandbox", "--hide-scrollbars", "--window-size", "--screenshot", "--arg", "--version"}
USERS_FILES = """README.md requirements.txt prepare.py tokenizer.py tokenizer-manifest.json strategies.py evaluate.py
answer_model.py answer_check.py cases.json answer-keys.json evaluation-result.json answer-result.json test_evaluate.py
test_answer_check.py""".split()
SOURCES = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0][0] != "."]
NEEDS_SHELL = unittest.skipUnless(shutil.which("sh"), "no POSIX shell to paste into")


class Pages(unittest.TestCase):
    def test_every_room_has_a_page_of_one_screen_and_the_front_page_links_it(self):
        for name, text in PAGES.items():
            with self.subTest(name):
                self.assertLessEqual(len(text.splitlines()), 150 if name == "README.md" else 60)
                self.assertLessEqual(max(map(len, text.splitlines())), 140 if name == "README.md" else 120)
                self.assertTrue(name == "README.md" or f"]({name})" in PAGES["README.md"])

    def test_the_map_of_files_has_at_most_twenty_lines(self):
        rows = re.search(r"\n## Where the files are\n\n((?:\|.*\n)+)", PAGES["README.md"])[1]
        self.assertLessEqual(len(rows.splitlines()), 20)

    def test_every_path_module_and_option_that_a_page_names_exists(self):
        options = OTHERS.union(*(re.findall(r"\"(--[a-z-]+)\"", path.read_text(encoding="utf-8"))
                                 for path in SOURCES if "tests" not in path.parts))
        modules = {*commands(), *(".".join(path.relative_to(ROOT).with_suffix("").parts)
                                  for path in SOURCES if "tests" in path.parts)}
        for page, text in PAGES.items():
            names = re.findall(r"\]\(([\w./-]+)\)|`([\w./-]+\.(?:py|json|md|css))`", text)
            for name in {name or other for name, other in names if ".local." not in (name or other)}:
                with self.subTest(page, name=name):
                    self.assertTrue(name.startswith("my") or (ROOT / name).exists()
                                    or any((ROOT / page).parent.rglob(name.removeprefix("./"))))
            for module in set(re.findall(r"python -m ([\w.]+)", text)) - {"venv", "unittest", "pip"}:
                with self.subTest(page, module=module):
                    self.assertIn(module, modules)
            with self.subTest(page, what="options"):
                self.assertEqual(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - options, set())

    def test_every_module_of_a_room_stands_on_its_page(self):
        for room in ROOMS:
            for path in (ROOT / room).glob("*.py"):
                with self.subTest(path.relative_to(ROOT)):
                    self.assertTrue(path.stem[:2] == "__" or path.name in PAGES[f"{room}/README.md"])

    def test_every_command_shows_an_example_of_itself_that_exists(self):
        self.assertGreater(len(commands()), 20)
        for name, module in commands().items():
            with self.subTest(name):
                self.assertRegex(example_of(module), rf"python (-m )?{re.escape(name)}\b")
                for command, _ in readme.commands(example_of(module)):
                    self.assertIsNone(readme.look_up(command))

    def test_blocks_are_cut_where_a_reader_cuts_them(self):
        page = "text\n\n    python a.py > x\n    python b.py\n\n"
        page += "<!-- only parsed: a server -->\n\n    $ python c.py\n    said\n"
        page += "\n```python\n# f.py\nx = 1\n```\n\n    {\"json\": 1}\n\n- item\n    python is continued text\n"
        blocks = readme.blocks(page)
        self.assertEqual([(kind, text, parsed) for _, kind, text, parsed in blocks],
                         [("sh", "python a.py > x\npython b.py", False), ("sh", "$ python c.py\nsaid", True),
                          ("python", "# f.py\nx = 1", False)])
        self.assertEqual(readme.commands(blocks[1][2]), [("python c.py", ["said"])])
        self.assertEqual(readme.commands("# why\npython a.py \\\n  --b"), [("python a.py    --b", None)])

    def test_an_option_or_a_module_that_is_gone_is_found_although_the_block_is_not_run(self):
        self.assertIsNone(readme.look_up("python -m workbench.compare a.json b.json --pair a=b > c.json"))
        self.assertRegex(readme.look_up("python -m workbench.compare a.json b.json --gone"), "no option --gone")
        self.assertRaises(ModuleNotFoundError, readme.look_up, "python -m workbench.gone a.json")


class Blocks(Files):
    @needs_tokenizer
    @NEEDS_SHELL
    def test_every_block_of_every_page_and_the_examples_of_help_run_as_pasted_in_order(self):
        for file in ROOT.iterdir():
            if not file.name.startswith("."):
                (self.folder / file.name).symlink_to(file)
        self.enterContext(contextlib.chdir(self.folder))
        path = sys.path[:]
        self.addCleanup(lambda: sys.path.__setitem__(slice(None), path))
        sys.path.insert(0, str(ROOT))
        for page, text in PAGES.items():
            for number, kind, block, parsed in readme.blocks(text):
                with self.subTest(f"{page}:{number}"):
                    self.check(kind, block, parsed)
            if page == "README.md":
                self.check_job(text)
        for name in ("adapter", "compare", "report.__main__", "import_cases", "survey"):
            with self.subTest(name):
                self.check("sh", example_of(f"workbench.{name}"), False)

    def check_job(self, text):
        """The labels that ship are those that the front page's commands make, and its gate says what the page says."""
        shipped, made = (Path(place).read_text(encoding="utf-8")
                         for place in ("workbench/sample/labelled.json", "labelled.local.json"))
        self.assertEqual(shipped, made)
        gate = read_json("gate.local.json")
        (result, ) = gate["results"]
        facts, kinds = result["paired"]["facts"], [change["change"] for change in gate["blocking"]]
        self.assertEqual((facts["found_recorded"], facts["found_fresh"], facts["total"]), (8, 8, 12))
        self.assertEqual((gate["decision"], sorted(kinds)), ("blocked", ["lost", "lost", "lost", "stale"]))
        self.assertEqual(result["stale_cases"]["fresh"]["alone"], ["dinner"])
        for change in gate["blocking"]:
            if change["case"] == "dinner":
                self.assertIn(f'"{change["fact"].partition(": ")[2]}"', " ".join(text.split()))
        items = read_json("own.local.json")["candidate"]["items"]
        verdicts = [verdict for item in items for verdict in item["verdicts"].values()]
        self.assertEqual((len(verdicts), verdicts.count("unjudged")), (9, 5))
        self.check_tables(text)

    def check_tables(self, text):
        """The figures of the front page's tables are those that its commands have just given."""
        def cached(survey, budget, name):
            rule = survey["budgets"][budget]["rules"][name]
            return f"{rule['turns_sent'] / rule['turns']:.0%}", f"{rule['cached_tokens'] / rule['tokens']:.0%}"

        report, survey = read_json("rules.local.json"), read_json("cached.local.json")
        for name, rows in report["cases"].items():
            half = [sum(row["required_found"] for row in rows if row["split"] == split)
                    for split in ("dev", "held_out")]
            stale = [row for row in rows if row["stale_included"]]
            figures = [*(f"{facts} of 7" for facts in half), f"{sum(not row['missing'] for row in rows)} of 12",
                       len(stale), sum(bool(row["missing"]) for row in stale),
                       f"{sum(row['input_tokens'] for row in rows) / 12:.1f}", cached(survey, "256", name)[1]]
            self.assertRegex(text, rf"(?m)^\| `{name}`: [^|]* \| {re.escape(' | '.join(map(str, figures)))} \|$")
        survey = read_json("survey.local.json")
        for name in re.findall(r"(?m)^\| `([\w-]+)` \| \d+% ", text):
            figures = [*cached(survey, "128", name), *cached(survey, "1024", name)]
            self.assertIn(f"| `{name}` | {' | '.join(figures)} |", text)
        sides = [*(read_json("compaction.local.json")[side] for side in ("incumbent", "candidate")),
                 read_json("compaction/results/ledger-against-recent.json")["candidate"]]
        for rows in zip(*(side["rows"] for side in sides)):
            if rows[0]["row"] != "prompt_tokens":
                counts = [str(row["value"]) + (f" of {row['of']}" if row["row"] != "contradictions" else "")
                          for row in rows]
                self.assertRegex(text, rf"(?m)^\| {rows[0]['name']} \| \d+%? \| {re.escape(' | '.join(counts))} \|$")

    def check(self, kind, text, parsed):
        if kind == "python":
            code = compile(text, "README.md", "exec")
            if name := re.match(r"# (\w+\.py)\n", text):
                Path(name[1]).write_text(text, encoding="utf-8")
            if parsed:
                return
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, {"__name__": "pasted"})
            wanted = re.findall(r"^ *print\(.*\)  # (\S.*)$", text, re.MULTILINE)
            lines = out.getvalue().splitlines()
            for comment, line in zip(wanted, lines) if len(lines) == len(wanted) else ():
                if not comment.endswith("rounded"):
                    self.assertRegex(line, re.escape(comment.partition(";")[0]).replace(r"\.\.\.", ".*"))
            return
        status = 0
        for command, said in readme.commands(text):
            if parsed:
                self.assertIsNone(readme.look_up(command))
                continue
            status, told = readme.run(command, status)
            self.assertIn(status, (0, 1, 3), f"{command}\n{told}")
            self.assertNotIn("Traceback", told, command)
            if said is not None:
                self.assertEqual(told.rstrip("\n").split("\n") if told else [], said, command)


def example_of(module):
    """The example in a command's help."""
    told = run(importlib.import_module(module).main, "--help")[1]
    lines = re.search(r"(?s)example: (.*?)(?:\n\n|\Z)|\Z", told)[1] or ""
    return "\n".join(line.strip() for line in lines.splitlines())


class Workflow(Files):
    def setUp(self):
        super().setUp()
        self.text = (ROOT / "workbench" / "sample" / "ci.yml").read_text(encoding="utf-8")

    def test_every_command_of_the_workflow_and_its_options_exist(self):
        lines = re.findall(r"python (?:-m workbench|evaluate).*(?:\n {10}(?:--|\.\.).*)*", self.text)
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertIsNone(readme.look_up(" ".join(line.replace("$results", "a.json").split())))

    @NEEDS_SHELL
    def test_the_page_is_made_of_what_there_is_also_when_the_gate_wrote_nothing(self):
        line = re.search(r"^ *(results=.*)$", self.text, re.MULTILINE)[1]
        for held in (["fresh"], ["gate"], ["fresh", "gate"]):
            with self.subTest(held):
                for name in ("fresh", "gate"):
                    self.write(f"{name}.local.json", "{}" if name in held else "")
                done = subprocess.run(["sh", "-ec", f"{line}\necho $results"], cwd=self.folder, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout.split()), (0, [f"{name}.local.json" for name in held]))


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "no repository to ask")
class Root(unittest.TestCase):
    def test_the_root_is_the_users_files_and_the_rooms_and_nothing_else(self):
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        places = [name.partition("/") for name in tracked.stdout.splitlines()]
        self.assertEqual({first for first, slash, _ in places if not slash and first[0] != "."},
                         {*USERS_FILES, "LICENSE"})
        self.assertEqual(len(USERS_FILES), 15)
        self.assertEqual({first for first, slash, _ in places if slash},
                         {".ci"} | {room.partition("/")[0] for room in ROOMS})

    def test_no_file_that_a_page_names_for_traffic_or_results_of_it_can_be_committed(self):
        names = {"labelled.local.json.journal.jsonl", "traffic.jsonl", "report.local.md", "locomo10.json",
                 "my-fixtures/a", "answer-result.previous.2.json", "log.previous.jsonl"}
        for text in PAGES.values():
            names.update(*(re.findall(r"(?:>|--output|--contexts|--summary) ([\w./-]+)", block)
                           for _, kind, block, _ in readme.blocks(text) if kind == "sh"))
        self.assertGreater(len(names), 15)
        names = sorted(name if "." in name else f"{name}/a" for name in names)
        done = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, timeout=60, capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), names)


if __name__ == "__main__":
    unittest.main()
