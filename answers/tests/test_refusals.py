"""Builds and servers that are refused before any answer, and journals that cannot be gone on with."""

import json
import os

from answers import record
from answers.exchange import ServerError
from answers.tests.made import INPUTS, Recording
from base.command import InputError, replace_file

PINNED = "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2"


class Refused(Recording):
    """Builds and servers that are refused before any request for an answer."""

    def altered(self, shown={}, models=0, **changed):
        double = self.double()
        for name, value in {"shown": {**double.shown, **shown}, **changed}.items():
            setattr(double, name, value)
        double.tags = double.tags if models == 0 else lambda: {"models": models}
        return double

    def test_a_model_that_is_not_the_pinned_build_is_refused_before_any_request_is_sent(self):
        for case in (*INPUTS["builds"],
                     {"digest": "e" * 64, "says": f"is the build {'e' * 64}, and {PINNED} is pinned; run `ollama pull"},
                     {"tag": "gemma4:e4b", "says": f"has no model gemma4:e2b, pinned as {PINNED}"}):
            double = self.altered(**{name: value for name, value in case.items() if name != "says"})
            with self.subTest(case), self.assertRaisesRegex(ServerError, case["says"]) as caught:
                self.model(double)
            self.assertEqual((double.chats, str(caught.exception).count("\n")), ([], 0))
        status, printed, _ = self.command(double.host)
        self.assertEqual((status, printed, list(self.folder.iterdir()), double.chats), (2, None, [], []))

    def test_what_is_as_good_as_the_pinned_build_is_refused(self):
        for version in ("0.30.1", "0.32.14", "0.33.0-rc2", "1.0.0"):
            self.assertEqual(self.model(self.altered(version=version)).identity["version"], version)
        self.model(self.altered(shown=dict.fromkeys(("parameters", "capabilities"))))  # null: left out

    def test_context_that_nobody_tells_is_not_known_and_too_little_ends_the_run(self):
        for loaded, context in ((["other"], 2048), ([], 2048), (["gemma4:e2b"], None)):
            double = self.altered(loaded=loaded, context_length=context)
            self.assertIsNone(self.model(double).running()[0])
        with self.assertRaisesRegex(ServerError, "'much'.* address of a model's server"):
            self.model(self.altered(context_length="much")).running()
        double = self.altered(context_length=64)
        self.assertRegex(str(self.ask(double)[2]), "loaded with 64 tokens of context")
        self.assertEqual(len(double.chats), 1)

    def test_a_place_that_holds_no_file_is_told_before_anything_is_asked_and_never_replaced(self):
        double, folder, pipe = self.double(), self.folder, self.folder / "pipe"
        (folder / "folder").mkdir()
        places = ["", ".", "/", folder / "folder", folder / "nowhere" / "x.json"]
        if hasattr(os, "mkfifo"):  # in place of a device: as root, a mistake here would replace /dev/null itself
            os.mkfifo(pipe)
            places.append(pipe)
            self.assertRaisesRegex(InputError, "is no file", replace_file, pipe, b"x")
            self.assertTrue(pipe.is_fifo())
        for out in places:
            with self.subTest(out):
                self.assertEqual(self.command(double.host, "--out", out)[0], 2)
        self.assertEqual((double.chats, {path.name for path in folder.iterdir()} - {"pipe"}), ([], {"folder"}))


class JournalFile(Recording):
    def test_two_runs_never_share_a_journal(self):
        with record.Journal(self.out), self.assertRaisesRegex(InputError, "another run has it"):
            record.Journal(self.out)

    def refuses(self, data, says):
        """The journal is refused and left as it is."""
        path = self.write("answer-result.journal.jsonl", data)
        with self.subTest(says), self.assertRaisesRegex(InputError, says):
            record.Journal(self.out)
        self.assertEqual(path.read_bytes(), data)

    def test_a_damaged_line_is_named_and_nothing_is_changed(self):
        entry = {"seed": 1, "incomplete": "stopped_stream"}
        good = {"kind": "answer", "strategy": "s", "case": "c", "seed": 1, "request": "r", "entry": entry}
        for case in INPUTS["journal lines"]:
            lines = json.dumps(good), json.dumps({**good, "case": "d", **case["change"]}), ""
            self.refuses("\n".join(lines).encode(), f"line 2: {case['says']}")
        for data, says in ((b"{}\n", "line 1: it has no field 'kind'"), (b"[]\n", r"line 1: it is \[\]"),
                           (b"nothing\n", "line 1: not JSON"), (b"\x80\n", "not UTF-8"),
                           (b"Notes of last week", "not JSON"), (b'{"a": 1}', "move the journal away")):
            self.refuses(data, says)

    def test_a_file_of_somebody_elses_is_left_as_it_is(self):
        self.out.write_bytes(b"Notes of last week")
        double = self.double()
        status, _, err = self.command(double.host)
        self.assertRegex(err, "is no output of this command")
        self.assertEqual((status, self.out.read_bytes(), double.requests), (2, b"Notes of last week", []))
