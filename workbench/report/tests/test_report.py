"""What the page could get wrong: text that becomes markup, a request that was never sent."""

import json
import os
import re
import tempfile
import unittest
from argparse import Namespace
from pathlib import Path
from unittest.mock import patch

from base.command import file_hash, read_json
from tokens.manifest import MANIFEST, folder
from workbench.compare import compare
from workbench.report.tests.made import ALL, NASTY, REPLAY, ROOT, SIGNALS, SURVEY, Tags, evaluation, made, run, sweep
from workbench.report.view import chosen_cases, evaluation_section
from workbench.tests.made import report, row

RESULTS = ROOT / "compaction" / "results"


class Page(unittest.TestCase):
    def test_text_of_cases_facts_kinds_and_errors_never_becomes_markup(self):
        failed = {"case": NASTY + "2", "split": "dev", "kind": NASTY, "error": NASTY}
        bad = {**row(NASTY, [NASTY], [NASTY]), "kind": NASTY}
        result = evaluation(bad, failed, case_set=NASTY, cases={NASTY: [bad, failed]})
        gate = compare(report(row(NASTY)), report(row(NASTY, [NASTY])))
        tags = Tags(made(result, gate))
        self.assertNotIn("script", tags.tags)
        self.assertGreater("".join(tags.words).count(NASTY), 8)

    def test_every_element_is_closed(self):
        levels = {"64": {"recent": [row("one", ["x"])], "notes": [row("one")]},
                  "128": {"recent": [row("one")], "notes": [row("one")]}}
        tags = Tags(made(evaluation(row("one"), row("two", ["x"], ["y"])), sweep(levels)))
        self.assertEqual((tags.problems, tags.open), ([], []))

    def test_nothing_is_loaded_from_elsewhere_and_no_script_runs(self):
        text = made(evaluation(row("one")), sweep({"10": {"a": [row("one")]}, "20": {"a": [row("one")]}}))
        tags = Tags(text)
        self.assertFalse({"script", "iframe", "img", "object", "embed", "base", "form"} & set(tags.tags))
        links = [value for name, value in tags.attributes if name in ("src", "href", "srcset", "action", "xlink:href")]
        places = {value for name, value in tags.attributes if name == "id"}
        self.assertEqual([link for link in links if link.removeprefix("#") not in places], ["data:,"])
        self.assertNotRegex(text, r"url\(|@import|https?://")
        self.assertFalse([name for name, _ in tags.attributes if name.startswith("on")])

    def test_every_cell_says_its_state_in_words_and_signs(self):
        section = evaluation_section(
            "r",
            evaluation(row("a"), row("b", ["x"]), row("c", ["x", "y"], ["z"]), row("d", within=False),
                       {"case": "e", "split": "dev", "kind": "k", "error": "no"}), ALL)
        cells = [one["cells"][0] for one in section["parts"][-1]["rows"]]
        self.assertEqual([(cell["mark"], cell["text"]) for cell in cells], [("●", "2/2"), ("◐", "1/2"),
                                                                            ("○", "0/2 +1 stale alone"),
                                                                            ("●", "2/2 over budget"),
                                                                            ("×", "no grade")])

    def test_a_strategy_that_holds_no_grade_at_all_can_be_shown(self):
        text = made(evaluation({"case": "e", "split": "dev", "kind": "k", "error": "no"}))
        self.assertIn("<td>–</td>", text)

    def test_a_comparison_without_any_grade_can_be_shown(self):
        failed = {"case": "e", "split": "dev", "kind": "k", "error": "no"}
        gate = compare(evaluation(failed), evaluation(failed))
        self.assertEqual(gate["decision"], "undecided")
        for options in ((), ("--markdown", )):
            self.assertIn("undecided", made(gate, options=options))

    def test_a_large_set_shows_telling_cases_first_and_says_how_many_it_left_out(self):
        rows = [row(f"c{number}") for number in range(9)]
        other = [row(f"c{number}", ["x"] if number == 7 else []) for number in range(9)]
        self.assertEqual(chosen_cases({"a": rows, "b": other}, Namespace(show=2, only=[]))[0], "c7")
        self.assertIn("7 more are not shown", made(evaluation(cases={"a": rows, "b": other}), options=["--show", 2]))

    def test_only_shows_the_named_case_and_refuses_an_unknown_one(self):
        text = made(evaluation(row("one"), row("two")), options=["--only", "two"])
        self.assertIn("<h4>two", text)
        self.assertNotIn("<h4>one", text)
        with self.assertRaises(AssertionError):
            made(evaluation(row("one")), options=["--only", "gone"])

    def test_what_was_hashed_is_on_the_page(self):
        self.assertIn("strategies_sha256", made(evaluation(row("one"), strategies_sha256="abc123")))

    def test_a_file_that_is_no_result_is_refused(self):
        for value in ("{}", "[]", "nothing", '{"grader": 1, "cases": {}}'):
            with self.subTest(value), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "r.json"
                path.write_text(value, encoding="utf-8")
                status, out, err = run(path)
                self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))

    def test_another_case_set_than_the_hashed_one_is_refused_and_a_missing_one_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, value in {"r.json": evaluation(row("one")), "cases.json": []}.items():
                (Path(folder) / name).write_text(json.dumps(value), encoding="utf-8")
            status, out, err = run(Path(folder) / "r.json", "--cases", Path(folder) / "cases.json")
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
            self.assertIn("is not at hand", run(Path(folder) / "r.json")[1])

    def test_no_text_turns_about_what_stands_beside_it(self):
        steering = "\u202e\u2066\x1b[2J\x07"
        gate = compare(report(row("one")), report(row("one", [steering])))
        shown = evaluation(cases={steering: [row(steering, [steering], [steering])]}, case_set=steering)
        for options in ([], ["--markdown"]):
            text = made(shown, gate, options=options)
            self.assertIn("u202e", text)
            self.assertEqual([sign for sign in text if sign in steering and sign in "\u202e\u2066\x1b\x07"], [])

    def test_a_comparison_says_what_was_not_graded_and_what_was_allowed_in_vain(self):
        failed = {"case": "two", "split": "dev", "kind": "k", "error": "no"}
        entry = {"change": "lost", "strategy": "recent", "case": "gone", "fact": "f", "why": "meant"}
        gate = compare(report(row("one"), row("two")), report(row("one"), failed), allowed=[entry])
        self.assertEqual(gate["decision"], "undecided")
        for options in ([], ["--markdown"]):
            text = re.sub("<.*?>", "", made(gate, options=options))
            self.assertIn("Not graded, so neither found nor lost", text)
            self.assertRegex(text, "not graded, .*, two: a selector failed there")
            self.assertIn("Allowed, but did not happen", text)

    def test_the_summary_has_a_dash_where_nothing_was_graded(self):
        text = made(evaluation({"case": "one", "split": "dev", "kind": "k", "error": "no"}), options=["--markdown"])
        self.assertIn("| <code>recent</code> | dev | – | – | – | – | – | – | 1 | – |", text)

    def test_the_summary_holds_no_markup_of_the_text_shown(self):
        gate = compare(report(row("one")), report(row("one", [NASTY])))
        text = made(evaluation(row("one"), cases={NASTY: [row("one")]}), gate, options=["--markdown"])
        self.assertIn("**blocked**", text)
        outside = re.sub(r"<code>[^<]*</code>", "", text)
        for sign in ("<script", "@someone", "`x`"):
            self.assertNotIn(sign, outside)
        self.assertNotIn("| `x`", text)
        tables = re.findall(r"(?m)^(\|.*)\n(\|[-|]*)\n((?:\|.*\n)*)", text)
        self.assertEqual(len(tables), 5)
        for head, rule, rows in tables:
            for line in (rule, *rows.splitlines()):
                self.assertEqual(line.count("|"), head.count("|"))

    def test_a_change_never_comes_through_raw(self):
        gate = compare(report(row(NASTY + "\x1b[2J", ["\u202efact"])), report(row(NASTY + "\x1b[2J")))
        self.assertEqual(len(gate["results"][0]["gained"]), 1)
        for options in ([], ["--markdown"]):
            text = made(gate, options=options)
            self.assertNotRegex(text, "<script|\x1b|\u202e")
        self.assertNotIn("| `x`", text)

    def test_stale_without_its_replacement_is_counted_apart(self):
        text = made(evaluation(row("one", ["new"], ["old"]), row("two", [], ["old"]), row("three")),
                    options=["--markdown"])
        self.assertIn("| with stale facts | stale alone |", text)
        self.assertIn("| <code>recent</code> | dev | 5 of 6 | 0.833 | 2 of 3 | 2 | 1 |", text)

    def test_a_new_stale_fact_without_its_replacement_reads_like_one_that_is_corrected(self):
        gate = compare(report(row("one", ["new"]), row("two")), report(row("one", ["new"], ["old"]),
                                                                       row("two", [], ["old"])))
        text = made(gate, options=["--markdown"])
        self.assertIn("stale, recent, one, without its replacement</code>", text)
        self.assertIn("stale, recent, two</code>", text)

    def test_an_edited_or_merged_result_is_refused_by_name(self):
        whole, gate = evaluation(row("one"), row("two", ["x"])), compare(report(row("one")), report(row("one", ["x"])))
        twice, better, safe, open_ = (json.loads(json.dumps(one)) for one in (whole, whole, gate, gate))
        twice["cases"]["recent"].append(row("one"))
        better["summary"]["recent"]["dev"]["facts_found"] += 1
        safe["decision"], safe["blocking"] = "safe", []
        open_["decision"] = "safe"
        hidden = {**safe, "results": [{**row, "lost": []} for row in gate["results"]]}
        replay, survey = {**REPLAY, "rows": []}, {**SURVEY, "user_turns": 5}
        compacted = read_json(sorted(RESULTS.glob("*.json"))[0])
        compacted["candidate"]["compliant"] = True
        edited = [(one, "not follow") for one in (safe, hidden, open_, replay, compacted)]
        for result, words in ((twice, "'one' stands twice"), (better, "not that of its rows"), *edited,
                              (survey, "contradict")):
            with self.subTest(words), self.assertRaisesRegex(AssertionError, words):
                made(result)

    def test_survey_signals_and_replay_are_shown_and_nothing_of_their_text_becomes_markup(self):
        tags = Tags(made(SURVEY, SIGNALS, REPLAY))
        self.assertEqual((tags.problems, tags.open, "script" in tags.tags), ([], [], False))
        words = "".join(tags.words)
        for text in ("Of 4 user turns 3 fit whole, 1 never fit.", "0.250", "lost: port", "1 of 4 calls within 5",
                     "As I said", NASTY):
            self.assertIn(text, words)
        self.assertNotRegex(made(SURVEY, SIGNALS, REPLAY, options=["--markdown"]), "<script|@someone")

    def test_the_contents_name_every_section_with_its_verdict_first(self):
        gate = compare(report(row("one")), report(row("one", ["x"])))
        text = made(evaluation(row("one")), gate)
        contents = re.sub("<.*?>", "", re.search("(?s)<nav.*?</nav>", text)[0])
        self.assertRegex(contents, r"(?s)Evaluation: result-0.json.*Summary.*Comparison: result-1.json blocked.*Paired")
        self.assertRegex(text, r'(?s)<h2 id="s2">[^<]*</h2>\s*<p><span class="verdict bad">blocked')


