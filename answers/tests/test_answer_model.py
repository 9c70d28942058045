"""Addresses, options, model blocks, and servers with OpenAI's interface."""

import json
import os
import unittest
from unittest import mock

import answer_model
from answer_model import MODEL, AnswerModel, read_model
from answers.exchange import BrokenReply, ServerError, base_url
from answers.recording import read_recording
from answers.server import OpenAIModel
from answers.tests.made import INPUTS, SMALL, Recording, entry
from answers.tests.ollama_double import OllamaDouble, OpenAIDouble, stand_in_count
from base.command import InputError, dump
from base.tests.made import Files, run

MESSAGES = SMALL[0]["messages"]
SIZES = {"num_ctx": 384, "num_predict": 96, "seed": 1}


class Requests(unittest.TestCase):
    def test_addresses_mean_what_the_server_takes_them_for_or_are_refused(self):
        for case in INPUTS["addresses"]:
            with self.subTest(case["address"]):
                if case["url"]:
                    self.assertEqual(base_url(case["address"]), case["url"])
                else:
                    self.assertRaises(InputError, base_url, case["address"])

    def test_the_callers_address_beats_the_environments(self):
        with OllamaDouble() as double, mock.patch.dict(os.environ, {"OLLAMA_HOST": "127.0.0.1:9"}):
            self.assertEqual(AnswerModel(host=double.host).url, f"http://{double.host}")
            os.environ["OLLAMA_HOST"] = double.host
            self.assertEqual(AnswerModel().url, f"http://{double.host}")

    def test_overrides_and_tools_reach_the_request_and_the_rest_stays_pinned(self):
        tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
        for kind, options in ((AnswerModel, lambda body: body["options"]), (OpenAIModel, lambda body: body)):
            body = kind.request(MODEL, MESSAGES, [tool], **SIZES, options={"temperature": 0.0})
            self.assertEqual([options(body)[name] for name in ("temperature", "top_k", "top_p")], [0.0, 64, 0.95])
            self.assertEqual(body["tools"], [tool])
            self.assertNotIn("tools", kind.request(MODEL, MESSAGES, [], **SIZES))

    def test_what_a_block_leaves_out_is_left_to_the_server_or_changes_a_probability(self):
        self.assertEqual(AnswerModel.request({**MODEL, "options": {}}, MESSAGES, **SIZES)["options"], {
            **SIZES, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0,
            "presence_penalty": 0.0, "frequency_penalty": 0.0})

    def test_what_a_server_would_ignore_or_take_for_something_else_is_refused(self):
        for case in INPUTS["options"]:
            for kind in (AnswerModel, OpenAIModel):
                with self.subTest(case, kind=kind.api), self.assertRaises(InputError):
                    kind.request(MODEL, MESSAGES, **{**SIZES, **case})


class Blocks(Files):
    def block(self, **changed):
        return self.write("model.json", dump({**MODEL, **changed}))

    def test_pin_prints_a_block_that_records(self):
        with OllamaDouble() as double:
            double.digest = "a1" * 32
            block = json.loads(run(answer_model.main, "pin", "library/Gemma4:E2B", "--host", double.host)[1])
            self.assertEqual(
                (block["ollama_digest"], block["license"], block["renderer"]), ("a1" * 32, "apache-2.0", "gemma4"))
            self.assertEqual(AnswerModel(read_model(self.block(**block)), double.host).identity["digest"], "a1" * 32)
            self.refused("has no model other", answer_model.main, "pin", "other:7b", "--host", double.host)
            self.refused("cannot be pinned", answer_model.main, "pin", "big:cloud", "--host", double.host)

    def test_a_digest_in_a_block_may_be_written_in_full_or_in_capitals(self):
        with OllamaDouble() as double:
            model = {**MODEL, "ollama_digest": "sha256:" + MODEL["ollama_digest"].upper()}
            self.assertEqual(AnswerModel(model, double.host).identity["digest"], MODEL["ollama_digest"])
            for digest in ("b37049369adf", "", None):
                with self.assertRaisesRegex(InputError, "64 hexadecimal"):
                    AnswerModel({**MODEL, "ollama_digest": digest}, double.host)

    def test_blocks_that_cannot_be_used(self):
        for changed in INPUTS["blocks"]:
            with self.subTest(changed), self.assertRaises(InputError):
                read_model(self.block(**changed))


