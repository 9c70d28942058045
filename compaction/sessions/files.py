"""Find session files, see which tool wrote each, read its lines, and know those that were read before.

The format is seen by content, never by the name of a file. Lines are read as tools leave them: torn, doubled, two on a
line, of any length. Nothing is repaired by guess: what is not whole is counted in the tally with its line.
"""

import hashlib
import json
import os
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from base.command import InputError, too_deep
from compaction.sessions import claude, codex
from compaction.sessions.documents import chat_message, conversations, fold, gemini_message, is_gemini, message_events
from compaction.sessions.log import Tally

# Tools that write JSON lines: modules with is_record(value), line_key(record), Reader(tally).events(records). Others
# write documents, or lines that make one.
LINES = {"Claude Code": claude, "Codex": codex}
SUFFIXES = (".jsonl", ".json", ".ndjson")
PACKED = (".zst", ".gz")  # behind one of those endings: counted, not unpacked
LOOKED_AT = 40  # records that decide a file's format
HEAD = 600  # bytes of a file that tell a format which is no JSON
HEADS = (("aider", b"# aider chat"), ("SpecStory", b"SpecStory"),
         ("Cursor or opencode (a database)", b"SQLite format 3\0"))
DECODER = json.JSONDecoder(parse_constant=str)  # NaN as "NaN": the log is strict JSON
BLANK = re.compile(r"[ \t\r\n]*")


def foreign(value):
    """The tool whose format, not read here, a value looks like, or None: foreign({"composerId": 1}) -> "Cursor"."""
    if not isinstance(value, dict):
        return next(filter(None, map(foreign, value[:LOOKED_AT])), None) if isinstance(value, list) else None
    kind, message, info, messages = str(value.get("type")), *map(value.get, ("message", "info", "messages"))
    first = next((entry for entry in messages if isinstance(entry, dict)), {}) if isinstance(messages, list) else {}
    shapes = (
        ("Qwen Code", isinstance(message, dict) and "parts" in message and "sessionId" in value),
        ("Cursor", "role" in value and isinstance(message, dict) or "composerId" in value or "bubbleId" in value),
        ("opencode", "sessionID" in value or isinstance(info, dict) and ("sessionID" in info or "parts" in first)),
        ("Droid", kind == "session_start" or kind == "message" and "parentId" in value and "uuid" not in value),
        ("pi", kind == "session" and "version" in value and "cwd" in value),
        ("Copilot CLI", kind in ("session.start", "user.message", "assistant.message") or "chatMessages" in value),
        ("Amp", "messageId" in first or str(value.get("id")).startswith("T-")),
        ("OpenHands", "source" in value and bool({"action", "observation", "llm_message"} & value.keys())),
        ("Roo Code or Cline", kind in ("say", "ask") and "ts" in value or "apiConversationHistory" in value
         or "agent" in value and "sessionId" in value and "role" in first
         or value.get("role") == "user" and "<environment_details>" in json.dumps(value.get("content"))),
        ("tau2-bench", isinstance(value.get("simulations"), list)),
        ("a first version of Codex", "record_type" in value or kind in ("function_call", "function_call_output")
         or isinstance(value.get("items"), list) and isinstance(value.get("session"), dict)),
        ("SWE-agent", isinstance(value.get("trajectory"), list) or "trajectory_format" in value),
        ("a checkpoint of Gemini CLI (its session holds the same)",
         "parts" in value and value.get("role") in ("user", "model") or "clientHistory" in value))
    lists = (value[key] for key in ("messages", "history", "trajectory") if isinstance(value.get(key), list))
    return next((name for name, fits in shapes if fits), None) or foreign(next(lists, None))


def inputs(paths):
    """(every file named and every session file below every folder named, each once, {ending: other files there})."""
    files, others = {}, Counter()
    for path in map(Path, paths):
        if not (path.is_dir() or path.is_file()):
            raise InputError(f"{path}: no such file or folder; name a session file or a folder of them")
        for file in sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]:
            ending = (file.with_suffix("") if file.suffix in PACKED else file).suffix
            if file == path or ending in SUFFIXES or head_of(file)[1]:
                files[file.resolve()] = file
            else:
                others[file.suffix or "no ending"] += 1
    if not files:
        there = ", ".join(f"{count} of {ending}" for ending, count in sorted(others.items()))
        raise InputError(f"{', '.join(map(str, paths))}: no session file there ({' '.join(SUFFIXES)}"
                         f"{there and '; there are ' + there}); name another place")
    return list(files.values()), others


