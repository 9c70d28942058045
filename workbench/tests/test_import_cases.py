"""What an import could get wrong: evidence lost or invented, sessions run together, calls torn from their results."""

import json
import os
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
        return import_locomo(locomo([question(labels, category) for labels in evidence], **conversation), "file")

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
                    read(value, "file")

    @unittest.skipUnless(os.environ.get("LAB_DATA"), "LAB_DATA names no folder with locomo/locomo10.json")
    def test_the_published_set_gives_2820_labels_over_1982_questions(self):
        path = Path(os.environ["LAB_DATA"]) / "locomo" / "locomo10.json"
        if not path.exists():
            self.skipTest(f"{path} is absent")
        _, cases, losses = import_locomo(json.loads(path.read_text(encoding="utf-8")), path)
        self.assertEqual((len(cases), sum(len(case["required"]) for case in cases)), (1982, 2820))
        self.assertEqual(Counter(whats(losses)), {"question left out": 4, "label repaired": 6, "label left out": 3})


class LongMemEval(unittest.TestCase):
    def test_a_newest_turn_is_not_the_newest_since_the_file_is_not_in_order_of_time(self):
        sessions = [[{"role": "user", "content": text, "has_answer": text == "d"}] for text in "cbda"]
        dates = [f"2023/05/{day} (Sat) 02:21" for day in ("20", "01", "20")] + ["2022/12/31 (Sat) 23:59"]
        value = longmemeval(haystack_dates=dates, haystack_sessions=sessions)
        value += longmemeval(question_id="unread", haystack_dates=["2 May", "1 May"], haystack_sessions=sessions[2:])
        histories, cases, losses = import_longmemeval(value, "file")
        self.assertEqual([[turn["id"] for turn in turns] for turns in histories.values()],
                         [["S4:1", "S2:1", "S1:1", "S3:1"], ["S1:1", "S2:1"]])
        self.assertEqual(cases[0]["required"], [{"turn": "S3:1", "text": "d"}])
        self.assertEqual(losses, [
            ("order of the file kept", "unread", "the date '2 May' is not read"),
            ("sessions put in the order of their dates", "file",
             "2 sessions of 1 of the 2 questions stood behind a later one")])

    def test_marked_messages_are_no_facts_or_a_long_one_is_named_whole(self):
        long = [{"role": "user", "content": f" {'long ' * 99}", "has_answer": True}]
        histories, cases, losses = import_longmemeval(
            longmemeval() + longmemeval(question_id="q2", haystack_sessions=[long]), "file")
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
        histories, cases, losses = import_longmemeval(value, "file")
        self.assertEqual([(case["id"], case["kind"], case["split"]) for case in cases],
                         [("q1", "single-session-user", "dev"), ("q4_abs", "abstention", "held_out")])
        self.assertEqual(whats(losses), ["abstention left out", "message left out", "question left out"])
        self.assertEqual([turn["id"] for turn in histories["q3"]], ["S1:2"])


