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
# What a request may have: (messages, tools, texts that have to stand in it)
ABILITIES = {
    "a system text": ([system("Be brief."), FIRST], None, ["Be brief."]),
    "declared tools": ([FIRST], TOOLS, ["List a folder."]),
    "tool calls and their results": ([*TOOL_RUN, SECOND], TOOLS, ["a b", "x\ny"]),
    "two user messages in a row": ([FIRST, SECOND], None, ["Q1", "Q2"]),
    "two assistant messages in a row": ([*chat("Q1", "A1"), chat("", "A2")[1], SECOND], None, ["A1", "A2"]),
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
    digest = manifest["files"]["chat_template.jinja"]["sha256"]
    given = json.dumps({"template": source, "special": special_tokens(manifest), "today": manifest.get("today"),
                        "limits": [MEMORY_BYTES, PROCESSOR_S]})
    options = {"cwd": ROOT, "input": given, "capture_output": True, "encoding": "utf-8", "timeout": CLOCK_S}
    late = "its chat template is not done with a few requests after"
    try:
        done = subprocess.run([sys.executable, "-m", "tokens.trial"], **options)
        return {"sha256": digest, **json.loads(done.stdout)}
    except subprocess.TimeoutExpired:
        problem = f"{late} {CLOCK_S} seconds"
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        problem = f"its chat template ended the process that tried it ({last:.80})"
        if done.returncode == -24:  # SIGXCPU
            problem = f"{late} {PROCESSOR_S} seconds of processor time"
    return {"sha256": digest, "problem": problem, "cannot": {}}


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
    try:
        template = compile_template(source, today)[0]
        if FIRST["content"] not in render(template, [FIRST], None, special):
            return {"problem": "its chat template leaves out the text of a plain request", "cannot": {}}
    except InputError as error:
        return {"problem": f"a plain request: {str(error).rpartition('; ')[0]}", "cannot": {}}
    cannot = {}
    for ability, (messages, tools, texts) in {"": ([*chat("Q1", "A1") * 200, SECOND], None, []), **ABILITIES}.items():
        try:
            written = render(template, messages, tools, special)
            if any(text not in written and json.dumps(text)[1:-1] not in written for text in texts):
                cannot[ability] = "it is left out"
        except InputError as error:
            cannot[ability] = str(error).rpartition("; ")[0]  # without what a user of messages could do
    return {"problem": None, "cannot": {ability: reason for ability, reason in cannot.items() if ability}}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    set_limits(*asked["limits"])
    print(json.dumps(try_here(asked["template"], asked["special"], asked["today"])))
