"""What an import could get wrong: evidence lost or invented, sessions run together, calls torn from their results."""

import json
import os
import re
import unittest
from collections import Counter
from pathlib import Path

from base.command import InputError
from base.tests.made import Files, needs_tokenizer, run
from selection.cases import check_set
from workbench.import_cases import case_set, main, that_fit
from workbench.published_sets import import_locomo, import_longmemeval
from workbench.tests.made import CALL, CHAT, locomo, longmemeval, question, utterance


def whats(losses):
    return [what for what, _, _ in losses]


class LoCoMo(unittest.TestCase):
    def imported(self, *evidence, category=4, **conversation):
        losses = []
        value = locomo([question(labels, category) for labels in evidence], **conversation)
        return *import_locomo(value, "file", losses), losses

    def test_a_turn_spans_two_sessions_or_lacks_its_date_or_a_caption_or_sessions_are_in_the_order_of_their_names(self):
        later = {f"session_{n}": [utterance(f"D{n}:1", "Ana", "Hi.")] for n in (10, 3)}
        turns = self.imported(["D2:1"], **later, session_3_date_time="3 May", session_10_date_time="9 May")[0]["one"]
        self.assertEqual([turn["id"] for turn in turns], ["D1:1-2", "D1:3", "D2:1-2", "D3:1", "D10:1"])
        self.assertEqual((turns[1]["user"], turns[0]["assistant"]),
                         ("[1 May] Ana: Look. [picture: a boat on a lake]", "Ben: Mine is red."))

    def test_evidence_names_another_turn_counts_twice_or_is_repaired_or_left_out_without_a_word(self):
        for evidence, turns, told in (
                (["D1:2", "D2:2", "D1:2"], ["D1:1-2", "D2:1-2"], []),
                (["D1:1; D2:1", "D:2:2", "D1:03", "D", "D9:9"], ["D1:1-2", "D2:1-2", "D2:1-2", "D1:3"],
                 ["label repaired"] * 3 + ["label left out"] * 2),
                (["D1:1 D9:9"], ["D1:1-2"], ["label left out"])):  # right in part is no repair
            _, (case,), losses = self.imported(evidence)
            self.assertEqual(([fact["turn"] for fact in case["required"]], whats(losses)), (turns, told))
        self.assertEqual(self.imported(["D1:2"])[1][0]["required"], [{"turn": "D1:1-2", "text": "Ben: Mine is red."}])

    def test_a_question_without_evidence_is_scored_or_the_adversarial_category_is_no_kind_of_its_own(self):
        _, cases, losses = self.imported([], ["D1:1"], category=5)
        self.assertEqual([(case["id"], case["kind"]) for case in cases], [("one-1", "adversarial")])
        self.assertEqual(whats(losses), ["question left out"])
        self.assertEqual(self.imported(["D1:1"], category=9)[1][0]["kind"], "category 9")

    def test_a_file_of_another_shape_is_imported(self):
        for read, name, values in (
                (import_locomo, "LoCoMo", ([{"sample_id": "one"}], [3], locomo([{"question": "?"}]), locomo([]) * 2,
                                           locomo([], session_2_date_time=[]))),
                (import_longmemeval, "date|twice|LongMemEval", (
                    [{}], longmemeval(haystack_dates=3), longmemeval() * 2, longmemeval(haystack_dates=[])))):
            for value in ([], {}, *values):
                with self.subTest(value=value), self.assertRaisesRegex(InputError, name):
                    read(value, "file", [])

    @unittest.skipUnless(os.environ.get("LAB_DATA"), "LAB_DATA names no folder with locomo/locomo10.json")
    def test_the_published_set_gives_2820_labels_over_1982_questions(self):
        path = Path(os.environ["LAB_DATA"]) / "locomo" / "locomo10.json"
        if not path.exists():
            self.skipTest(f"{path} is absent")
        losses = []
        _, cases = import_locomo(json.loads(path.read_text(encoding="utf-8")), path, losses)
        self.assertEqual((len(cases), sum(len(case["required"]) for case in cases)), (1982, 2820))
        self.assertEqual(Counter(whats(losses)), {"question left out": 4, "label repaired": 6, "label left out": 3})


