"""What keeps prepare.py honest: nothing reads as prepared unless every byte is the pinned one, whatever happens."""

import errno
import io
import json
import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

import prepare
from base.command import InputError, dump
from base.lines import lock
from tokens.manifest import leftovers, verify
from tokens.sources import SourceError, folder_source
from tokens.tests.made import CONTENTS, ROOT, Folder, fails, manifest_of, quiet


class Sources(Folder):
    def test_the_first_source_that_has_the_pinned_bytes_is_used_and_told(self):
        told = quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get, "two": fails("unused")})
        self.assertPrepared()
        self.assertIn("tokenizer.json from one\n", told)

    def test_a_failed_source_is_told_beside_the_one_that_was_used(self):
        told = quiet(prepare.prepare, self.manifest, self.target, {"one": fails("is asleep"), "two": CONTENTS.get})
        self.assertIn("chat_template.jinja from two (one: is asleep)", told)

    def test_wrong_bytes_of_the_right_length_are_refused_and_the_next_source_is_tried(self):
        wrong = {name: b"x" * len(data) for name, data in CONTENTS.items()}
        told = quiet(prepare.prepare, self.manifest, self.target, {"liar": wrong.get, "two": CONTENTS.get})
        self.assertPrepared()
        self.assertIn("from two (liar: has other bytes", told)

    def test_bytes_cut_short_are_refused(self):
        line = self.refused({"short": lambda name: CONTENTS[name][:-1]})
        self.assertIn("short: has 12,999 bytes instead of the pinned 13,000", line)
        self.assertFalse((self.target / "tokenizer.json").exists())

    def test_each_file_may_come_from_another_source(self):
        half = {"tokenizer.json": CONTENTS["tokenizer.json"], "chat_template.jinja": b"<html>"}
        quiet(prepare.prepare, self.manifest, self.target, {"half": half.get, "two": CONTENTS.get})
        self.assertPrepared()

    def test_when_all_fail_one_line_names_each_reason_and_a_remedy(self):
        line = self.refused({"hub": fails("no answer"), "index": fails("HTTP 404")})
        for part in ("hub: no answer", "index: HTTP 404", "--from DIR"):
            self.assertIn(part, line)

    def test_a_second_run_asks_no_source(self):
        quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get})
        before = {path.name: path.stat().st_mtime_ns for path in self.target.iterdir()}
        told = quiet(prepare.prepare, self.manifest, self.target, {})
        self.assertIn("already", told)
        self.assertEqual(before, {path.name: path.stat().st_mtime_ns for path in self.target.iterdir()})

    def test_a_second_run_hashes_again_and_replaces_a_file_that_rotted(self):
        quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get})
        rotten = b"y" + CONTENTS["tokenizer.json"][1:]
        (self.target / "tokenizer.json").write_bytes(rotten)
        told = quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get})
        self.assertPrepared()
        self.assertNotIn("chat_template.jinja from", told)
        self.assertEqual((self.target / "tokenizer.json.unverified").read_bytes(), rotten)

    def test_a_second_file_that_does_not_verify_replaces_the_first_that_was_kept(self):
        for content in (b"the user's own", b"another", b"a third"):
            self.target.mkdir(exist_ok=True)
            (self.target / "tokenizer.json").write_bytes(content)
            quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get})
        kept = ["tokenizer.json.unverified" + end for end in ("", ".2", ".3")]
        self.assertEqual([(self.target / name).read_bytes() for name in kept],
                         [b"the user's own", b"another", b"a third"])

    def test_a_file_that_does_not_verify_is_gone_from_its_place_although_nothing_replaces_it(self):
        self.target.mkdir()
        (self.target / "tokenizer.json").write_bytes(b"another model's")
        self.refused({"none": fails("offline")})
        self.assertFalse((self.target / "tokenizer.json").exists())

    def test_a_folder_gives_its_files_and_says_what_it_lacks(self):
        for name, data in CONTENTS.items():
            (self.here / name).write_bytes(data)
        quiet(prepare.prepare, self.manifest, self.target, {"folder": folder_source(self.here)})
        self.assertPrepared()
        for place, reason in ((self.target.parent / "none", "no such folder"), (ROOT / "nowhere", "no such folder")):
            self.assertRaisesRegex(SourceError, reason, folder_source(place), "tokenizer.json")
        self.assertRaisesRegex(SourceError, "no other.json there", folder_source(self.here), "other.json")

    def test_sources_come_in_the_order_that_is_promised(self):
        named = list(prepare.known_sources(self.manifest, Path("files")))
        self.assertEqual(named, ["folder files", "Hugging Face hub", "package index"])
        self.assertEqual(list(prepare.known_sources({**self.manifest, "revision": None}, None)), ["package index"])


