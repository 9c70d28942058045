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
    results, calls = {}, {}
    for turn in history:
        asked = {}
        for message in turn.get("messages", []):
            for call in message.get("tool_calls", []):
                asked[call["id"]] = call["function"]
                calls.setdefault(call["function"]["name"], []).append(call["function"]["arguments"])
            if message["role"] == "tool" and message["tool_call_id"] in asked:
                function = asked[message["tool_call_id"]]
                results[same(function["name"], function["arguments"])] = message["content"]
    return {name: tool(name, arguments, results) for name, arguments in calls.items()}


def tool(name, recorded, results):
    """One tool: the arguments that every recorded call of it had, and their types in the last one."""
    always = set.intersection(*map(set, recorded))
    types = {key: type(value) for key, value in recorded[-1].items() if key in always and type(value) in TYPES}

    def run(**arguments):
        if (key := same(name, arguments)) not in results:
            raise LookupError("nothing was recorded for this call; go on without it")
        return results[key]

    return {"args": types, "run": run}


def same(name, arguments):
    """The key under which equal calls meet."""
    return name, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


def declarations(tools):
    """The registry as OpenAI tool declarations."""
    declared = []
    for name, tool in tools.items():
        properties = {key: {"type": TYPES[kind]} for key, kind in tool["args"].items()}
        parameters = {"type": "object", "properties": properties, "required": list(tool["args"])}
        about = {"name": name, "description": f"The {name} tool of the recorded session.", "parameters": parameters}
        declared.append({"type": "function", "function": about})
    return declared


def go_on(messages, later, items, fixture, agent, judge):
    """The run of an agent from `messages`: the user turns `later`, then each item's probe from the state after them."""
    tools = recorded_tools(fixture["history"])
    run = {"calls": [], "answers": [], "checks": {}, "probe_calls": {}}

    def loop(messages):
        """What the agent did, and its calls: [name, arguments], in order, refused ones too."""
        done = run_agent({"messages": messages, "tools": declarations(tools)}, agent, tools, STEPS)
        return done, [[call["tool"], call["args"]] for call in done["transcript"]]

    for number, user in enumerate([None, *later]):
        messages = [*messages, *([{"role": "user", "content": user}] if number else [])]
        done, calls = loop(messages)
        messages += transcript_messages(done["transcript"], f"r{number}")
        if done["answer"]:
            messages.append({"role": "assistant", "content": done["answer"]})
        run["calls"] += calls
        run["answers"].append(done["answer"])
    copies = getattr(agent, "extractive", False)  # it answers in the context's words or not at all
    for item in items:
        done, run["probe_calls"][item["id"]] = loop([*messages, {"role": "user", "content": item["probe"]}])
        run["checks"][item["id"]] = "unjudged"
        if done["answer"] and done["answer"].strip():
            said = {"messages": [{"role": "assistant", "content": done["answer"]}]}
            checked = check(item, fixture["history"], said, extractive=copies, judge=judge)
            run["checks"][item["id"]] = checked["verdict"]
    return run


def transcript_messages(transcript, prefix):
    """A transcript as tool calls and results; an observation without a tool name is told as the model's own message."""
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
    messages = [message for played in turns for message in turn_messages(played)]
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    return {"calls": [[call["name"], call["arguments"]] for call in calls],
            "answers": [turn["assistant"] for turn in turns],
            "checks": {item["id"]: "accepted" for item in items}, "probe_calls": None}
