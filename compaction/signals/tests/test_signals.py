"""Tests of signals.py and signals/events.py: the report, its control, labels and sample, and what a log may do wrong."""

import contextlib
import io
import json
import os
import tempfile
import tracemalloc
import unittest
from pathlib import Path
from unittest import mock

from base.command import InputError, status_of
from compaction.sessions.__main__ import main as import_main
from compaction.signals.__main__ import find_signals, main
from compaction.signals.events import moment
from compaction.signals.tests.made_log import generate_log

DATA = os.environ.get("LAB_DATA")
RULE = "never push to the release branch without asking Dana"


def conversation(name, time="2026-03-01T10:00:00Z", again=True, restate=True):
    """Events of a conversation with a compaction, an idle repeat and a restated rule after it."""
    at = {"conversation_id": name, "time": time}
    read = {"kind": "tool_call", "name": "read", "arguments": {"path": "a.py"}}
    events = [{**at, "turn": 1, "reply": 0, "kind": "user", "content": RULE},
              {**at, "turn": 1, "reply": 1, **read, "call_id": "c1"},
              {**at, "turn": 1, "reply": 1, "kind": "tool_result", "content": "x", "call_id": "c1"},
              {**at, "turn": 1, "reply": 2, "kind": "assistant", "content": "Done."},
              {**at, "turn": 1, "reply": 2, "kind": "compaction", "content": "Work went on."}]
    if restate:
        events.append({**at, "turn": 2, "reply": 2, "kind": "user", "content": "I said " + RULE})
    if again:
        events += [{**at, "turn": 2, "reply": 3, **read, "call_id": "c2"},
                   {**at, "turn": 2, "reply": 3, "kind": "tool_result", "content": "x", "call_id": "c2"}]
    return events


def lines(events):
    return [json.dumps(event).encode("utf-8") for event in events]


def signals(events, **options):
    flagged = []
    return find_signals(lines(events), "log", flag=flagged.append, **options), flagged


class Report(unittest.TestCase):
    def test_a_flagged_conversation_comes_with_its_evidence(self):
        report, flagged = signals(conversation("a") + conversation("b", again=False, restate=False))
        self.assertEqual([row["conversation_id"] for row in flagged], ["a"])
        self.assertEqual((flagged[0]["hits"][0]["kind"], flagged[0]["restatements"][0]["earlier"]), ("idle", 1))
        self.assertEqual(flagged[0]["restatements"][0]["turns_after_compaction"], 1)
        self.assertEqual(report["log"]["flagged conversations"], 1)

    def test_a_share_without_its_control_is_not_shown(self):
        report, _ = signals(conversation("a"))
        for row in report["repeats"].values():
            for shares in row["shares"]:
                self.assertIsNone(shares["after"]["share"])
                self.assertEqual(shares["after"]["calls"], 1)

    def test_the_control_is_of_the_sessions_that_compacted_and_paired_by_session(self):
        def filler(name, first, last, new):
            at = {"conversation_id": name}
            return [{**at, "turn": turn, "reply": turn + 10, "kind": "tool_call", "name": "read",
                     "arguments": {"path": f"{name}{turn}" if new else "a.py"}}
                    for turn in range(first, last)]

        log = (conversation("a")
               + filler("a", 8, 12, True)
               + conversation("b", again=False)
               + filler("b", 2, 4, True)
               + filler("b", 8, 12, False))
        log += filler("c", 1, 40, False)  # never compacts: no control of others
        share = signals(log, turns=5)[0]["repeats"]["within_5_user_turns"]["shares"][0]
        self.assertEqual((share["after"], share["control"]),
                         ({"repeats": 1, "calls": 3, "share": 1 / 3}, {"repeats": 4, "calls": 8, "share": 0.5}))
        self.assertEqual((share["sessions"], share["sign_test_p"]), ({"up": 1, "down": 1, "equal": 0}, 1.0))

    def test_a_message_after_a_broken_off_reply_is_resent_and_not_restated(self):
        log = conversation("a", again=False, restate=False)[:4] + [
            {"conversation_id": "a", "turn": 2, "reply": 2, "kind": "user", "content": RULE, "interrupted": True}]
        report, flagged = signals(log)
        self.assertEqual((report["user_messages"].get("resent"), flagged), (1, []))

    def test_a_rule_said_again_in_the_middle_of_a_turn_is_restated_and_not_resent(self):
        events = conversation("a", restate=False)
        at = {"conversation_id": "a", "turn": 3, "reply": 3, "kind": "user"}
        report, _ = signals([*events, {**at, "content": "No, " + RULE, "origin": "refusal"}])
        self.assertEqual(report["user_messages"]["restates"], 1)

    def test_what_a_fork_copied_is_no_evidence(self):
        report, flagged = signals([{**event, "copied": True} for event in conversation("a")])
        self.assertEqual((flagged, report["log"]["compactions"]), ([], 0))

    def test_the_same_log_gives_the_same_report(self):
        log = list(generate_log(3000, seed=5))
        self.assertEqual(signals(log), signals(log))


