"""Run each conversation on twice, with and without compaction, and compare what the agent then does.

Run:  python -m compaction.replay --compactor notes --agent compaction.tests.doubles:shipped_forgetful_agent
      python -m compaction.replay --compactor notes --model model.local.json --window 32768 --keep replies.local.jsonl

Both runs start from the same prefix, at the last compaction. A conversation whose full history does not fit --window
has no reference run: its recorded and accepted trace stands in, and passes every check. Does not show small
differences: the exact McNemar test is over conversations; items are for finding what to read.

agent  (task, transcript) -> {"kind": "call", "tool", "args"} or {"kind": "final", "text"}; task is {"messages",
       "tools"}: the request so far, the user's message last, and the tool declarations; transcript as in modelkit.tools
run    {"calls": [[name, arguments], ...], "answers": [text or None, ...], "checks": {item id: verdict}, "probe_calls":
       {item id: calls}}: calls and answers are those of the user turns; an accepted trace has no probe_calls
pair   lost: the reference passes and the compacted run fails; gained: the other way about; unknown: one of the two is
       not known. A conversation passes when all its items do.
"""

import sys
from functools import partial
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, run_command, sha256
from base.own_code import call_own, code_hash, load_function
from base.result_files import canonical
from base.shown import written_out
from base.stats import mcnemar
from compaction.check import add_setting, setting
from compaction.compactors import find_compactor
from compaction.contexts import as_messages, grow_all
from compaction.fixtures.items import RETAINED, UNKNOWN, check
from compaction.judge.asking import judge_quality
from compaction.judge.model import kept_replies, pinned_model
from modelkit.tools import run_agent
from strategies import available, turn_messages

PASSED = (*RETAINED, "accepted")
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
            results[function["name"], canonical(function["arguments"])] = message["content"]
    return {name: recorded_tool(name, calls, results) for name, calls in recorded.items()}


def recorded_tool(name, calls, results):
    """One tool: the arguments that every recorded call of it had, and their types in the last one."""

    def run(**arguments):
        if (key := (name, canonical(arguments))) not in results:
            raise LookupError("nothing was recorded for this call; go on without it")
        return results[key]

    last = {key: type(value) for key, value in calls[-1].items() if type(value) in TYPES}
    return {"args": {key: kind for key, kind in last.items() if all(key in call for call in calls)}, "run": run}


def declarations(tools):
    return [{"type": "function", "function": {
        "name": name, "description": f"The {name} tool of the recorded session.", "parameters": {
            "type": "object", "properties": {key: {"type": TYPES[kind]} for key, kind in tool["args"].items()},
            "required": list(tool["args"])}}} for name, tool in tools.items()]


def go_on(messages, later, items, fixture, agent, judge):
    """The run of an agent from `messages`, a user's last: the user turns `later`, then each item's probe."""
    *messages, current = messages
    tools, run = recorded_tools(fixture["history"]), {"calls": [], "answers": [], "checks": {}, "probe_calls": {}}

    def ask_agent(user, prefix):
        """(the messages, what the agent did appended; its answer or None; its calls, refused ones too)."""
        said = [*messages, {"role": "user", "content": user}]
        done = run_agent({"messages": said, "tools": declarations(tools)}, agent, tools, STEPS)
        said = [*said, *transcript_messages(done["transcript"], prefix)]
        if done["answer"]:
            said.append({"role": "assistant", "content": done["answer"]})
        return said, done["answer"], [[call["tool"], call["args"]] for call in done["transcript"]]

    for number, user in enumerate([current["content"], *later]):
        messages, answer, calls = ask_agent(user, f"r{number}")
        run["answers"].append(answer)
        run["calls"] += calls
    for item in items:
        (*_, last), answer, run["probe_calls"][item["id"]] = ask_agent(item["probe"], "p")
        copies = getattr(agent, "extractive", False)  # it answers in the context's words or not at all
        run["checks"][item["id"]] = "unjudged" if not (answer or "").strip() else check(
            item, fixture["history"], {"messages": [last]}, extractive=copies, judge=judge)["verdict"]
    return run


