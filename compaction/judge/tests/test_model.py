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
from base.command import InputError, status_of
from compaction import check
from compaction.compactors import find_compactor
from compaction.contexts import grow
from compaction.judge.asking import find_judge, read_verdicts
from compaction.judge.model import kept, pinned_model
from compaction.replay import __main__ as replay
from compaction.replay.agent import go_on, model_agent
from compaction.tests.doubles import CountsWords, count_words, small_fixture

SMALL = {"context_limit": 110, "max_new_tokens": 8, "margin": 2}
BUDGET = ["--context-limit", "110", "--max-new-tokens", "8", "--margin", "2"]


def rewrites(history, budget, count):
    """Double of a compactor that does not copy."""
    return [{"role": "user", "content": "They talked."}, history[-1]]


class Asking(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = self.folder / "model.json"
        self.model.write_text(json.dumps(MODEL))
        self.fixture = self.folder / "small.json"
        self.fixture.write_text(json.dumps(small_fixture()))
        self.server = self.enterContext(OllamaDouble(count=count_words))
        self.enterContext(mock.patch.object(tokenizer, "counter", CountsWords))
        self.enterContext(mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host}))

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
        argv = ["--compactor", f"{__name__}:rewrites", "--verdicts", str(verdicts)]
        status, report, _ = self.run_main(check, *argv, "--judge", str(self.model))
        self.assertEqual(status, 3)
        missing = report["candidate"]["missing_verdicts"]["unjudged"]
        self.assertEqual(len(self.server.chats), 3 * missing)
        self.assertEqual([line["verdict"] for line in read_verdicts(verdicts)], [None] * missing)
        offline = self.run_main(check, *argv)
        self.assertEqual(offline[1]["candidate"]["rows"], report["candidate"]["rows"])
        self.assertEqual(len(self.server.chats), 3 * missing)

    def test_what_recording_refuses_is_taken_for_a_verdict_a_summary_or_an_answer(self):
        good = '{"answer": "x", "verdict": "supported"}'
        fixture, question = small_fixture(), {"probe": "Is it?", "expect": "Yes.", "context": "x"}
        kinds = {"length": "cut_by_length", "think_field": "thinking", "think_text": "thinking", "empty": "empty_text",
                 "stopped_stream": "stopped_stream", "error_200": "error_body", "error_line": "error_body"}
        with mock.patch.object(OllamaDouble, "text", good), mock.patch("time.sleep"):
            self.assertEqual(find_judge(str(self.model))(question)["verdict"], "supported")
            for fault, kind in kinds.items():
                self.server.fault = lambda number, body: fault
                with self.subTest(fault):
                    found = find_judge(str(self.model))(question)
                    self.assertEqual((found["verdict"], kind in found["problems"][0]), (None, True))
                    with self.assertRaisesRegex(InputError, f"no whole answer: {kind}"):
                        grow(fixture, find_compactor("summary", self.model)["function"], SMALL, count_words)
                    agent = model_agent(pinned_model(self.model)["ask"])
                    found = go_on([{"role": "user", "content": "?"}], [], [], fixture, agent, None)
                    self.assertEqual(found["answers"], [""])
            for fault in ("cut_prompt", "long_prompt"):
                self.server.fault = lambda number, body: fault
                with self.subTest(fault), self.assertRaisesRegex(InputError, "count_mismatch"):
                    find_judge(str(self.model))(question)

    def test_another_models_requests_are_counted_by_the_shipped_tokenizer(self):
        asked = []
        with mock.patch.object(tokenizer, "counter", lambda manifest=None: asked.append(manifest) or CountsWords()):
            find_judge(str(self.model), "other.json")
            find_compactor("summary", self.model, "other.json")
            self.run_main(replay, "--compactor", "recent", "--model", str(self.model), "--tokenizer", "other.json")
        self.assertEqual(set(map(str, asked)), {"other.json"})

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
            return {"seed": 1, "incomplete": "empty_text"}

        for identity in ("one", "one", "two"):
            kept(ask, identity, keep)([{"role": "user", "content": "q"}])
        self.assertEqual(len(asked), 2)

    def test_another_build_is_refused_before_anything_is_asked(self):
        self.server.digest = "0" * 64
        status, report, err = self.run_main(replay, "--compactor", "recent", "--model", str(self.model))
        self.assertEqual((status, report, self.server.chats), (2, None, []))
        self.assertIn("is pinned", err)
