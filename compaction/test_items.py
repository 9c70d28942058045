"""What counts as survival, and what does not, one item in one context at a time."""

import unittest

from compaction.items import check, question_key
from compaction.literals import stands

PUSH = {
    "id": "i",
    "class": "constraint",
    "turn": 1,
    "literal": "push to main",
    "probe": "May it push?",
    "expect": "Yes.",
}
FRIDAY = {
    "id": "f",
    "class": "reference",
    "turn": 2,
    "literal": "cutover is on Sunday",
    "probe": "When?",
    "expect": "Sunday.",
    "replaced": ["cutover is on Friday"],
    "also": ["Sunday it is"],
}
HISTORY = [
    {"user": "Please push to main.", "assistant": "The cutover is on Friday."},
    {"user": "The cutover is on Sunday.", "assistant": "Sunday it is."},
]


def verdict(item, text, extractive=False, judge=None, history=HISTORY):
    return check(item, history, {"messages": [{"role": "user", "content": text}]}, extractive, judge)["verdict"]


class Literals(unittest.TestCase):
    def test_only_whole_names_stand(self):
        for text in ("v1.20", "v1.2-rc", "x/v1.2", "v1.2/x", "av1.2", "v1.2.1", "a.v1.2", "-v1.2", "v1.2é"):
            self.assertEqual(stands("v1.2", text), [], text)
        for text in ("v1.2", "(v1.2)", "v1.2.", "v1.2. Then", "...v1.2", "at v1.2, then", '"v1.2"', "v1.2\n"):
            self.assertEqual(len(stands("v1.2", text)), 1, text)

    def test_words_stand_in_a_script_that_puts_no_space_between_them(self):
        self.assertEqual(stands("\u4e0d\u8981\u63a8\u9001", "\u8bf7\u4e0d\u8981\u63a8\u9001\u5230main\u3002"), [1])
        self.assertEqual(stands("main", "\u5230main\u3002"), [1])

    def test_an_escaped_literal_stands(self):
        self.assertEqual(stands("a < b & c", "- [turn 1, user] a &lt; b &amp; c"), [17])

    def test_an_escaped_and_a_raw_form_that_are_equal_count_once(self):
        self.assertEqual(stands("plain", "plain"), [0])


