"""Which facts were sent and which were answered; and two recordings held against each other pair by pair."""

import copy
import itertools
import json
import random
import tempfile
import unittest
from pathlib import Path

import answer_check
from answers import attribution
from answers import compare as answer_compare
from answers.keys import read_keys
from answers.recording import json_hash, read_recording
from answers.tests.made import run
from base.command import InputError, NotComparable, dump
from selection.cases import load_cases

HERE = Path(__file__).parents[2]
RECORDING = read_recording(HERE / "answer-result.json")
KEYS = read_keys(HERE / "answer-keys.json")
CASES = load_cases(HERE / "cases.json")
REPORT = json.loads((HERE / "evaluation-result.json").read_text(encoding="utf-8"))


def attribute(recording=RECORDING, report=REPORT, cases=CASES, keys=KEYS, version=1):
    return attribution.attribute(recording, report, cases, keys, answer_check.GRADERS[version], version)


def entries(recording, strategy, case):
    return recording["answers"][strategy][case]


def fact(result, kind, strategy, case, place=0):
    return [f for f in result[kind]["facts"] if (f["strategy"], f["case"]) == (strategy, case)][place]


class Attribution(unittest.TestCase):
    def test_the_published_recording(self):
        result = attribute()
        self.assertIn("no request hashes", result["same_requests_by"])
        found = {name: list(counts.values()) for name, counts in result["required"]["summary"].items()}
        self.assertEqual(found,
                         {"recent": [5, 5, 25, 0, 0], "relevant": [20, 0, 15, 0, 0], "notes": [30, 0, 5, 0, 0],
                          "hybrid": [20, 0, 15, 0, 0]})
        found = {name: list(counts.values()) for name, counts in result["stale"]["summary"].items()}
        self.assertEqual(found,
                         {"recent": [0, 0, 5, 0, 0], "relevant": [0, 5, 0, 0, 0], "notes": [5, 0, 0, 0, 0],
                          "hybrid": [0, 5, 0, 0, 0]})
        table = attribution.table(result)
        self.assertIn("recent/held-spread: 'expire after 30 minutes' (5 of 5)", table)
        self.assertIn("given as current: notes/held-correction: 'decided to use RabbitMQ' (5 of 5)", table)
        self.assertNotRegex(table, "(?m)^  (used|neither): ")  # where nothing went wrong is not listed
        self.assertEqual(attribute(version=2), {"grader": 2, **result} | {"grader": 2})

    def test_each_of_the_four_combinations_is_told_apart_by_fact(self):
        recording = copy.deepcopy(RECORDING)
        found = entries(recording, "recent", "held-spread")  # sent: 30 minutes; not sent: 14 characters
        texts = ["14 and 30", "30 minutes", "14 characters", "I do not have that information.", ""]
        for entry, text in zip(found, texts):
            entry["answer"] = text
        result = attribute(recording)
        first, second = (fact(result, "required", "recent", "held-spread"),
                         fact(result, "required", "recent", "held-spread", 1))
        self.assertEqual((first["in_request"], list(first["answers"].values())), (False, [0, 0, 2, 2, 1]))
        self.assertEqual((second["in_request"], list(second["answers"].values())), (True, [2, 2, 0, 0, 1]))

    def test_a_reply_that_never_became_an_answer_is_counted_apart_and_needs_no_count(self):
        recording = copy.deepcopy(RECORDING)
        entries(recording, "notes", "held-correction")[1] = {"seed": 2, "incomplete": "stopped_stream"}
        result = attribute(recording)
        self.assertEqual(fact(result, "required", "notes", "held-correction")["answers"]["incomplete"], 1)
        self.assertEqual(fact(result, "stale", "notes", "held-correction")["answers"]["incomplete"], 1)

    def test_a_stale_fact_answered_without_being_sent(self):
        recording = copy.deepcopy(RECORDING)
        entries(recording, "recent", "held-correction")[0]["answer"] = "We use RabbitMQ."
        found = fact(attribute(recording), "stale", "recent", "held-correction")
        self.assertEqual((found["in_request"], found["answers"]["given_without"]), (False, 1))

    def test_the_report_of_other_requests_is_refused(self):
        changes = {
            "costs 63 tokens there": lambda report, recording: report["cases"]["recent"][6].update(input_tokens=63),
            "no row for notes": lambda report, recording: report["cases"].pop("notes"),
            "facts are not those": lambda report, recording: report["cases"]["recent"][7].update(missing=["other"]),
            "those of the case set": lambda report, recording: report["cases"]["recent"][6].update(required_total=2),
            "no row for recent/held-latest": lambda report, recording: report["cases"]["recent"][6].update(error="no"),
            "facts are not": lambda report, recording: report["cases"]["recent"][6].update(turns=[99]),
            "no level 'cases'": lambda report, recording: report.pop("cases"),
            "its case_set_sha256": lambda report, recording: recording.update(recorded={"case_set_sha256": "0" * 64})}
        for says, change in changes.items():
            report, recording = copy.deepcopy(REPORT), copy.deepcopy(RECORDING)
            change(report, recording)
            with self.subTest(says), self.assertRaisesRegex(NotComparable, says):
                attribute(recording, report)
        with self.assertRaisesRegex(NotComparable, "lacks the case"):
            attribute(cases=[case for case in CASES if case["id"] != "held-latest"])

    def test_requests_of_as_many_tokens_pass_for_the_ones_that_were_sent(self):
        by_id = {case["id"]: case for case in CASES}
        rows = attribution.rows_of(REPORT)
        recording = copy.deepcopy(RECORDING)
        recording["recorded"] = {"requests": {
            strategy: {case: {"messages_sha256": json_hash(attribution.request_of(rows[strategy, case], by_id[case]))}
                       for case in cases} for strategy, cases in RECORDING["answers"].items()}}
        self.assertEqual(attribute(recording)["same_requests_by"], attribution.SAME_REQUESTS)
        for strategy in ("recent", "notes"):
            other = copy.deepcopy(recording)
            other["recorded"]["requests"][strategy]["held-buried"]["messages_sha256"] = "0" * 64
            with self.subTest(strategy), self.assertRaisesRegex(NotComparable, f"{strategy}/held-buried is not what"):
                attribute(other)
        other = {**REPORT, "strategies_sha256": "0" * 64}  # of rules by which no request can be made again
        self.assertEqual(attribute(recording, other)["same_requests_by"], attribution.SAME_TOKENS)
        del recording["recorded"]["requests"]["notes"]
        self.assertEqual(attribute(recording)["same_requests_by"], attribution.SAME_TOKENS)
        recording["recorded"]["requests"]["hybrid"]["held-buried"]["messages_sha256"] = "0" * 64
        with self.assertRaisesRegex(NotComparable, "hybrid/held-buried is not what"):  # behind a request without a hash
            attribute(recording)

    def test_a_report_of_another_shape_is_an_error_and_no_traceback(self):
        row = REPORT["cases"]["recent"][6]
        lacking = [{name: value for name, value in row.items() if name != left_out} for left_out in
                   ("case", "input_tokens", "required_total", "missing", "stale_included")]
        for rows in (None, 3, "x", {"a": 1}, [3], ["x"], *([odd] for odd in lacking), [{**row, "missing": 3}]):
            with self.subTest(rows), self.assertRaisesRegex(InputError, "broken row of recent"):
                attribute(report={**REPORT, "cases": {**REPORT["cases"], "recent": rows}})
        for report in ([], 3, {}, {**REPORT, "cases": []}):
            with self.subTest(report), self.assertRaisesRegex(NotComparable, "no level 'cases'"):
                attribute(report=report)

    def test_a_fact_is_told_from_the_same_words_in_another_turn(self):
        report, cases = copy.deepcopy(REPORT), copy.deepcopy(CASES)
        here, there = ({"turn": turn, "text": "14 or 30"} for turn in ("t1", "t2"))
        next(case for case in cases if case["id"] == "held-spread")["required"] = [here, there]
        for strategy in report["cases"]:
            row = next(row for row in report["cases"][strategy] if row["case"] == "held-spread")
            row["missing"] = [there]
        result = attribute(report=report, cases=cases)
        found = [fact(result, "required", "notes", "held-spread", place)["in_request"] for place in (0, 1)]
        self.assertEqual(found, [True, False])

    def test_a_recording_with_hashes_is_held_to_them(self):
        names = ("case_set_sha256", "strategies_sha256", "tokenizer_manifest_sha256")
        result = attribute({**RECORDING, "recorded": {name: REPORT[name] for name in names}})
        self.assertIn("hashes of case set", result["same_requests_by"])

    def test_every_fact_needs_a_pattern_of_its_own(self):
        keys = {**KEYS, "held-spread": {**KEYS["held-spread"], "must": KEYS["held-spread"]["must"][:1]}}
        with self.assertRaisesRegex(InputError, "1 patterns for 2 required facts"):
            attribute(keys=keys)

    def test_the_command(self):
        status, out, err = run(answer_check.main, "attribution", "--report", str(HERE / "evaluation-result.json"))
        self.assertEqual((status, json.loads(out)), (0, attribute()))
        self.assertIn("required facts, answers by outcome", err)


