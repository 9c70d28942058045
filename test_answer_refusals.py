"""Builds and servers that are refused before any answer, and journals that cannot be gone on with."""

import json
import os
import unittest
from unittest import mock

import answer_record
from answer_http import ServerError
from answer_journal import Journal
from command import InputError
from ollama_double import OllamaDouble
from test_answer_record import Recording


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
        for change, says in (
            ({"system": "Be kind."}, "system text"),
            ({"messages": [{"role": "user", "content": "Hi"}]}, "messages of its own"),
            ({"modelfile": shown["modelfile"] + "ADAPTER /x\n"}, "adapter"),
            ({"modelfile": "FROM x\nTEMPLATE {{ .Prompt }}\n"}, "renders prompts"),
            ({"parameters": "mirostat 2"}, "mirostat"),
            ({"capabilities": ["embedding"]}, "cannot complete"),
        ):
            with self.subTest(says):
                self.refuses(says, shown={**shown, **change})

    def test_other_models_that_are_loaded_are_told(self):
        double = self.double()
        double.loaded = [double.tag, "other:7b"]
        _, _, err = self.command(double, "--only", "recent/held-latest")
        self.assertIn("also loaded there: other:7b", err)

    def test_a_version_that_nobody_checked_is_told(self):
        double = self.double()
        double.version = "0.34.1"
        _, _, err = self.command(double, "--only", "recent/held-latest")
        self.assertIn("Ollama 0.34.1 is not one of the versions", err)

    def test_too_little_context_for_request_and_answer(self):
        double = self.double()
        double.context_length = 64
        _, _, raised = self.ask(double)
        self.assertRegex(str(raised), "loaded with 64 tokens of context")
        self.assertEqual(len(double.chats), 1)


class JournalFile(Recording):
    def test_two_runs_never_share_a_journal(self):
        with answer_record.open_journal(self.out), self.assertRaisesRegex(InputError, "another run is recording"):
            answer_record.open_journal(self.out)

    def test_a_damaged_line_is_named_and_nothing_is_changed(self):
        path = self.out.with_name("answer-result.journal.jsonl")
        line = (
            json.dumps({"kind": "answer", "strategy": "s", "case": "c", "seed": 1, "request": "r", "entry": {}}) + "\n"
        )
        for data, says in (
            (line + "{}\n", "line 2"),
            (line + line, "line 2: a second answer"),
            ("\n", "line 1"),
            (line.replace("answer", "other"), "line 1"),
            (line.replace("{}", "[]"), "no entry"),
        ):
            path.write_text(data, encoding="utf-8")
            with self.subTest(says), self.assertRaisesRegex(InputError, says):
                Journal(path)
            self.assertEqual(path.read_text(encoding="utf-8"), data)

    def test_a_full_disk_leaves_whole_lines_and_one_clear_line(self):
        double = self.double()
        real, calls = os.write, []

        def full(file, data):
            calls.append(1)
            if len(calls) == 6:
                real(file, bytes(data)[:20])
                raise OSError(28, "No space left on device")
            return real(file, data)

        with mock.patch("os.write", full):
            answers, _, raised = self.ask(double)
        self.assertRegex(str(raised), "No space left on device")
        answers, _, raised = self.ask(double)
        self.assertEqual((len(answers), raised), (10, None))

    def test_odd_text_comes_back_as_it_was(self):
        entry = {"seed": 1, "answer": '\ud83d\u2028 \x00 naïve \u202e\r\n"', "tool_calls": []}
        path = self.out.with_name("odd.journal.jsonl")
        with Journal(path) as journal:
            journal.add_answer(("s", "c", 1, "r"), entry)
        with Journal(path) as journal:
            self.assertEqual(journal.answers, {("s", "c", 1, "r"): entry})


if __name__ == "__main__":
    unittest.main()
