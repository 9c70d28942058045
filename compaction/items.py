"""Is one item still there after one compaction? Exact text first, a judge only where text cannot tell.

Run:  not a script; check.py and replay.py use it.
Does not ask a model (judge.py) or add anything up (measure.py).

verdict   verbatim      its words stand in the context (free)
          contradicted  words that it replaced stand there without it (free), or the judge says so
          absent        a compactor that only copies left neither, or the judge says so
          supported     the judge answers the probe rightly from the context
          unjudged      no judge, or none of its verdicts could be read
          opaque        the context, or the part of it that would show the item, cannot be read
judge     callable: {"probe", "expect", "context": text} -> {"verdict", ...} or None
"""

import hashlib
import json

from compaction.conversation import message_texts, turn_texts
from compaction.literals import negated, sentence_at, sentence_before, speaks_of_replacement, stands
from strategies import words

RETAINED = ("verbatim", "supported")
UNKNOWN = ("unjudged", "opaque")
LINE = 120  # characters of a context's line that a result keeps
JUDGED = ("supported", "absent", "contradicted")


def check(item, history, context, extractive, judge=None):
    """The decision on one item of `history` in one context: {"verdict", "by", "line", "key"}.

    by: "text", "copy" (it can only have copied), "judge" or None; line: the part of the context that shows it, for a
    reader; key: what a recorded verdict is found by, where a judge is needed.
    """
    texts = [text for message in context["messages"] for text in message_texts(message)]
    whole, turned = standing(item, history, texts)
    if whole:
        return {"verdict": "verbatim", "by": "text", "line": shortened(whole), "key": None}
    if context.get("opaque"):  # what can be read of it has been: the rest may hold anything
        return {"verdict": "opaque", "by": None, "line": None, "key": None}
    replaced = None if turned else standing_replaced(item, texts)
    if replaced:
        return {"verdict": "contradicted", "by": "text", "line": shortened(replaced), "key": None}
    line = shortened(turned or nearest_line(item, texts))
    if extractive and not turned:
        return {"verdict": "absent", "by": "copy", "line": line, "key": None}
    question = {"probe": item["probe"], "expect": item["expect"], "context": context_text(context["messages"])}
    reply = judge(question) if judge else None
    verdict = reply.get("verdict") if isinstance(reply, dict) else None
    known = verdict in JUDGED
    return {
        "verdict": verdict if known else "unjudged",
        "by": "judge" if known else None,
        "line": line,
        "key": question_key(question),
    }


def standing(item, history, texts):
    """(sentence where a literal stands as in its source, sentence where it stands only turned round): one is None.

    A place counts as turned round when its sentence has a negation in front and the source's has none, or the other
    way about: "push to main" says nothing of itself in "do not push to main", nor that in a bare "push to main".
    """
    turned = None
    said = history[item["turn"] - 1 : item["turn"]]
    for literal, source in [(item["literal"], said), *((other, history) for other in item.get("also", ()))]:
        polarity = {
            negated(sentence_before(text, start))
            for turn in source
            for text in turn_texts(turn)
            for start in stands(literal, text)
        }
        for text in texts:
            for start in stands(literal, text):
                if negated(sentence_before(text, start)) in polarity:
                    return sentence_at(text, start), None
                turned = turned or sentence_at(text, start)
    return None, turned


def standing_replaced(item, texts):
    """The first sentence that states a replaced literal as if it still held, or None."""
    for literal in item.get("replaced", ()):
        for text in texts:
            for start in stands(literal, text):
                sentence = sentence_at(text, start)
                if not speaks_of_replacement(sentence):
                    return sentence
    return None


def nearest_line(item, texts):
    """The line that shares most words with the item, for a person to read; None where none shares two."""
    wanted = words(item["literal"])
    best, line = 1, None
    for text in texts:
        for candidate in text.split("\n"):
            shared = len(wanted & words(candidate))
            if shared > best:
                best, line = shared, candidate.strip()
    return line


def shortened(line):
    """A line for a reader, cut where it goes on for ever."""
    return line if line is None or len(line) <= LINE else line[:LINE] + "..."


def context_text(messages):
    """A context as one text for a judge: each message under its role, calls as JSON."""
    parts = []
    for message in messages:
        parts.append(f"[{message['role']}]")
        if message["content"]:
            parts.append(message["content"])
        for call in message.get("tool_calls", []):
            arguments = json.dumps(call["function"]["arguments"], ensure_ascii=False, sort_keys=True)
            parts.append(f"call {call['function']['name']} {arguments}")
    return "\n".join(parts)


def question_key(question):
    """SHA-256 of probe, expected answer and context: a change in any of them asks for a new verdict."""
    parts = [question["probe"], question["expect"], question["context"]]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
