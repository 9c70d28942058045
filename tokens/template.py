"""Compile and render a chat template as transformers does, tell which texts it looks for in messages, try a new one.

Sandboxed, which keeps a template (code from its publisher) from files and network, not from a loop without end. So one
that comes from elsewhere is tried the first time in a process of its own, under limits of memory and processor time;
the outcome is kept beside the prepared files. Where the system has no limit of memory, time alone counts.

outcome  {"sha256": of what was tried, "problem": why it cannot be used, or null,
          "cannot": {what a request may have: why the template cannot write it}}
"""

import json
import re
import subprocess
import sys
from contextlib import suppress
from datetime import datetime

from base.command import InputError, read_json, sha256, write_json
from base.shapes import Each, Only, misfit
from base.shown import error_line
from tokens.manifest import ROOT, TokenizerError, special_tokens
from tokens.probes import FIRST, SECOND, TOOL_RUN, TOOLS, chat, system

REASONING = ("reasoning_content", "thinking", "reasoning")
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


class CountError(InputError):
    """A request that the template refuses, or text that the tokenizer cannot take."""


def template_text(files, where):
    """The chat template among a manifest's files (bytes by name), or TokenizerError."""
    try:
        return files["chat_template.jinja"].decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{where}: chat_template.jinja is not UTF-8 at byte {error.start}; pin another") from None


def compile_template(source, today=None):
    """(template, marks, words): a chat template as transformers renders it, and what it looks for in messages.

    today  the ISO date that strftime_now writes; None: a template that asks for it fails
    marks  texts with punctuation, like "</think>"; words: those without, and single signs, like "system" and "."
    """
    from jinja2 import TemplateError, TemplateSyntaxError
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace

    class Sandbox(ImmutableSandboxedEnvironment):
        def getattr(self, obj, attribute):
            """What a namespace() holds is the template's own and safe; asking took most of the time of a full count."""
            if type(obj) is Namespace and not attribute.startswith("_"):
                return getattr(obj, attribute, self.undefined(obj=obj, name=attribute))
            return super().getattr(obj, attribute)

    class Generation(Extension):
        tags = {"generation"}  # marks what a trainer learns from, writes nothing

        def parse(self, parser):
            next(parser.stream)
            return parser.parse_statements(["name:endgeneration"], drop_needle=True)

    def raise_exception(message):
        raise CountError(f"the chat template refuses this request: {message}; correct its messages")

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(form):
        if today is None:
            raise TemplateError("it asks for the date, and the manifest has no 'today'; add one, an ISO date")
        return datetime.fromisoformat(today).strftime(form)

    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation])
    environment.filters["tojson"] = tojson
    environment.globals |= {"raise_exception": raise_exception, "strftime_now": strftime_now}
    try:
        tree = environment.parse(source)
        texts = sorted(looked_for(tree))
        marks = [text for text in texts if re.search(r"[^\w\s]", text) and len(text.strip()) > 1]
        return environment.from_string(tree), marks, [text for text in texts if text.strip() and text not in marks]
    except TemplateSyntaxError as error:
        raise TokenizerError(f"chat template, line {error.lineno}: {error.message}; pin another template") from None
    except RecursionError:
        raise TokenizerError("chat template: nested too deep to read; pin another template") from None


def render(template, messages, tools, special):
    """The request as a compiled template writes it, or CountError. `special`: {"bos_token": text, ...}.

    Generation prompt on, thinking off. As in transformers, null fields are left out and reasoning has all its names.
    """
    said = [{name: value for name, value in message.items() if value is not None} for message in messages]
    for number, message in enumerate(said):
        if name := next(filter(message.__contains__, REASONING), None):
            said[number] = {"thinking": message[name], **message, "reasoning_content": message[name]}
    try:
        return template.render(messages=said, tools=tools, documents=None, add_generation_prompt=True,
                               enable_thinking=False, **special)
    except CountError:
        raise
    except Exception as error:  # whatever somebody's template makes of these messages, too deep ones included
        raise CountError(f"the chat template fails on this request: {error_line(error)}; it may lack what the"
                         " request has (tools, a system text), or be wrong itself") from None


def looked_for(node):
    """The texts that a parsed template may look for in messages: its string constants that it does not just write."""
    from jinja2 import nodes

    if isinstance(node, nodes.Const):
        return {node.value} if isinstance(node.value, str) else set()
    writes = isinstance(node, (nodes.Output, nodes.Add, nodes.Concat, nodes.CondExpr))
    only_first = isinstance(node, nodes.Filter) and node.name != "replace"  # join(", ") writes what it is given
    children = list(node.iter_child_nodes())[: 1 if only_first else None]
    return {text for child in children if not (writes and isinstance(child, nodes.Const)) for text in looked_for(child)}


def tried(source, manifest, place):
    """The outcome for a template's text, kept in the folder `place` or found out now; TokenizerError where it fails."""
    path, outcome = place / KEPT, None
    with suppress(InputError):
        outcome = read_json(path)
    if misfit(outcome, OUTCOME) or outcome["sha256"] != given_hash(manifest):
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
    command = [sys.executable, "-m", "tokens.template", str(MEMORY_BYTES), str(PROCESSOR_S)]
    late, outcome = "its chat template is not done with a few requests after", {"cannot": {}}
    try:
        done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, encoding="utf-8", timeout=CLOCK_S)
        outcome = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        outcome["problem"] = f"{late} {CLOCK_S} seconds"
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        outcome["problem"] = f"its chat template ended the process that tried it ({last:.80})"
        if done.returncode == -24:  # SIGXCPU
            outcome["problem"] = f"{late} {PROCESSOR_S} seconds of processor time"
    return {"sha256": given_hash(manifest), **outcome}


def given_hash(manifest):
    """SHA-256 over what an outcome depends on: a manifest that got its date is tried again."""
    parts = [manifest["files"]["chat_template.jinja"]["sha256"], special_tokens(manifest), manifest.get("today")]
    return sha256(json.dumps(parts, sort_keys=True))


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
