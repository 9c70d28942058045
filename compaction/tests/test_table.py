"""What a person reads: the answer first, each figure in its place, nothing recorded steers the terminal."""

import unittest

from compaction import table
from compaction.tests.made import made_report, made_result

COPIED = made_result(extractive=True)
OPEN = made_result()  # most of it waits for a judge


def lines_of(*results):
    return table.render(made_report(*results)).split("\n")


class Table(unittest.TestCase):
    def test_the_answer_is_not_the_first_line(self):
        self.assertEqual(lines_of(COPIED)[0], "not compliant: a gate is missed")
        self.assertEqual(lines_of(COPIED, COPIED)[0], "safe: no gated row got worse; not compliant: a gate is missed")
        worse = made_result(extractive=True, said={1: "x", 2: "cutover is on Friday", 3: "x"})
        self.assertRegex(lines_of(worse, COPIED)[0], "^blocked: worse in constraints retained; not compliant")

    def test_a_report_that_knows_next_to_nothing_begins_as_if_it_knew(self):
        lines = lines_of(OPEN)
        self.assertEqual(
            lines[0], "mostly unknown: 10 of 12 decisions are unjudged or opaque; not compliant: a gate is missed")
        self.assertFalse([line for line in lines if line.startswith("0 items lost")])
        blank = made_result(said={1: "Do not push to main"})
        self.assertIn("no item is known to be lost; of 3 it is not known", lines_of(blank))

    def test_what_waits_for_a_judge_is_not_told_with_its_probe(self):
        self.assertIn("  small-2 at compaction 1, 2, 3: Is item 2 so?", lines_of(OPEN))
        self.assertIn("missing verdicts: 10 to be judged, 0 in contexts that cannot be read", lines_of(OPEN))

    def test_a_line_is_wider_than_a_terminal(self):
        large = [row | {"value": 98765, "of": 98765, "unknown": 1234, "median": 98765, "gate": row["gate"]}
                 for row in COPIED["rows"]]
        long = COPIED | {"rows": large, "uncovered": ["conversation-" + "x" * 30] * 9}
        text = table.render(made_report(COPIED, COPIED) | {"candidate": long, "incumbent": long})
        self.assertLessEqual(max(map(len, text.split("\n"))), table.WIDTH)

    def test_says_at_which_compaction_each_item_was_lost(self):
        lines = lines_of(COPIED)
        self.assertIn("4 items lost: 3 at compaction 1, 1 at compaction 2:", lines)
        self.assertIn("  small-1 (constraint) lost at compaction 2: 1 verbatim, 2 absent, 3 absent", lines)
        self.assertIn("  small-4 (reference) lost at compaction 1: 1 absent, 2 contradicted, 3 absent", lines)
        pair = made_report(COPIED, COPIED)
        self.assertIn("incumbent: 4 items lost: 3 at compaction 1, 1 at compaction 2", table.render(pair))

    def test_each_difficulty_stands_there_with_what_was_kept_and_contradicted(self):
        (line,) = [line.split() for line in lines_of(COPIED, COPIED) if line.startswith("uncued-correction")]
        self.assertEqual(line, ["uncued-correction", "0", "of", "3", "1", "0", "of", "3", "1"])
        self.assertFalse([line for line in lines_of(COPIED) if line.startswith("buried")])  # no item has it

    def test_a_control_character_of_a_context_or_a_name_reaches_the_terminal(self):
        hostile = "clear \x1b[2J\r it \u202e"
        sides = [made_result(judge, extractive=True, line=hostile, name=hostile)
                 for judge in (None, lambda q: {"verdict": "supported"})]
        sides[1] |= {"uncovered": [hostile], "never_checked": [hostile]}
        sides[0]["items"][1]["verdicts"]["1"] = "supported"
        text = table.render(made_report(*sides))
        self.assertIn("clear \\x1b[2J\\r it \\u202e", text)
        self.assertFalse(set(text) & set("\x1b\r\u202e"))

    def test_what_is_not_known_stands_beside_what_is(self):
        (line,) = [line for line in lines_of(OPEN) if line.startswith("constraints")]
        self.assertRegex(line, r"^constraints +1 of 3 \+2\? +33.3-100.0%")
        sizes = [row | {"value": None} if "median" in row else row for row in COPIED["rows"]]
        self.assertIn("tokens: median, p95  not known", table.render(made_report(COPIED | {"rows": sizes})))

    def test_contexts_that_were_not_checked_are_counted_with_the_reason(self):
        text = table.render(
            made_report(COPIED | {"left_out": {"unplaced": 2, "unannotated": 3}, "uncovered": ["b", "c"]}))
        for told in ("2 contexts say no turn", "3 contexts are of conversations without", "no context of b, c"):
            self.assertIn(told, text)

    def test_a_judged_row_does_not_say_what_its_judge_is_worth(self):
        lines = lines_of(made_result(lambda question: {"verdict": "absent"}))
        self.assertEqual(
            sum("judged; unmeasured judge]" in line for line in lines), 5
        )  # every row but the prompt's size
        place = next(number for number, line in enumerate(lines) if line.startswith("constraints"))
        self.assertEqual(lines[place + 1], "    [2 judged; unmeasured judge]")


if __name__ == "__main__":
    unittest.main()
