"""Proposals and decisions: what a person decided is kept, and nothing is proposed twice."""

import io
import json
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

from compaction import annotate
from compaction.classify import TUNED_ON, classify
from compaction.fixtures import CLASSES, load_fixtures

ROOT = Path(__file__).parent.parent


def found_in(user="Hello there.", assistant="Fine.", later=()):
    history = [{"user": user, "assistant": assistant}, *({"user": text, "assistant": "Fine."} for text in later)]
    return [(one["class"], one["role"], one["text"]) for one in classify(history)]


class Rules(unittest.TestCase):
    def test_each_class_is_found_in_its_plain_form(self):
        self.assertIn(("constraint", "user", "Never restart the primary."), found_in("Never restart the primary."))
        self.assertIn(("constraint", "user", "The cap is 12 runners."), found_in("The cap is 12 runners."))
        self.assertIn(
            ("commitment", "assistant", "I'll send the report on Monday."),
            found_in(assistant="I'll send the report on Monday."),
        )
        self.assertIn(
            ("open_question", "user", "Should we keep the old queue or drop it?"),
            found_in("Should we keep the old queue or drop it?"),
        )
        self.assertIn(
            ("reference", "user", "Work on fix/route-tree please."), found_in("Work on fix/route-tree please.")
        )

    def test_a_hedged_approval_is_a_constraint(self):
        text = "Merging is fine with me, but only once Dana has looked at it."
        self.assertIn(("constraint", "user", text), found_in(text))

    def test_who_asks_does_not_bind(self):
        self.assertNotIn("constraint", [one[0] for one in found_in("Must we always do that by hand or not?")])

    def test_a_question_that_a_later_turn_answers_is_not_open(self):
        question = "Should we keep the old queue or drop it?"
        self.assertNotIn("open_question", [one[0] for one in found_in(question, later=["We drop the old queue."])])
        asked_again = found_in(question, later=["What, keep the old queue or drop it?"])
        self.assertIn("open_question", [one[0] for one in asked_again])

    def test_a_name_is_proposed_where_it_first_stands(self):
        history = [
            {"user": "Ticket OPS-12 is yours.", "assistant": "ok"},
            {"user": "How is OPS-12?", "assistant": "ok"},
        ]
        self.assertEqual([one["turn"] for one in classify(history) if one["class"] == "reference"], [1])

    def test_a_long_listing_binds_nobody(self):
        self.assertEqual(found_in("must " * 100), [])

    def test_recall_and_precision_are_measured_on_both_halves_and_hold(self):
        measured = annotate.measure(load_fixtures())
        self.assertEqual(set(measured["tuned"]["conversations"]), set(TUNED_ON))
        self.assertFalse(set(measured["held_out"]["conversations"]) & set(TUNED_ON))
        self.assertGreaterEqual(len(measured["held_out"]["conversations"]), 5)
        for name in ("constraint", "commitment", "open_question"):
            one = measured["held_out"]["classes"][name]
            self.assertGreaterEqual(one["found"], 0.7 * one["items"], name)


    def test_the_readme_shows_what_is_measured(self):
        measured = annotate.measure(load_fixtures())
        halves = [measured[half]["classes"] for half in ("tuned", "held_out")]
        readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
        for name in CLASSES:
            recall = [f"{half[name]['found']} of {half[name]['items']}" for half in halves]
            precision = [f"{half[name]['right']} of {half[name]['proposals']}" for half in halves]
            self.assertIn(" | ".join(["| " + name.replace("_", " "), *recall, *precision]), readme)


