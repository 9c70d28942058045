"""Test doubles of an Ollama and of a server with OpenAI's interface on loopback: no model, faults when asked for.

The Ollama behaves as the real one does where the recorder depends on it: NDJSON in chunks, counts in the last line
only, `/api/tags` with bare digests, 404 with JSON for an unknown model and with plain text for an unknown path,
thinking unless think is false. An answer is made from its request; `stand_in_count` counts words.

fault   a name that the handler knows, for every chat; {number: name}, counted from 1; or (number, body) -> name
"""

import hashlib
import json
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from answer_model import MODEL

CALL = {"id": "call_1", "function": {"name": "look_up", "arguments": {"q": 1}}}
WHOLE = {  # replies at once: status, body, headers
    "error_200": (200, {"error": "model runner has unexpectedly stopped"}), "html": (200, b"<html>Log in</html>"),
    "redirect": (302, b"", ("Location", "/elsewhere")),
    **{str(status): (status, {"error": "the double was told so"}) for status in (400, 404, 429, 500, 503)}}
SAYS = {  # what differs in a reply: its text, the message behind it, its last line; counts, from what they would be
    "empty": {"content": ""}, "blank": {"content": " \n"}, "surrogate": {"content": "half a pair: \ud83d"},
    "huge": {"content": "x" * 5 * 2**20}, "think_text": {"content": "<|channel>thought\nHm<channel|>Mateo."},
    "think_field": {"thinking": "Hm"}, "tool_call": {"tool_calls": [CALL]}, "load": {"done_reason": "load"},
    "length": {"done_reason": "length", "over": 0}, "short_length": {"done_reason": "length"},
    "over_length": {"over": 1}, "no_counts": {"prompt_eval_count": None}, "nan": {"eval_count": float("nan")},
    "cut_prompt": {"off": -7}, "long_prompt": {"off": 7}}
BREAKS = {  # what comes behind the first part of a stream: bytes, or how long to wait before a reset
    "reset": 0, "stall": 5, "cut_line": b'40\r\n{"message": {"content": "half',
    **dict.fromkeys(("stopped_stream", "stopped_change"), b"0\r\n\r\n"),  # in good order, as by the repeat guard
    "error_line": b'1e\r\n{"error": "context canceled"}\n\r\n0\r\n\r\n',
    "not_utf8": b'1e\r\n{"message": {"content": "\xff"}}\n\r\n0\r\n\r\n'}
CHANGES = {  # of the server while an answer is under way
    **dict.fromkeys(("change_version", "stopped_change"), ("version", "0.33.0")), "change_digest": ("digest", "f" * 64),
    "gone": ("tag", "away:latest"), "down": ("down", True)}


def stand_in_count(messages, tools=None):
    """Tokens of a request: four, and five more than its words for each message."""
    return 4 + sum(5 + len(message["content"].split()) for message in messages) + 20 * len(tools or ())


