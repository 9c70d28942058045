"""Tests of signals: the report, its control, labels and sample, and what a log may do wrong."""

import json
import os
import tracemalloc
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError
from base.tests.made import Files, as_bytes, run
from compaction.sessions.__main__ import main as import_main
from compaction.sessions.log import read_events, read_log
from compaction.signals.__main__ import find_signals, lines_of, main, read_labels
from compaction.signals.tests.made import RULE, conversation

DATA = os.environ.get("LAB_DATA")
MIXED = [event for pair in zip(conversation("a"), conversation("b")) for event in pair]


def signals(events, **options):
    report = find_signals(read_events(as_bytes("log.jsonl", events).splitlines(), "log"), "log", **options)
    return report, report["flagged"]


class Report(unittest.TestCase):
    def test_a_flagged_conversation_comes_with_its_evidence(self):
        report, flagged = signals(conversation("a") + conversation("b", again=False, restate=False))
        self.assertEqual([row["conversation_id"] for row in flagged], ["a"])
        self.assertEqual((flagged[0]["hits"][0]["kind"], flagged[0]["restatements"][0]["earlier"]), ("idle", 1))
        self.assertEqual(flagged[0]["restatements"][0]["turns_after_compaction"], 1)
        self.assertEqual(report["log"]["flagged conversations"], 1)

    def test_a_share_without_its_control_is_not_shown(self):
        report, _ = signals(conversation("a"))
        self.assertEqual(report["repeats"]["after"], {"repeats": 1, "calls": 1, "share": None})
        self.assertEqual(report["repeats"]["sessions"], {"up": 0, "down": 0, "equal": 0})
        self.assertIn("nothing can be compared", report["repeats"]["says"])

    def test_the_control_is_of_the_sessions_that_compacted_and_paired_by_session(self):
        def filler(name, first, last, new):
            at = {"conversation_id": name}
            return [{**at, "turn": turn, "reply": turn + 10, "kind": "tool_call", "name": "read",
                     "arguments": {"path": f"{name}{turn}" if new else "a.py"}} for turn in range(first, last)]

        log = [*conversation("a"), *filler("a", 8, 12, True), *conversation("b", again=False),
               *filler("b", 2, 4, True), *filler("b", 8, 12, False),
               *filler("c", 1, 40, False)]  # never compacts: no control of others
        share = signals(log, turns=5)[0]["repeats"]
        self.assertEqual((share["after"], share["control"]),
                         ({"repeats": 1, "calls": 3, "share": 1 / 3}, {"repeats": 4, "calls": 8, "share": 0.5}))
        self.assertEqual((share["sessions"], share["sign_test_p"]), ({"up": 1, "down": 1, "equal": 0}, 1.0))
        self.assertIn("no more than chance", share["says"])

    def test_a_message_after_a_broken_off_reply_is_resent_and_not_restated(self):
        again = {"conversation_id": "a", "turn": 2, "reply": 2, "kind": "user", "content": RULE, "interrupted": True}
        report, flagged = signals(conversation("a", again=False, restate=False)[:4] + [again])
        self.assertEqual((report["user_messages"].get("restates"), flagged), (None, []))

    def test_the_same_order_typed_again_after_a_compaction_is_a_restatement_near_it_and_not_resent(self):
        for words, broken_off in ((RULE, False), ("rename the ledger table and run the whole suite", True)):
            events = conversation("a", again=False, restate=False)
            events[0]["content"] = words
            again = {"conversation_id": "a", "turn": 2, "reply": 2, "kind": "user", "content": words,
                     "interrupted": broken_off}
            for log in (events + [again], events[:1] + events[-1:] + [again]):  # with and without a reply before it
                messages = signals(log)[0]["user_messages"]
                self.assertEqual(messages.get("restates near a compaction"), 1)

    def test_a_rule_said_again_in_the_middle_of_a_turn_is_restated_and_not_resent(self):
        events = conversation("a", restate=False)
        at = {"conversation_id": "a", "turn": 3, "reply": 3, "kind": "user"}
        report, _ = signals([*events, {**at, "content": "No, " + RULE, "origin": "refusal"}])
        self.assertEqual(report["user_messages"]["restates"], 1)

    def test_what_a_fork_copied_is_no_evidence(self):
        report, flagged = signals([{**event, "copied": True} for event in conversation("a")])
        self.assertEqual((flagged, report["log"]["compactions"]), ([], 0))

    def test_precision_and_recall_over_the_labelled_messages(self):
        labels = {("a", 2): "restates", ("b", 2): "resent", ("c", 2): "restates", ("d", 2): "unclear"}
        log = [event for name in "abcde" for event in conversation(name, restate=name != "c")]
        told = signals(log, labels=labels)[0]["labels"]
        self.assertEqual((told["precision"], told["recall"], told["false_alarms"]), (0.5, 0.5, 1))
        self.assertEqual(told["wrongly_taken"], [{"conversation_id": "b", "turn": 2, "label": "resent"}])
        self.assertEqual(told["restatements_without_a_label"], 1)

    def test_a_label_of_a_conversation_that_is_not_in_the_log_is_told_and_no_miss(self):
        report, _ = signals(conversation("a"), labels={("a", 2): "restates", ("z", 2): "restates"})
        self.assertEqual((report["labels"]["recall"], report["labels"]["conversations_not_in_the_log"]), (1.0, ["z"]))
        self.assertIn("not in the log, not counted: z", "\n".join(lines_of(report)))

    def test_the_strongest_come_first_and_ties_are_the_seeds(self):
        log = [event for n in range(30) for event in conversation(f"c{n}", again=n == 7, restate=n < 25)]
        report, again, other = (signals(log, seed=seed)[0] for seed in (1, 1, 2))
        self.assertEqual(report, again)
        first, other = report["sample"]["conversations"], other["sample"]["conversations"]
        self.assertEqual((len(first), first[0]["conversation_id"]), (20, "c7"))
        self.assertNotEqual([row["conversation_id"] for row in first], [row["conversation_id"] for row in other])
        self.assertEqual(first[1]["strength"], first[19]["strength"])

    def test_a_kind_of_evidence_weighs_more_or_less_than_the_readme_says(self):
        events = conversation("a")
        never_compacted = [event for event in events if event["kind"] != "compaction"]
        for log, strength in ((events, 3 + 4), ([*events[:-1], {**events[-1], "content": "y"}], 1 + 4),
                              (events[:-1], 1 + 4), (never_compacted, 2)):
            self.assertEqual(signals(log)[0]["sample"]["conversations"][0]["strength"], strength)

    def test_the_sample_is_a_table_for_a_person_with_its_evidence(self):
        report, _ = signals(conversation("a") + conversation("b", again=False, restate=False))
        table = lines_of(report)
        self.assertRegex(table[1], r"^1  a +7  1 idle +1  turn 2 <- 1: I said never push")
        self.assertRegex(table[2], r"^2  b +0  - +-  -$")

    def test_what_cannot_be_told_is_listed_and_never_counted(self):
        told = {"kind": "to look at", "earlier": 1, "score": 0.5}
        with mock.patch("compaction.signals.restatements.Said.take", lambda *_: told):
            report, flagged = signals(conversation("a", again=False))
        self.assertEqual((flagged, [verdict["turn"] for verdict in report["to_look_at"]]), ([], [1, 2]))
        self.assertEqual(report["sample"]["conversations"][0]["strength"], 0)

    def test_a_mixed_log_needs_conversations_kept_open_and_says_what_it_did_not_read(self):
        report, _ = signals(MIXED)
        self.assertEqual(report["log"]["events of conversations closed before"], 7)
        report, flagged = signals(MIXED, open_at_once=2)
        self.assertEqual(report["log"].get("events of conversations closed before", 0), 0)
        self.assertEqual(sorted(row["conversation_id"] for row in flagged), ["a", "b"])

    def test_a_conversation_that_begins_midway_is_told(self):
        report, _ = signals(conversation("a")[5:])
        self.assertEqual(report["log"]["conversations begun midway"], 1)

    def test_memory_grows_with_the_evidence_alone_and_not_with_the_number_of_conversations(self):
        peaks = []
        for number in (50, 150):
            events = [event for n in range(number) for event in conversation(f"c{n:03}", False, False)]
            log = as_bytes("log.jsonl", events).splitlines()
            tracemalloc.start()
            with mock.patch("compaction.signals.__main__.SAMPLE", 2):  # full in both
                find_signals(read_events(log, "log"), "log")
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess(peaks[1] - peaks[0], 100 * 600)  # the id of each

    def test_a_log_without_an_event_is_refused(self):
        with self.assertRaisesRegex(InputError, "no event"):
            find_signals(read_events([b"\n"], "log"), "log")


