"""What every room builds on. Imported before all else: Ctrl-C while a command still imports is one line and 130 too."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def started():
    """The path of what Python was started with, or of the room whose package a `-m` is about to run."""
    if sys.argv[:1] == ["-m"]:
        room = sys.orig_argv[sys.orig_argv.index("-m") + 1].partition(".")[0] if "-m" in sys.orig_argv else ""
        return os.path.join(ROOT, room) if room and os.path.isdir(os.path.join(ROOT, room)) else ""
    return getattr(sys.modules["__main__"], "__file__", None) or ""


def stopped_early(kind, error, place):
    """The hook for what ends a command before run_command begins."""
    if issubclass(kind, KeyboardInterrupt):
        print(f"{os.path.basename(started())}: stopped", file=sys.stderr, flush=True)
        os._exit(130)
    sys.__excepthook__(kind, error, place)


if os.path.abspath(started() or "/").startswith(ROOT + os.sep):
    sys.excepthook = stopped_early
