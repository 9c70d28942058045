"""Events of sessions of pi and of Copilot CLI, which both write JSON lines with a message or an event on each.

Not a script: import_sessions.py picks by content.
"""

from compaction.session_codex import arguments
from compaction.session_log import compaction, event, own_words, text_of, whole

PI_QUIET = {
    "session",
    "model_change",
    "thinking_level_change",
    "label",
    "session_info",
    "custom",
    "branch_summary",
    "queue",
    "active_tools_change",
    "leaf",
}
COPILOT_QUIET = (
    "hook.",
    "session.",
    "permission.",
    "subagent.",
    "skill.",
    "system.",
    "pending_messages.",
    "model.",
    "mcp.",
    "user_input.",
    "external_tool.",
    "command.",
    "elicitation.",
    "exit_plan_mode.",
    "capabilities.",
    "commands.",
    "sampling.",
    "auto_mode_switch.",
)
COPILOT_KNOWN = {
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.intent",
    "assistant.usage",
    "assistant.idle",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.streaming_delta",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.user_requested",
}


def pi_is_record(value):
    kind = value.get("type")
    if kind == "session":
        return "cwd" in value and "id" in value
    return (
        kind == "message"
        and isinstance(value.get("message"), dict)
        and "role" in value["message"]
        and "uuid" not in value
        and "sessionId" not in value
        or kind in PI_QUIET | {"compaction"}
        and "timestamp" in value
    )


def pi_session_id(record):
    return record.get("id") if record.get("type") == "session" else None


def pi_identity(record):
    """The whole line: ids are short in this tool and missing in its first version, times are in milliseconds."""
    return record


def pi_events(records, tally):
    """Yield raw events of one pi session's records, [(line, record)]."""
    kept = []  # (id, events) of each line, for the messages that a compaction keeps beside its summary
    for _, record in records:
        found = whole(lambda record=record: pi_line(record, kept, tally), tally)
        kept.append((record.get("id"), found))
        yield from found


def pi_line(record, kept, tally):
    kind, time = record.get("type"), record.get("timestamp")
    if kind == "message":
        yield from pi_message(record["message"], time, tally)
    elif kind == "compaction":
        summary = record.get("summary")
        if isinstance(summary, str) and summary.strip():
            left = as_messages(pi_left(kept, record))
            yield compaction(summary, time, [{"role": "user", "content": summary}, *left])
        else:
            tally.note("compaction without a summary")
            yield compaction(None, time)
    elif kind == "custom_message":
        tally.left_out("text that the tool put under the user's role")
    elif kind in PI_QUIET:
        tally.left_out(f"{kind} line")
        if kind == "session" and (record.get("branchedFrom") or record.get("parentSession")):
            tally.note("fork of a session: lines older than this one were copied from it")
    else:
        tally.unread(f"line of unknown type {kind!r}")


def pi_message(message, time, tally):
    role, content = message.get("role"), message.get("content")
    if role == "user":
        words = own_words(text_of(content, tally))
        if words.strip():
            yield event("user", time, content=words)
        else:
            tally.left_out("empty text")
    elif role == "assistant":
        yield from pi_reply(content, time, tally)
        if message.get("stopReason") in ("aborted", "error"):
            tally.note(f"reply that ended as {message['stopReason']}")
            yield event("interrupted")
    elif role == "toolResult":
        yield event("tool_result", time, content=text_of(content, tally), call_id=message.get("toolCallId"))
    elif role == "bashExecution":
        yield event("user", time, content=str(message.get("command", "")), origin="shell")
        tally.left_out("output of a command that the user ran")
    elif role in ("custom", "hookMessage", "branchSummary", "compactionSummary"):
        tally.left_out("text that the tool put under the user's role")
    else:
        tally.unread(f"message of unknown role {role!r}")


def pi_reply(content, time, tally):
    key = f"{tally.place}"
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            if block["text"].strip():
                yield event("assistant", time, content=block["text"], reply_key=key)
            else:
                tally.left_out("empty text")
        elif kind == "toolCall":
            yield event(
                "tool_call",
                time,
                name=block.get("name"),
                arguments=arguments(block.get("arguments")),
                call_id=block.get("id"),
                reply_key=key,
            )
        elif kind == "thinking":
            tally.left_out("thinking")
        else:
            tally.unread(f"assistant block of unknown type {kind!r}")


