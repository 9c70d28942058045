"""Read what a server replied: one whole answer, or the name of what it is instead.

Run:  not a script; answer_model.py and answer_openai.py read replies with it.

A reply with status 200 need not be an answer: it can stop before its last line, hold an error, end for another reason
than the answer's end, or count what cannot be. Does not speak to a server, and does not judge text: an empty answer is
one (answer_grade.py names it incomplete).
"""

from answer_http import BrokenReply
from command import InputError, dump, parse_json

ENDS = {"stop": "stop", "tool_calls": "stop", "length": "length"}  # of OpenAI's interface


def read_stream(data, whole, seed, num_predict):
    """The answer in a streamed body, or BrokenReply naming what is wrong with it."""
    raw = data.decode("utf-8", "replace")
    texts, thoughts, calls, last = [], [], [], None
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if not whole and number == len(lines) - 1:
            break  # the line was cut, whatever it still says
        try:
            part = parse_json(line.decode("utf-8"), "reply")
            if "error" in part:
                raise BrokenReply("error_body", raw)
            message = part.get("message") or {}
            text, thought, made = (
                message.get("content") or "",
                message.get("thinking") or "",
                message.get("tool_calls") or [],
            )
            texts.append(text + "")
            thoughts.append(thought + "")
            calls += [{name: value for name, value in call.items() if name != "id"} for call in made]  # ids are random
        except (UnicodeDecodeError, InputError, AttributeError, TypeError):
            raise BrokenReply("unreadable_reply", raw) from None
        if part.get("done") is True:
            if last is not None:
                raise BrokenReply("unreadable_reply", raw)  # two last lines: which counts would be meant?
            last = part
    if last is None:
        raise BrokenReply("stopped_stream", raw)
    reason, prompt, answer = (last.get(name) for name in ("done_reason", "prompt_eval_count", "eval_count"))
    if reason not in ("stop", "length"):
        raise BrokenReply("unknown_end", raw)
    if type(prompt) is not int or type(answer) is not int or answer > num_predict:
        raise BrokenReply("bad_counts", raw)
    if reason == "length" and answer != num_predict:
        raise BrokenReply("bad_counts", raw)  # the server's own context was full before the answer's allowance
    entry = {
        "seed": seed,
        "answer": "".join(texts),
        "tool_calls": calls,
        "done_reason": reason,
        "prompt_tokens": prompt,
        "answer_tokens": answer,
    }
    return writable({**entry, "thinking": "".join(thoughts)} if any(thoughts) else entry, raw)


def writable(entry, raw):
    """The entry, or BrokenReply for text that UTF-8 cannot hold (half a surrogate pair): no file could keep it."""
    try:
        dump(entry).encode("utf-8")
    except UnicodeEncodeError:
        raise BrokenReply("unreadable_reply", raw) from None
    return entry


def read_completion(data, seed, allowance):
    """The answer in a whole body, or BrokenReply naming what is wrong with it."""
    raw = data.decode("utf-8", "replace")
    try:
        value = parse_json(data.decode("utf-8"), "reply")
        if "error" in value:
            raise BrokenReply("error_body", raw)
        choice, usage = value["choices"][0], value.get("usage") or {}
        message = choice["message"]
        text, thought = message.get("content") or "", message.get("reasoning_content") or message.get("reasoning") or ""
        calls = [{"function": call["function"]} for call in message.get("tool_calls") or ()]  # ids are random
        prompt, answer = usage.get("prompt_tokens"), usage.get("completion_tokens")
        text, thought = text + "", thought + ""
    except (InputError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        raise BrokenReply("unreadable_reply", raw) from None
    if choice.get("finish_reason") not in ENDS:
        raise BrokenReply("unknown_end", raw)
    reason = ENDS[choice["finish_reason"]]
    if type(prompt) is not int or type(answer) is not int or not prompt or answer > allowance:
        raise BrokenReply("bad_counts", raw)
    if reason == "length" and answer != allowance:
        raise BrokenReply("bad_counts", raw)
    entry = {
        "seed": seed,
        "answer": text,
        "tool_calls": calls,
        "done_reason": reason,
        "prompt_tokens": prompt,
        "answer_tokens": answer,
    }
    return writable({**entry, "thinking": thought} if thought else entry, raw)
