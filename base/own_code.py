"""The user's own code (a compactor, a judge, an agent): find it by module:function and call it.

It is trusted as far as code on your own machine is: what it prints goes to standard error, since standard output is
data; an exit is no answer, since status 0 would mean safe; what it raises keeps its traceback and says where.
"""

import hashlib
import importlib
import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path

from base.command import InputError


def load_function(name, others):
    """The callable that module:function names, found from the working directory, or InputError."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not attribute or not all(module_name.split(".")):
        raise InputError(f"{name!r} is no name known here; give {others}, or your own as module:function")
    try:
        module = call_own(importlib.import_module, name, module_name)
    except (ImportError, SyntaxError) as error:
        absent = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        remedy = f"run from the folder that holds {module_name}" if absent else "correct that module"
        raise InputError(f"{name}: cannot be imported: {error}; {remedy}") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise InputError(f"{name}: {module_name} has no function {attribute!r}; correct the name")
    return function


def call_own(function, place, *arguments):
    """What the user's function returns. `place` stands in what it raises and in the error for an exit."""
    try:
        with redirect_stdout(sys.stderr):
            return function(*arguments)
    except InputError:
        raise
    except SystemExit as exit_:
        raise InputError(f"{place}: that code ended the process (exit {exit_.code}); let it return instead") from None
    except Exception as error:  # any: its own traceback tells its writer most
        error.add_note(f"{place}: raised there")
        raise


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