class Annotating(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.fixture, self.rejected = self.folder / "small.json", self.folder / "small.rejected.jsonl"
        history = [
            {"user": "Do not push to main. The cap is 12 runners.", "assistant": "I'll write it on Monday."},
            {"user": "Go on.", "assistant": "Done."},
        ]
        self.conversation = {"conversation_id": "small", "history": history, "compactions": 2}

    def decide(self, *answers):
        """Review a fresh draft with these typed lines; (nothing is left open, what was shown)."""
        lines, out = list(answers), io.StringIO()
        draft = annotate.propose(self.conversation, annotate.read_rejected(self.rejected))
        with redirect_stdout(out):
            done = annotate.review(draft, self.fixture, self.rejected, lambda prompt: lines.pop(0))
        return done, out.getvalue()

    def test_a_confirmed_item_goes_to_a_fixture_that_loads(self):
        self.decide("c", "May it push?", "No.", "q")
        (fixture,) = load_fixtures([self.fixture])
        self.assertEqual(
            fixture["must_survive"],
            [
                {
                    "id": "small-01",
                    "class": "constraint",
                    "turn": 1,
                    "literal": "Do not push to main.",
                    "probe": "May it push?",
                    "expect": "No.",
                }
            ],
        )
        self.assertEqual(fixture["compactions_expected"], 2)

    def test_an_edited_item_has_the_persons_words(self):
        self.decide("e", "Do not push to main", "", "May it push?", "No.", "q")
        self.assertEqual(load_fixtures([self.fixture])[0]["must_survive"][0]["literal"], "Do not push to main")

    def test_a_rejected_proposal_is_kept_and_not_proposed_again(self):
        _, first = self.decide("r", "q")
        self.assertIn("Do not push to main.", first)
        self.assertEqual(json.loads(self.rejected.read_text())["literal"], "Do not push to main.")
        _, again = self.decide("q")
        self.assertNotIn("Do not push to main.", again)

    def test_a_confirmed_item_is_not_asked_again_and_a_skipped_one_is(self):
        self.decide("c", "May it push?", "No.", "s", "q")
        _, again = self.decide("q")
        self.assertNotIn("Do not push to main.", again)
        self.assertIn("The cap is 12 runners.", again)

    def test_says_when_nothing_is_left_open(self):
        self.assertTrue(self.decide("r", "r", "r")[0])
        self.assertFalse(Path(self.fixture).exists())

    def test_a_fixture_of_another_conversation_is_left_alone(self):
        self.decide("c", "May it push?", "No.", "q")
        before = self.fixture.read_bytes()
        self.conversation["history"][1]["user"] = "Changed."
        with self.assertRaisesRegex(ValueError, "another version"):
            self.decide("q")
        self.assertEqual(self.fixture.read_bytes(), before)

    def test_what_the_loader_refuses_is_not_taken_and_loses_nothing(self):
        self.decide("c", "May it push?", "No.", "c", "no question", "No.", "q")
        self.assertEqual(len(load_fixtures([self.fixture])[0]["must_survive"]), 1)

    def test_answers_that_end_early_keep_what_was_decided(self):
        lines = iter(["c", "May it push?", "No."])
        draft = annotate.propose(self.conversation)
        with redirect_stdout(io.StringIO()), self.assertRaises(StopIteration):
            annotate.review(draft, self.fixture, self.rejected, lambda prompt: next(lines))
        self.assertEqual(len(load_fixtures([self.fixture])[0]["must_survive"]), 1)

    def test_a_file_that_is_no_fixture_or_no_draft_is_refused_before_anything_is_asked(self):
        draft = annotate.propose(self.conversation)
        path = self.folder / "draft.json"
        for wrong in ([], {}, {"conversation_id": "small"}, {**draft, "must_survive": []}, "text"):
            self.fixture.write_text(json.dumps(wrong))
            with self.subTest(fixture=wrong), self.assertRaises(ValueError):
                annotate.review(draft, self.fixture, self.rejected, lambda prompt: self.fail("was asked"))
        for wrong in (
            [],
            {**draft, "proposals": {}},
            {**draft, "proposals": [1]},
            {**draft, "proposals": [{**draft["proposals"][0], "turn": "1"}]},
            {**draft, "history": [{"user": 1}]},
            {**draft, "history": []},
            {**draft, "conversation_id": 5},
            {**draft, "turns": 3},
            {**draft, "compactions_expected": "2"},
        ):
            path.write_text(json.dumps(wrong))
            with self.subTest(draft=wrong), self.assertRaises(ValueError):
                annotate.read_draft(path)

    def test_the_folder_of_a_fixture_is_made_before_anything_is_asked(self):
        draft = self.folder / "draft.json"
        draft.write_text(json.dumps(annotate.propose(self.conversation)))
        new = self.folder / "new" / "deep" / "small.json"
        answers = iter(["c", "May it push?", "No.", "q"])
        with redirect_stdout(io.StringIO()), mock.patch("builtins.input", lambda prompt: next(answers)):
            self.assertEqual(annotate.main(["review", str(draft), "--fixture", str(new)]), 1)
        self.assertEqual(len(load_fixtures([new])[0]["must_survive"]), 1)
        with self.assertRaisesRegex(ValueError, "cannot be made"):
            annotate.main(["review", str(draft), "--fixture", str(draft / "small.json")])

    def test_killed_in_the_middle_it_keeps_every_decision_and_goes_on_from_there(self):
        draft = self.folder / "draft.json"
        draft.write_text(json.dumps(annotate.propose(self.conversation)))
        argv = [sys.executable, "-m", "compaction.annotate", "review", str(draft), "--fixture", str(self.fixture)]

        def answer(*lines, until):
            """Type these lines, read until a text is shown, and kill."""
            with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True) as review:
                review.stdin.write("".join(f"{line}\n" for line in lines))
                review.stdin.flush()
                shown = ""
                while until not in shown:
                    shown += review.stdout.read(1) or self.fail(shown)
                review.kill()
            return shown

        answer("c", "May it push?", "No.", "r", until="3 of 3")
        self.assertEqual(len(load_fixtures([self.fixture])[0]["must_survive"]), 1)
        self.assertEqual(len(self.rejected.read_text().splitlines()), 1)
        self.assertIn("I'll write it on Monday.", answer(until="[c]onfirm"))
        self.assertEqual(len(load_fixtures([self.fixture])[0]["must_survive"]), 1)

    def test_a_control_character_of_a_recorded_text_does_not_reach_the_terminal(self):
        self.conversation["history"][0]["user"] = "Never do \x1b[2J that."
        self.assertNotIn("\x1b", self.decide("q")[1])

    def test_proposes_from_the_command_line(self):
        path = self.folder / "conversation.json"
        path.write_text(json.dumps({"conversation_id": "small", "history": self.conversation["history"]}))
        out = io.StringIO()
        with redirect_stdout(out):
            annotate.main(["propose", str(path)])
        draft = json.loads(out.getvalue())
        self.assertEqual([one["class"] for one in draft["proposals"]], ["constraint", "constraint", "commitment"])


if __name__ == "__main__":
    unittest.main()
