"""The recording graded again: the published failure patterns, and what is refused before any grade."""

import contextlib
import copy
import hashlib
import io
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
from base.command import InputError

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


def run(*argv):
    """(status, stdout, stderr) of the script in a process of its own."""
    done = subprocess.run([sys.executable, HERE / "answer_check.py", *argv], capture_output=True, text=True,
                          encoding="utf-8", cwd=tempfile.gettempdir())
    return done.returncode, done.stdout, done.stderr


class Published(unittest.TestCase):
    """The published failure patterns, by their published names."""

    def test_the_fresh_grades_match_the_recording(self):
        status, out, err = run()
        report = json.loads(out)
        self.assertEqual(status, 0)
        self.assertEqual(list(report), ["summary", "graded"])
        for strategy, figures in PUBLISHED.items():
            counts = report["summary"][strategy]
            self.assertEqual(
                list(counts),
                ["pass", "fail", "incomplete", "said_missing", "stale_as_current", "cases_passed_every_trial"])
            passed, failed, missing, stale, cases = figures
            self.assertEqual(list(counts.values()), [passed, failed, 0, missing, stale, cases], strategy)
            self.assertIn(strategy, err)
        expected = {strategy: {case: ["pass" if case in passed else "fail"] * 5 for case in KEYS}
                    for strategy, passed in PASSED.items()}
        self.assertEqual(json.dumps(report["graded"]), json.dumps(expected))  # as text: the order counts as well

    def test_the_keys_cover_exactly_the_held_out_cases(self):
        check_covered(RECORDING, KEYS, "keys")
        cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
        held_out = [case for case in cases if case["split"] == "held_out"]
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
    def test_no_answer_of_the_published_recording_was_edited(self):
        data = (HERE / "answer-result.json").read_bytes()
        self.assertEqual(hashlib.sha256(data).hexdigest(), PUBLISHED_SHA256)

    def test_the_published_recording_is_whole(self):
        self.assertEqual([list(cases) for cases in RECORDING["answers"].values()], [list(KEYS)] * 4)
        for cases in RECORDING["answers"].values():
            for entries in cases.values():
                self.assertEqual([found["seed"] for found in entries], [1, 2, 3, 4, 5])

    def test_the_pinned_model_is_the_recorded_one(self):
        self.assertEqual(answer_model.MODEL, RECORDING["model"])

    def test_grading_needs_neither_tokenizer_nor_requests(self):
        code = ("import sys, answer_check; answer_check.main([]);"
                "found = {'tokenizers', 'requests', 'jinja2', 'huggingface_hub'} & set(sys.modules);"
                "sys.exit(f'imported {found}' if found else 0)")
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, cwd=HERE, env={**os.environ, "LAB_TOKENIZER": os.devnull}
        )
        self.assertEqual((done.returncode, b"imported" in done.stderr), (0, False), done.stderr)

    def test_output_is_the_same_bytes_whatever_the_hash_seed_and_locale(self):
        outs = set()
        for seed, locale in (("0", "C"), ("1", "C.UTF-8")):
            done = subprocess.run([sys.executable, HERE / "answer_check.py"], capture_output=True,
                                  env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONUTF8": "0"})
            outs.add(done.stdout)
        self.assertEqual(len(outs), 1)
        self.assertNotIn(b"\r", outs.pop())

    def test_another_grader_names_itself_and_grades_the_published_answers_alike(self):
        first, second = (answer_check.report(RECORDING, KEYS, version) for version in (1, 2))
        self.assertEqual(second.pop("grader"), 2)
        self.assertEqual(second, first)


class Refusals(unittest.TestCase):
    """A file that cannot be graded is one line on standard error, status 2 and nothing on standard output."""

    def refused(self, change, says, keys=False):
        source = "answer-keys.json" if keys else "answer-result.json"
        data = copy.deepcopy(json.loads((HERE / source).read_text(encoding="utf-8")))
        change(data)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "changed.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out), self.assertRaisesRegex(InputError, says) as caught:
                answer_check.main(["--keys" if keys else "--recording", str(path)])
        self.assertEqual(out.getvalue(), "")
        self.assertNotIn("\n", str(caught.exception))

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
        self.refused(lambda d: d.update(recorded={"requests": requests}), "62 tokens and the request 63")

    def test_what_a_recording_says_of_its_requests_has_a_shape(self):
        for recorded in ([], {"requests": []}, {"requests": {"recent": 3}},
                         {"requests": {"recent": {"held-latest": 62}}}):
            with self.subTest(recorded):
                self.refused(lambda d: d.update(recorded=recorded), r"no recording: it\.recorded")

    def test_options_before_a_command_are_not_forgotten(self):
        args = answer_check.parse_arguments(["--grader", "2", "attribution", "--report", "r.json"])
        self.assertEqual((args.grader, args.recording), (2, HERE / "answer-result.json"))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            answer_check.parse_arguments(["attribution"])  # which report is meant is never guessed
        args = answer_check.parse_arguments(["compare", "a", "b", "--grader", "2"])
        self.assertEqual((args.grader, args.keys), (2, HERE / "answer-keys.json"))

    def test_keys_that_are_not_for_the_recorded_cases(self):
        self.refused(lambda d: d["cases"].pop("held-latest"), "'held-latest' has no key", keys=True)
        self.refused(
            lambda d: d["cases"].update(other={"must": ["x"], "stale": []}), "'other' has a key but", keys=True)
        self.refused(lambda d: d.pop("cases"), "no keys", keys=True)
        self.refused(lambda d: d["cases"]["held-latest"].update(must=[]), "at least one pattern", keys=True)
        self.refused(lambda d: d["cases"]["held-latest"].update(must=["(a+)+"]), "refused", keys=True)
        self.refused(lambda d: d["cases"]["held-latest"].update(extra=[]), "unknown field .extra.", keys=True)

    def test_what_a_file_says_steers_the_terminal(self):
        data = copy.deepcopy(RECORDING)
        data["answers"]["recent"]["held-latest"][0] = {"seed": 1, "incomplete": "\x1b[2J\u202e"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "changed.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            status, _, err = run("--recording", str(path))
        self.assertEqual((status, "recent \\x1b[2J\\u202e 1" in err, "\x1b" in err), (0, True, False))

    def test_a_file_that_is_missing_is_status_2_and_one_line(self):
        status, out, err = run("--recording", "nowhere.json")
        self.assertEqual((status, out, err.count("\n")), (2, "", 1))
        self.assertIn("nowhere.json", err)

    def test_the_published_recording_reads(self):
        self.assertEqual(read_recording(HERE / "answer-result.json"), RECORDING)


if __name__ == "__main__":
    unittest.main()
