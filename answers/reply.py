"""Read what a server replied: one whole answer, or the name of what it is instead.

A reply with status 200 need not be an answer: it can stop before its last line, hold an error, end for another reason
than the answer's end, or count what cannot be. An empty answer is one (incomplete_kind names it so).
"""

import contextlib
import re

from answers.exchange import BrokenReply
from base.command import InputError, as_text, parse_json
from base.lines import is_torn
from base.shapes import NONE, misfit

MAX_GRADED_CHARS = 8000
BLANKS = r"\s{0,9}"
THINKING = re.compile(  # marks of the models that people run: <think>, </thought>, <|channel>, <seed:think>, [THINK]
    rf"[<◁]{BLANKS}[/|]{{0,2}}{BLANKS}(?:seed{BLANKS}:{BLANKS}|(?:start|end|begin)[_ ](?:of[_ ])?|inner[_ ])?"
    rf"(?:channel|think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)(?:[_ ](?:start|end|begin|process))?"
    rf"(?:\s[^<>]{{0,80}})?"
    rf"{BLANKS}[/|]{{0,2}}{BLANKS}[>▷]|\[{BLANKS}/?{BLANKS}(?:think(?:ing)?|thoughts?|reasoning){BLANKS}\]",
    re.IGNORECASE)
ENDS = {"stop": "stop", "tool_calls": "stop", "length": "length"}  # of OpenAI's interface
MESSAGE = {**dict.fromkeys(("content?", "thinking?", "reasoning_content?", "reasoning?"), (str, NONE)),
           "tool_calls?": ([dict], NONE)}
PARTS = [{"message?": MESSAGE}]
COMPLETION = {"choices": [{"message": MESSAGE, "finish_reason?": (str, NONE)}], "usage?": (dict, NONE)}


def read_stream(data, body):
    """The answer in Ollama's reply to a request, one object a line, or BrokenReply naming what is wrong with it."""
    whole, end, tail = data.rpartition(b"\n")
    lines = (whole if is_torn(tail) else data).split(b"\n")  # a last line that was cut is left out; its absence tells
    parts = [json_in(line) for line in lines if line.strip()]
    if misfit(parts, PARTS):
        raise BrokenReply("unreadable_reply")
    if any("error" in part for part in parts):
        raise BrokenReply("error_body")
    done = [part.get("done") is True for part in parts]
    if True in done[:-1]:  # more behind the last line: which is meant?
        raise BrokenReply("unreadable_reply")
    if True not in done:
        raise BrokenReply("stopped_stream")
    last, messages = parts[-1], [part.get("message", {}) for part in parts]
    message = {name: "".join(message.get(name) or "" for message in messages) for name in ("content", "thinking")}
    message["tool_calls"] = [call for message in messages for call in message.get("tool_calls") or []]
    counts, asked = (last.get("prompt_eval_count"), last.get("eval_count")), body["options"]
    return whole_answer(message, last.get("done_reason"), counts, asked["seed"], asked["num_predict"])


def read_completion(data, body):
    """The answer in the reply of OpenAI's interface to a request, or BrokenReply naming what is wrong with it."""
    value = json_in(data)
    if misfit(value, {"error": object}) is None:
        raise BrokenReply("error_body")
    if misfit(value, COMPLETION) or not value["choices"]:
        raise BrokenReply("unreadable_reply")
    choice, usage = value["choices"][0], value.get("usage") or {}
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return whole_answer(choice["message"], ENDS.get(choice.get("finish_reason")), counts, body["seed"],
                        body["max_tokens"])


def json_in(data):
    """The JSON value that some bytes are, None where they are none."""
    with contextlib.suppress(InputError):
        return parse_json(as_text(data, "reply"), "reply")


def whole_answer(message, reason, counts, seed, num_predict):
    """The answer, or BrokenReply where its end or counts cannot be. Ids of calls are drawn at random, so left out."""
    prompt, answer = counts
    if reason not in ("stop", "length"):
        raise BrokenReply("unknown_end")
    possible = type(prompt) is int and type(answer) is int and prompt >= 1 and 0 <= answer <= num_predict
    if not possible or reason == "length" and answer != num_predict:  # absent is unknown, and never 0; less than the
        raise BrokenReply("bad_counts")  # allowance: the server's own context was full before
    calls = [{name: value for name, value in call.items() if name not in ("id", "type")}
             for call in message.get("tool_calls") or []]
    thoughts = [message[name] for name in ("thinking", "reasoning_content", "reasoning") if message.get(name)]
    return {"seed": seed, "answer": message.get("content") or "", "tool_calls": calls, "done_reason": reason,
            "prompt_tokens": prompt, "answer_tokens": answer, **({"thinking": thoughts[0]} if thoughts else {})}


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
    return "too_long" if len(entry["answer"]) > MAX_GRADED_CHARS else None
