"""Events of Gemini CLI: sessions (one document, or JSON lines that rewrite a message by its id) and checkpoints.

A checkpoint holds the context as the model gets it: roles user
and model, with parts. Without the id that a session gives each call, a result joins the oldest open call of its name.
Places in the tally are numbers of messages, from 1.
"""

import re

from compaction.sessions.codex import arguments
from compaction.sessions.log import compaction, each, event, own_words, text_of, whole

FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
SHELL = re.compile(r"\s*I ran the following shell command:\n```sh\n(.*?)\n```", re.DOTALL)
SNAPSHOT = re.compile(r"\s*<(?:state_snapshot|compressed_chat_history)>")  # how a summary begins


def is_session(value):
    """Whether a document (an object) is a session or checkpoint of this tool."""
    messages = value.get("messages")
    if isinstance(messages, list) and (
        "projectHash" in value or any(isinstance(m, dict) and m.get("type") == "gemini" for m in messages)
    ):
        return True
    return is_contents(value.get("clientHistory")) or is_contents(value.get("history"))


def is_contents(value):
    """Whether a value is a list of messages with parts."""
    first = next((v for v in value if isinstance(v, dict)), {}) if isinstance(value, list) else {}
    return first.get("role") in ("user", "model") and isinstance(first.get("parts"), list)


def events(value, tally):
    """Raw events of a session (folded, where it was JSON lines) or of a checkpoint."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        by_agent = value.get("kind") == "subagent"
        for message in each(value["messages"], tally):
            yield from whole(lambda message=message: session_message(message, by_agent, tally), tally)
        return
    contents = value
    if isinstance(value, dict):
        contents = value["clientHistory"] if is_contents(value.get("clientHistory")) else value["history"]
    calls = Calls()
    for message in each(contents, tally):
        yield from whole(lambda message=message: content_message(message, calls, tally), tally)


def fold(records, tally):
    """One document of a session in JSON lines: a line with the id of an earlier message replaces it."""
    messages, head = {}, {}
    for _, record in records:
        if not isinstance(record, dict):
            tally.unread("line that is no object")
            continue
        patch = record["$set"] if isinstance(record.get("$set"), dict) else record
        if "$rewindTo" in record:
            tally.note("turns that the user took back (still in the log)")
            messages[f"back at {len(messages)}"] = {"type": "taken back"}
        elif isinstance(patch.get("messages"), list):
            if messages and patch["messages"]:
                tally.note("context that the tool replaced (messages so far stay in the log)")
            for message in patch["messages"]:
                if isinstance(message, dict):
                    messages[str(message.get("id", f"at {len(messages)}"))] = message
                else:
                    tally.unread("message that is no object")
        elif record.get("type") and "id" in record:
            messages[str(record["id"])] = record
        elif "sessionId" in record or "$set" in record:
            tally.left_out("header line")
            head.update(patch)
        else:
            tally.unread("line of unknown shape")
    return {**head, "messages": list(messages.values())}


def session_message(message, by_agent, tally):
    kind, time = message.get("type"), message.get("timestamp")
    if kind == "user":
        shown = message.get("displayContent") or message.get("content")  # shown: as typed, without what was added
        yield from said(text_of(shown, tally), time, by_agent, tally)
    elif kind == "gemini":
        yield from session_reply(message, time, tally)
    elif kind in ("info", "error", "warning"):
        tally.left_out(f"{kind} message")
        if "cancelled" in str(message.get("content")).lower():
            yield event("interrupted")
    elif kind == "taken back":
        yield event("interrupted")
    else:
        tally.unread(f"message of unknown type {kind!r}")


def session_reply(message, time, tally):
    key = message.get("id") or f"{tally.place}"
    for _ in message.get("thoughts") or []:
        tally.left_out("thinking")
    text = text_of(message.get("content"), tally)
    if text.strip():
        yield event("assistant", time, content=text, reply_key=key)
    calls = message.get("toolCalls") or []
    for call in calls:
        given, at = arguments(call.get("args")), call.get("timestamp", time)
        yield event("tool_call", at, name=call.get("name"), call_id=call.get("id"), arguments=given, reply_key=key)
    for call in calls:
        if call.get("result") is not None:
            answer = result(call["result"], tally)
            yield event("tool_result", call.get("timestamp", time), content=answer, call_id=call.get("id"))


def said(text, time, by_agent, tally):
    """The events of text under the user's role: a summary, a command that the user ran, or the user's words."""
    if SNAPSHOT.match(text):
        yield compaction(text, time)
        return
    ran = SHELL.match(text)
    if ran:
        tally.left_out("output of a command that the user ran")
        yield event("user", time, content=ran.group(1), origin="shell")
        return
    words, files = FILES.subn("", own_words(text))
    if files:
        tally.left_out("content of files that the user named")
    if words.strip():
        yield event("user", time, content=words, **({"origin": "agent"} if by_agent else {}))
    else:
        tally.left_out("text that the tool put under the user's role" if text.strip() else "empty text")


class Calls:
    """Ids for calls that have none: a result joins the oldest open call of its name."""

    def __init__(self):
        self.number, self.open = 0, {}

    def made(self, part):
        self.number += 1
        call_id = part.get("id") or f"call {self.number}"
        self.open.setdefault(part.get("name"), []).append(call_id)
        return call_id

    def answered(self, part):
        waiting = self.open.get(part.get("name"), [])
        if part.get("id") in waiting:
            waiting.remove(part["id"])
        return part.get("id") or (waiting.pop(0) if waiting else None)


def content_message(message, calls, tally):
    """Events of one message of a checkpoint: results first, then the user's words, or the model's text and calls."""
    role, words, key = message.get("role"), [], f"{tally.place}"
    if role not in ("user", "model"):
        tally.unread(f"message of unknown role {role!r}")
        return
    for part in message.get("parts") or []:
        if isinstance(part.get("functionCall"), dict):
            call = part["functionCall"]
            given = arguments(call.get("args"))
            yield event("tool_call", name=call.get("name"), call_id=calls.made(call), arguments=given, reply_key=key)
        elif isinstance(part.get("functionResponse"), dict):
            call_id = calls.answered(part["functionResponse"])
            yield event("tool_result", content=result(part, tally), call_id=call_id)
        elif part.get("thought"):
            tally.left_out("thinking")
        elif role == "user" and isinstance(part.get("text"), str):
            words.append(part["text"])
        else:
            text = text_of(part, tally)
            if text.strip():
                yield event("assistant", content=text, reply_key=key)
    if words:
        yield from said("\n".join(words), None, False, tally)


def result(value, tally):
    """The text of a call's result: functionResponse parts hold output or error."""
    parts = []
    for part in value if isinstance(value, list) else [value]:
        answer = part.get("functionResponse", {}).get("response") if isinstance(part, dict) else None
        if isinstance(answer, dict):
            answer = answer.get("output", answer.get("error", answer))
            parts.append(answer if isinstance(answer, str) else text_of(answer, tally) or str(answer))
        else:
            parts.append(text_of([part], tally))
    return "\n".join(parts)
