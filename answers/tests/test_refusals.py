"""Builds and servers that are refused before any answer, and journals that cannot be gone on with."""

import json
import os
import unittest

from answers import journal as answer_journal
from answers.exchange import ServerError
from answers.journal import Journal
from answers.tests.made import Recording
from answers.tests.ollama_double import OllamaDouble
from base.command import InputError, write_bytes


class Refused(Recording):
    """Builds and servers that are refused before any request for an answer."""

    def refuses(self, says, kind=ServerError, **changed):
        double = self.double()
        for name, value in changed.items():
            setattr(double, name, value)
        with self.assertRaisesRegex(kind, says) as caught:
            self.model(double)
        self.assertEqual(double.chats, [])
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_a_model_that_is_not_the_pinned_build_is_refused_before_any_request_is_sent(self):
        text = self.refuses("ollama pull gemma4:e2b", digest="e" * 64)
        self.assertIn("e" * 64, text)
        self.assertIn("b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2", text)
        text = self.refuses("has no model gemma4:e2b", tag="gemma4:e4b")
        self.assertIn("b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2", text)

    def test_a_refused_server_leaves_nothing_behind(self):
        double = self.double()
        double.digest = "e" * 64
        status, printed, _ = self.command(double)
        self.assertIsInstance(status, ServerError)
        self.assertEqual((printed, list(self.out.parent.iterdir()), double.chats), (None, [], []))

    def test_a_digest_must_match_in_all_64_digits(self):
        pinned = "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2"
        self.refuses("is the build", digest=pinned[:-1] + "3")
        self.refuses("is the build", digest=f"sha256:{pinned}")

    def test_versions_that_count_short_or_run_another_engine(self):
        for version in ("0.30.0", "0.30.0-rc1", "0.29.9", "0.6.2", "0.0.0"):
            self.refuses("is refused", version=version)
        self.refuses("no Ollama version", version="b10488")
        self.refuses("no Ollama version", version=None)
        for version in ("0.30.1", "0.32.14", "0.33.0-rc2", "1.0.0"):
            double = self.double()
            double.version = version
            self.assertEqual(self.model(double).identity["version"], version)

    def test_cloud_models(self):
        self.refuses("cannot be pinned", entry={"remote_host": "https://ollama.com"})

    def test_builds_that_change_the_prompt(self):
        shown = OllamaDouble().shown
        for change, says in (({"system": "Be kind."}, "system text"),
                             ({"messages": [{"role": "user", "content": "Hi"}]}, "messages of its own"),
                             ({"modelfile": shown["modelfile"] + "ADAPTER /x\n"}, "adapter"),
                             ({"modelfile": "FROM x\nTEMPLATE {{ .Prompt }}\n"}, "renders prompts"),
                             ({"parameters": "mirostat 2"}, "mirostat"),
                             ({"capabilities": ["embedding"]}, "cannot complete")):
            with self.subTest(says):
                self.refuses(says, shown={**shown, **change})

    def test_replies_of_another_shape_than_a_servers(self):
        shown = OllamaDouble().shown
        for name in ("modelfile", "parameters", "capabilities"):
            for odd in (3, {"a": 1}, True):
                with self.subTest(name, odd=odd):
                    self.refuses(f"{name} is .* address of a model's server", shown={**shown, name: odd})
        self.refuses("is the build None", entry={"digest": None})
        self.refuses("is the build \\[\\]", entry={"digest": []})
        self.refuses("no Ollama version", version=["0.32.14"])
        for entries, says in (([None, 3, "x", {"name": 3}], "has no model"), ({"a": 1}, "models is .* no list")):
            double = self.double()
            double.tags = lambda entries=entries: {"models": entries}
            with self.subTest(entries), self.assertRaisesRegex(ServerError, says):
                self.model(double)
        for loaded, context in ((["other"], "much"), ([None], 2048), ([], 2048)):
            double = self.double()
            double.loaded, double.context_length = loaded, context
            with self.subTest(loaded):
                if context == "much":
                    self.assertRaisesRegex(ServerError, "context_length is 'much'", self.model(double).running)
                else:
                    self.assertIsNone(self.model(double).running()[0])

    def test_a_place_that_holds_no_file_is_told_before_anything_is_asked(self):
        double, folder = self.double(), self.out.parent
        (folder / "folder").mkdir()
        places = ["", ".", "/", folder / "folder", folder / "nowhere" / "x.json"]
        if hasattr(os, "mkfifo"):  # in place of a device: as root, a mistake here would replace /dev/null itself
            os.mkfifo(folder / "pipe")
            places.append(folder / "pipe")
        for out in places:
            with self.subTest(out):
                status, _, _ = self.command(double, "--out", str(out))
                self.assertIsInstance(status, InputError)
        self.assertEqual((double.chats, {path.name for path in folder.iterdir()} - {"pipe"}), ([], {"folder"}))

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no special files here")
    def test_nothing_but_a_file_is_ever_replaced(self):
        pipe = self.out.with_name("pipe")
        os.mkfifo(pipe)
        with self.assertRaisesRegex(InputError, "is no file"):
            write_bytes(pipe, b"x")
        self.assertEqual((pipe.is_fifo(), list(self.out.parent.iterdir())), (True, [pipe]))

    def test_too_little_context_for_request_and_answer(self):
        double = self.double()
        double.context_length = 64
        _, _, raised = self.ask(double)
        self.assertRegex(str(raised), "loaded with 64 tokens of context")
        self.assertEqual(len(double.chats), 1)