def compare(second, first=RECORDING):
    graded = [answer_check.verdicts(recording, KEYS) for recording in (first, second)]
    return answer_compare.compare(first, second, *graded)


class Compare(unittest.TestCase):
    def test_a_recording_with_itself_shows_no_difference(self):
        result = compare(RECORDING)
        figures = [result["all"][name] for name in ("pairs", "passed_a", "passed_b", "only_a", "only_b", "p")]
        self.assertEqual(figures, [120, 70, 70, 0, 0, 1.0])
        self.assertIs(result["same_model"], True)
        self.assertIn("a and b agree in 120 of 120 pairs", answer_compare.table(result))
        self.assertEqual(result["discordant"], [])
        self.assertEqual(result["agreement_among_seeds"]["a"], {"seed_pairs": 240, "agree": 240})
        self.assertIsNone(result["same_requests"])

    def test_discordant_pairs_are_listed_and_incomplete_ones_left_out(self):
        other = copy.deepcopy(RECORDING)
        entries(other, "recent", "held-latest")[0]["answer"] = "Nobody."
        entries(other, "recent", "held-buried")[1]["answer"] = "200"
        entries(other, "notes", "held-buried")[2]["answer"] = ""
        other["model"] = {**other["model"], "ollama_digest": "0" * 64}
        result = compare(other)
        self.assertIs(result["same_model"], False)
        self.assertEqual([(p["strategy"], p["case"], p["seed"], p["a"], p["b"]) for p in result["discordant"]],
                         [("recent", "held-latest", 1, "pass", "fail"), ("recent", "held-buried", 2, "fail", "pass")])
        figures = result["all"]
        self.assertEqual(
            (figures["pairs"], figures["only_a"], figures["only_b"], figures["incomplete_pairs"]), (119, 1, 1, 1))
        self.assertEqual(len(result["incomplete"]), 1)
        self.assertEqual(result["agreement_among_seeds"]["b"], {"seed_pairs": 236, "agree": 228})

    def test_answers_are_paired_by_seed_and_not_by_place(self):
        other = copy.deepcopy(RECORDING)
        for cases in other["answers"].values():
            for found in cases.values():
                found.reverse()
        entries(other, "recent", "held-latest")[0]["answer"] = "Nobody."  # seed 5
        self.assertEqual([pair["seed"] for pair in compare(other)["discordant"]], [5])

    def test_recordings_of_other_cases_or_seeds_are_refused(self):
        for change, says in (
            (lambda d: d["answers"].pop("notes"), "notes/held-buried: the first has seeds .*, the second no answers"),
            (lambda d: entries(d, "recent", "held-latest")[0].update(seed=9), "recent/held-latest"),
        ):
            other = copy.deepcopy(RECORDING)
            change(other)
            with self.subTest(says), self.assertRaisesRegex(NotComparable, says):
                compare(other)

    def test_whether_the_requests_were_the_same_is_told(self):
        one, other = (
            {**RECORDING,
             "recorded": {"requests": {strategy: {case: {"messages_sha256": f"{case} {sent}"} for case in cases}
                                       for strategy, cases in RECORDING["answers"].items()}}} for sent in (1, 2))
        for first, second, same, says in ((one, one, True, ""), (one, other, False, "the requests differ"),
                                          (one, RECORDING, None, "is not known")):
            result = compare(second, first)
            self.assertIs(result["same_requests"], same)
            told = [line for line in answer_compare.table(result).splitlines() if "requests" in line]
            self.assertEqual(len(told), 1 if says else 0)
            self.assertIn(says, "".join(told))

    def test_nothing_whole_to_compare_is_refused(self):
        other = copy.deepcopy(RECORDING)
        for cases in other["answers"].values():
            for found in cases.values():
                for entry in found:
                    entry["answer"] = ""
        with self.assertRaisesRegex(NotComparable, "nothing to compare"):
            compare(other)

    def test_sign_flip_equals_the_count_of_all_sign_patterns(self):
        rng = random.Random(7)
        for _ in range(200):
            differences = [rng.randint(-5, 5) for _ in range(rng.randint(1, 7))]
            seen = abs(sum(differences))
            sums = [abs(sum(s * d for s, d in zip(signs, differences)))
                    for signs in itertools.product((1, -1), repeat=len(differences))]
            self.assertEqual(
                answer_compare.sign_flip(differences), sum(s >= seen for s in sums) / len(sums), differences)

    def test_six_cases_cannot_give_a_smaller_p_than_0_03(self):
        self.assertEqual(answer_compare.sign_flip([5] * 6), 0.03125)
        self.assertEqual(compare(RECORDING)["all"]["smallest_p_possible"], 0.03125)
        self.assertIn("over 6 cases: no p can be under 0.031", answer_compare.table(compare(RECORDING)))

    def test_a_hundred_cases_are_exact_and_quick(self):
        self.assertEqual(answer_compare.sign_flip([1] * 100), 2 / 2**100)

    def test_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            other = copy.deepcopy(RECORDING)
            entries(other, "recent", "held-latest")[0]["answer"] = "Nobody."
            path = Path(folder) / "other.json"
            path.write_text(dump(other), encoding="utf-8")
            status, out, err = run(answer_check.main, "compare", str(HERE / "answer-result.json"), str(path))
        self.assertEqual((status, json.loads(out)["all"]["only_a"]), (0, 1))
        self.assertIn("discordant: recent/held-latest seed 1: a pass, b fail", err)
