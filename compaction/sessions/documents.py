"""Events of documents: chat messages (OpenAI's fields, Anthropic's blocks, tau-bench) and sessions of Gemini CLI.

Chat is a list of messages, {"messages": [...]}, a list of such objects, or JSON lines of either. Gemini CLI writes one
document, or JSON lines that rewrite a message by its id; checkpoints (`/chat save`, restore points) hold the history of
a session again and are not read. Places in the tally are numbers of messages, from 1.
"""

import re

from compaction.sessions.content import CONTINUED, arguments, blocks, said_by_model, said_by_person, text_of
from compaction.sessions.log import attempt, compaction, event

FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
SNAPSHOT = re.compile(r"\s*<(?:state_snapshot|compressed_chat_history)>")  # how a summary begins


def is_chat(value):
    return isinstance(value, list) and any(isinstance(message, dict) and "role" in message for message in value)


def messages_of(value):
    """The list of chat messages in an object, under whichever name a tool has for it; None where there is none."""
    return next((value[name] for name in ("messages", "traj") if isinstance(value.get(name), list)), None)


def conversations(value):
    """[(suffix of the conversation id, list of messages)] of a document; none where it holds no chat messages. Task and
    position make the suffix, since tau-bench has a task several times: [{"task_id": 7, "traj": [...]}] -> "-7-0"."""
    value = messages_of(value) if isinstance(value, dict) else value
    if is_chat(value):
        return [("", value)]
    entries = [entry if isinstance(entry, dict) else {} for entry in value] if isinstance(value, list) else []
    if not is_chat(messages_of(next(filter(None, entries), {}))):
        return []
    tasks = [f"-{entry['task_id']}" if "task_id" in entry else "" for entry in entries]
    return [(f"{task}-{n}", messages_of(entry)) for n, (task, entry) in enumerate(zip(tasks, entries))]


def is_gemini(value, lines):
    """Whether a JSON value is a session of Gemini CLI; `lines`: the value is a list of its first lines."""
    if lines:
        return any(isinstance(record, dict) and ("projectHash" in record or record.get("type") == "gemini")
                   for record in value)
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and ("projectHash" in value or is_gemini(messages, True))


def message_events(messages, tally, read):
    """Raw events of a list of messages; `read` (message, tally) gives those of one."""
    if not isinstance(messages, list):
        tally.unread("conversation without a list of messages")
        return
    for tally.place, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield from attempt(tally, read, message, tally)
        else:
            tally.unread("message that is no object")


def chat_message(message, tally):
    """Raw events of one chat message; of a user's, results of calls come first and the words are one turn."""
    role, content, words, key = message.get("role"), message.get("content"), [], str(tally.place)
    time = message.get("ts", message.get("timestamp", message.get("created_at")))
    if role == "user":
        for kind, value in blocks(content, tally):
            if kind != "text":
                yield event("tool_" + kind, time, **value)
            elif value.startswith(CONTINUED):
                yield compaction(value, time)
            else:
                words.append(said_by_person(value, tally))
        if any(words):
            yield event("user", time, content="\n".join(filter(None, words)))
    elif role == "assistant":
        for field in ("reasoning", "reasoning_content", "thinking_blocks", "refusal"):
            if message.get(field):
                tally.left_out(field)
        yield from said_by_model(content, time, key, tally)
        calls, older = list(message.get("tool_calls") or []), message.get("function_call")
        for call in calls + ([{"id": older.get("name"), "function": older}] if older else []):
            function = call.get("function") or call.get("custom") or call
            yield event("tool_call", time, name=function.get("name"), call_id=call.get("id"), reply_key=key,
                        arguments=arguments(function.get("arguments", function.get("input"))))
    elif role in ("tool", "function"):
        call_id = message.get("tool_call_id", message.get("id", message.get("name")))
        yield event("tool_result", time, content=text_of(content, tally), call_id=call_id)
    elif role in ("system", "developer"):
        tally.left_out(f"message of role {role}")
    else:
        tally.unread(f"message of unknown role {role!r}")


def fold(records, tally):
    """One document of a session of Gemini CLI in JSON lines: a line with the id of an earlier message replaces it."""
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


def gemini_message(origin, message, tally):
    """Raw events of one message of Gemini CLI; a user's words have this origin."""
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
