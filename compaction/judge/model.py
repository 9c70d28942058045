"""Ask a pinned model, greedily, with a window that is as large as the question needs.

Does not choose what is asked or read what comes back.

The model is the block of a file (`python answer_model.py pin TAG` prints one). Temperature is 0 whatever the block
says, the seed is its first; both stand in `identity`, which is what a record says of who answered.
"""

import hashlib
from pathlib import Path

from base.lines import append_line, read_lines

from base.command import InputError, dump

GREEDY = {"temperature": 0.0}
STEP = 256  # a server rounds its window up to this


def pinned_model(path):
    """{"ask", "identity"} for the model block in a file.

    ask(messages, tools=(), num_predict=512) -> the entry of answer_model.AnswerModel.answer, or None for a reply that
    is no answer. InputError where no file is named or the server does not hold the pinned build.
    """
    if path is None:
        raise InputError("no model is named; give --model FILE (python answer_model.py pin TAG prints a model block)")
    import tokenizer
    from answer_model import AnswerModel, read_model
    from answers.exchange import BrokenReply

    block = read_model(path)
    model, count, seed = AnswerModel(block), tokenizer.counter().count, block["seeds"][0]
    identity = {"model": block["ollama_tag"], "digest": block.get("ollama_digest"),
                "version": model.identity["version"], "options": block["options"] | GREEDY, "seed": seed}

    def ask(messages, tools=(), num_predict=512):
        needed = count(messages, list(tools) or None) + num_predict
        try:
            return model.answer(
                messages, tools, num_ctx=-(-needed // STEP) * STEP, num_predict=num_predict, seed=seed, options=GREEDY)
        except BrokenReply:
            return None

    return {"ask": ask, "identity": identity}


def kept(ask, identity, path):
    """`ask` with each reply kept in a file of JSON lines as it comes; one that stands there is not asked again."""
    path, known = Path(path), {}
    if path.exists():
        for number, line in read_lines(path):
            if not isinstance(line, dict) or set(line) != {"request", "reply"}:
                raise InputError(f"{path}: line {number} is no kept reply; name another file")
            known[line["request"]] = line["reply"]

    def asked(messages, tools=(), num_predict=512):
        request = [identity, list(messages), list(tools), num_predict]
        key = hashlib.sha256(dump(request).encode("utf-8", "surrogatepass")).hexdigest()
        if key not in known:
            known[key] = ask(messages, tools, num_predict)
            append_line(path, {"request": key, "reply": known[key]})
        return known[key]

    return asked
