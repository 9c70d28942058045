"""A model behind a server, whatever its interface: what is asked, what came of it, that the server stays the same.

`Server` is the one door for every question to a model; `OpenAIModel` is that of llama.cpp's server and vLLM. A reply
with status 200 need not be an answer: it can stop early, hold an error, end for another reason or count what cannot be.
"""

import json
import time
from copy import deepcopy

from answers import exchange
from answers.exchange import BrokenReply, ServerError, Unavailable, base_url, fetch, get_json, patient, try_get
from base.command import InputError
from base.lines import is_torn, json_in
from base.shapes import NONE, NUMBER, Only, misfit, of_type

NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "presence_penalty": 0.0,
           "frequency_penalty": 0.0}  # what changes no probability; an option left out would be the server's to decide
OPTIONS = Only(dict.fromkeys(NEUTRAL, NUMBER))  # a server ignores other names, with nothing but a line in its log
SIZES = {  # a server draws a wrong seed at random and takes 0 for no limit
    "seed?": lambda seed: type(seed) is int and seed >= 0,
    **of_type(lambda size: type(size) is int and size > 0, "num_ctx? num_predict?")}
BROKEN_WAIT_S = 2
FIRST_S, IDLE_S, TOTAL_S = 600, 120, 1200  # the first part waits for a load of the model
UNVERIFIED = ("weights", "context length of the request", "chat template but for its token count",
              "sampler options taken")
KEPT = ("publisher_model", "license", "options", "think", "trials", "seeds")  # of a block: no Ollama's build
MODELS = {"data": [{"id": str}]}
ENDS = {"stop": "stop", "tool_calls": "stop", "length": "length"}  # of OpenAI's interface
MESSAGE = {**of_type((str, NONE), "content? thinking? reasoning_content? reasoning?"), "tool_calls?": ([dict], NONE)}
PARTS = [{"message?": MESSAGE}]
COMPLETION = {"choices": [{"message": MESSAGE, "finish_reason?": (str, NONE)}], "usage?": (dict, NONE)}


def read_stream(data, body):
    """The answer in Ollama's reply to a request, one object a line, or BrokenReply naming what is wrong with it."""
    whole, end, tail = data.rpartition(b"\n")
    lines = (whole if is_torn(tail) else data).split(b"\n")  # a last line that was cut is left out; its absence tells
    parts = [json_in(line, exchange.DEEPEST_REPLY) for line in lines if line.strip()]
    if misfit(parts, PARTS) or any(part.get("done") is True for part in parts[:-1]):  # more behind the last line
        raise BrokenReply("unreadable_reply")
    if any("error" in part for part in parts):
        raise BrokenReply("error_body")
    if not parts or parts[-1].get("done") is not True:
        raise BrokenReply("stopped_stream")
    last, messages = parts[-1], [part.get("message", {}) for part in parts]
    message = {name: "".join(message.get(name) or "" for message in messages) for name in ("content", "thinking")}
    message["tool_calls"] = [call for message in messages for call in message.get("tool_calls") or []]
    counts, asked = (last.get("prompt_eval_count"), last.get("eval_count")), body["options"]
    return whole_answer(message, last.get("done_reason"), counts, asked["seed"], asked["num_predict"])


def read_completion(data, body):
    """The answer in the reply of OpenAI's interface to a request, or BrokenReply naming what is wrong with it."""
    value = json_in(data, exchange.DEEPEST_REPLY)
    if misfit(value, {"error": object}) is None:
        raise BrokenReply("error_body")
    if misfit(value, COMPLETION) or not value["choices"]:
        raise BrokenReply("unreadable_reply")
    said, usage = value["choices"][0], value.get("usage") or {}
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return whole_answer(said["message"], ENDS.get(said.get("finish_reason")), counts, body["seed"], body["max_tokens"])


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


