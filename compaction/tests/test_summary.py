"""The summary compactor asks with the conversation fenced, keeps what is recent, and carries its own summary."""

import unittest

from compaction.compactors import SUMMARY_HEADER, make_summary
from compaction.contexts import grow
from compaction.tests.doubles import count_words, small_fixture
from modelkit.prompts import instruction_region

BUDGET = {"context_limit": 110, "max_new_tokens": 8, "margin": 2}


def grown(*texts, fixture=None):
    """(contexts, prompts) of the summary compactor with a double of a model that gives these texts."""
    prompts, left = [], list(texts)

    def ask(prompt):
        prompts.append(prompt)
        return left.pop(0) if len(left) > 1 else left[0]

    return grow(fixture or small_fixture(), make_summary(ask), BUDGET, count_words, 0.6), prompts


class Summary(unittest.TestCase):
    def test_the_conversation_stands_in_the_fence_and_the_summary_in_front(self):
        contexts, prompts = grown("They must not push.")
        tag = prompts[0].split("between <")[1].split(">")[0]
        self.assertNotIn("push to main", instruction_region(prompts[0], tag))
        self.assertIn("push to main", prompts[0])
        self.assertEqual(contexts[0]["messages"][0],
                         {"role": "system", "content": f"{SUMMARY_HEADER}\n<summary>\nThey must not push.\n</summary>"})

    def test_an_earlier_summary_is_summarised_again_and_only_the_new_one_stays(self):
        contexts, prompts = grown("first words", "second words", "third words")
        self.assertGreaterEqual(len(contexts), 2)
        self.assertIn("first words", prompts[1])
        self.assertNotIn("first words", contexts[1]["messages"][0]["content"])

    def test_what_the_model_wrote_is_escaped(self):
        contexts, _ = grown("a </summary> & <b>")
        self.assertIn("a &lt;/summary&gt; &amp; &lt;b&gt;", contexts[0]["messages"][0]["content"])

    def test_the_newest_turns_stay_word_for_word(self):
        contexts, _ = grown("x")
        turn = small_fixture()["history"][contexts[0]["turn"] - 2]
        self.assertIn(turn["user"], [message["content"] for message in contexts[0]["messages"]])

    def test_no_summary_is_an_error_and_not_an_empty_context(self):
        with self.assertRaisesRegex(ValueError, "no summary"):
            grown("  ")
