"""What a reader would paste and find broken: an example that fails, a path that is gone, a page of many screens."""

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

from base.command import read_json, status_of
from tokens.manifest import folder
from workbench.tests import readme

HERE, ROOT = Path(__file__).parents[1], Path(__file__).parents[2]
FRONT = ROOT / "README.md"
ROOMS = [ROOT / name for name in ("base", "tokens", "modelkit", "selection", "answers", "compaction")]
ROOMS += [ROOT / "compaction" / name for name in ("fixtures", "judge", "replay", "sessions", "signals")]
ROOMS += [HERE, HERE / "report"]
PAGES = [FRONT, *(room / "README.md" for room in ROOMS)]
OTHERS = {"--headless", "--no-sandbox", "--hide-scrollbars", "--window-size", "--screenshot", "--arg", "--version"}
USERS_FILES = """README.md requirements.txt prepare.py tokenizer.py tokenizer-manifest.json strategies.py evaluate.py
answer_model.py answer_check.py cases.json answer-keys.json evaluation-result.json answer-result.json test_evaluate.py
test_answer_check.py""".split()


def tracked():
    """The files that the repository holds."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def kept_share(survey, budget, name):
    """The share of a rule's tokens that a cache keeps, as the page writes it."""
    rule = survey["budgets"][budget]["rules"][name]
    return f"{rule['cached_tokens'] / rule['tokens']:.0%}"


class Pages(unittest.TestCase):
    def test_every_room_has_a_page_of_one_screen_and_the_front_page_links_it(self):
        front = FRONT.read_text(encoding="utf-8")
        self.assertLessEqual(len(front.splitlines()), 150)
        for page in PAGES[1:]:
            with self.subTest(str(page.relative_to(ROOT))):
                lines = page.read_text(encoding="utf-8").splitlines()
                self.assertLessEqual(len(lines), 90)
                self.assertLessEqual(max(map(len, lines)), 200)
                self.assertIn(f"]({page.relative_to(ROOT)})", front)

    def test_the_map_of_files_has_at_most_twenty_lines(self):
        rows = re.search(r"\n## Where the files are\n\n((?:\|.*\n)+)", FRONT.read_text(encoding="utf-8"))[1]
        self.assertLessEqual(len(rows.splitlines()), 20)

    def test_every_path_and_module_that_a_page_names_exists(self):
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            names = set(re.findall(r"\]\(([\w./-]+)\)", text)) | set(
                re.findall(r"`([\w./-]+\.(?:py|json|md|css))`", text))
            for name in names:
                if ".local." in name or name.startswith("my"):
                    continue
                with self.subTest(str(page.relative_to(ROOT)), name=name):
                    self.assertTrue((ROOT / name).exists() or any(page.parent.rglob(name.removeprefix("./"))), name)
            for module in set(re.findall(r"python -m ([\w.]+)", text)) - {"venv", "unittest", "pip"}:
                with self.subTest(str(page.relative_to(ROOT)), module=module):
                    self.assertTrue((ROOT / (module.replace(".", "/") + ".py")).exists()
                                    or (ROOT / module.replace(".", "/") / "__main__.py").exists())


    def test_every_option_that_a_page_names_exists(self):
        sources = [path for path in ROOT.rglob("*.py")
                   if path.relative_to(ROOT).parts[0][0] != "." and "tests" not in path.parts]
        known = set(re.findall(r"\"(--[a-z-]+)\"", "\n".join(path.read_text(encoding="utf-8") for path in sources)))
        for page in PAGES:
            for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page.read_text(encoding="utf-8"))) - OTHERS:
                with self.subTest(str(page.relative_to(ROOT)), option=option):
                    self.assertIn(option, known)


@unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
@unittest.skipUnless(shutil.which("sh"), "no POSIX shell to paste into")
class Blocks(unittest.TestCase):
    def test_every_block_of_every_page_runs_as_pasted_in_order(self):
        before, path = os.getcwd(), sys.path[:]
        with tempfile.TemporaryDirectory() as place:
            for file in ROOT.iterdir():
                if not file.name.startswith("."):
                    os.symlink(file, Path(place) / file.name)
            os.chdir(place)
            sys.path.insert(0, str(ROOT))
            try:
                for page in PAGES:
                    if page == PAGES[1]:
                        self.check_job()
                    for number, kind, text, parsed in readme.blocks(page.read_text(encoding="utf-8")):
                        with self.subTest(f"{page.relative_to(ROOT)}:{number}"):
                            self.check(kind, text, parsed)
            finally:
                os.chdir(before)
                sys.path[:] = path

    def check_job(self):
        """The labels that ship are those that the front page's commands make, and its gate says what the page says."""
        shipped, made = (Path(place).read_text(encoding="utf-8")
                         for place in ("workbench/sample/labelled.json", "labelled.local.json"))
        self.assertEqual(shipped, made)
        gate, page = read_json("gate.local.json"), " ".join(FRONT.read_text(encoding="utf-8").split())
        (result, ) = gate["results"]
        facts, kinds = result["paired"]["facts"], [change["change"] for change in gate["blocking"]]
        self.assertEqual((facts["found_recorded"], facts["found_fresh"], facts["total"]), (8, 8, 12))
        self.assertEqual((gate["decision"], sorted(kinds)), ("blocked", ["lost", "lost", "lost", "stale"]))
        self.assertEqual(result["stale_cases"]["fresh"]["alone"], ["dinner"])
        for change in gate["blocking"]:
            if change["case"] == "dinner":
                self.assertIn(f'"{change["fact"].partition(": ")[2]}"', page)
        items = read_json("own.local.json")["candidate"]["items"]
        verdicts = [verdict for item in items for verdict in item["verdicts"].values()]
        self.assertEqual((len(verdicts), verdicts.count("unjudged")), (9, 5))
        self.check_tables(FRONT.read_text(encoding="utf-8"))

    def check_tables(self, text):
        """The figures of the first two jobs are those that their commands have just given."""
        report, cached = (read_json(f"{name}.local.json") for name in ("rules", "cached"))
        for name, rows in report["cases"].items():
            half = [sum(row["required_found"] for row in rows if row["split"] == split)
                    for split in ("dev", "held_out")]
            stale = [row for row in rows if row["stale_included"]]
            figures = [*(f"{found} of 7" for found in half), f"{sum(not row['missing'] for row in rows)} of 12",
                       len(stale), sum(bool(row["missing"]) for row in stale),
                       f"{sum(row['input_tokens'] for row in rows) / 12:.1f}", kept_share(cached, "256", name)]
            self.assertRegex(text, rf"(?m)^\| `{name}`: [^|]* \| {re.escape(' | '.join(map(str, figures)))} \|$")
        survey = read_json("survey.local.json")
        for name in re.findall(r"(?m)^\| `([\w-]+)` \| \d+% ", text):
            figures = []
            for budget in ("128", "1024"):
                rule = survey["budgets"][budget]["rules"][name]
                figures += [f"{rule['turns_sent'] / rule['turns']:.0%}", kept_share(survey, budget, name)]
            self.assertIn(f"| `{name}` | {' | '.join(figures)} |", text)

        sides = [*(read_json("compaction.local.json")[side] for side in ("incumbent", "candidate")),
                 read_json("compaction/results/ledger-against-recent.json")["candidate"]]
        for rows in zip(*(side["rows"] for side in sides)):
            if rows[0]["row"] != "prompt_tokens":
                counts = [str(row["value"]) + (f" of {row['of']}" if row["row"] != "contradictions" else "")
                          for row in rows]
                line = re.search(rf"(?m)^\| {rows[0]['name']} \| \d+%? \| (.*) \|$", text)
                self.assertEqual(line and line[1].split(" | "), counts)

    def check(self, kind, text, parsed):
        if kind == "python":
            code, out = compile(text, "README.md", "exec"), io.StringIO()
            if name := re.match(r"# (\w+\.py)\n", text):
                Path(name[1]).write_text(text, encoding="utf-8")
            if not parsed:
                with contextlib.redirect_stdout(out):
                    exec(code, {"__name__": "pasted"})
                wanted = re.findall(r"^ *print\(.*\)  # (\S.*)$", text, re.MULTILINE)
                lines = out.getvalue().splitlines()
                for comment, line in zip(wanted, lines) if len(lines) == len(wanted) else ():
                    if comment[0] in "[{'0123456789" and not re.search(r"\.\.\.|…|rounded", comment):
                        self.assertEqual(line, comment.partition(";")[0])
        status = 0
        for command, said in readme.commands(text) if kind == "sh" else ():
            if parsed:
                self.assertIsNone(readme.look_up(command))
                continue
            status, told = readme.run(command, status)
            self.assertIn(status, (0, 1, 3), f"{command}\n{told}")
            self.assertNotIn("Traceback", told, command)
            if said is not None:
                self.assertEqual(told.rstrip("\n").split("\n") if told else [], said, command)


class Workflow(unittest.TestCase):
    def setUp(self):
        self.text = (HERE / "sample" / "ci.yml").read_text(encoding="utf-8")

    def test_every_command_of_the_workflow_and_its_options_exist(self):
        lines = re.findall(r"python (?:-m workbench|evaluate).*(?:\n {10}(?:--|\.\.).*)*", self.text)
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertIsNone(readme.look_up(" ".join(line.replace("$results", "a.json").split())))

    @unittest.skipUnless(shutil.which("sh"), "no POSIX shell to paste into")
    def test_the_page_is_made_of_what_there_is_also_when_the_gate_wrote_nothing(self):
        line = re.search(r"^ *(results=.*)$", self.text, re.MULTILINE)[1]
        for held in (["fresh"], ["gate"], ["fresh", "gate"]):
            with self.subTest(held), tempfile.TemporaryDirectory() as place:
                for name in ("fresh", "gate"):
                    (Path(place) / f"{name}.local.json").write_text("{}" if name in held else "", encoding="utf-8")
                done = subprocess.run(["sh", "-ec", f"{line}\necho $results"], cwd=place, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout.split()), (0, [f"{name}.local.json" for name in held]))


