"""Events of chat messages: OpenAI's fields, and content blocks as Anthropic's form has them.

A document is a list of messages, {"messages": [...]}, a list of such objects, JSON lines of either, or a result of
tau-bench or tau2-bench. Places in the tally are numbers of messages, from 1.
"""

from compaction.sessions.content import CONTINUED, arguments, blocks, count_foreign, own_words, text_of
from compaction.sessions.log import attempt, compaction, event


def is_document(value):
    """Whether a JSON value holds chat messages."""
    if isinstance(value, dict):
        return any(map(messages_of, simulations(value))) or is_chat(messages_of(value))
    first = next((v for v in value if isinstance(v, dict)), {}) if isinstance(value, list) else {}
    return is_chat(value) or is_chat(messages_of(first))


def is_chat(value):
    """Whether a value is a list of messages with roles; content as parts is another tool's."""
    roles = [m for m in value if isinstance(m, dict) and "role" in m] if isinstance(value, list) else []
    return bool(roles) and not any("parts" in m or "messageId" in m for m in roles)


def messages_of(value):
    """The list of chat messages in an object, under whichever name a tool has for it; None where there is none."""
    values = (value.get(name) for name in ("messages", "traj")) if isinstance(value, dict) else ()
    return next((messages for messages in values if isinstance(messages, list)), None)


def simulations(value):
    """The runs of a tau2-bench result."""
    return value["simulations"] if isinstance(value.get("simulations"), list) else []


def conversations(value):
    """[(suffix of the conversation id, list of messages)] of a document.

    Task and position in the file make the suffix, as tau-bench results need it: the same task stands there several
    times. [{"task_id": 7, "traj": [...]}] -> [("-7-0", [...])]
    """
    if is_chat(value):
        return [("", value)]
    entries = (simulations(value) or [value]) if isinstance(value, dict) else value
    if entries == [value]:
        return [("", messages_of(value))]
    suffixes = ["-".join(["", *([str(entry["task_id"])] if isinstance(entry, dict) and "task_id" in entry else []),
                          str(position)]) for position, entry in enumerate(entries)]
    return list(zip(suffixes, map(messages_of, entries)))


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
    if role in ("user", "assistant"):
        yield from spoken(message, role, time, tally)
    elif role in ("tool", "function"):
        for answer in message.get("tool_messages") or [message]:  # tau2-bench puts several answers into one message
            if answer.get("requestor") == "user":
                tally.left_out("result of a call that the user made")
                continue
            call_id = answer.get("tool_call_id", answer.get("id", answer.get("name")))
            yield event("tool_result", time, content=text_of(answer.get("content"), tally), call_id=call_id)
    elif role in ("system", "developer"):
        tally.left_out(f"message of role {role}")
    else:
        tally.unread(f"message of unknown role {role!r}")


def spoken(message, role, time, tally):
    """Results of calls first, then the user's words as one turn; or a reply's texts and calls."""
    words, key = [], f"{tally.place}"
    for field in ("reasoning", "reasoning_content", "thinking_blocks", "refusal"):
        if message.get(field):
            tally.left_out(field)
    for kind, value in blocks(message.get("content"), tally):
        if kind != "text":
            yield event("tool_call" if kind == "call" else "tool_result", time, reply_key=key, **value)
        elif role == "assistant":
            if value.strip():
                yield event("assistant", time, content=value, reply_key=key)
        elif value.startswith(CONTINUED):
            yield compaction(value, time)
        elif own_words(value).strip():
            words.append(own_words(value))
        else:
            count_foreign(value, tally)
    if words:
        yield event("user", time, content="\n".join(words))
    yield from calls(message, role, time, key, tally)


def calls(message, role, time, key, tally):
    """The calls of a message; tau2-bench writes name and arguments without `function` around them."""
    made = list(message.get("tool_calls") or [])
    if message.get("function_call"):
        made.append({"id": message["function_call"].get("name"), "function": message["function_call"]})
    for call in made:
        if role == "user":  # tau2-bench lets its simulated user call tools
            tally.left_out("call that the user made")
            continue
        function = call.get("function") or call.get("custom") or call
        yield event("tool_call", time, name=function.get("name"), call_id=call.get("id"), reply_key=key,
                    arguments=arguments(function.get("arguments", function.get("input"))))
