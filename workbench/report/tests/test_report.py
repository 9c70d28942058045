"""What the page could get wrong: text that becomes markup, a request that was never sent."""

import contextlib
import io
import json
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from base.command import read_json, status_of
from workbench.compare import compare
from workbench.report.__main__ import main
from workbench.report.view import evaluation_section, shown_cases
from workbench.tests.made import report, row

ROOT = Path(__file__).parents[3]
NASTY = "<script>alert('&\"')</script> {{ 7 * 7 }} | `x` @someone"


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = status_of(main, list(map(str, arguments)))
    return status, out.getvalue(), err.getvalue()


def summary(rows):
    from evaluate import summarize

    return summarize(rows)


def evaluation(*rows, **changes):
    made = report(*rows, **changes)
    return {**made, "summary": {name: summary(found) for name, found in made["cases"].items()}}


def sweep(levels):
    made = report()
    del made["cases"], made["summary"]
    return {**made,
            "budgets": {budget: {"summary": {name: summary(rows) for name, rows in cases.items()}, "cases": cases}
                        for budget, cases in levels.items()}}


class Tags(HTMLParser):
    """Collects the elements, their attributes and the text of a page, and whether every element was closed."""

    VOID = {"meta", "link", "br", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.problems = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.words.append(data)


class Page(unittest.TestCase):
    def made(self, *results, options=()):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, result in enumerate(results):
                paths.append(Path(folder) / f"result-{number}.json")
                paths[-1].write_text(json.dumps(result), encoding="utf-8")
            status, out, err = run(*paths, *options)
            self.assertEqual(status, 0, err)
            return out

    def test_text_of_cases_facts_kinds_and_errors_never_becomes_markup(self):
        failed = {"case": NASTY + "2", "split": "dev", "kind": NASTY, "error": NASTY}
        bad = {**row(NASTY, [NASTY], [NASTY]), "kind": NASTY}
        result = evaluation(bad, failed, case_set=NASTY, cases={NASTY: [bad, failed]})
        gate = compare(report(row(NASTY)), report(row(NASTY, [NASTY])))
        tags = Tags(self.made(result, gate))
        self.assertNotIn("script", tags.tags)
        self.assertGreater("".join(tags.words).count(NASTY), 8)

    def test_every_element_is_closed(self):
        levels = {"64": {"recent": [row("one", ["x"])], "notes": [row("one")]},
                  "128": {"recent": [row("one")], "notes": [row("one")]}}
        tags = Tags(self.made(evaluation(row("one"), row("two", ["x"], ["y"])), sweep(levels)))
        self.assertEqual((tags.problems, tags.open), ([], []))

    def test_nothing_is_loaded_from_elsewhere_and_no_script_runs(self):
        text = self.made(evaluation(row("one")), sweep({"1": {"a": [row("one")]}, "2": {"a": [row("one")]}}))
        tags = Tags(text)
        self.assertFalse({"script", "iframe", "img", "object", "embed", "base", "form"} & set(tags.tags))
        links = [value for name, value in tags.attributes if name in ("src", "href", "srcset", "action", "xlink:href")]
        self.assertEqual(links, ["data:,"])
        self.assertNotRegex(text, r"url\(|@import|https?://")
        self.assertFalse([name for name, _ in tags.attributes if name.startswith("on")])

    def test_every_cell_says_its_state_in_words_and_signs(self):
        section = evaluation_section(
            "r",
            evaluation(row("a"), row("b", ["x"]), row("c", ["x", "y"], ["z"]), row("d", within=False),
                       {"case": "e", "split": "dev", "kind": "k", "error": "no"}),
            60)
        cells = [one["cells"][0] for one in section["levels"][0]["matrix"]["rows"]]
        self.assertEqual(
            [(cell["mark"], cell["text"]) for cell in cells],
            [("●", "2/2"), ("◐", "1/2"), ("○", "0/2 +1 stale"), ("●", "2/2 over budget"), ("×", "no grade")])

    def test_a_strategy_that_holds_no_grade_at_all_can_be_shown(self):
        text = self.made(evaluation({"case": "e", "split": "dev", "kind": "k", "error": "no"}))
        self.assertIn("no case holds a grade", text)

    def test_a_comparison_without_any_grade_can_be_shown(self):
        failed = {"case": "e", "split": "dev", "kind": "k", "error": "no"}
        gate = compare(evaluation(failed), evaluation(failed))
        self.assertEqual(gate["decision"], "undecided")
        for options in ((), ("--markdown",)):
            self.assertIn("undecided", self.made(gate, options=options))

    def test_a_large_set_shows_telling_cases_first_and_says_how_many_it_left_out(self):
        rows = [row(f"c{number}") for number in range(9)]
        other = [row(f"c{number}", ["x"] if number == 7 else []) for number in range(9)]
        self.assertEqual(shown_cases({"a": rows, "b": other}, 2)[0], "c7")
        self.assertIn(
            "7 more are not shown", self.made(evaluation(cases={"a": rows, "b": other}), options=["--show", 2]))

    def test_only_shows_the_named_case_and_refuses_an_unknown_one(self):
        text = self.made(evaluation(row("one"), row("two")), options=["--only", "two"])
        self.assertIn("<h4>two", text)
        self.assertNotIn("<h4>one", text)
        with self.assertRaises(AssertionError):
            self.made(evaluation(row("one")), options=["--only", "gone"])

    def test_what_was_hashed_is_on_the_page(self):
        self.assertIn("strategies_sha256", self.made(evaluation(row("one"), strategies_sha256="abc123")))

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
            text = self.made(shown, gate, options=options)
            self.assertIn("u202e", text)
            self.assertEqual([sign for sign in text if sign in steering and sign in "\u202e\u2066\x1b\x07"], [])

    def test_a_comparison_says_what_was_not_graded_and_what_was_allowed_in_vain(self):
        failed = {"case": "two", "split": "dev", "kind": "k", "error": "no"}
        entry = {"change": "lost", "strategy": "recent", "case": "gone", "fact": "f", "why": "meant"}
        gate = compare(report(row("one"), row("two")), report(row("one"), failed), allowed=[entry])
        self.assertEqual(gate["decision"], "undecided")
        for options in ([], ["--markdown"]):
            text = re.sub("<.*?>", "", self.made(gate, options=options))
            self.assertIn("Not graded, so neither found nor lost", text)
            self.assertRegex(text, "not graded, .*, two: a selector failed there")
            self.assertIn("Allowed, but did not happen", text)

    def test_markdown_has_a_dash_where_nothing_was_graded(self):
        failed = {"case": "one", "split": "dev", "kind": "k", "error": "no"}
        nothing = evaluation(cases={"a": [failed]}, summary={"a": {"dev": {"cases": 0, "errors": 1}}})
        self.assertIn("| dev | – | – | – | – | 1 | – |", self.made(nothing, options=["--markdown"]))

    def test_markdown_holds_no_markup_of_the_text_shown(self):
        gate = compare(report(row("one")), report(row("one", [NASTY])))
        text = self.made(evaluation(row("one"), cases={NASTY: [row("one")]}), gate, options=["--markdown"])
        self.assertIn("**blocked**", text)
        outside = re.sub(r"<code>[^<]*</code>", "", text)
        for sign in ("<script", "@someone", "`x`"):
            self.assertNotIn(sign, outside)
        self.assertNotIn("| `x`", text)
        cells = {line.count("|") for line in text.splitlines() if line.startswith("| ") and "mean input" in line}
        self.assertEqual(
            {line.count("|") for line in text.splitlines() if "alert" in line and line.startswith("| ")}, cells)


@unittest.skipUnless((ROOT / "evaluation-result.json").exists(), "no recorded report yet")
class RecordedReport(unittest.TestCase):
    def test_the_page_of_the_recorded_report_shows_all_cases(self):
        status, out, err = run(ROOT / "evaluation-result.json")
        self.assertEqual(status, 0, err)
        for name in {
            one["case"] for rows in read_json(ROOT / "evaluation-result.json")["cases"].values() for one in rows
        }:
            self.assertIn(f"<h4>{name}", out)


if __name__ == "__main__":
    unittest.main()
