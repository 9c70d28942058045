"""Speak HTTP to a model's server: no redirect, no proxy before loopback, bounded time and size, named faults."""

import contextlib
import json
import re
import socket
import threading
import time
from urllib.parse import urlsplit

from base.command import InputError, as_text, parse_json
from base.shapes import misfit
from base.shown import one_line

CONNECT_S = 5
LOOK_S = 30  # for the small questions: version, tags
MAX_BODY = 4 * 1024 * 1024
DEEPEST_REPLY = 100  # levels: what a reply holds stands some levels deeper in a journal and a recording
TRY_AGAIN = {408, 429, 500, 502, 503, 504}
NO_REASON = {403: "refused; does the address name this machine?", 404: "is this the address of a model's server?"}
WAITS_S = (1, 5, 20, 60)  # before each further try: a server that restarts is back within them


class ServerError(InputError):
    """The server cannot be used as it is."""


class Unavailable(InputError):
    """No answer this time (time-out, refused connection, 429, 500, 503 and their like); another try may succeed."""


class BrokenReply(ValueError):
    """A reply with status 200 that is no whole answer; the text is the name that it has in a report."""


def base_url(address, default_port=11434):
    """The URL that an address as in OLLAMA_HOST means, or InputError; one to listen on (0.0.0.0) is that of loopback.

    base_url("http://box/") -> "http://box:80", the scheme's own port; base_url(":8080") -> "http://127.0.0.1:8080".
    """
    text = address.strip().strip("\"'").strip()
    url = text if "://" in text else f"http://{text}"
    ports = {"http": 80, "https": 443} if url == text else {"http": default_port}
    url = re.sub(r"(?<=://)[^/\[]*:[^/]*:[^/]*", r"[\g<0>]", url)  # a bare IPv6 address
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "127.0.0.1", parts.port
        if (parts.username is not None or re.search(r"[?#\\\s]", text) or port == 0 or parts.scheme not in ports
            or f".{host}".endswith(".ollama.com")):  # a cloud service cannot be pinned
            raise ValueError("only http or https, a host of your own, a port from 1 on and a path are understood")
    except ValueError as error:
        raise InputError(f"address {address!r}: {error}; write it as host:port or http://host:port") from None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or ports[parts.scheme]}{parts.path.rstrip('/')}"


def exchange(method, url, body=None, first_s=LOOK_S, idle_s=LOOK_S, total_s=LOOK_S):
    """(status, body as bytes, what is wrong with the body: None, "stopped_stream" or "too_large").

    Seconds: to the head of the reply, between two parts of it, in all. Unavailable where none came or time ran out.
    """
    import requests  # here, since grading needs no network
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    host = urlsplit(url).hostname
    sockets, data, status, fault, problem, end = [], bytearray(), None, None, None, time.monotonic() + total_s

    def hang_up():
        for opened in sockets:
            with contextlib.suppress(OSError):  # closed already
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    timer = threading.Timer(total_s, hang_up)
    timer.start()
    try:
        with requests.Session() as session:
            session.trust_env = not (host in ("localhost", "::1") or host.startswith("127."))  # else a proxy is asked
            session.get_redirect_target = lambda reply: None  # not followed, so not read either: it may be broken
            session.headers["Accept-Encoding"] = "identity"  # a compressed body could fill the memory
            session.adapters = dict.fromkeys(session.adapters, adapter(sockets))
            with session.request(method, url, json=body, stream=True, timeout=(CONNECT_S, first_s)) as reply:
                sockets[-1].settimeout(idle_s)  # requests has one limit, and the first part waits for a model's load
                status = reply.status_code
                while len(data) <= MAX_BODY and (part := reply.raw.read1(16384, decode_content=False)):
                    data += part  # what came before a break is kept
    except (requests.exceptions.Timeout, ReadTimeoutError):
        problem = "no reply in time; is the server busy or the address wrong?"
    except requests.exceptions.ConnectionError:
        problem = "cannot connect, or the connection broke; start the server or give --host"
    except (OSError, HTTPError, ValueError) as error:  # requests' own are OSErrors; ValueError: a head that is no text
        fault = "stopped_stream"
        if status is None:
            raise ServerError(f"{url}: {type(error).__name__}; check the address") from None
    finally:
        timer.cancel()
    if time.monotonic() > end:
        problem = "the reply took too long in all; is the machine overloaded?"
    if problem:
        raise Unavailable(f"{url}: {problem}")
    return status, bytes(data[:MAX_BODY]), "too_large" if len(data) > MAX_BODY else fault


def adapter(sockets):
    """requests' adapter that adds each socket it opens to `sockets`: only closing them ends a read that trickles."""
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args, **kwargs):
            pool = super().get_connection_with_tls_context(*args, **kwargs)

            class Connection(pool.ConnectionCls):
                def connect(self):
                    super().connect()  # bounded by its own time-out, a TLS handshake as well
                    sockets.append(self.sock)

            pool.ConnectionCls = Connection
            return pool

    return Adapter()


def fetch(url, body=None, times=()):
    """(body, what is wrong with it) of a reply with status 200; else Unavailable, worth another try, or ServerError."""
    status, data, fault = exchange("GET" if body is None else "POST", url, body, *times)
    if status != 200:
        reason = NO_REASON.get(status, "no reason given")
        with contextlib.suppress(InputError, KeyError, TypeError):
            error = parsed(data, url)["error"]
            reason = one_line(error.get("message", error) if isinstance(error, dict) else error, 300) or reason
        raise (Unavailable if status in TRY_AGAIN else ServerError)(f"{url}: status {status}: {reason}")
    return data, fault


def get_json(url, shape, body=None):
    """The JSON object of a shape (base.shapes) at a URL, or ServerError."""
    data, fault = fetch(url, body)
    if fault == "stopped_stream":
        raise Unavailable(f"{url}: the connection broke in mid-reply; is the server restarting?")
    try:
        value = parsed(data, url)
        problem = misfit(value, shape, "its reply")
    except InputError:
        problem = f"its reply is no JSON of at most {MAX_BODY} bytes"
    if problem:
        raise ServerError(f"{url}: {problem}; is this the address of a model's server?")
    return value


def try_get(url):
    """The JSON object at a path that a server may lack: then {}."""
    with contextlib.suppress(ServerError):
        return get_json(url, {})
    return {}


def parsed(data, url):
    """The JSON value of some bytes, or InputError; a lone surrogate becomes "?", since no recording could hold it."""
    value = parse_json(as_text(data, url), url, DEEPEST_REPLY)
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def patient(call, wait, waits=WAITS_S):
    """What `call()` gives, asked again after each of `waits` seconds while the server is Unavailable."""
    for seconds in waits:
        try:
            return call()
        except Unavailable:
            wait(seconds)
    return call()