class OpenAI(Recording):
    def server(self, **said):
        """(a double, the model behind it)."""
        double = self.enterContext(OpenAIDouble(**said))
        return double, OpenAIModel(MODEL, f"http://{double.host}/v1")

    def test_an_answer_and_what_nobody_can_verify(self):
        double, model = self.server()
        self.assertEqual(model.answer(MESSAGES, (), **SIZES),
                         entry("Mateo.", prompt_tokens=stand_in_count(MESSAGES), answer_tokens=3))
        self.assertEqual(model.identity, {"version": "b10488-aa", "digest": None, "meta": {"meta": {"n_params": 5}}})
        body = double.chats[0]
        self.assertEqual(
            (body["max_tokens"], body["repeat_penalty"], body["repetition_penalty"], body["stream"]), (96, 1, 1, False))
        self.assertEqual(body["chat_template_kwargs"], {"enable_thinking": False})

    def test_a_recording_names_what_nobody_verified_and_goes_on_after_a_stop(self):
        double, _ = self.server()
        argv = [double.host, "--api", "openai"]
        self.assertEqual(self.command(*argv, "--only", "recent/held-latest")[0], 0)
        status, _, err = self.command(*argv, "--jobs", "4")
        self.assertEqual(status, 0)
        self.assertIn("not verified on this server: weights, context length", err)
        recording = read_recording(self.out)
        self.assertEqual((len(double.chats), recording["recorded"]["api"]), (10, "openai"))
        self.assertIn("weights", recording["recorded"]["unverified"])
        self.assertNotIn("ollama_digest", recording["model"])

    def test_a_model_that_is_not_served_an_ollama_and_an_address_that_is_not_given_are_refused(self):
        for models, says in ((["llama"], "serves llama and not gemma4:e2b"), ([], "serves nothing"),
                             ([None], "of a model's server"), ([["gemma4:e2b"]], "of a model's server")):
            with self.subTest(models), self.assertRaisesRegex(ServerError, says):
                self.server(models=models)
        double = self.enterContext(OpenAIDouble(models=["llama"]))
        self.assertEqual(OpenAIModel({**MODEL, "served_model": "llama"}, double.host).api, "openai")
        ollama = self.double()
        for host, says in ((None, "--host"), (ollama.host, "is an Ollama")):
            with self.assertRaisesRegex(InputError, says):
                OpenAIModel(MODEL, host)
        self.assertEqual(ollama.chats, [])

    def test_a_context_too_small_for_prompt_and_answer_ends_the_run_and_one_that_nobody_tells_is_not_known(self):
        for slot, context in (({"n_ctx": 512}, 512), ({"n_ctx": 0}, None), ({"n_ctx": "much"}, None), ([], None)):
            double, model = self.server(slot=slot)
            self.assertEqual(model.running(), (context, []))
        model.identity["meta"]["max_model_len"] = 2048  # vLLM's
        self.assertEqual(model.running(), (2048, []))
        double.slot = {"n_ctx": 96}
        status, _, err = self.command(double.host, "--api", "openai")
        self.assertEqual((status, len(double.chats)), (2, 1))
        self.assertIn("loaded with 96 tokens of context", err)

    def test_replies_that_are_no_answers_have_names(self):
        for kind, said in {"error_body": {"change": {"error": "no"}}, "stopped_stream": {"cut": 40}}.items():
            with self.subTest(kind), self.assertRaisesRegex(BrokenReply, kind):
                self.server(**said)[1].answer(MESSAGES, **SIZES)

    def test_arguments_of_earlier_calls_are_sent_as_text(self):
        call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": {"who": "Zoë"}}}
        messages = [*MESSAGES, {"role": "assistant", "content": "", "tool_calls": [call]}]
        body = OpenAIModel.request(MODEL, messages, **SIZES)
        self.assertEqual(body["messages"][-1]["tool_calls"][0]["function"]["arguments"], '{"who": "Zoë"}')
        self.assertEqual(call["function"]["arguments"], {"who": "Zoë"})
