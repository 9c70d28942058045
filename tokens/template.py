"""Compile a chat template as transformers renders it, and tell which texts it looks for in messages.

Sandboxed, without a clock. Does not render (tokenizer.py does).
"""

import re

from base.command import InputError


class TokenizerError(InputError):
    """The tokenizer's files are missing, differ from the manifest, or cannot be used."""


class CountError(InputError):
    """A request that the template refuses, or text that the tokenizer cannot take."""


def compile_template(source):
    """A chat template as transformers renders it, and the texts that it looks for in messages.

    Sandboxed, blocks trimmed, raise_exception at hand, {% generation %} passed over, no clock.
    """
    import json

    from jinja2 import TemplateError
    from jinja2.exceptions import TemplateSyntaxError
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace

    class Sandbox(ImmutableSandboxedEnvironment):
        def getattr(self, obj, attribute):
            """What a namespace() of the template holds is the template's own: no need to ask whether it is safe.

            The pinned template reads one for every pair of messages, which made most of the time of a full count.
            """
            if type(obj) is Namespace and not attribute.startswith("_"):
                return getattr(obj, attribute, self.undefined(obj=obj, name=attribute))
            return super().getattr(obj, attribute)

    class Generation(Extension):
        tags = {"generation"}  # marks what a trainer learns from, writes nothing

        def parse(self, parser):
            next(parser.stream)
            return parser.parse_statements(["name:endgeneration"], drop_needle=True)

    def raise_exception(message):
        raise TemplateError(message)

    def tojson(value, indent=None, **options):
        return json.dumps(value, ensure_ascii=False, indent=indent, **options)

    extensions = ["jinja2.ext.loopcontrols", Generation]
    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    try:
        tree = environment.parse(source)
        marks = sorted(looked_for(tree))
        return environment.from_string(tree), marks
    except TemplateSyntaxError as error:
        raise TokenizerError(f"chat template, line {error.lineno}: {error.message}; pin another template") from None
    except RecursionError:
        raise TokenizerError("chat template: nested too deep to read; pin another template") from None


def looked_for(node):
    """The set of texts in a parsed template that it may look for in messages: all that it does not just write.

    Left out are words and white space, since most texts hold some: what a template makes of white space is tried.
    """
    from jinja2 import nodes

    if isinstance(node, nodes.Const):
        return {node.value} if isinstance(node.value, str) and re.search(r"[^\w\s]", node.value) else set()
    written = isinstance(node, (nodes.Output, nodes.Add, nodes.Concat, nodes.CondExpr))
    only_first = isinstance(node, nodes.Filter) and node.name != "replace"  # join(", ") writes what it is given
    children = list(node.iter_child_nodes())[: 1 if only_first else None]
    return {
        text for child in children if not (written and isinstance(child, nodes.Const)) for text in looked_for(child)}
