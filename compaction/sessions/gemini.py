"""Events of Gemini CLI: sessions (one document, or JSON lines that rewrite a message by its id) and checkpoints.

A checkpoint holds the context as the model gets it: roles user and model, with parts. Without the id that a session
gives each call, a result joins the oldest open call of its name. Places in the tally are numbers of messages, from 1.
"""

import re

from compaction.sessions.chat import each
from compaction.sessions.content import arguments, blocks, count_foreign, own_words, text_of
from compaction.sessions.log import attempt, compaction, event

FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
SNAPSHOT = re.compile(r"\s*<(?:state_snapshot|compressed_chat_history)>")  # how a summary begins


def is_document(value):
    """Whether a JSON value is a session or a checkpoint of this tool."""
    return is_contents(contents_of(value)) or isinstance(value, dict) and isinstance(value.get("messages"), list) and (
        "projectHash" in value or any(isinstance(m, dict) and m.get("type") == "gemini" for m in value["messages"]))


def contents_of(value):
    """The messages of a checkpoint, under whichever name a version has for them."""
    if not isinstance(value, dict):
        return value
    return value["clientHistory"] if is_contents(value.get("clientHistory")) else value.get("history")


def is_contents(value):
    """Whether a value is a list of messages with parts."""
    first = next((v for v in value if isinstance(v, dict)), {}) if isinstance(value, list) else {}
    return first.get("role") in ("user", "model") and isinstance(first.get("parts"), list)


def events(value, tally):
    """Raw events of a session (folded, where it was JSON lines) or of a checkpoint."""
    calls = {}
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        messages, read, more = value["messages"], session_message, value.get("kind") == "subagent"
    else:
        messages, read, more = contents_of(value), content_message, calls
    for message in each(messages, tally):
        yield from attempt(lambda message=message: read(message, more, tally), tally)


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


def session_message(message, by_agent, tally):
    kind, time = message.get("type"), message.get("timestamp")
    if kind == "user":
        typed = message.get("displayContent") or message.get("content")  # as typed, without what was added
        yield from said(text_of(typed, tally), time, by_agent, tally)
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
            answer = text_of(call["result"], tally)
            yield event("tool_result", call.get("timestamp", time), content=answer, call_id=call.get("id"))


def said(text, time, by_agent, tally):
    """The events of text under the user's role: a summary, or the user's words."""
    if SNAPSHOT.match(text):
        yield compaction(text, time)
        return
    words, files = FILES.subn("", own_words(text))
    if files:
        tally.left_out("content of files that the user named")
    if words.strip():
        yield event("user", time, content=words, origin="agent" if by_agent else None)
    else:
        count_foreign(text, tally)


def content_message(message, open_calls, tally):
    """Events of one message of a checkpoint: results first, then the user's words, or the model's text and calls."""
    role, words, key = message.get("role"), [], f"{tally.place}"
    if role not in ("user", "model"):
        tally.unread(f"message of unknown role {role!r}")
        return
    for kind, value in blocks(message.get("parts"), tally):
        if kind == "text":
            if role == "user":
                words.append(value)
            elif value.strip():
                yield event("assistant", content=value, reply_key=key)
            continue
        waiting = open_calls.setdefault(value["name"], [])
        if kind == "call":
            made = open_calls.setdefault(("made",), [])  # no name of a tool can be a tuple
            made.append(value["name"])
            value["call_id"] = value["call_id"] or f"call {len(made)}"
            waiting.append(value["call_id"])
            yield event("tool_call", reply_key=key, **value)
        else:
            if value["call_id"] in waiting:
                waiting.remove(value["call_id"])
            value["call_id"] = value["call_id"] or (waiting.pop(0) if waiting else None)
            yield event("tool_result", content=value["content"], call_id=value["call_id"])
    if words:
        yield from said("\n".join(words), None, False, tally)
