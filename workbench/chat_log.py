"""Make a case set, still to be labelled, of chat logs: JSON lines of OpenAI messages.

A line is a conversation {"messages": [...]}, with "id" where it has one, or one message, with "conversation_id" where
the file holds several conversations. The last user message becomes the question, the turns before it the history;
what came after that message is not used. A tool call stays with its result in one turn; a turn that cannot be read is
left out whole and listed, never in part. Every other conversation is held out.
"""

from base.openai_turns import IN_FRONT, MessageError, split_messages, text_of, turn_of

from base.command import InputError


def import_chat(lines, where):
    """(histories, cases without a budget and with nothing required, losses) of the parsed lines of a file."""
    histories, cases, losses = {}, [], []
    for name, messages in conversations(lines, where):
        case, turns, lost = read_conversation(name, messages)
        losses += lost
        if case:
            cases.append({**case, "split": "held_out" if len(cases) % 2 else "dev"})
            histories[name] = turns
    return histories, cases, losses


def conversations(lines, where):
    """(name, messages) of each conversation, in the order in which they begin."""
    found = {}
    for number, line in enumerate(lines, 1):
        if isinstance(line, dict) and isinstance(line.get("messages"), list):
            name = str(line.get("id", f"conversation-{number}"))
            if name in found:
                raise InputError(f"{where}: conversation {name!r} stands twice; give the second another id")
            found[name] = line["messages"]
        elif isinstance(line, dict) and "role" in line:
            found.setdefault(str(line.get("conversation_id", "conversation-1")), []).append(line)
        else:
            raise InputError(
                f"{where}: value {number} is neither a conversation with messages nor a message; see --help")
    return found.items()


def read_conversation(name, messages):
    """(case or None, turns, losses) of one conversation."""
    losses = []

    def lose(what, detail):
        losses.append({"what": what, "where": name, "detail": detail})

    try:
        kept, spoiled = sort_out(messages, lose)
        front, groups = split_messages(kept)
        instructions = "\n\n".join(text_of(message).strip() for message in front)
        if len(groups) < 2:
            raise MessageError("fewer than two user messages: no history to choose from")
        question = text_of(groups[-1][0])
        if not question.strip():
            raise MessageError("the last user message is empty: there is no question")
    except MessageError as error:
        lose("conversation left out", str(error))
        return None, [], losses
    turns = []
    for number, group in enumerate(groups[:-1], 1):
        try:
            if number in spoiled:
                raise MessageError(spoiled[number])
            turns.append({"id": str(number), **turn_of(group)})
        except MessageError as error:
            lose("turn left out", f"turn {number}: {error}")
    if not turns:
        lose("conversation left out", "no turn of it could be read")
        return None, [], losses
    return ({"id": name, "kind": "chat log", "instructions": instructions, "current": question, "history": name,
             "required": [], "stale": []},
            turns, losses)


def sort_out(messages, lose):
    """(the messages that can stand in a turn, {turn that holds another: why}); what stands in none goes to `lose`."""
    kept, spoiled, started = [], {}, 0
    for number, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        started += role == "user"
        if role in IN_FRONT and started:
            lose("message left out", f"message {number}: a system message after the first user message")
        elif role in ("assistant", "tool") and not started:
            lose("message left out", f"message {number}: role {role!r} before the first user message")
        elif role in (*IN_FRONT, "user", "assistant", "tool"):
            kept.append(message)
        elif started:
            spoiled.setdefault(started, f"message {number}: role {role!r:.60} is unknown")
        else:
            lose("message left out", f"message {number}: role {role!r:.60} is unknown")
    return kept, spoiled
