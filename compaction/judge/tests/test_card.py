"""The card shows what a judge is worth: each figure is right for doubles whose faults are known."""

import json
from collections import Counter

from base.command import InputError
from base.tests.made import Files, named_cases, run
from compaction.fixtures.items import JUDGED
from compaction.judge.__main__ import LABELS, REPEATS, ask_all, main, make_card, questions, read_labels

PLANTED = {"supported": {}, "absent": {"planted": "vague"}, "contradicted": {"planted": "specific"}}
LABELLED = {"labelled_by": "the test", "items": [
    {"id": f"{label}-{n}", "probe": f"Is {n} so?", "expect": "Yes.", "context": f"{label} {n}", "label": label,
     **PLANTED[label]} for n in range(4) for label in JUDGED]}
OVERLAP = ["--judge", "compaction.tests.doubles:overlap_judge"]


def mumbles(question):
    """Double of a judge whose replies cannot be read."""


def card(verdict_of, repeats=3):
    """The card of a double: (the label in the first words of a context, how often it saw that context) -> verdict."""
    seen = Counter()

    def judge(question):
        seen[question["context"]] += 1
        return {"verdict": verdict_of(question["context"].split()[0], seen[question["context"]])}

    return make_card("double", LABELLED, ask_all(judge, questions(LABELLED["items"], repeats)))


class Card(Files):
    def test_every_case_in_the_file(self):
        for case in named_cases(__file__, "card-cases.json"):
            made = card(lambda label, time, verdicts=case["verdicts"]: verdicts.get(label, label))
            with self.subTest(case["name"]):
                self.assertEqual({field: made[field] for field in case["card"]}, case["card"])

    def test_a_flip_in_ten_repeats_is_missed_or_an_unreadable_reply_is_one(self):
        self.assertEqual(REPEATS, 10)
        for told, verdict_of, compared, flipped in (
            ("a changed mind", lambda label, time: "absent" if label[0] == "s" and time == 10 else label, 12, 4),
            ("read once and not again", lambda label, time: label if time == 1 else None, 0, 0),
            ("two read of three", lambda label, time: ("absent", "supported", None)[time % 3], 12, 12),
        ):
            with self.subTest(told):
                self.assertEqual(card(verdict_of, REPEATS)["repeats"],
                                 {"times": 10, "items": 12, "compared": compared, "flipped": flipped})

    def test_too_few_items_ship_or_one_that_is_planted_is_labelled_supported(self):
        labels = read_labels(LABELS)
        self.assertGreaterEqual(len(labels["items"]), 60)
        self.assertIn("one reader", labels["labelled_by"])
        counts = Counter(item["label"] for item in labels["items"])
        self.assertTrue(all(counts[label] >= 20 for label in JUDGED), counts)
        planted = Counter(item["planted"] for item in labels["items"] if "planted" in item)
        self.assertTrue(planted["specific"] >= 10 and planted["vague"] >= 10, planted)
        self.assertNotIn("supported", [item["label"] for item in labels["items"] if "planted" in item])

    def test_what_is_no_set_of_labels_is_measured_against(self):
        good = LABELLED["items"][0]
        for items in ([], [good, good], [good | {"label": "yes"}], [good | {"planted": "big"}],
                      [good | {"probe": ""}], [{"id": "x"}], ["x"]):
            with self.subTest(items), self.assertRaises(InputError):
                read_labels(self.write("labels.json", LABELLED | {"items": items}))

    def test_a_double_is_not_named_as_one_or_one_that_cannot_be_read_is_measured(self):
        status, out, err = run(main, *OVERLAP, "--repeats", 1)
        self.assertEqual((status, json.loads(out)["judge"]["double"]), (0, "overlap_judge"))
        self.assertIn("planted wrong answers accepted: specific", err)
        self.assertEqual(run(main, "--judge", f"{__name__}:mumbles", "--repeats", 1)[0], 3)
        self.refused("ask each item at least once", main, *OVERLAP, "--repeats", 0)

    def test_a_stopped_measurement_starts_anew_or_takes_another_judges_answers(self):
        keep, labels = self.folder / "answers.jsonl", self.write("labels.json", LABELLED)
        argv = ["--repeats", 2, "--labels", labels, "--keep", keep]
        whole = run(main, *OVERLAP, *argv)
        lines = keep.read_text().splitlines(keepends=True)
        keep.write_text("".join(lines[:20]) + lines[20][:9])
        self.assertEqual(run(main, *OVERLAP, *argv), whole)
        self.assertEqual(keep.read_text(), "".join(lines))
        self.refused("another judge", main, "--judge", f"{__name__}:mumbles", *argv)
