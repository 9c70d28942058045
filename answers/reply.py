"""Read what a server replied: one whole answer, or the name of what it is instead.

A reply with status 200 need not be an answer: it can stop before its last line, hold an error, end for another reason
than the answer's end, or count what cannot be. Does not speak to a server, and does not judge text: an empty answer is
one (incomplete_kind names it so).
"""

import re

from answers.exchange import BrokenReply
from base.command import InputError, dump, parse_json

MAX_GRADED_CHARS = 8000
BLANKS = r"\s{0,9}"
THINKING = re.compile(  # marks of the models that people run: <think>, </thought>, <|channel>, <seed:think>, [THINK]
    rf"[<◁]{BLANKS}[/|]{{0,2}}{BLANKS}(?:seed{BLANKS}:{BLANKS}|(?:start|end|begin)[_ ])?"
    rf"(?:channel|think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)(?:\s[^<>]{{0,80}})?"
    rf"{BLANKS}[/|]{{0,2}}{BLANKS}[>▷]|\[{BLANKS}/?{BLANKS}(?:think(?:ing)?|thoughts?|reasoning){BLANKS}\]",
    re.IGNORECASE)
ENDS = {"stop": "stop", "tool_calls": "stop", "length": "length"}  # of OpenAI's interface


def read_stream(data, seed, num_predict):
    """The answer in a streamed body of Ollama's, or BrokenReply naming what is wrong with it."""
    raw = data.decode("utf-8", "replace")
    texts, thoughts, calls, last = [], [], [], None
    for part in stream_parts(data, raw):
        if last is not None:
            raise BrokenReply("unreadable_reply", raw)  # more behind the last line: which is meant?
        if "error" in part:
            raise BrokenReply("error_body", raw)
        message = part.get("message", {})
        texts.append(text_of(message, "content", raw))
        thoughts.append(text_of(message, "thinking", raw))
        calls += calls_of(message, raw)
        if part.get("done") is True:
            last = part
    if last is None:
        raise BrokenReply("stopped_stream", raw)
    counts = last.get("prompt_eval_count"), last.get("eval_count")
    reason = last.get("done_reason")
    return whole_answer(seed, "".join(texts), calls, reason, counts, "".join(thoughts), num_predict, raw)


def stream_parts(data, raw):
    """The objects of a streamed body, one a line. A last line that was cut is left out; its absence tells."""
    lines = data.split(b"\n")
    last = lines.pop()  # behind the last line feed: nothing, or a line that may be cut
    for line in filter(bytes.strip, lines):
        yield object_in(line, raw)
    if last.strip():
        try:
            yield object_in(last, raw)
        except BrokenReply:
            if not last.lstrip().startswith(b"{"):  # no line of this protocol: an HTML page, say
                raise


def read_completion(data, seed, num_predict):
    """The answer in a whole body of OpenAI's interface, or BrokenReply naming what is wrong with it."""
    raw = data.decode("utf-8", "replace")
    value = object_in(data, raw)
    if "error" in value:
        raise BrokenReply("error_body", raw)
    try:
        choice, usage = value["choices"][0], value.get("usage") or {}
        message, reason = choice["message"], ENDS.get(choice.get("finish_reason"))
        counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    except (LookupError, TypeError, AttributeError):
        raise BrokenReply("unreadable_reply", raw) from None
    thought = text_of(message, "reasoning_content", raw) or text_of(message, "reasoning", raw)
    text, calls = text_of(message, "content", raw), calls_of(message, raw)
    return whole_answer(seed, text, calls, reason, counts, thought, num_predict, raw)


def object_in(line, raw):
    """The JSON object in some bytes, or BrokenReply."""
    try:
        value = parse_json(line.decode("utf-8"), "reply")
    except (UnicodeDecodeError, InputError):
        raise BrokenReply("unreadable_reply", raw) from None
    if not isinstance(value, dict):
        raise BrokenReply("unreadable_reply", raw)
    return value


def text_of(message, field, raw):
    """A text field of a message, "" where it is left out, or BrokenReply."""
    value = message.get(field) if isinstance(message, dict) else 0
    if value is not None and not isinstance(value, str):
        raise BrokenReply("unreadable_reply", raw)  # no message, or a text that is none
    return value or ""


def calls_of(message, raw):
    """The tool calls of a message without their ids, which are drawn at random, or BrokenReply."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BrokenReply("unreadable_reply", raw)
    return [{name: value for name, value in call.items() if name not in ("id", "type")} for call in calls]


def whole_answer(seed, text, calls, reason, counts, thought, num_predict, raw):
    """The answer, or BrokenReply where its end or counts cannot be, or no file could hold its text."""
    prompt, answer = counts
    if reason not in ("stop", "length"):
        raise BrokenReply("unknown_end", raw)
    if type(prompt) is not int or type(answer) is not int or prompt < 1 or not 0 <= answer <= num_predict:
        raise BrokenReply("bad_counts", raw)  # absent is unknown, and never 0
    if reason == "length" and answer != num_predict:
        raise BrokenReply("bad_counts", raw)  # the server's own context was full before the answer's allowance
    entry = {"seed": seed, "answer": text, "tool_calls": calls, "done_reason": reason, "prompt_tokens": prompt,
             "answer_tokens": answer}
    if thought:
        entry["thinking"] = thought
    try:
        dump(entry)
    except InputError:  # half a surrogate pair
        raise BrokenReply("unreadable_reply", raw) from None
    return entry


def incomplete_kind(entry):
    """Why an entry is no whole answer, or None: a name that the report counts it under."""
    if "incomplete" in entry:
        return entry["incomplete"]
    if entry.get("thinking") or THINKING.search(entry["answer"]):
        return "thinking"
    if not entry["answer"].strip():
        return "empty_text"
    if entry["done_reason"] != "stop":
        return "cut_by_length" if entry["done_reason"] == "length" else "unknown_end"
    if len(entry["answer"]) > MAX_GRADED_CHARS:
        return "too_long"
    return None