class ChatLogs(Files):
    def imported(self, *lines, options=()):
        """(the set, the complaints) of a log with these lines, or with these bytes."""
        content = lines[0] if isinstance(lines[0], bytes) else list(lines)
        status, out, err = run(main, "chat", self.write("log.jsonl", content), *options)
        self.assertEqual(status, 0, err)
        return json.loads(out), err

    def test_a_call_and_its_result_are_two_turns_or_the_reply_stands_in_the_history(self):
        made, _ = self.imported({"messages": CHAT})
        first, second = made["histories"]["conversation-1"]
        call = {**CALL, "function": {"name": "look", "arguments": {"at": "log"}}}
        self.assertEqual(first["messages"],
                         [{"role": "assistant", "content": "", "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "c1", "content": "disk full"}])
        self.assertEqual((first["assistant"], second["user"]), ("The disk is full.", "Write to ana@example.com"))
        self.assertEqual([made["cases"][0][field] for field in ("current", "instructions", "reply")],
                         ["What was wrong?", "Be brief.", "The disk."])

    def test_every_user_message_but_thanks_becomes_a_case_with_what_came_before_it(self):
        thanks = [{"role": "user", "content": text} for text in ("Ok, thank you so much!", "👍", "Vielen Dank!")]
        log = [{"id": "one", "messages": [*CHAT, *thanks]}, {"id": "two", "messages": CHAT}]
        made, _ = self.imported(*log, options=["--question", "all"])
        self.assertEqual([(case["id"], case["current"], case["reply"], case["split"]) for case in made["cases"]],
                         [("one-2", "Write to ana@example.com", "Done.", "dev"),
                          ("one-3", "What was wrong?", "The disk.", "dev"),
                          ("two-2", "Write to ana@example.com", "Done.", "held_out"),
                          ("two-3", "What was wrong?", "The disk.", "held_out")])
        self.assertEqual([len(turns) for turns in made["histories"].values()], [1, 2, 1, 2])
        self.assertEqual([(case["id"], case["current"]) for case in self.imported(*log)[0]["cases"]],
                         [("one", "What was wrong?"), ("two", "What was wrong?")])

    def test_one_bad_line_spoils_the_others(self):
        line = json.dumps({"id": "a", "messages": CHAT}).encode()
        bad = [b"{", b'{"messages": 3}', b"3", line, b'"\xff"', b'{"a": NaN}']
        made, err = self.imported(b"\n".join([line, *bad, line.replace(b'"a"', b'"b"', 1)]))
        self.assertEqual(list(made["histories"]), ["a", "b"])
        self.assertEqual([err.count(f"  line {number}: ") for number in range(1, 9)], [0, 1, 1, 1, 1, 1, 1, 0])
        self.assertIn("line left out: 3\n", err)

    def test_a_json_list_or_single_messages_are_read_as_something_else_than_lines(self):
        log = [{"id": "a", "messages": CHAT}, {"id": "b", "messages": CHAT}]
        mixed = [{**message, "conversation_id": name} for message in CHAT for name in "ab"]
        lines = self.imported(*log)[0]
        for value in ((json.dumps(log, indent=1).encode(),), (json.dumps(mixed).encode(),), mixed):
            self.assertEqual(self.imported(*value)[0], lines)
        self.assertEqual(len(self.imported(CHAT, CHAT)[0]["cases"]), 2)

    def test_of_a_conversation_that_was_logged_at_every_turn_the_first_state_is_taken(self):
        made, err = self.imported(*({"id": "a", "messages": CHAT[:size]} for size in (2, 6, 9, 3)))
        self.assertEqual(made["cases"][0]["current"], "What was wrong?")
        self.assertIn("value left out: 3\n", err)

    def test_what_cannot_be_read_is_left_out_in_part_or_not_told(self):
        call = {"name": "look", "arguments": "{"}
        for change in ({"tool_calls": [{**CALL, "function": call}]}, {"tool_calls": [{**CALL, "id": "without result"}]},
                       {"content": [{"type": "image_url", "image_url": {}}]}, {"content": "half a character \ud800"},
                       {"content": [{"type": "text"}]}, {"function_call": {**call, "arguments": "{}"}},
                       {"audio": {"id": "a1"}}, {"role": "function", "name": "look", "content": "disk full"}):
            with self.subTest(change=change):
                messages = [*CHAT[:2], {"role": "assistant", "content": None, **change}, *CHAT[4:]]
                made, err = self.imported({"messages": messages})
                self.assertEqual(len(made["histories"]["conversation-1"]), 1)
                self.assertIn("turn left out: 1\n", err)

    def test_half_a_character_in_a_question_a_reply_or_a_name_spoils_the_set(self):
        odd = {"role": "user", "content": "x \ud800"}
        made, err = self.imported({"id": "q", "messages": [*CHAT, odd]}, {"id": "r \ud800", "messages": CHAT},
                                  {"id": "s", "messages": [*CHAT[:-1], {**odd, "role": "assistant"}]})
        self.assertEqual([(case["id"], "reply" in case) for case in made["cases"]], [(r"r \ud800", True), ("s", False)])
        self.assertIn("question left out: 1\n", err)

    def test_a_refusal_is_not_what_the_assistant_said(self):
        for said in ({"content": None, "refusal": "No."}, {"content": [{"type": "refusal", "refusal": "No."}]}):
            made, _ = self.imported({"messages": [CHAT[1], {"role": "assistant", **said}, CHAT[-2]]})
            self.assertEqual(made["histories"]["conversation-1"][0]["assistant"], "No.")

    @needs_tokenizer
    def test_a_control_token_in_one_conversation_spoils_the_set(self):
        token = "<turn|>"
        talks = {
            "turn": [{"role": "user", "content": f"Say {token}"}, {"role": "assistant", "content": "No."}, *CHAT[1:]],
            "call": [*CHAT[:3], {**CHAT[3], "content": token}, *CHAT[4:]],
            "question": [*CHAT[:-2], {"role": "user", "content": token}], "whole": CHAT}
        made, err = self.imported(*({"id": name, "messages": said} for name, said in talks.items()))
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

        histories, cases, losses = import_locomo(locomo([question(["D1:1"]), question(["D2:1"])]), "file")
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
        made, err = self.imported({"messages": CHAT}, options=["--mask"])
        self.assertNotIn("example.com", json.dumps(made))
        self.assertIn("Write to [mail address 1]", json.dumps(made))
        self.assertIn("masked: 1 different mail address", err)
