"""Read OpenAI messages as turns: tool calls and their results stay with the user message that led to them.

group  the messages of one turn as they came: the user's first, then all until the next user message
turn   {"user", "assistant"} and "messages" for what happened in between; arguments are objects, not text
"""

import json

IN_FRONT = ("system", "developer")
UNREAD = ("function_call", "audio")  # what a message may hold beside text: older calls, sound


class MessageError(ValueError):
    """A message that cannot be read as part of a turn. The text says which and why."""


def split_messages(messages):
    """(messages in front, groups): the system messages before the first user message, and the turns after them.

    MessageError for a message of another kind in front, for a system message later on, and for an unknown role.
    """
    front, groups = [], []
    for number, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            groups.append([message])
        elif role in ("assistant", "tool") and groups:
            groups[-1].append(message)
        elif role in IN_FRONT and not groups:
            front.append(message)
        elif role in ("assistant", "tool"):
            raise MessageError(f"message {number}: role {role!r} before the first user message; start with a user's")
        elif role in IN_FRONT:
            raise MessageError(f"message {number}: role {role!r} after the first user message; put it in front")
        else:
            raise MessageError(f"message {number}: role {role!r} is unknown; use system, user, assistant or tool")
    return front, groups


def text_of(message):
    """The text of a message: a string, or the text parts of a list, an empty line between them; else its refusal."""
    if other := [field for field in UNREAD if message.get(field)]:
        raise MessageError(f"a message with {other[0]!r}, which is no text and no tool call, cannot be counted")
    content = message.get("content") or message.get("refusal")
    if content is None or isinstance(content, str):
        return whole(content or "")
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise MessageError(f"content {content!r:.60} is neither text nor a list of parts")
    if other := [part.get("type") for part in content if part.get("type") not in ("text", "refusal")]:
        raise MessageError(f"a content part of type {other[0]!r:.60}, which is no text, cannot be counted")
    texts = [part.get(part["type"]) for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise MessageError("a text part without a text")
    return whole("\n\n".join(texts))


def whole(text):
    """The text, or MessageError for half of a surrogate pair, which neither a file nor a tokenizer takes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MessageError(f"half of a surrogate pair at character {error.start}") from None
    return text


def calls_of(message):
    """The tool calls of a message with their arguments as objects."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise MessageError(f"tool_calls {calls!r:.60} is no list")
    return [call_of(call) for call in calls]


def call_of(call):
    """A tool call with its arguments as an object."""
    try:
        name, arguments, number = call["function"]["name"], call["function"]["arguments"], call["id"]
        if isinstance(arguments, str):
            arguments = json.loads(arguments or "{}")
        if not (isinstance(arguments, dict) and isinstance(name, str) and isinstance(number, str)):
            raise ValueError("an id and a name are texts")
        whole(json.dumps([number, name, arguments], ensure_ascii=False))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise MessageError(
            f"the tool call {call!r:.80} cannot be read ({error}); arguments are a JSON object") from None
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def between(group):
    """The messages of a group after the user's, as the template wants them; MessageError for what cannot be read.

    An assistant text that follows an assistant text is joined to it by an empty line: the template would run the two
    together. A result has to answer a call of the same group, and every call has to have its result.
    """
    found, open_calls = [], {}
    for message in group[1:]:
        if message["role"] == "tool":
            name = message.get("tool_call_id")
            if not isinstance(name, str) or open_calls.pop(name, None) is None:
                raise MessageError(f"a tool result for {name!r:.60}, which no call of this turn has")
            found.append({"role": "tool", "tool_call_id": name, "content": text_of(message)})
            continue
        text, calls = text_of(message), calls_of(message)
        open_calls.update({call["id"]: True for call in calls})
        if found and found[-1]["role"] == "assistant" and "tool_calls" not in found[-1]:
            text = "\n\n".join(part for part in (found.pop()["content"], text) if part)
        found.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
    if open_calls:
        raise MessageError(f"the tool call {next(iter(open_calls))!r} has no result in its turn")
    return found


def turn_of(group):
    """The turn of a group; MessageError for one that cannot be read."""
    messages, closing = between(group), ""
    if messages and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
        closing = messages.pop()["content"]
    turn = {"user": text_of(group[0]), "assistant": closing}
    return {**turn, "messages": messages} if messages else turn
