"""Make a case set, still to be labelled, of chat logs: OpenAI messages as JSON lines or as one JSON list.

A value of the list, or a line, is a conversation {"messages": [...]}, with "id" where it has one, or its bare list of
messages, or one message, with "conversation_id" where the file holds several conversations. What cannot be read (a
line, a turn, a conversation) is left out whole and listed, never in part, and the rest goes on. A question is a user
message that is more than thanks: the last one, or with `every` each but the first. Its history are the turns before it;
the reply that it got is kept for whoever labels it. A tool call stays with its result in one turn. Every other
conversation is held out.
"""

import re
from contextlib import suppress

from base.command import InputError, as_text, parse_json, read_bytes
from base.shapes import misfit
from base.shown import one_line
from base.turns import IN_FRONT, MessageError, text_of, turn_of

THANKS = frozenset(
    "awesome cheers danke dank dankeschön gracias grazie great merci nice obrigada obrigado ok okay perfect perfekt "
    "prima super thank thanks thx ty спасибо ありがとう ありがとうございます 谢谢 谢谢你 감사합니다".split())
BESIDE = frozenset("a again all beaucoup bien for got help helping it lot lots many much muchas schön sehr so u very "
                   "vielen you your".split())  # words that may stand beside thanks


def read_chat_log(path):
    """([[place, value], ...] of a JSON list, or of a value a line; losses (what, where, detail): lines not JSON)."""
    data, values, losses = read_bytes(path), [], []
    try:
        value = parse_json(as_text(data, path), path)
        value = value if isinstance(value, list) else [value]
        return [[f"value {number}", item] for number, item in enumerate(value, 1)], []
    except InputError as error:
        problem = error
    for number, line in enumerate(data.split(b"\n"), 1):
        place = f"line {number}"
        try:
            values += [[place, parse_json(as_text(line, place), place)]] if line.strip() else []
        except InputError as error:
            losses.append(("line left out", place, str(error).removeprefix(f"{place}: ")))
    if losses and not values:
        raise problem
    return values, losses


def import_chat(values, losses, every=False):
    """(histories, cases without a budget and with nothing required) of what read_chat_log gives; adds to `losses`."""
    histories, cases, imported = {}, [], 0
    for name, messages in conversations(values, losses).items():
        made = list(conversation_cases(name, messages, every, losses))
        for case, turns in made:
            histories[case["id"]] = turns
            cases.append({**case, "split": "held_out" if imported % 2 else "dev", "kind": "chat log",
                          "history": case["id"], "required": [], "stale": []})
        if not made:
            why = "no user message but the first that asks something and has a history"
            losses.append(("conversation left out", name, why))
        imported += bool(made)
    return histories, cases


def conversations(values, losses):
    """{name: messages} of each conversation in its longest state, as they begin; what is none goes to `losses`."""
    known = {}
    for number, (place, value) in enumerate(values, 1):
        value = {"messages": value} if isinstance(value, list) else value if isinstance(value, dict) else {}
        messages, detail = value.get("messages"), None
        if isinstance(messages, list):
            name = one_line(value.get("id", f"conversation-{number}"))
            before = known.setdefault(name, messages)
            if messages is not before:
                detail = f"a second conversation {name!r}"
                if messages[: len(before)] == before:
                    known[name], detail = messages, f"conversation {name!r} has grown: its earlier state is not used"
        elif "role" in value:
            known.setdefault(one_line(value.get("conversation_id", "conversation-1")), []).append(value)
        else:
            detail = "neither a conversation nor a message"
        if detail:
            losses.append(("value left out", place, detail))
    return known


def group_messages(messages):
    """(front, groups, aside, unknown) of a conversation, all by places in its list.

    front    [place of a system message before the first user message]
    groups   [[place of a user message, places of all that follows it until the next], ...]
    aside    {place: why} of messages that belong to no turn, though they may stand inside one
    unknown  {place: why} of messages of a role that is none: their turn is not what happened without them
    """
    front, groups, aside, unknown = [], [], {}, {}
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            groups.append([])
        if groups:
            groups[-1].append(place)
        if role in IN_FRONT and groups:
            aside[place] = "a system message after the first user message"
        elif role in IN_FRONT:
            front.append(place)
        elif not groups:
            aside[place] = f"role {role!r:.60} before the first user message"
        elif role not in ("user", "assistant", "tool"):
            unknown[place] = f"role {role!r:.60} is unknown"
    return front, groups, aside, unknown


def conversation_cases(name, messages, every, losses):
    """Yield (case, its turns) for each question of one conversation; what is left out goes to `losses`."""
    front, groups, aside, unknown = group_messages(messages)
    losses += [("message left out", name, f"message {place + 1}: {why}") for place, why in aside.items()]
    questions = [number for number, group in enumerate(groups) if number and asks(messages[group[0]])]
    turns = {}
    for number, group in enumerate(groups[: max(questions, default=0)]):
        try:
            if odd := [place for place in group if place in unknown]:
                raise MessageError(f"message {odd[0] + 1}: {unknown[odd[0]]}")
            said = [messages[place] for place in group if place not in aside]
            turns[number] = {"id": str(number + 1), **turn_of(said)}
        except MessageError as error:
            losses.append(("turn left out", name, f"turn {number + 1}: {error}"))
    for number in questions if every else questions[-1:]:
        before = [turn for earlier, turn in turns.items() if earlier < number]
        try:
            instructions = "\n\n".join(text_of(messages[place]).strip() for place in front)
            current = text_of(messages[groups[number][0]])
            problem = misfit([instructions, current], [str], "text")
            if problem or not before:
                raise MessageError(problem or "no turn before it could be read")
        except MessageError as error:
            losses.append(("question left out", name, f"turn {number + 1}: {error}"))
            continue
        case = {"id": f"{name}-{number + 1}" if every else name, "instructions": instructions, "current": current}
        with suppress(MessageError):
            said = [text_of(messages[place]).strip() for place in groups[number][1:]
                    if place not in aside | unknown and messages[place]["role"] == "assistant"]
            case |= {"reply": text for text in said if text and misfit(text, str) is None}  # what was said last
        yield case, before


def asks(message):
    """Whether a user's message is more than thanks: asks({"content": "Ok, thank you!"}) -> False."""
    try:
        said = set(re.findall(r"\w+", text_of(message).lower()))
    except MessageError:  # so that its loss is told
        return True
    return bool(said) and not (said & THANKS and said <= THANKS | BESIDE)
