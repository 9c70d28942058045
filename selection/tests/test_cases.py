"""The loader: every mistake of an author that would make a strategy look bad is refused, with its place."""

import json
import pickle
from copy import deepcopy
from pathlib import Path

from base.command import read_json
from base.tests.made import Files, edited, named_cases
from evaluate import CASES
from selection.cases import CaseError, check_set, load_cases

VALID = read_json(Path(__file__).with_name("valid-sets.json"))  # {form: case set}
LIST, LARGER = VALID.values()
# {"name", "form", "at": path, "put": [value], or [] to leave the place out, "says"}
MISTAKES = named_cases(__file__, "case-mistakes.json")
SAYS = "^set.json: [^\n]{1,400}$"


class Loader(Files):
    def test_a_mistake_is_taken_or_not_named(self):
        for row in MISTAKES:
            with self.subTest(row["name"]), self.assertRaisesRegex(CaseError, SAYS) as caught:
                check_set(edited(VALID[row["form"]], row["at"], *row["put"]), "set.json")
            self.assertIn(row["says"], str(caught.exception))

    def test_a_value_that_nests_to_the_parsers_edge_is_a_traceback(self):
        deep = json.loads("[" * 190 + "]" * 190)
        for form, *path in {(row["form"], *row["at"]) for row in MISTAKES}:
            with self.subTest(form, path=path), self.assertRaisesRegex(CaseError, SAYS):
                check_set(edited(VALID[form], path, deep), "set.json")

    def test_a_valid_set_of_either_form_is_refused_or_a_shared_history_is_held_twice(self):
        self.assertEqual(check_set(LIST, "p")[0]["history"], LIST[0]["history"])
        first, second = check_set(LARGER, "p")
        self.assertEqual((first["id"], second["id"]), ("one", "two"))
        self.assertIs(first["history"], second["history"])

    def test_a_fact_is_taken_that_the_frame_of_a_note_holds(self):
        case = deepcopy(LIST[0])
        for fact in ("earlier turns", "instructions", "notes", "turn 1", "1", ", assistant]", "Question",
                     "[turn 1, user] "):
            case.update(history=[*LIST[0]["history"], {"user": f"Look: {fact}.", "assistant": ""}], instructions="",
                        required=[fact])
            with self.assertRaisesRegex(CaseError, "also stands in what frames a note"):
                check_set([case], "set.json")
        for fact in ("3", "turn 1 o", "12"):
            case.update(history=[{"user": f"Look: {fact}.", "assistant": ""}], required=[fact])
            self.assertTrue(check_set([case], "set.json"))

    def test_a_set_that_is_no_list_or_empty_or_has_an_id_twice_is_taken(self):
        for value, message in (([], "empty"), ("x", "no list"), (None, "no list"),
                               (LIST * 2, "case 'one': the id stands twice")):
            with self.assertRaisesRegex(CaseError, message):
                check_set(value, "p")

    def test_an_unreadable_file_ends_in_a_traceback(self):
        text = json.dumps(LIST)
        wrong = [(self.write(f"{number}.json", content), message) for number, (content, message) in enumerate((
            ("[{", "not JSON"), (b"\xff\xfe[]", "not UTF-8"), ("[" * 100_000, "nested too deep"),
            (text.replace('"id": "one"', '"id": "one", "id": "two"'), "'id' stands twice"),
            (text.replace("100", "NaN"), "NaN is no finite number"), (text.replace("100", "1e999"), "no finite number"),
            (text.replace("100", "1" * 5000), "not JSON: Exceeds")))]
        for path, message in (*wrong, (self.folder, "cannot be read"), (self.folder / "a\0b", "cannot be read")):
            with self.subTest(path), self.assertRaisesRegex(CaseError, f"{message}.*nothing was run"):
                load_cases(path)
        with self.assertRaisesRegex(CaseError, "not UTF-8.*rename it"):
            load_cases(self.write("\udcff.json", text))

    def test_a_byte_order_mark_or_crlf_makes_the_twelve_cases_unreadable(self):
        path = self.write("set.json", b"\xef\xbb\xbf" + CASES.read_bytes().replace(b"\n", b"\r\n"))
        self.assertEqual(load_cases(path), load_cases(CASES))

    def test_an_error_loses_its_text_on_the_way_from_a_worker(self):
        with self.assertRaises(CaseError) as caught:
            check_set([], "set.json")
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))
