"""What the table could get wrong: messages beyond k counted, pairs turned, questions drawn for histories."""

import json
import unittest

from base.tests.made import Files, needs_tokenizer, run
from evaluate import grade
from selection.retrievers import SELECTORS
from selection.run import with_input
from strategies import STRATEGIES
from workbench.retrieval_table import against, bootstrap, by_group, main, order, pair_cells, read_cases, recall_at
from workbench.tests.made import labelled_case, locomo, question, row

HISTORY = {"a-0": "a", "a-1": "a", "b-0": "b", "b-1": "b"}


def graded(case, *missing, **changes):
    return {**row(case, missing, total=1), **changes}


def case_set(*facts):
    """A set of two histories with one question each, in the form of any labelled set."""
    turns = [{"id": f"t{number}", "user": f"colour {number}", "assistant": f"Noted {number}."} for number in range(9)]
    cases = [labelled_case("one", kind="when", required=facts), labelled_case("two", kind="", required=facts)]
    return {"format": 1, "histories": {"one": turns, "two": turns[:5]}, "cases": cases}


class Pairs(unittest.TestCase):
    def test_gained_and_lost_are_not_counted_from_the_baseline_on(self):
        old = [graded("a-0", "x"), graded("a-1", "x"), graded("b-0"), graded("b-1")]
        got = against([graded("a-0"), graded("a-1"), graded("b-0", "x"), graded("b-1")], old, HISTORY)
        self.assertEqual([got[key] for key in ("gained", "lost", "pairs", "histories", "labels_difference",
                                               "mcnemar_p")], [2, 1, 4, 2, 1, 1.0])

    def test_a_row_without_a_grade_makes_a_pair(self):
        failed = row("a-0", error="no")
        self.assertEqual(against([failed, graded("a-1")], [graded("a-0"), graded("a-1")], HISTORY)["pairs"], 1)
        self.assertEqual(against([failed], [failed], HISTORY)["difference_interval"], None)
        self.assertEqual([by_group([failed])["all"][key] for key in ("questions", "errors")], [0, 1])

    def test_splits_and_kinds_are_thrown_together(self):
        rows = [graded("a-0", "x"), graded("b-0", split="held_out", kind="when"), graded("a-1", kind="all")]
        self.assertEqual({name: group["labels_found"] for name, group in by_group(rows).items()},
                         {"all": 2, "dev": 1, "held_out": 1, "made up": 0, "when": 1, "kind 'all'": 1})

    def test_the_bootstrap_draws_questions_or_does_not_repeat_itself_or_few_histories_are_not_called_few(self):
        self.assertEqual(bootstrap([[1, 10], [1, 10]], draws=200), [0.1, 0.1])
        self.assertEqual(bootstrap([[0, 10], [10, 10]], draws=500), [0.0, 1.0])
        self.assertEqual(bootstrap([[0, 10], [3, 10], [9, 10]], 500), bootstrap([[0, 10], [3, 10], [9, 10]], 500))
        two = against([graded("a-0"), graded("b-0")], [graded("a-0", "x"), graded("b-0")], HISTORY)
        self.assertEqual(pair_cells(two), [1, 0, "1", "+0.0 to +100.0 (2 histories, few: rough)"])
        one = against([graded("a-0")], [graded("a-0", "x")], HISTORY)
        self.assertEqual(pair_cells(one)[-1], "one history has no interval")


class AtK(Files):
    def setUp(self):
        super().setUp()
        said = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": f"word{n} colour"} for n in range(1, 31)]
        asked = [{**question([f"D1:{n}"]), "question": "colour?"} for n in (30, 26, 25, 1)]
        self.path = self.write("locomo.json", locomo(asked, session_1=said, session_2=[]))
        self.cases = read_cases(self.path)

    def test_other_than_k_messages_are_taken(self):
        got = recall_at(self.cases, ["recent", "relevant", "notes"])
        self.assertEqual(got["recent"], {"5": 0.5, "10": 0.75, "25": 0.75, "50": 1.0})
        self.assertEqual(got["relevant"], got["recent"])  # every message shares one word: the newer come first
        self.assertIsNone(got["notes"])
        self.assertEqual(order("hybrid", {**self.cases[0], "current": "word1"}), [14, 0])  # the newest turn first

    def test_the_order_is_not_that_in_which_the_rule_takes_messages(self):
        """Counting each message as one token, a budget of k messages brings the same labels."""
        turns = [{"id": f"{turn['id']}{role}", "user": turn[role] if role == "user" else f"[1 May] {turn[role]}",
                  "assistant": "", "session": "1", "date": "1 May"}
                 for turn in self.cases[0]["history"] for role in ("user", "assistant")]
        for name in (STRATEGIES | SELECTORS).keys() - {"notes"}:
            shares = dict.fromkeys(("5", "25"), 0.0)
            for case in self.cases:
                fact = next(turn["id"] for turn in turns if case["required"][0]["text"] in turn["user"])
                apart = {**case, "history": turns, "required": [{**case["required"][0], "turn": fact}]}
                for cut in shares:
                    chosen = (STRATEGIES | SELECTORS)[name](with_input(apart, int(cut) + 2), len)  # and the question
                    shares[cut] += grade(apart, chosen)["required_found"] / len(self.cases)
            self.assertLessEqual(shares.items(), recall_at(self.cases, [name])[name].items(), name)

    @needs_tokenizer
    def test_the_command_prints_no_json_or_hides_that_histories_are_few(self):
        status, out, err = run(main, self.path, "--strategies", "recent,bm25", "--budget", "100,900")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(out)["budgets"]["900"]["strategies"]["recent"]["all"]["labels_found"], 4)
        self.assertIn("one history has no interval", err)

    @needs_tokenizer
    def test_a_set_that_is_not_locomo_is_refused_or_its_kinds_are_lost(self):
        path = self.write("set.json", case_set({"turn": "t1", "text": "colour 1"}, {"turn": "t2", "text": "Noted 2."}))
        status, out, err = run(main, path, "--strategies", "relevant,near-messages", "--against", "relevant",
                               "--budget", "90")
        self.assertEqual(status, 0, err)
        level = json.loads(out)["budgets"]["90"]
        groups = level["strategies"]["near-messages"]
        self.assertEqual((list(groups), groups["when"]["labels"]), (["all", "dev", "when", "kind ''"], 2))
        self.assertEqual(level["paired"]["near-messages"]["all"]["histories"], 2)

    def test_a_fact_without_a_turn_or_what_cannot_be_run_is_measured(self):
        path = self.write("set.json", case_set("colour 1"))
        self.refused("fact without a turn", main, path, "--budget", "90")
        path = self.write("set.json", case_set({"turn": "t1", "text": "colour 1"}))
        self.refused("not among", main, path, "--strategies", "recent")
        self.refused("nothing", main, path, "--strategies", "recent,nothing", "--against", "recent")
        self.refused("--jobs 0", main, path, "--jobs", 0)
