"""What a person reads: the answer first, each figure in its place, nothing recorded steers the terminal."""

import unittest

from compaction import table
from compaction.tests.made import made_report, made_result

COPIED = made_result(extractive=True)
UNDECIDED = made_result()  # most of it waits for a judge


def lines_of(*results):
    return table.report_text(made_report(*results)).split("\n")


class Table(unittest.TestCase):
    def test_the_answer_is_not_the_first_line_or_knows_what_is_mostly_unknown(self):
        worse = made_result(extractive=True, said={1: "x", 2: "cutover is on Friday", 3: "x"})
        for results, told in (((COPIED,), "not compliant: a gate is missed"),
                              ((COPIED, COPIED), "safe: no gated row got worse; not compliant: a gate is missed"),
                              ((worse, COPIED), "blocked: worse in constraints retained; not compliant: a gate is m"),
                              ((UNDECIDED,), "mostly unknown: 10 of 12 decisions are unjudged or opaque; not compl")):
            self.assertTrue(lines_of(*results)[0].startswith(told), lines_of(*results)[0])

    def test_a_line_is_missing(self):
        unplaced = COPIED | {"left_out": {"unplaced": 2, "unannotated": 3}, "uncovered": ["b", "c"]}
        sizes = [row | {"value": None} if "median" in row else row for row in COPIED["rows"]]
        open_ = [row | {"gate": None, "state": "no gate"} for row in COPIED["rows"]]
        for results, *told in (
            ((UNDECIDED,), "  small-2 at compaction 1, 2, 3: Is item 2 so?",
             "missing verdicts: 10 to be judged, 0 in contexts that cannot be read"),
            ((made_result(said={1: "Do not push to main"}),), "no item is known to be lost; of 3 it is not known"),
            ((COPIED,), "4 items lost: 3 at compaction 1, 1 at compaction 2:",
             "  small-1 (constraint) lost at compaction 2: 1 verbatim, 2 absent, 3 absent",
             "  small-4 (reference) lost at compaction 1: 1 absent, 2 contradicted, 3 absent"),
            ((COPIED, COPIED), "incumbent: 4 items lost: 3 at compaction 1, 1 at compaction 2",
             "uncued-correction  0 of 3  1             0 of 3     1"),
            ((COPIED, made_result(extractive=True, said={1: "x"})),
             "compacted at other turns: 8 decisions of the candidate and 0 of the incumbent have no partner"),
            ((COPIED | {"rows": sizes},), "tokens: median, p95  not known"),
            ((COPIED | {"rows": open_},), "none  no gate"),
            ((made_result(extractive=True, said=dict.fromkeys((1, 2, 3), "x")), COPIED),
             "  small-1 (constraint) at compaction 1: verbatim -> absent", "      incumbent: Do not push to main",
             "      candidate: (nothing like it)"),
            ((unplaced,), "2 contexts say no turn", "3 contexts are of conversations without", "no context of b, c"),
        ):
            for words in told:
                self.assertIn(words, "\n".join(lines_of(*results)))
        self.assertFalse([line for line in lines_of(COPIED) if line.startswith("buried")])  # no item has it

    def test_a_line_is_wider_than_a_terminal(self):
        large = [row | {"value": 98765, "of": 98765, "unknown": 1234, "median": 98765, "gate": row["gate"]}
                 for row in COPIED["rows"]]
        long = COPIED | {"rows": large, "uncovered": ["conversation-" + "x" * 30] * 9}
        text = table.report_text(made_report(COPIED, COPIED) | {"candidate": long, "incumbent": long})
        self.assertLessEqual(max(map(len, text.split("\n"))), table.WIDTH)

    def test_a_control_character_of_a_context_or_a_name_reaches_the_terminal(self):
        hostile = "clear \x1b[2J\r it \u202e"
        new, old = (made_result(extractive=True, compactor={"name": hostile}, uncovered=[hostile],
                                never_checked=[hostile]) for _ in range(2))
        new["items"][1]["verdicts"]["1"] = "supported"
        new["items"][1]["lines"]["1"] = hostile
        text = table.report_text(made_report(new, old))
        self.assertEqual((text.count("clear \\x1b[2J\\r it \\u202e"), set(text) & set("\x1b\r\u202e")), (7, set()))

    def test_what_is_not_known_or_what_a_judge_is_worth_does_not_stand_beside_a_row(self):
        self.assertRegex("\n".join(lines_of(UNDECIDED)), r"\nconstraints +1 of 3 \+2\? +33.3-100.0%")
        lines = lines_of(made_result(lambda question: {"verdict": "absent"}))
        self.assertEqual(sum("judged; unmeasured judge]" in line for line in lines), 5)  # every row but the size
        place = next(number for number, line in enumerate(lines) if line.startswith("constraints"))
        self.assertEqual(lines[place + 1], "    [2 judged; unmeasured judge]")
