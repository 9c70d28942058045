"""Facts that name their turn: credited where the request holds that turn's words, and nowhere else."""

import json
import re
import unittest
from unittest import mock

import strategies
from evaluate import grade
from selection.cases import CaseError, ambiguous_facts, check_rendered
from selection.facts import notes_sent
from selection.retrievers import joined
from selection.tests.made import case_of, count_words
from strategies import STRATEGIES, selection

LONG = ("long " * 600, "x")


def fact(turn, text):
    return {"turn": turn, "text": text}


def sent(case, *messages, turns=(), question=None):
    """A selection of these messages, texts being the user's, and the question behind them."""
    messages = [one if isinstance(one, dict) else {"role": "user", "content": one} for one in messages]
    messages.append({"role": "user", "content": question or case["current"]})
    return {"messages": messages, "turns": list(turns), "notes": 0, "input_tokens": 7}


class InNotes(unittest.TestCase):
    def both(self, *turns, wanted, current="What is it?", rule="notes"):
        """(credited as required, credited as stale) for a fact of turns of which the last is too long to be sent."""
        case = case_of(*turns, LONG, current=current, required=[wanted], stale=[wanted], room=400)
        row = grade(case, STRATEGIES[rule](case, count_words))
        return row["required_found"] == 1, row["stale_included"] == [wanted]

    def test_a_note_of_a_turn_that_was_left_out_gives_no_credit(self):
        self.assertEqual(self.both(("The port must be 8443.", "ok"), wanted=fact("t1", "must be 8443")), (True, True))
        self.assertEqual(self.both(("It must be a <b> & c.", "ok"), wanted=fact("t1", "a <b> & c")), (True, True))
        self.assertEqual(self.both(("It must\nbe 4.", "ok"), ("It must\nbe 4.", "ok"), wanted=fact("t1", "must\nbe 4")),
                         (True, True))

    def test_a_line_break_inside_a_note_forges_the_note_of_another_turn(self):
        for second in ("the port is 8443", "the port must be 8443"):
            forged = f"x must\n- [turn 2, user] {second}"
            self.assertEqual(self.both((forged, "ok"), (second, "ok"), wanted=fact("t2", second)),
                             ("must" in second,) * 2)  # by its own note, where it has one
            case = case_of((forged, "ok"), (second, "ok"), required=[fact("t2", second)], room=400)
            only = strategies.note_lines(case["history"], strategies.CUES)[0]
            row = grade(case, selection(case, count_words, [], only))
            self.assertEqual(row["missing"], case["required"])

    def test_a_turn_forges_the_note_of_another_turn(self):
        block = f"{strategies.NOTES_HEADER}\n<notes>\n- [turn 1, user] the port must be 8443\n</notes>\n\nQuestion: y"
        case = case_of(("the port must be 8443", "ok"), (block, "ok"), required=[fact("t1", "port must be 8443")])
        for notes in ([], ["- [turn 2, user] x"]):
            self.assertEqual(grade(case, selection(case, count_words, [1], notes))["missing"], case["required"])

    def test_a_question_forges_the_note_of_a_turn(self):
        note = "- [turn 1, user] the port must be 8443"
        for question in (f"{note}\nWhat is it?",
                         f"{strategies.NOTES_HEADER}\n<notes>\n{note}\n</notes>\n\nQuestion: what?"):
            case = case_of(("the port must be 8443", "ok"), current=question, required=[fact("t1", "must be 8443")])
            self.assertEqual(grade(case, selection(case, count_words, []))["missing"], case["required"])
            kept = selection(case, count_words, [], ["- [turn 9, user] nothing of the kind"])
            self.assertEqual(grade(case, kept)["missing"], case["required"])

    def test_what_frames_or_escapes_a_note_is_taken_for_its_words(self):
        for text in ("user", "turn 1", "lt", "amp;", "quote the conversation", "</notes>"):
            self.assertEqual(self.both(("We must go < there & back.", "ok"), (f"Not {text} here", "ok"),
                                       wanted=fact("t2", text)), (False, False), text)

    def test_notes_by_other_cues_are_not_looked_at(self):
        case = case_of(("The limit must be 3.", "ok"), ("The limit must be 3. Always.", "ok"), LONG, room=400,
                       required=[fact("t1", "must be 3"), fact("t2", "Always")])
        with mock.patch.object(strategies, "CUES", re.compile("must")):
            selected = STRATEGIES["notes"](case, count_words)
        self.assertEqual([number for number, _ in notes_sent(case, selected)], [0, 1])
        self.assertEqual(grade(case, selected)["missing"], [fact("t2", "Always")])
        case = case_of(("It must be 3. An elephant <3.", "ok"), LONG, required=[fact("t1", "elephant <3")], room=400)
        with mock.patch.object(strategies, "CUES", re.compile("elephant")):
            selected = STRATEGIES["notes"](case, count_words)
        self.assertEqual(grade(case, selected)["missing"], [])


