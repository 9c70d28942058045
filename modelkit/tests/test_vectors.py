"""Every entry of vectors.json, the published inputs and results of the modules in this folder."""

import json
import random
import unittest
from functools import partial
from math import sqrt
from pathlib import Path

from modelkit import prompts, replies, retrieval, scoring, tools

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
PLACES = 10
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
    "tools.tool_manifest": (tools.tool_manifest, "tools", "result"),
    "tools.check_call": (partial(tools.check_call, tools=REGISTRY), "name arguments", "problems")}


class Vectors(unittest.TestCase):
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
                    self.assertEqual(result, tuple(expected) if len(expected) > 1 else expected[0])

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

    def test_retrieval_cosine_of_embeddings(self):
        for entry in VECTORS["retrieval.cosine_of_embeddings"]:
            score = retrieval.cosine(retrieval.embed(entry["a"]), retrieval.embed(entry["b"]))
            self.assertAlmostEqual(score, entry["result"], PLACES)

    def test_retrieval_search(self):
        entry = VECTORS["retrieval.search"]
        index = retrieval.build_index(entry["docs"], max_chars=entry["max_chars"])
        self.assertEqual(len(index), entry["chunks"])
        for asked in entry["queries"]:
            score, row = retrieval.search(index, asked["query"])[0]
            self.assertAlmostEqual(score, asked["score"], PLACES)
            if "doc" in asked:
                self.assertEqual(row["doc"], asked["doc"])

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
        self.assertEqual([row["text"] for _, row in hits], [hit["text"] for hit in entry["hits"]])
        for (score, _), hit in zip(hits, entry["hits"]):
            self.assertAlmostEqual(score, hit["score"], PLACES)
        self.assertEqual(retrieval.with_neighbours(index, hits[0][1]), entry["expanded"])

    def test_retrieval_near_miss(self):
        entry = VECTORS["retrieval.near_miss"]
        listed = sorted(hit["text"] for hit in entry["ranked"])  # their scores order them, all but the two of 0.0
        ranked = retrieval.search([{"text": text, "vec": retrieval.embed(text)} for text in listed],
                                  entry["question"], k=len(listed))
        for (score, row), hit in zip(ranked, entry["ranked"]):
            self.assertAlmostEqual(score, hit["score"], PLACES)
            if hit["score"]:
                self.assertEqual(row["text"], hit["text"])

    def test_retrieval_bm25_and_hybrid(self):
        entry = VECTORS["retrieval.bm25_and_hybrid"]
        embed = partial(embed_known, entry["known"], entry["same_meaning"])
        for asked in entry["queries"]:
            lexical = retrieval.bm25(asked["query"], entry["chunks"])
            dense = [retrieval.cosine(embed(asked["query"]), embed(chunk)) for chunk in entry["chunks"]]
            for name, scores in (("bm25", lexical), ("dense", dense), ("hybrid", retrieval.hybrid(dense, lexical))):
                for score, expected in zip(scores, asked[name], strict=True):
                    self.assertAlmostEqual(score, expected, PLACES)
        for term, expected in entry["idf"].items():
            self.assertAlmostEqual(retrieval.Bm25Index(entry["chunks"]).idf(term), expected, PLACES)

    def test_retrieval_rerank(self):
        entry = VECTORS["retrieval.rerank"]
        ranked = retrieval.rerank(entry["question"], sorted(hit["text"] for hit in entry["reranked"]))
        self.assertEqual(ranked, [(hit["score"], hit["text"]) for hit in entry["reranked"]])

    def test_retrieval_answer_with_guard(self):
        entry = VECTORS["retrieval.answer_with_guard"]
        index = [{"text": text, "vec": retrieval.embed(text)} for text in entry["corpus"]]

        def search(question):
            return [(score, row["text"]) for score, row in retrieval.search(index, question)]

        for question, expected in entry["best_scores"].items():
            self.assertAlmostEqual(search(question)[0][0], expected, PLACES)
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

    def test_scoring_compare(self):
        entry = VECTORS["scoring.compare"]
        result = scoring.compare(entry["golden"], entry["candidate"])
        self.assertEqual({**result, "before": round(result["before"], 9), "after": round(result["after"], 9)},
                         entry["result"])
        self.assertEqual(scoring.gate_on_mean(result), entry["gate_on_mean"])
        self.assertEqual(scoring.gate_on_regressions(result), entry["gate_on_regressions"])

    def test_scoring_choose(self):
        entry = VECTORS["scoring.choose"]
        runs = entry["runs"]
        self.assertEqual([run["name"] for run in scoring.eligible(runs, entry["budget"])], entry["eligible"])
        self.assertEqual(scoring.choose(runs, entry["budget"])["name"], entry["chosen"])
        self.assertEqual(scoring.choose(runs, entry["loose_budget"])["name"], entry["chosen_loose"])
        self.assertEqual(scoring.choose(runs, entry["impossible"]), entry["chosen_impossible"])
        by_name = {run["name"]: run for run in runs}
        self.assertAlmostEqual(scoring.cost_per_point(by_name[entry["chosen"]], by_name[entry["chosen_loose"]]),
                               entry["cost_per_point"], PLACES)


def embed_known(known, same_meaning, text):
    """The file's dense_note: counts of the KNOWN words after SAME_MEANING, at length one."""
    said = [same_meaning.get(token, token) for token in retrieval.tokens(text)]
    counts = [said.count(word) for word in known]
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts] if length else counts
