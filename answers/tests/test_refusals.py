"""Builds and servers that are refused before any answer, and journals that cannot be gone on with."""

import json
import os
import unittest

from answers import record
from answers.exchange import ServerError
from answers.tests.made import Recording
from answers.tests.ollama_double import OllamaDouble
from base.command import InputError, write_bytes

PINNED = "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2"
SHOWN = OllamaDouble().shown


class Refused(Recording):
    """Builds and servers that are refused before any request for an answer."""

    def altered(self, **changed):
        double = self.double()
        for name, value in changed.items():
            setattr(double, name, value)
        return double

    def refuses(self, says, **changed):
        double = self.altered(**changed)
        with self.subTest(says), self.assertRaisesRegex(ServerError, says) as caught:
            self.model(double)
        self.assertEqual((double.chats, str(caught.exception).count("\n")), ([], 0))

    def test_a_model_that_is_not_the_pinned_build_is_refused_before_any_request_is_sent(self):
        self.refuses(f"is the build {'e' * 64}, and {PINNED} is pinned; run `ollama pull gemma4:e2b`", digest="e" * 64)
        self.refuses(f"has no model gemma4:e2b, pinned as {PINNED}", tag="gemma4:e4b")
        for digest in (PINNED[:-1] + "3", f"sha256:{PINNED}", None, []):  # all 64 digits, as they are
            self.refuses("is the build", entry={"digest": digest})

    def test_a_refused_server_leaves_nothing_behind(self):
        double = self.altered(digest="e" * 64)
        status, printed, _ = self.command(double.host)
        self.assertEqual((status, printed, list(self.folder.iterdir()), double.chats), (2, None, [], []))

    def test_versions_that_count_short_or_run_another_engine(self):
        for version in ("0.30.0", "0.30.0-rc1", "0.29.9", "0.6.2", "0.0.0"):
            self.refuses("is refused", version=version)
        for version in ("b10488", None, ["0.32.14"]):
            self.refuses("version is .* address of a model's server", version=version)
        for version in ("0.30.1", "0.32.14", "0.33.0-rc2", "1.0.0"):
            self.assertEqual(self.model(self.altered(version=version)).identity["version"], version)

    def test_builds_that_change_the_prompt(self):
        self.refuses("cannot be pinned", entry={"remote_host": "https://ollama.com"})
        for says, change in {"system text": {"system": "Be kind."},
                             "messages of its own": {"messages": [{"role": "user", "content": "Hi"}]},
                             "adapter": {"modelfile": SHOWN["modelfile"] + "ADAPTER /x\n"},
                             "renders prompts": {"modelfile": "FROM x\nTEMPLATE {{ .Prompt }}\n"},
                             "mirostat": {"parameters": "mirostat 2"},
                             "cannot complete": {"capabilities": ["embedding"]}}.items():
            self.refuses(says, shown={**SHOWN, **change})

    def test_replies_of_another_shape_than_a_servers(self):
        for name in ("modelfile", "parameters", "capabilities"):
            for odd in (3, {"a": 1}, True):
                self.refuses(f"{name} is .* address of a model's server", shown={**SHOWN, name: odd})
        self.model(self.altered(shown={**SHOWN, **dict.fromkeys(("parameters", "capabilities"))}))  # null: left out
        for models in ([None], ["x"], [{"name": 3}], {"a": 1}):
            self.refuses("models.* is .* address of a model's server", tags=lambda: {"models": models})
        self.refuses("has no model", tags=lambda: {"models": None})
        for loaded, context in ((["other"], 2048), ([], 2048), (["gemma4:e2b"], None)):
            double = self.altered(loaded=loaded, context_length=context)
            self.assertIsNone(self.model(double).running()[0])
        with self.assertRaisesRegex(ServerError, "'much'.* address of a model's server"):
            self.model(self.altered(context_length="much")).running()

    def test_a_place_that_holds_no_file_is_told_before_anything_is_asked(self):
        double, folder = self.double(), self.folder
        (folder / "folder").mkdir()
        places = ["", ".", "/", folder / "folder", folder / "nowhere" / "x.json"]
        if hasattr(os, "mkfifo"):  # in place of a device: as root, a mistake here would replace /dev/null itself
            os.mkfifo(folder / "pipe")
            places.append(folder / "pipe")
        for out in places:
            with self.subTest(out):
                self.assertEqual(self.command(double.host, "--out", out)[0], 2)
        self.assertEqual((double.chats, {path.name for path in folder.iterdir()} - {"pipe"}), ([], {"folder"}))

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no special files here")
    def test_nothing_but_a_file_is_ever_replaced(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with self.assertRaisesRegex(InputError, "is no file"):
            write_bytes(pipe, b"x")
        self.assertEqual((pipe.is_fifo(), list(self.folder.iterdir())), (True, [pipe]))

    def test_too_little_context_for_request_and_answer(self):
        double = self.altered(context_length=64)
        self.assertRegex(str(self.ask(double)[2]), "loaded with 64 tokens of context")
        self.assertEqual(len(double.chats), 1)


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
        for change, says in (({"kind": "other"}, "it.kind is 'other'"), ({"kind": []}, r"it.kind is \[\]"),
                             ({"strategy": [1]}, "it.strategy"), ({"seed": "1"}, "it.seed is '1'"),
                             ({"request": None}, "it.request is None"), ({"kind": "aside"}, "it has no field 'why'"),
                             ({"entry": []}, "it.entry is"), ({"entry": {}}, "its entry has no field 'seed'"),
                             ({"entry": {"seed": 1}}, "its entry has no field 'answer'"),
                             ({"entry": {"seed": 1, "incomplete": ""}}, "its entry.incomplete is ''"),
                             ({"entry": {**entry, "seed": 2}}, "its entry has another seed"),
                             ({"case": "c"}, "it is a second answer")):
            lines = json.dumps(good), json.dumps({**good, "case": "d", **change})
            self.refuses("\n".join((*lines, "")).encode(), f"line 2: {says}")
        for data, says in ((b"{}\n", "line 1: it has no field 'kind'"), (b"[]\n", r"line 1: it is \[\]"),
                           (b"nothing\n", "line 1: not JSON"), (b"\x80\n", "not UTF-8")):
            self.refuses(data, says)

    def test_a_file_of_somebody_elses_is_left_as_it_is(self):
        for data in (b"Notes of last week", b'{"a": 1}', b"# To do\n- record"):
            self.refuses(data, "move the journal|not JSON")
        self.out.write_bytes(b"Notes of last week")
        double = self.double()
        status, _, err = self.command(double.host)
        self.assertRegex(err, "is no output of this command")
        self.assertEqual((status, self.out.read_bytes(), double.requests), (2, b"Notes of last week", []))
