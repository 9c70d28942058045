"""Rebuild a tokenizers file (tokenizer.json) from the vocabulary in a GGUF file's metadata, to the exact byte.

Reads GGUF versions 2 and 3, little-endian; no tensors. What comes out is only as good as its hash.
"""

import io
import json
import struct

ADDED = (3, 4)  # the token types, control and user-defined, whose tokens stand in added_tokens
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
SPACE = "\u2581"  # how the vocabulary writes a space
STRING, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
quoted = json.JSONEncoder(ensure_ascii=False).encode
SEQUENCES = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
LAYOUT = {  # a tokenizers file's value, its keys in the order in which that library writes them
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": None,
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    "post_processor": {"type": "TemplateProcessing", "single": SEQUENCES[:1], "pair": SEQUENCES, "special_tokens": {}},
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
              "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
              "vocab": None, "merges": None}}


class GgufError(ValueError):
    """Bytes that are no GGUF file with a BPE vocabulary. The text is a phrase without a full stop."""


def read_exactly(file, length):
    piece = file.read(length)
    if len(piece) < length:
        raise GgufError(f"the file ends at byte {file.tell()}, inside its metadata")
    return piece


def numbers(file, form):
    return struct.unpack(f"<{form}", read_exactly(file, struct.calcsize(f"<{form}")))


def string(file):
    length = int.from_bytes(read_exactly(file, 8), "little")  # not `numbers`: a vocabulary has most of a million texts
    return read_exactly(file, length).decode("utf-8")


def value(file, kind):
    if kind == STRING:
        return string(file)
    if kind == ARRAY:
        kind, count = numbers(file, "IQ")
        if kind in NUMBERS:  # one call for all of them: there are as many token types as tokens
            return list(numbers(file, f"{count}{NUMBERS[kind]}"))
        return [value(file, kind) for _ in range(count)]
    if kind not in NUMBERS:
        raise GgufError(f"metadata of the unknown type {kind} before byte {file.tell()}")
    return numbers(file, NUMBERS[kind])[0]


def read_metadata(data):
    """The metadata of a GGUF file's bytes as {key: value}, or GgufError."""
    file = io.BytesIO(data)
    if read_exactly(file, 4) != b"GGUF":
        raise GgufError("it does not start with GGUF")
    version, _, count = numbers(file, "IQQ")  # in between how many tensors; none is read
    if version not in (2, 3):
        raise GgufError(f"GGUF version {version} is not 2 or 3")
    try:
        return {string(file): value(file, *numbers(file, "I")) for _ in range(count)}
    except (UnicodeDecodeError, struct.error, OverflowError, MemoryError, RecursionError) as error:
        raise GgufError(f"its metadata cannot be read near byte {file.tell()}: {error}") from None


def tokenizer_json(metadata):
    """The bytes of the tokenizer.json that the vocabulary in a GGUF file's metadata stands for, or GgufError.

    Vocabulary and merges are not left to the library's indenting, which walks over their million texts in Python.
    """
    try:
        tokens, types, merges = (metadata[f"tokenizer.ggml.{name}"] for name in ("tokens", "token_type", "merges"))
        added = [{"id": place, "content": tokens[place], **FLAGS} for place, kind in enumerate(types) if kind in ADDED]
        # A later token of the same text takes the place of the earlier one, as in a dict.
        vocabulary = json.dumps({token: number for number, token in enumerate(tokens)}, ensure_ascii=False,
                                separators=(",\n      ", ": "))
        pairs = ",\n      ".join(map(merge_json, merges))
    except KeyError as error:
        raise GgufError(f"its metadata has no {error.args[0]}") from None
    except (IndexError, TypeError, AttributeError) as error:
        raise GgufError(f"its vocabulary is not of the kind that can be rebuilt: {error}") from None
    frame = json.dumps({**LAYOUT, "added_tokens": added}, indent=2, ensure_ascii=False)
    for name, (opening, closing), lines in ("vocab", "{}", vocabulary[1:-1]), ("merges", "[]", pairs):
        frame = frame.replace(f'"{name}": null', f'"{name}": {opening}\n      {lines}\n    {closing}')
    return frame.encode("utf-8")


def merge_json(merge):
    """The pair of the merge "a b" as the file has it, cut at the first space behind the first character."""
    at = merge.find(" ", 1)
    if at < 0:
        raise GgufError(f"the merge {merge!r} is no pair")
    return f"[\n        {quoted(merge[:at])},\n        {quoted(merge[at + 1 :])}\n      ]"
