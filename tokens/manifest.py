"""Which files a pinned tokenizer consists of, where they lie, and whether what lies there is what was pinned.

manifest  {"model", "revision", "license", "bos_token", "files": {name: {"bytes", "sha256"}}, "packages": {name: ...}};
          "packages" names, where one is known, a published package that carries a file (tokens/index.py)
"""

import hashlib
import os
import re
from pathlib import Path

from base.command import InputError, read_json

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "tokenizer-manifest.json"
FILES = ("tokenizer.json", "chat_template.jinja")


def read_manifest(path):
    """The manifest in a JSON file, or InputError naming the field that cannot be used."""
    manifest = read_json(path)
    problem = manifest_problem(manifest)
    if problem:
        raise InputError(f"{path}: {problem}; correct it, or pin the model again with prepare.py --model")
    return manifest


def manifest_problem(manifest):
    """What is wrong with a manifest's value, or None."""
    if not isinstance(manifest, dict):
        return "a manifest is a JSON object"
    if not is_name(manifest.get("model")):
        return "'model' must be a text on one line"
    if manifest.get("revision") is not None and not is_name(manifest["revision"]):
        return "'revision' must be a text on one line, or null"
    if any(not isinstance(text, str) for name, text in manifest.items() if name.endswith("_token")):
        return "a field that ends in '_token' must be a text"
    files = manifest.get("files")
    if not isinstance(files, dict) or set(files) != set(FILES):
        return f"'files' must have exactly {' and '.join(FILES)}"
    for name, pinned in files.items():
        if not isinstance(pinned, dict) or type(pinned.get("bytes")) is not int or pinned["bytes"] <= 0:
            return f"{name}: 'bytes' must be a positive whole number"
        if not re.fullmatch("[0-9a-f]{64}", str(pinned.get("sha256"))):
            return f"{name}: 'sha256' must be 64 hexadecimal digits in lower case"
    packages = manifest.get("packages", {})
    needed = {"project", "archive", "sha256", "member"}
    if not isinstance(packages, dict) or not all(isinstance(package, dict) for package in packages.values()):
        return "'packages' must be an object of objects"
    if not all(is_name(package.get(field)) for package in packages.values() for field in needed):
        return f"each of 'packages' must have the texts {', '.join(sorted(needed))}"
    return None


def is_name(value):
    """Whether a value is a text that can stand in a line and in a report."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def folder(manifest_path=MANIFEST):
    """Where the files of a manifest lie: the default one's in .tokenizer/ or LAB_TOKENIZER, another's below it."""
    base = Path(os.environ.get("LAB_TOKENIZER") or ROOT / ".tokenizer")
    path = Path(manifest_path).resolve()
    return base if path == MANIFEST else base / path.stem


def verify(target, manifest):
    """What keeps a folder from being prepared: [problem, ...], empty when every file has its pinned size and hash."""
    problems = [file_problem(Path(target) / name, pinned) for name, pinned in manifest["files"].items()]
    return [problem for problem in problems if problem]


def file_problem(path, pinned):
    """What is wrong with a file, or None."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != pinned["bytes"]:
                return f"{path.name} has {size:,} bytes, not the pinned {pinned['bytes']:,}"
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return f"{path.name} is missing"
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror or error}"
    return None if digest == pinned["sha256"] else f"{path.name} differs from the pinned file (SHA-256 {digest})"


def bytes_problem(data, pinned):
    """What is wrong with bytes that a source gave, or None."""
    if len(data) != pinned["bytes"]:
        return f"gave {len(data):,} bytes instead of the pinned {pinned['bytes']:,}"
    digest = hashlib.sha256(data).hexdigest()
    return None if digest == pinned["sha256"] else f"gave other bytes than the pinned ones (SHA-256 {digest})"
