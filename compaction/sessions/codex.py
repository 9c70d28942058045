"""Events of a Codex session (rollout file): response items, and event_msg lines that say what the user typed.

A user turn is an event_msg user_message; response items under the user's role that none of those repeats are
AGENTS.md, the environment or other agents' orders. A fork or sub-agent begins with its parent's history, the times
rewritten: lines before the first turn id that is not older than its own id.
"""

import json
import re

from compaction.sessions.content import arguments, said_by_model, said_by_person, text_of
from compaction.sessions.log import SHAPE_ERRORS, attempt, compaction, event

LINES = "session_meta response_item event_msg turn_context compacted world_state inter_agent_communication".split()
CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action",
         "web_search_call": "action", "tool_search_call": "arguments", "image_generation_call": "revised_prompt"}
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")
# What the response items tell again, or what is no part of the conversation: kinds of event_msg by how they begin.
QUIET = re.compile(
    r"(?:agent_(?:message|reasoning)|token_count|task_|turn_(?:started|complete|diff)|exec_command_|patch_apply_|"
    r"web_search_|mcp_tool_call_|plan_update|session_configured|background_event|stream_error|error|warning|entered_|"
    r"exited_|item_|thread_(?:name|settings|goal)|view_image|image_generation|collab_|sub_agent|guardian_|dynamic_tool|"
    r"hook_|model_reroute|undo_|deprecation|shutdown|terminal_)")


def is_record(value):
    return value.get("type") in LINES and isinstance(value.get("payload"), dict)


def line_key(record):
    """Lines have no ids: the time in milliseconds and all the rest must be equal. What says nothing of the conversation
    has none: a redacted thought or a token count is often equal to another."""
    payload = record.get("payload")
    return None if isinstance(payload, dict) and payload.get("type") in ("reasoning", "token_count") else record


