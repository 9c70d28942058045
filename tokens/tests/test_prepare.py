"""What keeps prepare.py honest: nothing reads as prepared unless every byte is the pinned one, whatever happens."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import prepare
from base.command import InputError
from base.lines import lock
from base.tests.made import ROOT, edited, named_cases
from tokens.manifest import leftovers, verify
from tokens.sources import folder_source
from tokens.tests.made import CONTENTS, Folder, fails

WRONG = {name: b"x" * len(data) for name, data in CONTENTS.items()}
HALF = {**CONTENTS, "chat_template.jinja": b"<html>"}


class Preparing(Folder):
    def test_the_first_source_with_the_pinned_bytes_is_not_used_or_not_told(self):
        for name, data in CONTENTS.items():
            self.write(name, data)
        for case, sources, told in (
                ("a later source is asked", {"one": CONTENTS.get, "two": fails("unused")}, "tokenizer.json from one\n"),
                ("a failure is not told", {"one": fails("late"), "two": CONTENTS.get}, "jinja from two (one: late)"),
                ("wrong bytes of the right length", {"liar": WRONG.get, "two": CONTENTS.get},
                 "from two (liar: has other bytes"),
                ("both files from one source", {"half": HALF.get, "two": CONTENTS.get}, "jinja from two (half: has 6 "),
                ("a folder", {"folder": folder_source(self.folder)}, "jinja from folder\n")):
            with self.subTest(case):
                self.assertIn(told, self.prepare(**sources))
                self.assertPrepared()
                shutil.rmtree(self.target)

    def test_when_all_fail_a_reason_or_the_remedy_is_missing_or_something_is_left(self):
        self.target.mkdir()
        (self.target / "tokenizer.json").write_bytes(b"another model's")
        self.unprepared(r"hub: no answer; index: HTTP 4\. .*--from DIR", hub=fails("no answer"), index=fails("HTTP 4"))
        self.unprepared("short: has 12,999 bytes instead of the pinned 13,000", short=lambda name: CONTENTS[name][:-1])
        self.assertEqual(self.left(), ["tokenizer.json.unverified"])

    def test_a_second_run_asks_a_source_or_does_not_hash_again(self):
        self.prepare(one=CONTENTS.get)
        before = {path.name: path.stat().st_mtime_ns for path in self.target.iterdir()}
        self.assertIn("already", self.prepare())
        self.assertEqual(before, {path.name: path.stat().st_mtime_ns for path in self.target.iterdir()})
        rotten = b"y" + CONTENTS["tokenizer.json"][1:]
        (self.target / "tokenizer.json").write_bytes(rotten)
        self.assertNotIn("chat_template.jinja from", self.prepare(one=CONTENTS.get))
        self.assertPrepared()
        self.assertEqual((self.target / "tokenizer.json.unverified").read_bytes(), rotten)

    def test_a_second_file_that_does_not_verify_replaces_the_first_that_was_kept(self):
        kept = {f"tokenizer.json.unverified{end}": end.encode() for end in ("", ".2", ".3")}
        for content in kept.values():
            self.target.mkdir(exist_ok=True)
            (self.target / "tokenizer.json").write_bytes(content)
            self.prepare(one=CONTENTS.get)
        self.assertEqual({name: (self.target / name).read_bytes() for name in kept}, kept)

    def test_sources_come_in_another_order_than_the_promised(self):
        named = list(prepare.known_sources(self.manifest, Path("files")))
        self.assertEqual(named, ["folder files", "Hugging Face hub", "package index"])
        self.assertEqual(list(prepare.known_sources({**self.manifest, "revision": None}, None)), ["package index"])

    def test_a_full_disk_is_a_traceback_or_leaves_something(self):
        with mock.patch("base.command.os.fsync", side_effect=OSError(28, "No space left")):
            self.unprepared("No space left.*LAB_TOKENIZER", one=CONTENTS.get)
        self.assertEqual(self.left(), [])

    def test_a_folder_that_cannot_be_made_is_a_traceback(self):
        self.write("prepared", b"a file in its place")
        self.unprepared("cannot be written: .*; put that right, or name another folder", one=CONTENTS.get)

    def test_leftovers_of_a_killed_run_stay_when_all_is_prepared(self):
        self.prepare(one=CONTENTS.get)
        (self.target / "tokenizer.json.abc.part").write_bytes(b"half")
        self.prepare()
        self.assertPrepared()

    def test_another_run_is_not_waited_for_or_what_it_prepared_is_fetched_again(self):
        self.target.mkdir()
        told, waiting = [], threading.Event()

        def tell(line):
            told.append(line)
            waiting.set()

        with mock.patch("tokens.manifest.print_step", tell), mock.patch("prepare.print_step", tell):
            with open(self.target / ".lock", "ab") as file:
                lock(file.fileno())
                second = threading.Thread(target=prepare.prepare, args=(self.manifest, self.target, {}))
                second.start()
                self.assertTrue(waiting.wait(timeout=30))
                second.join(timeout=0.1)
                self.assertTrue(second.is_alive())
                for name, data in CONTENTS.items():
                    (self.target / name).write_bytes(data)
            second.join(timeout=30)
        self.assertRegex("\n".join(told), "waiting for another prepare.py.*\n.*is prepared")

    def test_the_shipped_manifest_pins_other_files_than_the_published(self):
        manifest = prepare.read_manifest(prepare.MANIFEST)
        self.assertEqual([pinned["bytes"] for pinned in manifest["files"].values()], [32_169_626, 18_569])
        self.assertEqual((manifest["model"], manifest["license"]), ("google/gemma-4-E2B-it", "Apache-2.0"))

    def test_a_manifest_that_cannot_be_used_is_read_or_refused_without_the_field(self):
        for row in named_cases(__file__, "broken-manifests.json"):
            with self.subTest(row["name"]):
                path = self.write("m.json", edited(self.manifest, row["at"], *row["put"]))
                self.assertRaisesRegex(InputError, row["says"], prepare.read_manifest, path)
        self.assertRaisesRegex(InputError, "the manifest is", prepare.read_manifest, self.write("m.json", []))
        self.assertEqual(prepare.read_manifest(self.write("m.json", self.manifest)), self.manifest)

    def test_lab_tokenizer_does_not_name_the_folder_or_other_manifests_lie_beside_it(self):
        for named, base in ("elsewhere", Path("elsewhere")), ("", ROOT / ".tokenizer"):
            with mock.patch.dict(os.environ, LAB_TOKENIZER=named):
                self.assertEqual((prepare.folder(), prepare.folder(Path("sub/llama.json"))), (base, base / "llama"))

    def test_importing_prepare_loads_a_library(self):
        heavy = "{'requests', 'huggingface_hub', 'tqdm', 'filelock', 'tokenizers', 'jinja2'}"
        code = f"import sys, prepare; print(sorted({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.stdout, "[]\n", done.stderr)


class Killed(Folder):
    """A run that dies on the spot (os._exit: no cleanup at all) in a source, or at a call that changes the disk."""

    DIE = """