class Disk(Folder):
    def test_a_full_disk_is_one_line_and_leaves_nothing(self):
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("base.command.os.fsync", side_effect=full):
            line = self.refused({"one": CONTENTS.get})
        self.assertIn(os.strerror(errno.ENOSPC), line)
        self.assertIn("LAB_TOKENIZER", line)
        self.assertEqual([path.name for path in self.target.iterdir() if path.name != ".lock"], [])

    def test_a_folder_that_cannot_be_made_is_one_line(self):
        self.target.write_bytes(b"a file in its place")
        self.assertRegex(
            self.refused({"one": CONTENTS.get}), "cannot be written: .*; put that right, or name another folder")

    @unittest.skipIf(not hasattr(os, "geteuid") or os.geteuid() == 0, "the system's owner may write anywhere")
    def test_a_folder_that_may_not_be_written_is_one_line(self):
        self.target.mkdir(mode=0o500)
        self.assertIn("cannot be written", self.refused({"one": CONTENTS.get}))

    def test_leftovers_of_a_killed_run_are_cleared_even_when_all_is_prepared(self):
        quiet(prepare.prepare, self.manifest, self.target, {"one": CONTENTS.get})
        (self.target / "tokenizer.json.abc.part").write_bytes(b"half")
        quiet(prepare.prepare, self.manifest, self.target, {})
        self.assertPrepared()

    def test_another_run_is_waited_for_and_what_it_prepared_is_taken(self):
        self.target.mkdir()
        told, waiting = io.StringIO(), threading.Event()

        def tell(line):
            told.write(line)
            waiting.set()

        with mock.patch("tokens.manifest.tell", tell), mock.patch("prepare.tell", tell):
            with open(self.target / ".lock", "ab") as file:
                lock(file.fileno())
                second = threading.Thread(target=prepare.prepare, args=(self.manifest, self.target, {}))
                second.start()
                self.assertTrue(waiting.wait(timeout=30))
                for name, data in CONTENTS.items():
                    (self.target / name).write_bytes(data)
            second.join(timeout=30)
        self.assertIn("waiting for another prepare.py", told.getvalue())
        self.assertIn("is prepared", told.getvalue())


class Killed(Folder):
    """A run that dies on the spot (os._exit: no cleanup of any kind) at each call that changes the disk."""

    DIE = """
import os, sys
import prepare
from base import command
from pathlib import Path
from tokens.sources import folder_source
left = int(sys.argv[4])
real = getattr(os, sys.argv[3])
def dying(*arguments):
    global left
    left -= 1
    if left == 0:
        os._exit(77)
    return real(*arguments)
setattr(os, sys.argv[3], dying)
given = Path(sys.argv[1])
prepare.prepare(prepare.read_manifest(given / "manifest.json"), Path(sys.argv[2]), {"given": folder_source(given)})
"""

    def test_nothing_reads_as_prepared_after_a_kill_and_the_next_run_puts_it_right(self):
        for name, data in CONTENTS.items():
            (self.here / name).write_bytes(data)
        (self.here / "manifest.json").write_text(dump(self.manifest), encoding="utf-8")
        for call, count in (("fsync", 1), ("replace", 1), ("fsync", 2), ("replace", 2)):
            with self.subTest(f"{call} number {count}"):
                target = self.target / f"{call}{count}"
                run = [sys.executable, "-c", self.DIE, self.here, target, call, str(count)]
                done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 77, done.stderr)
                self.assertTrue(verify(target, self.manifest))
                for path in target.glob("*.j*"):
                    if not path.name.endswith(".part"):
                        self.assertEqual(path.read_bytes(), CONTENTS[path.name])
                quiet(prepare.prepare, self.manifest, target, {"given": folder_source(self.here)})
                self.assertEqual(verify(target, self.manifest), [])
                self.assertEqual(leftovers(target), [])