class Checking(unittest.TestCase):
    def test_the_words_as_they_were_said_are_verbatim(self):
        self.assertEqual(verdict(PUSH, "Earlier: push to main. Then rest."), "verbatim")

    def test_words_across_two_messages_are_not_verbatim(self):
        context = {"messages": [{"role": "user", "content": "push to"}, {"role": "user", "content": "main"}]}
        self.assertEqual(check(PUSH, HISTORY, context, True)["verdict"], "absent")

    def test_words_in_a_tool_call_count(self):
        call = {"id": "c", "type": "function", "function": {"name": "say", "arguments": {"text": ["push to main"]}}}
        context = {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}
        self.assertEqual(check(PUSH, HISTORY, context, True)["verdict"], "verbatim")

    def test_a_literal_inside_its_own_negation_is_no_survival(self):
        for text in (
            "Do not push to main.",
            "Never push to main.",
            "Ship without a push to main.",
            "Don't push to main",
            "There is no push to main",
            "You cannot push to main",
        ):
            with self.subTest(text):
                self.assertEqual(verdict(PUSH, text), "unjudged")
                self.assertEqual(verdict(PUSH, text, extractive=True), "unjudged")  # not `absent`: something is there

    def test_a_negation_in_another_sentence_changes_nothing(self):
        self.assertEqual(verdict(PUSH, "That is not it. Please push to main."), "verbatim")
        self.assertEqual(verdict(PUSH, "It is not so\npush to main"), "verbatim")

    def test_one_plain_place_outweighs_a_negated_one(self):
        self.assertEqual(verdict(PUSH, "Do not push to main. Later: push to main."), "verbatim")

    def test_a_negation_that_the_source_has_too_is_verbatim_and_its_loss_is_not(self):
        history = [{"user": "Do not push to main.", "assistant": "Fine."}]
        self.assertEqual(verdict(PUSH, "do not push to main", history=history), "verbatim")
        self.assertEqual(verdict(PUSH, "The user says: push to main", history=history), "unjudged")

    def test_a_literal_that_holds_its_negation_needs_no_judge(self):
        item = PUSH | {"literal": "do not push to main"}
        history = [{"user": "Please do not push to main.", "assistant": "Fine."}]
        self.assertEqual(verdict(item, "Please do not push to main.", history=history), "verbatim")

    def test_also_answers_as_well_wherever_it_was_said(self):
        self.assertEqual(verdict(FRIDAY, "Sunday it is."), "verbatim")
        self.assertEqual(verdict(PUSH | {"also": ["Sunday it is"]}, "Sunday it is."), "verbatim")

    def test_also_is_held_to_how_it_was_said(self):
        history = [*HISTORY, {"user": "It is not Sunday any more.", "assistant": "Fine."}]
        item = PUSH | {"also": ["Sunday any more"]}
        self.assertEqual(verdict(item, "It is not Sunday any more.", history=history), "verbatim")
        self.assertEqual(verdict(item, "It is Sunday any more.", history=history), "unjudged")

    def test_a_replaced_literal_alone_is_contradicted(self):
        self.assertEqual(verdict(FRIDAY, "The cutover is on Friday."), "contradicted")
        self.assertEqual(verdict(FRIDAY, "The cutover is on Friday.", extractive=True), "contradicted")

    def test_a_replaced_literal_beside_the_new_one_is_not(self):
        self.assertEqual(verdict(FRIDAY, "The cutover is on Friday. The cutover is on Sunday."), "verbatim")

    def test_each_word_of_replacement_makes_naming_the_older_value_harmless(self):
        for text in (
            "It was replaced, the cutover is on Friday",
            "What it replaces: cutover is on Friday",
            "Replacing cutover is on Friday",
            "Sunday instead, not: cutover is on Friday",
            "It is no longer true that the cutover is on Friday",
            "We switched, before: cutover is on Friday",
            "Changed from: cutover is on Friday",
            "Actually the cutover is on Friday was wrong",
            "The previous line: cutover is on Friday",
            "Originally the cutover is on Friday",
            "Earlier: cutover is on Friday",
            "Formerly cutover is on Friday",
            "Superseded: cutover is on Friday",
            "It isn't so that the cutover is on Friday",
        ):
            with self.subTest(text):
                self.assertEqual(verdict(FRIDAY, text, extractive=True), "absent")
                elsewhere = text.replace("cutover is on Friday", "x") + ". The cutover is on Friday."
                self.assertEqual(verdict(FRIDAY, elsewhere), "contradicted")

    def test_a_replaced_literal_in_a_sentence_of_replacement_is_not(self):
        text = "Previously the cutover is on Friday."
        self.assertEqual(verdict(FRIDAY, text), "unjudged")
        self.assertEqual(verdict(FRIDAY, text, extractive=True), "absent")

    def test_a_replaced_literal_beside_the_new_one_turned_round_is_for_the_judge(self):
        self.assertEqual(verdict(FRIDAY, "Never say the cutover is on Sunday. The cutover is on Friday."), "unjudged")

    def test_what_only_copies_can_have_left_nothing_else(self):
        self.assertEqual(verdict(PUSH, "Something else.", extractive=True), "absent")

    def test_without_a_judge_the_rest_is_unjudged(self):
        self.assertEqual(verdict(PUSH, "The main branch may be pushed."), "unjudged")

    def test_a_judge_decides_the_rest_from_probe_expect_and_context(self):
        asked = []

        def judge(question):
            asked.append(question)
            return {"verdict": "supported", "answer": "Yes."}

        self.assertEqual(verdict(PUSH, "Pushing is fine.", judge=judge), "supported")
        self.assertEqual((asked[0]["probe"], asked[0]["expect"]), ("May it push?", "Yes."))
        self.assertIn("Pushing is fine.", asked[0]["context"])

    def test_a_verdict_that_is_none_of_the_three_is_unjudged(self):
        for reply in (None, {}, {"verdict": "yes"}, {"verdict": None}, {"verdict": "verbatim"}, "supported", []):
            with self.subTest(reply=reply):
                self.assertEqual(verdict(PUSH, "Else.", judge=lambda _: reply), "unjudged")

    def test_a_context_that_cannot_be_read_is_opaque(self):
        for messages in (
            [],
            [{"role": "user", "content": "do not push to main"}],
            [{"role": "user", "content": "else"}],
        ):
            decision = check(PUSH, HISTORY, {"messages": messages, "opaque": True}, True)
            self.assertEqual((decision["verdict"], decision["key"]), ("opaque", None))

    def test_what_stands_in_the_readable_part_of_an_opaque_context_is_verbatim(self):
        context = {"messages": [{"role": "user", "content": "push to main"}], "opaque": True}
        self.assertEqual(check(PUSH, HISTORY, context, False)["verdict"], "verbatim")
        replaced = {"messages": [{"role": "user", "content": "The cutover is on Friday."}], "opaque": True}
        self.assertEqual(check(FRIDAY, HISTORY, replaced, False)["verdict"], "opaque")  # the rest may correct it

    def test_the_key_changes_with_probe_expected_answer_and_context(self):
        base = {"probe": "p", "expect": "e", "context": "c"}
        keys = {question_key(base | change) for change in ({}, {"probe": "q"}, {"expect": "f"}, {"context": "d"})}
        self.assertEqual(len(keys), 4)

    def test_the_line_shows_the_place(self):
        found = check(
            PUSH, HISTORY, {"messages": [{"role": "user", "content": "One.\nWell, push to main.\nTwo."}]}, True
        )
        self.assertEqual(found["line"], "Well, push to main.")


if __name__ == "__main__":
    unittest.main()