class Server:
    """A verified server; a kind of server adds api, path, reader (of a reply), address, identify and request.

    `identity`: {"version", "digest"} as the server says them; `facts`: what else is worth recording; `block`: the model
    block for a recording; `unverified`: what nobody can check; `times`: seconds as in `exchange`.
    """

    unverified = ()

    def __init__(self, model, host=None, wait=None, times=(FIRST_S, IDLE_S, TOTAL_S)):
        self.model, self.wait, self.times = model, wait or time.sleep, times
        self.url = self.address(host)
        self.identity, self.facts, self.block = self.identify(), {}, model

    def running(self):
        """(tokens of context that the loaded model has or None where nobody says, names of other loaded models)."""
        return None, []

    def answer(self, messages, tools=(), **options):
        """One whole answer to what `request` takes, or BrokenReply; else as `ask`."""
        came = self.ask(self.request(self.model, messages, tools, **options))
        if "entry" not in came:
            raise BrokenReply(came["why"])
        return came["entry"]

    def send(self, body):
        """{"entry"} of one exact request; {"why", "raw"} for a reply that is no answer: its name, and it as it came."""
        self.check_unchanged()
        data, fault = fetch(f"{self.url}{self.path}", body, self.times)
        try:
            if fault:
                raise BrokenReply(fault)
            return {"entry": self.reader(data, body)}
        except BrokenReply as error:
            return {"why": str(error), "raw": data.decode("utf-8", "replace")}

    def ask(self, body, aside=lambda **came: None):
        """What `send` gives, or Unavailable after some tries. The server's identity is checked before and after it.

        ServerError where it is not the one that was verified: what came meanwhile goes to `aside`.
        """
        came = patient(lambda: self.send(body), self.wait)
        try:
            patient(self.check_unchanged, self.wait)
        except ServerError:
            aside(**{**came, "why": "server_changed"})
            raise
        except Unavailable as error:
            aside(**{**came, "why": "unconfirmed"})
            raise ServerError(f"{error}; a reply came before, and what gave it is not known") from None
        return came

    def ask_whole(self, body, seed, tokens, where, aside=lambda **came: None):
        """An entry for one exact request, its prompt as long as we count it; every question to a model goes this way.

        A reply that is no answer is asked for once more; one that stays so gives {"seed", "incomplete": its name}.
        InputError where the server counted other than `tokens`. What came and is no entry goes to `aside`.
        """
        came = self.ask(body, aside)
        if "entry" not in came:  # with the same seed the same fault is likely: once more, and no further
            aside(**came)
            self.wait(BROKEN_WAIT_S)
            came = self.ask(body, aside)
        if "entry" not in came:
            aside(**came)
            return {"seed": seed, "incomplete": came["why"]}
        counted = came["entry"]["prompt_tokens"]
        if counted != tokens:
            aside(why="count_mismatch", **came)
            cause = "the prompt was cut" if counted < tokens else "another template or a system text was put in"
            raise InputError(f"{where}: count_mismatch: the server counted {counted} prompt tokens, we {tokens}"
                             f" ({counted - tokens:+d}): {cause}; its answer is not used, the run ends here")
        return came["entry"]

    def check_unchanged(self):
        """Nothing, or ServerError unless the server is still the one that was verified."""
        try:
            now = self.identify()
        except ServerError as error:
            raise ServerError(f"the server changed during the run: {error}") from None
        if now != self.identity:
            before, after = (f"version {told['version']}, build {told['digest']}" for told in (self.identity, now))
            raise ServerError(f"{self.url} changed during the run from {before} to {after}; go back to the first, or"
                              " start again to ask everything anew")


class OpenAIModel(Server):
    """A server with OpenAI's interface: nothing pins its build, but our token count of every prompt has to be its own.

    A model block may name the model as `served_model`, else by ollama_tag.
    """

    api, path, reader = "openai", "/v1/chat/completions", staticmethod(read_completion)

    def address(self, host):
        """The server's URL without /v1; InputError without one, ServerError for an Ollama."""
        if not host:
            raise InputError("--api openai: no address; give --host, say --host http://127.0.0.1:8080")
        url = base_url(host, default_port=8080).removesuffix("/v1")
        if "version" in try_get(f"{url}/api/version"):
            raise ServerError(f"{url} is an Ollama, whose /v1 drops options in silence; record with --api ollama")
        return url

    def __init__(self, model, host=None, **options):
        super().__init__(model, host, **options)
        self.unverified = UNVERIFIED if self.identity["version"] else (*UNVERIFIED, "version")
        self.block = {"served_model": served_name(model), **{name: model[name] for name in KEPT if name in model}}

    def identify(self):
        """{"version", "digest": None, "meta"}: what the server says of its build and of the model, which is little."""
        name = served_name(self.model)
        models = {entry["id"]: entry for entry in get_json(f"{self.url}/v1/models", MODELS)["data"]}
        if name not in models:
            raise ServerError(f"{self.url} serves {', '.join(models) or 'nothing'} and not {name}; name it as"
                              " served_model in the model block")
        version = try_get(f"{self.url}/props").get("build_info") or try_get(f"{self.url}/version").get("version")
        meta = {field: models[name][field] for field in ("root", "max_model_len", "meta") if models[name].get(field)}
        return {"version": version, "digest": None, "meta": meta}

    @staticmethod
    def request(model, messages, tools=(), *, num_ctx, num_predict, seed, options=None):
        """The exact request for one answer. num_ctx cannot be said here, so it is checked and left out."""
        chosen = sampler_options(model["options"], options, seed=seed, num_ctx=num_ctx, num_predict=num_predict)
        messages = deepcopy(messages)
        for call in [call for message in messages for call in message.get("tool_calls") or ()]:  # as JSON in a text
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
        return {"model": served_name(model), "messages": messages,
                "stream": False, "seed": seed, **chosen, "max_tokens": num_predict,
                "repetition_penalty": chosen["repeat_penalty"],  # vLLM's name for it
                "chat_template_kwargs": {"enable_thinking": False}, **({"tools": list(tools)} if tools else {})}

    def running(self):
        """As `Server.running`: a llama.cpp may shift a context that gets full while it answers, and no count tells."""
        settings = try_get(f"{self.url}/props").get("default_generation_settings")
        context = settings.get("n_ctx") if isinstance(settings, dict) else None
        told = (context, self.identity["meta"].get("max_model_len"))
        return next((size for size in told if type(size) is int and size > 0), None), []


def served_name(model):
    """The name under which a server knows the model of a block."""
    return model.get("served_model") or model["ollama_tag"]


def sampler_options(pinned, overrides=None, **sizes):
    """Every sampler option, neutral, pinned or the caller's, or InputError; the sizes (SIZES) are only checked."""
    chosen = {**NEUTRAL, **pinned, **(overrides or {})}
    if problem := misfit(chosen, OPTIONS, "options") or misfit(sizes, SIZES, "options"):
        raise InputError(f"{problem}; options are numbers, a seed counts from 0, num_ctx and num_predict from 1")
    return chosen