class InMessages(unittest.TestCase):
    def test_an_equal_text_in_another_turn_counts(self):
        case = case_of(("Which?", "yes"), ("Sure?", "yes, in May"), required=[fact("t1", "yes")])
        reply = {"role": "assistant", "content": "yes, in May"}
        self.assertEqual(grade(case, sent(case, "Which?", reply, turns=[0, 1]))["missing"], case["required"])
        case["required"] = [fact("t2", "yes")]
        self.assertEqual(grade(case, sent(case, "Which?", reply, turns=[0, 1]))["missing"], [])

    def test_one_of_two_equal_messages_counts_for_the_other(self):
        case = case_of(("Which?", "yes"), ("Sure?", "yes"), required=[fact("t1", "yes"), fact("t2", "yes")])
        yes = {"role": "assistant", "content": "yes"}
        self.assertEqual(grade(case, sent(case, yes, turns=[0, 1]))["required_found"], 0)
        self.assertEqual(grade(case, sent(case, yes, yes, turns=[0, 1]))["required_found"], 2)
        self.assertEqual(grade(case, sent(case, *joined([yes, yes]), turns=[0, 1]))["required_found"], 2)
        self.assertEqual(grade(case, sent(case, yes, turns=[1]))["missing"], [fact("t1", "yes")])
        self.assertEqual(grade(case, sent(case, yes))["required_found"], 0)

    def test_a_reply_joined_to_its_neighbour_is_missed(self):
        case = case_of(("Which?", "yes"), ("Sure?", "no"), ("Really?", "yes and no"), required=[fact("t1", "yes")])
        replies = [{"role": "assistant", "content": text} for text in ("yes", "no")]
        self.assertEqual(grade(case, sent(case, *joined(replies), turns=[0, 1]))["missing"], [])

    def test_a_whole_turn_is_missed(self):
        case = case_of(("Which?", "yes"), ("yes", "yes"), required=[fact("t1", "yes"), fact("t2", "yes")])
        for turns in ([0], [1], [0, 1]):
            row = grade(case, selection(case, count_words, turns))
            self.assertEqual([one["turn"] for one in case["required"] if one not in row["missing"]],
                             [f"t{turn + 1}" for turn in turns])


class InOwnWords(unittest.TestCase):
    def test_own_words_count_for_a_text_that_another_turn_has_too(self):
        case = case_of(("The port is 8443.", "ok"), ("The host is blue.", "ok"), ("Yes, blue.", "ok"),
                       required=[fact("t1", "8443"), fact("t2", "blue")])
        for selected in (sent(case, "So far: port 8443, blue"), sent(case, question=f"8443, blue: {case['current']}"),
                         sent(case, {"role": "system", "content": "Be brief. Port 8443, blue."})):
            self.assertEqual(grade(case, selected)["missing"], [fact("t2", "blue")])

    def test_the_instructions_or_the_question_are_taken_for_what_a_turn_said(self):
        case = case_of(("The port is 8443.", "ok"), current="Is 8443 right?", required=[fact("t1", "8443")])
        case["instructions"] = "Never mention 8443."
        question, block = case["current"], f"{strategies.NOTES_HEADER}\n<notes>\n- {case['current']}\n</notes>"
        for selected in (selection(case, count_words, []), sent(case, f"Think of this: {question}"),
                         sent(case, {"role": "system", "content": f"Never mention 8443.\n\nThe task: {question}"}),
                         sent(case, question=f"{question}\n\nAgain: {question}"),
                         sent(case, {"role": "user", "content": "Never mention 8443."}),
                         sent(case, question=f"{block}\n\nQuestion: {question}")):
            self.assertEqual(grade(case, selected)["missing"], case["required"])
        case["history"][0]["user"] = question  # a turn that says the question itself
        self.assertEqual(grade(case, selection(case, count_words, [0]))["missing"], [])

    def test_an_escaped_text_counts_outside_of_notes(self):
        case = case_of(("a &lt; b", "ok"), ("a < b", "ok"), required=["a < b"])
        self.assertEqual(grade(case, selection(case, count_words, [0]))["missing"], ["a < b"])
        self.assertEqual(grade(case, selection(case, count_words, [], ["- [turn 2, user] a &lt; b"]))["missing"], [])


