"""Small sessions for tests, in the shape that each tool writes: doubles, nothing of a recorded session stands in them.

A record of a session can be written short; ids and times are counted up where none is given:
Claude Code  {"user": content}, {"assistant": [message id, text or block, …]}, {"result": [call id, content]},
             {"line": type, …}; each with further fields, "usage" being the message's
Codex        {"item": [role, words]}, {"typed": words}, {"call": [id, name, arguments]}, {"output": [id, content]},
             {"response": payload}, {"event": payload}, {"meta": payload}
"""

import tempfile
from pathlib import Path

from base.tests.made import as_bytes
from compaction.sessions.__main__ import import_files, summarize, with_contexts
from compaction.sessions.files import conversation_ids, inputs, look


def session(*short):
    """The records of a session written short."""
    return [record(line, number) for number, line in enumerate(short, 1)]


def record(line, number):
    """One record written out; what has no short form stays as it is."""
    at = {"timestamp": f"2026-02-03T10:00:{number:02d}.000Z"}
    ids = {"uuid": f"s-1-{number}", "sessionId": "s-1", "isSidechain": False, **at}
    match line:
        case {"user": content, **rest}:
            return {"type": "user", **ids, "message": {"role": "user", "content": content}, **rest}
        case {"result": [call_id, content], **rest}:
            result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
            return record({"user": [result], **rest}, number)
        case {"assistant": [key, *parts], **rest}:
            blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
            usage = {"usage": rest.pop("usage")} if "usage" in rest else {}
            return {"type": "assistant", **ids, "message": {"id": key, "role": "assistant", "content": blocks, **usage},
                    **rest}
        case {"line": kind, **rest}:
            return {"type": kind, **ids, **rest}
        case {"item": [role, words], **rest}:
            content = [{"type": "output_text" if role == "assistant" else "input_text", "text": words}]
            return record({"response": {"type": "message", "role": role, "content": content}, **rest}, number)
        case {"typed": words, **rest}:
            return record({"event": {"type": "user_message", "message": words, "images": []}, **rest}, number)
        case {"call": [call_id, name, arguments], **rest}:
            call = {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
            return record({"response": call, **rest}, number)
        case {"output": [call_id, output], **rest}:
            return record({"response": {"type": "function_call_output", "call_id": call_id, "output": output}, **rest},
                          number)
    for short, kind in (("response", "response_item"), ("event", "event_msg"), ("meta", "session_meta")):
        if isinstance(line, dict) and short in line:
            return {"type": kind, **at, **{key: value for key, value in line.items() if key != short},
                    "payload": line[short]}
    return line


def imported(files, in_folder=False):
    """(events, contexts, summary) of files {name: text, bytes, a list of records for JSON lines, else a document}.

    in_folder: the folder is named and not each file.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = isinstance(content, list) and not name.endswith(".json")
            path.write_bytes(as_bytes(".jsonl", session(*content)) if lines else as_bytes(name, content))
        paths, others = inputs([folder] if in_folder else [Path(folder) / name for name in files])
        rows, contexts = [], []
        events = import_files([look(path) for path in paths], conversation_ids(paths), rows)
        events = list(with_contexts(events, contexts))
    return events, contexts, summarize(rows, others)
