"""A template from elsewhere: one that never ends or eats memory stops nobody, and what it cannot do is told."""

import importlib.util
import json
import unittest
from unittest import mock

from tokenizer import TokenizerError, counter, load_counter
from tokens import trial
from tokens.manifest import folder
from tokens.tests.made import CONTENTS, Folder, manifest_of

PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
ENDLESS = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}" + 3 * "{% endfor %}"
HUNGRY = "{% set n = namespace(t='x' * 1000) %}{% for i in range(50) %}{% set n.t = n.t ~ n.t %}{% endfor %}"


def outcome_of(template):
    return trial.try_template(template, manifest_of(CONTENTS))


class Limits(unittest.TestCase):
    def test_a_template_without_end_holds_the_command_for_ever(self):
        with mock.patch("tokens.trial.PROCESSOR_S", 1), mock.patch("tokens.trial.CLOCK_S", 30):
            self.assertRegex(outcome_of(ENDLESS + PLAIN)["problem"], "not done with a few requests")

    def test_a_template_that_eats_all_memory(self):
        if importlib.util.find_spec("resource") is None:
            self.skipTest("this system has no limit of memory")
        with mock.patch("tokens.trial.MEMORY_BYTES", 1 << 28):
            self.assertIn("MemoryError", outcome_of(HUNGRY + PLAIN)["problem"])

    def test_a_template_that_cannot_write_a_plain_request(self):
        for template, reason in (("{{ raise_exception('never') }}", "a plain request: .*never$"),
                                 ("{{ x.y }}", "UndefinedError"), ("always the same", "it is left out"),
                                 ("{% for %}", "line 1")):
            self.assertRegex(outcome_of(template)["problem"], reason)

    def test_what_a_template_cannot_write_is_not_told(self):
        users = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
        self.assertEqual(set(outcome_of(users)["cannot"]), {
            "a system text", "declared tools", "tool calls and their results", "two assistant messages in a row"})
        able = PLAIN.replace("{{ m.content }}", "{{ m.content }}{{ m.tool_calls }}") + "{{ tools | tojson }}"
        self.assertEqual(outcome_of(able), {"sha256": mock.ANY, "problem": None, "cannot": {}})


class Kept(Folder):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict("os.environ", LAB_TOKENIZER=str(self.target)))
        self.path = self.here / "m.json"

    def pin(self, template):
        contents = {**CONTENTS, "chat_template.jinja": template.encode()}
        self.path.write_text(json.dumps(manifest_of(contents)), encoding="utf-8")
        folder(self.path).mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            (folder(self.path) / name).write_bytes(data)
        load_counter.cache_clear()

    def test_a_template_is_tried_at_each_use_or_never_again(self):
        with mock.patch("tokens.trial.subprocess.run", wraps=trial.subprocess.run) as run:
            for template, tries in ((PLAIN, 1), (PLAIN, 1), (PLAIN + " ", 2), (PLAIN + " ", 2)):
                self.pin(template)
                counter(self.path)
                self.assertEqual(run.call_count, tries)
            (folder(self.path) / trial.KEPT).write_text('{"sha256": 1}')
            self.pin(template)
            counter(self.path)
            self.assertEqual(run.call_count, 3)

    def test_a_template_that_failed_is_loaded_the_next_time(self):
        with mock.patch("tokens.trial.subprocess.run", wraps=trial.subprocess.run) as run:
            for _ in range(2):
                self.pin("always the same")
                with self.assertRaisesRegex(TokenizerError, "stand/in: .*it is left out; pin another template"):
                    counter(self.path)
        self.assertEqual(run.call_count, 1)


if __name__ == "__main__":
    unittest.main()
