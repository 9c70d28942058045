"""The graders on answers of every kind that they were given rules for, and on text made to be slow."""

import json
import re
import unittest
from pathlib import Path

import answer_check
from answers import claims
from answers.keys import compile_pattern
from answers.reply import MAX_GRADED_CHARS
from answers.tests.made import entry
from base.command import InputError

CASES = json.loads((Path(__file__).parent / "grade-cases.json").read_text(encoding="utf-8"))


def key(must=("mateo",), stale=()):
    return {"must": [compile_pattern(p, "test") for p in must], "stale": [compile_pattern(p, "test") for p in stale]}


def verdict(answer, version=1, must=("mateo",), stale=(), **changed):
    found = answer_check.grade(entry(answer, **changed), key(must, stale), version)
    return found.get("why", found["grade"])


class Cases(unittest.TestCase):
    def test_every_case_under_both_versions(self):
        for case in CASES:
            for version in (1, 2):
                with self.subTest(case["name"], version=version):
                    found = verdict(case["answer"], version, case["must"], case.get("stale", ()))
                    self.assertEqual(found, case[f"version_{version}"])

    def test_no_two_cases_share_a_name_and_the_versions_differ_somewhere(self):
        self.assertEqual(len(CASES), len({case["name"] for case in CASES}))
        self.assertTrue(any(case["version_1"] != case["version_2"] for case in CASES))


class Incomplete(unittest.TestCase):
    def test_what_is_no_whole_answer_is_named_and_never_graded(self):
        kinds = {"empty_text": {"answer": " \n"}, "cut_by_length": {"answer": "Mateo is on", "done_reason": "length"},
                 "unknown_end": {"answer": "Mateo", "done_reason": "load"},
                 "thinking": {"answer": "Mateo", "thinking": "Who is it?"},
                 "too_long": {"answer": "Mateo " * MAX_GRADED_CHARS}}
        for kind, changed in kinds.items():
            for version in (1, 2):
                with self.subTest(kind, version=version):
                    found = answer_check.grade(entry(**changed), key(), version)
                    self.assertEqual(found, {"grade": "incomplete", "why": kind})

    def test_a_reply_that_never_became_an_answer_keeps_its_name(self):
        found = answer_check.grade({"seed": 1, "incomplete": "stopped_stream"}, key())
        self.assertEqual(found, {"grade": "incomplete", "why": "stopped_stream"})

    def test_each_kind_is_counted_on_its_own_line(self):
        cases = {"a": [entry(""), entry("Mateo"), entry("Mateo", done_reason="length")]}
        report = answer_check.report({"answers": {"recent": cases}}, {"a": key()})
        counts = report["summary"]["recent"]
        self.assertEqual((counts["pass"], counts["incomplete"], counts["cases_passed_every_trial"]), (1, 2, 0))
        self.assertEqual(counts["incomplete_kinds"], {"cut_by_length": 1, "empty_text": 1})
        self.assertIn("recent cut_by_length 1", answer_check.table(report["summary"]))


class VersionOne(unittest.TestCase):
    def test_a_stale_fact_is_judged_by_its_sentence_and_not_by_the_answer(self):
        for sentence in ("We use RabbitMQ. Redis is fine.", "RabbitMQ! It changed nothing."):
            with self.subTest(sentence):
                self.assertEqual(verdict(sentence, 1, ("redis",), ("rabbitmq",)), "stale_as_current")

    def test_every_word_of_replacement_excuses_a_stale_fact(self):
        for word in ("replaced", "instead", "not", "no longer", "switched", "changed", "actually", "previous",
                     "originally", "earlier"):
            with self.subTest(word):
                self.assertEqual(verdict(f"RabbitMQ {word.upper()} here", 1, ("redis",), ("rabbitmq",)), "missing")

    def test_every_published_admission_is_counted_apart(self):
        verbs = ("have", "say", "mention", "state", "specify", "contain")
        phrases = [f"{left} {verb}" for left in ("do not", "Don't", "does not", "doesn't") for verb in verbs]
        phrases += [f"not {verb}" for verb in ("mentioned", "stated", "specific", "provided", "included", "contained")]
        phrases += ["no information", "not enough information", "is missing", "not in the conversation", "cannot find",
                    "cannot determine", "provide context", "provide more context", "provide the conversation"]
        for phrase in phrases:
            with self.subTest(phrase):
                self.assertEqual(verdict(f"I {phrase} here."), "said_missing")

    def test_an_admission_does_not_spoil_an_answer_that_gives_the_fact(self):
        self.assertEqual(verdict("It is Mateo; the rota does not say why."), "pass")


class Speed(unittest.TestCase):
    """Work is counted and not timed: a text as long as is graded, of the shapes that made careless rules quadratic."""

    def test_long_answers_are_read_in_linear_work(self):
        for shape in ("3. ", "three or ", "not ", "was three, now ", "* ", "~", "1,000,", "RabbitMQ. ", "a_", "\n-",
                      " or 5", "-3", "1/3 ", "three-", "between 3 and "):
            looks = []
            for size in (MAX_GRADED_CHARS // 2, MAX_GRADED_CHARS):
                claims.is_claimed.cache_clear()
                verdict(shape * (size // len(shape)), 2, (r"\b(?:three|3|5)\b", "redis"), ("rabbitmq", r"\b5\b"))
                looks.append(claims.is_claimed.cache_info())
            with self.subTest(shape):
                self.assertLessEqual(looks[1].hits + looks[1].misses, 2 * (looks[0].hits + looks[0].misses) + 20)
                self.assertLessEqual(looks[1].misses, looks[0].misses + 20)  # each look at NEAR characters, then known

    def test_patterns_that_could_run_without_end_are_refused(self):
        for pattern in (r"(a+)+$", r"(a*)*b", r"(a|aa)+$", r"(?:\w+\s?)*x", r"(a)\1", r".*.*x", r"\d+\w+",
                        r"(?:a{1,9}){2,}", r"(?=(a+)+)b", r"a{1,200}b{1,200}", r"a{1,4}.{1,8000}.?", r"(?P<n>a)(?P=n)",
                        r"(a)?(?(1)b|c)", r"(?x:( a + ) + )$", r"(?#[)(a+)+(?#])$", r"(?:[]a]|[^]b]+)+x",
                        r"(?:\\[(]+)+x", r"(a|b|ab)*+c"):
            with self.subTest(pattern), self.assertRaisesRegex(InputError, "refused"):
                compile_pattern(pattern, "keys")

    def test_plain_patterns_are_not_refused(self):
        for pattern in (
            r"\b(?:three|3)\b",
            r"14\s+characters",
            r"\d{1,3}(?:,\d{3})*",
            r"minutes?",
            r"a.{0,40}b",
            "x|y+",
            r"a{1,4}.{1,8000}",
        ):  # the last one: as many ways as are allowed
            with self.subTest(pattern):
                self.assertIsInstance(compile_pattern(pattern, "keys"), re.Pattern)

    def test_a_broken_or_empty_pattern_is_an_error_in_one_line(self):
        for pattern in ("(", "", "x*", "[z-a]"):
            with self.subTest(pattern), self.assertRaises(InputError) as caught:
                compile_pattern(pattern, "keys")
            self.assertNotIn("\n", str(caught.exception))
