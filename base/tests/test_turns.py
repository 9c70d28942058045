"""What reading messages as turns could tear apart: a result from its call, a closing text from its turn."""

import unittest

from workbench.tests.made import CHAT

from base.turns import turn_of


class Turns(unittest.TestCase):
    def test_results_stay_behind_their_call_and_the_closing_text_apart(self):
        turn = turn_of(CHAT[1:5])
        self.assertEqual([message["role"] for message in turn["messages"]], ["assistant", "tool"])
        self.assertEqual(turn["assistant"], "The disk is full.")

    def test_a_text_before_a_call_joins_it_only_where_they_stand_side_by_side(self):
        first, *_ = turn_of([CHAT[1], {"role": "assistant", "content": "I look."}, *CHAT[2:5]])["messages"]
        self.assertEqual((first["content"], len(first["tool_calls"])), ("I look.", 1))


if __name__ == "__main__":
    unittest.main()
