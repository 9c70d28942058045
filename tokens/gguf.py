"""Rebuild a tokenizers file (tokenizer.json) from the vocabulary in a GGUF file's metadata, to the exact byte.

Reads GGUF versions 2 and 3, little-endian; no tensors. What comes out is only as good as its hash.
"""

import json
import struct

ADDED = (3, 4)  # the token types, control and user-defined, whose tokens stand in added_tokens
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
SPACE = "\u2581"  # how the vocabulary writes a space
STRING, ARRAY = 8, 9
NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class GgufError(ValueError):
    """Bytes that are no GGUF file with a BPE vocabulary. The text is a phrase without a full stop."""


class Reader:
    """A place in the bytes of a GGUF file that moves on with each value read."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        piece = self.data[self.at : self.at + length]
        if len(piece) < length:
            raise GgufError(f"the file ends at byte {len(self.data)}, inside its metadata")
        self.at += length
        return piece

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def string(self):
        length = int.from_bytes(self.take(8), "little")  # not `number`: a vocabulary has most of a million texts
        return self.take(length).decode("utf-8")

    def value(self, kind):
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            raise GgufError(f"metadata of the unknown type {kind} before byte {self.at}")
        kind, count = self.number("<I"), self.number("<Q")
        if kind in NUMBERS:  # one call for all of them: there are as many token types as tokens
            form = f"<{count}{NUMBERS[kind][1]}"
            return list(struct.unpack(form, self.take(struct.calcsize(form))))
        return [self.value(kind) for _ in range(count)]


def read_metadata(data):
    """The metadata of a GGUF file's bytes as {key: value}, or GgufError."""
    reader = Reader(data)
    if reader.take(4) != b"GGUF":
        raise GgufError("it does not start with GGUF")
    version = reader.number("<I")
    if version not in (2, 3):
        raise GgufError(f"GGUF version {version} is not 2 or 3")
    reader.number("<Q")  # how many tensors; none is read
    try:
        return {reader.string(): reader.value(reader.number("<I")) for _ in range(reader.number("<Q"))}
    except (UnicodeDecodeError, struct.error, OverflowError, MemoryError, RecursionError) as error:
        raise GgufError(f"its metadata cannot be read near byte {reader.at}: {error}") from None


def tokenizer_json(data):
    """The bytes of the tokenizer.json that the vocabulary of a GGUF file (bytes) stands for, or GgufError."""
    metadata = read_metadata(data)
    try:
        tokens, types, merges = (metadata[f"tokenizer.ggml.{name}"] for name in ("tokens", "token_type", "merges"))
        pairs = [split_merge(merge) for merge in merges]
        kinds = enumerate(types)
        added = [{"id": number, "content": tokens[number], **FLAGS} for number, kind in kinds if kind in ADDED]
    except KeyError as error:
        raise GgufError(f"its metadata has no {error.args[0]}") from None
    except (IndexError, TypeError) as error:
        raise GgufError(f"its vocabulary is not of the kind that can be rebuilt: {error}") from None
    return file_text(added, tokens, pairs).encode("utf-8")


def file_text(added, tokens, pairs):
    """The two-space indented JSON of `layout`. Vocabulary and merges are written by hand, since the library's own
    indenting walks over each of their million strings in Python."""
    quote = json.JSONEncoder(ensure_ascii=False).encode
    # A later token of the same text takes the place of the earlier one, as in a dict.
    vocabulary = {token: number for number, token in enumerate(tokens)}
    entries = [f"{quote(token)}: {number}" for token, number in vocabulary.items()]
    merges = [f"[\n        {quote(one)},\n        {quote(other)}\n      ]" for one, other in pairs]
    frame = json.dumps(layout(added), indent=2, ensure_ascii=False)
    frame = frame.replace('"vocab": null', '"vocab": ' + block("{", entries, "}"))
    return frame.replace('"merges": null', '"merges": ' + block("[", merges, "]"))


def block(opening, lines, closing):
    """Lines at the depth of the model's fields, between brackets."""
    return f"{opening}\n      " + ",\n      ".join(lines) + f"\n    {closing}" if lines else opening + closing


def split_merge(merge):
    """["a", "b"] of the merge "a b". The space that separates is the first after the first character."""
    at = merge.find(" ", 1)
    if at < 0:
        raise GgufError(f"the merge {merge!r} is no pair")
    return [merge[:at], merge[at + 1 :]]


def layout(added):
    """A tokenizers file's value, its keys in the order in which that library writes them; file_text adds the rest."""
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
                          "invert": False},
        "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {}},
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                         {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": None, "merges": None}}
