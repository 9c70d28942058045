"""Pin another model's tokenizer and chat template: what they are, by size and hash, from the hub or from a folder.

The chat template is chat_template.jinja, or the (default) one in tokenizer_config.json, put into a file of its own.
The special tokens that the template writes by name (bos_token, eos_token, ...) stand in the manifest too.
"""

import hashlib
import re

from base.command import InputError, sha256
from tokens.sources import CONFIG, TEMPLATE, Hub, MissingFile, SourceError, folder_source, json_object, with_template
from tokens.template import template_text

TOKENIZER = "tokenizer.json"


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
    wrong = [name for name, text in texts.items() if text is not None and not isinstance(text, str)]
    if wrong:
        raise SourceError(f"{CONFIG}: {wrong[0]} is {texts[wrong[0]]!r:.60}, not a text")
    return {name: text for name, text in texts.items() if text is not None}


def hub_source(model, revision):
    """(fetch, licence or None) of a model on the hub; what fetch gives has the size and hash that the hub lists."""
    hub = Hub(model, revision)
    info = hub.info()
    if info.sha != revision:
        raise SourceError(f"gives commit {info.sha} for {revision}")
    listed = {entry.rfilename: entry for entry in info.siblings or []}

    def read(name):
        data, entry = hub.read(name), listed.get(name)
        git_hash = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if entry is None or (entry.blob_id != git_hash if entry.lfs is None else entry.lfs.sha256 != sha256(data)):
            raise SourceError(f"{name} came with other bytes ({len(data):,}) than the hub lists")
        return data

    return with_template(read), licence_of(info.card_data)


def licence_of(card):
    """The licence that a model card names, or None."""
    licence = (card or {}).get("license")
    licence = card.get("license_name", licence) if licence == "other" else licence
    return licence if isinstance(licence, str) else None
