"""Read recorded sessions: conversations from an event log or from a JSON file.

Run:  not a script; annotate.py and rank_sessions.py use it. import_sessions.py writes the log.
Does not judge or rank anything.
"""

from command import InputError, read_json
from compaction.conversation import turn_problem
from compaction.session_fixtures import History
from compaction.signal_log import read_events


def read_log(path):
    """The events of a log, one at a time; InputError names a line that is none."""
    try:
        with open(path, "rb") as file:
            yield from read_events(file, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None


def read_conversation(path, name=None):
    """{"conversation_id", "history", "compactions"} from a JSON file or from one conversation (`name`) of a log."""
    if path.suffix == ".jsonl":
        return from_events(path, name)
    value = read_json(path)
    name = value.get("conversation_id") if isinstance(value, dict) else None
    if not name or not isinstance(name, str) or not isinstance(value.get("history"), list):
        raise InputError(f"{path}: is no conversation; give conversation_id and history, or an event log (.jsonl)")
    compactions = value.get("compactions_expected", 0)
    if type(compactions) is not int or compactions < 0:
        raise InputError(f"{path}: compactions_expected is {compactions!r}; give a whole number")
    return checked(name, value["history"], compactions, path)


def checked(name, history, compactions, path):
    """The conversation, or InputError for a turn that no fixture could hold or where there is none."""
    calls = set()
    for number, turn in enumerate(history, 1):
        problem = turn_problem(turn, calls)
        if problem:
            raise InputError(f"{path}: turn {number}: {problem}; correct it")
    if not history:
        raise InputError(f"{path}: {name} has no user turn; choose another conversation")
    return {"conversation_id": name, "history": history, "compactions": compactions}


def from_events(path, name):
    """One conversation of a log as turns; InputError where the log has several and none is named."""
    histories = {}
    for event in read_log(path):
        history = histories.setdefault(event["conversation_id"], History())
        if name in (None, event["conversation_id"]):
            history.take(event)
    names = list(histories)
    if name not in histories and (name is not None or len(names) != 1):
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        what = "several conversations" if name is None else f"no conversation {name!r}"
        raise InputError(f"{path}: holds {what} (there: {shown or 'none'}); name one of them with --conversation")
    history = histories[name or names[0]]
    return checked(name or names[0], history.finished(), history.compactions, path)
