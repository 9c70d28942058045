"""Gates, ranges and what follows from items and contexts: every way a row or an answer can be left open."""

from collections import Counter

from base.command import InputError
from base.stats import wilson
from base.tests.made import Files, named_cases
from compaction.rows import GATES, compliant, lost_at, read_gates, summarize, tokens_row
from compaction.tests.doubles import small_fixture
from compaction.tests.made import made_item, made_result, made_row


class Rows(Files):
    def test_a_gate_is_met_or_missed_by_a_value_that_does_not_decide_it(self):
        for case in named_cases(__file__, "gate-cases.json"):
            with self.subTest(case["name"]):
                row = made_row(*case["row"]) if "row" in case else tokens_row(*case["tokens"])
                self.assertEqual(row["state"], case["state"])

    def test_a_gate_of_a_file_is_not_used_or_one_that_is_none_is(self):
        given = {"constraint": 1, "commitment": 0, "contradictions": 0, "reference": None, "prompt_tokens": 700}
        self.assertEqual(read_gates(self.write("gates.json", given)), GATES | given)
        for wrong in ({"constraints": 0.5}, {"constraint": 95}, {"constraint": True}, {"contradictions": 0.5},
                      {"contradictions": -1}, {"prompt_tokens": "all"}, {"prompt_tokens": False}, [0.5]):
            with self.subTest(wrong), self.assertRaises(InputError):
                read_gates(self.write("gates.json", wrong))

    def test_the_default_gates_are_not_the_published_ones(self):
        self.assertEqual(list(GATES.values()), [0.95, 0.90, 0.95, 0.98, 0, "budget"])

    def test_a_range_and_its_interval_leave_out_an_end(self):
        row = made_row("constraint", 90, 100, unknown=6)
        self.assertEqual((row["worst"], row["best"]), (0.9, 0.96))
        self.assertEqual(row["wilson"], [wilson(90, 100)[0], wilson(96, 100)[1]])

    def test_the_95th_percentile_is_another(self):
        row = tokens_row([*range(1, 20), 500], 100)  # 20 contexts: the 19th is the 95th percentile
        self.assertEqual((row["median"], row["value"], row["gate"], row["state"]), (10, 19, 100, "met"))

    def test_retained_means_something_else_than_verbatim_or_supported(self):
        decided = made_item("verbatim", "supported", "absent", "contradicted", "unjudged", "opaque", keys="abcdef")
        rows = summarize([decided], [], 100)["rows"]
        self.assertEqual([rows[0][field] for field in ("value", "of", "unknown", "judged", "worst", "best")],
                         [2, 6, 2, 3, 2 / 6, 4 / 6])
        self.assertEqual((rows[4]["value"], rows[4]["worst"], rows[4]["best"]), (1, 3, 1))

    def test_what_is_undecided_outweighs_a_missed_gate_or_no_gate_is_compliance(self):
        for states, wanted in (("missed undecided", False), ("met undecided", None), ("met", True)):
            self.assertIs(compliant([{"state": state} for state in states.split()] + [{"state": "no gate"}]), wanted)
        self.assertIsNone(compliant(summarize([made_item("verbatim")], [], 100, dict.fromkeys(GATES))["rows"]))

    def test_a_failed_compaction_or_a_conversation_without_a_context_is_compliant(self):
        context, gates = made_result()["contexts"][0], dict.fromkeys(GATES) | {"prompt_tokens": 100}
        for failed in (True, False):
            self.assertIs(summarize([], [context | {"failed": failed}], 100, gates)["compliant"], not failed)
        fixtures = [small_fixture(), small_fixture(conversation_id="b")]
        text = {1: " ".join(item["literal"] + "." for item in fixtures[0]["must_survive"])}
        for count, wanted in ((1, (True, [], [])), (2, (None, ["b"], []))):
            result = made_result(extractive=True, said=text, fixtures=fixtures[:count])
            self.assertEqual(tuple(result[field] for field in ("compliant", "uncovered", "never_checked")), wanted)

    def test_an_item_is_lost_at_another_compaction_or_counted_under_no_difficulty(self):
        said = {1: "Do not push to main", 2: "Do not push to main", 3: "cutover is on Friday"}
        result = made_result(extractive=True, said=said, turns={1: 2, 2: 4, 3: 6})
        lost = {item["item"]: (lost_at(item), list(item["verdicts"].values())) for item in result["items"]}
        self.assertEqual(lost["small-1"], (3, ["verbatim", "verbatim", "absent"]))
        self.assertEqual(lost["small-4"], (3, ["contradicted"]))
        counts = {difficulty.pop("tag"): difficulty for difficulty in result["difficulties"]}
        self.assertEqual(counts["uncued-correction"], {"kept": 0, "decisions": 1, "unknown": 0, "contradicted": 1})
        self.assertEqual(Counter(row["decisions"] for row in counts.values()), {0: 5, 1: 1})

    def test_an_item_stated_after_the_last_compaction_is_not_named_or_counts(self):
        result = made_result(extractive=True, said={1: "x"}, turns={1: 3})
        self.assertEqual((result["never_checked"], [bool(item["verdicts"]) for item in result["items"]]),
                         (["small-3", "small-4"], [True, True, False, False]))
