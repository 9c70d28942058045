"""A model behind a server with OpenAI's interface (llama.cpp's, vLLM): the same answers, and what nothing pins there.

The recording names what was not verified; the token count of every prompt is still held against ours. An Ollama is
refused: its /v1 drops options in silence. A model block may name the model as `served_model`, else by ollama_tag.
"""

import json
from copy import deepcopy

from answers.builds import field
from answers.exchange import ServerError, Unavailable, base_url, exchange, get_json
from answers.reply import read_completion
from answers.server import Server, sampler_options
from base.command import InputError
from base.shapes import misfit

UNVERIFIED = ("weights", "context length of the request", "chat template but for its token count",
              "sampler options taken")
KEPT = ("publisher_model", "license", "options", "think", "trials", "seeds")  # of a model block


class OpenAIModel(Server):
    """A server that lists the model under its name. Its `identity` has no digest, and a version where it tells one."""

    api = "openai"

    def address(self, host):
        """The server's URL without /v1; InputError without one, ServerError for an Ollama."""
        if not host:
            raise InputError("--api openai: no address; give --host, say --host http://127.0.0.1:8080")
        url = base_url(host, default_port=8080).removesuffix("/v1")
        if "version" in look(f"{url}/api/version") or b"Ollama is running" in exchange("GET", f"{url}/")[1]:
            raise ServerError(f"{url} is an Ollama, whose /v1 drops options in silence; record with --api ollama")
        return url

    def __init__(self, model, host=None, **options):
        super().__init__(model, host, **options)
        self.unverified = UNVERIFIED if self.identity["version"] else (*UNVERIFIED, "version")
        named = {"served_model": served_name(model)}  # what was pinned on an Ollama says nothing of the build here
        self.block = named | {name: value for name, value in model.items() if name in KEPT}

    def identify(self):
        """{"version", "digest": None, "meta"}: what the server says of its build and of the model, which is little."""
        name, url = served_name(self.model), f"{self.url}/v1/models"
        entries = {entry["id"]: entry for entry in field(get_json(url), "data", list, url)
                   if misfit(entry, {"id": str}) is None}
        if name not in entries:
            raise ServerError(f"{self.url} serves {', '.join(entries) or 'nothing'} and not {name}; name it as"
                              " served_model in the model block")
        version = look(f"{self.url}/props").get("build_info") or look(f"{self.url}/version").get("version")
        told = {field: entries[name][field] for field in ("root", "max_model_len", "meta") if entries[name].get(field)}
        return {"version": version, "digest": None, "meta": told}

    @staticmethod
    def request(model, messages, tools=(), *, num_ctx, num_predict, seed, options=None):
        """The exact request for one answer. num_ctx cannot be said here, so it is checked and left out."""
        chosen = sampler_options(model["options"], options, seed=seed, num_ctx=num_ctx, num_predict=num_predict)
        messages = deepcopy(messages)
        for call in [call for message in messages for call in message.get("tool_calls") or ()]:  # as JSON in a text
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
        body = {"model": served_name(model), "messages": messages,
                "stream": False, "seed": seed, **chosen, "max_tokens": num_predict,
                "repetition_penalty": chosen["repeat_penalty"],  # vLLM's name for it
                "chat_template_kwargs": {"enable_thinking": False}}
        return {**body, "tools": list(tools)} if tools else body

    def send(self, body):
        """The answer that the server gives to one request, or BrokenReply."""
        return self.post("/v1/chat/completions", body, read_completion, body["seed"], body["max_tokens"])

    def running(self):
        """(tokens of context that a request gets or None where nobody says, no others: such a server holds one)."""
        settings = look(f"{self.url}/props").get("default_generation_settings")
        context = settings.get("n_ctx") if isinstance(settings, dict) else None
        told = [size for size in (context, self.identity["meta"].get("max_model_len")) if type(size) is int and size]
        return told[0] if told else None, []


def served_name(model):
    """The name under which a server knows the model of a block."""
    return model.get("served_model") or model["ollama_tag"]


def look(url):
    """The JSON object at a path that a server may lack: then {}."""
    try:
        return get_json(url, missing={})
    except Unavailable:
        raise
    except ServerError:
        return {}
