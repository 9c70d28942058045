"""What a person reads: each figure in its place, nothing recorded steers the terminal, nothing missing is left out."""

import unittest

from compaction import comparison, table
from compaction.tests.test_result_file import result


def shown(candidate, incumbent=None, success=None):
    """The table of one result, or of two compared, as one reads it in a report."""
    report = {"candidate": head(candidate), "task_success": success}
    if incumbent:
        report["incumbent"] = head(incumbent)
        report["comparison"] = comparison.compare(report["candidate"], report["incumbent"])
    return table.render(report)


def head(one):
    return one | {"fixtures": {"conversations": 1, "items": 4}, "available_input": 60,
                  "left_out": one["left_out"] or {"unplaced": 0, "unannotated": 0}}


COPIED = result(extractive=True)


class Table(unittest.TestCase):
    def test_says_at_which_compaction_each_item_was_lost(self):
        text = shown(COPIED)
        self.assertIn("small-1 (constraint) lost at compaction 2: verbatim, absent, absent from compaction 1 on", text)
        self.assertIn("small-4 (reference) lost at compaction 1: absent, contradicted, absent", text)

    def test_each_difficulty_stands_there_with_what_was_kept_and_contradicted(self):
        lines = [line.split() for line in shown(COPIED).split("\n") if line.startswith("uncued-correction")]
        self.assertEqual(lines, [["uncued-correction", "0", "of", "3", "1"]])
        pair = [line.split() for line in shown(COPIED, COPIED).split("\n") if line.startswith("uncued-correction")]
        self.assertEqual(pair, [["uncued-correction", "0", "of", "3", "1", "0", "of", "3", "1"]])
        self.assertNotIn("buried", shown(COPIED))  # no item has it

    def test_a_control_character_of_a_context_does_not_reach_the_terminal(self):
        turned = result(extractive=True)
        for one in turned["decisions"]:
            one["line"] = "clear \x1b[2J\r it \u202e"
        text = shown(turned, result(lambda question: {"verdict": "supported"}))
        self.assertIn("clear \\x1b[2J\\r it \\u202e", text)
        self.assertFalse(set(text) & set("\x1b\r\u202e"))

    def test_what_is_not_known_stands_beside_what_is(self):
        text = shown(result())
        self.assertRegex(text, r"constraints retained +1 of 3 \(\+2 unknown\) +33.3% to 100.0%")
        self.assertRegex(text, "missing verdicts: [0-9]+ to be judged, 0 in contexts that cannot be read")
        self.assertIn("compliance not decided", shown(result() | {"compliant": None}))

    def test_contexts_that_were_not_checked_are_counted_with_the_reason(self):
        text = shown(COPIED | {"left_out": {"unplaced": 2, "unannotated": 3}, "uncovered": ["b", "c"]})
        for told in ("2 contexts say no turn", "3 contexts are of conversations without", "no context of b, c"):
            self.assertIn(told, text)
        sizes = [row | {"median": None, "p95": None} if "median" in row else row for row in COPIED["rows"]]
        self.assertIn("prompt tokens after compaction  not known", shown(COPIED | {"rows": sizes}))

    def test_a_judged_row_says_what_its_judge_is_worth(self):
        judged = result(lambda question: {"verdict": "absent"})
        for row in judged["rows"]:
            row["judge"] = "unmeasured judge"
        lines = [line for line in shown(judged).split("\n") if "unmeasured judge" in line]
        self.assertEqual(len(lines), 5)  # every row but the prompt's size


if __name__ == "__main__":
    unittest.main()
