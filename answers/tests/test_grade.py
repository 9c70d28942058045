"""The graders on answers of every kind that they were given rules for, and on text made to be slow."""

import re
import unittest

import answer_check
from answers import claims
from answers.recording import MAX_GRADED_CHARS, compile_pattern
from answers.tests.made import INPUTS, entry
from base.command import InputError
from base.tests.made import named_cases

GRADES = named_cases(__file__, "grade-cases.json")


def key(must=("mateo",), stale=()):
    return {"must": [compile_pattern(p, "test") for p in must], "stale": [compile_pattern(p, "test") for p in stale]}


def why(answer, version=1, must=("mateo",), stale=(), **changed):
    verdict = answer_check.grade(entry(answer, **changed), key(must, stale), version)
    return verdict.get("why", verdict["grade"])


class Graded(unittest.TestCase):
    def test_every_case_under_both_versions(self):
        for case in GRADES:
            for version in (1, 2):
                with self.subTest(case["name"], version=version):
                    given = why(case["answer"], version, case["must"], case.get("stale", ()))
                    self.assertEqual(given, case[f"version_{version}"])

        self.assertTrue(any(case["version_1"] != case["version_2"] for case in GRADES))

    def test_what_is_no_whole_answer_is_named_and_never_graded(self):
        kinds = {"empty_text": entry(" \n"), "cut_by_length": entry("Mateo is on", done_reason="length"),
                 "unknown_end": entry("Mateo", done_reason="load"), "thinking": entry("Mateo", thinking="Who is it?"),
                 "too_long": entry("Mateo " * MAX_GRADED_CHARS),
                 "stopped_stream": {"seed": 1, "incomplete": "stopped_stream"}}
        for kind, given in kinds.items():
            for version in (1, 2):
                with self.subTest(kind, version=version):
                    self.assertEqual(answer_check.grade(given, key(), version), {"grade": "incomplete", "why": kind})

    def test_each_kind_is_counted_on_its_own_line(self):
        cases = {"a": [entry(""), entry("Mateo"), entry("Mateo", done_reason="length")]}
        report = answer_check.report({"answers": {"recent": cases}}, {"a": key()})
        counts = report["summary"]["recent"]
        self.assertEqual((counts["pass"], counts["incomplete"], counts["cases_passed_every_trial"]), (1, 2, 0))
        self.assertEqual(counts["incomplete_kinds"], {"cut_by_length": 1, "empty_text": 1})
        self.assertIn("recent cut_by_length 1", answer_check.grade_table(report["summary"]))


class Speed(unittest.TestCase):
    """Work is counted and not timed: a text and one twice as long, of shapes that made careless rules quadratic."""

    def test_long_answers_are_read_in_linear_work(self):
        for shape in ("3. ", "three or ", "not ", "was three, now ", "* ", "~", "1,000,", "RabbitMQ. ", "a_", "\n-",
                      " or 5", "-3", "1/3 ", "three-", "between 3 and "):
            looks = []
            for size in (MAX_GRADED_CHARS // 4, MAX_GRADED_CHARS // 2):
                claims.is_claimed.cache_clear()
                why(shape * (size // len(shape)), 2, (r"\b(?:three|3|5)\b", "redis"), ("rabbitmq", r"\b5\b"))
                looks.append(claims.is_claimed.cache_info())
            with self.subTest(shape):
                self.assertLessEqual(looks[1].hits + looks[1].misses, 2 * (looks[0].hits + looks[0].misses) + 20)
                self.assertLessEqual(looks[1].misses, looks[0].misses + 20)  # each look at NEAR characters, then known

    def test_patterns_that_could_run_without_end_or_match_nothing_are_refused_in_one_line_and_no_others(self):
        for case in INPUTS["patterns"]:
            with self.subTest(case["pattern"]):
                if case["refused"]:
                    with self.assertRaisesRegex(InputError, "^keys: pattern .*$"):
                        compile_pattern(case["pattern"], "keys")
                else:
                    self.assertIsInstance(compile_pattern(case["pattern"], "keys"), re.Pattern)
