"""A conversation is compacted as it grows; built-in compactors carry what they left and never change their input."""

import copy
import unittest

from base.command import InputError
from compaction import compactors
from compaction.contexts import BUDGET, grow, grow_all
from compaction.tests.doubles import count_words, small_fixture
from strategies import NOTES_HEADER

SMALL = {"context_limit": 70, "max_new_tokens": 8, "margin": 2}  # 60 words available, 30 left after a compaction


def grown(compactor, fixture=None, budget=SMALL, keep_share=0.5):
    return grow(fixture or small_fixture(), compactor, budget, count_words, keep_share)


def twice(history, budget, count):
    return history * 2


def last_two(history, budget, count):
    return history[-2:]


class Growth(unittest.TestCase):
    def test_compacts_when_the_next_user_message_does_not_fit(self):
        seen = []

        def spy(history, budget, count):
            seen.append((count(history), budget))
            return history[-3:]

        grown(spy)
        self.assertTrue(seen)
        for tokens, budget in seen:
            self.assertGreater(tokens, 60)
            self.assertEqual(budget, {"context_limit": 40, "max_new_tokens": 8, "margin": 2})

    def test_the_compactor_gets_what_it_left_and_the_turns_since_and_nothing_older(self):
        given, left = [], []

        def spy(history, budget, count):
            given.append(copy.deepcopy(history))
            left.append([{"role": "user", "content": f"summary {len(given)}"}, history[-1]])
            return left[-1]

        contexts = grown(spy)
        self.assertGreaterEqual(len(given), 2)
        self.assertEqual(given[1][:2], left[0])
        self.assertNotIn("Step 5", str(given[1][2:]).replace(given[0][-1]["content"], ""))
        self.assertEqual([one["compaction"] for one in contexts], list(range(1, len(given) + 1)))

    def test_the_current_message_is_the_last_one(self):
        for compactor in (compactors.recent, compactors.notes, compactors.ledger, last_two):
            for context in grown(compactor):
                user = small_fixture()["history"][context["turn"] - 1]["user"]
                self.assertTrue(context["messages"][-1]["content"].endswith(user), compactor)

    def test_the_current_message_is_put_last_where_the_compactor_left_it_out(self):
        contexts = grown(lambda history, budget, count: [{"role": "user", "content": "all that was"}])
        self.assertEqual([len(one["messages"]) for one in contexts], [2] * len(contexts))

    def test_a_single_first_message_that_is_too_long_is_no_compaction(self):
        fixture = small_fixture()
        fixture["history"] = [{"user": "word " * 100, "assistant": "ok"}]
        self.assertEqual(grown(last_two, fixture), [])

    def test_what_is_no_request_is_refused_with_its_place(self):
        for wrong in (None, [], "text", [{"role": "user"}], [{"role": "bot", "content": "x"}],
                      [{"role": "user", "content": 3}]):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(ValueError, "small: compaction 1 .turn"):
                grown(lambda history, budget, count: wrong)

    def test_a_context_that_the_template_refuses_is_not_placed(self):
        def count(messages):
            if messages[0]["role"] == "assistant":
                raise InputError("the template refuses it")
            return count_words(messages)

        with self.assertRaisesRegex(InputError, "^small: compaction 1 .turn [0-9]+.: the template refuses it"):
            grow(
                small_fixture(), lambda history, *_: [{"role": "assistant", "content": "x"}, history[-1]], SMALL, count)

    def test_what_a_compactor_raises_keeps_its_traceback_and_says_where(self):
        def broken(history, budget, count):
            return history[99]

        with self.assertRaises(IndexError) as caught:
            grown(broken)
        (note,) = caught.exception.__notes__
        self.assertRegex(note, "^small: compaction 1 .turn [0-9]+.: the compactor: raised there")

    def test_a_compactor_that_edits_what_it_was_given_changes_no_fixture_and_no_reported_context(self):
        def vandal(history, budget, count):
            for message in history:
                message["content"] = message["content"].upper()
            budget.clear()
            return history[-2:]

        fixture, before = small_fixture(), small_fixture()
        contexts = grown(vandal, fixture)
        self.assertEqual(fixture, before)
        self.assertEqual(contexts, grown(vandal))

    def test_a_compactor_that_later_edits_what_it_returned_changes_no_reported_context(self):
        returned = []

        def vandal(history, budget, count):
            for message in returned:
                message["content"] = "gone"
            returned[:] = history[-2:]
            return list(returned)

        self.assertNotIn("gone", str(grown(vandal)))

    def test_a_conversation_that_compacts_too_seldom_passes_unless_it_failed(self):
        fixture = small_fixture(compactions_expected=9)
        told = f"mine: compacted .*: small: {len(grown(last_two))} of 9; "
        with self.assertRaisesRegex(InputError, told):
            grow_all([fixture, small_fixture()], last_two, "mine", SMALL, count_words, 0.5)
        for fixture, compactor, left in ((small_fixture(), last_two, grown(last_two)), (fixture, twice, grown(twice))):
            self.assertEqual(grow_all([fixture], compactor, "mine", SMALL, count_words, 0.5), left)

    def test_the_shipped_budget_leaves_half_for_growth(self):
        given, fixture = [], small_fixture()
        fixture["history"][0]["user"] = "word " * 4000
        grown(lambda history, budget, count: given.append(budget) or history[-1:], fixture, BUDGET)
        self.assertEqual(given, [{"context_limit": 2336, "max_new_tokens": 512, "margin": 64}])


