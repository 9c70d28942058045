"""Addresses, options, model blocks, and servers with OpenAI's interface."""

import json
import os
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from unittest import mock

import answer_check
import answer_model
from answer_model import MODEL, AnswerModel, read_model
from answers import openai_server
from answers.exchange import BrokenReply, ServerError, base_url
from answers.recording import read_recording
from answers.tests.made import SMALL, run
from answers.tests.ollama_double import OllamaDouble, Server, stand_in_count
from base.command import InputError, dump

MESSAGES = [{"role": "system", "content": "Answer from the conversation."},
            {"role": "user", "content": "Who is on call?"}]
SIZES = {"num_ctx": 384, "num_predict": 96, "seed": 1}


class Addresses(unittest.TestCase):
    def test_addresses_mean_what_the_server_takes_them_for(self):
        for address, url in {"127.0.0.1:11434": "http://127.0.0.1:11434", "box": "http://box:11434",
                             "box:80": "http://box:80", ":1234": "http://127.0.0.1:1234",
                             "0.0.0.0": "http://127.0.0.1:11434", "0.0.0.0:9": "http://127.0.0.1:9",
                             "http://box": "http://box:80", "https://box": "https://box:443",
                             "[::1]": "http://[::1]:11434", "::1": "http://[::1]:11434", "[::]:8": "http://[::1]:8",
                             ' "box" ': "http://box:11434", "https://box/ollama/": "https://box:443/ollama",
                             "HTTP://Box:1": "http://box:1"}.items():
            with self.subTest(address):
                self.assertEqual(base_url(address), url)

    def test_addresses_that_are_refused(self):
        for address in ("box:port", "box:99999", "box:0", "ftp://box", "http://me:secret@box", "http://box?x=1",
                        "box#1", "https://ollama.com", "https://api.ollama.com", "b x", "http://[::1"):
            with self.subTest(address), self.assertRaises(InputError):
                base_url(address)

    def test_the_callers_address_beats_the_environments(self):
        with OllamaDouble() as double, mock.patch.dict(os.environ, {"OLLAMA_HOST": "127.0.0.1:9"}):
            self.assertEqual(AnswerModel(host=double.host).url, f"http://{double.host}")
        with OllamaDouble() as double, mock.patch.dict(os.environ, {"OLLAMA_HOST": double.host}):
            self.assertEqual(AnswerModel().url, f"http://{double.host}")


class Requests(unittest.TestCase):
    def test_overrides_reach_the_request_and_the_rest_stays_pinned(self):
        with OllamaDouble() as double:
            AnswerModel(host=double.host).answer(MESSAGES, **SIZES, options={"temperature": 0.0})
        options = double.chats[0]["options"]
        self.assertEqual((options["temperature"], options["top_k"], options["top_p"]), (0.0, 64, 0.95))

    def test_an_option_that_a_server_would_ignore_is_refused(self):
        for options in ({"temprature": 0.0}, {"seed": 3}, {"num_ctx": 9}, {"temperature": "0"}, {"top_k": True}):
            with self.subTest(options), self.assertRaises(InputError):
                AnswerModel.request(MODEL, MESSAGES, **SIZES, options=options)

    def test_sizes_that_a_server_takes_for_something_else_are_refused(self):
        for size in ({"seed": -1}, {"num_predict": 0}, {"num_ctx": 0}, {"num_predict": 96.0}, {"seed": True}):
            with self.subTest(size), self.assertRaises(InputError):
                AnswerModel.request(MODEL, MESSAGES, **{**SIZES, **size})
            with self.subTest(size, api="openai"), self.assertRaises(InputError):
                openai_server.OpenAIModel.request(MODEL, MESSAGES, **{**SIZES, **size})

    def test_tools_are_sent_where_there_are_some(self):
        tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
        self.assertEqual(AnswerModel.request(MODEL, MESSAGES, [tool], **SIZES)["tools"], [tool])
        self.assertNotIn("tools", AnswerModel.request(MODEL, MESSAGES, [], **SIZES))

    def test_an_answer_has_the_published_fields(self):
        with OllamaDouble() as double:
            answer = AnswerModel(host=double.host).answer(MESSAGES, (), **SIZES)
        self.assertEqual(
            list(answer), ["seed", "answer", "tool_calls", "done_reason", "prompt_tokens", "answer_tokens"])
        self.assertEqual(answer["prompt_tokens"], stand_in_count(MESSAGES))


