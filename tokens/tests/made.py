"""What the tests of this room share: stand-in files and their manifest, folders, a web server on loopback, archives."""

import contextlib
import io
import json
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import prepare
from base.command import InputError, sha256
from base.tests.made import Files
from tokens.index import Index
from tokens.manifest import leftovers, verify
from tokens.sources import SourceError

TOKENIZER = b'{"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"Q": 0}, "merges": []}}'
TEMPLATE = b"{{ bos_token }}{{ messages[-1].content }}"
CONTENTS = {"tokenizer.json": TOKENIZER.ljust(13_000), "chat_template.jinja": TEMPLATE}


def manifest_of(contents, **fields):
    """A manifest that pins stand-in files."""
    files = {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in contents.items()}
    return {"model": "stand/in", "revision": "0" * 40, "license": None, "bos_token": "<s>", "files": files, **fields}


def fails(reason):
    return mock.Mock(side_effect=SourceError(reason))


class Folder(Files):
    """Each test has a folder of its own, and in it `target`, where the files shall come to lie."""

    def setUp(self):
        super().setUp()
        self.target = self.folder / "prepared"
        self.manifest = manifest_of(CONTENTS)

    def assertPrepared(self):
        self.assertEqual((verify(self.target, self.manifest), leftovers(self.target)), ([], []))

    def left(self):
        """What lies in the target beside its lock."""
        return sorted(path.name for path in self.target.iterdir() if path.name != ".lock")

    def prepare(self, **sources):
        """What preparing tells."""
        with contextlib.redirect_stderr(io.StringIO()) as told:
            prepare.prepare(self.manifest, self.target, sources)
        return told.getvalue()

    def unprepared(self, pattern, **sources):
        """Preparing ends with one line that the pattern finds."""
        with self.assertRaisesRegex(InputError, pattern) as caught:
            self.prepare(**sources)
        self.assertNotIn("\n", str(caught.exception))


class StandIn:
    """A stand-in for an index or a hub: a web server on loopback that gives fixed answers and notes what was asked.

    pages  {path: (status, content type, body)}, or a function of the handler; "HEAD path" where HEAD differs from GET
    """

    def __init__(self, pages):
        self.asked = asked = []  # (path, headers)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, dict(self.headers)))
                page = pages.get(f"{self.command} {self.path}") or pages.get(self.path, (404, "text/html", b"not here"))
                return page(self) if callable(page) else reply(self, *page)

            do_HEAD = do_GET

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.handle_error = True, lambda *_: None  # who asked may be gone
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

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
    if handler.command != "HEAD":
        handler.wfile.write(body)


def cut(data, length):
    """An answer that ends before the length that it announces."""
    return lambda handler: reply(handler, 200, "application/zip", data[:length], length=len(data))


def archive_of(name, files):
    """The bytes of a wheel, or of a source archive, by the file name's end."""
    data = io.BytesIO()
    if name.endswith(".whl"):
        with zipfile.ZipFile(data, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    else:
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for path, content in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def package(name, data, member="pkg/t.jinja"):
    return {"project": "pkg", "archive": name, "sha256": sha256(data), "member": member}


class Packages(Folder):
    WHEEL, SOURCE = "pkg-1.0-py3-none-any.whl", "pkg-1.0.tar.gz"

    def setUp(self):
        super().setUp()
        self.carry(self.WHEEL, archive_of(self.WHEEL, {"pkg/t.jinja": TEMPLATE}))

    def carry(self, name, data):
        """Let the package that has the template be this archive."""
        self.name, self.data = name, data
        self.packages = {"chat_template.jinja": package(name, data)}

    def serve(self, pages):
        server = StandIn(pages)
        self.addCleanup(server.close)
        return server

    def index(self, page=None, data=None):
        """A stand-in index that lists and has the archive; its page is JSON if none is given."""
        listed = json.dumps({"files": [{"filename": self.name, "url": f"../../files/{self.name}"}]}).encode()
        page = page or ("application/vnd.pypi.simple.v1+json", listed)
        archive = (200, "application/octet-stream", self.data if data is None else data)
        return self.serve({"/simple/pkg/": (200, *page), f"/files/{self.name}": archive})

    def fetch(self, **settings):
        settings = {name.replace("_", "-"): text for name, text in settings.items()}
        return Index(self.packages, settings).fetch("chat_template.jinja")

    def unfetched(self, pattern, **settings):
        with self.assertRaisesRegex(SourceError, pattern) as caught:
            self.fetch(**settings)
        self.assertNotIn("\n", str(caught.exception))