class Manifests(Folder):
    def test_the_shipped_manifest_pins_the_published_files(self):
        manifest = prepare.read_manifest(prepare.MANIFEST)
        self.assertEqual(manifest["files"]["tokenizer.json"]["bytes"], 32_169_626)
        self.assertEqual(manifest["files"]["chat_template.jinja"]["bytes"], 18_569)
        self.assertEqual((manifest["model"], manifest["license"]), ("google/gemma-4-E2B-it", "Apache-2.0"))

    def test_a_manifest_that_cannot_be_used_is_refused_by_field(self):
        good, path = manifest_of(CONTENTS), self.here / "m.json"
        entry = good["files"]["tokenizer.json"]
        files = good["files"]
        cases = [
            ([], "the manifest is"), ({**good, "model": 1}, "model is 1"), ({**good, "model": "a\nb"}, "model is"),
            ({**good, "model": "\ud800"}, "model is"), ({**good, "revision": 1}, "revision is"),
            ({**good, "revision": "\x1b[2J"}, "revision is"), ({**good, "eos_token": None}, "eos_token is None"),
            ({**good, "files": {"../x": entry}}, "files has an unknown field"),
            ({**good, "files": {"tokenizer.json": entry}}, "no field 'chat_template.jinja'"),
            ({**good, "files": {**files, "more.json": entry}}, "unknown field 'more.json'"),
            ({**good, "files": {**files, "tokenizer.json": {**entry, "bytes": True}}}, "bytes is True"),
            ({**good, "files": {**files, "tokenizer.json": {**entry, "bytes": 0}}}, "bytes is 0"),
            ({**good, "files": {**files, "tokenizer.json": {**entry, "sha256": "F" * 64}}}, "sha256 is"),
            ({**good, "today": "today"}, "today is"), ({**good, "today": "20260131"}, "today is"),
            ({**good, "packages": []}, "packages is"),
            ({**good, "packages": {"tokenizer.json": {"project": "x"}}}, "no field 'archive'"),
            ({**good, "packages": {"x": dict.fromkeys(("project", "archive", "sha256", "member"), [])}}, "project is")]
        for value, problem in cases:
            with self.subTest(problem=problem, value=value):
                path.write_text(json.dumps(value), encoding="utf-8")
                with self.assertRaisesRegex(InputError, problem):
                    prepare.read_manifest(path)
        path.write_text(json.dumps(good), encoding="utf-8")
        self.assertEqual(prepare.read_manifest(path), good)

    def test_verify_tells_what_is_missing_short_or_other(self):
        self.target.mkdir()
        self.assertEqual(len(verify(self.target, self.manifest)), 2)
        (self.target / "tokenizer.json").write_bytes(b"x")
        (self.target / "chat_template.jinja").write_bytes(b"y" * len(CONTENTS["chat_template.jinja"]))
        problems = verify(self.target, self.manifest)
        self.assertRegex(problems[0], "tokenizer.json has 1 bytes instead")
        self.assertRegex(problems[1], "chat_template.jinja has other bytes")

    def test_lab_tokenizer_names_the_folder_and_other_manifests_lie_below_it(self):
        with mock.patch.dict(os.environ, LAB_TOKENIZER="elsewhere"):
            self.assertEqual(prepare.folder(), Path("elsewhere"))
            self.assertEqual(prepare.folder(Path("sub/llama.json")), Path("elsewhere/llama"))
        with mock.patch.dict(os.environ, LAB_TOKENIZER=""):
            self.assertEqual(prepare.folder(), ROOT / ".tokenizer")

    def test_importing_prepare_loads_no_library(self):
        heavy = "{'requests', 'huggingface_hub', 'tqdm', 'filelock', 'tokenizers', 'jinja2'}"
        code = f"import sys, prepare; print(sorted({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.stdout, "[]\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
