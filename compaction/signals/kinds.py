"""What a tool call does, as far as its name and arguments tell: files it names, whether it writes or polls.

A call that no pattern knows is taken to read.
"""

import re

WRITER = re.compile(r"^(?!todo|task|memory).*(?:write|edit|patch|replace|insert|create|delete|move|rename)|^sql$|"
                    r"^applypatch$")
# What an editor tool is told to do, under the name that other tools have for a shell command.
READING = ("view", "read", "open", "undo_edit_preview")
EDITING = ("create", "str_replace", "insert", "undo_edit", "edit", "write", "append", "delete", "rename")
POLL = re.compile(r"wait|sleep|status|^bashoutput$|^killshell$|^todoread$|^task(?:get|list|output)$|"
                  r"^(?:list|read|get)_(?:agents?|bash|shells?|output)$")
POLLED = re.compile(r"(?:session|task|bash|shell|process|agent|job|run|build|terminal|command|exec)_?-?ids?$|^(?:pid|"
                    r"targets)$")
WAIT = re.compile(r"wait|timeout|yield|block|interval|poll|max_output|filter|tail|limit|offset|lines")
POLL_COMMAND = re.compile(
    r"(?:^|(?:[;&(\n]|\|\|)\s*)(?:[A-Z_]+=\S+\s+)*(?:sudo\s+)?(?:git\s+(?:-C\s+\S+\s+|--no-pager\s+)*(?:status|log|"
    r"diff|branch|rev-parse|stash\s+list|remote|fetch)\b|(?:sleep|ps|pgrep|jobs|top|date|uptime|pwd|tail|lsof|watch|"
    r"curl|ping|squeue|nvidia-smi)\b|gh\s+(?:run|pr|api|workflow)\b|docker\s+(?:ps|logs|inspect)\b|nc\s+-z\b|"
    r"kubectl\s+(?:get|describe|logs|rollout)\b|systemctl\s+status\b)")
WRITE_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:sed\s+(?:-\w+\s+)*-i|perl\s+-\w*i|(?:tee|mv|cp|rm|mkdir|touch|ln|chmod|patch|apply_patch|"
    r"truncate|dd|unzip|install|rsync|black)\b|tar\s+-?\w*x|git\s+(?:-C\s+\S+\s+)*(?:checkout|switch|reset|"
    r"stash(?!\s+list)|merge|rebase|pull|apply|am|commit|restore|cherry-pick|revert|add|rm|mv|clean)\b|(?:npm|pnpm|"
    r"yarn|pip3?|cargo|go|brew|apt(?:-get)?|uv|poetry)\s+(?:install|add|remove|update|ci|get|fmt|mod|generate|i)\b|"
    r"prettier\s.*--write|gofmt\s+(?:-\w+\s+)*-\w*w|ruff\s+format)|(?<![0-9&<=>-])>>?\s*(?!/dev/null|&)[\w./~$\"'{-]|"
    r"\*\*\* Begin Patch")
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
    if not isinstance(arguments, dict) or arguments.get("command") in READING + EDITING:
        return ""
    for value in map(arguments.get, COMMAND_KEYS):
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return " ".join(value)
    return ""


def targets(arguments, in_command=False):
    """The files that a call names in its path arguments or a patch, and every word of its command that may be one."""
    given = arguments if isinstance(arguments, dict) else {"patch": arguments}
    values = [item for value in map(given.get, PATH_KEYS) for item in (value if isinstance(value, list) else [value])]
    paths = [item.get("path") if isinstance(item, dict) else item for item in values]
    patches = [given[key] for key in ("patch", "input", "diff") if isinstance(given.get(key), str)]
    return ([path for path in paths if isinstance(path, str) and path]
            + [path.strip() for patch in patches for path in PATCHED.findall(patch)]
            + (PATH_WORD.findall(command_of(arguments)[:COMMAND_READ]) if in_command else []))


def is_write(name, arguments):
    """Whether a call may change files: an editing tool, a patch, or a command with a word or sign that writes."""
    told = arguments.get("command") if isinstance(arguments, dict) else None
    if told in READING:
        return False
    return (told in EDITING and bool(targets(arguments)) or bool(WRITER.search(str(name).lower().rsplit(".", 1)[-1]))
            or bool(WRITE_COMMAND.search(command_of(arguments))))


def is_poll(name, arguments):
    """Whether a call asks how something stands, which it may do again and again: a wait, a status, a log's end.

    Known by name, by command, or by shape: arguments that say nothing but which session or task, and how long to wait.
    """
    if POLL.search(str(name).lower().rsplit(".", 1)[-1]) or POLL_COMMAND.search(command_of(arguments)):
        return True
    given = arguments.items() if isinstance(arguments, dict) else ()
    told = {key.lower() for key, value in given if value not in ("", None)}
    return any(map(POLLED.search, told)) and all(POLLED.search(key) or WAIT.search(key) for key in told)


def same_file(shorter, longer):
    """Whether two paths can be one file: equal, one the end of the other (absolute and relative), or a folder of it."""
    shorter, longer = sorted((path.removeprefix("./").rstrip("/") for path in (shorter, longer)), key=len)
    return shorter == longer or longer.endswith("/" + shorter) or longer.startswith(shorter + "/")
