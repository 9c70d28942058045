"""The card shows what a judge is worth: each figure is right for doubles whose faults are known."""

import io
import json
import tempfile
import unittest
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from compaction.fixtures.items import JUDGED
from compaction.judge.__main__ import LABELS, REPEATS, ask_all, main, make_card, pairs, read_labels

PLANTED = {"supported": {}, "absent": {"planted": "vague"}, "contradicted": {"planted": "specific"}}
LABELLED = {"labelled_by": "the test", "items": [
    {"id": f"{label}-{n}", "probe": f"Is {n} so?", "expect": "Yes.", "context": f"{label} {n}", "label": label,
     **PLANTED[label]} for n in range(4) for label in JUDGED]}


def perfect(question):
    """Double of a judge that reads the label in the first words of a context."""
    return {"verdict": question["context"].split()[0]}


def mumbles(question):
    """Double of a judge whose replies cannot be read."""


def card(judge, repeats=3):
    return make_card("double", LABELLED, ask_all(judge, LABELLED["items"], repeats), repeats)


class Card(unittest.TestCase):
    def test_a_judge_that_is_always_right(self):
        found = card(perfect)
        self.assertEqual(found["agreement"], {"right": 12, "judged": 12, "unjudged": 0})
        self.assertEqual(found["kappa"], 1.0)
        self.assertEqual(found["confusion"], {a: {b: 4 if a == b else 0 for b in JUDGED} for a in JUDGED})
        self.assertEqual(found["repeats"], {"times": 3, "items": 12, "compared": 12, "flipped": 0})
        self.assertEqual(
            found["planted"], {"specific": {"judged": 4, "accepted": 0}, "vague": {"judged": 4, "accepted": 0}})

    def test_a_judge_that_accepts_everything_has_no_kappa_to_show_and_accepts_what_was_planted(self):
        found = card(lambda question: {"verdict": "supported"})
        self.assertEqual((found["agreement"]["right"], found["kappa"]), (4, 0.0))
        self.assertEqual([found["planted"][kind]["accepted"] for kind in ("specific", "vague")], [4, 4])

    def test_the_table_has_a_row_for_each_label_and_a_column_for_each_verdict(self):
        cautious = {"supported": "supported", "absent": "absent", "contradicted": "absent"}
        found = card(lambda question: {"verdict": cautious[perfect(question)["verdict"]]})["confusion"]
        self.assertEqual(found["contradicted"], {"supported": 0, "absent": 4, "contradicted": 0})
        self.assertEqual(found["absent"], {"supported": 0, "absent": 4, "contradicted": 0})

    def test_each_item_is_asked_ten_times_unless_told_otherwise(self):
        self.assertEqual(REPEATS, 10)

    def test_a_judge_that_reads_the_first_context_only_flips_with_the_order(self):
        found = card(perfect)
        flipped = sum(a["label"] != b["label"] for a, b in pairs(LABELLED["items"]))
        self.assertGreater(flipped, 0)
        self.assertEqual(found["order"], {"pairs": 12, "compared": 12, "flipped": flipped})
        self.assertEqual(card(lambda question: {"verdict": "absent"})["order"]["flipped"], 0)

    def test_a_judge_that_changes_its_mind_in_ten_repeats_is_seen(self):
        seen = Counter()

        def moody(question):
            seen[question["context"]] += 1
            turned = question["context"] == "supported 2" and seen[question["context"]] == 10
            return {"verdict": "absent" if turned else question["context"].split()[0]}

        self.assertEqual(card(moody, 10)["repeats"], {"times": 10, "items": 12, "compared": 12, "flipped": 1})

    def test_an_unreadable_reply_is_neither_right_nor_wrong(self):
        found = card(lambda question: None if question["context"].startswith("supported") else perfect(question))
        self.assertEqual(found["agreement"], {"right": 8, "judged": 8, "unjudged": 4})
        self.assertEqual(found["confusion"]["supported"], {verdict: 0 for verdict in JUDGED})
        self.assertEqual(found["repeats"], {"times": 3, "items": 12, "compared": 8, "flipped": 0})

    def test_a_judge_that_cannot_be_read_has_no_figure_that_looks_good(self):
        found = card(lambda question: None)
        self.assertIsNone(found["kappa"])
        self.assertEqual(found["agreement"], {"right": 0, "judged": 0, "unjudged": 12})
        self.assertEqual(found["order"], {"pairs": 12, "compared": 0, "flipped": 0})
        self.assertEqual(found["planted"]["vague"], {"judged": 0, "accepted": 0})

    def test_a_reply_that_was_read_once_and_not_again_is_no_flip(self):
        seen = Counter()

        def tired(question):
            seen[question["context"]] += 1
            return perfect(question) if seen[question["context"]] == 1 else None

        self.assertEqual(card(tired)["repeats"], {"times": 3, "items": 12, "compared": 0, "flipped": 0})

    def test_a_flip_counts_although_a_third_reply_could_not_be_read(self):
        replies = Counter()

        def torn(question):
            replies[question["context"]] += 1
            return [{"verdict": "supported"}, None, {"verdict": "absent"}][(replies[question["context"]] - 1) % 3]

        self.assertEqual(card(torn)["repeats"], {"times": 3, "items": 12, "compared": 12, "flipped": 12})


