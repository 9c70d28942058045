"""Events of a Copilot CLI session (events.jsonl): one event a line, a reply with its calls in assistant.message.

`source` tells which user.message was injected. Sub-agents' events
stand among the others and are left out; what the user took back or cleared stays in the log and is noted.
"""

from compaction.sessions.codex import arguments
from compaction.sessions.log import compaction, event, own_words, text_of, whole

QUIET = tuple(
    "hook. session. permission. subagent. skill. system. pending_messages. model. mcp. user_input. external_tool. "
    "command. elicitation. exit_plan_mode. capabilities. commands. sampling. auto_mode_switch. auto_mode. "
    "managed_settings. custom_notification. session_limits_exhausted. factory. tool_search. extensions. "
    "assistant.turn_ assistant.fusion_ assistant.message_ assistant.reasoning assistant.streaming_ "
    "assistant.tool_call_delta assistant.server_tool_".split())
KNOWN = set("assistant.intent assistant.usage assistant.idle tool.execution_partial_result tool.execution_progress "
            "tool.user_requested".split())


def is_record(value):
    return isinstance(value.get("data"), dict) and "." in str(value.get("type")) or value.get("type") == "abort"


def session_id(record):
    return (record.get("data") or {}).get("sessionId") if record.get("type") == "session.start" else None


def identity(record):
    return record.get("id")


def events(records, tally):
    """Yield raw events of one session's records, [(line, record)]."""
    called = set()  # ids of calls told by the message that made them, which an execution_start tells again
    for _, record in records:
        yield from whole(lambda record=record: line(record, called, tally), tally)


def line(record, called, tally):
    kind, data, time = str(record.get("type")), record.get("data") or {}, record.get("timestamp")
    if data.get("parentToolCallId") or record.get("agentId") or data.get("agentId"):
        tally.left_out("event of a sub-agent")
    elif kind == "user.message":
        yield from user(data, time, tally)
    elif kind == "assistant.message":
        yield from reply(data, data.get("messageId") or record.get("id"), time, called, tally)
    elif kind == "tool.execution_start":
        if data.get("toolCallId") in called:
            tally.left_out("tool.execution_start of a call already told")
        else:
            yield call(data.get("toolName"), data, time)
    elif kind == "tool.execution_complete":
        answer = data.get("result") if data.get("result") is not None else data.get("error")
        if isinstance(answer, dict):
            answer = answer.get("content", answer.get("message", ""))
        yield event("tool_result", time, content=text_of(answer, tally), call_id=data.get("toolCallId"))
    elif kind == "abort":
        tally.left_out("mark of an interruption")
        yield event("interrupted")
    elif kind.startswith("session."):
        yield from session(kind, data, time, tally)
    elif kind.startswith(QUIET) or kind in KNOWN:
        tally.left_out(kind)
        if kind in ("user_input.completed", "elicitation.completed", "exit_plan_mode.completed"):
            tally.note("answers of the user outside a message")
    else:
        tally.unread(f"event of unknown type {kind!r}")


def reply(data, key, time, called, tally):
    text = text_of(data.get("content"), tally)
    if data.get("reasoningText") or data.get("reasoningOpaque"):
        tally.left_out("thinking")
    if text.strip():
        yield event("assistant", time, content=text, reply_key=key)
    for request in data.get("toolRequests") or []:
        called.add(request.get("toolCallId"))
        yield call(request.get("name"), request, time, reply_key=key)


def call(name, data, time, **fields):
    given = arguments(data.get("arguments"))
    return event("tool_call", time, name=name, arguments=given, call_id=data.get("toolCallId"), **fields)


def session(kind, data, time, tally):
    """Compactions, and what else changed the context without a summary."""
    if kind == "session.compaction_complete" and data.get("success") is not False:
        summary = data.get("summaryContent")
        yield compaction(summary if isinstance(summary, str) and summary.strip() else None, time)
        return
    tally.left_out("compaction that failed" if kind == "session.compaction_complete" else kind)
    if kind == "session.snapshot_rewind":
        tally.note("turns that the user took back (still in the log)")
        yield event("interrupted")
    elif kind == "session.context_cleared":
        tally.note("context that the user cleared (messages so far stay in the log)")
    elif kind == "session.truncation" and data.get("messagesRemovedDuringTruncation"):
        tally.note("messages that the tool dropped from the context without a summary")


def user(data, time, tally):
    """`source` tells what was injected; the plain content of the others is what was typed."""
    for _ in data.get("attachments") or []:
        tally.left_out("attachment from the user")
    words = own_words(text_of(data.get("content"), tally))
    if data.get("source") not in (None, "user") or not words.strip():
        tally.left_out("text that the tool put under the user's role")
    else:
        yield event("user", time, content=words)
