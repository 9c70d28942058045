"""Replay finds exactly what an agent loses by compaction, and says where a recorded trace stood in for a run."""

import io
import json
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from base.stats import mcnemar
from base.tests.made import needs_tokenizer
from base.turns import message_texts
from compaction.contexts import grow_all
from compaction.fixtures.form import SHIPPED, load_fixtures
from compaction.fixtures.literals import stands
from compaction.replay.__main__ import main, pair, replay, summarize
from compaction.replay.agent import go_on, model_agent, recorded_tools
from compaction.tests.doubles import count_words, forgetful_agent, small_fixture

SHORTEST = str(min(SHIPPED.glob("*.json"), key=lambda path: path.stat().st_size))  # if it does not fit, none does
AGENT = forgetful_agent([small_fixture()])


def context(*texts):
    """A context that one compaction left at turn 9."""
    user = small_fixture()["history"][8]["user"]
    return {"conversation_id": "small", "compaction": 1, "turn": 9,
            "messages": [{"role": "user", "content": text} for text in (*texts, user)]}


ALL = ("Do not push to main", "I will write the report", "Should we keep the old queue?", "The cutover is on Sunday")


def row(*kept, room=10_000, agent=AGENT):
    return replay(small_fixture(), context(*kept), agent, None, count_words, room)


class Pairs(unittest.TestCase):
    def test_the_discordant_pairs_are_exactly_what_was_compacted_away(self):
        for number, gone in enumerate(ALL, 1):
            with self.subTest(gone):
                found = row(*(text for text in ALL if text != gone))
                lost = [item for item, one in found["pairs"].items() if one == "lost"]
                self.assertEqual(lost, [f"small-{number}"])
                self.assertEqual(found["outcome"], "lost")

    def test_nothing_lost_is_no_discordant_pair(self):
        found = row(*ALL)
        self.assertEqual(set(found["pairs"].values()), {"same"})
        self.assertFalse(found["calls_differ"])
        self.assertEqual(summarize([found])["to_read"], [])

    def test_what_the_agent_does_when_it_forgot_is_a_call_that_the_reference_did_not_make(self):
        found = row(*ALL[1:])
        self.assertTrue(found["calls_differ"])
        self.assertEqual(found["compacted_run"]["probe_calls"]["small-1"], [["proceed", {"item": "small-1"}]])
        self.assertEqual(found["reference_run"]["probe_calls"]["small-1"], [])

    def test_the_sum_holds_both_numbers_the_exact_test_and_what_to_read(self):
        rows = [row(*ALL), *[row(*ALL[1:]) | {"conversation_id": f"c{n}"} for n in range(6)]]
        found = summarize(rows)
        self.assertEqual(found["conversations"], {"pairs": 7, "lost": 6, "gained": 0, "unknown": 0, "p": mcnemar(6, 0)})
        self.assertEqual(found["items"]["lost"], 6)
        self.assertEqual([one["conversation_id"] for one in found["to_read"]], [f"c{n}" for n in range(6)])
        self.assertEqual(found["to_read"][0]["lost"], ["small-1"])

    def test_an_unreadable_answer_is_an_unknown_pair(self):
        silent = lambda task, transcript: {"kind": "final", "text": " "}  # noqa: E731
        self.assertEqual(set(row(*ALL, agent=silent)["pairs"].values()), {"unknown"})
        self.assertEqual(summarize([row(*ALL, agent=silent)])["conversations"]["unknown"], 1)
        silent.extractive = True
        self.assertEqual(set(row(*ALL, agent=silent)["pairs"].values()), {"unknown"})

    def test_an_agent_that_never_stops_is_an_unknown_pair(self):
        calls = lambda task, transcript: {"kind": "call", "tool": "read", "args": {"path": "x"}}  # noqa: E731
        self.assertEqual(row(*ALL, agent=calls)["outcome"], "unknown")

    def test_a_free_answer_without_a_judge_is_unknown_and_never_a_fail(self):
        free = lambda task, transcript: {"kind": "final", "text": "It may not be pushed."}  # noqa: E731
        self.assertEqual(set(row(*ALL, agent=free)["pairs"].values()), {"unknown"})

    def test_a_context_above_the_window_is_asked_or_counts_as_lost_or_kept(self):
        found = replay(small_fixture(), context(*ALL) | {"failed": True}, AGENT, None, count_words, 10_000)
        self.assertEqual((found["reference"], found["compacted_run"]["answers"]), ("run", []))
        self.assertEqual(set(found["pairs"].values()), {"unknown"})
        summary = summarize([found])
        self.assertEqual((summary["failed"], summary["conversations"]["unknown"], summary["calls_differ"]), (1, 1, 0))

    def test_kinds_of_pairs(self):
        for kind, reference, compacted in (
            ("lost", ["verbatim"], ["absent"]), ("gained", ["absent"], ["supported"]),
            ("lost", ["accepted"], ["contradicted"]), ("same", ["absent"], ["contradicted"]),
            ("unknown", ["verbatim"], ["unjudged"]), ("unknown", ["absent"], ["opaque"]),
            ("unknown", [], []),  # nothing was checked: no pass
            ("unknown", ["verbatim"] * 2, ["verbatim", "unjudged"]), ("lost", ["verbatim"] * 2, ["unjudged", "absent"])):
            self.assertEqual(pair(reference, compacted), kind, (reference, compacted))


