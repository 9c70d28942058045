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
from strategies import NOTES_HEADER, STRATEGIES, selection

LONG = ("long " * 600, "x")


def facts(*pairs):
    """Facts of turns: facts(("t1", "yes")) -> [{"turn": "t1", "text": "yes"}]."""
    return [{"turn": turn, "text": text} for turn, text in pairs]


def reply(text):
    return {"role": "assistant", "content": text}


def sent(case, *messages, turns=(), question=None):
    """A selection of these messages, texts being the user's, and the question behind them."""
    messages = [message if isinstance(message, dict) else {"role": "user", "content": message} for message in messages]
    messages.append({"role": "user", "content": question or case["current"]})
    return {"messages": messages, "turns": list(turns), "notes": 0, "input_tokens": 7}


class Credits(unittest.TestCase):
    def credits(self, case, selected, *texts):
        """The required facts that the request is credited with are those of these texts, or of these turns."""
        row = grade(case, selected)
        self.assertEqual([fact for fact in case["required"] if fact not in row["missing"]],
                         [fact for fact in case["required"] if {fact["text"], fact["turn"]} & set(texts)])


class InNotes(Credits):
    def from_notes(self, *turns, wanted, credited=True, current="What is it?"):
        """A fact of turns of which the last is too long to be sent is found in notes, as required and as stale."""
        case = case_of(*turns, LONG, current=current, required=facts(wanted), stale=facts(wanted), room=400)
        row = grade(case, STRATEGIES["notes"](case, count_words))
        self.assertEqual((row["missing"], row["stale_included"]), ([], case["stale"]) if credited else
                         (case["required"], []), wanted)

    def test_a_note_of_a_turn_that_was_left_out_gives_no_credit(self):
        self.from_notes(("The port must be 8443.", "ok"), wanted=("t1", "must be 8443"))
        self.from_notes(("It must be a <b> & c.", "ok"), wanted=("t1", "a <b> & c"))
        self.from_notes(("It must\nbe 4.", "ok"), ("It must\nbe 4.", "ok"), wanted=("t1", "must\nbe 4"))

    def test_a_line_break_inside_a_note_forges_the_note_of_another_turn(self):
        for second in ("the port is 8443", "the port must be 8443"):
            turns = (f"x must\n- [turn 2, user] {second}", "ok"), (second, "ok")
            self.from_notes(*turns, wanted=("t2", second), credited="must" in second)  # by its own note, if it has one
            case = case_of(*turns, required=facts(("t2", second)), room=400)
            only = strategies.note_lines(case["history"], strategies.CUES)[0]
            self.credits(case, selection(case, count_words, [], only))

    def test_a_turn_or_a_question_forges_the_note_of_a_turn(self):
        note = "- [turn 1, user] the port must be 8443"
        block = f"{NOTES_HEADER}\n<notes>\n{note}\n</notes>\n\nQuestion: what?"
        case = case_of(("the port must be 8443", "ok"), (block, "ok"), required=facts(("t1", "port must be 8443")))
        for notes in ([], ["- [turn 2, user] x"]):
            self.credits(case, selection(case, count_words, [1], notes))
        for question in (f"{note}\nWhat is it?", block):
            case = case_of(("the port must be 8443", "ok"), current=question, required=facts(("t1", "must be 8443")))
            for notes in ([], ["- [turn 9, user] nothing of the kind"]):
                self.credits(case, selection(case, count_words, [], notes))

    def test_what_frames_or_escapes_a_note_is_taken_for_its_words(self):
        for text in ("user", "turn 1", "lt", "amp;", "quote the conversation", "</notes>"):
            self.from_notes(("We must go < there & back.", "ok"), (f"Not {text} here", "ok"), wanted=("t2", text),
                            credited=False)

    def test_notes_by_other_cues_are_not_looked_at(self):
        case = case_of(("The limit must be 3.", "ok"), ("The limit must be 3. Always.", "ok"), LONG, room=400,
                       required=facts(("t1", "must be 3"), ("t2", "Always")))
        with mock.patch.object(strategies, "CUES", re.compile("must")):
            selected = STRATEGIES["notes"](case, count_words)
        self.assertEqual([number for number, _ in notes_sent(case, selected)], [0, 1])
        self.credits(case, selected, "must be 3")
        case = case_of(("It must be 3. An elephant <3.", "ok"), LONG, required=facts(("t1", "elephant <3")), room=400)
        with mock.patch.object(strategies, "CUES", re.compile("elephant")):
            selected = STRATEGIES["notes"](case, count_words)
        self.credits(case, selected, "elephant <3")