class Command(Files):
    def test_the_report_is_one_json_value_with_the_flagged_conversations_last(self):
        for names in ([], ["a"], ["a", "b"]):
            events = [event for name in names for event in conversation(name)] or conversation("z", False, False)
            status, out, err = run(main, self.write("log.jsonl", events))
            report = json.loads(out)
            self.assertEqual((status, list(report)[-1]), (0, "flagged"))
            self.assertEqual([row["conversation_id"] for row in report["flagged"]], names)

    def test_half_a_surrogate_pair_anywhere_in_an_event_does_not_end_the_report(self):
        events = [{**event, "time": "\ud800", "conversation_id": "a\udfff"}
                  | ({"name": "\ud83d"} if "name" in event else {}) for event in conversation("a")]
        status, out, err = run(main, self.write("log.jsonl", events))
        self.assertEqual((status, json.loads(out)["flagged"][0]["hits"][0]["name"]), (0, "?"), err)

    def test_a_log_that_is_mixed_is_told(self):
        self.assertIn("7 events belong to conversations", run(main, self.write("log.jsonl", MIXED))[2])

    def test_refusals_are_one_line(self):
        log = self.write("log.jsonl", conversation("a"))
        self.refused("cannot be read", main, "none.jsonl")
        self.refused("cannot be read", main, log, "--labels", "none.json")
        for labels, problem in (([], "it is"), ({"messages": []}, "no message"), ({"messages": [{}]}, "no field")):
            self.refused(f"{problem}.*; give", main, log, "--labels", self.write("labels.json", labels))
        self.assertEqual(run(main, "x", "--open", "0")[0], 2)


@unittest.skipUnless(DATA, "LAB_DATA names no folder with recorded sessions")
class RecordedSessions(Files):
    def test_the_figures_that_the_readme_states_are_those_of_the_recorded_sessions(self):
        folder = Path(DATA) / "sessions"
        names = ("cli-b42aaf1f", "cli-fdd24234", "cli-gemini-f7633853", "fnox-3c7aecb0", "gs-15ba661d")
        paths = [folder / f"{name}.jsonl" for name in names] + [folder / "tau-gpt4o-airline.json"]
        logs = [self.folder / "log.jsonl", *sorted((folder / "events").glob("*.jsonl"))]
        run(import_main, *paths, "--output", logs[0])
        events = [event for log in logs for event in read_log(log)]
        labels = read_labels(folder / "restatements.json")
        report = find_signals(events, "log", labels=labels)
        told, repeats = report["labels"], report["repeats"]
        self.assertEqual((told["labelled"], told["restates"], told["found"], told["false_alarms"],
                          told["restatements_without_a_label"]), (18, 9, 8, 0, 2))
        self.assertEqual([repeats[kind][field] for kind in ("after", "control") for field in ("repeats", "calls")],
                         [8, 179, 36, 368])
