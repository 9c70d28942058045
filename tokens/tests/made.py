"""What the tests of this room share: stand-in files and their manifest, folders, a web server on loopback, archives."""

import hashlib
import io
import json
import tarfile
import tempfile
import threading
import unittest
import zipfile
from contextlib import redirect_stderr
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import prepare
from base.command import InputError
from tokens.index import Index
from tokens.manifest import leftovers, verify
from tokens.sources import SourceError

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = b'{"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"Q": 0}, "merges": []}}'
TEMPLATE = b"{{ bos_token }}{{ messages[-1].content }}"
CONTENTS = {"tokenizer.json": TOKENIZER.ljust(13_000), "chat_template.jinja": TEMPLATE}


def manifest_of(contents, **fields):
    """A manifest that pins stand-in files."""
    files = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in contents.items()}
    return {"model": "stand/in", "revision": "0" * 40, "license": None, "bos_token": "<s>", "files": files, **fields}


def quiet(function, *arguments):
    """What a function tells on standard error."""
    with redirect_stderr(io.StringIO()) as told:
        function(*arguments)
    return told.getvalue()


def fails(reason):
    def fetch(name):
        raise SourceError(reason)

    return fetch


class Folder(unittest.TestCase):
    """Each test has a folder of its own, and in it `target`, where the files shall come to lie."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.here = Path(place.name)
        self.target = self.here / "prepared"
        self.manifest = manifest_of(CONTENTS)

    def assertPrepared(self):
        self.assertEqual(verify(self.target, self.manifest), [])
        self.assertEqual(leftovers(self.target), [])

    def refused(self, sources, manifest=None):
        """The one line with which prepare ends."""
        with self.assertRaises(InputError) as caught, redirect_stderr(io.StringIO()):
            prepare.prepare(manifest or self.manifest, self.target, sources)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)


class StandIn:
    """A stand-in for an index or a hub: a web server on loopback that gives fixed answers and notes what was asked.

    pages  {path: (status, content type, body)}, or a function of the handler; "HEAD path" where HEAD differs from GET
    """

    def __init__(self, pages):
        self.asked = []  # (path, headers)
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, dict(self.headers)))
                answer = pages.get(self.path, (404, "text/html", b"<h1>not here</h1>"))
                if callable(answer):
                    return answer(self)
                reply(self, *answer)

            def do_HEAD(self):
                answer = pages.get("HEAD " + self.path) or pages.get(self.path, (404, "text/html", b""))
                if callable(answer):
                    return answer(self)
                status, kind, body = answer
                reply(self, status, kind, b"", length=len(body))

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def reply(handler, status, kind, body, length=None):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("X-Repo-Commit", "0" * 40)  # these two are what a hub says of a file
    handler.send_header("ETag", '"0"')
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def wheel(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def source_archive(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def package(name, data, member="pkg/t.jinja"):
    return {"project": "pkg", "archive": name, "sha256": hashlib.sha256(data).hexdigest(), "member": member}


def listing(name, url):
    return "application/vnd.pypi.simple.v1+json", json.dumps({"files": [{"filename": name, "url": url}]}).encode()


class Packages(Folder):
    NAME = "pkg-1.0-py3-none-any.whl"

    def setUp(self):
        super().setUp()
        self.data = wheel({"pkg/t.jinja": TEMPLATE})
        self.packages = {"chat_template.jinja": package(self.NAME, self.data)}

    def serve(self, pages):
        server = StandIn(pages)
        self.addCleanup(server.close)
        return server

    def index(self, page=None, data=None):
        """A stand-in index that lists and has the archive."""
        kind, body = page or listing(self.NAME, f"../../files/{self.NAME}")
        archive = (200, "application/octet-stream", self.data if data is None else data)
        return self.serve({"/simple/pkg/": (200, kind, body), f"/files/{self.NAME}": archive})

    def fetch(self, **settings):
        return Index(self.packages, {name.replace("_", "-"): text for name, text in settings.items()}).fetch(
            "chat_template.jinja")

    def refused(self, **settings):
        with self.assertRaises(SourceError) as caught:
            self.fetch(**settings)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)
