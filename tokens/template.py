"""Compile and render a chat template as transformers does, and tell which texts it looks for in messages.

Sandboxed. The date is the one that is given: a count must not depend on the day.
"""

import re
from datetime import datetime

from base.command import InputError
from tokens.manifest import TokenizerError

REASONING = ("reasoning_content", "thinking", "reasoning")


class CountError(InputError):
    """A request that the template refuses, or text that the tokenizer cannot take."""


def template_text(files, where):
    """The chat template among a manifest's files (bytes by name), or TokenizerError."""
    try:
        return files["chat_template.jinja"].decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(
            f"{where}: chat_template.jinja is not UTF-8 at byte {error.start}; pin another one") from None


def compile_template(source, today=None):
    """(template, marks, words): a chat template as transformers renders it, and what it looks for in messages.

    today  the ISO date that strftime_now writes; None: a template that asks for it fails
    marks  texts with punctuation, like "</think>"; words: those without, and single signs, like "system" and "."
    """
    import json

    from jinja2 import TemplateError
    from jinja2.exceptions import TemplateSyntaxError
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
        options = {"indent": indent, "separators": separators, "sort_keys": sort_keys}
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    def strftime_now(form):
        if today is None:
            raise TemplateError("it asks for the date, and the manifest has no 'today'; add one, an ISO date")
        return datetime.fromisoformat(today).strftime(form)

    extensions = ["jinja2.ext.loopcontrols", Generation]
    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
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
        reasoning = next((message[name] for name in REASONING if name in message), None)
        if reasoning is not None:
            said[number] = {"thinking": reasoning, **message, "reasoning_content": reasoning}
    try:
        return template.render(messages=said, tools=tools, documents=None, add_generation_prompt=True,
                               enable_thinking=False, **special)
    except CountError:
        raise
    except Exception as error:  # whatever somebody's template makes of these messages, too deep ones included
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CountError(
            f"the chat template fails on this request: {reason}; it may lack what the request has (tools, a system "
            "text), or be wrong itself") from None


def looked_for(node):
    """The set of texts in a parsed template that it may look for in messages: all that it does not just write."""
    from jinja2 import nodes

    if isinstance(node, nodes.Const):
        return {node.value} if isinstance(node.value, str) else set()
    written = isinstance(node, (nodes.Output, nodes.Add, nodes.Concat, nodes.CondExpr))
    only_first = isinstance(node, nodes.Filter) and node.name != "replace"  # join(", ") writes what it is given
    children = list(node.iter_child_nodes())[: 1 if only_first else None]
    return {
        text for child in children if not (written and isinstance(child, nodes.Const)) for text in looked_for(child)}
