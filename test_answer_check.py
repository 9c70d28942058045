"""The recording graded again: the published failure patterns, and what is refused before any grade."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import answer_check
import answer_model
from answers.recording import check_covered, read_keys, read_recording
from answers.tests.made import entry
from base.command import read_json, sha256
from base.tests.made import Files, run

HERE = Path(__file__).parent
RECORDING = json.loads((HERE / "answer-result.json").read_text(encoding="utf-8"))
KEYS = read_keys(HERE / "answer-keys.json")
# strategy: pass, fail, said missing, stale as current, cases passed every trial; as published
PUBLISHED = {"recent": (5, 25, 24, 0, 1), "relevant": (20, 10, 8, 0, 4), "notes": (25, 5, 0, 5, 5),
             "hybrid": (20, 10, 9, 0, 4)}
SELECTED = {"held-latest", "held-old-decision", "held-correction", "held-pronoun"}
PASSED = {"recent": {"held-latest"}, "relevant": SELECTED, "notes": set(KEYS) - {"held-correction"},
          "hybrid": SELECTED}
PUBLISHED_SHA256 = "c26be1522a32691be4f231425dac56fc8d7642c55147c1d36366e1fe7e12e66f"


class Published(unittest.TestCase):
    """The published failure patterns, by their published names."""

    def test_the_fresh_grades_match_the_recording(self):
        status, out, err = run(answer_check.main)
        report = json.loads(out)
        self.assertEqual((status, list(report)), (0, ["summary", "graded"]))
        for strategy, figures in PUBLISHED.items():
            counts = report["summary"][strategy]
            self.assertEqual(list(counts), ["pass", "fail", "incomplete", "said_missing", "stale_as_current",
                                            "cases_passed_every_trial"])
            passed, failed, missing, stale, cases = figures
            self.assertEqual(list(counts.values()), [passed, failed, 0, missing, stale, cases], strategy)
            self.assertIn(strategy, err)
        expected = {strategy: {case: ["pass" if case in passed else "fail"] * 5 for case in KEYS}
                    for strategy, passed in PASSED.items()}
        self.assertEqual(json.dumps(report["graded"]), json.dumps(expected))  # as text: the order counts as well

    def test_the_keys_cover_exactly_the_held_out_cases(self):
        check_covered(RECORDING, KEYS, "keys")
        held_out = [case for case in read_json(HERE / "cases.json") if case["split"] == "held_out"]
        self.assertEqual([case["id"] for case in held_out], list(KEYS))
        for case in held_out:
            self.assertEqual(len(case["required"]), len(KEYS[case["id"]]["must"]), case["id"])
            self.assertEqual(len(case["stale"]), len(KEYS[case["id"]]["stale"]), case["id"])

    def test_what_fails_is_told_apart_and_an_empty_answer_is_incomplete(self):
        for case, answer, grade, why in (
                ("held-correction", "We decided to use RabbitMQ for the job queue.", "fail", "stale_as_current"),
                ("held-spread", "Passwords need at least 14 characters.", "fail", "missing"),
                ("held-buried", "I do not have that information.", "fail", "said_missing"),
                ("held-buried", "", "incomplete", "empty_text")):
            self.assertEqual(answer_check.grade(entry(answer), KEYS[case]), {"grade": grade, "why": why})


class Recording(unittest.TestCase):
    def test_no_answer_of_the_published_recording_was_edited_or_left_out(self):
        self.assertEqual(sha256((HERE / "answer-result.json").read_bytes()), PUBLISHED_SHA256)
        self.assertEqual(read_recording(HERE / "answer-result.json"), RECORDING)
        seeds = dict.fromkeys(KEYS, [1, 2, 3, 4, 5])
        for cases in RECORDING["answers"].values():
            self.assertEqual({case: [given["seed"] for given in entries] for case, entries in cases.items()}, seeds)

    def test_the_pinned_model_is_the_recorded_one(self):
        self.assertEqual(answer_model.MODEL, RECORDING["model"])

    def test_grading_needs_tokenizer_or_requests_or_differs_by_hash_seed_locale_or_folder(self):
        outs = set()
        for seed, locale in (("0", "C"), ("1", "C.UTF-8")):
            done = subprocess.run(
                [sys.executable, "-X", "importtime", HERE / "answer_check.py"], capture_output=True,
                cwd=tempfile.gettempdir(), env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale,
                                                "PYTHONUTF8": "0", "LAB_TOKENIZER": os.devnull})
            self.assertNotRegex(done.stderr, rb"\| +(tokenizers|requests|jinja2|huggingface_hub)\b")
            outs.add(done.stdout)
        self.assertEqual((len(outs), done.returncode), (1, 0))
        self.assertNotIn(b"\r", done.stdout)
        self.assertEqual(outs, {run(answer_check.main)[1].encode("utf-8")})

    def test_another_grader_names_itself_and_grades_the_published_answers_alike(self):
        first, second = (answer_check.report(RECORDING, KEYS, version) for version in (1, 2))
        self.assertEqual(second.pop("grader"), 2)
        self.assertEqual(second, first)


class Refusals(Files):
    """A file that cannot be graded is one line on standard error, status 2 and nothing on standard output."""

    def refused(self, change, says, keys=False):
        option, source = ("--keys", "answer-keys.json") if keys else ("--recording", "answer-result.json")
        data = read_json(HERE / source)
        change(data)
        super().refused(says, answer_check.main, option, self.write("changed.json", data))

    def test_a_recording_of_another_shape(self):
        first = RECORDING["answers"]["recent"]["held-latest"]
        self.refused(lambda d: d.pop("model"), "no recording")
        self.refused(lambda d: d["answers"].clear(), "it.answers is empty")
        self.refused(lambda d: d["answers"]["notes"].clear(), "it.answers.notes is empty")
        self.refused(lambda d: d["answers"]["notes"].pop("held-buried"), "other cases or seeds")
        self.refused(lambda d: d["answers"]["notes"]["held-buried"].pop(), "other cases or seeds")
        self.refused(lambda d: d["answers"]["recent"]["held-latest"].append(first[0]), "seed of its own")
        self.refused(lambda d: d["answers"]["recent"]["held-latest"].clear(), "recent/held-latest: answers are missing")
        for field, wrong in (("answer", None), ("prompt_tokens", True), ("tool_calls", {}), ("done_reason", 3)):
            with self.subTest(field):
                self.refused(lambda d: d["answers"]["recent"]["held-latest"][0].update({field: wrong}), field)

    def test_a_cut_prompt_is_never_graded(self):
        requests = {"recent": {"held-latest": {"input_tokens": 63}}}
        self.refused(lambda d: d.update(recorded={"requests": requests}), "prompt of 62 tokens, request of 63")

    def test_what_a_recording_says_of_its_requests_has_a_shape(self):
        for recorded in ([], {"requests": []}, {"requests": {"recent": 3}},
                         {"requests": {"recent": {"held-latest": 62}}}):
            with self.subTest(recorded):
                self.refused(lambda d: d.update(recorded=recorded), r"no recording: it\.recorded")

    def test_options_before_a_command_are_not_forgotten(self):
        args = answer_check.parse_arguments(["--grader", "2", "attribution", "--report", "r.json"])
        self.assertEqual((args.grader, args.recording), (2, HERE / "answer-result.json"))
        self.assertEqual(run(answer_check.main, "attribution")[0], 2)  # which report is meant is never guessed
        args = answer_check.parse_arguments(["compare", "a", "b", "--grader", "2"])
        self.assertEqual((args.grader, args.keys), (2, HERE / "answer-keys.json"))

    def test_keys_that_are_not_for_the_recorded_cases(self):
        for change, says in ((lambda d: d["cases"].pop("held-latest"), "'held-latest' has no key"),
                             (lambda d: d["cases"].update(other={"must": ["x"], "stale": []}), "'other' has a key but"),
                             (lambda d: d.pop("cases"), "no keys"),
                             (lambda d: d["cases"]["held-latest"].update(must=[]), "at least one pattern"),
                             (lambda d: d["cases"]["held-latest"].update(must=["(a+)+"]), "refused"),
                             (lambda d: d["cases"]["held-latest"].update(extra=[]), "unknown field .extra.")):
            with self.subTest(says):
                self.refused(change, says, keys=True)

    def test_what_a_file_says_steers_the_terminal(self):
        data = copy.deepcopy(RECORDING)
        data["answers"]["recent"]["held-latest"][0] = {"seed": 1, "incomplete": "\x1b[2J\u202e"}
        status, _, err = run(answer_check.main, "--recording", self.write("changed.json", data))
        self.assertEqual((status, "recent \\x1b[2J\\u202e 1" in err, "\x1b" in err), (0, True, False))

    def test_a_file_that_is_missing_is_status_2_and_one_line(self):
        super().refused("nowhere.json", answer_check.main, "--recording", "nowhere.json")


if __name__ == "__main__":
    unittest.main()
