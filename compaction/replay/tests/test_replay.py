"""Replay finds exactly what an agent loses by compaction, and says where a recorded trace stood in for a run."""

import json
import unittest
from unittest import mock

from base.stats import mcnemar
from base.tests.made import Files, needs_tokenizer, run
from base.turns import message_texts
from compaction.contexts import grow_all
from compaction.fixtures.form import SHIPPED, load_fixtures
from compaction.fixtures.items import find_all
from compaction.replay.__main__ import go_on, main, model_agent, pair, recorded_tool, recorded_tools, replay, summarize
from compaction.tests.doubles import count_words, forgetful_agent, small_fixture
from strategies import turn_messages

SHORTEST = sorted(SHIPPED.glob("*.json"), key=lambda path: path.stat().st_size)
AGENT = forgetful_agent([small_fixture()])
ALL = ("Do not push to main", "I will write the report", "Should we keep the old queue?", "The cutover is on Sunday")
CALL = {"kind": "call", "tool": "read", "args": {"path": "docs/plan-7.md"}}
PLAN = "plan: the cutover is on Friday"  # what that call gave


def final(text, extractive=False):
    """A double of an agent that always answers the same."""
    agent = lambda task, transcript: {"kind": "final", "text": text}  # noqa: E731
    agent.extractive = extractive
    return agent


def row(*kept, room=10_000, agent=AGENT, steps=1, **changes):
    """The replay of a context that one compaction left at turn 9."""
    user = small_fixture()["history"][8]["user"]
    context = {"conversation_id": "small", "compaction": 1, "turn": 9,
               "messages": [{"role": "user", "content": text} for text in (*kept, user)], **changes}
    return replay(small_fixture(), context, agent, None, count_words, room, steps)


def lost(row):
    return [item for item, outcome in row["pairs"].items() if outcome == "lost"]


def played(agent, *later):
    return go_on([{"role": "user", "content": "one"}], later, [], small_fixture(), agent, None)


class Pairs(unittest.TestCase):
    def test_the_discordant_pairs_are_exactly_what_was_compacted_away(self):
        for number, gone in enumerate(ALL, 1):
            with self.subTest(gone):
                made = row(*(text for text in ALL if text != gone))
                self.assertEqual((lost(made), made["outcome"]), ([f"small-{number}"], "lost"))
        made = row(*ALL)
        self.assertEqual((set(made["pairs"].values()), made["calls_differ"]), ({"same"}, False))
        self.assertEqual(summarize([made])["to_read"], [])

    def test_what_the_agent_does_when_it_forgot_is_a_call_that_the_reference_did_not_make(self):
        made = row(*ALL[1:])
        self.assertTrue(made["calls_differ"])
        self.assertEqual(made["compacted_run"]["probe_calls"]["small-1"], [["proceed", {"item": "small-1"}]])
        self.assertEqual(made["reference_run"]["probe_calls"]["small-1"], [])

    def test_the_sum_holds_both_numbers_the_exact_test_and_what_to_read(self):
        summary = summarize([row(*ALL), *[row(*ALL[1:]) | {"conversation_id": f"c{n}"} for n in range(6)]])
        self.assertEqual(summary["conversations"],
                         {"pairs": 7, "lost": 6, "gained": 0, "unknown": 0, "p": mcnemar(6, 0)})
        self.assertEqual(summary["items"]["lost"], 6)
        self.assertEqual([talk["conversation_id"] for talk in summary["to_read"]], [f"c{n}" for n in range(6)])
        self.assertEqual(summary["to_read"][0]["lost"], ["small-1"])

    def test_what_is_no_answer_or_cannot_be_judged_is_unknown_and_what_fails_in_both_runs_is_the_same(self):
        for what, agent, outcome in (
            ("a blank answer", final(" "), "unknown"), ("a blank copy", final(" ", True), "unknown"),
            ("an agent that never stops", lambda *_: CALL, "unknown"),
            ("a free answer without a judge", final("It may not be pushed."), "unknown"),
            ("a reference that fails too", final("Done.", True), "same")):
            with self.subTest(what):
                made = row(*ALL[1:], agent=agent)
                self.assertEqual((set(made["pairs"].values()), made["outcome"]), ({outcome}, outcome))
                self.assertEqual(summarize([made])["conversations"]["unknown"], int(outcome == "unknown"))

    def test_a_context_above_the_window_is_asked_or_counts_as_lost_or_kept(self):
        made = row(*ALL, failed=True)
        self.assertEqual((made["reference"], made["compacted_run"]["answers"]), ("run", []))
        self.assertEqual(set(made["pairs"].values()), {"unknown"})
        summary = summarize([made])
        self.assertEqual((summary["failed"], summary["conversations"]["unknown"], summary["calls_differ"]), (1, 1, 0))

    def test_a_turn_of_the_reference_or_a_turn_that_follows_is_left_out(self):
        asked, history = [], small_fixture()["history"]

        def agent(task, transcript):
            asked.append([message["content"] for message in task["messages"]])
            return {"kind": "final", "text": "ok"}

        row("short", agent=agent, steps=2)
        before = [message["content"] for turn in history[:8] for message in turn_messages(turn)]
        now, following = history[8]["user"], history[9]["user"]
        for said, reference, compacted in zip(([now], [now, "ok", following]), asked, asked[len(ALL) + 2:]):
            self.assertEqual((reference, compacted), ([*before, *said], ["short", *said]))
        accepted = row("short", agent=agent, steps=2, room=30)["reference_run"]["answers"]
        self.assertEqual(accepted, [turn["assistant"] for turn in history[8:10]])

    def test_kinds_of_pairs(self):
        for kind, reference, compacted in (
            ("lost", ["verbatim"], ["absent"]), ("gained", ["absent"], ["supported"]),
            ("lost", ["accepted"], ["contradicted"]), ("same", ["absent"], ["contradicted"]),
            ("unknown", ["verbatim"], ["unjudged"]), ("unknown", ["absent"], ["opaque"]),
            ("unknown", [], []), ("unknown", ["verbatim"], ["verbatim", "unjudged"]),  # nothing was checked: no pass
            ("lost", ["verbatim", "supported"], ["unjudged", "absent"])):
            self.assertEqual(pair(reference, compacted), kind, (reference, compacted))

    def test_a_history_that_does_not_fit_has_its_accepted_trace_as_reference_that_was_never_probed(self):
        made = row(*ALL[1:], room=30)
        self.assertEqual((made["reference"], lost(made), made["calls_differ"]), ("accepted trace", ["small-1"], False))
        self.assertEqual(made["reference_run"]["answers"], [small_fixture()["history"][8]["assistant"]])
        self.assertTrue(row(*ALL, room=30, agent=lambda *_: CALL)["calls_differ"])
        self.assertEqual(summarize([row(*ALL), made, made])["references"], {"run": 1, "accepted_trace": 2})


