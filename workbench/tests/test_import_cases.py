"""What an import could get wrong: evidence lost or invented, sessions run together, calls torn from their results."""

import json
import os
import random
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from base.command import InputError
from base.tests.made import broken
from selection.cases import check_set
from tokens.manifest import folder
from workbench.import_cases import case_set, main, that_fit
from workbench.locomo import import_locomo
from workbench.longmemeval import import_longmemeval
from workbench.tests.made import CALL, CHAT, locomo, longmemeval, question, run, utterance


class LoCoMo(unittest.TestCase):
    def imported(self, *evidence, category=4, **conversation):
        return import_locomo(locomo([question(labels, category) for labels in evidence], **conversation), "file")

    def test_a_turn_spans_two_sessions_or_lacks_its_date_or_a_caption(self):
        turns = self.imported(["D1:1"])[0]["one"]
        self.assertEqual([turn["id"] for turn in turns], ["D1:1-2", "D1:3", "D2:1-2"])
        self.assertEqual((turns[1]["user"], turns[0]["assistant"]),
                         ("[1 May] Ana: Look. [picture: a boat on a lake]", "Ben: Mine is red."))

    def test_sessions_are_in_the_order_of_their_names_not_of_their_numbers(self):
        later = {f"session_{n}": [utterance(f"D{n}:1", "Ana", "Hi.")] for n in (10, 2)}
        turns = self.imported(["D2:1"], **later, session_10_date_time="9 May")[0]["one"]
        self.assertEqual([turn["id"] for turn in turns], ["D1:1-2", "D1:3", "D2:1", "D10:1"])

    def test_evidence_names_another_turn_or_counts_twice(self):
        _, cases, losses = self.imported(["D1:2", "D2:2", "D1:2"])
        self.assertEqual(cases[0]["required"],
                         [{"turn": "D1:1-2", "text": "Ben: Mine is red."}, {"turn": "D2:1-2", "text": "Ana: To whom?"}])
        self.assertEqual(losses, [])

    def test_malformed_labels_are_repaired_by_pattern_or_left_out_and_both_are_told(self):
        _, cases, losses = self.imported(["D1:1; D2:1", "D:2:2", "D1:03", "D", "D9:9"])
        self.assertEqual([fact["turn"] for fact in cases[0]["required"]], ["D1:1-2", "D2:1-2", "D2:1-2", "D1:3"])
        self.assertEqual(Counter(loss["what"] for loss in losses), {"label repaired": 3, "label left out": 2})
        _, cases, losses = self.imported(["D1:1 D9:9"])  # right in part is no repair
        self.assertEqual((len(cases[0]["required"]), [loss["what"] for loss in losses]), (1, ["label left out"]))

    def test_a_question_without_evidence_is_left_out_and_told(self):
        _, cases, losses = self.imported([], ["D1:1"])
        self.assertEqual([case["id"] for case in cases], ["one-1"])
        self.assertEqual([loss["what"] for loss in losses], ["question left out"])

    def test_the_adversarial_category_is_a_kind_of_its_own(self):
        for category, kind in ((5, "adversarial"), (9, "category 9")):
            self.assertEqual(self.imported(["D1:1"], category=category)[1][0]["kind"], kind)

    def test_a_file_of_another_shape_is_refused_with_its_place(self):
        for value in ({}, [], [{"sample_id": "one"}], [3], locomo([{"question": "?"}])):
            with self.subTest(value=value), self.assertRaisesRegex(InputError, "LoCoMo"):
                import_locomo(value, "file")

    @unittest.skipUnless(os.environ.get("LAB_DATA"), "LAB_DATA names no folder with locomo/locomo10.json")
    def test_the_published_set_gives_2820_labels_over_1982_questions(self):
        path = Path(os.environ["LAB_DATA"]) / "locomo" / "locomo10.json"
        if not path.exists():
            self.skipTest(f"{path} is absent")
        _, cases, losses = import_locomo(json.loads(path.read_text(encoding="utf-8")), path)
        self.assertEqual((len(cases), sum(len(case["required"]) for case in cases)), (1982, 2820))
        self.assertEqual(Counter(loss["what"] for loss in losses),
                         {"question left out": 4, "label repaired": 6, "label left out": 3})