import os, sys, prepare
from pathlib import Path
from tokens.sources import folder_source
given, target, call, number = sys.argv[1:]
owner, calls = Path if call == "read_bytes" else os, []
real = getattr(owner, call)
def dying(*arguments):
    calls.append(arguments)
    return os._exit(77) if len(calls) == int(number) else real(*arguments)
setattr(owner, call, dying)
prepare.prepare(prepare.read_manifest(given + "/m.json"), Path(target), {"given": folder_source(given)})
"""

    def test_something_reads_as_prepared_after_a_kill_or_the_next_run_does_not_put_it_right(self):
        for name, content in {**CONTENTS, "m.json": self.manifest}.items():
            self.write(name, content)
        in_a_source = "read_bytes", 4  # after both files and the first one again are looked for in the target
        for call, number in (in_a_source, ("fsync", 1), ("replace", 1), ("fsync", 2), ("replace", 2)):
            with self.subTest(f"{call} number {number}"):
                self.target = self.folder / f"{call}{number}"
                run = [sys.executable, "-c", self.DIE, self.folder, self.target, call, str(number)]
                done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 77, done.stderr)
                self.assertTrue(verify(self.target, self.manifest))
                for path in set(self.target.glob("*.j*")) - set(leftovers(self.target)):
                    self.assertEqual(path.read_bytes(), CONTENTS[path.name])
                self.prepare(given=CONTENTS.get)
                self.assertPrepared()