@needs_tokenizer
class Shipped(Files):
    """The double of an agent on shipped fixtures: what it loses is what the last compaction left out, no more."""

    ARGUMENTS = ["--agent=compaction.tests.doubles:shipped_forgetful_agent", "--fixtures"]

    def test_the_discordant_pairs_are_exactly_the_items_that_stand_no_longer_in_the_last_context(self):
        gone, made, paths = set(), [], SHORTEST[:3]
        with mock.patch("compaction.replay.__main__.grow_all", lambda *given: made.extend(grow_all(*given)) or made):
            status, out, err = run(main, *self.ARGUMENTS, *paths, "--compactor", "ledger", "--window", "32768")
        last = {context["conversation_id"]: context for context in made}
        for fixture in load_fixtures(paths):
            context = last[fixture["conversation_id"]]
            texts = [text for message in context["messages"] for text in message_texts(message)]
            for item in fixture["must_survive"]:
                kept = any(find_all(said, text) for said in (item["literal"], *item.get("also", ())) for text in texts)
                gone |= {item["id"]} if item["turn"] < context["turn"] and not kept else set()
        report, summary = json.loads(out), json.loads(out)["summary"]
        self.assertTrue(gone)
        self.assertEqual({item for row in report["rows"] for item in lost(row)}, gone)
        self.assertEqual((summary["items"]["lost"], summary["items"]["gained"]), (len(gone), 0))
        self.assertEqual(summary["items"]["p"], mcnemar(len(gone), 0))
        self.assertEqual(summary["references"], {"run": len(paths), "accepted_trace": 0})
        self.assertIn("exact McNemar p", err)

    def test_a_reference_has_at_least_the_windows_of_what_it_is_the_reference_of(self):
        for option, value in (("--window", 0), ("--window", -1), ("--window", 4095), ("--steps", 0)):
            self.refused(f"{option} is {value}", main,
                         *self.ARGUMENTS, SHORTEST[0], "--compactor=recent", option, value)

    def test_at_the_shipped_budget_a_reference_is_the_accepted_trace(self):
        status, out, err = run(main, *self.ARGUMENTS, SHORTEST[0], "--compactor", "recent", "--judge",
                               "compaction.tests.doubles:overlap_judge")
        self.assertIn("judge: unmeasured judge", err)
        self.assertEqual(json.loads(out)["summary"]["references"], {"run": 0, "accepted_trace": 1})
        self.assertIn("0 run, 1 from the accepted trace", err)
        self.assertEqual(json.loads(out)["agent"]["double"], "forgetful_agent")


class Running(unittest.TestCase):
    def test_a_recorded_call_gets_its_recorded_result_and_another_an_error(self):
        other, seen = {**CALL, "args": {"path": "docs/other.md"}}, []

        def agent(task, transcript):
            seen.append([done["result"] for done in transcript])
            return [CALL, other, {"kind": "final", "text": "ok"}][len(transcript)]

        self.assertEqual(played(agent)["calls"], [["read", CALL["args"]], ["read", other["args"]]])
        self.assertEqual(seen[-1][0], PLAN)
        self.assertRegex(seen[-1][1], "^ERROR: .*nothing was recorded")
        self.assertEqual(recorded_tools(small_fixture()["history"])["read"]["args"], {"path": str})
        self.assertEqual(recorded_tool("f", [{"a": 1}, {"a": 2, "b": 3}], {})["args"], {"a": int})  # b is not always

    def test_the_agent_sees_later_turns_after_its_own_answers(self):
        seen = []

        def agent(task, transcript):
            seen.append([message["content"] for message in task["messages"]])
            return {"kind": "final", "text": f"answer {len(seen)}"}

        played(agent, "two")
        self.assertEqual(seen, [["one"], ["one", "answer 1", "two"]])

    def test_a_model_is_an_agent(self):
        asked, call = [], {"function": {"name": "read", "arguments": CALL["args"]}}
        entries = [{"answer": "", "tool_calls": [call]}, {"answer": "Friday.", "tool_calls": []}]
        ask = lambda messages, tools: asked.append((messages, tools)) or entries[len(asked) - 1]  # noqa: E731
        self.assertEqual(played(model_agent(ask))["answers"], ["Friday."])
        self.assertEqual(asked[0][1][0]["function"]["name"], "read")
        self.assertEqual(asked[1][0][-1]["content"], PLAN)
        self.assertEqual(played(model_agent(lambda *_: {"incomplete": "thinking"}))["answers"], [""])
