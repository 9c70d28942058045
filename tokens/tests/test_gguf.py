"""What keeps the rebuilt tokenizer.json equal to the published one: every key, flag, space and escape."""

import hashlib
import json
import os
import struct
import unittest
from pathlib import Path

import prepare
from tokens.gguf import GgufError, read_metadata, tokenizer_json
from tokens.index import Index

# All that the rebuild may vary is in here: escapes, characters beyond ASCII, the two kinds of added tokens, a merge
# whose first half is a space's stand-in, and one whose first half is a line break.
SMALL = {
    "tokenizer.ggml.tokens": ["<pad>", "<unk>", 'a"\\', "\u2581", "\u00e9", "\u2581\u00e9", "\n", "\n\n", "<|turn>"],
    "tokenizer.ggml.token_type": [3, 2, 1, 1, 1, 1, 1, 1, 4],
    "tokenizer.ggml.merges": ["\u2581 \u00e9", "\n \n"],
}
SEQUENCES = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
EXPECTED = json.dumps({
    "version": "1.0", "truncation": None, "padding": None,
    "added_tokens": [{"id": 0, "content": "<pad>", **FLAGS}, {"id": 8, "content": "<|turn>", **FLAGS}],
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    "post_processor": {"type": "TemplateProcessing", "single": SEQUENCES[:1], "pair": SEQUENCES, "special_tokens": {}},
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
        {"type": "Fuse"}]},
    "model": {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
        "vocab": {"<pad>": 0, "<unk>": 1, 'a"\\': 2, "\u2581": 3, "\u00e9": 4, "\u2581\u00e9": 5, "\n": 6, "\n\n": 7,
                  "<|turn>": 8},
        "merges": [["\u2581", "\u00e9"], ["\n", "\n"]]}}, indent=2, ensure_ascii=False)


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def typed(value):
    """A value of GGUF metadata with its type in front: texts, whole numbers (int32), floats, bools and lists."""
    if isinstance(value, list):
        kind, texts = typed(value[0])[:4], isinstance(value[0], str)
        items = map(text, value) if texts else (typed(item)[4:] for item in value)
        return struct.pack("<I", 9) + kind + struct.pack("<Q", len(value)) + b"".join(items)
    for known, kind, form in ((bool, 7, "<?"), (int, 5, "<i"), (float, 6, "<f")):
        if isinstance(value, known):
            return struct.pack("<I", kind) + struct.pack(form, value)
    return struct.pack("<I", 8) + text(value)


def gguf(metadata, version=3):
    """The bytes of a GGUF file without tensors."""
    pairs = b"".join(text(key) + typed(value) for key, value in metadata.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(metadata)) + pairs


class Rebuild(unittest.TestCase):
    def test_the_rebuilt_file_is_exact_to_the_byte(self):
        self.assertEqual(tokenizer_json(gguf(SMALL)).decode("utf-8"), EXPECTED)

    def test_metadata_of_other_kinds_is_read_past(self):
        other = {"a": 1.5, "b": True, "c": [[1, 2], [3]], "d": "text", "e": [True, False], "f": -7}
        found = read_metadata(gguf({**other, **SMALL}, version=2))
        self.assertEqual({key: found[key] for key in other}, other)
        self.assertEqual(tokenizer_json(gguf({**other, **SMALL})).decode("utf-8"), EXPECTED)

    def test_the_library_loads_the_rebuilt_file(self):
        try:
            from tokenizers import Tokenizer
        except ImportError:
            self.skipTest("tokenizers is not installed")
        self.assertEqual(Tokenizer.from_str(EXPECTED).encode("\n\n \u00e9<|turn>").ids, [7, 5, 8])

    def test_a_file_cut_anywhere_is_an_error_and_never_a_shorter_vocabulary(self):
        data = gguf(SMALL)
        for length in range(len(data)):
            with self.assertRaises(GgufError):
                tokenizer_json(data[:length])

    def test_what_is_no_vocabulary_is_refused_with_the_reason(self):
        huge = gguf({})[:16] + struct.pack("<Q", 1) + text("k") + struct.pack("<IIQ", 9, 4, 1 << 62)
        cases = [(b"PK\x03\x04" + bytes(99), "does not start with GGUF"), (gguf(SMALL, version=1), "version 1"),
                 (gguf({"a": 1}), "no tokenizer.ggml.tokens"),
                 (gguf({**SMALL, "tokenizer.ggml.merges": ["ab"]}), "'ab' is no pair"),
                 (gguf({**SMALL, "tokenizer.ggml.token_type": [3] * 10}), "cannot|not of the kind"),
                 (gguf({**SMALL, "tokenizer.ggml.tokens": 5}), "not of the kind"),
                 (gguf({"k": "x"})[:33] + b"\xff\xff\xff\xff", "unknown type|ends at byte"),
                 (huge, "ends at byte|cannot be read"),
                 (gguf({"k": "\u00e9"}).replace("\u00e9".encode(), b"\xff\xff"), "cannot be read")]
        for data, reason in cases:
            with self.subTest(reason):
                self.assertRaisesRegex(GgufError, reason, tokenizer_json, data)


class Real(unittest.TestCase):
    """With the real data, where it is at hand."""

    def test_the_prepared_tokenizer_comes_out_of_its_own_vocabulary(self):
        manifest = prepare.read_manifest(prepare.MANIFEST)
        path = prepare.folder() / "tokenizer.json"
        if prepare.read_pinned(path, manifest["files"]["tokenizer.json"])[1]:
            self.skipTest("the tokenizer is not prepared: python prepare.py")
        data = path.read_bytes()
        value = json.loads(data)
        added = {token["id"] for token in value["added_tokens"]}
        tokens = list(value["model"]["vocab"])
        metadata = {"tokenizer.ggml.tokens": tokens,
                    "tokenizer.ggml.token_type": [3 if number in added else 1 for number in range(len(tokens))],
                    "tokenizer.ggml.merges": [" ".join(merge) for merge in value["model"]["merges"]]}
        self.assertEqual(hashlib.sha256(tokenizer_json(gguf(metadata))).digest(), hashlib.sha256(data).digest())

    def test_the_published_packages_carry_the_pinned_files(self):
        place = os.environ.get("LAB_DATA")
        manifest = prepare.read_manifest(prepare.MANIFEST)
        for name, package in manifest["packages"].items():
            with self.subTest(name):
                if not place or not (Path(place) / package["archive"]).is_file():
                    self.skipTest(f"LAB_DATA names no folder that has {package['archive']}")
                data = Index(manifest["packages"], {"find-links": place, "no-index": "1"}).fetch(name)
                self.assertIsNone(prepare.bytes_problem(data, manifest["files"][name]))


if __name__ == "__main__":
    unittest.main()