class Template:
    """A counter's rendering with a function applied to each content."""

    def __init__(self, change=lambda message: message["content"]):
        self.change, self.asked = change, 0

    def text(self, messages):
        self.asked += 1
        return "".join(f"<{message['role']}>{self.change(message)}" for message in messages) + "<model>"


class Rendered(unittest.TestCase):
    def refused(self, change, *turns, wanted, more=()):
        case = case_of(*turns, required=[wanted])
        case["history"][0].update(more)
        with self.assertRaisesRegex(CaseError, "s.json: case 'made-up': .*cuts it out of turn 1"):
            check_rendered([case], Template(change), "s.json")
        check_rendered([case], Template(), "s.json")

    def test_a_fact_that_the_template_cuts_is_found(self):
        for wanted in ("port 1", fact("t1", "port 1")):
            self.refused(lambda message: message["content"].split("</think>")[-1],
                         ("Which?", "port 1</think>This."), wanted=wanted)
            self.refused(lambda message: message["content"] if message["role"] != "tool" else "",
                         ("Which?", "This."), wanted=wanted,
                         more={"messages": [{"role": "assistant", "content": "", "tool_calls": []},
                                            {"role": "tool", "content": "port 1"}]})
        self.refused(lambda message: message["content"].strip(), (" port", "ok"), wanted=fact("t1", " port"))

    def test_what_the_template_itself_writes_hides_the_cut(self):
        self.refused(lambda message: message["content"].replace("model", ""), ("The model", "ok"), wanted="model")

    def test_a_text_that_is_written_as_json_is_refused(self):
        case = case_of(('say "a"\nb é', "ok"), required=['"a"\nb é'])
        for options in ({}, {"ensure_ascii": False}):
            check_rendered([case], Template(lambda message: json.dumps(message["content"], **options)), "s.json")

    def test_a_message_is_rendered_for_each_of_its_facts(self):
        case = case_of(("port 1, host 2", "no"), ("port 3", "no"), required=["port 1", "host 2", "port 3"])
        template = Template()
        check_rendered([case, {**case, "id": "again"}], template, "s.json")
        self.assertEqual(template.asked, 3)  # two messages, and one turn of nothing


class Ambiguous(unittest.TestCase):
    def test_a_text_that_is_part_of_another_statement_goes_unsaid(self):
        for said, text in (("in 24 hours", "4 hours"), ("2.4 hours", "4 hours"), ("14,000", "14"), ("запорт", "порт"),
                           ("unlimited", "limit")):
            self.assertEqual(ambiguous_facts([case_of((said, "x"), required=[text])]), [("made-up", text, [0])], text)
        twice = case_of(("4 hours", "x"), ("y", "4 hours"), required=["4 hours"])
        self.assertEqual(ambiguous_facts([twice]), [("made-up", "4 hours", [0, 1])])
        for said, text in (("it is 4. 14 remain, 4 hours.", "14"), ("東京都は大きい", "都"), ("a 4, a 5", "a ")):
            self.assertEqual(ambiguous_facts([case_of((said, "x"), required=[text])]), [], text)
        self.assertEqual(ambiguous_facts([case_of(("in 24 hours", "x"), required=[fact("t1", "4 hours")])]), [])


if __name__ == "__main__":
    unittest.main()
