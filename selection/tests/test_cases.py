"""The loader: every mistake of an author that would make a strategy look bad is refused, with its place."""

import json
import pickle
import tempfile
import unittest
from copy import deepcopy
from pathlib import Path

from evaluate import CASES
from selection.cases import CaseError, check_set, load_cases

SMALL = [
    {"id": "one", "split": "dev", "kind": "k", "instructions": "Be brief.", "current": "Which one?",
     "history": [{"user": "We took the red one.", "assistant": "Red, noted."}],
     "budget": {"context_limit": 100, "max_new_tokens": 20, "margin": 10}, "required": ["the red one"], "stale": []}
]
LARGE = {
    "format": 1,
    "histories": {
        "h": [{"id": "t1", "session": "s", "date": "1 May", "user": "We took the red one.", "assistant": "",
               "messages": [
                   {"role": "assistant", "content": "",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}]},
                   {"role": "tool", "tool_call_id": "c", "content": "took it"}]}]},
    "cases": [{**SMALL[0], "history": "h", "required": [{"turn": "t1", "text": "took it"}]},
              {**SMALL[0], "id": "two", "history": "h"}],
}
# what is set (a path of keys and a value, or DELETE), and what the message has to say
DELETE = object()
MISTAKES = [
    ((0, "id"), DELETE, "no field 'id'"),
    ((0, "stale"), DELETE, "no field 'stale'"),
    ((0, "note"), "x", "unknown field 'note'"),
    ((0, "history", 0, "speaker"), "x", "unknown field 'speaker'"),
    ((0, "history", 0, "assistant"), DELETE, "no field 'assistant'"),
    ((0, "budget", "margin"), DELETE, "no field 'margin'"),
    ((0, "budget", "window"), 1, "unknown field 'window'"),
    ((0, "id"), 7, "id is 7, not a text"),
    ((0, "id"), " ", "id is blank"),
    ((0, "current"), "", "current is blank"),
    ((0, "kind"), None, "kind is None, not a text"),
    ((0, "instructions"), ["x"], "instructions is"),
    ((0, "split"), "test", "split 'test' is unknown"),
    ((0, "history"), "h", "history is no list"),
    ((0, "history", 0), "turn", "turn 1 is 'turn', not an object"),
    ((0, "history", 0, "user"), True, "user is True, not a text"),
    ((0, "history", 0, "user"), "\ud83d red one", "half of a surrogate pair"),
    ((0, "budget"), 384, "budget is 384, not an object"),
    ((0, "budget", "context_limit"), True, "context_limit is True"),
    ((0, "budget", "context_limit"), 100.0, "context_limit is 100.0"),
    ((0, "budget", "margin"), -1, "margin is -1"),
    ((0, "budget", "max_new_tokens"), "20", "max_new_tokens is '20'"),
    ((0, "budget", "context_limit"), 30, "leaves 0 tokens"),
    ((0, "budget", "margin"), 100, "leaves -20 tokens"),
    ((0, "required"), [], "required is empty"),
    ((0, "required"), "the red one", "required is 'the red one', not a list"),
    ((0, "required"), [3], "is 3, not a text"),
    ((0, "required"), ["the red one", "the red one"], "twice"),
    ((0, "required"), [""], "is blank"),
    ((0, "required"), ["  "], "is blank"),
    ((0, "stale"), ["\n"], "is blank"),
    ((0, "required"), ["the blue one"], "occurs in no message"),
    ((0, "stale"), ["the blue one"], "occurs in no message"),
    ((0, "required"), ["one. Red"], "only across two that are joined"),
    ((0, "stale"), ["the red one"], "both required and stale"),
    ((0, "stale"), ["red one"], "hold one another"),
    ((0, "stale"), ["took the red one"], "hold one another"),
    ((0, "current"), "Was it the red one?", "already stands in current"),
    ((0, "instructions"), "Take the red one.", "already stands in instructions"),
    ((0, "required"), [{"turn": "t9", "text": "red"}], "names the turn 't9'"),
    ((0, "required"), [{"turn": 1, "text": "red"}], "required[0].turn is 1, not a text"),
    ((0, "required"), [{"turn": "t9"}], "no field 'text'"),
    ((0,), 5, "is 5, not an object"),
]
DEEP = json.loads("[" * 900 + "]" * 900)
LARGE_MISTAKES = [
    (("format",), 2, "format 2 is unknown"),
    (("format",), True, "format is True, not a whole number"),
    (("format",), DELETE, "no field 'format'"),
    (("format",), 1.0, "format is 1.0, not a whole number"),
    (("histories",), DELETE, "no field 'histories'"),
    (("note",), "x", "unknown field 'note'"),
    (("histories",), [], "histories is [], not an object"),
    (("cases",), {}, "cases is {}, not a list"),
    (("cases",), [], "the case set is empty"),
    (("cases", 0, "history"), "g", "names none of histories"),
    (("cases", 0, "history"), [], "names none of histories"),
    (("histories", "h", 0, "date"), 3, "date is 3, not a text"),
    (("histories", "h", 0, "id"), "", "id is ''"),
    (("histories", "h"), [{"id": "t1", "user": "a", "assistant": "b"}] * 2, "'t1' stands twice"),
    (("histories", "h", 0, "messages"), {}, "messages is {}, not a list"),
    (("histories", "h", 0, "messages", 0, "role"), "user", "no role assistant or tool"),
    (("histories", "h", 0, "messages", 1, "content"), None, "content is None, not a text"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "function", "arguments"), "{}", "is '{}', not an object"),
    (("histories", "h", 0, "messages", 0, "tool_calls"), "f", "tool_calls is 'f', not a list"),
    (("histories", "h", 0, "messages", 0), DELETE, "message 1 answers no call"),
    (("histories", "h", 0, "messages", 0, "tool_calls"), [], "message 2 answers no call"),
    (("histories", "h", 0, "messages", 0, "tool_calls"), DELETE, "message 2 answers no call"),
    (("histories", "h", 0, "messages", 1, "tool_call_id"), "d", "message 2 answers no call"),
    (("histories", "h", 0, "messages", 1, "tool_call_id"), ["c"], "message 2.tool_call_id is ['c'], not a text"),
    (("histories", "h", 0, "messages", 1, "name"), None, "name is None, not a text"),
    (("histories", "h", 0, "messages", 1, "tool_calls"), [], "unknown field 'tool_calls'"),
    (("histories", "h", 0, "messages", 0, "reasoning"), "x", "unknown field 'reasoning'"),
    (("histories", "h", 0, "messages", 0, "tool_responses"), [], "unknown field 'tool_responses'"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "id"), 7, "id is 7, not a text"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "function", "name"), "\ud83d", "half of a surrogate pair"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "function", "arguments", "\udc00"), 1,
     "half of a surrogate pair"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "function", "arguments", "x"), ["\udc00"],
     "half of a surrogate"),
    (("histories", "h", 0, "messages", 0, "tool_calls", 0, "function", "arguments", "x"), DEEP, "levels deep"),
    (("cases", 0, "required", 0, "text"), "gave it", "occurs in no message of turn 't1'"),
    (("cases", 0, "stale"), [{"turn": "t1", "text": "took"}], "hold one another"),
]


