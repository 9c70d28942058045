"""Tool calls that are made again after a compaction, each with its evidence and kind, and the same count elsewhere.

Arguments are compared as JSON values: the order of keys and 1 or 1.0 make no difference, "1", 1 and true do. A call
that no pattern knows is taken to read.

repeat   a call that equals an earlier one of its conversation
hit      a repeat within the window after a compaction
control  calls at turns with no compaction within the window before or behind them, the first window left out: little
         has been called there that could be repeated
"""

import hashlib
import json
import re
from collections import Counter
from contextlib import suppress

from base.shown import one_line

SHOWN = 160  # characters of a call's arguments in its evidence
# What a result tells of the moment and not of the answer, with what stays: equal answers must be found equal. Each
# begins with fixed text where it can, since one pattern of all of them is four times as slow on long results.
MOMENT = [(re.compile(pattern, re.MULTILINE), stays) for pattern, stays in (
    (r"Chunk ID: (?<=^Chunk ID: )\S+$\n?", ""), (r"Wall time: (?<=^Wall time: ).*$\n?", ""),
    (r"Original token count: (?<=^Original token count: )\d+$\n?", ""), (r"\t[\d.]+s$", "\t"),
    (r"^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\]?\s*$\n?", ""), (r"\"duration_seconds\":\s*[\d.]+,?", ""),
    (r"in (?<=\bin )[\d.]+ ?m?s\b", ""), (r"\([\d.]+ ?m?s\)|\(cached\)", ""))]
ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode
FLOAT = re.compile(r"\.0|e\+")  # stands in the text of every whole float
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
    """The shell command or program that a call runs, or "": command_of({"cmd": ["ls", "-l"]}) -> "ls -l"."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict) or arguments.get("command") in READING + EDITING:
        return ""
    values = (" ".join(value) if isinstance(value, list) and value and all(isinstance(word, str) for word in value)
              else value for value in map(arguments.get, COMMAND_KEYS))
    return next((value for value in values if isinstance(value, str)), "")


def targets(arguments, in_command=False):
    """The files in path arguments, a patch and, where asked, a command: targets({"path": "a"}) -> ["a"]."""
    given = arguments if isinstance(arguments, dict) else {"patch": arguments}
    values = [item for value in map(given.get, PATH_KEYS) for item in (value if isinstance(value, list) else [value])]
    paths = [item.get("path") if isinstance(item, dict) else item for item in values]
    patches = [given[key] for key in ("patch", "input", "diff") if isinstance(given.get(key), str)]
    return ([path for path in paths if isinstance(path, str) and path]
            + [path.strip() for patch in patches for path in PATCHED.findall(patch)]
            + (PATH_WORD.findall(command_of(arguments)[:COMMAND_READ]) if in_command else []))


def is_write(name, arguments):
    """Whether a call may change files, as an editing tool, a patch or a command: is_write("sh", "rm a") -> True."""
    told = arguments.get("command") if isinstance(arguments, dict) else None
    editing = told in EDITING and targets(arguments) or WRITER.search(str(name).lower().rsplit(".", 1)[-1])
    return told not in READING and bool(editing or WRITE_COMMAND.search(command_of(arguments)))


def is_poll(name, arguments):
    """Whether a call asks how something stands, which it may do again and again: by its name, its command, or
    arguments that say nothing but which session or task, and how long to wait."""
    if POLL.search(str(name).lower().rsplit(".", 1)[-1]) or POLL_COMMAND.search(command_of(arguments)):
        return True
    given = arguments.items() if isinstance(arguments, dict) else ()
    told = {key.lower() for key, value in given if value not in ("", None)}
    return any(map(POLLED.search, told)) and all(POLLED.search(key) or WAIT.search(key) for key in told)


def same_file(shorter, longer):
    """Whether two paths can be one file, or one a folder of the other: same_file("./a.py", "/x/a.py") -> True."""
    shorter, longer = sorted((path.removeprefix("./").rstrip("/") for path in (shorter, longer)), key=len)
    return shorter == longer or longer.endswith("/" + shorter) or longer.startswith(shorter + "/")


def digest(text):
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def call_digest(name, arguments):
    """Twelve bytes, equal for calls of one tool with equal arguments: those of `f` for {"a": 1.0} and '{"a": 1}'. None
    for what nests too deep to write."""
    with suppress(ValueError, RecursionError):
        if isinstance(arguments, str) and arguments[:1] in ("{", "["):  # recorded by the tool as JSON inside a string
            arguments = json.loads(arguments)
    with suppress(RecursionError):
        text = ENCODE(arguments)
        if FLOAT.search(text):
            text = ENCODE(json.loads(text, parse_float=lambda number: (
                int(float(number)) if float(number).is_integer() else float(number))))
        return digest(f"{name}\0{text}")


def result_digest(content):
    """Twelve bytes for a result, its times and ids of the moment left out."""
    for pattern, stays in MOMENT:
        content = pattern.sub(stays, content)
    return digest(content.strip())


class Calls:
    """The calls of one conversation: what was called and written, and the repeats within `turns` after a compaction."""

    def __init__(self, turns):
        self.turns = turns
        self.counts = {}  # (user turn, whether a compaction lies within the window before it): Counter
        self.known = {}  # digest: the last such call: its number, that of the first, place, result, hit, habit
        self.written, self.written_anything = {}, -1  # path: number of the last call that wrote it
        self.number = 0
        self.open = {}  # call_id: a call whose result has not come
        self.hits = []
        self.compactions = []  # {"turn", "copied", "opaque", "calls": number of calls before}

    def compaction(self, event):
        self.compactions.append({"turn": event["turn"], "copied": event.get("copied"), "opaque": event.get("opaque"),
                                 "calls": self.number})

    def distance(self, turn):
        """(user turns since the last compaction, None before the first; whether they are at most `turns`)."""
        after = turn - self.compactions[-1]["turn"] if self.compactions else None
        return after, after is not None and after <= self.turns

    def shares(self):
        """{"after", "control": Counter of "repeats" and "calls"} of the conversation."""
        shares, begin = {"after": Counter(), "control": Counter()}, min(self.counts, default=(0,))[0] + self.turns
        for (turn, near), counts in self.counts.items():
            if near or turn >= begin and all(abs(turn - made["turn"]) > self.turns for made in self.compactions):
                shares["after" if near else "control"].update(counts)
        return shares

    def tool_call(self, event):
        name, arguments, turn = event.get("name"), event.get("arguments"), event["turn"]
        key = call_digest(name, arguments) or f"too deep {self.number}"
        earlier, (after, near) = self.known.get(key, {}), self.distance(turn)
        call = {"first": self.number, "habit": False, **earlier, "number": self.number, "hit": None, "result": None,
                "before": earlier.get("result"), "at": {"turn": turn, "reply": event["reply"]}}
        if not event.get("copied"):  # it is counted in the conversation that it was copied from
            self.counts.setdefault((turn, near), Counter()).update(repeats=int(earlier != {}), calls=1)
            call["hit"] = self.hit(event, earlier, after) if earlier and near else None
        if is_write(name, arguments):
            self.written_anything = self.number
            self.written.update(dict.fromkeys(targets(arguments, in_command=True), self.number))
        self.known[key] = call
        if event.get("call_id") is not None:
            self.open[event["call_id"]] = call
        self.number += 1

    def hit(self, event, earlier, after):
        name, arguments, since = event.get("name"), event.get("arguments"), earlier["number"]
        files, wrote = targets(arguments), self.written_anything > since  # a command reads what it likes
        if files and not command_of(arguments):
            wrote = any(at > since and same_file(path, file) for path, at in self.written.items() for file in files)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        hit = {"name": name, "arguments": one_line(text, SHOWN), "turn": event["turn"], "reply": event["reply"],
               "earlier": earlier["at"], "compaction": len(self.compactions),
               "made_before_compaction": earlier["first"] < self.compactions[-1]["calls"],
               "turns_after": after, "result": "unknown", "target_written_between": wrote,
               "poll": is_poll(name, arguments) or earlier["habit"]}
        self.hits.append(hit)
        return hit

    def tool_result(self, event):
        call = self.open.pop(event.get("call_id"), None)
        if call is None:
            return
        call["result"] = result_digest(event.get("content") or "")
        same = call["before"] == call["result"]
        if call["hit"] and call["before"]:
            call["hit"]["result"] = "unchanged" if same else "changed"
        # Repeated with an unchanged result where no compaction is near: the agent polls with it.
        call["habit"] = call["habit"] or same and not self.distance(event["turn"])[1]

    def end(self):
        """The hits with their kind; `idle`: an unchanged result, nothing that it reads written between, no poll."""
        for hit in self.hits:
            result = "idle" if hit["result"] == "unchanged" else f"result {hit['result']}"
            hit["kind"] = "poll" if hit["poll"] else "written between" if hit["target_written_between"] else result
        return self.hits