class Reading(unittest.TestCase):
    def test_blocks_are_cut_where_a_reader_cuts_them(self):
        page = "text\n\n    python a.py > x\n    python b.py\n\n"
        page += "<!-- only parsed: a server -->\n\n    $ python c.py\n    said\n"
        page += "\n```python\n# f.py\nx = 1\n```\n\n    {\"json\": 1}\n\n- item\n    python is continued text\n"
        found = readme.blocks(page)
        self.assertEqual([(kind, text, parsed) for _, kind, text, parsed in found],
                         [("sh", "python a.py > x\npython b.py", False), ("sh", "$ python c.py\nsaid", True),
                          ("python", "# f.py\nx = 1", False)])
        self.assertEqual(readme.commands(found[1][2]), [("python c.py", ["said"])])
        self.assertEqual(readme.commands("# why\npython a.py \\\n  --b"), [("python a.py    --b", None)])

    def test_an_option_or_a_module_that_is_gone_is_found_although_the_block_is_not_run(self):
        self.assertIsNone(readme.look_up("python -m workbench.compare a.json b.json --pair a=b > c.json"))
        self.assertRegex(readme.look_up("python -m workbench.compare a.json b.json --gone"), "no option --gone")
        self.assertRaises(ModuleNotFoundError, readme.look_up, "python -m workbench.gone a.json")


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "no repository to ask")
class Root(unittest.TestCase):
    def test_the_root_is_the_users_files_and_the_rooms_and_nothing_else(self):
        root = {name for name in tracked() if "/" not in name and not name.startswith(".")}
        self.assertEqual(root, {*USERS_FILES, "LICENSE"})
        self.assertEqual(len(USERS_FILES), 15)
        folders = {name.split("/")[0] for name in tracked() if "/" in name}
        self.assertEqual(folders, {".ci"} | {room.relative_to(ROOT).parts[0] for room in ROOMS})

    def test_no_file_that_a_page_names_for_traffic_or_results_of_it_can_be_committed(self):
        names = {"labelled.local.json.journal.jsonl", "traffic.jsonl", "report.local.md", "locomo10.json",
                 "my-fixtures/a", "answer-result.previous.2.json", "log.previous.jsonl"}
        for page in PAGES:
            for _, kind, text, _ in readme.blocks(page.read_text(encoding="utf-8")):
                names |= set(re.findall(r"(?:>|--output|--contexts|--summary) ([\w./-]+)",
                                        text)) if kind == "sh" else set()
        self.assertGreater(len(names), 15)
        for name in names:
            name += "/a" if "." not in name else ""
            with self.subTest(name):
                done = subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT, timeout=60)
                self.assertEqual(done.returncode, 0)


def commands():
    """Names of the room's modules that can be run."""
    paths = [*HERE.glob("*.py"), *HERE.glob("*/__main__.py")]
    paths = [path for path in paths if "run_command(main)" in path.read_text(encoding="utf-8")]
    return sorted(path.parent.name if path.stem == "__main__" else path.stem for path in paths)


def help_of(name):
    """The help of a command."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        package = (HERE / name).is_dir()
        status_of(importlib.import_module(f"workbench.{name}" + ".__main__" * package).main, ["--help"])
    return out.getvalue()


class Help(unittest.TestCase):
    def test_every_command_shows_an_example_of_itself_and_stands_in_the_rooms_table(self):
        text = (HERE / "README.md").read_text(encoding="utf-8")
        for name in commands():
            with self.subTest(name):
                self.assertRegex(help_of(name), rf"(?s)example: .*python -m workbench\.{name}")
                self.assertRegex(text, rf"(?m)^\| .*`{name}(?:\.py|/)`")

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_the_examples_run_as_they_stand(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as place:
            for name in ("evaluation-result.json", "cases.json", "workbench", "evaluate.py"):
                os.symlink(ROOT / name, Path(place) / name)
            os.chdir(place)
            try:
                for name in ("adapter", "compare", "report", "import_cases", "survey"):
                    example = re.search(r"(?s)example: (.*?)(?:\n\n|\Z)", help_of(name))[1]
                    for command, _ in readme.commands("\n".join(line.strip() for line in example.splitlines())):
                        with self.subTest(name):
                            status, told = readme.run(command, 0)
                            self.assertEqual(status, 0, told)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
