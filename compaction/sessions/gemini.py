"""Events of a Gemini CLI session: one document, or JSON lines that rewrite a message by its id.

Checkpoints (`/chat save`, restore points) are not read: they hold the history of a session again. Places in the tally
are numbers of messages, from 1.
"""

import re

from compaction.sessions.chat import each
from compaction.sessions.content import arguments, count_foreign, own_words, said_by_model, text_of
from compaction.sessions.log import attempt, compaction, event

FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
SNAPSHOT = re.compile(r"\s*<(?:state_snapshot|compressed_chat_history)>")  # how a summary begins


def is_document(value):
    """Whether a JSON value is a session of this tool."""
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and (
        "projectHash" in value or any(isinstance(m, dict) and m.get("type") == "gemini" for m in messages))


def events(value, tally):
    """Raw events of a session (folded, where it was JSON lines)."""
    for message in each(value["messages"], tally):
        yield from attempt(lambda message=message: read(message, value.get("kind") == "subagent", tally), tally)


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


def read(message, by_agent, tally):
    kind, time = message.get("type"), message.get("timestamp")
    if kind == "user":
        typed = message.get("displayContent") or message.get("content")  # as typed, without what was added
        text = text_of(typed, tally)
        words, files = FILES.subn("", own_words(text))
        if files:
            tally.left_out("content of files that the user named")
        if SNAPSHOT.match(text):
            yield compaction(text, time)
        elif words.strip():
            yield event("user", time, content=words, origin="agent" if by_agent else None)
        else:
            count_foreign(text, tally)
    elif kind == "gemini":
        yield from reply(message, time, tally)
    elif kind in ("info", "error", "warning"):
        tally.left_out(f"{kind} message")
        if "cancelled" in str(message.get("content")).lower():
            yield event("interrupted")
    elif kind == "taken back":
        yield event("interrupted")
    else:
        tally.unread(f"message of unknown type {kind!r}")


def reply(message, time, tally):
    key, calls = message.get("id") or f"{tally.place}", message.get("toolCalls") or []
    for _ in message.get("thoughts") or []:
        tally.left_out("thinking")
    yield from said_by_model(message.get("content") or [], time, key, tally)
    for call in calls:
        given, at = arguments(call.get("args")), call.get("timestamp", time)
        yield event("tool_call", at, name=call.get("name"), call_id=call.get("id"), arguments=given, reply_key=key)
    for call in calls:
        if call.get("result") is not None:
            answer = text_of(call["result"], tally)
            yield event("tool_result", call.get("timestamp", time), content=answer, call_id=call.get("id"))