class Red:
    """A double of the counter whose only control token is "red": every request costs 50 tokens."""

    control_token = staticmethod(lambda text: "red" if "red" in text else None)

    def __call__(self, messages, tools=None):
        return 50


DAY = "2023/05/01 (Mon) 18:05"


class LongMemEval(unittest.TestCase):
    def test_a_newest_turn_is_not_the_newest_since_the_file_is_not_in_order_of_time(self):
        sessions = [[{"role": "user", "content": text, "has_answer": text == "d"}] for text in "cbda"]
        dates = ["2023/05/20 (Sat) 02:21", DAY, "2023/05/20 (Sat) 02:21", "2022/12/31 (Sat) 23:59"]
        value = longmemeval(haystack_dates=dates, haystack_sessions=sessions)
        value += longmemeval(question_id="unread", haystack_dates=["2 May", "1 May"], haystack_sessions=sessions[2:])
        histories, cases, losses = import_longmemeval(value, "file")
        self.assertEqual([[turn["id"] for turn in turns] for turns in histories.values()],
                         [["S4:1", "S2:1", "S1:1", "S3:1"], ["S1:1", "S2:1"]])
        self.assertEqual(cases[0]["required"], [{"turn": "S3:1", "text": "d"}])
        self.assertEqual([(loss["what"], loss["detail"]) for loss in losses],
                         [("order of the file kept", "the date '2 May' is not read"),
                          ("sessions put in the order of their dates",
                           "2 sessions of 1 of the 2 questions stood behind a later one")])

    def test_marked_messages_are_no_facts_or_a_long_one_is_named_whole(self):
        long = [{"role": "user", "content": f" {'long ' * 99}", "has_answer": True}]
        histories, cases, losses = import_longmemeval(
            longmemeval() + longmemeval(question_id="q2", haystack_sessions=[long]), "file")
        self.assertEqual(cases[0]["required"], [{"turn": "S1:1", "text": "I moved to Lisbon."}])
        self.assertEqual([turn["user"] for turn in histories["q1"]], [f"[{DAY}] I moved to Lisbon.", f"[{DAY}]"])
        self.assertEqual(losses, [])
        self.assertLessEqual(len(cases[1]["required"][0]["text"]), 200)
        check_set(case_set(histories, cases, 100), "file")

    def test_abstention_is_apart_and_a_question_without_marks_is_never_scored(self):
        empty = [[{"role": "user", "content": "Hello."}]]
        value = longmemeval() + longmemeval(question_id="q2_abs", haystack_sessions=empty)
        value += longmemeval(question_id="q3", haystack_sessions=empty) + longmemeval(question_id="q4_abs")
        _, cases, losses = import_longmemeval(value, "file")
        self.assertEqual(
            [(case["id"], case["kind"]) for case in cases], [("q1", "single-session-user"), ("q4_abs", "abstention")])
        self.assertEqual([loss["what"] for loss in losses], ["abstention left out", "question left out"])

    def test_a_message_of_another_role_is_left_out_and_told(self):
        session = [{"role": "system", "content": "x", "has_answer": True}, {"role": "user", "content": "y"}]
        value = longmemeval() + longmemeval(question_id="q2", haystack_sessions=[session])
        histories, _, losses = import_longmemeval(value, "file")
        self.assertEqual([turn["id"] for turn in histories["q2"]], ["S1:2"])
        self.assertEqual([loss["what"] for loss in losses], ["message left out", "question left out"])

    def test_a_file_of_another_shape_is_refused(self):
        for value in ([], {}, [{}], longmemeval(haystack_dates=3), longmemeval() * 2):
            with self.subTest(value=value), self.assertRaises(InputError):
                import_longmemeval(value, "file")


