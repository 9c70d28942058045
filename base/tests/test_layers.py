"""Imports go one way, no module hides another, and unittest sees every folder of tests."""

import ast
import graphlib
import sys
import tempfile
import unittest
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = ("strategies", "base", "tokens modelkit", "tokenizer", "selection answers", "answer_model", "compaction",
          "prepare evaluate answer_check", "workbench")  # lowest first; tests may import anything
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}


def imports(root):
    """{module: modules of ours that it imports, inside functions too}, tests left out."""
    paths = {".".join(path.relative_to(root).with_suffix("").parts): path
             for path in root.rglob("*.py")
             if not any(part[:1] == "." or part in ("tests", "venv") for part in path.relative_to(root).parts)}
    paths = {name: path for name, path in paths.items() if not name.endswith("__init__") and name[:5] != "test_"}
    graph = {}
    for name, path in paths.items():
        needed = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                needed |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                needed |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        graph[name] = needed & set(paths)
    return graph


def circle(graph):
    """The names of a circle in {name: names that it needs}, or []."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def by_first_name(graph):
    """The same graph between root scripts and rooms."""
    rooms = {}
    for name, needed in graph.items():
        first = name.partition(".")[0]
        rooms.setdefault(first, set()).update({other.partition(".")[0] for other in needed} - {first})
    return rooms


def unseen(root):
    """Folders with tests that unittest passes over without a word, since they lack their __init__.py."""
    folders = {path.parent for path in root.rglob("test_*.py")} - {root}
    return sorted(folder.relative_to(root).as_posix() for folder in folders if not (folder / "__init__.py").exists())


def hiding(modules, packages):
    """Modules that would hide another: named as one of the standard library, an installed package or a room."""
    parts = [name.split(".") for name in modules]
    taken = {*sys.stdlib_module_names, *packages, *(folder for folders in parts for folder in folders[:-1])}
    hidden = [".".join(names) for names in parts if names[-1] in taken and names[-1] != "__main__"]
    return sorted({*hidden, *({names[0] for names in parts} & {*sys.stdlib_module_names, *packages})})


class Layers(unittest.TestCase):
    def test_modules_import_each_other_in_a_circle(self):
        self.assertEqual(circle(imports(ROOT)), [])  # rooms cannot either, by the test below

    def test_a_room_imports_one_beside_or_above_it(self):
        self.assertEqual([f"{name} -> {other}" for name, needed in by_first_name(imports(ROOT)).items()
                          for other in needed if RANK[other] >= RANK[name]], [])

    def test_a_module_hides_one_of_the_standard_library_a_package_or_a_room(self):
        self.assertEqual(hiding(imports(ROOT), packages_distributions()), [])
        self.assertEqual(hiding(["a.b.c", "a.b", "d.json", "a.__main__", "d.tqdm", "queue.x", "e.f"], ["tqdm"]),
                         ["a.b", "d.json", "d.tqdm", "queue"])

    def test_unittest_passes_over_a_folder_of_tests(self):
        self.assertEqual(unseen(ROOT), [])

    def test_a_circle_or_a_folder_that_is_passed_over_is_not_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a/one", "def f():\n    from b import two"), ("b/two", "import c"),
                               ("c", "from a.one import f"), ("a/tests/test_one", "import c")):
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / name).with_suffix(".py").write_text(text, encoding="utf-8")
            graph = imports(Path(folder))
            self.assertEqual(set(circle(graph)), {"a.one", "b.two", "c"})
            self.assertEqual(set(circle(by_first_name(graph))), {"a", "b", "c"})
            self.assertEqual(unseen(Path(folder)), ["a/tests"])