class Labels(unittest.TestCase):
    def test_precision_and_recall_over_the_labelled_messages(self):
        labels = {("a", 2): "restates", ("b", 2): "resent", ("c", 2): "restates", ("d", 2): "unclear"}
        log = (conversation("a")
               + conversation("b")
               + conversation("c", restate=False)
               + conversation("d")
               + conversation("e"))
        found = signals(log, labels=labels)[0]["labels"]
        self.assertEqual((found["precision"], found["recall"], found["false_alarms"]), (0.5, 0.5, 1))
        self.assertEqual(found["wrongly_taken"], [{"conversation_id": "b", "turn": 2, "label": "resent"}])
        self.assertEqual(found["restatements_without_a_label"], 1)


class Sample(unittest.TestCase):
    def test_the_strongest_come_first_and_ties_are_the_seeds(self):
        log = [event for n in range(60) for event in conversation(f"c{n}", again=n == 7, restate=n < 50)]
        first, again, other = (signals(log, seed=seed)[0]["sample"]["conversations"] for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertEqual((len(first), first[0]["conversation_id"]), (20, "c7"))
        self.assertNotEqual([row["conversation_id"] for row in first], [row["conversation_id"] for row in other])
        self.assertEqual(first[1]["strength"], first[19]["strength"])

    def test_only_evidence_between_the_dates_counts(self):
        log = (conversation("old", "2026-01-05T10:00:00Z")
               + conversation("in", "2026-02-05T10:00:00+02:00")
               + conversation("none", None))
        for event in log:
            if event["time"] is None:
                del event["time"]
        sample = signals(log, since=moment("2026-02-01"), until=moment("2026-03-01"))[0]["sample"]
        self.assertEqual([row["conversation_id"] for row in sample["conversations"]], ["in"])
        self.assertEqual(sample["undated"], 1)


class Streams(unittest.TestCase):
    def mixed(self):
        return [event for pair in zip(conversation("a"), conversation("b")) for event in pair]

    def test_a_mixed_log_needs_conversations_kept_open_and_says_what_it_did_not_read(self):
        report, _ = signals(self.mixed())
        self.assertEqual(report["log"]["events of conversations closed before"], 7)
        report, flagged = signals(self.mixed(), open_at_once=2)
        self.assertEqual(report["log"].get("events of conversations closed before", 0), 0)
        self.assertEqual(sorted(row["conversation_id"] for row in flagged), ["a", "b"])

    def test_a_conversation_that_begins_midway_is_told(self):
        report, _ = signals(conversation("a")[5:])
        self.assertEqual(report["log"]["conversations begun midway"], 1)

    def test_memory_does_not_grow_with_the_number_of_conversations(self):
        peaks, some = [], list(generate_log(1200))
        for times in (2, 6):  # the same conversations under other names, so that the longest is as long
            log = [line
                   for n in range(times)
                   for line in lines({**e, "conversation_id": f"{n} {e['conversation_id']}"} for e in some)]
            tracemalloc.start()
            with (
                mock.patch("compaction.signals.events.REMEMBERED", 4),
                mock.patch("compaction.signals.report.SAMPLE", 2),
            ):  # full in both
                find_signals(iter(log), "log")
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess(peaks[1], 1.2 * peaks[0])

    def test_lines_that_are_no_events_are_refused_with_their_number(self):
        good = conversation("a")[0]
        for bad, word in ((b"{", "not JSON"), (b"[]", "no JSON object"),
                          (json.dumps({**good, "kind": "odd"}).encode(), "kind is 'odd'"),
                          (json.dumps({**good, "turn": "1"}).encode(), "'turn'"),
                          (json.dumps({**good, "content": None}).encode(), "'content'"),
                          (json.dumps({**good, "conversation_id": 7}).encode(), "'conversation_id'"),
                          (json.dumps({**good, "reply": True}).encode(), "'reply'")):
            with self.assertRaisesRegex(InputError, f"log: line 2: .*{word}"):
                find_signals([json.dumps(good).encode(), bad], "log")

    def test_a_log_without_an_event_is_an_error(self):
        with self.assertRaisesRegex(InputError, "no event"):
            find_signals([b"\n"], "log")


class Command(unittest.TestCase):
    def run_main(self, *arguments):
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = status_of(main, [str(a) for a in arguments])
            out.flush()
        return status, out.buffer.getvalue().decode("utf-8"), err.getvalue()

    def test_the_report_is_one_json_value_with_the_flagged_conversations_last(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log.jsonl"
            for names in ([], ["a"], ["a", "b"]):
                events = [event for name in names for event in conversation(name)] or conversation(
                    "z", False, False, False)
                log.write_bytes(b"\n".join(lines(events)) + b"\n")
                status, out, err = self.run_main(log)
                report = json.loads(out)
                self.assertEqual((status, err, list(report)[-1]), (0, "", "flagged"))
                self.assertEqual([row["conversation_id"] for row in report["flagged"]], names)

    def test_half_a_surrogate_pair_anywhere_in_an_event_does_not_end_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log.jsonl"
            events = [
                {**e, "time": "\ud800", "conversation_id": "a\udfff"} | ({"name": "\ud83d"} if "name" in e else {})
                for e in conversation("a")]
            log.write_bytes(b"\n".join(lines(events)) + b"\n")
            status, out, err = self.run_main(log)
            self.assertEqual((status, err, json.loads(out)["flagged"][0]["hits"][0]["name"]), (0, "", "?"))

    def test_refusals_are_one_line(self):
        for arguments, word in ((["none.jsonl"], "cannot be read"),
                                (["none.jsonl", "--labels", "none.json"], "cannot be read")):
            status, out, err = self.run_main(*arguments)
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
            self.assertIn(word, err)
        for arguments in (["x", "--since", "soon"], ["x", "--open", "0"]):
            self.assertEqual(self.run_main(*arguments)[0], 2)


@unittest.skipUnless(DATA, "LAB_DATA names no folder with recorded sessions")
class RecordedSessions(unittest.TestCase):
    def test_precision_and_recall_on_the_labelled_messages(self):
        folder = Path(DATA) / "sessions"
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stderr(io.StringIO()):
            log = Path(out) / "log.jsonl"
            paths = [
                str(p)
                for p in sorted(folder.iterdir())
                if p.suffix in (".jsonl", ".json", ".traj") and p.stem not in ("items", "manifest", "restatements")]
            import_main([*paths, "--output", str(log)])
            value = json.loads((folder / "restatements.json").read_text(encoding="utf-8"))
            labels = {(m["conversation_id"], m["turn"]): m["label"] for m in value["messages"]}
            with open(log, "rb") as file:
                found = find_signals(file, log, labels=labels)["labels"]
        self.assertEqual((found["labelled"], found["restates"], found["found"], found["false_alarms"]), (18, 9, 9, 0))


if __name__ == "__main__":
    unittest.main()