class Server(ThreadingHTTPServer):
    """A thread for each connection; clients that go away are part of the tests and no error."""

    daemon_threads, block_on_close = True, False

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection to a double, which says what is answered."""

    protocol_version, double = "HTTP/1.1", None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.double.requests.append((self.path, None))
        self.double.get(self)

    def do_POST(self):
        body, number = json.loads(self.rfile.read(int(self.headers["Content-Length"]))), None
        with self.double.guard:
            self.double.requests.append((self.path, body))
            if "/chat" in self.path:
                self.double.chats.append(body)
                number = len(self.double.chats)
        self.double.post(self, body, number)

    def say(self, status, data, *headers, cut=None):
        """One reply with a length, bytes or a JSON value, cut off where that is asked for."""
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in (("Content-Length", str(len(data))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[:cut])
        self.close_connection = cut is not None or self.close_connection

    def drop(self, wait_s):
        self.double.release.wait(wait_s)
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed: a reset
        self.connection.close()


class Double:
    """A server, running from `with` on. `requests` holds (path, body) of all that came, `chats` the chat bodies."""

    def __init__(self):
        self.requests, self.chats, self.guard, self.release = [], [], threading.Lock(), threading.Event()

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"double": self}))
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class OllamaDouble(Double):
    """`before_reply(number, stage)` is called at the stages "asked", "half" and "said" of each chat."""

    text = None  # what every answer says, where it is not made from the request

    def __init__(self, fault=None, count=stand_in_count, before_reply=lambda number, stage: None):
        super().__init__()
        named = {int(number): name for number, name in fault.items()} if isinstance(fault, dict) else {}
        self.fault = fault if callable(fault) else lambda number, _: named.get(number) if named else fault
        self.count, self.before_reply = count, before_reply
        self.version, self.digest, self.tag = MODEL["ollama_version"], MODEL["ollama_digest"], MODEL["ollama_tag"]
        self.shown = {"capabilities": ["completion", "vision", "tools"], "parameters": "top_k 64\ntemperature 1",
                      "modelfile": f"FROM /models/blobs/sha256-{'ab' * 32}\nRENDERER gemma4\nPARSER gemma4\n",
                      "model_info": {"general.license": "apache-2.0"}}
        self.entry, self.context_length, self.loaded, self.down = {}, 2048, [self.tag], False

    def tags(self):
        """The body of /api/tags."""
        entry = {"name": self.tag, "digest": self.digest, "details": {"quantization_level": MODEL["quantization"]}}
        return {"models": [{**entry, "name": "other:latest", "digest": "0" * 64}, {**entry, **self.entry}]}

    def get(self, http):
        loaded = [{"name": name, "context_length": self.context_length} for name in self.loaded]
        said = {"/api/version": {"version": self.version}, "/api/tags": self.tags(), "/api/ps": {"models": loaded}}
        http.say(503 if self.down else 200 if http.path in said else 404, said.get(http.path, b"404 page not found"))

    def post(self, http, body, number):
        """Answer a question, or fail in the way that was asked for."""
        if body["model"].lower().removeprefix("library/") != self.tag:
            return http.say(404, {"error": f"model '{body['model']}' not found"})
        if http.path == "/api/show":
            return http.say(200, self.shown)
        fault = self.fault(number, body)
        self.before_reply(number, "asked")
        if fault in WHOLE:
            http.say(*WHOLE[fault])
        elif fault in ("refused", "hang"):
            http.drop(30 if fault == "hang" else 0)
        else:
            self.stream(http, self.reply(body, fault), fault, number)

    def stream(self, http, parts, fault, number):
        """Send the parts of a reply, each as a chunk, or break off where a fault says so."""
        http.send_response(200)
        http.send_header("Transfer-Encoding", "chunked")
        http.end_headers()
        for place, part in enumerate(parts):
            if fault in CHANGES and (part.get("done") or fault in BREAKS):
                setattr(self, *CHANGES[fault])
            line = json.dumps({"model": self.tag, "done": False, **part}).encode()
            http.wfile.write(f"{len(line) + 1:x}\r\n".encode() + line + b"\n\r\n")
            if place == 0:
                self.before_reply(number, "half")
                if isinstance(BREAKS.get(fault), bytes):
                    http.close_connection = True
                    return http.wfile.write(BREAKS[fault])
                if fault in BREAKS:
                    return http.drop(BREAKS[fault])
        http.wfile.write(b"0\r\n\r\n")
        self.before_reply(number, "said")

    def reply(self, body, fault):
        """The lines of the stream for one request."""
        said = {**SAYS.get(fault, {}), **({} if body.get("think") is False else SAYS["think_field"])}
        digest = hashlib.sha256(json.dumps([body["messages"], body["options"]], sort_keys=True).encode()).hexdigest()
        text = said.pop("content", self.text or f"Answer {digest[:12]} of the double.")
        behind = {name: said.pop(name) for name in ("thinking", "tool_calls") if name in said}
        prompt = self.count(body["messages"], body.get("tools")) + said.pop("off", 0)
        answer = body["options"]["num_predict"] + said.pop("over") if "over" in said else 9
        last = {"message": {"content": ""}, "done": True, "done_reason": "stop", "load_duration": 1,
                "prompt_eval_count": prompt, "eval_count": answer, **said}
        messages = [{"content": text[:9]}, {"content": text[9:], **behind}]
        return [*({"message": {"role": "assistant", **message}} for message in messages),
                *[{name: value for name, value in last.items() if value is not None}] * (1 + (fault == "two_last"))]


class OpenAIDouble(Double):
    """As llama.cpp's server: `change` alters its answers, `cut` is where that breaks off; `slot` tells its context."""

    def __init__(self, models=("gemma4:e2b",), change={}, cut=None, slot=None):
        super().__init__()
        self.models, self.change, self.cut, self.slot = models, change, cut, slot

    def get(self, http):
        models = [{"id": name, "created": len(self.chats), "meta": {"n_params": 5}} for name in self.models]
        props = {"build_info": "b10488-aa", "default_generation_settings": self.slot}
        said = {"/v1/models": {"data": models}, "/props": props}
        http.say(200 if http.path in said else 404, said.get(http.path, {"error": {"message": "File Not Found"}}))

    def post(self, http, body, _):
        http.say(200, {"choices": [{"message": {"content": "Mateo."}, "finish_reason": "stop"}],
                       "usage": {"prompt_tokens": stand_in_count(body["messages"]), "completion_tokens": 3},
                       **self.change}, cut=self.cut)
