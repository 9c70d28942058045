"""A template from elsewhere: one that never ends or eats memory stops nobody, and what it cannot do is told."""

import importlib.util
import unittest
from unittest import mock

from base.command import sha256
from tokenizer import TokenizerError, counter, load_counter
from tokens.manifest import folder
from tokens.template import KEPT, given_hash, try_here, try_template
from tokens.tests.made import CONTENTS, Folder, manifest_of

PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
ENDLESS = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}" + 3 * "{% endfor %}"
HUNGRY = "{% set n = namespace(t='x' * 1000) %}{% for i in range(50) %}{% set n.t = n.t ~ n.t %}{% endfor %}"


class Limits(unittest.TestCase):
    def problem(self, template):
        return try_template(template, manifest_of(CONTENTS))["problem"]

    def test_a_template_without_end_holds_the_command_for_ever(self):
        for limit, most, text in ("PROCESSOR_S", 1, "1 seconds of processor time"), ("CLOCK_S", 0.05, "0.05 seconds"):
            with mock.patch(f"tokens.template.{limit}", most):
                self.assertRegex(self.problem(ENDLESS + PLAIN), f"not done with a few requests after {text}$")

    @unittest.skipIf(importlib.util.find_spec("resource") is None, "this system has no limit of memory")
    def test_a_template_that_eats_all_memory(self):
        with mock.patch("tokens.template.MEMORY_BYTES", 1 << 28):
            self.assertIn("MemoryError", self.problem(HUNGRY + PLAIN))

    def test_a_template_that_cannot_write_a_plain_request_has_no_problem(self):
        for template, reason in (("{{ raise_exception('never') }}", "a plain request: .*never$"),
                                 ("{% for %}", "line 1"), ("{{ x.y }}", "UndefinedError"),
                                 ("always the same", "a plain request: it is left out$")):
            self.assertRegex(try_here(template, {}, None)["problem"], reason)

    def test_what_a_template_cannot_write_is_not_told(self):
        users = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
        self.assertEqual(set(try_here(users, {}, None)["cannot"]), {
            "a system text", "declared tools", "tool calls and their results", "two assistant messages in a row"})
        able = PLAIN.replace("{{ m.content }}", "{{ m.content }}{{ m.tool_calls }}") + "{{ tools | tojson }}"
        self.assertEqual(try_template(able, manifest_of(CONTENTS)), {"sha256": mock.ANY, "problem": None, "cannot": {}})


class Kept(Folder):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict("os.environ", LAB_TOKENIZER=str(self.target)))
        outcome = {"sha256": None, "problem": None, "cannot": {}}
        self.tried = self.enterContext(mock.patch("tokens.template.try_template", wraps=lambda source, manifest: {
            **outcome, "sha256": given_hash(manifest), "problem": self.problem}))
        self.problem = None

    def count_with(self, template, **fields):
        """Load the counter of a pin with this template, and fields of the manifest, anew."""
        contents = {**CONTENTS, "chat_template.jinja": template.encode()}
        path = self.write("m.json", {**manifest_of(contents), **fields})
        for name, data in contents.items():
            self.write(str(folder(path) / name), data)
        load_counter.cache_clear()
        return counter(path)

    def test_a_template_is_tried_at_each_use_or_never_again(self):
        for template, tries in ((PLAIN, 1), (PLAIN, 1), (PLAIN + " ", 2), (PLAIN + " ", 2)):
            self.count_with(template)
            self.assertEqual(self.tried.call_count, tries)
        self.write(str(folder(self.folder / "m.json") / KEPT), {"sha256": sha256(template)})
        self.count_with(template)
        self.assertEqual(self.tried.call_count, 3)

    def test_a_template_that_failed_is_loaded_the_next_time(self):
        self.problem = "it is left out"
        for _ in range(2):
            self.assertRaisesRegex(TokenizerError, "stand/in: it is left out; pin another", self.count_with, "the same")
        self.assertEqual(self.tried.call_count, 1)
        self.problem = None  # a date that the template asked for was added, or a token that it writes
        self.count_with("the same", today="2026-01-31")
