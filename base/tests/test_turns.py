"""What reading messages as turns could tear apart: a result from its call, a closing text from its turn."""

import unittest

from base.turns import MessageError, after_user, as_turn, history_problem, turn_of
from workbench.tests.made import CHAT


class Turns(unittest.TestCase):
    def test_results_stay_behind_their_call_and_a_text_joins_only_the_call_beside_it(self):
        turn = turn_of(CHAT[1:5])
        self.assertEqual([message["role"] for message in turn["messages"]], ["assistant", "tool"])
        self.assertEqual(turn["assistant"], "The disk is full.")
        first, *_ = turn_of([CHAT[1], {"role": "assistant", "content": "I look."}, *CHAT[2:5]])["messages"]
        self.assertEqual((first["content"], len(first["tool_calls"])), ("I look.", 1))

    def test_a_call_or_a_result_at_its_end_is_the_answer_of_a_turn(self):
        *_, called, result, answer = CHAT[:5]
        for messages, said in (([], ""), ([called], ""), ([called, result], ""), ([result, answer], answer["content"])):
            turn = as_turn("q", messages)
            self.assertEqual((turn["assistant"], turn.get("messages", [])), (said, messages[: -1 if said else None]))

    def test_a_call_without_its_result_passes_behind_another_of_its_id(self):
        twice = {**CHAT[2], "tool_calls": CHAT[2]["tool_calls"] * 2}
        self.assertRaisesRegex(MessageError, "'c1' has no result", turn_of, [CHAT[1], twice, *CHAT[3:5]])
        self.assertEqual(len(turn_of([CHAT[1], twice, CHAT[3], *CHAT[3:5]])["messages"]), 3)
        for messages, problem in (([CHAT[2], CHAT[3], CHAT[3]], "message 3 answers no call of the message before it"),
                                  ([twice, CHAT[3], CHAT[3]], "the call id 'c1' stands twice in the conversation")):
            turn = {"user": "q", "assistant": "", "messages": after_user([CHAT[1], *messages])}
            self.assertIn(problem, history_problem([turn], own_calls=True))
