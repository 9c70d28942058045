"""What a turn and a message hold, whoever wrote them: their shape checked, their texts listed, OpenAI messages read.

turn     {"user", "assistant"} and optionally id, session, date, and messages: what happened between the two
message  {"role", "content"}; an assistant's may have tool_calls [{"id", "type", "function": {"name", "arguments":
         {...}}}]; a tool's has tool_call_id (and name), behind the message whose call it answers
group    the messages of one turn as OpenAI's interface has them: the user's first, then all until the next user's
"""

import json
from contextlib import suppress

from base.command import depth
from base.shapes import Only, misfit, not_blank, texts_in
from strategies import turn_messages

TEXT = {"role": str, "content": str}
CALL = {"id?": str, "type?": lambda kind: kind == "function", "function": {"name": not_blank, "arguments": dict}}
GIVEN_CALL = {"id": str, "function": {"name": str, "arguments": (str, dict)}}  # arguments may be JSON as text
MESSAGES = {"system": Only(TEXT), "user": Only(TEXT), "assistant": Only({**TEXT, "tool_calls?": [CALL]}),
            "tool": Only({**TEXT, "tool_call_id?": str, "name?": str})}
TURN = Only({"user": str, "assistant": str, "id?": not_blank, "session?": str, "date?": str, "messages?": list})
DEEPEST_MESSAGE = 50  # levels of lists and objects: templates walk through them by recursion
IN_FRONT = ("system", "developer")
UNREAD = ("function_call", "audio")  # what a message may hold beside text: older calls, sound


def history_problem(history, place="history", own_calls=False):
    """What is wrong with a list of turns, or None; own_calls: a call's id may stand once in the whole history."""
    if not isinstance(history, list):
        return f"{place} is no list"
    ids, calls = set(), set() if own_calls else None
    for number, turn in enumerate(history, 1):
        if problem := turn_problem(turn, f"{place}, turn {number}", calls):
            return problem
        if "id" in turn and turn["id"] in ids:
            return f"{place}, turn {number}: the id {turn['id']!r} stands twice"
        ids.add(turn.get("id"))
    return None


def turn_problem(turn, place="turn", calls=None):
    """What is wrong with a turn, or None. `calls`: the call ids of the history so far; the turn's are added."""
    if problem := misfit(turn, TURN, place):
        return problem
    answerable = []
    for number, message in enumerate(turn.get("messages", []), 1):
        where = f"{place}, message {number}"
        if problem := message_problem(message, where, ("assistant", "tool")):
            return problem
        if message["role"] == "tool":
            if message.get("tool_call_id") not in answerable:
                return f"{where} answers no call of the message before it, or one twice: a template would leave it out"
            answerable.remove(message.get("tool_call_id"))
            continue
        answerable = [call.get("id") for call in message.get("tool_calls", [])]
        if calls is not None:
            if twice := [name for name in answerable if name in calls or answerable.count(name) > 1]:
                return f"{where}: the call id {twice[0]!r} stands twice in the conversation"
            calls.update(answerable)
    return None


def message_problem(message, place="message", roles=tuple(MESSAGES)):
    """What is wrong with the shape of one message, or None."""
    role = message.get("role") if isinstance(message, dict) else None
    if role not in roles:
        return f"{place} has no role {' or '.join(roles)}"
    if depth(message) > DEEPEST_MESSAGE:
        return f"{place} nests more than {DEEPEST_MESSAGE} levels deep"
    return misfit(message, MESSAGES[role], place)


def message_texts(message):
    """The texts of a message that a model reads: its content, unless empty, and the strings in its calls' arguments."""
    arguments = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
    return list(filter(None, [message["content"], *texts_in(arguments, keys=False)]))


def turn_texts(turn):
    """The texts of one turn, message by message."""
    return [text for message in turn_messages(turn) for text in message_texts(message)]


def fact_text(fact):
    """The text of a fact of either form: fact_text({"turn": "t1", "text": "no"}) -> "no"."""
    return fact["text"] if isinstance(fact, dict) else fact


class MessageError(ValueError):
    """A message that cannot be read as part of a turn. The text says which and why."""


def text_of(message):
    """The text of a message, text parts joined by an empty line, or its refusal; MessageError for any other part."""
    if other := [field for field in UNREAD if message.get(field)]:
        raise MessageError(f"a message with {other[0]!r}, which is no text and no tool call, cannot be counted")
    content = message.get("content") or message.get("refusal")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise MessageError(f"content {content!r:.60} is neither text nor a list of parts")
    if other := [part.get("type") for part in content if part.get("type") not in ("text", "refusal")]:
        raise MessageError(f"a content part of type {other[0]!r:.60}, which is no text, cannot be counted")
    texts = [part.get(part["type"]) for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise MessageError("a text part without a text")
    return "\n\n".join(texts)


def calls_of(message):
    """The tool calls of a message with their arguments as objects."""
    calls, read = message.get("tool_calls") or [], []
    if problem := misfit(calls, [GIVEN_CALL], "tool_calls"):
        raise MessageError(f"a tool call is not read: {problem}")
    for call in calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            raise MessageError(f"arguments of the tool call {call['id']!r:.60} are no JSON object: {arguments!r:.60}")
        read.append({"id": call["id"], "type": "function", "function": {"name": name, "arguments": arguments}})
    return read


def after_user(group):
    """The messages of a group after the user's, as the template wants them; MessageError for what cannot be read.

    An assistant text that follows an assistant text is joined to it by an empty line: the template would run the two
    together. A result has to answer a call of the message before it, and every call has to have its result.
    """
    messages, unanswered = [], []
    for message in group[1:]:
        if message["role"] == "tool":
            name = message.get("tool_call_id")
            if name in unanswered:  # else turn_problem tells it
                unanswered.remove(name)
            messages.append({"role": "tool", "tool_call_id": name, "content": text_of(message)})
            continue
        text, calls = text_of(message), calls_of(message)
        unanswered += [call["id"] for call in calls]
        if messages and messages[-1]["role"] == "assistant":  # one with calls is left without results, and refused
            text = "\n\n".join(part for part in (messages.pop()["content"], text) if part)
        messages.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
    if unanswered:
        raise MessageError(f"the tool call {unanswered[0]!r} has no result in its turn")
    return messages


def turn_of(group):
    """The turn of a group; MessageError for one that cannot be read."""
    messages = after_user(group)
    turn = as_turn(text_of(group[0]), messages)
    if problem := turn_problem(turn):
        raise MessageError(problem)
    return turn


def as_turn(user, messages):
    """The turn of a user's text and the messages behind it, an assistant's text at their end as its answer.
    as_turn("Hi", [{"role": "assistant", "content": "Ho"}]) -> {"user": "Hi", "assistant": "Ho"}"""
    closes = bool(messages) and messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls")
    messages, closing = (messages[:-1], messages[-1]["content"]) if closes else (messages, "")
    return {"user": user, "assistant": closing, **({"messages": messages} if messages else {})}