class Reader:
    def __init__(self, tally):
        self.tally = tally
        self.own_id = None
        self.by_agent = False  # whether an agent gives the orders of this session
        self.in_copy = self.parent_read = False  # whether a fork's copied history has not ended; its parent was read
        self.typed_seen = False  # an event_msg user_message was seen: then only those are turns
        self.waiting = []  # (time, words, line) of user-role items that no user_message has confirmed yet
        self.compacted_before = False
        self.asked = set()  # call ids of questions to the user

    def events(self, records):
        """Yield raw events of one session's records."""
        for record in records:
            yield from attempt(self.tally, self.read, record)
        yield from self.flush()

    def read(self, record):
        kind, payload, time = record.get("type"), record.get("payload"), record.get("timestamp")
        if not is_record(record):
            self.tally.unread(f"line of unknown type {kind!r}")
            return
        self.place(kind, payload)
        read = {"response_item": self.item, "event_msg": self.message, "compacted": self.compacted}.get(kind)
        if read:
            yield from read(payload, time)
        else:
            self.tally.left_out(f"{kind} line")

    def place(self, kind, payload):
        """Take the session's own id from its first header, and see whether a fork's copied history has ended."""
        if kind == "session_meta" and self.own_id is None:
            source = payload["source"] if isinstance(payload.get("source"), dict) else {}
            agent = source["subagent"] if isinstance(source.get("subagent"), dict) else {}
            self.own_id, self.by_agent = payload.get("id"), "subagent" in source
            parent = payload.get("forked_from_id") or (agent.get("thread_spawn") or {}).get("parent_thread_id")
            self.in_copy, self.parent_read = parent is not None, str(parent).lower() in self.tally.known_sessions
            if self.in_copy:
                read = "was read too" if self.parent_read else "is not in this import"
                self.tally.note(f"fork of {parent}, which {read}")
        if kind == "session_meta" and payload.get("history_base"):
            self.tally.note("continues another file of its thread: turns count from 1 here again")
        if kind in ("event_msg", "turn_context") and str(payload.get("turn_id") or "") >= str(self.own_id):
            self.in_copy = False  # both are ids that begin with their time (UUID version 7)
        self.tally.copied = self.in_copy and self.parent_read

    def flush(self):
        """The waiting user-role items: turns only in files that have no user_message lines at all."""
        waiting, self.waiting = self.waiting, []
        for time, words, place in waiting:
            if self.typed_seen:
                self.tally.left_out("text under the user's role that no user typed", place)
            else:
                self.tally.note("user turn without a user_message line", place)
                yield self.user(words, time)

    def user(self, words, time):
        return event("user", time, content=words, origin="agent" if self.by_agent and not self.in_copy else None)

    def item(self, payload, time):
        kind, role, call_id = payload.get("type"), payload.get("role"), payload.get("call_id")
        if kind == "message" and role != "assistant":  # no flush: it may stand between the user's item and its line
            if role != "user":
                self.tally.left_out(f"message of role {role}")
            elif words := said_by_person(text_of(payload.get("content"), self.tally), self.tally):
                self.waiting.append((time, words, self.tally.place))
                self.tally.told += 1  # it becomes an event with a later line
            return
        yield from self.flush()
        if kind == "message":
            yield from said_by_model(text_of(payload.get("content"), self.tally), time, None, self.tally)
        elif kind in CALLS:
            if "user_input" in str(payload.get("name")):
                self.asked.add(call_id)
            yield event("tool_call", time, name=payload.get("name") or kind.removesuffix("_call"),
                        arguments=arguments(payload.get(CALLS[kind])),
                        call_id=call_id or (payload.get("id") if kind == "local_shell_call" else None))
        elif kind in OUTPUTS:
            text = output(payload, self.tally)
            yield event("tool_result", time, content=text, call_id=call_id)
            if call_id in self.asked:
                yield event("user", time, content=answers(text), origin="answer")
        elif kind in ("reasoning", "ghost_snapshot", "agent_message", "additional_tools"):
            self.tally.left_out("message of another agent" if kind == "agent_message" else kind)
        elif kind in ("compaction", "compaction_summary", "context_compaction"):
            yield compaction(None, time)
        else:
            self.tally.unread(f"response item of unknown type {kind!r}")

    def message(self, payload, time):
        kind, text = payload.get("type"), payload.get("message")
        if kind == "user_message" and not isinstance(text, str):
            self.tally.unread("user_message without text")
        elif kind == "user_message":
            for _ in [*(payload.get("images") or []), *(payload.get("local_images") or [])]:
                self.tally.left_out("image from the user")
            if words := said_by_person(text, self.tally):  # they confirm the user-role item with the same words
                self.typed_seen = True
                for entry in [entry for entry in self.waiting if entry[1].strip() == words.strip()][-1:]:
                    self.waiting.remove(entry)
                yield from self.flush()
                yield self.user(words, time)
        elif kind == "context_compacted":
            if not self.compacted_before:
                yield compaction(None, time)
            self.compacted_before = False
            self.tally.left_out("context_compacted message")
        elif kind == "turn_aborted":
            self.tally.left_out("mark of an interruption")
            yield event("interrupted")
        elif kind == "thread_rolled_back":
            self.tally.note("turns that the user took back (still in the log)")
            yield event("interrupted")
        elif QUIET.match(str(kind)):
            self.tally.left_out(f"{kind} message")
        else:
            self.tally.unread(f"event_msg of unknown type {kind!r}")

    def compacted(self, payload, time):
        """A summary in clear, or (encrypted, or kept by the service) none: then only earlier messages can be read."""
        yield from self.flush()
        self.compacted_before = True
        history, summary = payload.get("replacement_history"), payload.get("message")
        history = [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []
        messages = [{"role": entry["role"], "content": text_of(entry.get("content"), self.tally)} for entry in history
                    if entry.get("type") == "message" and entry.get("role") in ("user", "assistant")]
        encrypted = any(entry.get("encrypted_content") for entry in history)
        summary = summary if isinstance(summary, str) and summary.strip() and not encrypted else None
        if summary and not history:
            self.tally.note("compaction that does not record which messages it kept beside its summary")
        if summary and not any(summary in message["content"] for message in messages):
            messages.append({"role": "user", "content": summary})
        yield compaction(summary, time, messages)


def answers(text):
    """What the user answered to the model: answers('{"answers": {"q1": {"answers": ["yes"]}}}') -> "yes"."""
    try:
        given = json.loads(text)["answers"].values()
        return "\n".join(str(words) for answer in given for words in answer["answers"])
    except SHAPE_ERRORS:
        return text


def output(payload, tally):
    value = payload.get("output", payload.get("tools"))
    if isinstance(value, dict):
        value = value.get("content", value.get("output", value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict) else text_of(value, tally)
