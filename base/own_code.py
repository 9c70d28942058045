"""The user's own code (a selector, a compactor, a judge, an agent): load it by name, and call it.

It is trusted as far as code on your own machine is: what it prints goes to standard error, since standard output is
data; an exit is no answer, since status 0 would mean safe; what it raises keeps its traceback and says where.
"""

import importlib
import importlib.util
import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path

from base.command import InputError, sha256
from base.shown import error_line


def is_own(name):
    """Whether a name is FILE.py:NAME or module:function, a user's function: is_own("rule.py:choose") -> True."""
    return ":" in name


def load_function(name, others="a known name"):
    """The callable that FILE.py:NAME or module:function names, the module found from the working directory.

    InputError where there is none; `others` says what else could be given.
    """
    place, _, attribute = name.rpartition(":")
    in_file = place.endswith(".py")
    if not attribute or not (in_file or all(place.split("."))):
        raise InputError(f"{name!r} is no name known here; give {others}, or your own: FILE.py:NAME or module:function")
    if in_file and not Path(place).is_file():
        raise InputError(f"{place}: no such file; give FILE.py:NAME")
    try:
        with redirect_stdout(sys.stderr):
            if in_file:
                spec = importlib.util.spec_from_file_location(f"own_{Path(place).stem}", place)
                module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where pickle looks it up
                spec.loader.exec_module(module)
            else:
                module = importlib.import_module(place)
    except (Exception, SystemExit) as error:  # whatever a user's file does when it is read
        absent = isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}.")
        remedy = f"run from the folder that holds {place}" if absent else "mend the file"
        raise InputError(f"{place} cannot be read: {error_line(error)}; {remedy}") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise InputError(f"{place} has no function {attribute!r}; name one that it defines")
    return function


def call_own(function, place, *arguments):
    """What the user's function returns. What it raises gets `place` as a note; an exit is an InputError."""
    try:
        with redirect_stdout(sys.stderr):
            return function(*arguments)
    except SystemExit as exit_:
        raise InputError(f"{place}: that code ended the process (exit {exit_.code}); let it return instead") from None
    except Exception as error:  # any: its own traceback tells its writer most
        error.add_note(f"{place}: raised there")
        raise


def code_hash(function):
    """SHA-256 of the file that defines a function; None for one that no file defines."""
    try:
        source = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:  # a callable object: its class is what was written
        source = inspect.getsourcefile(type(function))
    return source_hash(source) if source and Path(source).is_file() else None


def source_hash(path):
    """SHA-256 of a file of code, its line ends as LF, so that a checkout's setting changes nothing."""
    return sha256(Path(path).read_bytes().replace(b"\r\n", b"\n"))
