"""A test double of an Ollama on loopback: no model, answers made from the request, faults when asked for.

It behaves as the real server does where the recorder depends on it: NDJSON in chunks, counts in the last line only,
`/api/tags` with bare digests, 404 with JSON for an unknown model and with plain text for an unknown path, 500 for an
option of a wrong type, unknown options ignored, old messages dropped in silence unless truncate is false, thinking
unless think is false, "load" for no messages. It does not tokenise: `stand_in_count` counts words.

fault   a name in FAULTS, chosen for each chat request by `fault(number, body)`; numbers count from 1
"""

import contextlib
import hashlib
import json
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from answer_model import MODEL

STATUSES = {"400": 400, "404": 404, "429": 429, "500": 500, "503": 503}
FAULTS = (*STATUSES,
          *"refused hang reset cut_line stopped_stream error_line error_200 length empty blank think_field think_text "
          "tool_call cut_prompt long_prompt no_counts over_length short_length surrogate stall load html nan "
          "not_utf8 two_last huge redirect change_version change_digest gone down".split())


def stand_in_count(messages, tools=None):
    """Tokens of a request by a stand-in for the tokenizer: four, and five more than its words for each message."""
    return 4 + sum(5 + len(message["content"].split()) for message in messages) + 20 * len(tools or ())


class OllamaDouble:
    """The server, running from `with` on. `requests` holds (path, body) of all that came, `chats` the chat bodies."""

    text = None  # what every answer says, where it is not made from the request

    def __init__(self, fault=None, count=stand_in_count, before_reply=None):
        """`before_reply(number, stage)` is called at the stages "asked", "half" and "said" of each chat."""
        self.fault, self.count = fault or (lambda number, body: None), count
        self.before_reply = before_reply or (lambda number, stage: None)
        self.version, self.digest, self.tag = MODEL["ollama_version"], MODEL["ollama_digest"], MODEL["ollama_tag"]
        self.shown = {"capabilities": ["completion", "vision", "tools", "thinking"],
                      "parameters": "top_k 64\ntemperature 1",
                      "modelfile": f"FROM /models/blobs/sha256-{'ab' * 32}\nRENDERER gemma4\nPARSER gemma4\n",
                      "model_info": {"general.license": "apache-2.0"}}
        self.entry, self.context_length, self.loaded, self.down = {}, 2048, [self.tag], False
        self.requests, self.chats, self.guard, self.release = [], [], threading.Lock(), threading.Event()

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), type("Handler", (Handler,), {"double": self}))
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def tags(self):
        """The body of /api/tags."""
        details = {"parameter_size": "5.1B", "quantization_level": MODEL["quantization"], "family": "gemma4"}
        entry = {"name": self.tag, "model": self.tag, "digest": self.digest, "size": 7162394016, "details": details}
        other = {**entry, "name": "other:latest", "model": "other:latest", "digest": "0" * 64}
        return {"models": [other, {**entry, **self.entry}]}


