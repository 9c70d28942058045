"""A real server is asked greedily, with a window that fits, and what it says is kept: on a double of the server."""

import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import tokenizer
from answer_model import MODEL
from answers.tests.ollama_double import OllamaDouble

from base.command import status_of
from compaction import check
from compaction.judge.asking import find_judge, read_verdicts
from compaction.judge.model import kept, pinned_model
from compaction.replay import __main__ as replay
from compaction.tests.doubles import CountsWords, small_fixture

BUDGET = ["--context-limit", "110", "--max-new-tokens", "8", "--margin", "2"]


class Asking(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model = self.folder / "model.json"
        self.model.write_text(json.dumps(MODEL))
        self.fixture = self.folder / "small.json"
        self.fixture.write_text(json.dumps(small_fixture()))
        self.server = OllamaDouble()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        for patch in (mock.patch.object(tokenizer, "counter", CountsWords),
                      mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host})):
            patch.start()
            self.addCleanup(patch.stop)

    def run_main(self, command, *argv):
        """(status, report or None, standard error) of a command on the small fixture."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["test"]):
            status = status_of(command.main, [*argv, "--fixtures", str(self.fixture), *BUDGET])
        return status, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()

    def test_temperature_0_the_first_seed_and_a_window_that_holds_the_question(self):
        model = pinned_model(self.model)
        entry = model["ask"]([{"role": "user", "content": "word " * 300}], num_predict=64)
        self.assertIn("of the double", entry["answer"])
        options = self.server.chats[0]["options"]
        self.assertEqual((options["temperature"], options["seed"], options["num_ctx"], options["num_predict"]),
                         (0.0, MODEL["seeds"][0], 512, 64))
        self.assertEqual(model["identity"]["options"]["temperature"], 0.0)
        self.assertEqual(model["identity"]["digest"], MODEL["ollama_digest"])

    def test_a_judge_that_cannot_be_read_is_asked_three_times_and_leaves_items_unjudged(self):
        verdicts = self.folder / "verdicts.jsonl"
        argv = ["--compactor", "compaction.tests.test_check:rewrites", "--verdicts", str(verdicts)]
        status, report, _ = self.run_main(check, *argv, "--judge", str(self.model))
        self.assertEqual(status, 3)
        missing = report["candidate"]["missing_verdicts"]["unjudged"]
        self.assertEqual(len(self.server.chats), 3 * missing)
        self.assertEqual([line["verdict"] for line in read_verdicts(verdicts)], [None] * missing)
        offline = self.run_main(check, *argv)
        self.assertEqual(offline[1]["candidate"]["rows"], report["candidate"]["rows"])
        self.assertEqual(len(self.server.chats), 3 * missing)

    def test_a_reply_that_is_no_answer_is_no_verdict(self):
        self.server.fault = lambda number, body: "stopped_stream"
        found = find_judge(str(self.model))({"probe": "Is it?", "expect": "Yes.", "context": "x"})
        self.assertIsNone(found["verdict"])

    def test_another_prompt_is_another_judge(self):
        first = find_judge(str(self.model)).identity
        with mock.patch("compaction.judge.asking.ROLE", "You judge."):
            self.assertNotEqual(find_judge(str(self.model)).identity, first)

    def test_the_summary_compactor_asks_the_server(self):
        status, report, _ = self.run_main(check, "--compactor", "summary", "--model", str(self.model))
        self.assertEqual(status, 3)
        self.assertEqual(report["candidate"]["compactor"]["model"]["model"], MODEL["ollama_tag"])
        self.assertGreater(report["candidate"]["missing_verdicts"]["unjudged"], 0)

    def test_summary_without_a_model_says_what_to_give(self):
        status, report, err = self.run_main(check, "--compactor", "summary")
        self.assertEqual((status, report), (2, None))
        self.assertIn("--model FILE", err)

    def test_replay_asks_the_server_and_goes_on_from_what_it_kept(self):
        keep = self.folder / "replies.jsonl"
        argv = ["--compactor", "recent", "--model", str(self.model), "--keep", str(keep), "--window", "5000"]
        status, report, err = self.run_main(replay, *argv)
        self.assertEqual((status, report["summary"]["references"]), (0, {"run": 1, "accepted_trace": 0}), err)
        self.assertEqual(report["agent"]["options"]["temperature"], 0.0)
        asked = len(self.server.chats)
        self.assertEqual(asked, len(keep.read_text().splitlines()))
        self.assertEqual(self.run_main(replay, *argv)[1], report)
        self.assertEqual(len(self.server.chats), asked)

    def test_a_kept_reply_of_another_model_is_not_used(self):
        keep = self.folder / "replies.jsonl"
        asked = []

        def ask(messages, tools, num_predict):
            asked.append(messages)
            return {"answer": "x"}

        for identity in ("one", "one", "two"):
            kept(ask, identity, keep)([{"role": "user", "content": "q"}])
        self.assertEqual(len(asked), 2)

    def test_another_build_is_refused_before_anything_is_asked(self):
        self.server.digest = "0" * 64
        status, report, err = self.run_main(replay, "--compactor", "recent", "--model", str(self.model))
        self.assertEqual((status, report, self.server.chats), (2, None, []))
        self.assertIn("is pinned", err)


if __name__ == "__main__":
    unittest.main()