class ChatLogs(unittest.TestCase):
    def imported(self, *lines, options=(), raw=None):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            path.write_bytes("".join(json.dumps(line) + "\n" for line in lines).encode() if raw is None else raw)
            return run(main, "chat", path, *options)

    def test_a_call_and_its_result_are_two_turns_or_the_reply_stands_in_the_history(self):
        status, out, err = self.imported({"messages": CHAT})
        self.assertEqual(status, 0, err)
        made = json.loads(out)
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
        made = json.loads(self.imported(*log, options=["--question", "all"])[1])
        self.assertEqual([(case["id"], case["current"], case["reply"], case["split"]) for case in made["cases"]],
                         [("one-2", "Write to ana@example.com", "Done.", "dev"),
                          ("one-3", "What was wrong?", "The disk.", "dev"),
                          ("two-2", "Write to ana@example.com", "Done.", "held_out"),
                          ("two-3", "What was wrong?", "The disk.", "held_out")])
        self.assertEqual([len(turns) for turns in made["histories"].values()], [1, 2, 1, 2])
        self.assertEqual([case["id"] for case in json.loads(self.imported(*log)[1])["cases"]], ["one", "two"])
        asked = json.loads(self.imported({"messages": [*CHAT, *thanks]})[1])["cases"][0]
        self.assertEqual(asked["current"], "What was wrong?")

    def test_one_bad_line_spoils_the_others(self):
        line = json.dumps({"id": "a", "messages": CHAT}).encode()
        bad = [b"{", b'{"messages": 3}', b"3", line, b'"\xff"', b'{"a": NaN}']
        status, out, err = self.imported(raw=b"\n".join([line, *bad, line.replace(b'"a"', b'"b"', 1)]))
        self.assertEqual((status, list(json.loads(out)["histories"])), (0, ["a", "b"]))
        self.assertEqual([err.count(f"  line {number}: ") for number in range(1, 9)], [0, 1, 1, 1, 1, 1, 1, 0])
        self.assertIn("line left out: 3\n", err)

    def test_a_json_list_or_single_messages_are_read_as_something_else_than_lines(self):
        lines = self.imported({"id": "a", "messages": CHAT}, {"id": "b", "messages": CHAT})[1]
        self.assertEqual([case["split"] for case in json.loads(lines)["cases"]], ["dev", "held_out"])
        mixed = [{**message, "conversation_id": name} for message in CHAT for name in "ab"]
        for value in ([{"id": "a", "messages": CHAT}, {"id": "b", "messages": CHAT}], mixed):
            self.assertEqual(self.imported(raw=json.dumps(value, indent=1).encode())[1], lines)
        self.assertEqual(self.imported(*mixed)[1], lines)
        self.assertEqual(len(json.loads(self.imported(CHAT, CHAT)[1])["cases"]), 2)

    def test_of_a_conversation_that_was_logged_at_every_turn_the_first_state_is_taken(self):
        status, out, err = self.imported(*({"id": "a", "messages": CHAT[:size]} for size in (2, 6, 9, 3)))
        self.assertEqual((status, json.loads(out)["cases"][0]["current"]), (0, "What was wrong?"))
        self.assertIn("value left out: 3\n", err)

    def test_what_cannot_be_read_is_left_out_whole_and_listed(self):
        call = {"name": "look", "arguments": "{"}
        for change in ({"tool_calls": [{**CALL, "function": call}]}, {"tool_calls": [{**CALL, "id": "without result"}]},
                       {"content": [{"type": "image_url", "image_url": {}}]}, {"content": "half a character \ud800"},
                       {"content": [{"type": "text"}]}, {"function_call": {**call, "arguments": "{}"}},
                       {"audio": {"id": "a1"}}, {"role": "function", "name": "look", "content": "disk full"}):
            with self.subTest(change=change):
                messages = [*CHAT[:2], {"role": "assistant", "content": None, **change}, *CHAT[4:]]
                status, out, err = self.imported({"messages": messages})
                self.assertEqual((status, len(json.loads(out)["histories"]["conversation-1"])), (0, 1))
                self.assertIn("turn left out: 1\n", err)

    def test_half_a_character_in_a_question_a_reply_or_a_name_spoils_the_set(self):
        odd = {"role": "user", "content": "x \ud800"}
        lines = [{"id": "q", "messages": [*CHAT, odd]}, {"id": "r \ud800", "messages": CHAT},
                 {"id": "s", "messages": [*CHAT[:-1], {**odd, "role": "assistant"}]}]
        status, out, err = self.imported(*lines)
        self.assertEqual((status, [case["id"] for case in json.loads(out)["cases"]]), (0, [r"r \ud800", "s"]))
        self.assertIn("question left out: 1\n", err)

    def test_a_refusal_is_not_what_the_assistant_said(self):
        for said in ({"content": None, "refusal": "No."}, {"content": [{"type": "refusal", "refusal": "No."}]}):
            _, out, _ = self.imported({"messages": [CHAT[1], {"role": "assistant", **said}, CHAT[-2]]})
            self.assertEqual(json.loads(out)["histories"]["conversation-1"][0]["assistant"], "No.")

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_a_control_token_in_one_conversation_does_not_spoil_the_set(self):
        token = "<turn|>"
        talks = {
            "turn": [{"role": "user", "content": f"Say {token}"}, {"role": "assistant", "content": "No."}, *CHAT[1:]],
            "call": [*CHAT[:3], {**CHAT[3], "content": token}, *CHAT[4:]],
            "question": [*CHAT[:-2], {"role": "user", "content": token}], "whole": CHAT}
        status, out, err = self.imported(*({"id": name, "messages": said} for name, said in talks.items()))
        made = json.loads(out)
        self.assertEqual((status, list(made["histories"])), (0, ["turn", "call", "whole"]))
        self.assertEqual([len(turns) for turns in made["histories"].values()], [2, 1, 2])
        self.assertNotIn(token, out)
        self.assertIn("turn left out: 2\n", err)
        self.assertIn("question left out: 1\n", err)

    def test_evidence_in_a_turn_that_is_left_out_takes_its_question_along(self):
        histories, cases, _ = import_locomo(locomo([question(["D1:1"]), question(["D2:1"])]), "file")
        made = case_set(histories, cases, 100)
        turns, left, losses = that_fit(made["histories"], made["cases"], Red())
        self.assertEqual(([case["id"] for case in left], len(turns["one"])), (["one-1"], 2))
        self.assertEqual([loss["what"] for loss in losses], ["turn left out", "question left out"])
        made = case_set(histories, cases, 49)
        _, left, losses = that_fit(made["histories"], made["cases"][1:], Red())
        self.assertIn("cost 50 tokens, the budget leaves 49", losses[-1]["detail"])

    def test_a_log_with_nothing_to_import_is_an_error_and_writes_nothing(self):
        for lines in ([{"messages": CHAT[:2]}], [], [{"messages": []}], [3]):
            with self.subTest(lines=lines):
                status, out, err = self.imported(*lines)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))

    def test_mask_takes_the_address_out_of_the_whole_set(self):
        _, out, err = self.imported({"messages": CHAT}, options=["--mask"])
        self.assertNotIn("example.com", out)
        self.assertIn("Write to [mail address 1]", out)
        self.assertIn("masked: 1 different mail address", err)


class BrokenInput(unittest.TestCase):
    def test_a_broken_file_is_refused_in_one_line_or_imported_never_half(self):
        whole = {"chat": {"id": "a", "messages": CHAT}, "locomo": locomo([question(["D1:1", "D2:1"])]),
                 "longmemeval": longmemeval()}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            for seed in range(600):
                rng = random.Random(seed)
                form = rng.choice(list(whole))
                path.write_text(json.dumps(broken(whole[form], rng)) + "\n", encoding="utf-8")
                status, out, err = run(main, form, path, *(["--mask"] if seed % 2 else []))
                with self.subTest(seed=seed, form=form):
                    self.assertIn(status, (0, 2))
                    self.assertNotIn("Traceback", err)
                    if status:
                        self.assertEqual((out, len(err.splitlines())), ("", 1))
                    out.encode("utf-8")