class LongMemEval(unittest.TestCase):
    def test_a_newest_turn_is_not_the_newest_since_the_file_is_not_in_order_of_time(self):
        sessions = [[{"role": "user", "content": text, "has_answer": text == "d"}] for text in "cbda"]
        dates = [f"2023/05/{day} (Sat) 02:21" for day in ("20", "01", "20")] + ["2022/12/31 (Sat) 23:59"]
        value = longmemeval(haystack_dates=dates, haystack_sessions=sessions)
        value += longmemeval(question_id="unread", haystack_dates=["2 May", "1 May"], haystack_sessions=sessions[2:])
        losses = []
        histories, cases = import_longmemeval(value, "file", losses)
        self.assertEqual([[turn["id"] for turn in turns] for turns in histories.values()],
                         [["S4:1", "S2:1", "S1:1", "S3:1"], ["S1:1", "S2:1"]])
        self.assertEqual(cases[0]["required"], [{"turn": "S3:1", "text": "d"}])
        self.assertEqual(losses, [
            ("order of the file kept", "unread", "the date '2 May' is not read"),
            ("sessions put in the order of their dates", "file",
             "2 sessions of 1 of the 2 questions stood behind a later one")])

    def test_marked_messages_are_no_facts_or_a_long_one_is_named_whole(self):
        long = [{"role": "user", "content": f" {'long ' * 99}", "has_answer": True}]
        losses = []
        histories, cases = import_longmemeval(
            longmemeval() + longmemeval(question_id="q2", haystack_sessions=[long]), "file", losses)
        self.assertEqual(cases[0]["required"], [{"turn": "S1:1", "text": "I moved to Lisbon."}])
        date = "[2023/05/01 (Mon) 18:05]"
        self.assertEqual([turn["user"] for turn in histories["q1"]], [f"{date} I moved to Lisbon.", date])
        self.assertEqual(losses, [])
        self.assertLessEqual(len(cases[1]["required"][0]["text"]), 200)
        check_set(case_set(histories, cases, 100), "file")

    def test_abstention_is_no_kind_of_its_own_a_question_without_marks_is_scored_or_another_role_is_a_turn(self):
        empty, odd = [{"role": "user", "content": "Hi."}], {"role": "system", "content": "x", "has_answer": True}
        value = longmemeval() + longmemeval(question_id="q2_abs", haystack_sessions=[empty])
        value += longmemeval(question_id="q3", haystack_sessions=[[odd, *empty]]) + longmemeval(question_id="q4_abs")
        losses = []
        histories, cases = import_longmemeval(value, "file", losses)
        self.assertEqual([(case["id"], case["kind"], case["split"]) for case in cases],
                         [("q1", "single-session-user", "dev"), ("q4_abs", "abstention", "held_out")])
        self.assertEqual(whats(losses), ["abstention left out", "message left out", "question left out"])
        self.assertEqual([turn["id"] for turn in histories["q3"]], ["S1:2"])


def log(name, messages=CHAT):
    return {"id": name, "messages": messages}


LINE, CALLED = json.dumps(log("a")).encode(), {"name": "look", "arguments": "{"}
MIXED = [{**message, "conversation_id": name} for message in CHAT for name in "ab"]
THANKS = [{"role": "user", "content": text} for text in ("Ok, thank you so much!", "👍", "Vielen Dank!")]
HALF = {"role": "user", "content": "x \ud800"}
DISK, DONE = ("What was wrong?", "The disk."), ("Write to ana@example.com", "Done.")
A, B = ("a", *DISK, 2, "dev"), ("b", *DISK, 2, "held_out")  # id, question, reply, turns before it, split of a case
LOGS = (  # what is read, the cases, what is told
    ("thanks are a question", [log("a", [*CHAT, *THANKS]), log("b")], [A, B], []),
    ("a JSON list is no log", json.dumps([log("a"), log("b")], indent=1).encode(), [A, B], []),
    ("single messages in a list are no log", json.dumps(MIXED).encode(), [A, B], []),
    ("single messages in lines are no log", MIXED, [A, B], []),
    ("bare lists of messages are no log", [CHAT, CHAT], [("conversation-1", *A[1:]), ("conversation-2", *B[1:])], []),
    ("one bad line spoils the others", b"\n".join(
        [LINE, b"{", b'{"messages": 3}', b"3", LINE, b'"\xff"', b'{"a": NaN}', LINE.replace(b'"a"', b'"b"')]), [A, B],
     ["line left out: 3", "line 2", "line 6", "line 7", "value left out: 3", "line 3", "line 4", "line 5"]),
    ("the first state of a conversation that was logged at every turn is taken",
     [log("a", CHAT[:size]) for size in (2, 6, 9, 3)], [A], ["value left out: 3", "line 2", "line 3", "line 4"]),
    ("half a character in a question or a reply spoils the set",
     [log("q", [*CHAT, HALF]), log("a"), log("b", [*CHAT[:-1], {**HALF, "role": "assistant"}])],
     [A, ("b", DISK[0], None, *B[3:])], ["question left out: 1", "conversation left out: 1"]),
    ("half a character in a name spoils the set", [log("\ud800")], [("\\ud800", *A[1:])], []),
    ("a system message is in a turn", [log("a", [*CHAT[:5], CHAT[0], *CHAT[5:]])], [A], ["message left out: 1"]),
    *((f"a turn is imported in part: {change}",
       [log("a", [*CHAT[:2], {"role": "assistant", "content": None, **change}, *CHAT[4:]])], [(*A[:3], 1, "dev")],
       ["turn left out: 1"]) for change in (
        {"tool_calls": [{**CALL, "function": CALLED}]}, {"tool_calls": [{**CALL, "id": "without result"}]},
        {"content": [{"type": "image_url", "image_url": {}}]}, {"content": "half a character \ud800"},
        {"content": [{"type": "text"}]}, {"function_call": {**CALLED, "arguments": "{}"}}, {"audio": {"id": "a1"}},
        {"role": "function", "name": "look", "content": "disk full"})))