def head_of(path):
    """(the first bytes of a file, the tool that they name or None)."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        return b"", f"nothing: it cannot be opened ({error.strerror})"
    return head, next((name for name, mark in HEADS if mark in head), None)


def conversation_ids(paths):
    """{path: id}: the file's stem; where several have it, the path below the folder that all are in, with its ending
    where only that tells them apart."""
    names, common = {}, os.path.commonpath([path.resolve().parent for path in paths])
    for path in paths:
        below = path.resolve().relative_to(common)
        names[path] = [path.stem, below.with_suffix("").as_posix(), below.as_posix()]
    times = list(map(Counter, zip(*names.values())))
    return {path: next(short for short, count in zip(name, times) if count[short] == 1) for path, name in names.items()}


def look(path):
    """What a file is: {"path", "bytes", "format" (None: not read), "like" (the tool that an unread file looks like),
    "session", "lines" (whether they make a document, or the file is one)}."""
    head, like = head_of(path)
    seen = {"path": path, "bytes": path.stat().st_size, "format": None, "session": None, "lines": False,
            "like": "a packed file: unpack it first" if path.suffix in PACKED else like}
    if seen["like"]:
        return seen
    ahead = list(islice(read_records(path, Tally()), LOOKED_AT))
    heads = [value for value in ahead if isinstance(value, dict)]
    fitting = [(name, list(filter(tool.is_record, heads))) for name, tool in LINES.items()]
    name, records = max(fitting, key=lambda entry: len(entry[1]))
    lines = len(ahead) > 1 and not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")  # a list may have one a line
    value = ahead if records or lines else read_document(path)
    like = foreign(value)
    if not records:
        of_gemini = is_gemini(value, lines)
        name = "Gemini CLI" if of_gemini else "OpenAI messages" if like is None and conversations(value) else None
        records = heads if of_gemini and lines else []
    ids = (head.get("sessionId") or head.get("session_id")
           or name == "Codex" and head["type"] == "session_meta" and head["payload"].get("id") for head in records)
    return {**seen, "format": name, "like": like, "session": next((id_ for id_ in ids if isinstance(id_, str)), None),
            "lines": lines}


def read_document(path):
    """The JSON value that a file holds, or None."""
    with suppress(ValueError, RecursionError):
        text = path.read_bytes().decode("utf-8-sig")
        value = json.loads(text, parse_constant=str)
        return None if too_deep(value, text) else value


def read_records(path, tally):
    """Yield the records of a file of JSON lines, `tally.place` being the line that each stands in."""
    with open(path, "rb") as file:
        for tally.place, data in enumerate(file, 1):
            text = data.decode("utf-8", "replace")
            if "\ufffd" in text and "\ufffd".encode() not in data:
                tally.note("bytes that are not UTF-8, read as U+FFFD")
            yield from values_of(text.lstrip("\ufeff") if tally.place == 1 else text, tally)


def values_of(text, tally):
    """The JSON objects and lists on a line: values_of('{} [1]', Tally()) -> [{}, [1]]; the rest of it is counted."""
    values, at = [], BLANK.match(text).end()
    with suppress(ValueError, RecursionError):
        while at < len(text):
            value, end = DECODER.raw_decode(text, at)
            if not isinstance(value, (dict, list)) or too_deep(value, text[at:end]):
                break
            values.append(value)
            at = BLANK.match(text, end).end()
    if len(values) > 1:
        tally.note("several records on one line")
    if at < len(text):
        tally.unread("torn record on a line with others" if values else "torn line")
    return values


def digest(value):
    """A 64-bit digest of a JSON value, whatever the order of its keys, for the sets of what was read."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "big")


def raw_conversations(seen, tally, before, shared):
    """[(end of the id, raw events)] of a looked-at file; None where all of it was read before. `before`: digests of
    the lines and documents of files read earlier; `shared`: one of them may be of the same session."""
    path, name = seen["path"], seen["format"]
    if name in LINES:
        tool, mine = LINES[name], set()
        for _ in once(path, tool, Tally(), mine) if shared else ():  # a session stored again has no line of its own
            pass
        return None if mine and mine <= before else [("", tool.Reader(tally).events(once(path, tool, tally, before)))]
    value = list(read_records(path, tally)) if seen["lines"] else read_document(path)
    if digest(value) in before:
        return None
    before.add(digest(value))
    if name == "Gemini CLI":
        value = fold(value, tally) if seen["lines"] else value
        read = partial(gemini_message, "agent" if value.get("kind") == "subagent" else None)
        return [("", message_events(value["messages"], tally, read))]
    return [(end, message_events(messages, tally, chat_message)) for end, messages in conversations(value)]


def once(path, tool, tally, before):
    """The records of a file without those that repeat a line of it; `tally.copied` tells of one in another file."""
    here, turn = set(), None
    for record in read_records(path, tally):
        if not isinstance(record, dict):
            tally.unread("line that is no object")
            continue
        payload = record.get("payload")
        if isinstance(payload, dict) and isinstance(payload.get("turn_id"), str):
            turn = payload["turn_id"]  # a fork gives thousands of lines one time: equal words in two turns are two
        line_id = tool.line_key(record)
        key = None if line_id is None else digest([line_id, turn])
        if key in here:
            tally.left_out("doubled line")
            continue
        here |= {key} - {None}
        tally.copied = key in before
        yield record
    before |= here