@unittest.skipUnless((ROOT / "evaluation-result.json").exists(), "no recorded report yet")
class RecordedReport(unittest.TestCase):
    def test_the_page_of_the_recorded_report_shows_all_cases(self):
        status, out, err = run(ROOT / "evaluation-result.json")
        self.assertEqual(status, 0, err)
        for name in {
                one["case"] for rows in read_json(ROOT / "evaluation-result.json")["cases"].values() for one in rows
        }:
            self.assertIn(f"<h4>{name}", out)

    @unittest.skipUnless((folder() / "tokenizer.json").exists(), "the tokenizer is not prepared: python prepare.py")
    def test_a_report_of_another_models_result_opens_its_cells_by_its_manifest(self):
        with tempfile.TemporaryDirectory() as place:
            os.symlink(folder().resolve(), Path(place) / "other")
            other, path = Path(place) / "other.json", Path(place) / "result.json"
            other.write_text(MANIFEST.read_text(encoding="utf-8") + "\n", encoding="utf-8")
            report = {**read_json(ROOT / "evaluation-result.json"), "tokenizer_manifest_sha256": file_hash(other)}
            path.write_text(json.dumps(report), encoding="utf-8")
            options = ["--cases", ROOT / "cases.json", "--only", "held-buried"]
            with patch.dict(os.environ, {"LAB_TOKENIZER": place}):
                opened = run(path, *options, "--tokenizer", other)[1]
            self.assertIn("notes and question", opened)  # a request with notes is shown only where its cost is checked
            closed = run(path, *options)[1]
            self.assertNotIn("notes and question", closed)
            self.assertIn("--tokenizer MANIFEST names the model", closed)
            status, out, err = run(path, "--tokenizer", Path(place) / "gone.json")
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
