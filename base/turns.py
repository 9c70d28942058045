"""Check the turns of a case set: their texts, and the tool calls and results that may stand in one.

messages  of a turn: what happened between the user's text and the assistant's closing one, as OpenAI messages:
          {"role": "assistant", "content": text, "tool_calls": [{"id", "type", "function": {"name", "arguments"}}]}
          {"role": "tool", "tool_call_id": text, "content": text}, behind the message whose call it answers

Knows nothing of facts and budgets (selection/cases.py does).
"""

from strategies import turn_messages

from base.command import InputError

TURN_FIELDS = ("user", "assistant")
MORE_TURN_FIELDS = ("id", "session", "date", "messages")
MESSAGE_FIELDS = {"assistant": ("tool_calls",), "tool": ("tool_call_id", "name")}  # besides role and content
DEEPEST = 50  # levels of lists and objects in a message: templates walk through them by recursion


class CaseError(InputError):
    """A case set that cannot be used. File, case, problem and remedy are fields, for a caller that lists them."""

    def __init__(self, path, case, problem, remedy):
        place = f"{path}: case {case!r}" if case is not None else str(path)
        super().__init__(f"{place}: {problem}; {remedy}")
        self.path, self.case, self.problem, self.remedy = path, case, problem, remedy

    def __reduce__(self):  # it has to come back whole from a worker process
        return CaseError, (self.path, self.case, self.problem, self.remedy)


def check_fields(value, needed, allowed, path, name, what):
    """CaseError unless the object has all the needed fields and no others than the allowed."""
    for field in needed:
        if field not in value:
            raise CaseError(path, name, f"{what} has no field {field!r}", "add it")
    extra = [field for field in value if field not in needed and field not in allowed]
    if extra:
        known = ", ".join([*needed, *allowed])
        raise CaseError(path, name, f"{what} has an unknown field {extra[0]!r}", f"remove it; the fields are {known}")


def check_text(value, path, name, field, blank=True):
    """CaseError unless the value is text that UTF-8 can hold, and not blank where that is no value."""
    if not isinstance(value, str):
        raise CaseError(path, name, f"{field} is {value!r:.60}, not a text", "put it in quotes")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"{field} holds half of a surrogate pair at character {error.start}"
        raise CaseError(path, name, problem, "write the whole character") from None
    if not blank and not value.strip():
        raise CaseError(path, name, f"{field} is blank", "give it a text")


def check_history(history, path, name, where):
    """CaseError unless the value is a list of turns with unique ids."""
    if not isinstance(history, list):
        raise CaseError(path, name, f"{where} is no list", "give a list of turns")
    ids = set()
    for number, turn in enumerate(history, 1):
        what = f"{where}, turn {number}"
        if not isinstance(turn, dict):
            raise CaseError(path, name, f"{what} is no object", "give user and assistant")
        check_fields(turn, TURN_FIELDS, MORE_TURN_FIELDS, path, name, what)
        for field in turn:
            if field != "messages":
                check_text(turn[field], path, name, f"{what}, {field}", blank=field != "id")
        if "id" in turn and turn["id"] in ids:
            raise CaseError(path, name, f"{what}: the id {turn['id']!r} stands twice", "rename one of the two")
        ids.add(turn.get("id"))
        if "messages" in turn:
            check_messages(turn["messages"], path, name, what)


def check_messages(messages, path, name, what):
    """CaseError unless these are messages of an assistant that calls tools and of tools that answer."""
    if not isinstance(messages, list):
        raise CaseError(path, name, f"{what}, messages is no list", "give a list of messages")
    calls = []
    for number, message in enumerate(messages, 1):
        where = f"{what}, message {number}"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("assistant", "tool"):
            raise CaseError(path, name, f"{where} has no role assistant or tool", "a user's message starts a turn")
        check_fields(message, ("role", "content"), MESSAGE_FIELDS[role], path, name, where)
        for field in sorted(message.keys() - {"role", "tool_calls"}):
            check_text(message[field], path, name, f"{where}, {field}")
        if role == "assistant":
            calls = message.get("tool_calls", [])
            if not isinstance(calls, list) or not all(map(is_call, calls)):
                remedy = 'give {"function": {"name": text, "arguments": object}} for each call'
                raise CaseError(path, name, f"{where}, tool_calls cannot be read", remedy)
        elif message.get("tool_call_id") not in [call.get("id") for call in calls]:
            problem = f"{where} answers no call of the assistant's message before it"
            raise CaseError(path, name, problem, "a template would leave it out: name the call in tool_call_id")
        check_inside(message, path, name, where)


def check_inside(message, path, name, where):
    """CaseError for a text that UTF-8 cannot hold anywhere in a message, and for arguments that nest too deep."""
    texts, depth = texts_in(message)
    if depth > DEEPEST:
        raise CaseError(path, name, f"{where} nests {depth} levels deep", f"flatten it to at most {DEEPEST}")
    for text in texts:
        check_text(text, path, name, f"{where}, a text in it")


def texts_in(value):
    """(all texts in a JSON value, keys included, how many levels it has). Not by recursion: a file may nest deep."""
    texts, level, depth = [], [value], 0
    while level:
        texts += [part for part in level if isinstance(part, str)]
        lists = [part for part in level if isinstance(part, list)]
        lists += [[*part, *part.values()] for part in level if isinstance(part, dict)]
        level, depth = [part for parts in lists for part in parts], depth + 1
    return texts, depth


def is_call(call):
    """Whether a value is a tool call as chat templates take it: a name, and arguments that are an object."""
    function = call.get("function") if isinstance(call, dict) else None
    return (isinstance(function, dict)
            and isinstance(call.get("id", ""), str)
            and isinstance(function.get("name"), str)
            and isinstance(function.get("arguments"), dict))


def turn_contents(turn):
    """The texts of a turn's messages."""
    return [message["content"] for message in turn_messages(turn)]


def fact_text(fact):
    """The words of a fact of either form."""
    return fact["text"] if isinstance(fact, dict) else fact
