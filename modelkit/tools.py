"""Describe tools to a model, check its calls against the same registry, and run the loop between the two.

A limit on steps is the only limit: a tool that never returns is never stopped, and each repeated call runs again.

tools       name -> {"args": {argument: type or its name}, "run": callable, "description": text (optional)}
reply       {"kind": "call", "tool": name, "args": {...}} or {"kind": "final", "text": ...}, what the model gives
transcript  [{"kind": "observation", "tool", "args", "result": text}, ...], what the model is shown
"""

from copy import deepcopy

from modelkit import check_whole
from modelkit.replies import has_type, python_type


def tool_manifest(tools):
    """The tools section of a prompt: tool_manifest({"ls": {"args": {}}}) -> "TOOLS YOU MAY CALL:\\n- ls()"."""
    lines = ["TOOLS YOU MAY CALL:"]
    for name, tool in tools.items():
        arguments = ", ".join(f"{key}: {python_type(kind).__name__}" for key, kind in tool["args"].items())
        lines.append(f"- {name}({arguments})" + (f" - {tool['description']}" if tool.get("description") else ""))
    return "\n".join(lines)


def check_call(name, arguments, tools):
    """The problems of a call in plain English, before anything runs; empty when it may run.
    check_call("ls", {}, {"ls": {"args": {"path": "str"}}}) -> ["ls needs an argument called path"]"""
    if not isinstance(name, str) or name not in tools:
        return [f"there is no tool called {name!r}; available: {', '.join(tools) or 'none'}"]
    if not isinstance(arguments, dict):
        return [f"{name} needs its arguments as an object, got {arguments!r}"]
    wanted, problems = tools[name]["args"], []
    for key, kind in wanted.items():
        if key not in arguments:
            problems.append(f"{name} needs an argument called {key}")
        elif not has_type(arguments[key], kind):
            problems.append(f"{name}.{key} must be of type {python_type(kind).__name__}, got {arguments[key]!r}")
    return problems + [f"{name} does not take an argument called {key}" for key in arguments if key not in wanted]


def run_agent(task, model, tools, max_steps=6):
    """{"answer", "steps", "stopped", "transcript"}: let the model call tools until it answers.

    model(task, transcript) -> reply. steps counts its replies; stopped is "answered" or "step limit", and then the
    answer is None. An invalid call never reaches its tool; it, a tool that raises and a reply of no known kind are told
    to the model as an observation that starts with ERROR. Tool and model get copies: neither can change the record.
    """
    check_whole(1, max_steps=max_steps)
    transcript = []
    for step in range(1, max_steps + 1):
        reply = model(task, deepcopy(transcript))
        kind = reply.get("kind") if isinstance(reply, dict) else None
        if kind == "final" and isinstance(reply.get("text"), str):
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "transcript": transcript}
        name, arguments = None, None
        result = "ERROR: reply with a call (kind, tool, args) or a final answer (kind, text)"
        if kind == "call":
            name, arguments = reply.get("tool"), deepcopy(reply.get("args"))
            problems = check_call(name, arguments, tools)
            try:
                result = "ERROR: " + "; ".join(problems) if problems else str(tools[name]["run"](**deepcopy(arguments)))
            except Exception as error:  # any: a tool is the model's choice of code and input
                result = f"ERROR: {type(error).__name__}: {error}"
        transcript.append({"kind": "observation", "tool": name, "args": arguments, "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "transcript": transcript}
