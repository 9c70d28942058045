"""Try a chat template in a process of its own, under limits of memory and processor time, and tell what it can do.

A template is code from its publisher. The sandbox keeps it from files and network, not from a loop without end. It is
tried the first time that a manifest other than the shipped one is pinned or used; the outcome is kept beside the
prepared files, under the template's hash. Where the system has no limit of memory, time alone counts.

outcome  {"sha256": of the template, "problem": why it cannot be used, or null,
          "cannot": {what a request may have: why the template cannot write it}}
"""

import json
import subprocess
import sys
from contextlib import suppress

from base.command import InputError, read_json, write_json
from base.shapes import Each, Only, misfit
from tokens.manifest import ROOT, special_tokens
from tokens.probes import FIRST, SECOND, TOOL_RUN, TOOLS, chat, system
from tokens.template import TokenizerError, compile_template, render

KEPT = "chat_template.trial.json"
MEMORY_BYTES, PROCESSOR_S, CLOCK_S = 1 << 30, 20, 120
OUTCOME = Only({"sha256": str, "problem": (str, type(None)), "cannot": Each(str)})
PLAIN = "a plain request"
REQUESTS = {  # what a request may have: (messages, tools, texts that have to stand in it)
    PLAIN: ([FIRST], None, ["Q1"]),
    "a system text": ([system("Be brief."), FIRST], None, ["Be brief."]),
    "declared tools": ([FIRST], TOOLS, ["List a folder."]),
    "tool calls and their results": ([*TOOL_RUN, SECOND], TOOLS, ["a b", "x\ny"]),
    "two user messages in a row": ([FIRST, SECOND], None, ["Q1", "Q2"]),
    "two assistant messages in a row": ([*chat("Q1", "A1"), chat("", "A2")[1], SECOND], None, ["A1", "A2"]),
    "200 turns": ([*chat("Q1", "A1") * 200, SECOND], None, []),
}


def tried(source, manifest, place):
    """The outcome for a template's text, kept in the folder `place` or found out now; TokenizerError where it fails."""
    path = place / KEPT
    try:
        outcome = read_json(path)
    except InputError:
        outcome = None
    if misfit(outcome, OUTCOME) or outcome["sha256"] != manifest["files"]["chat_template.jinja"]["sha256"]:
        outcome = try_template(source, manifest)
        with suppress(InputError):  # a folder that may only be read: tried again each time
            write_json(path, outcome)
    if outcome["problem"]:
        raise TokenizerError(f"{manifest['model']}: {outcome['problem']}; pin another template (or remove {path} to "
                             "have it tried again)")
    return outcome


def try_template(source, manifest):
    """The outcome for a template's text, as a process of its own finds it."""
    given = json.dumps({"source": source, "special": special_tokens(manifest), "today": manifest.get("today")})
    command = [sys.executable, "-m", "tokens.trial", str(MEMORY_BYTES), str(PROCESSOR_S)]
    options = {"cwd": ROOT, "input": given, "capture_output": True, "encoding": "utf-8", "timeout": CLOCK_S}
    late, outcome = "its chat template is not done with a few requests after", {"cannot": {}}
    try:
        done = subprocess.run(command, **options)
        outcome = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        outcome["problem"] = f"{late} {CLOCK_S} seconds"
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        outcome["problem"] = f"its chat template ended the process that tried it ({last:.80})"
        if done.returncode == -24:  # SIGXCPU
            outcome["problem"] = f"{late} {PROCESSOR_S} seconds of processor time"
    return {"sha256": manifest["files"]["chat_template.jinja"]["sha256"], **outcome}


def set_limits(memory_bytes, processor_s):
    try:
        import resource
    except ImportError:  # Windows: the parent's clock alone
        return
    resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s + 5))
    with suppress(ValueError, OSError):  # a system that knows the limit and refuses it
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def try_here(source, special, today):
    """{"problem", "cannot"}, found in this process."""
    cannot = {}
    try:
        template = compile_template(source, today)[0]
    except InputError as error:
        return {"problem": str(error).rpartition("; ")[0], "cannot": cannot}
    for request, (messages, tools, texts) in REQUESTS.items():
        try:
            written = render(template, messages, tools, special)
            if any(text not in written and json.dumps(text)[1:-1] not in written for text in texts):
                cannot[request] = "it is left out"
        except InputError as error:
            cannot[request] = str(error).rpartition("; ")[0]  # without what a user of messages could do
    problem = f"its chat template cannot write {PLAIN}: {cannot.pop(PLAIN)}" if PLAIN in cannot else None
    return {"problem": problem, "cannot": cannot}


if __name__ == "__main__":
    set_limits(*map(int, sys.argv[1:]))
    print(json.dumps(try_here(**json.load(sys.stdin))))
