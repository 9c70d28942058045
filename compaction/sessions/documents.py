"""What a file that is one JSON document (or JSON lines of chat messages) holds, and the conversations in it.

sessions/gemini.py, sessions/swe.py and sessions/chat.py read
them.
"""

from compaction.sessions import chat, codex, gemini, swe
from compaction.sessions.cline import is_cline
from compaction.sessions.log import each


def document_format(value):
    """The name of the format that a whole JSON document has, or None."""
    if isinstance(value, list):
        return list_format(value)
    if not isinstance(value, dict):
        return None
    if swe.format_of(value):
        return swe.format_of(value)
    if gemini.is_session(value):
        return "Gemini CLI"
    if isinstance(value.get("items"), list) and isinstance(value.get("session"), dict):
        return "Codex"
    if any(isinstance(s, dict) and isinstance(s.get("messages"), list) for s in simulations(value)):
        return "OpenAI messages"
    messages = chat_of(value)
    if not is_chat(messages):
        return None
    if isinstance(value.get("chatMessages"), list):
        return "Copilot CLI"
    return "Cline SDK" if "sessionId" in value or "agent" in value or is_cline(messages) else "OpenAI messages"


def list_format(value):
    first = next((v for v in value if isinstance(v, dict)), {})
    if gemini.is_contents(value):
        return "Gemini CLI"
    if is_chat(value):
        return "Cline SDK" if is_cline(value) else "OpenAI messages"
    return "OpenAI messages" if isinstance(chat_of(first), list) else None


def is_chat(value):
    return isinstance(value, list) and any(isinstance(m, dict) and "role" in m for m in value)


def chat_of(value):
    """The list of chat messages in an object, under whichever name a tool has for it."""
    found = (value.get(name) for name in ("messages", "traj", "chatMessages", "apiConversationHistory"))
    return next((messages for messages in found if isinstance(messages, list)), None)


def simulations(value):
    """The runs of a tau2-bench result."""
    found = value.get("simulations")
    return found if isinstance(found, list) else []


def document_id(value):
    if not isinstance(value, dict):
        return None
    session = value.get("session")
    found = session.get("id") if isinstance(session, dict) else value.get("sessionId")
    return found if isinstance(found, str) else None


def conversations(value, format_name):
    """[(suffix of the conversation id, function (tally) -> raw events)] of a document of a known format."""
    if format_name == "Gemini CLI":
        return [("", lambda tally: gemini.events(value, tally))]
    if format_name in ("SWE-agent", "mini-swe-agent"):
        return [("", lambda tally: swe.events(value, tally))]
    if format_name == "Codex":
        return [("", lambda tally: codex.events(((None, i) for i in each(value["items"], tally)), tally))]
    entries = simulations(value) if isinstance(value, dict) else value
    if isinstance(value, dict) and not entries:
        return [("", lambda tally: chat.chat_events(chat_of(value), tally))]
    if is_chat(entries):
        return [("", lambda tally: chat.chat_events(entries, tally))]
    return [
        (suffix(entry, n), lambda tally, entry=entry: entry_events(entry, tally)) for n, entry in enumerate(entries)]


def entry_events(entry, tally):
    return chat.chat_events(chat_of(entry) if isinstance(entry, dict) else None, tally)


def suffix(entry, position):
    """Task and position in the file, as tau-bench results need it: the same task stands there several times."""
    task = entry.get("task_id") if isinstance(entry, dict) else None
    return f"-{position}" if task is None else f"-{task}-{position}"
