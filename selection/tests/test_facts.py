"""Facts that name their turn: credited where the request holds that turn's words, and nowhere else."""

import json
import re
import unittest
from unittest import mock

import strategies
from base.tests.made import named_cases
from evaluate import grade
from selection.cases import CaseError, ambiguous_facts, check_rendered
from selection.tests.made import Template, case_of, count

LONG = ("long " * 600, "x")  # a last turn that is never sent


def fact(said):
    """A fact as it stands, or written as [turn, text]."""
    return said if isinstance(said, str) else {"turn": said[0], "text": said[1]}


def request_of(case, turns=(), notes=(), messages=None, question=None, rule=None, cues=None):
    """What a rule selects, by other cues where given; or these turns and notes; or these messages and a question."""
    if rule:
        with mock.patch.object(strategies, "CUES", re.compile(cues) if cues else strategies.CUES):
            return strategies.STRATEGIES[rule](case, count)
    selected = strategies.selection(case, count, turns, notes)
    if messages is not None:
        messages = [*messages, ("user", question or case["current"])]
        selected["messages"] = [{"role": role, "content": content} for role, content in messages]
    return selected


class Facts(unittest.TestCase):
    def test_a_fact_is_credited_that_the_request_does_not_hold_or_one_that_it_holds_is_missed(self):
        for row in named_cases(__file__, "fact-cases.json"):
            facts = list(map(fact, row["required"]))
            case = case_of(*row["turns"], LONG, required=facts, stale=facts, room=400)
            case |= {field: row[field] for field in ("instructions", "current") if field in row}
            for request in row["requests"]:
                with self.subTest(row["name"], request=request):
                    credited = [facts[number] for number in request.pop("credited")]
                    graded = grade(case, request_of(case, **request))
                    self.assertEqual([fact for fact in facts if fact not in graded["missing"]], credited)
                    self.assertEqual(graded["stale_included"], credited)

    def test_a_fact_that_the_template_cuts_is_found(self):
        tool = {"user": "Which?", "assistant": "This.", "messages": [
            {"role": "assistant", "content": "", "tool_calls": []}, {"role": "tool", "content": "port 1"}]}
        for change, turn, text in (
                (lambda message: message["content"].split("</think>")[-1], ("Which?", "port 1</think>This."), "port 1"),
                (lambda message: message["content"] * (message["role"] != "tool"), tool, "port 1"),
                (lambda message: message["content"].strip(), " port", " port"),
                (lambda message: message["content"].replace("model", ""), "The model", "model")):
            for wanted in text, fact(("t1", text)):
                case = case_of(turn, required=[wanted])
                with self.assertRaisesRegex(CaseError, "s.json: case 'made-up': .*cuts it out of turn 1"):
                    check_rendered([case], Template(change), "s.json")
                check_rendered([case], Template(), "s.json")

    def test_a_text_that_is_written_as_json_is_refused(self):
        case = case_of('say "a"\nb é', required=['"a"\nb é'])
        for options in {}, {"ensure_ascii": False}:
            check_rendered([case], Template(lambda message: json.dumps(message["content"], **options)), "s.json")

    def test_a_message_is_rendered_for_each_of_its_facts(self):
        case = case_of(("port 1, host 2", "no"), ("port 3", "no"), required=["port 1", "host 2", "port 3"])
        template = Template()
        check_rendered([case, {**case, "id": "again"}], template, "s.json")
        self.assertEqual(template.asked, 3)  # two messages, and one turn of nothing

    def test_a_text_that_is_part_of_another_statement_goes_unsaid(self):
        for turns, text, told in (
                ("in 24 hours", "4 hours", [0]), ("2.4 hours", "4 hours", [0]), ("14,000", "14", [0]),
                ("запорт", "порт", [0]), ("unlimited", "limit", [0]), ("4 hours|y 4 hours", "4 hours", [0, 1]),
                ("it is 4. 14 remain, 4 hours.", "14", None), ("東京都は大きい", "都", None), ("a 4, a 5", "a ", None),
                ("in 24 hours", fact(("t1", "4 hours")), None)):
            case = case_of(*turns.split("|"), required=[text])
            self.assertEqual(ambiguous_facts([case]), [("made-up", text, told)] if told else [], turns)
