"""Read requests from a file of messages, and tell what each message of a request adds to its tokens."""

import sys
from contextlib import suppress
from pathlib import Path

from base.command import InputError, as_text, parse_json, progress, read_bytes
from base.shapes import misfit
from base.turns import MessageError, calls_of, text_of

REQUEST = {"messages": [{"role": str}], "tools?": ([dict], type(None))}


def read_requests(path):
    """[{"messages", "tools"}, ...] of a file ("-": standard input): a list of messages, an object with messages and
    tools, or JSON lines, of such lists and objects, each a request, or of the messages of one request."""
    where = "standard input" if path == "-" else Path(path)
    text = as_text(sys.stdin.buffer.read() if path == "-" else read_bytes(path), where)
    lines = {f"{where}: line {number}": line for number, line in enumerate(text.split("\n"), 1) if line.strip()}
    try:
        values = {str(where): parse_json(text, where)}
    except InputError:
        if len(lines) < 2:
            raise
        values = {place: parse_json(line, place) for place, line in lines.items()}
    if all(isinstance(value, dict) and "role" in value for value in values.values()):
        values = {str(where): list(values.values())}
    return [request_of(value, place) for place, value in values.items()]


def request_of(value, place):
    """The request that a JSON value is, arguments of tool calls as objects, or InputError."""
    request = {"messages": value} if isinstance(value, list) else value
    problem = misfit(request, REQUEST, "the request")
    if problem := problem or (not request["messages"] and "the request is without messages"):
        raise InputError(f"{place}: {problem}; give a list of messages, or an object with messages and tools")
    try:
        for message in request["messages"]:
            text_of(message)  # refuses a picture or a sound: a template writes no token of what a model gets of it
        messages = [{**message, "tool_calls": calls_of(message)} if message.get("tool_calls") else message
                    for message in request["messages"]]
    except MessageError as error:
        raise InputError(f"{place}: {error}; correct it") from None
    return {"messages": messages, "tools": request.get("tools") or None}


def cost_by_message(count, messages, tools=None):
    """{"tokens": of the request, "around": of one without messages, "messages": [{"role", "tokens"}, ...]}.

    A message's tokens are what the request up to it costs more than up to the message before. Null where the template
    refuses a request that ends there; the next one's tokens are then those of both.
    """
    total, before = count(messages, tools), cost_or_none(count, [], tools) or 0
    rows, around = [], before
    for number in progress(range(1, len(messages) + 1), desc="messages"):
        cost = total if number == len(messages) else cost_or_none(count, messages[:number], tools)
        rows.append({"role": messages[number - 1]["role"], "tokens": None if cost is None else cost - before})
        before = before if cost is None else cost
    return {"tokens": total, "around": around, "messages": rows}


def cost_or_none(count, messages, tools=None):
    with suppress(InputError):
        return count(messages, tools)
