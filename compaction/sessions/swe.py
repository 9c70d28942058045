"""Events of runs of SWE-agent (.traj) and mini-swe-agent (.traj.json): one task, then commands and their output.

Forms without tool calls put what a command printed under the
user's role: there only the first user message, the task, is a turn. Places in the tally are numbers of messages or
steps.
"""

import re

from compaction.sessions.chat import chat_message
from compaction.sessions.log import each, event, text_of, whole

SPOKE = re.compile(  # how mini-swe-agent hands on what a person said who sat before it
    r"\s*(?:Commands? not executed\. The user rejected your commands? with(?: the following message)?|"
    r"Interrupted by user|The user added a new task):\s*(.*)",
    re.DOTALL,
)
RAN = re.compile(r"\s*User command:\s*```\w*\n(.*?)\n?```", re.DOTALL)
COMMAND = re.compile(r"```(?:\w*)\n(.*?)\n?```|<mswea_bash_command>(.*?)</mswea_bash_command>", re.DOTALL)


def format_of(value):
    """Which of the two tools wrote a document, or None."""
    if isinstance(value.get("trajectory"), list) or isinstance(value.get("history"), list) and "info" in value:
        return "SWE-agent"
    mini = str(value.get("trajectory_format")).startswith("mini-swe-agent")
    return "mini-swe-agent" if mini and isinstance(value.get("messages"), list) else None


def events(value, tally):
    """Raw events of a run: its messages, or where none were kept its steps (action and observation)."""
    messages = value.get("messages") if format_of(value) == "mini-swe-agent" else value.get("history")
    if not isinstance(messages, list):
        for step in each(value.get("trajectory"), tally):
            yield from whole(lambda step=step: step_events(step, tally), tally)
        return
    state = {"call": None, "task": False}  # id of a command whose output comes next; whether the task was given
    for message in each(messages, tally):
        yield from whole(lambda message=message: message_events(message, state, tally), tally)


def message_events(message, state, tally):
    role, before = message.get("role"), state["call"]
    if message.get("is_demo"):
        tally.left_out("demonstration")
        return
    state["call"] = None
    if role == "user" and state["task"] and isinstance(message.get("content"), str):
        spoke, ran = SPOKE.match(message["content"]), RAN.match(message["content"])
        if ran or spoke and spoke.group(1).strip():
            words = ran.group(1) if ran else spoke.group(1).strip()
            yield event("user", content=words, origin="shell" if ran else "refusal")
            return
    if role == "assistant" and not message.get("tool_calls") and commands(message):
        yield from command_events(message, state, tally)
    elif role == "user" and before is not None:
        yield event("tool_result", content=text_of(message.get("content"), tally), call_id=before)
    elif role == "tool":
        call_id = (message.get("tool_call_ids") or [message.get("tool_call_id")])[0]
        yield event("tool_result", content=text_of(message.get("content"), tally), call_id=call_id)
    elif role == "exit" or role == "user" and state["task"]:
        # Told how the run ended, or that a reply held no command: by the tool, since nobody sits before it.
        tally.left_out("text that the tool put under the user's role" if role == "user" else "message of role exit")
    else:
        state["task"] = state["task"] or role == "user"
        yield from chat_message(message, tally)


def commands(message):
    """The commands of a reply without tool calls: as the tool took them, else the block of code in the text."""
    if message.get("action"):
        return [message["action"]]
    extra = message.get("extra") if isinstance(message.get("extra"), dict) else {}
    taken = [a.get("command") for a in extra.get("actions") or [] if isinstance(a, dict) and a.get("command")]
    if taken or "actions" in extra or not isinstance(message.get("content"), str):
        return taken
    return (
        [found[0] or found[1] for found in COMMAND.findall(message["content"])][:1] if "thought" not in message else [])


def command_events(message, state, tally):
    text, key = text_of(message.get("content"), tally), f"{tally.place}"
    if text.strip():
        yield event("assistant", content=text, reply_key=key)
    for number, command in enumerate(commands(message)):
        state["call"] = f"step {tally.place}" + (f".{number}" if number else "")
        yield event("tool_call", name="command", arguments=command, call_id=state["call"], reply_key=key)


def step_events(step, tally):
    thought, key = step.get("thought") or step.get("response"), f"step {tally.place}"
    if isinstance(thought, str) and thought.strip():
        yield event("assistant", content=thought, reply_key=key)
    if step.get("action"):
        yield event("tool_call", name="command", arguments=step["action"], call_id=key, reply_key=key)
        yield event("tool_result", content=text_of(step.get("observation"), tally), call_id=key)
