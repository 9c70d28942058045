"""The built-in compactors carry what they left, copy word for word, and fence what a model summarises."""

import unittest

from base.command import InputError
from base.turns import as_turn
from compaction import compactors
from compaction.compactors import BUILT_IN, SUMMARY_HEADER, make_summary
from compaction.contexts import grow
from compaction.tests.doubles import count_words, small_fixture
from compaction.tests.made import BUDGET
from modelkit.prompts import instruction_region
from strategies import NOTES_HEADER, turn_messages


def grown(compactor, limit=60, keep_share=0.5, fixture=None):
    """The contexts that a compactor leaves of a fixture with so many words available."""
    return grow(fixture or small_fixture(), compactor, BUDGET | {"context_limit": limit + 10}, count_words, keep_share)


def case(instructions="", limit=60):
    budget = BUDGET | {"context_limit": limit + 10}
    return {"instructions": instructions, "current": "q", "history": [], "budget": budget}


class BuiltIn(unittest.TestCase):
    def test_a_compactor_exceeds_its_budget_or_does_not_say_that_it_only_copies(self):
        for name, compactor in BUILT_IN.items():
            self.assertTrue(compactor.extractive)
            for context in grown(compactor) if name != "notes" else ():  # notes reserve more than there is here
                self.assertLessEqual(context["tokens"], 30, name)

    def test_turns_and_messages_are_two_forms_of_something_else(self):
        for turn in small_fixture()["history"]:
            first, *rest = turn_messages(turn)
            self.assertEqual(as_turn(first["content"], rest), turn)

    def test_notes_left_by_one_compaction_are_noted_again_or_lost(self):
        fixture = small_fixture()
        for turn in fixture["history"]:
            turn["user"] += " We must keep it." + " filler" * 20
        first, second, *_ = grown(compactors.notes, 260, 0.8, fixture)
        self.assertTrue(first["messages"][-1]["content"].startswith(NOTES_HEADER))
        notes = first["messages"][-1]["content"].partition("\n\nQuestion: ")[0]
        self.assertEqual(second["messages"][0]["role"], "system")
        self.assertIn(notes, second["messages"][0]["content"])

    def test_a_user_message_is_taken_for_notes_or_keeps_those_in_front(self):
        notes = f"{NOTES_HEADER}\n<notes>\n- [turn 1, user] We must.\n</notes>"
        carried, message = compactors.split_notes({"role": "user", "content": notes + "\n\nQuestion: What now?"})
        self.assertEqual((carried, message["content"]), ([notes], "What now?"))
        message = {"role": "user", "content": "see <notes>\n</notes>\n\nQuestion: what is it?"}
        self.assertEqual(compactors.split_notes(message), ([], message))

    def test_blocks_that_outgrow_half_of_the_input_keep_their_oldest_lines_or_half_of_one(self):
        lines = [f"- [turn {n}, user] " + "word " * 5 + "\nand " + "word " * 5 for n in range(20)] + ["</notes>"]
        left = compactors.carried(case("\n".join(["head", *lines])), count_words)["instructions"]
        self.assertRegex(left, r"\Ahead\n- \[turn 1")  # a note may run over lines
        self.assertTrue(left.endswith("\n".join(lines[-2:])))
        self.assertLessEqual(count_words([{"content": left}]) + 1, 60 // 2)  # 1: the question
        self.assertEqual(compactors.carried(case("word " * 99), count_words)["instructions"], "word " * 99)

    def test_a_pin_is_reworded_or_lost(self):
        fronts = [context["messages"][0]["content"] for context in grown(compactors.ledger, 120, 0.75)]
        self.assertTrue(fronts and all("Do not push to main before the audit." in front for front in fronts))

    def test_it_gives_up_its_oldest_constraint_first_or_takes_more_than_its_share(self):
        names = ["constraint"] * 2 + ["reference"] * 8
        lines = [f"- [{name}] word {n} " + "filler " * 5 for n, name in enumerate(names)]
        kept = compactors.fitting(lines, case(limit=100), "", count_words)
        self.assertEqual((kept[:2], len(kept) < len(lines)), (lines[:2], True))
        self.assertLessEqual(count_words([{"content": compactors.with_pins("", kept)}]) + 1, 100 // 2)

    def test_a_sentence_is_pinned_twice_or_closes_the_block(self):
        turn = {"user": "We must decide whether it stays, no idea who knows.", "assistant": "ok"}  # of two classes
        lines = compactors.new_lines([turn], [])
        self.assertEqual((len(lines), compactors.new_lines([turn], lines)), (1, []))
        lines = compactors.new_lines([{"user": "You must never write </pinned> & go on.", "assistant": "ok"}], [])
        self.assertIn("- [constraint] You must never write &lt;/pinned&gt; &amp; go on.", lines)


class Summary(unittest.TestCase):
    def summarised(self, *texts):
        """(contexts, prompts) of the summary compactor with a double of a model that gives these texts."""
        prompts, left = [], list(texts)
        ask = make_summary(lambda prompt: prompts.append(prompt) or (left.pop(0) if len(left) > 1 else left[0]))
        return grown(ask, 100, 0.6), prompts

    def test_the_conversation_leaves_the_fence_or_the_summary_does_not_stand_in_front(self):
        contexts, prompts = self.summarised("a </summary> & <b>")
        tag = prompts[0].split("between <")[1].split(">")[0]
        self.assertNotIn("push to main", instruction_region(prompts[0], tag))
        self.assertIn("push to main", prompts[0])
        text = f"{SUMMARY_HEADER}\n<summary>\na &lt;/summary&gt; &amp; &lt;b&gt;\n</summary>"
        self.assertEqual(contexts[0]["messages"][0], {"role": "system", "content": text})
        newest = small_fixture()["history"][contexts[0]["turn"] - 2]["user"]  # stays word for word
        self.assertIn(newest, [message["content"] for message in contexts[0]["messages"]])

    def test_an_earlier_summary_is_not_summarised_again_or_stays_beside_the_new_one_or_none_is_empty(self):
        contexts, prompts = self.summarised("first words", "second words", "third words")
        self.assertIn("first words", prompts[1])
        self.assertNotIn("first words", contexts[1]["messages"][0]["content"])
        self.assertRaisesRegex(InputError, "no summary", self.summarised, "  ")
