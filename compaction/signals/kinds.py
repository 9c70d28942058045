"""What a tool call does, as far as its name and arguments tell: files it names, whether it writes or polls.

The names and commands are those of the tools
whose sessions sessions/__main__.py reads; a call that is in no list is taken to read.
"""

import re

WRITERS = set(
    "apply_patch applypatch create create_file delete_file edit edit_file editor insert insert_edit_into_file "
    "move_file multiedit notebookedit replace replace_in_file sql str_replace str_replace_based_edit_tool "
    "str_replace_editor write write_file write_to_file".split())
# What an editor tool is told to do, under the name that other tools have for a shell command.
READING_COMMANDS = ("view", "read", "open", "undo_edit_preview")
EDITING_COMMANDS = ("create", "str_replace", "insert", "undo_edit", "edit", "write", "append", "delete", "rename")
POLLS = set("bashoutput check_status get_output killshell list_agents list_bash list_shells read_agent read_bash sleep "
            "status taskget tasklist taskoutput todoread wait wait_agent".split())
POLLED = re.compile(r"(?:session|task|bash|shell|process|agent|job|run|build|terminal|command|exec)_?-?ids?$|^(?:pid|targets)$")
WAIT = re.compile(r"wait|timeout|yield|block|interval|poll|max_output|filter|tail|limit|offset|lines")
POLL_COMMAND = re.compile(
    r"(?:^|(?:[;&(\n]|\|\|)\s*)(?:[A-Z_]+=\S+\s+)*(?:sudo\s+)?(?:git\s+(?:-C\s+\S+\s+|--no-pager\s+)*(?:status|"
    r"log|diff|branch|rev-parse|stash\s+list|"
    r"remote|fetch)\b|sleep\b|ps\b|pgrep\b|jobs\b|top\b|date\b|uptime\b|pwd\b|tail\b|lsof\b|watch\b|"
    r"gh\s+(?:run|pr|api|workflow)\b|docker\s+(?:ps|logs|inspect)\b|kubectl\s+(?:get|describe|logs|rollout)\b|"
    r"systemctl\s+status\b|curl\b|ping\b|nc\s+-z\b|squeue\b|nvidia-smi\b)")
WRITE_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:sed\s+(?:-\w+\s+)*-i|perl\s+-\w*i|tee\b|mv\b|cp\b|rm\b|mkdir\b|touch\b|ln\b|chmod\b|"
    r"patch\b|apply_patch\b|"
    r"truncate\b|dd\b|unzip\b|tar\s+-?\w*x|install\b|rsync\b|"
    r"git\s+(?:-C\s+\S+\s+)*(?:checkout|switch|reset|stash(?!\s+list)|merge|rebase|pull|apply|am|commit|restore|"
    r"cherry-pick|revert|add|rm|mv|clean)\b|"
    r"(?:npm|pnpm|yarn|pip3?|cargo|go|brew|apt(?:-get)?|uv|poetry)\s+(?:install|add|remove|update|ci|get|fmt|"
    r"mod|generate|i)\b|"
    r"prettier\s.*--write|gofmt\s+(?:-\w+\s+)*-\w*w|black\b|ruff\s+format)|(?<![0-9&<=>-])>>?\s*(?!/dev/null|"
    r"&)[\w./~$\"'{-]")
PATH_WORD = re.compile(r"[\w.~-]*/[\w./~-]*\w|[\w~-][\w.~-]*\.\w+|(?:(?<=>)|(?<=>\s))[\w.-]+")
COMMAND_READ = 2000  # characters of a command that are searched for files; more is what it writes into them
PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ b/|--- a/)(.+)$", re.MULTILINE)
PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file", "target_file", "relative_path", "paths", "files",
             "absolute_path")
COMMAND_KEYS = ("command", "cmd", "commands", "script", "code", "input")


def command_of(arguments):
    """The shell command or program that a call runs, "" when it runs none."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict) and arguments.get("command") in READING_COMMANDS + EDITING_COMMANDS:
        return ""
    for key in COMMAND_KEYS if isinstance(arguments, dict) else ():
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return " ".join(value)
    return ""


def targets(arguments):
    """The files that a call names: its path arguments, or the files of a patch."""
    if isinstance(arguments, str):
        return [path.strip() for path in PATCHED.findall(arguments)]
    found = []
    for key in PATH_KEYS if isinstance(arguments, dict) else ():
        value = arguments.get(key)
        for item in value if isinstance(value, list) else [value]:
            item = item.get("path") if isinstance(item, dict) else item
            if isinstance(item, str) and item:
                found.append(item)
    if isinstance(arguments, dict):
        for key in ("patch", "input", "diff"):
            if isinstance(arguments.get(key), str):
                found += [path.strip() for path in PATCHED.findall(arguments[key])]
    return found


def written(arguments):
    """The files that a call may have written: those it names, and every word of its command that may be one."""
    return targets(arguments) + PATH_WORD.findall(command_of(arguments)[:COMMAND_READ])


def is_write(name, arguments):
    """Whether a call may change files: an editing tool, a patch, or a command with a word or sign that writes."""
    if isinstance(arguments, dict) and arguments.get("command") in READING_COMMANDS:
        return False
    if isinstance(arguments, dict) and arguments.get("command") in EDITING_COMMANDS and targets(arguments):
        return True
    command = command_of(arguments)
    return (str(name).lower().rsplit(".", 1)[-1] in WRITERS
            or "*** Begin Patch" in command
            or bool(WRITE_COMMAND.search(command)))


def is_poll(name, arguments):
    """Whether a call asks how something stands, which it may do again and again: a wait, a status, a log's end.

    Known by name, by command, or by shape: arguments that say nothing but which session or task, and how long to wait.
    """
    if str(name).lower().rsplit(".", 1)[-1] in POLLS or POLL_COMMAND.search(command_of(arguments)):
        return True
    if not isinstance(arguments, dict):
        return False
    told = {key.lower() for key, value in arguments.items() if value not in ("", None)}  # Codex reads on with chars ""
    return any(map(POLLED.search, told)) and all(POLLED.search(key) or WAIT.search(key) for key in told)


def same_file(one, other):
    """Whether two paths can be one file: equal, or one the end of the other (absolute and relative), or a
    folder of it."""
    one, other = one.removeprefix("./").rstrip("/"), other.removeprefix("./").rstrip("/")
    return (one == other
            or one.endswith("/" + other)
            or other.endswith("/" + one)
            or one.startswith(other + "/")
            or other.startswith(one + "/"))


def kind_of(hit):
    """`idle`: the result was known to be unchanged, nothing it reads was written in between, and it is no poll."""
    if hit["poll"]:
        return "poll"
    if hit["target_written_between"]:
        return "written between"
    return {"unchanged": "idle", "changed": "result changed", "unknown": "result unknown"}[hit["result"]]
