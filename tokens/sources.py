"""Two of the places that prepare.py takes files from: a folder, and the Hugging Face hub at a pinned revision.

A source gives a file's bytes by name, or raises SourceError with a phrase that says why not. Whether they are the
right bytes is for the caller to check, by hash.
"""

import json
import queue
import threading
import time
from pathlib import Path

from base.command import progress

PATIENCE_S = 4.5  # what a hub that does not answer may cost in all; with the start of it all under five seconds
IDLE_S = 30.0  # a hub that did answer may pause that long
TEMPLATE, CONFIG = "chat_template.jinja", "tokenizer_config.json"


class SourceError(ValueError):
    """A source that cannot give a file. The text is a phrase that says why."""


class MissingFile(SourceError):
    """A source that was reached and does not have the file."""


def folder_source(given):
    """A fetch(name) -> bytes that reads from a folder."""

    def read(name):
        try:
            return (Path(given) / name).read_bytes()
        except FileNotFoundError:
            raise MissingFile(f"no {name} there" if Path(given).is_dir() else "no such folder") from None
        except OSError as error:
            raise SourceError(f"{name} cannot be read: {error.strerror or error}") from None

    return with_template(read)


def with_template(read):
    """A fetch like `read` that finds a chat template also where older models keep it, in tokenizer_config.json."""

    def fetch(name):
        try:
            return read(name)
        except MissingFile:
            if name != TEMPLATE:
                raise
        return template_of(parse_config(read(CONFIG))).encode("utf-8")

    return fetch


def parse_config(data):
    """The object that tokenizer_config.json's bytes hold, or SourceError."""
    try:
        config = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{CONFIG} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise SourceError(f"{CONFIG} is not a JSON object")
    return config


def template_of(config):
    """The chat template in tokenizer_config.json, where several are named the default one, or MissingFile."""
    found = config.get("chat_template")
    if isinstance(found, list):
        named = {entry.get("name"): entry.get("template") for entry in found if isinstance(entry, dict)}
        found = named.get("default")
    if not isinstance(found, str) or not found:
        raise MissingFile(f"no {TEMPLATE} and no default template in {CONFIG} there")
    return found


class Hub:
    """A model's files on the Hugging Face hub at one revision, and how long the hub may still keep us waiting."""

    def __init__(self, model, revision, pinned=None):
        """`pinned`: {file name: {"bytes": size}} where sizes are known, so that no more is read."""
        self.model, self.revision, self.pinned = model, revision, pinned or {}
        self.left_s = PATIENCE_S
        self.fetch = with_template(self.read)

    def read(self, name):
        """The bytes of a file, or SourceError."""
        size = self.pinned.get(name, {}).get("bytes")
        bar = progress(None, total=size, unit="B", unit_scale=True, desc=name)
        with bar:
            data = bytearray()
            for chunk in self.answer(lambda: hub_chunks(self.model, self.revision, name)):
                data += chunk
                bar.update(len(chunk))
                if size is not None and len(data) > size:
                    raise SourceError(f"gave more than the pinned {size:,} bytes of {name}")
        return bytes(data)

    def info(self):
        """What the hub says of the model at this revision (huggingface_hub's ModelInfo), or SourceError."""
        return next(self.answer(lambda: iter([hub_info(self.model, self.revision)])))

    def answer(self, produce):
        """What the iterator that `produce()` makes gives, made in a thread of its own so that it can be left.

        A resolver or a proxy can hang where no timeout of an HTTP library counts. The wait for the first item is
        taken from what is left for all of the hub's files together.
        """
        if self.left_s <= 0:
            raise SourceError(f"no answer within {PATIENCE_S:g} seconds")
        items = queue.Queue(maxsize=64)
        threading.Thread(target=run_into, args=(produce, items), daemon=True).start()
        began = time.monotonic()
        kind, value = take(items, self.left_s, f"no answer within {PATIENCE_S:g} seconds", self)
        self.left_s -= time.monotonic() - began
        while kind == "item":
            yield value
            kind, value = take(items, IDLE_S, f"nothing more came for {IDLE_S:g} seconds", self)
        if kind == "error":
            raise value if isinstance(value, SourceError) else SourceError(reason(value))


def run_into(produce, items):
    """Put what `produce()` gives into a queue as ("item", value), then ("end", None) or ("error", exception)."""
    try:
        for value in produce():
            items.put(("item", value))
        items.put(("end", None))
    except Exception as error:  # any: whatever the libraries below raise is this source's failure, told by name
        items.put(("error", error))


def take(items, wait_s, complaint, hub):
    try:
        return items.get(timeout=max(wait_s, 0.01))
    except queue.Empty:
        hub.left_s = 0.0
        raise SourceError(complaint) from None


def reason(error):
    """An exception as a phrase of one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def check_online():
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceError("switched off by HF_HUB_OFFLINE")


def hub_chunks(model, revision, name):
    """The pieces of a file on the hub. One request and no retries: the next source is the retry."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, get_session

    check_online()
    url = hf_hub_url(model, name, revision=revision)
    options = {"headers": build_hf_headers(), "follow_redirects": True, "timeout": IDLE_S}
    with get_session().stream("GET", url, **options) as response:
        if response.status_code == 404:
            raise MissingFile(f"no {name} in {model} at {revision} (HTTP 404)")
        if response.status_code in (401, 403):
            raise SourceError(f"refused {name} of {model} (HTTP {response.status_code}): log in with `hf auth login`")
        if response.status_code != 200:
            raise SourceError(f"HTTP {response.status_code} for {name}")
        yield from response.iter_bytes(1 << 18)


def hub_info(model, revision):
    """huggingface_hub's ModelInfo with each file's size and hash."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    check_online()
    try:
        return HfApi().model_info(model, revision=revision, files_metadata=True, timeout=IDLE_S)
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise SourceError(f"no {model} at {revision} for you (HTTP {status}); correct it or `hf auth login`") from None
