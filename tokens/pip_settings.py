"""What pip's configuration says, and downloads that follow it: certificates, proxy, trusted hosts, credentials.

Does not ask pip to fetch: `pip download` of a source archive runs its build backend. No keyring is asked.

settings {"index-url": "https://…", "find-links": "a b", "cert": "/…", …}: pip's options as the texts that pip reports
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from base.command import progress
from base.shown import one_line
from tokens.sources import SourceError

WAIT_S = (10.0, 15.0)  # to connect, and between two pieces of an answer
PAGE_S, ARCHIVE_S = 60.0, 1800.0  # for the whole exchange: an archive of 77 MB at 43 kB/s
MOST_BYTES = 1 << 30  # of an archive or a page; what is longer is not ours
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
CREDENTIALS = " (put the credentials into pip's index-url or into ~/.netrc)"


def read_settings():
    """The settings in pip's configuration files and environment variables, as pip reports them, or SourceError.

    The section of a command overrules the global one, the environment both. The default index-url is in pip's help.
    """
    lines = run_pip("config", "list", "-vvv")  # -vvv: a "quiet" in the configuration would hide the list
    entries = re.findall(r"^([\w:.-]+)=(['\"].*)$", lines, re.MULTILINE)
    settings = {key.removeprefix(section): ast.literal_eval(value)
                for section in ("global.", "install.", "download.", ":env:.") for key, value in entries
                if key.startswith(section) and ast.literal_eval(value)}  # pip passes over empty values
    if "index-url" not in settings:
        if match := re.search(r"--index-url.*?\(default\s+(\S+?)\)", run_pip("download", "--help"), re.DOTALL):
            settings["index-url"] = match.group(1)
    return settings


def run_pip(*arguments):
    """What this Python's pip prints, or SourceError."""
    if importlib.util.find_spec("pip") is None:
        raise SourceError("pip is missing from this Python, its configuration cannot be read (python -m ensurepip)")
    # -P: no module of the working directory stands in for one of pip's; wide: no address is wrapped
    done = subprocess.run([sys.executable, "-P", "-m", "pip", *arguments], capture_output=True, encoding="utf-8",
                          errors="replace", env={**os.environ, "COLUMNS": "1000", "PYTHONIOENCODING": "utf-8"})
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SourceError(f"`pip {' '.join(arguments)}` ended with {done.returncode}: {redacted(last)[:200]}")
    return done.stdout


def many(settings, option):
    """The values of an option that takes several: many({"find-links": "a b"}, "find-links") -> ["a", "b"]."""
    return settings.get(option, "").split()


def search_places(settings, project):
    """Where pip would look for a project's archives: folders, pages' addresses and paths, in order.
    search_places({"index-url": "https://h/simple"}, "jinja2") -> ["https://h/simple/jinja2/"]"""
    off = settings.get("no-index", "").lower() in ("1", "true", "yes", "y", "t", "on")
    indexes = [] if off else many(settings, "index-url") + many(settings, "extra-index-url")
    folders = [os.path.expanduser(place) for place in many(settings, "find-links")]
    return folders + [f"{index.rstrip('/')}/{project}/" for index in indexes]


def redacted(text):
    """The text with credentials in addresses hidden: redacted("https://me:pass@h/x") -> "https://***@h/x"."""
    return re.sub(r"//[^/@\s]+@", "//***@", text)


def credentials(address, settings):
    """(user, password) in an address, else an index's on the same server: credentials("//a:b@h", {}) -> ("a", "b")."""
    known = [place for option in ("index-url", "extra-index-url", "find-links") for place in many(settings, option)]
    wanted = urlsplit(address)
    for parts in map(urlsplit, (address, *known)):
        same_server = (parts.scheme, parts.hostname, parts.port) == (wanted.scheme, wanted.hostname, wanted.port)
        if same_server and parts.username is not None:
            return unquote(parts.username), unquote(parts.password or "")
    return None


def download(address, settings, name=None):
    """(bytes, content type, final address) of an http address, or SourceError.

    `name`: the archive's, shown with a bar. One deadline ends the exchange whatever comes: interim answers without
    end, a byte of a header a second. The library's time-outs are for the wait between two bytes.
    """
    answer, allowed_s = Future(), ARCHIVE_S if name else PAGE_S

    def run():
        try:
            answer.set_result(http_get(address, settings, name))
        except Exception as error:  # any: it is raised again where the answer is waited for
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(timeout=allowed_s)
    except TimeoutError:
        raise SourceError(f"is not done after {allowed_s:g} seconds") from None


def http_get(address, settings, name):
    """`download` without its deadline. Bytes are taken as they come: what is compressed could fill memory."""
    from urllib3.exceptions import HTTPError

    proxy, data = settings.get("proxy"), bytearray()
    # Given with the request, since the session's own options yield to the environment's.
    options = {"headers": {"Accept": ACCEPT, "Accept-Encoding": "identity"}, "timeout": WAIT_S, "stream": True,
               "verify": settings.get("cert"), "proxies": proxy and {"http": proxy, "https": proxy}}
    try:
        options["auth"] = credentials(address, settings)
        with new_session(settings) as session, session.get(address, **options) as response:
            if response.status_code != 200:
                raise SourceError(f"HTTP {response.status_code}{CREDENTIALS * (response.status_code in (401, 403))}")
            size = response.headers.get("Content-Length", "")
            with progress(None, total=int(size) if size.isdigit() else None, unit="B", unit_scale=True,
                          desc=name or "index") as bar:
                for chunk in response.raw.stream(1 << 18, decode_content=False):
                    data += chunk
                    bar.update(len(chunk))
                    if len(data) > MOST_BYTES:
                        raise SourceError(f"more than {MOST_BYTES:,} bytes came")
            return bytes(data), response.headers.get("Content-Type", ""), response.url
    except SourceError:
        raise
    except (OSError, HTTPError, ValueError) as error:
        cause = getattr(error.args[0], "reason", None) if error.args else None  # below "Max retries exceeded with url"
        told = redacted(str(cause or error))  # before it is cut: a long password would lose its @
        raise SourceError(f"{type(cause or error).__name__}: {one_line(told, 200)}") from None


def new_session(settings):
    """A requests session that trusts what pip trusts: the system's certificates too, and trusted-host unchecked."""
    import ssl

    import requests
    import urllib3
    from requests.adapters import HTTPAdapter

    class SystemTrust(HTTPAdapter):
        def build_connection_pool_key_attributes(self, *args):
            server, options = super().build_connection_pool_key_attributes(*args)
            return server, {**options, "ssl_context": SSLContext(ssl.PROTOCOL_TLS_CLIENT)}

    class Unchecked(HTTPAdapter):
        def send(self, request, **options):
            return super().send(request, **{**options, "verify": False})

    session = requests.Session()
    with suppress(ImportError):  # without truststore only the certificates that requests brings are trusted
        from truststore import SSLContext

        if "cert" not in settings:
            session.mount("https://", SystemTrust())
    for host in many(settings, "trusted-host"):
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        for end in "/", ":":  # with and without a port
            session.mount(f"https://{host}{end}", Unchecked())
    return session