class Reference(unittest.TestCase):
    def test_a_history_that_does_not_fit_has_its_accepted_trace_as_reference(self):
        found = row(*ALL[1:], room=30)
        self.assertEqual(found["reference"], "accepted trace")
        self.assertEqual(found["reference_run"]["answers"], [small_fixture()["history"][8]["assistant"]])
        self.assertEqual([item for item, one in found["pairs"].items() if one == "lost"], ["small-1"])

    def test_calls_to_a_probe_are_not_held_against_a_trace_that_was_never_asked(self):
        self.assertFalse(row(*ALL[1:], room=30)["calls_differ"])
        reads = lambda task, transcript: (  # noqa: E731
            {"kind": "final", "text": "ok"} if transcript else {"kind": "call", "tool": "read", "args": {"path": "x"}}
        )
        self.assertTrue(row(*ALL, room=30, agent=reads)["calls_differ"])

    def test_the_report_says_how_many_were_of_either_kind(self):
        found = summarize([row(*ALL), row(*ALL, room=30), row(*ALL, room=30)])
        self.assertEqual(found["references"], {"run": 1, "accepted_trace": 2})

    def test_a_reference_that_fails_too_is_not_blamed_on_the_compaction(self):
        fails = lambda task, transcript: {"kind": "final", "text": "Done."}  # noqa: E731
        fails.extractive = True
        self.assertEqual(set(row(*ALL[1:], agent=fails)["pairs"].values()), {"same"})