def transcript_messages(transcript, prefix):
    """A transcript as tool calls and their results, as a template takes them whatever the model called."""
    events = ({"kind": kind, "call_id": f"{prefix}-{place}", "name": done["tool"], "content": done["result"],
               "arguments": done["args"] if isinstance(done["args"], dict) else {}}
              for place, done in enumerate(transcript, 1) for kind in ("tool_call", "tool_result"))
    return as_messages(events)[0]


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


def unplayed(items, verdict, turns=()):
    """A run without an agent, every item with one verdict: the accepted trace of recorded `turns`, or nothing."""
    calls = [call["function"] for turn in turns for message in turn_messages(turn)
             for call in message.get("tool_calls", ())]
    return {"calls": [[call["name"], call["arguments"]] for call in calls],
            "answers": [turn["assistant"] for turn in turns],
            "checks": {item["id"]: verdict for item in items}, "probe_calls": None if turns else {}}


def replay(fixture, context, agent, judge, count, room, steps=1):
    """Both runs of one conversation from its last compaction and how they differ. `room`: tokens that the reference's
    request may cost; `steps`: user turns to replay, the current one included."""
    turn, history = context["turn"], fixture["history"]
    turns = history[turn - 1 : turn - 1 + steps]
    items = [item for item in fixture["must_survive"] if item["turn"] < turn]
    later = [following["user"] for following in turns[1:]]
    full = [*(message for earlier in history[: turn - 1] for message in turn_messages(earlier)),
            {"role": "user", "content": turns[0]["user"]}]
    fits, failed = count(full) <= room, bool(context.get("failed"))
    reference = go_on(full, later, items, fixture, agent, judge) if fits else unplayed(items, "accepted", turns)
    compacted = unplayed(items, "opaque") if failed else go_on(  # failed: no request holds what is above the window
        context["messages"], later, items, fixture, agent, judge)
    row = {"reference": "run" if fits else "accepted trace", "failed": failed}
    runs = {"reference_run": reference, "compacted_run": compacted}
    return {"conversation_id": fixture["conversation_id"], "turn": turn, **row, **differences(row | runs), **runs}


def differences(row):
    """{"outcome", "pairs", "calls_differ"} of a row's runs; an accepted trace has no probe's calls to compare."""
    reference, compacted = row["reference_run"], row["compacted_run"]
    parts = ("calls", "probe_calls")[: 1 + (row["reference"] == "run")]
    differ = any(canonical(reference[part]) != canonical(compacted[part]) for part in parts)
    return {"outcome": pair(reference["checks"].values(), compacted["checks"].values()),
            "pairs": {item: pair([verdict], [compacted["checks"][item]])
                      for item, verdict in reference["checks"].items()}, "calls_differ": not row["failed"] and differ}


def pair(reference, compacted):
    """"lost", "gained", "same" or "unknown" from the verdicts of two runs: pair(["verbatim"], ["absent"]) -> "lost"."""
    before, after = passes(reference), passes(compacted)
    return "unknown" if None in (before, after) else "same" if before == after else "lost" if before else "gained"


def passes(verdicts):
    """False where a verdict fails, else None where one is unknown, or there is none: passes(["verbatim"]) -> True."""
    if set(verdicts) - {*PASSED, *UNKNOWN}:
        return False
    return None if not verdicts or set(verdicts) & set(UNKNOWN) else True


def summarize(rows):
    """{"references", "failed", "conversations", "items", "calls_differ", "to_read"} over all conversations."""
    kinds, discordant = [row["reference"] for row in rows], ("lost", "gained")
    outcomes = {"conversations": [row["outcome"] for row in rows],
                "items": [outcome for row in rows for outcome in row["pairs"].values()]}
    return {"references": {"run": kinds.count("run"), "accepted_trace": kinds.count("accepted trace")},
            "failed": sum(row["failed"] for row in rows),
            **{name: {"pairs": len(ways), **{way: ways.count(way) for way in (*discordant, "unknown")},
                      "p": mcnemar(*map(ways.count, discordant))} for name, ways in outcomes.items()},
            "calls_differ": sum(row["calls_differ"] for row in rows),
            "to_read": [{"conversation_id": row["conversation_id"], "outcome": row["outcome"],
                         **{kind: [item for item, way in row["pairs"].items() if way == kind] for kind in discordant}}
                        for row in rows if {row["outcome"], *row["pairs"].values()} & set(discordant)]}


