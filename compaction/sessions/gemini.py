"""Events of a Gemini CLI session: one document, or JSON lines that rewrite a message by its id.

Checkpoints (`/chat save`, restore points) are not read: they hold the history of a session again. Places in the tally
are numbers of messages, from 1.
"""

import re

from compaction.sessions import chat
from compaction.sessions.content import arguments, said_by_model, said_by_person, text_of
from compaction.sessions.log import compaction, event

FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
SNAPSHOT = re.compile(r"\s*<(?:state_snapshot|compressed_chat_history)>")  # how a summary begins


def is_document(value, lines):
    """Whether a JSON value is a session of this tool; `lines`: the value is a list of its first lines."""
    if lines:
        return any(isinstance(record, dict) and ("projectHash" in record or record.get("type") == "gemini")
                   for record in value)
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and ("projectHash" in value or is_document(messages, True))


def events(value, tally):
    """Raw events of a session (folded, where it was JSON lines)."""
    origin = "agent" if value.get("kind") == "subagent" else None
    return chat.events(value["messages"], tally, lambda message, tally: read_message(message, origin, tally))


def fold(records, tally):
    """One document of a session in JSON lines: a line with the id of an earlier message replaces it."""
    messages, head = {}, {}
    for record in records:
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


def read_message(message, origin, tally):
    """Raw events of one message; a user's words have this origin."""
    kind, time, content = message.get("type"), message.get("timestamp"), message.get("content")
    if kind == "user":
        text = text_of(message.get("displayContent") or content, tally)  # as typed, without what was added
        typed, files = FILES.subn("", text)
        if files:
            tally.left_out("content of files that the user named")
        if SNAPSHOT.match(text):
            yield compaction(text, time)
        elif words := said_by_person(typed, tally):
            yield event("user", time, content=words, origin=origin)
    elif kind == "gemini":
        key, calls = message.get("id") or str(tally.place), message.get("toolCalls") or []
        for _ in message.get("thoughts") or []:
            tally.left_out("thinking")
        yield from said_by_model(content or [], time, key, tally)
        for call in calls:
            yield event("tool_call", call.get("timestamp", time), name=call.get("name"), call_id=call.get("id"),
                        arguments=arguments(call.get("args")), reply_key=key)
        for call in calls:
            if call.get("result") is not None:
                yield event("tool_result", call.get("timestamp", time), content=text_of(call["result"], tally),
                            call_id=call.get("id"))
    elif kind in ("info", "error", "warning"):
        tally.left_out(f"{kind} message")
        if "cancelled" in str(content).lower():
            yield event("interrupted")
    elif kind == "taken back":
        yield event("interrupted")
    else:
        tally.unread(f"message of unknown type {kind!r}")
