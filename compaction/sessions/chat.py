"""Events of chat messages: OpenAI's fields, and content blocks as Cline and Anthropic's form have them.

Where the messages are Cline's, sessions/cline.py finds
calls and results that are written as text, and the user's words among them. Places in the tally are numbers of
messages.
"""

from compaction.sessions.cline import Written, is_cline, spoken_in, words_of
from compaction.sessions.codex import arguments
from compaction.sessions.log import CONTINUED, compaction, each, event, text_of, whole


def chat_events(messages, tally):
    """Raw events of a list of chat messages."""
    written = Written() if isinstance(messages, list) and is_cline(messages) else None
    for message in each(messages, tally):
        yield from whole(lambda message=message: chat_message(message, tally, written), tally)


def chat_message(message, tally, written=None):
    role, time = message.get("role"), message.get("ts", message.get("timestamp", message.get("created_at")))
    if role == "user":
        yield from user_message(message.get("content"), time, tally, written)
        for _ in message.get("tool_calls") or []:  # tau2-bench lets its simulated user call tools
            tally.left_out("call that the user made")
    elif role == "assistant":
        yield from reply(message, time, tally, written)
    elif role in ("tool", "function"):
        for answer in message.get("tool_messages") or [message]:  # tau2-bench puts several answers into one message
            if answer.get("requestor") == "user":
                tally.left_out("result of a call that the user made")
                continue
            call_id = answer.get("tool_call_id", answer.get("id", answer.get("name")))
            yield event("tool_result", time, content=text_of(answer.get("content"), tally), call_id=call_id)
    elif role in ("system", "developer"):
        tally.left_out(f"message of role {role}")
    else:
        tally.unread(f"message of unknown role {role!r}")


def blocks_of(content):
    if isinstance(content, list):
        return [{"type": "text", "text": b} if isinstance(b, str) else b for b in content]
    return [{"type": "text", "text": content or ""}]


def reply(message, time, tally, written):
    key = f"{tally.place}"
    for field in ("reasoning", "reasoning_content", "thinking_blocks", "refusal"):
        if message.get(field):
            tally.left_out(field)
    for block in blocks_of(message.get("content")):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "output_text") and isinstance(block.get("text"), str):
            if written is not None:
                yield from written.reply(block["text"], key, time)
            elif block["text"].strip():
                yield event("assistant", time, content=block["text"], reply_key=key)
        elif kind == "tool_use":
            given = arguments(block.get("input"))
            yield event(
                "tool_call", time, name=block.get("name"), arguments=given, call_id=block.get("id"), reply_key=key)
        elif kind in ("thinking", "redacted_thinking", "reasoning", "refusal"):
            tally.left_out(kind)
        else:
            tally.unread(f"assistant block of unknown type {kind!r}")
    yield from calls(message, time, key)


def calls(message, time, key):
    """The calls of a message; tau2-bench writes name and arguments without `function` around them."""
    made = list(message.get("tool_calls") or [])
    if message.get("function_call"):
        made.append({"id": message["function_call"].get("name"), "function": message["function_call"]})
    for call in made:
        function = call.get("function") or call.get("custom") or call
        given = arguments(function.get("arguments", function.get("input")))
        yield event(
            "tool_call", time, name=function.get("name"), call_id=call.get("id"), reply_key=key, arguments=given)


def user_message(content, time, tally, written):
    """A user message: results of calls first, then the user's words, joined; files and images are counted."""
    texts = []
    for block in blocks_of(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "input_text") and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif kind == "tool_result":
            text = text_of(block.get("content"), tally)
            yield event("tool_result", time, content=text, call_id=block.get("tool_use_id"))
            yield from refusal(spoken_in(text), time)
        elif kind in ("file", "image", "image_url", "document", "input_audio", "input_image", "input_file"):
            tally.left_out(f"{kind} from the user")
        else:
            tally.unread(f"user block of unknown type {kind!r}")
    if written is not None:
        texts, results = written.results(texts)
        for call_id, tool, text in results:
            yield event("tool_result", time, content=text, call_id=call_id)
            yield from refusal(spoken_in(text, tool), time)
    yield from spoken(texts, time, tally, written is not None)


def refusal(words, time):
    if words.strip():
        yield event("user", time, content=words, origin="refusal")


def spoken(texts, time, tally, cline):
    """The user's words in the text blocks of one message as one turn, and a summary under the user's role."""
    words = []
    for text in texts:
        own = words_of(text, cline)
        if text.startswith(CONTINUED):
            yield compaction(text, time)
        elif own.strip():
            words.append(own)
        else:
            tally.left_out("text that the tool put under the user's role" if text.strip() else "empty text")
    if words:
        yield event("user", time, content="\n".join(words))
