"""A real server is asked greedily, with a window that fits, and what it says is kept: on a double of the server."""

import json
import os
from unittest import mock

import tokenizer
from answer_model import MODEL
from answers.tests.ollama_double import OllamaDouble
from base.command import InputError
from base.tests.made import Files, run
from compaction import check
from compaction.compactors import find_compactor
from compaction.contexts import grow
from compaction.judge.asking import find_judge
from compaction.judge.model import kept_replies, pinned_model
from compaction.replay import __main__ as replay
from compaction.replay.__main__ import go_on, model_agent
from compaction.tests.doubles import CountsWords, count_words, small_fixture

SMALL = {"context_limit": 110, "max_new_tokens": 8, "margin": 2}
QUESTION = {"probe": "Is it?", "expect": "Yes.", "context": "x"}


def rewrites(history, budget, count):
    """Double of a compactor that does not copy."""
    return [{"role": "user", "content": "They talked."}, history[-1]]


class Asking(Files):
    def setUp(self):
        super().setUp()
        self.model = str(self.write("model.json", MODEL))
        self.small = ["--fixtures", self.write("small.json", small_fixture()), "--context-limit", 110,
                      "--max-new-tokens", 8, "--margin", 2]
        self.server = self.enterContext(OllamaDouble(count=count_words))
        self.enterContext(mock.patch.object(tokenizer, "counter", CountsWords))
        self.enterContext(mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host}))

    def made(self, wanted, command, *argv):
        """The report of a command that ends with this status on the small fixture."""
        status, out, err = run(command.main, *argv, *self.small)
        self.assertEqual(status, wanted, err)
        return json.loads(out)

    def test_another_temperature_or_seed_is_asked_for_or_a_window_that_cuts_the_question(self):
        model = pinned_model(self.model)
        entry = model["ask"]([{"role": "user", "content": "word " * 300}], num_predict=64)
        self.assertIn("of the double", entry["answer"])
        sent = self.server.chats[0]["options"]
        self.assertEqual([sent[name] for name in ("temperature", "seed", "num_ctx", "num_predict")],
                         [0.0, MODEL["seeds"][0], 512, 64])
        self.assertEqual((model["identity"]["options"]["temperature"], model["identity"]["digest"]),
                         (0.0, MODEL["ollama_digest"]))

    def test_a_judge_that_cannot_be_read_decides_items_or_is_asked_again_offline(self):
        verdicts = self.folder / "verdicts.jsonl"
        argv = ["--compactor", f"{__name__}:rewrites", "--verdicts", verdicts]
        online, offline = (self.made(3, check, *argv, *judge)["candidate"] for judge in (["--judge", self.model], []))
        missing = offline["missing_verdicts"]["unjudged"]
        self.assertEqual((offline["rows"], len(self.server.chats)), (online["rows"], 3 * missing))
        lines = [json.loads(line)["verdict"] for line in verdicts.read_text().splitlines()]
        self.assertEqual((lines, missing > 0), ([None] * missing, True))

    def test_what_recording_refuses_is_taken_for_a_verdict_a_summary_or_an_answer(self):
        good, fixture = '{"answer": "x", "verdict": "supported"}', small_fixture()
        kinds = {"length": "cut_by_length", "think_field": "thinking", "think_text": "thinking", "empty": "empty_text",
                 "stopped_stream": "stopped_stream", "error_200": "error_body", "error_line": "error_body"}
        with mock.patch.object(OllamaDouble, "text", good), mock.patch("time.sleep"):
            judge, summary = find_judge(self.model), find_compactor("summary", self.model)["function"]
            agent = model_agent(pinned_model(self.model)["ask"])
            self.assertEqual(judge(QUESTION)["verdict"], "supported")
            for fault, kind in kinds.items():
                self.server.fault = lambda number, body: fault
                with self.subTest(fault):
                    reply = judge(QUESTION)
                    self.assertEqual((reply["verdict"], kind in reply["problems"][0]), (None, True))
                    with self.assertRaisesRegex(InputError, f"no whole answer: {kind}"):
                        grow(fixture, summary, SMALL, count_words)
                    after = go_on([{"role": "user", "content": "?"}], [], [], fixture, agent, None)
                    self.assertEqual(after["answers"], [""])
            for fault in ("cut_prompt", "long_prompt"):
                self.server.fault = lambda number, body: fault
                with self.subTest(fault), self.assertRaisesRegex(InputError, "count_mismatch"):
                    judge(QUESTION)

    def test_another_models_requests_are_counted_by_the_shipped_tokenizer(self):
        asked = []
        with mock.patch.object(tokenizer, "counter", lambda manifest=None: asked.append(manifest) or CountsWords()):
            find_judge(self.model, "other.json")
            find_compactor("summary", self.model, "other.json")
            self.made(0, replay, "--compactor", "recent", "--model", self.model, "--tokenizer", "other.json")
        self.assertEqual(set(map(str, asked)), {"other.json"})

    def test_another_prompt_is_the_same_judge(self):
        first = find_judge(self.model).identity
        with mock.patch("compaction.judge.asking.ROLE", "You judge."):
            self.assertNotEqual(find_judge(self.model).identity, first)

    def test_the_summary_compactor_asks_no_server_or_asks_without_a_model(self):
        result = self.made(3, check, "--compactor", "summary", "--model", self.model)["candidate"]
        self.assertEqual(result["compactor"]["model"]["model"], MODEL["ollama_tag"])
        self.assertGreater(result["missing_verdicts"]["unjudged"], 0)
        self.refused("--model FILE", check.main, "--compactor", "summary", *self.small)

    def test_replay_asks_again_what_it_kept_or_uses_another_models(self):
        keep, asked = self.folder / "replies.jsonl", []
        argv = ["--compactor", "recent", "--model", self.model, "--keep", keep, "--window", 5000]
        reports = [self.made(0, replay, *argv) for _ in range(2)]
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0]["summary"]["references"], {"run": 1, "accepted_trace": 0})
        self.assertEqual(reports[0]["agent"]["options"]["temperature"], 0.0)
        self.assertEqual(len(self.server.chats), len(keep.read_text().splitlines()))
        for identity in ("one", "one", "two"):
            kept_replies(lambda *given: asked.append(given) or {"seed": 1, "incomplete": "empty_text"}, identity, keep)(
                [{"role": "user", "content": "q"}])
        self.assertEqual(len(asked), 2)
        reply = json.loads(keep.read_text().splitlines()[0])["reply"]
        for nothing in (False, None, 0, []):
            path = self.write("kept.jsonl", [{"request": "x", "reply": {**reply, "incomplete": nothing}}])
            self.assertRaisesRegex(InputError, "no kept reply", kept_replies, None, "one", path)

    def test_another_build_is_asked(self):
        self.server.digest = "0" * 64
        self.refused("is pinned", replay.main, "--compactor", "recent", "--model", self.model, *self.small)
        self.assertEqual(self.server.chats, [])