def result_text(report):
    summary, references = report["summary"], report["summary"]["references"]
    failed = f"{summary['failed']} conversations did not fit the window after compaction: unknown, not run"
    return "\n".join([
        f"{report['compactor']['name']}: {len(report['rows'])} conversations; references: {references['run']} run, "
        f"{references['accepted_trace']} from the accepted trace", *[failed] * bool(summary["failed"]),
        *(f"{name}: {counts['lost']} lost, {counts['gained']} gained of {counts['pairs']} pairs ({counts['unknown']} "
          f"unknown), exact McNemar p = {counts['p']:.3g}" for name in ("conversations", "items")
          for counts in [summary[name]]),
        *([f"judge: {judge_quality(report['judge']['card'])}"] if report["judge"] else ()),
        f"tool calls differ in {summary['calls_differ']} conversations",
        *(f"read {row['conversation_id']}: lost {', '.join(row['lost']) or 'none'}; gained "
          f"{', '.join(row['gained']) or 'none'}" for row in summary["to_read"])])


def find_agent(args):
    """(agent, identity) that the options name."""
    if args.agent:
        function = load_function(args.agent, "--model FILE")
        agent = partial(call_own, function, args.agent)
        agent.extractive = getattr(function, "extractive", False)
        return agent, getattr(function, "identity", {"function": args.agent, "sha256": code_hash(function)})
    model = pinned_model(args.model, args.tokenizer)
    ask = kept_replies(model["ask"], model["identity"], args.keep) if args.keep else model["ask"]
    return model_agent(ask), model["identity"]


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--compactor", required=True, metavar="NAME",
                        help="recent, notes, ledger, summary or your own (FILE.py:NAME, module:function)")
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--agent", metavar="NAME", help="your own agent (FILE.py:NAME, module:function)")
    who.add_argument("--model", type=Path, metavar="FILE", help="model block of a real server")
    add_setting(parser)
    parser.add_argument("--window", type=int, metavar="TOKENS",
                        help="context limit of the reference (default: the budget's)")
    parser.add_argument("--steps", type=int, default=1, metavar="N", help="user turns to replay (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep each reply of --model; go on from it")
    args = parser.parse_args(argv)
    if args.steps < 1:
        raise InputError(f"--steps is {args.steps}; replay at least the current user turn")
    fixtures, budget, counter, judge = setting(args).values()
    window = budget["context_limit"] if args.window is None else args.window
    if window < budget["context_limit"]:
        raise InputError(f"--window is {window}; the reference needs at least the budget's {budget['context_limit']}")
    room = available({"budget": budget | {"context_limit": window}})
    compactor = find_compactor(args.compactor, args.model, args.tokenizer)
    agent, identity = find_agent(args)
    contexts = grow_all(fixtures, compactor.pop("function"), args.compactor, budget, counter.count, args.keep_share)
    last = {context["conversation_id"]: context for context in contexts}
    rows = [replay(fixture, last[fixture["conversation_id"]], agent, judge, counter.count, room, args.steps)
            for fixture in progress(fixtures, desc="replay", unit="conversation")]
    report = {"compactor": compactor, "agent": identity, "judge": judge.about if judge else None, "budget": budget,
              "keep_share": args.keep_share, "window": window, "steps": args.steps, "counter": counter.profile(),
              "fixtures": {"conversations": len(fixtures), "sha256": sha256(dump(fixtures))},
              "summary": summarize(rows), "rows": rows}
    print(written_out(result_text(report)), file=sys.stderr)
    sys.stdout.write(dump(report))


if __name__ == "__main__":
    run_command(main)
