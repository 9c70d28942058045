"""Events of chat messages: OpenAI's fields, and content blocks as Anthropic's form has them.

A document is a list of messages, {"messages": [...]}, a list of such objects, JSON lines of either, or a result of
tau-bench. Places in the tally are numbers of messages, from 1.
"""

from compaction.sessions.content import CONTINUED, arguments, blocks, count_foreign, own_words, said_by_model, text_of
from compaction.sessions.log import attempt, compaction, event


def is_document(value):
    """Whether a JSON value holds chat messages."""
    first = next((v for v in value if isinstance(v, dict)), {}) if isinstance(value, list) else value
    return is_chat(value) or is_chat(messages_of(first))


def is_chat(value):
    """Whether a value is a list of messages with roles."""
    return isinstance(value, list) and any(isinstance(m, dict) and "role" in m for m in value)


def messages_of(value):
    """The list of chat messages in an object, under whichever name a tool has for it; None where there is none."""
    values = (value.get(name) for name in ("messages", "traj")) if isinstance(value, dict) else ()
    return next((messages for messages in values if isinstance(messages, list)), None)


def conversations(value):
    """[(suffix of the conversation id, list of messages)] of a document.

    Task and position in the file make the suffix, as tau-bench results need it: the same task stands there several
    times. [{"task_id": 7, "traj": [...]}] -> [("-7-0", [...])]
    """
    if isinstance(value, dict) or is_chat(value):
        return [("", value if isinstance(value, list) else messages_of(value))]
    tasks = [f"-{entry['task_id']}" if isinstance(entry, dict) and "task_id" in entry else "" for entry in value]
    return [(f"{task}-{position}", messages_of(value[position])) for position, task in enumerate(tasks)]


def each(messages, tally):
    """The messages of a document that are objects, the place set to each one's number."""
    if not isinstance(messages, list):
        tally.unread("conversation without a list of messages")
        return
    for tally.place, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield message
        else:
            tally.unread("message that is no object")


def events(messages, tally):
    """Raw events of a list of chat messages."""
    for message in each(messages, tally):
        yield from attempt(lambda message=message: chat_message(message, tally), tally)


def chat_message(message, tally):
    role, time = message.get("role"), message.get("ts", message.get("timestamp", message.get("created_at")))
    if role == "user":
        yield from said_by_user(message.get("content"), time, tally)
    elif role == "assistant":
        yield from reply(message, time, tally)
    elif role in ("tool", "function"):
        call_id = message.get("tool_call_id", message.get("id", message.get("name")))
        yield event("tool_result", time, content=text_of(message.get("content"), tally), call_id=call_id)
    elif role in ("system", "developer"):
        tally.left_out(f"message of role {role}")
    else:
        tally.unread(f"message of unknown role {role!r}")


def said_by_user(content, time, tally):
    """Results of calls first, then the user's words as one turn; a summary under the user's role is a compaction."""
    words = []
    for kind, value in blocks(content, tally):
        if kind != "text":
            yield event("tool_" + kind, time, **value)
        elif value.startswith(CONTINUED):
            yield compaction(value, time)
        elif own_words(value).strip():
            words.append(own_words(value))
        else:
            count_foreign(value, tally)
    if words:
        yield event("user", time, content="\n".join(words))


def reply(message, time, tally):
    key = f"{tally.place}"
    for field in ("reasoning", "reasoning_content", "thinking_blocks", "refusal"):
        if message.get(field):
            tally.left_out(field)
    yield from said_by_model(message.get("content"), time, key, tally)
    calls = list(message.get("tool_calls") or [])
    if message.get("function_call"):
        calls.append({"id": message["function_call"].get("name"), "function": message["function_call"]})
    for call in calls:
        function = call.get("function") or call.get("custom") or call
        yield event("tool_call", time, name=function.get("name"), call_id=call.get("id"), reply_key=key,
                    arguments=arguments(function.get("arguments", function.get("input"))))
