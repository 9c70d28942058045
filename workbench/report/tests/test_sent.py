"""What a cell could show that was not sent: another request, a fact marked where it is not, text cut silently."""

import unittest
from unittest import mock

from selection.tests.made import count_words
from strategies import notes
from workbench.report.__main__ import filled
from workbench.report.sent import mark_parts, request_view, shorten
from workbench.report.tests.made import ALL, CASE
from workbench.report.view import evaluation_section
from workbench.tests.made import report, row


def view(strategy="recent", count=count_words, case=CASE, **changes):
    made = {**row("one", total=1), "turns": [0, 1], "input_tokens": 14, "stale_included": ["Now 8080"], **changes}
    return request_view(case, strategy, made, count)


class Requests(unittest.TestCase):
    def test_the_request_of_a_row_is_shown_with_found_and_stale_facts_marked(self):
        messages = view()["messages"]
        self.assertEqual([message["role"] for message in messages],
                         ["system", "turn 1, user", "turn 1, assistant", "turn 2, user", "question"])
        self.assertEqual([(part["mark"], part["text"]) for part in messages[1]["parts"]],
                         [(None, "The port is "), ("found", "80 & no"), (None, " other.")])
        self.assertEqual(messages[3]["parts"][0], {"mark": "stale", "text": "Now 8080"})

    def test_notes_are_made_again_by_their_rule_and_checked(self):
        case = {**CASE, "history": [{"user": "We must use port 80 & no other.", "assistant": "long " * 2000}]}
        chosen = notes(case, count_words)
        recorded = {key: chosen[key] for key in ("turns", "notes", "input_tokens")}
        self.assertEqual(chosen["notes"], 1)
        self.assertIn({"mark": "found", "text": "80 &amp; no"},
                      view("notes", case=case, **recorded)["messages"][-1]["parts"])
        self.assertIn("problem", view("notes", None, case, **recorded))

    def test_what_costs_other_than_recorded_or_is_a_users_own_rule_is_not_shown(self):
        self.assertIn("problem", view(input_tokens=15))
        with mock.patch("workbench.report.sent.find_selector", side_effect=AssertionError("it was run")):
            for name in ("/nowhere/gone.py:select", "nowhere:select"):
                self.assertIn("for safety", view(name, notes=1)["problem"])
        self.assertNotIn("for safety", view("gone", notes=1)["problem"])

    def test_a_request_that_does_not_give_its_row_shows_the_disagreement(self):
        self.assertEqual(view()["disagreement"], "")
        self.assertEqual(view(missing=["80 & no"], required_found=0, stale_included=[])["disagreement"],
                         "missing: recorded 80 & no; now none; stale_included: recorded none; now Now 8080; "
                         "required_found: recorded 0; now 1")
        requests = {(None, "recent", "one"): view(stale_included=[])}
        page = filled([evaluation_section("r", report(row("one")), ALL, requests)])
        self.assertIn("does not give the recorded row: stale_included: recorded none; now Now 8080.", page)

    def test_marks_do_not_overlap_and_lose_no_character(self):
        text = "aabbccdd aabb"
        for marks, first in (([("found", "aabb"), ("stale", "bbcc")], "aabb"), ([("stale", "zz")], text),
                             ([("found", "aa"), ("found", "aabbcc")], "aabbcc")):
            parts = mark_parts(text, marks)
            self.assertEqual(("".join(part["text"] for part in parts), parts[0]["text"]), (text, first))

    def test_a_long_stretch_is_cut_in_the_middle_and_says_so_but_never_a_fact(self):
        parts = shorten([{"mark": None, "text": "x" * 5000}, {"mark": "found", "text": "y" * 5000}])
        self.assertEqual([part["mark"] for part in parts], [None, "cut", None, "found"])
        self.assertIn("4,200", parts[1]["text"])
        self.assertEqual(len(parts[3]["text"]), 5000)