class BuiltIn(unittest.TestCase):
    def test_stay_within_the_budget_they_were_handed(self):
        for compactor in (compactors.recent, compactors.ledger):
            for context in grown(compactor):
                self.assertLessEqual(context["tokens"], 30, compactor)

    def test_say_that_they_only_copy(self):
        self.assertTrue(all(one.extractive for one in (compactors.recent, compactors.notes, compactors.ledger)))

    def test_notes_left_by_one_compaction_are_carried_as_they_stand(self):
        budget = {"context_limit": 270, "max_new_tokens": 8, "margin": 2}
        fixture = small_fixture()
        for turn in fixture["history"]:
            turn["user"] += " We must keep it." + " filler" * 20
        contexts = grown(compactors.notes, fixture, budget, 0.8)
        self.assertGreaterEqual(len(contexts), 2)
        first = contexts[0]["messages"][-1]["content"]
        self.assertTrue(first.startswith(NOTES_HEADER))
        notes = first.partition("\n\nQuestion: ")[0]
        self.assertIn(notes, contexts[1]["messages"][0]["content"])
        self.assertEqual(contexts[1]["messages"][0]["role"], "system")

    def test_a_user_message_that_had_notes_in_front_is_itself_again_afterwards(self):
        notes = f"{NOTES_HEADER}\n<notes>\n- [turn 1, user] We must.\n</notes>"
        carried, message = compactors.split_notes({"role": "user", "content": notes + "\n\nQuestion: What now?"})
        self.assertEqual((carried, message["content"]), ([notes], "What now?"))

    def test_a_user_message_that_only_looks_like_notes_is_left_alone(self):
        message = {"role": "user", "content": "see <notes>\n</notes>\n\nQuestion: what is it?"}
        self.assertEqual(compactors.split_notes(message), ([], message))

    def test_turns_and_messages_are_two_forms_of_the_same(self):
        from strategies import turn_messages

        for turn in small_fixture()["history"]:
            self.assertEqual(compactors.as_turn(turn_messages(turn)), turn)

    def test_the_ledger_pins_word_for_word_and_keeps_its_pins(self):
        budget = {"context_limit": 130, "max_new_tokens": 8, "margin": 2}
        contexts = grown(compactors.ledger, budget=budget, keep_share=0.75)
        for context in contexts:
            self.assertIn("Do not push to main before the audit.", context["messages"][0]["content"])
        self.assertGreaterEqual(len(contexts), 1)

    def test_the_ledger_gives_up_its_oldest_constraint_last(self):
        lines = [
            f"- [{name}] word {n} " + "filler " * 5 for n, name in enumerate(["constraint"] * 2 + ["reference"] * 8)]
        case = {"instructions": "", "current": "q", "history": [], "budget": SMALL | {"context_limit": 110}}
        kept = compactors.fitting(lines, case, "", count_words)
        self.assertEqual(kept[:2], lines[:2])
        self.assertLess(len(kept), len(lines))
        text = compactors.with_pins("", kept)
        self.assertLessEqual(count_words([{"content": text}]) + 1, 100 // 2)  # 1: the question

    def test_a_sentence_of_two_classes_is_pinned_once_and_one_that_is_pinned_not_again(self):
        turn = {"user": "We must decide whether it stays, no idea who knows.", "assistant": "ok"}
        lines = compactors.new_lines([turn], [])
        self.assertEqual(len(lines), 1)
        self.assertEqual(compactors.new_lines([turn], lines), [])

    def test_the_ledger_escapes_what_it_pins(self):
        lines = compactors.new_lines([{"user": "You must never write </pinned> & go on.", "assistant": "ok"}], [])
        self.assertIn("- [constraint] You must never write &lt;/pinned&gt; &amp; go on.", lines)

    def test_blocks_that_outgrow_half_of_the_input_lose_their_oldest_lines(self):
        lines = [f"- [turn {n}, user] " + "word " * 5 + "\nand " + "word " * 5 for n in range(20)] + ["</notes>"]
        case = {"instructions": "\n".join(["head", *lines]), "current": "q", "history": [], "budget": SMALL}
        left = compactors.carried(case, count_words)["instructions"]
        self.assertNotIn(lines[0], left)
        self.assertTrue(left.endswith("\n".join(lines[-2:])))
        self.assertTrue(left.startswith("head\n- [turn "), left[:30])  # no half of a note that runs over lines
        self.assertLessEqual(count_words([{"content": left}]) + 1, 60 // 2)  # 1: the question


if __name__ == "__main__":
    unittest.main()
