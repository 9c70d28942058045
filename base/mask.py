"""Replace addresses, numbers of people and keys in imported text by numbered placeholders, equal strings by one.

Replaced: e-mail and IP addresses; telephone numbers; card numbers (checked after Luhn) and IBANs (ISO 13616, checked
modulo 97); private keys in PEM form, tokens with a known prefix, AWS key ids with their secret, JSON web tokens, values
after words such as password or api_key, and runs of 32 or more letters and digits that mix both. Not found: names of
people, postal addresses, telephone numbers without a prefix, secrets without a shape. Read what you publish.
"""

import json
import re
from contextlib import suppress
from functools import partial

from base.command import InputError, parse_json


def is_card(text):
    """Whether digits pass the Luhn check and are not all the same: is_card("4111 1111 1111 1111") -> True."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4) for place, digit in enumerate(digits[::-1])]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def is_iban(text):
    """Whether the check digits of an IBAN are right (modulo 97): is_iban("DE89 3704 0044 0532 0130 00") -> True."""
    signs = text.replace(" ", "")
    return 15 <= len(signs) <= 34 and int("".join(str(int(sign, 36)) for sign in signs[4:] + signs[:4])) % 97 == 1


SHAPES = (  # first match wins, so the long forms come first; (kind, pattern, check of what it matched)
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("web token", r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*"),
    ("key",  # the secret that stands beside an AWS key id
     r"(?P<before>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b.{0,120}?)"
     r"(?<![A-Za-z0-9/+=])(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    ("key",
     r"\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
     r"|\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_\w{20,}"
     r"|\bnpm_\w{20,}"),
    ("secret",
     r"(?i:(?<=password)|(?<=passwd)|(?<=secret)|(?<=api_key)|(?<=api-key)|(?<=apikey)|(?<=access_key)|(?<=token))"
     r"(?P<before>[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"',;&(){}\[\]<>]{6,})"),
    ("IBAN", r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?\b", is_iban),
    ("key", r"(?<![A-Za-z0-9+_])(?=[A-Za-z0-9+_]*[0-9])(?=[A-Za-z0-9+_]*[A-Za-z])[A-Za-z0-9+_]{32,}={0,2}"),
    ("mail address", r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]+)+"),
    ("card number",
     r"(?<![\w.-])(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|5\d\d))(?:[ -]?\d{4}){3}(?![\w-]|\.\d)"
     r"|(?<![\w.-])3[47]\d\d[ -]?\d{6}[ -]?\d{5}(?![\w-]|\.\d)", is_card),
    ("telephone number",
     r"(?<![\w.+-])(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(0?\)|[ ./-])?[ ]?\(?\d{1,5}\)?(?:[ ./-]?\d{2,}){1,5}(?![\w-]|\.\d)"
     r"|(?<![\w.+-])(?:\(\d{3}\)[ ]?|\d{3}[-. ])\d{3}[-.]\d{4}(?![\w-]|\.\d)"
     r"|(?<![\w.+:-])0[1-9]\d{1,3}(?:[ ]?[/-][ ]?|[ ])\d{3,}(?:[ -]?\d{2,}){0,3}(?![\w:-]|\.\d)",
     lambda text: 9 <= sum(map(str.isdigit, text)) <= 16),
    ("IP address",
     r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)"
     r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}(?![\w:])"
     r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6}(?![\w:])"),
)
SECRET_KEY = re.compile(r"(?i)(?:password|passwd|secret|api_?-?key|token)$")  # of an object: its text is one whole
PATTERNS = [(kind, re.compile(pattern, re.DOTALL), *check) for kind, pattern, *check in SHAPES]


class Masks:
    """The placeholders so far, one for equal strings: Masks().text("From a@b.de to a@b.de") ->
    "From [mail address 1] to [mail address 1]"."""

    def __init__(self):
        self.known = {}  # kind: {string: number}

    def counts(self):
        """{kind: different strings replaced}."""
        return {kind: len(strings) for kind, strings in self.known.items()}

    def mark(self, kind, text):
        strings = self.known.setdefault(kind, {})
        return f"[{kind} {strings.setdefault(text, len(strings) + 1)}]"

    def value(self, item, key=""):
        """The JSON value, under this key of an object, with every text masked; the keys of objects stay."""
        if isinstance(item, str | int) and SECRET_KEY.search(key) and len(str(item)) >= 6:
            return self.mark("secret", str(item))
        if isinstance(item, str):
            with suppress(InputError):
                if item.lstrip().startswith("{"):  # a tool call's arguments: masked by value, so that it stays JSON
                    inner = parse_json(item, "")
                    hidden = self.value(inner)
                    return item if hidden == inner else json.dumps(hidden, ensure_ascii=False)
            return self.text(item)
        if isinstance(item, list):
            return [self.value(part) for part in item]
        return {key: self.value(part, key) for key, part in item.items()} if isinstance(item, dict) else item

    def text(self, text):
        """The text with each address, number and key replaced by its placeholder."""
        for kind, pattern, *check in PATTERNS:
            text = pattern.sub(partial(self.replaced, kind, check), text)
        return text

    def replaced(self, kind, check, match):
        """The placeholder for a match of a kind's pattern; the match itself where the kind's check fails."""
        if check and not check[0](match[0]):
            return match[0]
        named = match.groupdict()
        return named.get("before", "") + self.mark(kind, named.get("value", match[0]))
