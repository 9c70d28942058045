"""Speak HTTP to a model's server: no redirect, no proxy before loopback, bounded time and size, named faults."""

import contextlib
import ipaddress
import json
import socket
import threading
import time
from urllib.parse import urlsplit

from base.command import InputError, as_text, parse_json
from base.shown import one_line

CONNECT_S = 5
LOOK_S = 30  # for the small questions: version, tags
MAX_BODY = 4 * 1024 * 1024
TRY_AGAIN = {408, 429, 500, 502, 503, 504}
NO_REASON = {403: "refused; does the address name this machine?", 404: "is this the address of a model's server?"}
WAITS_S = (1, 5, 20, 60)  # before each further try: a server that restarts is back within them


class ServerError(InputError):
    """The server cannot be used as it is. The text is one line: what, where, what to do."""


class Unavailable(ServerError):
    """No answer this time (time-out, refused connection, 429, 500, 503 and their like); another try may succeed."""


class BrokenReply(ValueError):
    """A reply with status 200 that is no answer: `kind` is its name in the report, `raw` the text as it came."""

    def __init__(self, kind):
        super().__init__(f"the reply is no whole answer: {kind}")
        self.kind, self.raw = kind, ""


def base_url(address, default_port=11434):
    """The URL that an address as in OLLAMA_HOST means, without a slash at its end, or InputError.

    An address to listen on (0.0.0.0, ::) becomes the loopback one; a URL without a port has its scheme's:
    base_url("http://box/") -> "http://box:80", base_url(":8080") -> "http://127.0.0.1:8080".
    """
    text = address.strip().strip("\"'").strip()
    scheme, given, rest = text.rpartition("://")
    scheme = scheme.lower() if given else "http"
    authority, slash, path = rest.partition("/")
    if authority.count(":") > 1 and "[" not in authority:
        authority = f"[{authority}]"  # a bare IPv6 address
    try:
        parts = urlsplit(f"{scheme}://{authority}{slash}{path}")
        host, port = parts.hostname or "127.0.0.1", parts.port
        odd = parts.username is not None or any(sign in text for sign in "?#\\ \t\r\n")
        if odd or port == 0 or scheme not in ("http", "https"):
            raise ValueError("only http or https, a host, a port from 1 on and a path are understood")
        if host == "ollama.com" or host.endswith(".ollama.com"):
            raise ValueError("a cloud service cannot be pinned; use a server of your own")
    except ValueError as error:
        raise InputError(f"address {address!r}: {error}; write it as host:port or http://host:port") from None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    port = port or ({"http": 80, "https": 443}[scheme] if given else default_port)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{parts.path.rstrip('/')}"


def is_loopback(url):
    """Whether a URL's host is this machine."""
    host = urlsplit(url).hostname
    with contextlib.suppress(ValueError):  # a name
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def exchange(method, url, body=None, first_s=LOOK_S, idle_s=LOOK_S, total_s=LOOK_S):
    """(status, body as bytes, what is wrong with the body: None, "stopped_stream" or "too_large").

    `first_s` seconds to the head of the reply, `idle_s` between two parts of it, `total_s` for everything from the
    connection to the last trailer. Unavailable where no status came at all or time ran out.
    """
    import requests  # here, since grading needs no network
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    def hang_up():
        for open_socket in sockets:
            with contextlib.suppress(OSError):  # closed, or taken over by TLS
                socket.socket.shutdown(open_socket, socket.SHUT_RDWR)

    sockets, data, status, fault, problem, end = [], bytearray(), None, None, None, time.monotonic() + total_s
    timer = threading.Timer(total_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        with requests.Session() as session:
            session.trust_env = not is_loopback(url)
            session.get_redirect_target = lambda reply: None  # not followed, so not read either: it may be broken
            session.headers.update({"Accept-Encoding": "identity"})  # a compressed body could fill the memory
            for scheme in ("http://", "https://"):
                session.mount(scheme, adapter(sockets))
            options = {"json": body, "stream": True, "allow_redirects": False, "timeout": (CONNECT_S, first_s)}
            with session.request(method, url, **options) as reply:
                sockets[-1].settimeout(idle_s)  # requests has one limit, and the first part waits for a model's load
                status = reply.status_code
                while part := reply.raw.read1(16384, decode_content=False):  # what came before a break is kept
                    data += part
                    if len(data) > MAX_BODY:
                        fault = "too_large"
                        break
    except (requests.exceptions.Timeout, ReadTimeoutError):
        problem = Unavailable(f"{url}: no reply in time; is the server busy or the address wrong?")
    except requests.exceptions.ConnectionError:
        problem = Unavailable(f"{url}: cannot connect, or the connection broke; start the server or give --host")
    except (OSError, HTTPError, ValueError) as error:  # requests' own are OSErrors; ValueError: a head that is no text
        fault = "stopped_stream"
        problem = None if status else ServerError(f"{url}: {type(error).__name__}; check the address")
    finally:
        timer.cancel()
    if time.monotonic() > end:
        problem = Unavailable(f"{url}: the reply took too long in all; is the machine overloaded?")
    if problem:
        raise problem
    return status, bytes(data[:MAX_BODY]), fault


def adapter(sockets):
    """requests' adapter that adds each socket it opens to `sockets`: only closing them ends a read that trickles."""
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *args, **kwargs):
            pool = super().get_connection_with_tls_context(*args, **kwargs)

            class Connection(pool.ConnectionCls):
                def _new_conn(self):
                    sockets.append(super()._new_conn())
                    return sockets[-1]

                def connect(self):
                    super().connect()
                    sockets.append(self.sock)  # another one where TLS was put over the first

            pool.ConnectionCls = Connection
            return pool

    return Adapter()


def get_json(url, body=None, missing=None):
    """The JSON object at a URL (GET, or POST with a body), or ServerError; `missing` for a path that is not there."""
    status, data, fault = exchange("GET" if body is None else "POST", url, body)
    if status == 404 and missing is not None and not error_text(data):
        return missing
    check_status(status, data, url)
    if fault == "stopped_stream":
        raise Unavailable(f"{url}: the connection broke in mid-reply; is the server restarting?")
    if fault:
        raise ServerError(f"{url}: the reply is over {MAX_BODY} bytes; is this the address of a model's server?")
    value = None
    with contextlib.suppress(InputError):
        value = parsed(data, url)
    if not isinstance(value, dict):
        raise ServerError(f"{url}: no JSON object in the reply; is this the address of a model's server?")
    return value


def parsed(data, where):
    """The JSON value of some bytes, or InputError. Half of a surrogate pair becomes "?": no recording could hold it."""
    value = parse_json(as_text(data, where), where)
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def check_status(status, data, url):
    """Nothing for 200; Unavailable for a status worth another try; ServerError for the rest."""
    if status != 200:
        text = error_text(data) or NO_REASON.get(status, "no reason given")
        raise (Unavailable if status in TRY_AGAIN else ServerError)(f"{url}: status {status}: {text}")


def error_text(data):
    """The text of a JSON error body, shortened to one line, or None."""
    with contextlib.suppress(InputError, KeyError, TypeError):
        error = parsed(data, "error")["error"]
        return one_line(error.get("message", error) if isinstance(error, dict) else error, 300)


def patient(call, wait, waits=WAITS_S):
    """What `call()` gives, asked again after each of `waits` seconds while the server is Unavailable."""
    for seconds in waits:
        try:
            return call()
        except Unavailable:
            wait(seconds)
    return call()