def with_mistake(value, keys, wrong):
    value = deepcopy(value)
    place = value
    for key in keys[:-1]:
        place = place[key]
    if wrong is DELETE:
        del place[keys[-1]]
    else:
        place[keys[-1]] = wrong
    return value


class Loader(unittest.TestCase):
    def test_a_mistake_is_taken_or_not_named(self):
        for valid, mistakes in ((SMALL, MISTAKES), (LARGE, LARGE_MISTAKES)):
            for keys, wrong, message in mistakes:
                with self.subTest(keys=keys, wrong=wrong):
                    with self.assertRaises(CaseError) as caught:
                        check_set(with_mistake(valid, keys, wrong), "set.json")
                    self.assertIn(message, str(caught.exception))
                    self.assertTrue(str(caught.exception).startswith("set.json"))
                    self.assertNotIn("\n", str(caught.exception))

    def test_a_value_that_nests_to_the_parsers_edge_is_a_traceback(self):
        deep = json.loads("[" * 190 + "]" * 190)
        for valid, mistakes in ((SMALL, MISTAKES), (LARGE, LARGE_MISTAKES)):
            for keys in {keys for keys, _, _ in mistakes}:
                with self.subTest(keys), self.assertRaisesRegex(CaseError, "^set.json: [^\n]{1,400}$"):
                    check_set(with_mistake(valid, keys, deep), "set.json")

    def test_a_valid_set_of_either_form_is_refused(self):
        self.assertEqual(check_set(SMALL, "p")[0]["history"], SMALL[0]["history"])
        self.assertEqual([case["id"] for case in check_set(LARGE, "p")], ["one", "two"])

    def test_a_fact_is_taken_that_the_frame_of_a_note_holds(self):
        for fact in ("earlier turns", "instructions", "notes", "turn 1", "1", ", assistant]", "Question",
                     "[turn 1, user] "):
            case = deepcopy(SMALL[0])
            case["history"].append({"user": f"Look: {fact}.", "assistant": ""})
            case.update(instructions="", required=[fact])
            with self.assertRaisesRegex(CaseError, "also stands in what frames a note"):
                check_set([case], "set.json")
        for fact in ("3", "turn 1 o", "12"):
            case.update(history=[{"user": f"Look: {fact}.", "assistant": ""}], required=[fact])
            self.assertTrue(check_set([case], "set.json"))

    def test_a_shared_history_is_held_twice(self):
        one, two = check_set(LARGE, "p")
        self.assertIs(one["history"], two["history"])

    def test_two_cases_with_one_id_are_taken(self):
        with self.assertRaisesRegex(CaseError, "case 'one': the id stands twice"):
            check_set(SMALL * 2, "p")

    def test_a_set_that_is_no_list_or_empty_is_taken(self):
        for value, message in (([], "empty"), ("x", "no list"), (None, "no list")):
            with self.assertRaisesRegex(CaseError, message):
                check_set(value, "p")

    def test_an_unreadable_file_ends_in_a_traceback(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "set.json")
            text = json.dumps(SMALL)
            for content, message in (
                (b"[{", "not JSON"),
                (b"\xff\xfe[]", "not UTF-8"),
                (b"", "not JSON"),
                (text.replace('"id": "one"', '"id": "one", "id": "two"').encode(), "'id' stands twice"),
                (text.replace("100", "NaN").encode(), "NaN is no finite number"),
                (text.replace("100", "1e999").encode(), "no finite number"),
                (text.replace("100", "1" * 5000).encode(), "not JSON: Exceeds"),
                (b"[" * 100000, "nested too deep"),
            ):
                path.write_bytes(content)
                with self.subTest(message), self.assertRaisesRegex(CaseError, message):
                    load_cases(path)
            for wrong in (Path(folder), Path(folder, "none.json"), Path(folder, "a\0b")):
                with self.subTest(wrong), self.assertRaisesRegex(CaseError, "cannot be read"):
                    load_cases(wrong)

    def test_a_byte_order_mark_or_crlf_makes_the_twelve_cases_unreadable(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "set.json")
            path.write_bytes(b"\xef\xbb\xbf" + CASES.read_bytes().replace(b"\n", b"\r\n"))
            self.assertEqual(load_cases(path), load_cases(CASES))

    def test_an_error_loses_its_text_on_the_way_from_a_worker(self):
        with self.assertRaises(CaseError) as caught:
            check_set([], "set.json")
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))


if __name__ == "__main__":
    unittest.main()
