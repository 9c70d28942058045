"""Find session files, see which tool wrote each, give each a conversation id, and know lines that were read before.

The format is seen by content, never by the name of a file.
"""

import json
from pathlib import Path

from base.command import InputError
from compaction.sessions import claude, codex, copilot, documents, gemini, pi
from compaction.sessions.lines import digest, read_lines
from compaction.sessions.log import SHAPE_ERRORS, Tally

# Tools that write JSON lines. Each module has is_record(value), session_id(record), identity(record) and
# events(records, tally).
FORMATS = {
    "Claude Code": claude,
    "Codex": codex,
    "Copilot CLI": copilot,
    "pi": pi,
}


def fits(value, name):
    """Whether a value can be a record of a format; a shape that the question itself fails on is none."""
    try:
        return isinstance(value, dict) and bool(FORMATS[name].is_record(value))
    except SHAPE_ERRORS:
        return False


def session_of(value, name):
    """The session id in a record, or None."""
    try:
        found = FORMATS[name].session_id(value)
    except SHAPE_ERRORS:
        return None
    return found if isinstance(found, str) else None


SUFFIXES = (".jsonl", ".json", ".traj", ".ndjson")
PACKED = (".zst", ".gz")  # behind one of those endings: counted, not unpacked
LOOKED_AT = 40  # records that decide a file's format


def inputs(paths):
    """Every file named, and every session file below every folder named, each once; a folder's in order of name."""
    found = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.is_file() and session_file(p))
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file or folder; name a session file or a folder of them")
    if not found:
        raise InputError(
            f"{', '.join(map(str, paths))}: no session file there ({' '.join(SUFFIXES)}); name another place")
    return list({path.resolve(): path for path in found}.values())


def session_file(path):
    """Whether a file's name says that it may be a session, packed or not."""
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix in SUFFIXES


def conversation_ids(paths):
    """{path: id}: the file's stem, with as many of its folders before it as tell it from the others of this import."""
    ids = {path: path.stem for path in paths}
    parents = {path: path.resolve().parent.parts[1:] for path in paths}
    for depth in range(1, 1 + max(map(len, parents.values()))):
        seen, shared = set(), set()
        for value in ids.values():
            (shared if value in seen else seen).add(value)
        if not shared:
            return ids
        ids = {p: "/".join((*parents[p][-depth:], p.stem)) if value in shared else value for p, value in ids.items()}
    return {path: str(path) for path in paths} if len(set(ids.values())) < len(ids) else ids  # a.json beside a.jsonl


def look(path):
    """What a file is: {"path", "format", "session", "bytes", "document"}; format None when it is not known."""
    if path.suffix in PACKED:
        size = path.stat().st_size
        return {"path": path, "format": None, "session": None, "bytes": size, "document": None, "packed": True}
    names, session, ahead = {}, None, []
    for _, value in read_lines(path, Tally(), lambda value: True):
        ahead.append(value)
        name = next((name for name in FORMATS if fits(value, name)), None)
        if name:
            names[name] = names.get(name, 0) + 1
            session = session or session_of(value, name)
        if len(ahead) == LOOKED_AT:
            break
    found = {"path": path, "format": None, "session": session, "bytes": path.stat().st_size, "document": None}
    if names:
        return {**found, "format": max(sorted(names), key=names.get)}
    if len(ahead) > 1 and not begins_as_list(path):
        found["document"] = "lines"
        if any(isinstance(v, dict) and ("projectHash" in v or v.get("type") == "gemini") for v in ahead):
            header = next((v for v in ahead if isinstance(v, dict) and isinstance(v.get("sessionId"), str)), {})
            return {**found, "format": "Gemini CLI", "session": header.get("sessionId")}
        if documents.document_format(ahead) == "OpenAI messages":
            return {**found, "format": "OpenAI messages"}
    value = read_document(path)
    name = documents.document_format(value)
    return {**found, "format": name, "session": documents.document_id(value), "document": name and "whole"}


def begins_as_list(path):
    """Whether a file begins like one JSON list: its entries may stand one a line, and are no lines of their own."""
    with open(path, "rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read_document(path):
    """The JSON value that a whole file is, or None."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=str)
    except (ValueError, RecursionError):
        return None


def raw_conversations(seen, tally, before):
    """[(end of the id, raw events)] of a looked-at file. `before` holds digests of lines of files read earlier."""
    path, name = seen["path"], seen["format"]
    if seen["document"] == "whole":
        value = read_document(path)
        before.add(digest(value))
        return documents.conversations(value, name)
    if seen["document"] == "lines":
        records = list(read_lines(path, tally, lambda value: True))
        value = gemini.fold(records, tally) if name == "Gemini CLI" else [v for _, v in records]
        return documents.conversations(value, name)
    tool = FORMATS[name]
    records = read_lines(path, tally, lambda value: fits(value, name))
    return [("", lambda tally: tool.events(once(records, tool.identity, tally, before), tally))]


def once(records, identity, tally, before):
    """The records without those that repeat a line of the same file; `tally.copied` tells of one in another file."""
    here, turn = set(), None
    for place, record in records:
        if not isinstance(record, dict):
            tally.unread("line that is no object")
            continue
        payload = record.get("payload")
        if isinstance(payload, dict) and isinstance(payload.get("turn_id"), str):
            turn = payload[
                "turn_id"
            ]  # a fork gives thousands of lines one time: equal words in two turns are two turns
        try:
            line_id = identity(record)
        except SHAPE_ERRORS:
            line_id = None
        if line_id is None:
            tally.copied = False
        else:
            key = digest([line_id, turn])
            if key in here:
                tally.left_out("doubled line", place)
                continue
            here.add(key)
            tally.copied = key in before
        yield place, record
    before |= here


def stored_before(seen, before):
    """Whether all of a file stands in ones read before: the same session, stored again."""
    if seen["document"] == "whole":
        return digest(read_document(seen["path"])) in before
    if seen["document"] == "lines":
        return False
    identity, mine, quiet = FORMATS[seen["format"]].identity, set(), Tally()
    for _ in once(read_lines(seen["path"], quiet, lambda value: fits(value, seen["format"])), identity, quiet, mine):
        pass
    return bool(mine) and mine <= before
