"""Imports go one way, no module hides another, and unittest sees every folder of tests."""

import ast
import graphlib
import re
import sys
from importlib.metadata import packages_distributions

from base.tests.made import ROOT, Files

LAYERS = ("strategies", "base", "tokens modelkit", "tokenizer", "selection answers", "answer_model", "compaction",
          "prepare evaluate answer_check", "workbench")  # lowest first; tests may import anything
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}


def imports(root):
    """{module: modules of ours that it imports, inside functions too}, tests left out."""
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    paths = {name.removesuffix(".py").replace("/", "."): path for name, path in paths.items()
             if not re.search(r"(^|/)(\.|tests/|venv/|test_|__init__)", name)}
    graph = {}
    for name, path in paths.items():
        needed = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = getattr(node, "module", None)
                needed |= {module, *(f"{module}.{alias.name}" if module else alias.name for alias in node.names)}
        graph[name] = needed & set(paths)
    return graph


def circle(graph):
    """The names of a circle in {name: names that it needs}, or []."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def unseen(root):
    """Folders with tests that unittest passes over without a word, since they lack their __init__.py."""
    folders = {path.parent for path in root.rglob("test_*.py")} - {root}
    return sorted(folder.relative_to(root).as_posix() for folder in folders if not (folder / "__init__.py").exists())


def hiding(modules, packages):
    """Modules that would hide another: named as one of the standard library, an installed package or a room."""
    foreign = {*sys.stdlib_module_names, *packages}
    taken = (foreign | {room for name in modules for room in name.split(".")[:-1]}) - {"__main__"}
    named = {name for name in modules if name.rpartition(".")[2] in taken}
    return sorted(named | {name.partition(".")[0] for name in modules} & foreign)


class Layers(Files):
    def test_modules_import_in_a_circle_or_one_of_a_room_beside_or_above(self):
        graph = imports(ROOT)
        self.assertEqual(circle(graph), [])  # rooms cannot either, by what follows
        above = [f"{name} imports {other}" for name, needed in graph.items() for other in needed
                 if name.partition(".")[0] != other.partition(".")[0]
                 and RANK[other.partition(".")[0]] >= RANK[name.partition(".")[0]]]
        self.assertEqual(above, [])

    def test_a_module_hides_one_of_the_standard_library_a_package_or_a_room(self):
        self.assertEqual(hiding(imports(ROOT), packages_distributions()), [])
        self.assertEqual(hiding(["a.b.c", "a.b", "d.json", "a.__main__", "d.tqdm", "queue.x", "e.f"], ["tqdm"]),
                         ["a.b", "d.json", "d.tqdm", "queue"])

    def test_unittest_passes_over_a_folder_of_tests(self):
        self.assertEqual(unseen(ROOT), [])

    def test_a_circle_or_a_folder_that_is_passed_over_is_not_named(self):
        for name, text in (("a/one.py", "def f():\n    from b import two"), ("b/two.py", "import c"),
                           ("c.py", "from a.one import f"), ("a/tests/test_one.py", "import c")):
            self.write(name, text)
        self.assertEqual(set(circle(imports(self.folder))), {"a.one", "b.two", "c"})
        self.assertEqual(unseen(self.folder), ["a/tests"])
