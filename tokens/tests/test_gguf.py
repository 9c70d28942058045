"""What keeps the rebuilt tokenizer.json equal to the published one: every key, flag, space and escape."""

import json
import os
import struct
import unittest
from pathlib import Path

from tokenizers import Tokenizer

from base.command import sha256
from tokens.gguf import GgufError, read_metadata, tokenizer_json
from tokens.index import Index
from tokens.manifest import MANIFEST, bytes_problem, folder, read_manifest, read_pinned

# All that the rebuild may vary is in here: escapes, characters beyond ASCII, the two kinds of added tokens, a merge
# whose first half is a space's stand-in, one whose first half is a line break, and one whose first half is a space.
SMALL = {
    "tokenizer.ggml.tokens": ["<pad>", "<unk>", 'a"\\', "\u2581", "\u00e9", "\u2581\u00e9", "\n", "\n\n", "<|turn>",
                              " ", " a", "a"],
    "tokenizer.ggml.token_type": [3, 2, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1],
    "tokenizer.ggml.merges": ["\u2581 \u00e9", "\n \n", "  a"],
}
EXPECTED = Path(__file__).with_name("small_tokenizer.json")


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
    def test_a_byte_of_the_rebuilt_file_is_another_or_metadata_of_other_kinds_is_not_read_past(self):
        other = {"a": 1.5, "b": True, "c": [[1, 2], [3]], "d": "text", "e": [True, False], "f": -7}
        for version in 2, 3:
            read = read_metadata(gguf({**other, **SMALL}, version))
            self.assertEqual(tokenizer_json(read).decode("utf-8"), EXPECTED.read_text(encoding="utf-8").rstrip("\n"))
            self.assertEqual({key: read[key] for key in other}, other)

    def test_the_library_does_not_load_the_rebuilt_file(self):
        made = Tokenizer.from_str(EXPECTED.read_text(encoding="utf-8"))
        self.assertEqual(made.encode("\n\n \u00e9<|turn>").ids, [7, 5, 8])

    def test_a_file_cut_anywhere_is_a_traceback_or_a_shorter_vocabulary(self):
        data = gguf(SMALL)
        for length in range(len(data)):
            self.assertRaises(GgufError, read_metadata, data[:length])

    def test_what_is_no_vocabulary_is_rebuilt_or_a_traceback(self):
        huge = gguf({})[:16] + struct.pack("<Q", 1) + text("k") + struct.pack("<IIQ", 9, 4, 1 << 62)
        for data, reason in ((b"PK\x03\x04" + bytes(99), "does not start with GGUF"), (gguf(SMALL, 1), "version 1"),
                             (gguf({"a": 1}), "no tokenizer.ggml.tokens"),
                             *((gguf({**SMALL, f"tokenizer.ggml.{name}": value}), reason) for name, value, reason in (
                                 ("merges", ["ab"], "'ab' is no pair"), ("merges", [5], "not of the kind"),
                                 ("token_type", [3] * 13, "not of the kind"), ("tokens", 5, "not of the kind"))),
                             (gguf({"k": "x"})[:33] + b"\xff\xff\xff\xff", "unknown type|ends at byte"),
                             (huge, "ends at byte|cannot be read"),
                             (gguf({"k": "\u00e9"}).replace("\u00e9".encode(), b"\xff\xff"), "cannot be read")):
            with self.subTest(reason), self.assertRaisesRegex(GgufError, reason):
                tokenizer_json(read_metadata(data))


class Real(unittest.TestCase):
    """With the real data, where it is at hand."""

    def test_another_tokenizer_than_the_prepared_comes_out_of_its_own_vocabulary(self):
        data, problem = read_pinned(folder() / "tokenizer.json", read_manifest(MANIFEST)["files"]["tokenizer.json"])
        if problem:
            self.skipTest("the tokenizer is not prepared: python prepare.py")
        value = json.loads(data)
        added, tokens = {token["id"] for token in value["added_tokens"]}, list(value["model"]["vocab"])
        metadata = {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": map(" ".join, value["model"]["merges"]),
                    "tokenizer.ggml.token_type": [3 if number in added else 1 for number in range(len(tokens))]}
        self.assertEqual(sha256(tokenizer_json(metadata)), sha256(data))

    def test_the_published_packages_carry_other_files_than_the_pinned(self):
        place, manifest = Path(os.environ.get("LAB_DATA") or "nowhere"), read_manifest(MANIFEST)
        for name, package in manifest["packages"].items():
            with self.subTest(name):
                if not (place / package["archive"]).is_file():
                    self.skipTest(f"LAB_DATA names no folder that has {package['archive']}")
                data = Index(manifest["packages"], {"find-links": str(place), "no-index": "1"}).fetch(name)
                self.assertIsNone(bytes_problem(data, manifest["files"][name]))