class Blocks(unittest.TestCase):
    def block(self, **changed):
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "model.json"
        path.write_text(dump({**MODEL, **changed}), encoding="utf-8")
        return path

    def test_pin_prints_a_block_that_records(self):
        with OllamaDouble() as double:
            double.digest = "a1" * 32
            block = json.loads(run(answer_model.main, "pin", "library/Gemma4:E2B", "--host", double.host)[1])
            self.assertEqual(
                (block["ollama_digest"], block["license"], block["renderer"]), ("a1" * 32, "apache-2.0", "gemma4"))
            self.assertEqual(AnswerModel(read_model(self.block(**block)), double.host).identity["digest"], "a1" * 32)
            with self.assertRaisesRegex(ServerError, "has no model other"):
                answer_model.main(["pin", "other:7b", "--host", double.host])

    def test_a_digest_in_a_block_may_be_written_in_full_or_in_capitals(self):
        with OllamaDouble() as double:
            model = {**MODEL, "ollama_digest": "sha256:" + MODEL["ollama_digest"].upper()}
            self.assertEqual(AnswerModel(model, double.host).identity["digest"], MODEL["ollama_digest"])
            for digest in ("b37049369adf", "", None):
                with self.assertRaisesRegex(InputError, "64 hexadecimal"):
                    AnswerModel({**MODEL, "ollama_digest": digest}, double.host)

    def test_blocks_that_cannot_be_used(self):
        for changed in ({"seeds": []}, {"seeds": [1, 1]}, {"seeds": [-1]}, {"seeds": [True]}, {"think": True},
                        {"options": {"mirostat": 2}}, {"options": None}, {"ollama_tag": 3}):
            with self.subTest(changed), self.assertRaises(InputError):
                read_model(self.block(**changed))


