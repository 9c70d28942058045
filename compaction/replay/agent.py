"""Let an agent go on from a context: the next user turns, then each probe, with recorded tool results.

agent  (task, transcript) -> {"kind": "call", "tool", "args"} or {"kind": "final", "text"}; task is {"messages",
       "tools"}: the request so far, the user's message last, and the tool declarations; transcript as in modelkit.tools
run    {"calls": [[name, arguments], ...], "answers": [text or None, ...], "checks": {item id: verdict}, "probe_calls":
       {item id: calls}}: calls and answers are those of the user turns; an accepted trace has no probe_calls
"""

import json

from compaction.fixtures.items import check
from modelkit.tools import run_agent
from strategies import turn_messages

STEPS = 6  # calls and answers to one user message
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def recorded_tools(history):
    """The registry of a conversation's tools: each gives what was recorded for equal arguments, else says so."""
    results, recorded, asked = {}, {}, {}  # asked: the function of each call by its id
    for message in (message for turn in history for message in turn.get("messages", ())):
        for call in message.get("tool_calls", ()):
            function = asked[call.get("id")] = call["function"]
            recorded.setdefault(function["name"], []).append(function["arguments"])
        if message["role"] == "tool":
            function = asked[message.get("tool_call_id")]
            results[call_key(function["name"], function["arguments"])] = message["content"]
    return {name: recorded_tool(name, calls, results) for name, calls in recorded.items()}


def recorded_tool(name, calls, results):
    """One tool: the arguments that every recorded call of it had, and their types in the last one."""
    always = set.intersection(*map(set, calls))

    def run(**arguments):
        if (key := call_key(name, arguments)) not in results:
            raise LookupError("nothing was recorded for this call; go on without it")
        return results[key]

    types = {key: type(value) for key, value in calls[-1].items() if key in always and type(value) in TYPES}
    return {"args": types, "run": run}


def call_key(name, arguments):
    """The key under which equal calls meet."""
    return name, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


def declarations(tools):
    """The registry as OpenAI tool declarations."""
    return [{"type": "function", "function": {
                "name": name, "description": f"The {name} tool of the recorded session.", "parameters": {
                    "type": "object", "properties": {key: {"type": TYPES[kind]} for key, kind in tool["args"].items()},
                    "required": list(tool["args"])}}}
            for name, tool in tools.items()]


def go_on(messages, later, items, fixture, agent, judge):
    """The run of an agent from `messages`, a user's last: the user turns `later`, then each item's probe."""
    *messages, current = messages
    tools, run = recorded_tools(fixture["history"]), {"calls": [], "answers": [], "checks": {}, "probe_calls": {}}

    def say(user, prefix):
        """(the messages, what the agent did appended; its answer or None; its calls, refused ones too)."""
        said = [*messages, {"role": "user", "content": user}]
        done = run_agent({"messages": said, "tools": declarations(tools)}, agent, tools, STEPS)
        said = [*said, *transcript_messages(done["transcript"], prefix)]
        if done["answer"]:
            said.append({"role": "assistant", "content": done["answer"]})
        return said, done["answer"], [[call["tool"], call["args"]] for call in done["transcript"]]

    for number, user in enumerate([current["content"], *later]):
        messages, answer, calls = say(user, f"r{number}")
        run["answers"].append(answer)
        run["calls"] += calls
    for item in items:
        (*_, last), answer, run["probe_calls"][item["id"]] = say(item["probe"], "p")
        copies = getattr(agent, "extractive", False)  # it answers in the context's words or not at all
        run["checks"][item["id"]] = "unjudged" if not (answer or "").strip() else check(
            item, fixture["history"], {"messages": [last]}, extractive=copies, judge=judge)["verdict"]
    return run


def transcript_messages(transcript, prefix):
    """A transcript as tool calls and their results, as a template takes them whatever the model called."""
    messages = []
    for place, done in enumerate(transcript, 1):
        function = {"name": str(done["tool"]), "arguments": done["args"] if isinstance(done["args"], dict) else {}}
        call = {"id": f"{prefix}-{place}", "type": "function", "function": function}
        messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": call["id"], "content": done["result"]}]
    return messages


def model_agent(ask):
    """An agent behind a model: `ask(messages, tools)` -> an entry (answers/recording.py), which may be incomplete."""

    def agent(task, transcript):
        entry = ask([*task["messages"], *transcript_messages(transcript, "t")], task["tools"])
        if "incomplete" in entry or not entry["tool_calls"]:  # incomplete: unjudged, neither right nor wrong
            return {"kind": "final", "text": "" if "incomplete" in entry else entry["answer"]}
        function = entry["tool_calls"][0].get("function")
        function = function if isinstance(function, dict) else {}
        return {"kind": "call", "tool": str(function.get("name")), "args": function.get("arguments")}

    return agent


def recorded_run(fixture, turn, steps, items):
    """The accepted trace in a run's form: what was recorded from `turn` on; every check counts as passed."""
    turns = fixture["history"][turn - 1 : turn - 1 + steps]
    calls = [call["function"] for played in turns for message in turn_messages(played)
             for call in message.get("tool_calls", ())]
    return {"calls": [[call["name"], call["arguments"]] for call in calls],
            "answers": [turn["assistant"] for turn in turns],
            "checks": {item["id"]: "accepted" for item in items}, "probe_calls": None}
