"""Every entry of vectors.json, published inputs and results, and every case of function_cases.json, plain calls."""

import json
import random
import unittest
from functools import partial
from importlib import import_module
from math import sqrt
from pathlib import Path

from base.tests.made import named_cases
from modelkit import prompts, replies, retrieval, scoring, tools

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
REGISTRY = VECTORS["tools.tool_manifest"]["tools"]
PLAIN = {  # name of an entry: what is called, the entry's fields that it takes and those that hold what it gives
    "prompts.build_prompt": (lambda kwargs: prompts.build_prompt(**kwargs), "kwargs", "result"),
    "prompts.fence": (lambda text, seed: prompts.fence(text, random.Random(seed)), "untrusted seed", "tag result"),
    "prompts.count_tokens": (prompts.count_tokens, "text", "result"),
    "prompts.budget": (prompts.budget, "prompt", "result"),
    "replies.extract_json": (replies.extract_json, "text", "result"),
    "replies.parse_reply": (replies.parse_reply, "text", "object took"),
    "replies.diagnose": (replies.diagnose, "text", "result"),
    "retrieval.chunk_fixed": (retrieval.chunk_fixed, "text size overlap", "result"),
    "retrieval.chunk_sentences": (retrieval.chunk_sentences, "text max_chars", "result"),
    "retrieval.tokens": (retrieval.tokens, "text", "result"),
    "retrieval.cosine_of_embeddings": (
        lambda *texts: retrieval.cosine(*map(retrieval.embed, texts)), "a b", "result"),
    "tools.tool_manifest": (tools.tool_manifest, "tools", "result"),
    "tools.check_call": (partial(tools.check_call, tools=REGISTRY), "name arguments", "problems"),
    "scoring.compare": (lambda *scores: [compared := scoring.compare(*scores), scoring.gate_on_mean(compared),
                                         scoring.gate_on_regressions(compared)],
                        "golden candidate", "result gate_on_mean gate_on_regressions")}


def plain(value):
    """A result as JSON has it, numbers to 10 places: the last digits are those of a sum."""
    return json.loads(json.dumps(value), parse_float=lambda number: round(float(number), 10))


