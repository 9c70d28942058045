"""Two of the places that prepare.py takes files from: a folder, and the Hugging Face hub at a pinned revision.

A source gives a file's bytes by name, unchecked, or raises SourceError with a phrase that says why not.
"""

import json
import tempfile
from pathlib import Path

ANSWER_S = 5  # for the hub to take a connection, and again to answer: together ten seconds
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
        return template_of(json_object(read(CONFIG), CONFIG)).encode("utf-8")

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


def template_of(config):
    """The chat template in tokenizer_config.json, where several are named the default one, or MissingFile."""
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    if not isinstance(template, str) or not template:
        raise MissingFile(f"no {TEMPLATE} and no default template in {CONFIG} there")
    return template


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

    def info(self):
        """What the hub says of the model at this revision (huggingface_hub's ModelInfo), or SourceError."""
        from huggingface_hub import HfApi

        return self.ask(HfApi().model_info, files_metadata=True, timeout=ANSWER_S)

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
            self.silent = reason(error)
            raise SourceError(self.silent) from None


def reason(error):
    """An exception as a phrase of one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