def pi_left(kept, record):
    """The events of the lines that a compaction kept word for word: from the first kept entry on."""
    first, index = record.get("firstKeptEntryId"), record.get("firstKeptEntryIndex")
    if first is not None:
        index = next((n for n, (line_id, _) in enumerate(kept) if line_id == first), len(kept))
    if not isinstance(index, int) or isinstance(index, bool):
        index = len(kept)
    return [found for _, events in kept[max(index, 0) :] for found in events]


def as_messages(events):
    """Raw events as chat messages; calls and results keep their ids, other kinds are left out."""
    messages = []
    for found in events:
        kind = found["kind"]
        if kind in ("user", "assistant"):
            messages.append({"role": kind, "content": found["content"]})
        elif kind == "tool_call":
            given = found["arguments"] if isinstance(found["arguments"], dict) else {"input": found["arguments"]}
            call = {
                "id": str(found["call_id"]),
                "type": "function",
                "function": {"name": str(found["name"]), "arguments": given},
            }
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "tool_result":
            messages.append({"role": "tool", "tool_call_id": str(found["call_id"]), "content": found["content"]})
    return messages


def copilot_is_record(value):
    return isinstance(value.get("data"), dict) and "." in str(value.get("type")) or value.get("type") == "abort"


def copilot_session_id(record):
    return (record.get("data") or {}).get("sessionId") if record.get("type") == "session.start" else None


def copilot_identity(record):
    return record.get("id")


def copilot_events(records, tally):
    """Yield raw events of one Copilot CLI session's records, [(line, record)]."""
    called = set()  # ids of calls told by the message that made them, which an execution_start tells again
    for _, record in records:
        yield from whole(lambda record=record: copilot_line(record, called, tally), tally)


def copilot_line(record, called, tally):
    kind, data, time = str(record.get("type")), record.get("data") or {}, record.get("timestamp")
    if data.get("parentToolCallId") or record.get("agentId") or data.get("agentId"):
        tally.left_out("event of a sub-agent")
    elif kind == "user.message":
        yield from copilot_user(data, time, tally)
    elif kind == "assistant.message":
        key = data.get("messageId") or record.get("id")
        if str(data.get("content") or "").strip():
            yield event("assistant", time, content=data["content"], reply_key=key)
        for call in data.get("toolRequests") or []:
            called.add(call.get("toolCallId"))
            yield event(
                "tool_call",
                time,
                name=call.get("name"),
                arguments=arguments(call.get("arguments")),
                call_id=call.get("toolCallId"),
                reply_key=key,
            )
    elif kind == "tool.execution_start":
        if data.get("toolCallId") in called:
            tally.left_out("tool.execution_start of a call already told")
        else:
            yield event(
                "tool_call",
                time,
                name=data.get("toolName"),
                arguments=arguments(data.get("arguments")),
                call_id=data.get("toolCallId"),
            )
    elif kind == "tool.execution_complete":
        answer = data.get("result") if data.get("result") is not None else data.get("error")
        if isinstance(answer, dict):
            answer = answer.get("content", answer.get("message", ""))
        yield event("tool_result", time, content=text_of(answer, tally), call_id=data.get("toolCallId"))
    elif kind == "session.compaction_complete":
        if data.get("success") is False:
            tally.left_out("compaction that failed")
        else:
            summary = data.get("summaryContent")
            yield compaction(summary if isinstance(summary, str) and summary.strip() else None, time)
    elif kind == "abort":
        tally.left_out("mark of an interruption")
        yield event("interrupted")
    elif kind.startswith(COPILOT_QUIET) or kind in COPILOT_KNOWN:
        tally.left_out(kind)
    else:
        tally.unread(f"event of unknown type {kind!r}")


def copilot_user(data, time, tally):
    """`source` tells what was injected; the plain content of the others is what was typed."""
    words = data.get("content")
    words = own_words(words) if isinstance(words, str) else text_of(words, tally)
    if data.get("source") not in (None, "user") or not words.strip():
        tally.left_out("text that the tool put under the user's role")
        return
    for _ in data.get("attachments") or []:
        tally.left_out("attachment from the user")
    yield event("user", time, content=words)