@needs_tokenizer
class Shipped(unittest.TestCase):
    """The double of an agent on the shipped fixtures: what it loses is what the last compaction left out, no more."""

    def run_main(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main(["--agent", "compaction.tests.doubles:shipped_forgetful_agent", *argv])
        return json.loads(out.getvalue()), err.getvalue()

    def test_the_discordant_pairs_are_exactly_the_items_that_stand_no_longer_in_the_last_context(self):
        gone, made = set(), []
        with mock.patch("compaction.replay.__main__.grow_all", lambda *given: made.extend(grow_all(*given)) or made):
            report, err = self.run_main("--compactor", "ledger", "--window", "32768")
        last = {context["conversation_id"]: context for context in made}
        for fixture, context in zip(load_fixtures(), last.values(), strict=True):
            texts = [text for message in context["messages"] for text in message_texts(message)]
            for item in fixture["must_survive"]:
                literals = (item["literal"], *item.get("also", ()))
                if item["turn"] < context["turn"] and not any(stands(one, text) for one in literals for text in texts):
                    gone.add(item["id"])
        lost = {item for row in report["rows"] for item, one in row["pairs"].items() if one == "lost"}
        self.assertTrue(gone)
        self.assertEqual(lost, gone)
        found = report["summary"]
        self.assertEqual((found["items"]["lost"], found["items"]["gained"]), (len(gone), 0))
        self.assertEqual(found["items"]["p"], mcnemar(len(gone), 0))
        self.assertEqual(found["references"], {"run": len(load_fixtures()), "accepted_trace": 0})
        self.assertIn("exact McNemar p", err)

    def test_a_reference_has_at_least_the_windows_of_what_it_is_the_reference_of(self):
        for window in ("0", "-1", "4095"):
            with self.subTest(window), self.assertRaisesRegex(ValueError, "--window is"):
                self.run_main("--compactor", "recent", "--window", window, "--fixtures", SHORTEST)

    def test_at_the_shipped_budget_a_reference_is_not_the_accepted_trace(self):
        argv = ["--compactor", "recent", "--judge", "compaction.tests.doubles:overlap_judge", "--fixtures", SHORTEST]
        report, err = self.run_main(*argv)
        self.assertIn("judge: unmeasured judge", err)
        self.assertEqual(report["summary"]["references"], {"run": 0, "accepted_trace": 1})
        self.assertIn("0 run, 1 from the accepted trace", err)
        self.assertEqual(report["agent"]["double"], "forgetful_agent")


class Running(unittest.TestCase):
    def test_a_recorded_call_gets_its_recorded_result_and_another_an_error(self):
        asked = []

        def agent(task, transcript):
            asked.append([one["result"] for one in transcript])
            path = ["docs/plan-7.md", "docs/other.md"]
            if len(transcript) < 2:
                return {"kind": "call", "tool": "read", "args": {"path": path[len(transcript)]}}
            return {"kind": "final", "text": "ok"}

        found = go_on([{"role": "user", "content": "go"}], [], [], small_fixture(), agent, None)
        self.assertEqual(asked[-1][0], "plan: the cutover is on Friday")
        self.assertRegex(asked[-1][1], "^ERROR: .*nothing was recorded")
        self.assertEqual(found["calls"], [["read", {"path": "docs/plan-7.md"}], ["read", {"path": "docs/other.md"}]])

    def test_the_agent_sees_later_turns_after_its_own_answers(self):
        seen = []

        def agent(task, transcript):
            seen.append([message["content"] for message in task["messages"]])
            return {"kind": "final", "text": f"answer {len(seen)}"}

        go_on([{"role": "user", "content": "one"}], ["two"], [], small_fixture(), agent, None)
        self.assertEqual(seen, [["one"], ["one", "answer 1", "two"]])

    def test_tools_are_declared_as_they_were_used(self):
        self.assertEqual(recorded_tools(small_fixture()["history"])["read"]["args"], {"path": str})

    def test_a_model_is_an_agent(self):
        entries = [
            {"answer": "", "tool_calls": [{"function": {"name": "read", "arguments": {"path": "docs/plan-7.md"}}}]},
            {"answer": "Friday.", "tool_calls": []}]
        asked = []

        def ask(messages, tools):
            asked.append((messages, tools))
            return entries[len(asked) - 1]

        found = go_on([{"role": "user", "content": "when?"}], [], [], small_fixture(), model_agent(ask), None)
        self.assertEqual(found["answers"], ["Friday."])
        self.assertEqual(asked[0][1][0]["function"]["name"], "read")
        self.assertEqual(asked[1][0][-1]["content"], "plan: the cutover is on Friday")
        silent = model_agent(lambda messages, tools: {"incomplete": "thinking"})
        silent = go_on([{"role": "user", "content": "?"}], [], [], small_fixture(), silent, None)
        self.assertEqual(silent["answers"], [""])
