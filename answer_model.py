"""One pinned model behind a local Ollama: refuse any other build, send every option, take only whole answers.

Run:  python answer_model.py pin gemma4:e2b

`pin TAG` prints a model block for a build that the server has, to be used with `answer_check.py record --model FILE`.
Sampler options and seeds in it are the published ones: edit them where another model wants others. Version and digest
are read before and after each answer: a reply does not say what gave it.

model   the block MODEL: tag, digest, options, seeds; read from a file by `read_model`
answer  {"seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"}, counts in tokens, and
        "thinking" where the model thought although it was told not to
"""

import base  # noqa: F401, I001 (first, for Ctrl-C during the other imports)

import datetime
import os
import sys

from answers.builds import bare_digest, builds, check_shown, find_build, full_name, ollama_version, pinned_block
from answers.exchange import ServerError, base_url
from answers.server import Server, read_stream, sampler_options
from base.command import InputError, dump, make_parser, read_json, run_command
from base.shapes import misfit

MODEL = {
    "checked_on": "2026-10-20", "publisher_model": "google/gemma-4-E2B-it", "license": "Apache-2.0",
    "ollama_tag": "gemma4:e2b",
    "ollama_digest": "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2",
    "ollama_version": "0.32.14", "quantization": "Q4_K_M", "parameters": "4.6B total (E2B: about 2B effective)",
    "options": {"temperature": 1.0, "top_k": 64, "top_p": 0.95}, "think": False, "trials": 5, "seeds": [1, 2, 3, 4, 5],
}
BLOCK = {"ollama_tag": lambda tag: isinstance(tag, str) and tag != "", "served_model?": str, "options": dict,
         "seeds": lambda seeds: (misfit(seeds, [int]) is None and seeds and min(seeds) >= 0
                                 and len(set(seeds)) == len(seeds)),  # different whole numbers from 0 on
         "think": lambda think: think is False}


def server_url(host):
    """The server's URL: the caller's address before the environment's, before 127.0.0.1:11434."""
    return base_url(host or os.environ.get("OLLAMA_HOST", ""))


class AnswerModel(Server):
    """A server that holds exactly the pinned build. Making one refuses all others before any question."""

    api, path, reader, address = "ollama", "/api/chat", staticmethod(read_stream), staticmethod(server_url)

    def __init__(self, model=MODEL, host=None, **options):
        super().__init__(model, host, **options)
        gemma = str(model.get("publisher_model")).lower().startswith("google/gemma-4")
        self.facts, _ = check_shown(self.url, model["ollama_tag"], model.get("renderer") or gemma and "gemma4")

    def identify(self):
        """{"version", "digest"} as the server gives them now, or ServerError for another build than the pinned one."""
        version = ollama_version(self.url)
        tag, wanted = self.model["ollama_tag"], bare_digest(self.model.get("ollama_digest"))
        entry = find_build(self.url, tag, f", pinned as {wanted}")
        if entry.get("digest") != wanted:
            raise ServerError(f"{self.url}: {tag} is the build {entry.get('digest')}, and {wanted} is pinned; run"
                              f" `ollama pull {tag}`, or pin the one that is there: `python answer_model.py pin {tag}`")
        return {"version": version, "digest": wanted}

    @staticmethod
    def request(model, messages, tools=(), *, num_ctx, num_predict, seed, options=None):
        """The exact request for one answer of a model block. InputError for an option that no server would know."""
        chosen = sampler_options(model["options"], options, seed=seed, num_ctx=num_ctx, num_predict=num_predict)
        body = {"model": model["ollama_tag"], "messages": list(messages),
                "stream": True,  # without it, and without tools, the server loses the calls that the model makes
                "think": False,  # left out, it would be on
                "truncate": False, "shift": False,  # else old messages are dropped in silence
                "keep_alive": "30m",
                "options": {"seed": seed, **chosen, "num_ctx": num_ctx, "num_predict": num_predict}}
        return {**body, "tools": list(tools)} if tools else body

    def running(self):
        """As `Server.running`, from /api/ps."""
        loaded = builds(self.url, "/api/ps")
        own = loaded.pop(full_name(self.model["ollama_tag"]), {})
        return own.get("context_length") or None, sorted(loaded)


def read_model(path):
    """The model block in a file, or InputError for one that `AnswerModel` could not use."""
    model = read_json(path)
    if problem := misfit(model, dict, "it") or misfit(model, BLOCK, "it"):
        raise InputError(f"{path}: no model block: {problem}; `python answer_model.py pin TAG` prints one")
    sampler_options(model["options"])
    return model


def main(argv=None):
    """Print a model block for a build that the server has.

    Run:  python answer_model.py pin gemma4:e2b > model.local.json
    """
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    pin = make_parser(main.__doc__, commands, "pin")
    pin.add_argument("tag", help="a model's name as `ollama list` shows it")
    pin.add_argument("--host", help="the server's address (default OLLAMA_HOST, else 127.0.0.1:11434)")
    args = parser.parse_args(argv)
    block = {"checked_on": datetime.date.today().isoformat(), **pinned_block(server_url(args.host), args.tag)}
    sys.stdout.write(dump({**block, **{name: MODEL[name] for name in ("options", "think", "trials", "seeds")}}))
    return 0


if __name__ == "__main__":
    run_command(main)
