"""Small sessions for tests, in the shape that each tool writes: doubles, nothing of a recorded session stands in them.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from base.command import status_of
from compaction.sessions.__main__ import import_files, summarize, with_contexts
from compaction.sessions.files import conversation_ids, inputs, look


def imported(files, in_folder=False):
    """(events, contexts, summary) of files given as {name: text, bytes, or a list of records for JSON lines}.

    in_folder: the folder is named and not each file.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, list):
                content = "".join(json.dumps(record) + "\n" for record in content)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        paths, others = inputs([folder] if in_folder else [Path(folder) / name for name in files])
        rows, contexts = [], []
        events = import_files([look(path) for path in paths], conversation_ids(paths), rows)
        events = list(with_contexts(events, contexts))
    return events, contexts, summarize(rows, others)


def run(main, *arguments):
    """(status, standard output, standard error) of a command."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = status_of(main, [str(one) for one in arguments])
        out.flush()
    return status, out.buffer.getvalue().decode("utf-8"), err.getvalue()


def unread(summary):
    """What could not be read of records; made files often hold one side of a conversation alone, which is left out."""
    return {kind: count for kind, count in summary["unread"].items() if " side alone" not in kind
            and "yields no event" not in kind}


def told(events):
    """Events as short tuples: (turn, reply, kind, content or name)."""
    return [(e["turn"], e["reply"], e["kind"], e.get("content", e.get("name"))) for e in events]


def turns(events):
    return [e["content"] for e in events if e["kind"] == "user"]


class Claude:
    """Lines of a Claude Code session, their ids and times counted up."""

    def __init__(self, session="s-1"):
        self.session, self.n = session, 0

    def line(self, kind, **fields):
        self.n += 1
        return {"type": kind, "uuid": f"{self.session}-{self.n}", "sessionId": self.session, "isSidechain": False,
                "timestamp": f"2026-02-03T10:00:{self.n:02d}.000Z", **fields}

    def user(self, content, **fields):
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, message_id, *blocks, usage=None, **fields):
        message = {"id": message_id, "role": "assistant", "content": list(blocks),
                   **({"usage": usage} if usage else {})}
        return self.line("assistant", message=message, **fields)

    def result(self, call_id, content, **fields):
        return self.user([{"type": "tool_result", "tool_use_id": call_id, "content": content}], **fields)


def text(words):
    return {"type": "text", "text": words}


def use(call_id, name="Bash", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


class Codex:
    """Lines of a Codex rollout file."""

    def __init__(self):
        self.n = 0

    def line(self, kind, payload, timestamp=None):
        self.n += 1
        return {"timestamp": timestamp or f"2026-02-03T10:00:{self.n:02d}.000Z", "type": kind, "payload": payload}

    def meta(self, own_id, **fields):
        return self.line("session_meta", {"id": own_id, "cwd": "/src", "cli_version": "0.1", **fields})

    def started(self, turn_id):
        return self.line("event_msg", {"type": "task_started", "turn_id": turn_id})

    def typed(self, words):
        return [self.item("user", words),
                self.line("event_msg", {"type": "user_message", "message": words, "images": []})]

    def item(self, role, words):
        kind = "output_text" if role == "assistant" else "input_text"
        return self.line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": words}]})

    def call(self, call_id, name, arguments):
        return self.line(
            "response_item", {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id})

    def output(self, call_id, output):
        return self.line("response_item", {"type": "function_call_output", "call_id": call_id, "output": output})