class JournalFile(Recording):
    def test_two_runs_never_share_a_journal(self):
        with answer_journal.open_journal(self.out), self.assertRaisesRegex(InputError, "another run has it"):
            answer_journal.open_journal(self.out)

    def test_a_damaged_line_is_named_and_nothing_is_changed(self):
        path = self.out.with_name("answer-result.journal.jsonl")
        entry = {"seed": 1, "incomplete": "stopped_stream"}
        good = {"kind": "answer", "strategy": "s", "case": "c", "seed": 1, "request": "r", "entry": entry}
        line = json.dumps(good) + "\n"

        def changed(**fields):
            return line.replace('"c"', '"d"') + json.dumps({**good, **fields}) + "\n"

        for data, says in ((line + "{}\n", "line 2: it is no line"), (line + line, "line 2: it is a second answer"),
                           ("nothing\n", "line 1: not JSON"), (changed(kind="other"), "line 2: it is no line"),
                           (changed(kind=[]), "line 2: it is no line"), (changed(strategy=[1]), r"line 2: it.strategy"),
                           (changed(seed="1"), "line 2: it.seed is '1'"), (changed(request=None), "it.request is None"),
                           (changed(kind="aside"), "line 2: it has no field 'why'"), (changed(entry=[]), "it.entry is"),
                           (changed(entry={}), "line 2: its entry has no field 'seed'"),
                           (changed(entry={"seed": 1}), "line 2: its entry has no field 'answer'"),
                           (changed(entry={"seed": 1, "incomplete": ""}), "line 2: its entry.incomplete is ''"),
                           (changed(entry={**entry, "seed": 2}), "line 2: its entry has another seed"),
                           (line + "\udc80\n", "not UTF-8")):
            data = data.encode("utf-8", "surrogateescape")
            path.write_bytes(data)
            with self.subTest(says), self.assertRaisesRegex(InputError, says):
                Journal(path)
            self.assertEqual(path.read_bytes(), data)

    def test_a_file_of_somebody_elses_is_left_as_it_is(self):
        path = self.out.with_name("answer-result.journal.jsonl")
        for data in (b"Notes of last week", b'{"a": 1}', b"# To do\n- record", b"[]\n"):
            path.write_bytes(data)
            with self.subTest(data), self.assertRaisesRegex(InputError, "move the journal|not JSON"):
                Journal(path)
            self.assertEqual(path.read_bytes(), data)
        self.out.write_bytes(b"Notes of last week")
        double = self.double()
        status, _, _ = self.command(double)
        self.assertRegex(str(status), "is no output of this command")
        self.assertEqual((self.out.read_bytes(), double.requests), (b"Notes of last week", []))
