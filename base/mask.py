"""Replace addresses and key-shaped strings in imported text by numbered marks, the same string by the same mark.

Replaced: e-mail and IP addresses, private keys in PEM form, tokens with a known prefix, JSON web tokens, values after
words such as password or api_key, and runs of 32 or more letters and digits that mix both. Not found: names of people,
telephone numbers, postal addresses, secrets without a shape. Read what you publish.
"""

import json
import re

SHAPES = (  # first match wins, so the long forms come first
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("web token", r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*"),
    ("key",
     r"\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
     r"|\bxox[abeoprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_\w{20,}|\bnpm_\w{20,}"),
    ("secret",
     r"(?i:(?<=password)|(?<=passwd)|(?<=secret)|(?<=api_key)|(?<=api-key)|(?<=apikey)|(?<=token))"
     r"(?P<before>[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"',;&(){}\[\]<>]{6,})"),
    ("key", r"(?<![A-Za-z0-9+_])(?=[A-Za-z0-9+_]*[0-9])(?=[A-Za-z0-9+_]*[A-Za-z])[A-Za-z0-9+_]{32,}={0,2}"),
    ("mail address", r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]+)+"),
    ("IP address",
     r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)"
     r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}(?![\w:])"
     r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6}(?![\w:])"),
)
SECRET_KEY = re.compile(r"(?i)(?:password|passwd|secret|api_?-?key|token)$")  # of an object: its text is one whole
PATTERNS = [(name, re.compile(pattern, re.DOTALL)) for name, pattern in SHAPES]


def mask_values(value):
    """(the JSON value with every text masked, {kind: different strings replaced}). Keys of objects stay."""
    marks = {}

    def mark(kind, text):
        known = marks.setdefault(kind, {})
        return f"[{kind} {known.setdefault(text, len(known) + 1)}]"

    def masked(item):
        if isinstance(item, str):
            inner = json_object(item)  # a tool call's arguments: masked by value, so that it stays JSON
            if inner is None:
                return mask_text(item, mark)
            hidden = masked(inner)
            return item if hidden == inner else json.dumps(hidden, ensure_ascii=False)
        if isinstance(item, list):
            return [masked(one) for one in item]
        return {key: field(key, one) for key, one in item.items()} if isinstance(item, dict) else item

    def field(key, item):
        secret = isinstance(item, str | int) and SECRET_KEY.search(key) and len(str(item)) >= 6
        return mark("secret", str(item)) if secret else masked(item)

    return masked(value), {kind: len(known) for kind, known in marks.items()}


def json_object(text):
    """The object that a text holds as JSON, or None."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mask_text(text, mark):
    """The text with each address and key replaced by what `mark(kind, string)` gives."""
    for kind, pattern in PATTERNS:

        def replace(found, kind=kind):
            if "value" in found.re.groupindex:
                return found["before"] + mark(kind, found["value"])
            return mark(kind, found[0])

        text = pattern.sub(replace, text)
    return text