class OpenAIDouble(BaseHTTPRequestHandler):
    """A test double of a server with OpenAI's interface, as llama.cpp's: answers made up, counts by the stand-in."""

    bodies, models, ollama, change, cut = [], ["gemma4:e2b"], False, {}, None

    def log_message(self, *_):
        pass

    def do_GET(self):
        found = {
            "/v1/models": {
                "data": [{"id": name, "created": len(self.bodies), "meta": {"n_params": 5}} for name in self.models]},
            "/props": {"build_info": "b10488-aa", "default_generation_settings": {"n_ctx": 512}},
            **({"/api/version": {"version": "0.32.14"}} if self.ollama else {})}
        self.say(200 if self.path in found else 404, found.get(self.path, {"error": {"message": "File Not Found"}}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        message = {"role": "assistant", "content": "Mateo."}
        self.say(200,
                 {"choices": [{"message": message, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": stand_in_count(body["messages"]), "completion_tokens": 3}, **self.change})

    def say(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: self.cut] if self.command == "POST" else data)


class OpenAI(unittest.TestCase):
    def server(self, **changed):
        double = type("Double", (OpenAIDouble,), {"bodies": [], **changed})
        server = Server(("127.0.0.1", 0), double)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return double, f"http://127.0.0.1:{server.server_address[1]}"

    def test_an_answer_and_what_nobody_can_verify(self):
        double, url = self.server()
        model = openai_server.OpenAIModel(MODEL, url + "/v1")
        answer = model.answer(MESSAGES, (), **SIZES, options={"temperature": 0.5})
        self.assertEqual(answer,
                         {"seed": 1, "answer": "Mateo.", "tool_calls": [], "done_reason": "stop",
                          "prompt_tokens": stand_in_count(MESSAGES), "answer_tokens": 3})
        self.assertEqual(model.identity, {"version": "b10488-aa", "digest": None, "meta": {"meta": {"n_params": 5}}})
        self.assertIn("weights", model.unverified)
        self.assertEqual(model.running(), (512, []))
        self.assertNotIn("ollama_digest", model.block)
        body = double.bodies[0]
        self.assertEqual(
            (body["temperature"], body["max_tokens"], body["repeat_penalty"], body["stream"]), (0.5, 96, 1.0, False))
        self.assertEqual(body["chat_template_kwargs"], {"enable_thinking": False})

    def test_a_recording_names_what_nobody_verified_and_goes_on_after_a_stop(self):
        double, url = self.server()
        out = Path(self.enterContext(tempfile.TemporaryDirectory())) / "openai.json"
        argv = ["record", "--api", "openai", "--host", url, "--out", str(out)]
        with mock.patch.object(answer_check, "lab_requests", lambda *_: (SMALL, {})):
            self.assertEqual(run(answer_check.main, *argv, "--only", "recent/held-latest")[0], 0)
            status, _, err = run(answer_check.main, *argv, "--jobs", "4")
        self.assertEqual(status, 0)
        self.assertIn("not verified on this server: weights, context length", err)
        recording = read_recording(out)
        self.assertEqual((len(double.bodies), recording["recorded"]["api"]), (10, "openai"))
        self.assertIn("weights", recording["recorded"]["unverified"])
        self.assertNotIn("ollama_digest", recording["model"])

    def test_an_ollama_is_refused_before_any_request_for_an_answer(self):
        double, url = self.server(ollama=True)
        with self.assertRaisesRegex(ServerError, "is an Ollama"):
            openai_server.OpenAIModel(MODEL, url)
        self.assertEqual(double.bodies, [])
        with OllamaDouble() as real, self.assertRaisesRegex(ServerError, "is an Ollama"):
            openai_server.OpenAIModel(MODEL, real.host)
        self.assertEqual(real.chats, [])

    def test_a_model_that_is_not_served_and_an_address_that_is_not_given(self):
        _, url = self.server(models=[None, 3, ["gemma4:e2b"], "llama"])
        with self.assertRaisesRegex(ServerError, "serves llama and not gemma4:e2b"):
            openai_server.OpenAIModel(MODEL, url)
        self.assertEqual(openai_server.OpenAIModel({**MODEL, "served_model": "llama"}, url).api, "openai")
        with self.assertRaisesRegex(InputError, "--host"):
            openai_server.OpenAIModel(MODEL, None)

    def test_replies_that_are_no_answers_have_names(self):
        message = {"role": "assistant", "content": "Mateo."}
        for kind, change in {"error_body": {"error": {"message": "no"}}, "bad_counts": {"usage": None},
                             "unknown_end": {"choices": [{"message": message, "finish_reason": None}]},
                             "unreadable_reply": {"choices": []}}.items():
            _, url = self.server(change=change)
            with self.subTest(kind), self.assertRaises(BrokenReply) as caught:
                openai_server.OpenAIModel(MODEL, url).answer(MESSAGES, **SIZES)
            self.assertEqual(caught.exception.kind, kind)

    def test_a_reply_that_breaks_off_is_named(self):
        _, url = self.server(cut=40)
        with self.assertRaises(BrokenReply) as caught:
            openai_server.OpenAIModel(MODEL, url).answer(MESSAGES, **SIZES)
        self.assertEqual((caught.exception.kind, len(caught.exception.raw)), ("stopped_stream", 40))

    def test_thinking_is_kept_and_seen(self):
        message = {"role": "assistant", "content": "Mateo.", "reasoning_content": "Hm"}
        _, url = self.server(change={"choices": [{"message": message, "finish_reason": "stop"}]})
        self.assertEqual(openai_server.OpenAIModel(MODEL, url).answer(MESSAGES, **SIZES)["thinking"], "Hm")

    def test_arguments_of_earlier_calls_are_sent_as_text(self):
        call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": {"who": "Zoë"}}}
        messages = [*MESSAGES, {"role": "assistant", "content": "", "tool_calls": [call]}]
        body = openai_server.OpenAIModel.request(MODEL, messages, **SIZES)
        self.assertEqual(body["messages"][-1]["tool_calls"][0]["function"]["arguments"], '{"who": "Zoë"}')
        self.assertEqual(call["function"]["arguments"], {"who": "Zoë"})
