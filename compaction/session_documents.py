"""Events of sessions that are kept as one JSON document, or as chat messages: Gemini CLI, SWE-agent, Cline SDK, OpenAI.

Not a script: import_sessions.py picks by content. Gemini's newer files are JSON lines that rewrite a message by its id;
they are folded into the same messages first. Places in the tally are numbers of messages here, from 1.
"""

import re

from compaction.session_codex import arguments
from compaction.session_log import event, own_words, text_of, whole

WRAPPED = re.compile(r"\s*<(task|feedback|user_message|user_input)(?:\s[^<>]*)?>(.*)</\1>\s*", re.DOTALL)
DENIED = re.compile(r"The user (?:denied this operation|rejected).*?<feedback>(.*?)</feedback>", re.DOTALL)


def conversations(value, format_name):
    """[(suffix of the conversation id, function (tally) -> raw events)] of a document of a known format."""
    if format_name == "Gemini CLI":
        return [("", lambda tally: gemini_events(value.get("messages") or [], tally))]
    if format_name == "SWE-agent":
        return [("", lambda tally: swe_events(value, tally))]
    if isinstance(value, dict):
        return [("", lambda tally: chat_events(value.get("messages", value.get("traj")), tally))]
    if any(isinstance(v, dict) and "role" in v for v in value):
        return [("", lambda tally: chat_events(value, tally))]
    return [
        (
            suffix(entry, n),
            lambda tally, entry=entry: (
                chat_events(entry.get("traj", entry.get("messages")), tally)
                if isinstance(entry, dict)
                else chat_events(None, tally)
            ),
        )
        for n, entry in enumerate(value)
    ]


def suffix(entry, position):
    """Task and position in the file, as tau-bench results need it: the same task stands there several times."""
    task = entry.get("task_id") if isinstance(entry, dict) else None
    return f"-{position}" if task is None else f"-{task}-{position}"


def document_format(value):
    """The name of the format that a whole JSON document has, or None."""
    if isinstance(value, list):
        first = next((v for v in value if isinstance(v, dict)), {})
        return (
            "OpenAI messages" if "role" in first or isinstance(first.get("traj", first.get("messages")), list) else None
        )
    if not isinstance(value, dict):
        return None
    messages = value.get("messages", value.get("traj"))
    if isinstance(value.get("trajectory"), list) or isinstance(value.get("history"), list) and "info" in value:
        return "SWE-agent"
    if not isinstance(messages, list):
        return None
    if "projectHash" in value or any(isinstance(m, dict) and m.get("type") == "gemini" for m in messages):
        return "Gemini CLI"
    if not any(isinstance(m, dict) and "role" in m for m in messages):
        return None
    return "Cline SDK" if "sessionId" in value or "agent" in value else "OpenAI messages"


def document_id(value):
    found = value.get("sessionId") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def each(messages, tally):
    """The messages that are objects, the place set to each one's number."""
    if not isinstance(messages, list):
        tally.unread("conversation without a list of messages")
        return
    for tally.place, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield message
        else:
            tally.unread("message that is no object")


def chat_events(messages, tally):
    """Raw events of chat messages: OpenAI's fields, and content blocks as Cline and Anthropic's form have them."""
    for message in each(messages, tally):
        yield from whole(lambda message=message: chat_message(message, tally), tally)


def chat_message(message, tally):
    role, time = message.get("role"), message.get("ts", message.get("timestamp", message.get("created_at")))
    if role == "user":
        yield from user_blocks(message.get("content"), time, tally)
    elif role == "assistant":
        yield from reply(message, time, tally)
    elif role in ("tool", "function"):
        call_id = message.get("tool_call_id", message.get("name"))
        yield event("tool_result", time, content=text_of(message.get("content"), tally), call_id=call_id)
    elif role in ("system", "developer"):
        tally.left_out(f"message of role {role}")
    else:
        tally.unread(f"message of unknown role {role!r}")


def reply(message, time, tally):
    key = f"{tally.place}"
    content = message.get("content")
    for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "output_text") and isinstance(block.get("text"), str):
            if block["text"].strip():
                yield event("assistant", time, content=block["text"], reply_key=key)
        elif kind == "tool_use":
            yield event(
                "tool_call",
                time,
                name=block.get("name"),
                arguments=arguments(block.get("input")),
                call_id=block.get("id"),
                reply_key=key,
            )
        elif kind in ("thinking", "redacted_thinking", "reasoning", "refusal"):
            tally.left_out(kind)
        else:
            tally.unread(f"assistant block of unknown type {kind!r}")
    calls = message.get("tool_calls") or []
    if message.get("function_call"):
        calls = [{"id": message["function_call"].get("name"), "function": message["function_call"]}]
    for call in calls:
        function = call.get("function") or call.get("custom") or {}
        yield event(
            "tool_call",
            time,
            name=function.get("name"),
            call_id=call.get("id"),
            reply_key=key,
            arguments=arguments(function.get("arguments", function.get("input"))),
        )