class Vectors(unittest.TestCase):
    def test_every_case_in_the_file(self):
        for case in named_cases(__file__, "function_cases.json"):
            module, name = case["call"].split(".")
            with self.subTest(case["name"], call=case["call"]):
                function = getattr(import_module(f"modelkit.{module}"), name)
                if "refused" in case:
                    self.assertRaisesRegex(ValueError, case["refused"], function, *case["args"])
                else:
                    self.assertEqual(plain(function(*case["args"])), case["gives"])

    def alike(self, result, expected):
        self.assertEqual(plain(result), plain(expected))

    def test_each_entry_of_the_file_has_a_test_here(self):
        for name in VECTORS:
            with self.subTest(name):
                self.assertTrue(name in PLAIN or hasattr(type(self), "test_" + name.replace(".", "_")))

    def test_functions_that_take_an_entrys_fields_give_its_result(self):
        for name, (function, taken, given) in PLAIN.items():
            for entry in VECTORS[name] if isinstance(VECTORS[name], list) else [VECTORS[name]]:
                with self.subTest(name, entry=entry):
                    expected = [entry[field] for field in given.split()]
                    result = function(*(entry[field] for field in taken.split()))
                    self.alike(result if len(expected) > 1 else [result], expected)

    def test_retrieval_stop_list(self):
        self.assertEqual(sorted(retrieval.STOP_WORDS), VECTORS["retrieval.stop_list"])

    def test_prompts_fit_context(self):
        for entry in VECTORS["prompts.fit_context"]:
            kept, used = prompts.fit_context(entry["header"], entry["chunks"])
            self.assertEqual((kept, used), (entry["chunks"][:entry["kept"]], entry["used"]))

    def test_replies_validate(self):
        entry = VECTORS["replies.validate"]
        for case in entry["cases"]:
            self.assertEqual(replies.validate(case["obj"], entry["schema"]), case["problems"])

    def test_replies_ask_for_object(self):
        entry = VECTORS["replies.ask_for_object"]
        prompts_seen, written = [], [entry["first_reply"], entry["second_reply"]]

        def model(prompt):
            prompts_seen.append(prompt)
            return written[len(prompts_seen) - 1]

        problems = entry["history"][0]["problems"]
        obj, history = replies.ask_for_object(
            model, entry["base_prompt"], lambda obj: problems if obj["intent"] == "REFUND" else [])
        self.assertEqual((obj, history), (entry["object"], entry["history"]))
        self.assertEqual(prompts_seen[0], entry["base_prompt"])
        self.assertIn("PROBLEMS TO FIX", prompts_seen[1])
        for problem in problems:
            self.assertIn(problem, prompts_seen[1])
        obj, history = replies.ask_for_object(lambda _: entry["first_reply"], entry["base_prompt"], lambda _: problems)
        self.assertIsNone(obj)
        self.assertEqual(len(history), entry["stubborn_attempts"])

    def test_retrieval_search(self):
        entry = VECTORS["retrieval.search"]
        index = retrieval.build_index(entry["docs"], max_chars=entry["max_chars"])
        self.assertEqual(len(index), entry["chunks"])
        for asked in entry["queries"]:
            score, row = retrieval.search(index, asked["query"])[0]
            self.alike([score, row["doc"]], [asked["score"], asked.get("doc", row["doc"])])

    def test_retrieval_chunk_size_tradeoff(self):
        entry, docs = VECTORS["retrieval.chunk_size_tradeoff"], VECTORS["retrieval.search"]["docs"]
        for size, expected in entry["results"].items():
            index = [{"doc": name, "n": n, "text": text, "vec": retrieval.embed(text)}
                     for name, whole in docs for n, text in enumerate(retrieval.chunk_fixed(whole, int(size)))]
            best = [(retrieval.search(index, query)[0][1], doc, answer) for query, doc, answer in entry["cases"]]
            self.assertEqual({"chunks": len(index), "doc": sum(row["doc"] == doc for row, doc, _ in best),
                              "answer": sum(answer in row["text"] for row, _, answer in best),
                              "chars": sum(len(row["text"]) for row, _, _ in best) // len(best)}, expected)

    def test_retrieval_with_neighbours(self):
        entry = VECTORS["retrieval.with_neighbours"]
        index = [{**row, "vec": retrieval.embed(row["text"])} for row in entry["index"]]
        hits = retrieval.search(index, entry["question"])
        self.alike([{"score": score, "text": row["text"]} for score, row in hits], entry["hits"])
        self.assertEqual(retrieval.with_neighbours(index, hits[0][1]), entry["expanded"])

    def test_retrieval_near_miss(self):
        entry = VECTORS["retrieval.near_miss"]
        listed = sorted(hit["text"] for hit in entry["ranked"])  # their scores order them, all but the two of 0.0
        ranked = retrieval.search([{"text": text, "vec": retrieval.embed(text)} for text in listed],
                                  entry["question"], k=len(listed))
        self.alike([score for score, _ in ranked], [hit["score"] for hit in entry["ranked"]])
        self.assertEqual([row["text"] for score, row in ranked if score],
                         [hit["text"] for hit in entry["ranked"] if hit["score"]])

    def test_retrieval_bm25_and_hybrid(self):
        entry = VECTORS["retrieval.bm25_and_hybrid"]
        embed = partial(embed_known, entry["known"], entry["same_meaning"])
        for asked in entry["queries"]:
            lexical = retrieval.bm25(asked["query"], entry["chunks"])
            dense = [retrieval.cosine(embed(asked["query"]), embed(chunk)) for chunk in entry["chunks"]]
            self.alike([lexical, dense, retrieval.hybrid(dense, lexical)],
                       [asked[name] for name in ("bm25", "dense", "hybrid")])
        index = retrieval.Bm25Index(entry["chunks"])
        self.alike({term: index.idf(term) for term in entry["idf"]}, entry["idf"])

    def test_retrieval_rerank(self):
        entry = VECTORS["retrieval.rerank"]
        ranked = retrieval.rerank(entry["question"], sorted(hit["text"] for hit in entry["reranked"]))
        self.assertEqual(ranked, [(hit["score"], hit["text"]) for hit in entry["reranked"]])

    def test_retrieval_answer_with_guard(self):
        entry = VECTORS["retrieval.answer_with_guard"]
        index = [{"text": text, "vec": retrieval.embed(text)} for text in entry["corpus"]]

        def search(question):
            return [(score, row["text"]) for score, row in retrieval.search(index, question)]

        self.alike({question: search(question)[0][0] for question in entry["best_scores"]}, entry["best_scores"])
        for question in entry["refused"] + entry["answered"]:
            answer = retrieval.answer_with_guard(question, search, lambda _, texts: texts[0], entry["threshold"])
            self.assertEqual(answer == entry["refusal"], question in entry["refused"])

    def test_tools_run_agent(self):
        recovers, stuck = VECTORS["tools.run_agent"]
        ran = []

        def stock(sku):
            ran.append(sku)
            if sku != "AC-90":
                raise KeyError("unknown sku " + sku)
            return "12 units"

        registry = {"stock": {"args": {"sku": str}, "run": stock},
                    "list_skus": {"args": {}, "run": lambda: "AC-90, ZX-40"}}

        def model(_, transcript):
            calls = recovers["model_calls"]
            if len(transcript) < len(calls):
                return {"kind": "call", **calls[len(transcript)]}
            return {"kind": "final", "text": recovers["answer"]}

        result = tools.run_agent("How many AC-90?", model, registry, max_steps=recovers["max_steps"])
        self.assertEqual([entry["result"] for entry in result["transcript"]], recovers["transcript_results"])
        self.assertEqual((result["answer"], result["steps"], len(ran)),
                         (recovers["answer"], recovers["steps"], recovers["tool_ran"]))
        ran.clear()
        again = {"kind": "call", "tool": "stock", "args": {"sku": "AC-90"}}
        result = tools.run_agent("How many AC-90?", lambda *_: again, registry, max_steps=stuck["max_steps"])
        self.assertEqual((result["stopped"], result["answer"], len(ran)),
                         (stuck["stopped"], stuck["answer"], stuck["tool_ran"]))

    def test_scoring_evaluate(self):
        entry = VECTORS["scoring.evaluate"]
        checks = {  # rubric_note of the file
            "states the number": lambda answer: "14 days" in answer,
            "says where it comes from": lambda answer: "policy" in answer.lower(),
            "is polite": lambda answer: "please" in answer.lower() or "happy" in answer.lower(),
            "admits it does not know": lambda answer: "not sure" in answer.lower(),
        }
        cases = [{**case, "rubric": [(weight, label, checks[label]) for weight, label in case["rubric"]]}
                 for case in entry["cases"]]
        for version, answers in entry["answers"].items():
            self.assertEqual(scoring.evaluate(answers.get, cases), entry["results"][version])

    def test_scoring_both_orders(self):
        entry = VECTORS["scoring.both_orders"]

        def judge(_, first, second):
            return "second" if second - first >= 0.15 else "first"  # prefers the first unless clearly worse

        self.assertEqual(scoring.both_orders(judge, "?", 0.5, 0.6), entry["close"])
        self.assertEqual(scoring.both_orders(judge, "?", 0.9, 0.5), entry["far_apart"])

    def test_scoring_choose(self):
        entry = VECTORS["scoring.choose"]
        runs = entry["runs"]
        self.assertEqual([run["name"] for run in scoring.eligible(runs, entry["budget"])], entry["eligible"])
        self.assertEqual(scoring.choose(runs, entry["budget"])["name"], entry["chosen"])
        self.assertEqual(scoring.choose(runs, entry["loose_budget"])["name"], entry["chosen_loose"])
        self.assertEqual(scoring.choose(runs, entry["impossible"]), entry["chosen_impossible"])
        by_name = {run["name"]: run for run in runs}
        self.alike(scoring.cost_per_point(by_name[entry["chosen"]], by_name[entry["chosen_loose"]]),
                   entry["cost_per_point"])


def embed_known(known, same_meaning, text):
    """The file's dense_note: counts of the KNOWN words after SAME_MEANING, at length one."""
    said = [same_meaning.get(token, token) for token in retrieval.tokens(text)]
    counts = [said.count(word) for word in known]
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts] if length else counts
