"""Two of prepare.py's sources of files, a folder and the Hugging Face hub, and pinning what they have.

A source gives a file's bytes by name, unchecked, or raises SourceError with a phrase that says why not.

The chat template is chat_template.jinja, or the (default) one in tokenizer_config.json, put into a file of its own.
The special tokens that the template writes by name (bos_token, eos_token, ...) stand in a new manifest too.
"""

import hashlib
import json
import re
import tempfile
from pathlib import Path

from base.command import InputError, sha256
from base.shapes import Each, misfit
from base.shown import error_line
from tokens.template import template_text

ANSWER_S = 5  # for the hub to take a connection, and again to answer: together ten seconds
TOKENIZER, TEMPLATE, CONFIG = "tokenizer.json", "chat_template.jinja", "tokenizer_config.json"


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
    """A fetch like `read` that finds a chat template also where older models keep it, the default one in CONFIG."""

    def fetch(name):
        try:
            return read(name)
        except MissingFile:
            if name != TEMPLATE:
                raise
        template = json_object(read(CONFIG), CONFIG).get("chat_template")
        if isinstance(template, list):
            named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
            template = named.get("default")
        if not isinstance(template, str) or not template:
            raise MissingFile(f"no {TEMPLATE} and no default template in {CONFIG} there")
        return template.encode("utf-8")

    return fetch


def json_object(data, name):
    """The object that the bytes of a JSON file hold, or SourceError."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise SourceError(f"{name} is not a JSON object")
    return value


class Hub:
    """A model's files on the Hugging Face hub at one revision. A hub that did not answer once is not asked again."""

    def __init__(self, model, revision):
        self.model, self.revision, self.silent = model, revision, None  # silent: why it could not be reached
        self.fetch = with_template(self.read)

    def read(self, name):
        """The bytes of a file, or SourceError."""
        from huggingface_hub import hf_hub_download

        with tempfile.TemporaryDirectory() as place:
            # force_download: else a silent hub is asked once more, for a minute, and the user's cache grows
            options = {"local_dir": place, "force_download": True, "etag_timeout": ANSWER_S}
            return Path(self.ask(hf_hub_download, name, **options)).read_bytes()

    def ask(self, request, *name, **options):
        """What a function of huggingface_hub gives for the model and a file's name, any failure as a SourceError."""
        from huggingface_hub import constants, logging
        from huggingface_hub.errors import HfHubHTTPError

        if constants.HF_HUB_OFFLINE:
            raise SourceError("switched off by HF_HUB_OFFLINE")
        if self.silent:
            raise SourceError(self.silent)
        logging.set_verbosity_error()  # its warnings of each new try would stand between our lines
        try:
            return request(self.model, *name, revision=self.revision, **options)
        except Exception as error:  # any: whatever the libraries below raise is this source's failure, told by name
            if type(error) is ValueError:  # "force download failed due to the above error"
                error = error.__cause__ or error
            if isinstance(error, HfHubHTTPError) and error.response is not None:
                status, asked = error.response.status_code, " of ".join([*name, f"{self.model} at {self.revision}"])
                if status == 404:
                    raise MissingFile(f"no {asked} (HTTP 404)") from None
                remedy = ": log in with `hf auth login`" if status in (401, 403) else ""
                raise SourceError(f"HTTP {status} for {asked}{remedy}") from None
            self.silent = error_line(error)
            raise SourceError(self.silent) from None


def pin(model, revision, given=None):
    """(manifest, {file name: bytes}) of a model on the hub at a commit, or of the folder `given`, where the hashes
    are the pin and `revision` may be None; or InputError."""
    if not re.fullmatch("[0-9a-f]{40}", revision or ("0" * 40 if given is not None else "")):
        raise InputError(f"--revision {revision or '(none)'} is no full commit hash; give its 40 hexadecimal digits, "
                         "since a branch or a tag can move")
    try:
        fetch, licence = (folder_source(given), None) if given is not None else hub_source(model, revision)
        files = {TOKENIZER: fetch(TOKENIZER), TEMPLATE: fetch(TEMPLATE)}
        if not isinstance(json_object(files[TOKENIZER], TOKENIZER).get("model"), dict):
            raise SourceError(f"{TOKENIZER} is no tokenizers file: it has no 'model'")
        tokens = written_tokens(template_text(files, TEMPLATE), fetch)
    except SourceError as error:
        raise InputError(f"{given or 'Hugging Face hub'}: {error}; nothing was pinned") from None
    pinned = {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in files.items()}
    return {"model": model, "revision": revision, "license": licence, **tokens, "files": pinned}, files


def written_tokens(template, fetch):
    """{name: text} of the special tokens that a template names and tokenizer_config.json gives."""
    if not template.strip():
        raise SourceError(f"{TEMPLATE} is empty")
    names = sorted(set(re.findall(r"\b[a-z]+_token\b", template)))
    try:
        config = json_object(fetch(CONFIG), CONFIG)
    except MissingFile:
        if {"bos_token", "eos_token"} & set(names):  # written as nothing they would make each count wrong by one
            raise SourceError(f"the template writes {' and '.join(names)}; add the {CONFIG} that says what it is")
        return {}
    values = {name: config.get(name) for name in names}
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in values.items()}
    if problem := misfit(texts, Each((str, type(None))), CONFIG):
        raise SourceError(problem)
    return {name: text for name, text in texts.items() if text is not None}


def hub_source(model, revision):
    """(fetch, licence or None) of a model on the hub; what fetch gives has the size and hash that the hub lists."""
    from huggingface_hub import HfApi

    hub = Hub(model, revision)
    info = hub.ask(HfApi().model_info, files_metadata=True, timeout=ANSWER_S)
    if info.sha != revision:
        raise SourceError(f"gives commit {info.sha} for {revision}")
    listed = {entry.rfilename: entry for entry in info.siblings or []}

    def read(name):
        data, entry = hub.read(name), listed.get(name)
        git_hash = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if entry is None or (entry.blob_id != git_hash if entry.lfs is None else entry.lfs.sha256 != sha256(data)):
            raise SourceError(f"{name} came with other bytes ({len(data):,}) than the hub lists")
        return data

    card = info.card_data or {}
    licence = card.get("license_name", "other") if card.get("license") == "other" else card.get("license")
    return with_template(read), licence if isinstance(licence, str) else None