class Server(ThreadingHTTPServer):
    """A thread for each connection; clients that go away are part of the tests and no error."""

    daemon_threads, block_on_close = True, False

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection to the double."""

    protocol_version, double = "HTTP/1.1", None

    def log_message(self, *_):
        pass

    def do_GET(self):
        double = self.double
        self.note(None)
        bodies = {
            "/api/version": {"version": double.version}, "/api/tags": double.tags(),
            "/api/ps": {"models": [{"name": name, "context_length": double.context_length} for name in double.loaded]}}
        if double.down:
            self.json(503, {"error": "server busy"})
        elif self.path in bodies:
            self.json(200, bodies[self.path])
        else:
            root = self.path == "/"
            self.whole(200 if root else 404, b"Ollama is running" if root else b"404 page not found", "text/plain")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(body)
        if self.path not in ("/api/show", "/api/chat"):
            self.whole(404, b"404 page not found", "text/plain")
        elif str(body.get("model", "")).lower().removeprefix("library/") != self.double.tag:
            self.json(404, {"error": f"model '{body.get('model')}' not found"})
        elif self.path == "/api/show":
            self.json(200, self.double.shown)
        else:
            self.chat(body)

    def note(self, body):
        """Remember the request; a chat gets the next number."""
        with self.double.guard:
            self.double.requests.append((self.path, body))
            if self.path == "/api/chat":
                self.double.chats.append(body)
                self.number = len(self.double.chats)

    def chat(self, body):
        """Answer one chat request, or fail in the way that was asked for."""
        fault = self.double.fault(self.number, body)
        assert fault is None or fault in FAULTS, fault
        self.double.before_reply(self.number, "asked")
        if any(isinstance(value, str) for name, value in body.get("options", {}).items() if name != "stop"):
            self.json(500, {"error": "option must be of type integer"})
        elif not body.get("messages"):
            self.json(200, {"model": body["model"], "done": True, "done_reason": "load"})
        elif fault in STATUSES:
            self.json(STATUSES[fault], {"error": f"the double was told to say {fault}"})
        elif fault in ("refused", "hang"):
            if fault == "hang":
                self.double.release.wait(30)
            self.drop()
        elif fault == "error_200":
            self.json(200, {"error": "model runner has unexpectedly stopped"})
        elif fault == "html":
            self.whole(200, b"<html>Log in</html>", "text/html")
        elif fault == "redirect":
            self.whole(302, b"", "text/html", ("Location", f"http://{self.double.host}/elsewhere"))
        else:
            self.stream(*self.reply(body, fault), fault)

    def stream(self, parts, last, fault):
        """Send the parts of a reply and its last line, each as a chunk, or break off where a fault says so."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if fault == "huge":
            parts = [{"message": {"content": "x" * 65536}}] * 80
        for place, part in enumerate(parts):
            if not self.chunk(json.dumps({"model": last["model"], "done": False, **part}).encode()):
                return
            if place == 0:
                self.double.before_reply(self.number, "half")
                if self.fail_amid(fault):
                    return
        double = self.double  # which becomes another server while an answer is under way
        double.version = "0.33.0" if fault == "change_version" else double.version
        double.digest = "f" * 64 if fault == "change_digest" else double.digest
        double.tag = "away:latest" if fault == "gone" else double.tag
        double.down = fault == "down"
        for line in [last] * (2 if fault == "two_last" else 1):
            self.chunk(json.dumps(line).encode().replace(b'"nan"', b"NaN"))
        self.wfile.write(b"0\r\n\r\n")
        double.before_reply(self.number, "said")

    def fail_amid(self, fault):
        """Whether the stream was broken after its first part."""
        lines = {"stopped_stream": b"",  # ends in good order, without a last line: the repeat guard does so
                 "error_line": b'{"error": "context canceled"}', "not_utf8": b'{"message": {"content": "\xff"}}'}
        if fault in ("reset", "stall"):
            if fault == "stall":
                self.double.release.wait(5)
            self.drop()
        elif fault == "cut_line":
            self.wfile.write(b'40\r\n{"message": {"content": "half')
            self.close_connection = True
        elif fault in lines:
            if lines[fault]:
                self.chunk(lines[fault])
            self.wfile.write(b"0\r\n\r\n")
        return fault in ("reset", "stall", "cut_line", *lines)

    def reply(self, body, fault):
        """(parts of the stream, the last line) for one request."""
        options, allowance = body["options"], body["options"]["num_predict"]
        asked = json.dumps([body["messages"], options], sort_keys=True)
        text = self.double.text or f"Answer {hashlib.sha256(asked.encode()).hexdigest()[:12]} of the double."
        text = {"empty": "", "surrogate": "half a pair: \ud83d", "blank": " \n",
                "think_text": f"<|channel>thought\nHm<channel|>{text}"}.get(fault, text)
        parts = [{"message": {"role": "assistant", "content": piece}} for piece in (text[:9], text[9:])]
        if fault == "think_field" or body.get("think") is not False:
            parts.insert(0, {"message": {"role": "assistant", "content": "", "thinking": "Hm"}})
        if fault == "tool_call":
            call = {"id": f"call_{self.number}", "function": {"name": "look_up", "arguments": {"q": 1}}}
            parts.append({"message": {"role": "assistant", "content": "", "tool_calls": [call]}})
        prompt = self.double.count(body["messages"], body.get("tools"))
        if body.get("truncate") is not False:
            prompt = min(prompt, options["num_ctx"])
        prompt += {"cut_prompt": -7, "long_prompt": 7}.get(fault, 0)
        counts = {"prompt_eval_count": prompt,
                  "eval_count": {"length": allowance, "over_length": allowance + 1}.get(fault, 9)}
        if fault == "nan":
            counts["eval_count"] = "nan"
        if fault == "no_counts":
            counts.pop("prompt_eval_count")
        reason = {"length": "length", "short_length": "length", "load": "load"}.get(fault, "stop")
        last = {"model": body["model"], "message": {"role": "assistant", "content": ""}, "done": True,
                "done_reason": reason, "load_duration": 1, **counts}
        return parts, last

    def chunk(self, data):
        """Whether one line was sent as one chunk."""
        try:
            self.wfile.write(f"{len(data) + 1:x}\r\n".encode() + data + b"\n\r\n")
            self.wfile.flush()
        except OSError:
            return False
        return True

    def drop(self):
        """Break the connection so that the client sees a reset."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def json(self, status, value):
        self.whole(status, json.dumps(value).encode(), "application/json")

    def whole(self, status, data, kind, *headers):
        """One reply with a length."""
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()