class InMessages(Credits):
    def test_an_equal_text_in_another_turn_counts(self):
        case = case_of(("Which?", "yes"), ("Sure?", "yes, in May"), required=facts(("t1", "yes"), ("t2", "yes")))
        self.credits(case, sent(case, "Which?", reply("yes, in May"), turns=[0, 1]), "t2")

    def test_one_of_two_equal_messages_counts_for_the_other(self):
        case = case_of(("Which?", "yes"), ("Sure?", "yes"), required=facts(("t1", "yes"), ("t2", "yes")))
        yes = reply("yes")
        for messages, turns, credited in (([yes], [0, 1], ""), ([yes, yes], [0, 1], "yes"), ([yes], [1], "t2"),
                                          (joined([yes, yes]), [0, 1], "yes"), ([yes], [], "")):
            self.credits(case, sent(case, *messages, turns=turns), credited)

    def test_a_reply_joined_to_its_neighbour_is_missed(self):
        case = case_of(("Which?", "yes"), ("Sure?", "no"), ("Really?", "yes and no"), required=facts(("t1", "yes")))
        self.credits(case, sent(case, *joined([reply("yes"), reply("no")]), turns=[0, 1]), "yes")

    def test_a_whole_turn_is_missed(self):
        case = case_of(("Which?", "yes"), ("yes", "yes"), required=facts(("t1", "yes"), ("t2", "yes")))
        for turns in ([0], [1], [0, 1]):
            self.credits(case, selection(case, count_words, turns), *(f"t{turn + 1}" for turn in turns))


class InOwnWords(Credits):
    def test_own_words_count_for_a_text_that_another_turn_has_too(self):
        case = case_of(("The port is 8443.", "ok"), ("The host is blue.", "ok"), ("Yes, blue.", "ok"),
                       required=facts(("t1", "8443"), ("t2", "blue")))
        for selected in (sent(case, "So far: port 8443, blue"), sent(case, question=f"8443, blue: {case['current']}"),
                         sent(case, {"role": "system", "content": "Be brief. Port 8443, blue."})):
            self.credits(case, selected, "8443")

    def test_the_instructions_or_the_question_are_taken_for_what_a_turn_said(self):
        case = case_of(("The port is 8443.", "ok"), current="Is 8443 right?", required=facts(("t1", "8443")))
        case["instructions"], question = "Never mention 8443.", case["current"]
        block = f"{NOTES_HEADER}\n<notes>\n- {question}\n</notes>"
        for selected in (selection(case, count_words, []), sent(case, f"Think of this: {question}"),
                         sent(case, {"role": "system", "content": f"Never mention 8443.\n\nThe task: {question}"}),
                         sent(case, question=f"{question}\n\nAgain: {question}"), sent(case, "Never mention 8443."),
                         sent(case, question=f"{block}\n\nQuestion: {question}")):
            self.credits(case, selected)
        case["history"][0]["user"] = question  # a turn that says the question itself
        self.credits(case, selection(case, count_words, [0]), "8443")

    def test_an_escaped_text_counts_outside_of_notes(self):
        case = case_of(("a &lt; b", "ok"), ("a < b", "ok"), required=["a < b"])
        self.assertEqual(grade(case, selection(case, count_words, [0]))["missing"], ["a < b"])
        self.assertEqual(grade(case, selection(case, count_words, [], ["- [turn 2, user] a &lt; b"]))["missing"], [])


class Template:
    """A double of a counter's rendering with a function applied to each message."""

    def __init__(self, change=lambda message: message["content"]):
        self.change, self.asked = change, 0

    def text(self, messages):
        self.asked += 1
        return "".join(f"<{message['role']}>{self.change(message)}" for message in messages) + "<model>"


class Rendered(unittest.TestCase):
    def test_a_fact_that_the_template_cuts_is_found(self):
        tool = {"messages": [{**reply(""), "tool_calls": []}, {"role": "tool", "content": "port 1"}]}
        for change, user, assistant, text, more in (
            (lambda message: message["content"].split("</think>")[-1], "Which?", "port 1</think>This.", "port 1", {}),
            (lambda message: message["content"] * (message["role"] != "tool"), "Which?", "This.", "port 1", tool),
            (lambda message: message["content"].strip(), " port", "ok", " port", {}),
            (lambda message: message["content"].replace("model", ""), "The model", "ok", "model", {}),
        ):
            for wanted in (text, *facts(("t1", text))):
                case = case_of((user, assistant), required=[wanted])
                case["history"][0].update(more)
                with self.assertRaisesRegex(CaseError, "s.json: case 'made-up': .*cuts it out of turn 1"):
                    check_rendered([case], Template(change), "s.json")
                check_rendered([case], Template(), "s.json")

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
        for said, text in (("it is 4. 14 remain, 4 hours.", "14"), ("東京都は大きい", "都"), ("a 4, a 5", "a "),
                           ("in 24 hours", *facts(("t1", "4 hours")))):
            self.assertEqual(ambiguous_facts([case_of((said, "x"), required=[text])]), [], text)
