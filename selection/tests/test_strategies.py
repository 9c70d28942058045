"""The four rules against their text, written down plainly: what is taken, what is skipped, and in which order."""

import random
import re
import unittest

import strategies
from selection.tests.made import case_of, count
from strategies import STRATEGIES, render


class Rules(unittest.TestCase):
    def test_words_are_stemmed(self):
        self.assertEqual(strategies.words("The Passwords, for 14-days!"), {"passwords", "14", "days"})

    def test_an_empty_history_breaks_a_strategy(self):
        for name, select in STRATEGIES.items():
            self.assertEqual(select(case_of(), count)["turns"], [], name)

    def test_chosen_turns_are_rendered_out_of_order_or_tool_calls_apart_from_their_turn(self):
        call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls", "arguments": {}}}]}
        tool = {"role": "tool", "content": "a b"}
        case = case_of({"user": "one", "assistant": "1", "messages": [call, tool]}, ("two", "2"), ("three", "3"))
        said = [(message["role"], message["content"]) for message in render(case, [2, 0])]
        self.assertEqual(said, [("system", "Be brief."), ("user", "one"), ("assistant", ""), ("tool", "a b"),
                                ("assistant", "1"), ("user", "three"), ("assistant", "3"), ("user", "What is it?")])

    def test_a_rule_chooses_other_turns_or_notes_than_its_text_says(self):
        rng, parts = random.Random(4), "Must limit never! port\nhost  port. <a> & Port? the of 14".split(" ")
        for _ in range(200):
            question, *said = (" ".join(rng.choices(parts, k=rng.choice((2, 3, 9, 40)))) for _ in range(15))
            turns = list(zip(said[::2], said[1::2]))[: rng.randint(1, 7)]
            case = case_of(*turns, current=question, room=rng.randint(50, 200))
            for name, select in STRATEGIES.items():
                selected = select(case, count)
                turns, notes = as_published(name, case)
                self.assertEqual((selected["turns"], selected["messages"]), (turns, render(case, turns, notes)), name)


def as_published(name, case):
    """(turns, notes) that a rule of strategies.py has to choose, written as its text reads: every candidate counted."""
    history, room = case["history"], strategies.available(case)

    def cost(turns, notes=()):
        return count(render(case, turns, notes))

    def taken(order, room=room, stop=False):
        turns = []
        for number in order:
            if cost([*turns, number]) <= room:
                turns.append(number)
            elif stop:
                break
        return turns

    shared = [len(strategies.words(case["current"]) & strategies.words(f"{turn['user']} {turn['assistant']}"))
              for turn in history]
    newest = range(len(history) - 1, -1, -1)
    ranked = sorted((number for number in newest if shared[number]), key=lambda number: (-shared[number], -number))
    if name != "notes":
        order = {"recent": newest, "relevant": ranked, "hybrid": [newest[0], *ranked]}[name]
        return sorted(taken(dict.fromkeys(order), stop=name == "recent")), []
    turns, notes = taken(newest, room - 64, stop=True), []
    lines = [f"- [turn {number + 1}, {role}] {strategies.escape(sentence)}"
             for number in range(len(history)) if number not in turns
             for role in ("user", "assistant")
             for sentence in re.split(r"(?<=[.!?])\s+", history[number][role].strip())
             if re.search(r"\b(must|limit|never)\b", sentence, re.IGNORECASE)]
    for line in reversed(list(dict.fromkeys(lines))):
        if cost(turns, [line, *notes]) > room:
            break
        notes.insert(0, line)
    return sorted(turns), notes