def user_blocks(content, time, tally):
    """A user message: results of calls first, then the user's words, joined; files and images are counted."""
    words = []
    for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "input_text") and isinstance(block.get("text"), str):
            wrapped = WRAPPED.fullmatch(block["text"])
            own = wrapped.group(2).strip() if wrapped else own_words(block["text"])
            if own.strip():
                words.append(own)
            else:
                tally.left_out(
                    "text that the tool put under the user's role" if block["text"].strip() else "empty text"
                )
        elif kind == "tool_result":
            text = text_of(block.get("content"), tally)
            yield event("tool_result", time, content=text, call_id=block.get("tool_use_id"))
            denied = DENIED.match(text)
            if denied and denied.group(1).strip():
                yield event("user", time, content=denied.group(1).strip(), origin="refusal")
        elif kind in ("file", "image", "image_url", "document", "input_audio"):
            tally.left_out(f"{kind} from the user")
        else:
            tally.unread(f"user block of unknown type {kind!r}")
    if words:
        yield event("user", time, content="\n".join(words))


def gemini_events(messages, tally):
    for message in each(messages, tally):
        yield from whole(lambda message=message: gemini_message(message, tally), tally)


def gemini_message(message, tally):
    kind, time = message.get("type"), message.get("timestamp")
    if kind == "user":
        words = own_words(text_of(message.get("content"), tally))
        if words.strip():
            yield event("user", time, content=words)
        else:
            tally.left_out("empty text")
    elif kind == "gemini":
        key = message.get("id") or f"{tally.place}"
        text = text_of(message.get("content"), tally)
        if text.strip():
            yield event("assistant", time, content=text, reply_key=key)
        calls = message.get("toolCalls") or []
        for call in calls:
            yield event(
                "tool_call",
                call.get("timestamp", time),
                name=call.get("name"),
                call_id=call.get("id"),
                arguments=arguments(call.get("args")),
                reply_key=key,
            )
        for call in calls:
            if call.get("result") is not None:
                yield event(
                    "tool_result",
                    call.get("timestamp", time),
                    content=gemini_result(call["result"], tally),
                    call_id=call.get("id"),
                )
    elif kind in ("info", "error", "warning"):
        tally.left_out(f"{kind} message")
        if "cancelled" in str(message.get("content")).lower():
            yield event("interrupted")
    else:
        tally.unread(f"message of unknown type {kind!r}")


def gemini_result(result, tally):
    """The text of a call's result: functionResponse parts hold output or error."""
    parts = []
    for part in result if isinstance(result, list) else [result]:
        answer = part.get("functionResponse", {}).get("response") if isinstance(part, dict) else None
        if isinstance(answer, dict):
            answer = answer.get("output", answer.get("error", answer))
            parts.append(answer if isinstance(answer, str) else text_of(answer, tally) or str(answer))
        else:
            parts.append(text_of([part], tally))
    return "\n".join(parts)


def gemini_fold(records, tally):
    """One document of a Gemini CLI file of JSON lines: a line with the id of an earlier message replaces it."""
    messages = {}
    for _, record in records:
        patch = record.get("$set") if isinstance(record.get("$set"), dict) else record
        if "$rewindTo" in record:
            tally.note("turns that the user took back (still in the log)")
        elif isinstance(patch.get("messages"), list):
            if messages and patch["messages"]:
                tally.note("context that the tool replaced (messages so far stay in the log)")
            for message in patch["messages"]:
                if isinstance(message, dict):
                    messages[message.get("id", f"at {len(messages)}")] = message
        elif record.get("type") and "id" in record:
            messages[record["id"]] = record
        else:
            tally.left_out("header line" if "sessionId" in record or "$set" in record else "line of unknown shape")
    return {"projectHash": "", "messages": list(messages.values())}


def swe_events(value, tally):
    """A SWE-agent trajectory: its history, or where that is missing its steps (action and observation)."""
    if not isinstance(value.get("history"), list):
        yield from swe_steps(value.get("trajectory"), tally)
        return
    state = {"call": None}  # id of a command whose output comes next, in the form that has no ids
    for message in each(value["history"], tally):
        yield from whole(lambda message=message: swe_message(message, state, tally), tally)


def swe_message(message, state, tally):
    role, before = message.get("role"), state["call"]
    if message.get("is_demo"):
        tally.left_out("demonstration")
        return
    state["call"] = None
    if role == "assistant" and not message.get("tool_calls") and message.get("action"):
        text = text_of(message.get("content"), tally)
        if text.strip():
            yield event("assistant", content=text)
        state["call"] = f"step {tally.place}"
        yield event("tool_call", name="command", arguments=message["action"], call_id=state["call"])
    elif role == "user" and before is not None:  # the older form puts what a command printed under the user's role
        yield event("tool_result", content=text_of(message.get("content"), tally), call_id=before)
    elif role == "tool":
        call_id = (message.get("tool_call_ids") or [message.get("tool_call_id")])[0]
        yield event("tool_result", content=text_of(message.get("content"), tally), call_id=call_id)
    else:
        yield from chat_message(message, tally)


def swe_steps(steps, tally):
    for step in each(steps, tally):
        yield from whole(lambda step=step: swe_step(step, tally), tally)


def swe_step(step, tally):
    thought = step.get("thought") or step.get("response")
    if isinstance(thought, str) and thought.strip():
        yield event("assistant", content=thought)
    if step.get("action"):
        yield event("tool_call", name="command", arguments=step["action"], call_id=f"step {tally.place}")
        yield event("tool_result", content=text_of(step.get("observation"), tally), call_id=f"step {tally.place}")
