"""Read recorded sessions: conversations from an event log or from a JSON file.

Run:  not a script; annotate.py and rank_sessions.py use it. import_sessions.py writes the log.
Does not judge or rank anything.
"""

from command import InputError, parse_json, read_json

from compaction.conversation import turn_problem

NO_TEXT = "(no text recorded)"


def read_events(path):
    """The events of a log as they stand, line by line; InputError names a line that is none."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    event = parse_json(line, f"{path}: line {number}")
                    if not isinstance(event, dict) or not isinstance(event.get("conversation_id"), str) or "kind" not in event:
                        raise InputError(f"{path}: line {number}: is no event; write the log with import_sessions.py")
                    yield event
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; check the path") from None


def read_conversation(path, name=None):
    """{"conversation_id", "history", "compactions"} from a JSON file or from one conversation (`name`) of a log."""
    if path.suffix == ".jsonl":
        return from_events(path, name)
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("history"), list) or not value.get("conversation_id"):
        raise InputError(f"{path}: is no conversation; give conversation_id and history, or an event log (.jsonl)")
    calls = set()
    for number, turn in enumerate(value["history"], 1):
        problem = turn_problem(turn, calls)
        if problem:
            raise InputError(f"{path}: turn {number}: {problem}; correct it")
    return {"conversation_id": value["conversation_id"], "history": value["history"],
            "compactions": value.get("compactions_expected", 0)}


def from_events(path, name):
    """One conversation of a log as turns; InputError where the log has several and none is named."""
    events, names = [], []
    for event in read_events(path):
        if event["conversation_id"] not in names:
            names.append(event["conversation_id"])
        if name in (None, event["conversation_id"]):
            events.append(event)
    if not events or name is None and len(names) > 1:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        what = "several conversations" if name is None else f"no conversation {name!r}"
        raise InputError(f"{path}: holds {what} (there: {shown or 'none'}); name one of them with --conversation")
    return {"conversation_id": events[0]["conversation_id"], "history": turns(events),
            "compactions": sum(event["kind"] == "compaction" for event in events)}


def turns(events):
    """The turns of one conversation's events; what stands before the first user turn has no place in one."""
    history, ids = [], set()
    for event in events:
        if event["kind"] == "user":
            history.append({"user": event.get("content") or NO_TEXT, "assistant": "", "messages": []})
        elif history and event["kind"] in ("assistant", "tool_call", "tool_result"):
            add(history[-1]["messages"], event, ids)
    for turn in history:
        if turn["messages"] and turn["messages"][-1]["role"] == "assistant" and not turn["messages"][-1].get("tool_calls"):
            turn["assistant"] = turn["messages"].pop()["content"]
        if not turn["messages"]:
            del turn["messages"]
        if not turn["assistant"] and not turn.get("messages"):
            turn["assistant"] = NO_TEXT
    return history


def add(messages, event, ids):
    """Append what one event says; a result without its call gets a call that says so, since none may stand alone."""
    content = event.get("content") if isinstance(event.get("content"), str) else ""
    if event["kind"] == "assistant":
        if content:
            messages.append({"role": "assistant", "content": content})
        return
    if event["kind"] == "tool_call":
        add_call(messages, event.get("call_id"), event.get("name") or "unnamed", event.get("arguments"), ids)
        return
    waiting = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    done = {message.get("tool_call_id") for message in messages}
    wanted = event.get("call_id")
    if wanted not in waiting or wanted in done:
        wanted = add_call(messages, None, "call_not_recorded", {}, ids)
    messages.append({"role": "tool", "tool_call_id": wanted, "content": content})


def add_call(messages, id_, name, arguments, ids):
    """Append one call; an id that is missing or taken gets a new one, arguments that are no object become one."""
    if not isinstance(id_, str) or id_ in ids:
        id_ = f"n{len(ids) + 1}"
    ids.add(id_)
    arguments = arguments if isinstance(arguments, dict) else {"input": arguments}
    messages.append({"role": "assistant", "content": "", "tool_calls": [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}]})
    return id_
