"""Find a compactor or a judge by what the user typed: a built-in name or module:function.

Run:  not a script; check.py, judge_check.py and replay.py use it.
Does not call what it finds.
"""

import hashlib
import importlib
import inspect
from pathlib import Path

from command import InputError
from compaction import compactors

BUILT_IN = {"recent": compactors.recent, "notes": compactors.notes, "ledger": compactors.ledger}


def find_compactor(name, model_file=None):
    """{"name", "function", "extractive", "sha256"} for a built-in name, "summary" or module:function."""
    if name == "summary":
        from compaction.summary import summariser  # here, since it needs a model that most runs do without

        return {"name": name, **summariser(model_file)}
    function = (
        BUILT_IN[name] if name in BUILT_IN else load_function(name, f"one of {', '.join([*BUILT_IN, 'summary'])}")
    )
    return {
        "name": name,
        "function": function,
        "extractive": bool(getattr(function, "extractive", False)),
        "sha256": code_hash(function),
    }


def load_function(name, others):
    """The callable that module:function names, found from the working directory, or InputError."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise InputError(f"{name!r} is no name known here; give {others}, or your own as module:function")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"{name}: cannot be imported: {error}; run from the folder that holds {module_name}") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise InputError(f"{name}: {module_name} has no function {attribute!r}; correct the name")
    return function


def code_hash(function):
    """SHA-256 of the file that defines a function, its line ends as LF; None for one that no file defines."""
    try:
        source = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:  # a callable object: its class is what was written
        source = inspect.getsourcefile(type(function))
    return file_hash(source) if source and Path(source).is_file() else None


def file_hash(path):
    """SHA-256 of a text file with its line ends as LF, so that a checkout's setting changes nothing."""
    return hashlib.sha256(Path(path).read_bytes().replace(b"\r\n", b"\n")).hexdigest()