class ChatLogs(Files):
    def imported(self, content, *options):
        """(the set, its cases as above, the complaints) of a log with these lines, or bytes."""
        status, out, err = run(main, "chat", self.write("log.jsonl", content), *options)
        self.assertEqual(status, 0, err)
        made = json.loads(out)
        return made, [(case["id"], case["current"], case.get("reply"), len(made["histories"][case["history"]]),
                       case["split"]) for case in made["cases"]], err

    def test_a_log_becomes_other_cases_or_its_losses_are_not_told(self):
        for name, content, cases, told in LOGS:
            with self.subTest(name):
                _, got, err = self.imported(content)
                self.assertEqual((got, re.findall(r"(?m)^(?:  )?(\w+ left out: \d+|line \d+)", err)), (cases, told))

    def test_a_question_is_left_out_or_its_history_is_not_what_came_before_it(self):
        _, cases, _ = self.imported([log("a", [*CHAT, *THANKS]), log("b")], "--question", "all")
        self.assertEqual(cases, [("a-2", *DONE, 1, "dev"), ("a-3", *A[1:]), ("b-2", *DONE, 1, "held_out"),
                                 ("b-3", *B[1:])])

    def test_a_call_and_its_result_are_two_turns_or_a_refusal_is_not_what_was_said(self):
        made, _, _ = self.imported([CHAT])
        first, second = made["histories"]["conversation-1"]
        call = {**CALL, "function": {"name": "look", "arguments": {"at": "log"}}}
        self.assertEqual(first["messages"],
                         [{"role": "assistant", "content": "", "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "c1", "content": "disk full"}])
        self.assertEqual((first["assistant"], second["user"], made["cases"][0]["instructions"]),
                         ("The disk is full.", "Write to ana@example.com", "Be brief."))
        for said in ({"content": None, "refusal": "No."}, {"content": [{"type": "refusal", "refusal": "No."}]}):
            made, _, _ = self.imported([[CHAT[1], {"role": "assistant", **said}, CHAT[-2]]])
            self.assertEqual(made["histories"]["conversation-1"][0]["assistant"], "No.")

    @needs_tokenizer
    def test_a_control_token_in_one_conversation_spoils_the_set(self):
        token = "<turn|>"
        talks = {
            "turn": [{"role": "user", "content": f"Say {token}"}, {"role": "assistant", "content": "No."}, *CHAT[1:]],
            "call": [*CHAT[:3], {**CHAT[3], "content": token}, *CHAT[4:]],
            "question": [*CHAT[:-2], {"role": "user", "content": token}], "whole": CHAT}
        made, _, err = self.imported([log(name, said) for name, said in talks.items()])
        self.assertEqual({name: len(turns) for name, turns in made["histories"].items()},
                         {"turn": 2, "call": 1, "whole": 2})
        self.assertNotIn(token, json.dumps(made))
        self.assertIn("turn left out: 2\n", err)
        self.assertIn("question left out: 1\n", err)

    def test_a_question_stays_whose_evidence_is_left_out_or_that_is_over_its_budget(self):
        class Red:
            """A double of the counter whose only control token is "red": every request costs 50 tokens."""
            control_token = staticmethod(lambda text: "red" if "red" in text else None)

            def __call__(self, messages, tools=None):
                return 50

        losses = []
        histories, cases = import_locomo(locomo([question(["D1:1"]), question(["D2:1"])]), "file", losses)
        made = that_fit(case_set(histories, cases, 100), Red(), losses)
        self.assertEqual(([case["id"] for case in made["cases"]], len(made["histories"]["one"])), (["one-1"], 2))
        self.assertEqual(whats(losses), ["turn left out", "question left out"])
        self.assertEqual(that_fit(case_set(histories, cases[1:], 49), Red(), losses)["cases"], [])
        self.assertIn("cost 50 tokens, the budget leaves 49", losses[-1][2])

    def test_a_log_with_nothing_to_import_or_no_budget_is_imported(self):
        for lines in ([{"messages": CHAT[:2]}], [], [{"messages": []}], [3]):
            self.refused("nothing in it could be imported|not JSON", main, "chat", self.write("log.jsonl", lines))
        self.refused("--budget 0", main, "chat", self.write("log.jsonl", [CHAT]), "--budget", 0)

    def test_mask_leaves_an_address_in_the_set(self):
        made, _, err = self.imported([CHAT], "--mask")
        self.assertNotIn("example.com", json.dumps(made))
        self.assertIn("Write to [mail address 1]", json.dumps(made))
        self.assertIn("masked: 1 different mail address", err)
