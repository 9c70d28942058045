"""Ask a pinned model, greedily, with a window that is as large as the question needs.

Temperature is 0, the seed the model block's first; both stand in `identity`, what a record says of who answered. A
prompt that the server counts otherwise ends the run; a reply that broke, was cut by length, holds thinking or nothing
is {"seed", "incomplete": kind}, and never an answer.
"""

from answers.recording import entry_misfit, incomplete_kind
from base.command import InputError, dump, sha256
from base.lines import append_line, read_entries

GREEDY = {"temperature": 0.0}
STEP = 256  # a server rounds its window up to this
KEPT = {"request": str, "reply": lambda reply: entry_misfit(reply, "it") is None}


class NoAnswer(InputError):
    """What a model replied is no whole answer."""


def pinned_model(path, manifest=None):
    """{"ask", "identity"} for the model block in a file, counted by the tokenizer of a manifest (default: shipped).

    ask(messages, tools=(), num_predict=512) -> an entry (answers/recording.py); a call of a tool needs no text.
    InputError where no file is named or the server does not hold the pinned build.
    """
    if path is None:
        raise InputError("no model is named; give --model FILE (python answer_model.py pin TAG prints a model block)")
    import tokenizer
    from answer_model import AnswerModel, read_model

    block = read_model(path)
    model, seed, counter = AnswerModel(block), block["seeds"][0], tokenizer.counter(manifest or tokenizer.MANIFEST)
    identity = {"model": block["ollama_tag"], "digest": block.get("ollama_digest"),
                "version": model.identity["version"], "options": block["options"] | GREEDY, "seed": seed}

    def ask(messages, tools=(), num_predict=512):
        tokens = counter.full(messages, list(tools) or None)
        window = -(-(tokens + num_predict) // STEP) * STEP
        body = model.request(block, messages, tools, num_ctx=window, num_predict=num_predict, seed=seed, options=GREEDY)
        entry = model.ask_whole(body, seed, tokens, f"{path}: a question of {tokens} tokens")
        kind = incomplete_kind(entry)
        whole = kind is None or kind == "empty_text" and entry["tool_calls"]
        return entry if whole else {"seed": seed, "incomplete": kind}

    return {"ask": ask, "identity": identity}


def answer_text(model, prompt, num_predict):
    """The text of a whole answer of a pinned model to one prompt, or NoAnswer that names what came instead."""
    entry = model["ask"]([{"role": "user", "content": prompt}], num_predict=num_predict)
    kind = entry.get("incomplete") or (None if entry["answer"].strip() else "tool_call")
    if kind:
        raise NoAnswer(f"the model gave no whole answer: {kind}; raise its answer's allowance or use another model")
    return entry["answer"]


def kept_replies(ask, identity, path):
    """`ask` with each reply kept in a file of JSON lines as it comes; one that stands there is not asked again."""
    known = {line["request"]: line["reply"] for line in read_entries(path, KEPT, "kept reply")}

    def asked(messages, tools=(), num_predict=512):
        key = sha256(dump([identity, list(messages), list(tools), num_predict]))
        if key not in known:
            known[key] = ask(messages, tools, num_predict)
            append_line(path, {"request": key, "reply": known[key]})
        return known[key]

    return asked
