"""Events of chat messages: OpenAI's fields, and content blocks as Anthropic's form has them.

A document is a list of messages, {"messages": [...]}, a list of such objects, JSON lines of either, or a result of
tau-bench. Places in the tally are numbers of messages, from 1.
"""

from compaction.sessions.content import CONTINUED, arguments, blocks, said_by_model, said_by_person, text_of
from compaction.sessions.log import attempt, compaction, event


def is_chat(value):
    """Whether a value is a list of messages with roles."""
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


def events(messages, tally, read=None):
    """Raw events of a list of messages, of chat where `read` (message, tally) does not say how one is read."""
    if not isinstance(messages, list):
        tally.unread("conversation without a list of messages")
        return
    for tally.place, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield from attempt(lambda message=message: (read or read_message)(message, tally), tally)
        else:
            tally.unread("message that is no object")


def read_message(message, tally):
    """Raw events of one message; of a user's, results of calls come first and the words are one turn."""
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
