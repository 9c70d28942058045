"""What a turn and a message hold: their shape checked, their texts listed.

Does not render a request or count it (strategies.py, tokenizer.py).

turn     {"user", "assistant"} and optionally id, session, date, messages (what lies between the two)
message  {"role", "content"}; an assistant's may have tool_calls [{"id", "type": "function", "function": {"name",
         "arguments": {...}}}]; a tool's has tool_call_id
"""

TURN_OPTIONAL = ("id", "session", "date", "messages")
ROLES = ("system", "user", "assistant", "tool")


def turn_problem(turn, calls):
    """What is wrong with a turn, or None. `calls`: the call ids of the conversation so far; the turn's are added."""
    if not isinstance(turn, dict):
        return "is no JSON object"
    for field in ("user", "assistant"):
        if not isinstance(turn.get(field), str):
            return f"field {field!r} must be a text"
    if half_pair(turn):
        return f"holds half of a surrogate pair, {half_pair(turn)!r}, which UTF-8 cannot write"
    unknown = [field for field in turn if field not in ("user", "assistant", *TURN_OPTIONAL)]
    if unknown:
        return f"field {unknown[0]!r} is not a field that anything reads"
    for field in ("id", "session", "date"):
        if field in turn and not isinstance(turn[field], str):
            return f"field {field!r} must be a text"
    messages = turn.get("messages", [])
    if not isinstance(messages, list):
        return "field 'messages' must be a list"
    if not turn["user"].strip() or not (turn["assistant"].strip() or messages):
        return "has a blank text"
    return between_problem(messages, calls)


def half_pair(value):
    """A text inside a JSON value that UTF-8 cannot hold, shortened, or None."""
    for text in strings(value):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return text[max(0, error.start - 10) : error.start + 1]
    return None


def between_problem(messages, calls):
    """What is wrong with the messages between a user's words and the closing text, or None."""
    asked = set()
    for number, message in enumerate(messages, 1):
        problem = message_problem(message)
        if problem is None and message["role"] not in ("assistant", "tool"):
            problem = f"role {message['role']!r} cannot stand between user and assistant"
        if problem is None and message["role"] == "tool" and message["tool_call_id"] not in asked:
            problem = (
                f"answers {message['tool_call_id']!r}, which no earlier call of this turn has, or answers it twice")
        for call in message.get("tool_calls", []) if problem is None else []:
            if call["id"] in calls:
                problem = f"call id {call['id']!r} stands twice in the conversation"
            calls.add(call["id"])
            asked.add(call["id"])
        if problem:
            return f"message {number}: {problem}"
        asked.discard(message.get("tool_call_id"))
    return None


def message_problem(message):
    """What is wrong with the shape of one message, or None."""
    if not isinstance(message, dict):
        return "is no JSON object"
    if message.get("role") not in ROLES:
        return f"role is {message.get('role')!r}, not one of {', '.join(ROLES)}"
    if not isinstance(message.get("content"), str):
        return "content must be a text"
    known = {"assistant": ("tool_calls",), "tool": ("tool_call_id", "name")}.get(message["role"], ())
    if half_pair(message):
        return f"holds half of a surrogate pair, {half_pair(message)!r}, which UTF-8 cannot write"
    unknown = [field for field in message if field not in ("role", "content", *known)]
    if unknown:
        return f"field {unknown[0]!r} does not belong in a message of role {message['role']}"
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "tool_call_id must be a text"
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list):
        return "tool_calls must be a list"
    return next((problem for problem in map(call_problem, calls) if problem), None)


def call_problem(call):
    """What is wrong with the shape of one tool call, or None."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type") != "function" or not isinstance(call.get("id"), str):
        return "a tool call is {id, type: function, function: {name, arguments}}"
    if set(call) != {"id", "type", "function"} or set(function) != {"name", "arguments"}:
        return "a tool call has fields that nothing reads, or lacks one"
    if not isinstance(function["name"], str) or not function["name"].strip():
        return "a tool call's name must be a text that is not blank"
    if not isinstance(function["arguments"], dict):
        return f"the arguments of {function['name']} must be an object, not {type(function['arguments']).__name__}"
    return None


def message_texts(message):
    """The texts of one message that a model reads: its content and the strings in its calls' arguments."""
    texts = [message["content"]] if message["content"] else []
    for call in message.get("tool_calls", []):
        texts += strings(call["function"]["arguments"])
    return texts


def strings(value):
    """Every string inside a JSON value, in order; keys are no text of it."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in strings(one)]


def turn_texts(turn):
    """The texts of one turn, message by message."""
    between = [text for message in turn.get("messages", []) for text in message_texts(message)]
    return [text for text in (turn["user"], *between, turn["assistant"]) if text]