class Labels(unittest.TestCase):
    def test_sixty_items_or_more_ship_and_say_who_labelled_them(self):
        labels = read_labels(LABELS)
        self.assertGreaterEqual(len(labels["items"]), 60)
        self.assertIn("one reader", labels["labelled_by"])
        counts = Counter(item["label"] for item in labels["items"])
        self.assertTrue(all(counts[label] >= 20 for label in JUDGED), counts)
        planted = Counter(item.get("planted") for item in labels["items"])
        self.assertTrue(planted["specific"] >= 10 and planted["vague"] >= 10, planted)

    def test_what_is_planted_is_never_labelled_supported(self):
        for item in read_labels(LABELS)["items"]:
            self.assertFalse(item.get("planted") and item["label"] == "supported", item["id"])

    def test_refuses_what_is_no_set_of_labels(self):
        good = LABELLED["items"][0]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labels.json"
            for items in ([], [good, good], [good | {"label": "yes"}], [good | {"planted": "big"}],
                          [good | {"probe": ""}], [{"id": "x"}], ["x"]):
                path.write_text(json.dumps(LABELLED | {"items": items}))
                with self.subTest(items), self.assertRaises(ValueError):
                    read_labels(path)


class Command(unittest.TestCase):
    def run_main(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main([*argv])
        return json.loads(out.getvalue()), err.getvalue()

    def test_prints_the_card_of_a_double_and_says_that_it_is_one(self):
        found, err = self.run_main("--judge", "compaction.tests.doubles:overlap_judge", "--repeats", "2")
        self.assertEqual(found["judge"]["double"], "overlap_judge")
        self.assertIn("planted wrong answers accepted: specific", err)

    def test_a_judge_of_whom_not_one_reply_could_be_read_is_not_measured(self):
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            self.assertEqual(main(["--judge", f"{__name__}:mumbles", "--repeats", "1"]), 3)
            self.assertEqual(main(["--judge", "compaction.tests.doubles:overlap_judge", "--repeats", "1"]), 0)

    def test_goes_on_where_it_stopped_and_refuses_another_judges_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            keep, labels = Path(folder) / "answers.jsonl", Path(folder) / "labels.json"
            labels.write_text(json.dumps(LABELLED))
            argv = ["--judge", "compaction.tests.doubles:overlap_judge", "--repeats", "2", "--labels", str(labels),
                    "--keep", str(keep)]
            first, _ = self.run_main(*argv)
            lines = keep.read_text().splitlines(keepends=True)
            keep.write_text("".join(lines[:20]) + lines[20][:9])
            self.assertEqual(self.run_main(*argv)[0], first)
            self.assertEqual(keep.read_text(), "".join(lines))
            with self.assertRaisesRegex(ValueError, "another judge"):
                self.run_main("--judge", f"{__name__}:perfect", "--keep", str(keep))
