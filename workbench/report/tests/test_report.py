"""What the page could get wrong: text that becomes markup, a request that was never sent, a chart that misleads."""

import copy
import re
import unittest
from argparse import Namespace
from unittest import mock

from base.command import file_hash, read_json
from base.tests.made import needs_tokenizer, run
from evaluate import CASES
from tokenizer import counter
from tokens.manifest import MANIFEST
from workbench.compare import compare
from workbench.report.__main__ import main
from workbench.report.chart import chart
from workbench.report.tests.made import FORMS, NASTY, REPLAY, SIGNALS, SURVEY, UNGRADED, Pages, Tags, sweep
from workbench.report.view import chosen_cases, evaluation_section
from workbench.tests.made import report, row

RECORDED = CASES.with_name("evaluation-result.json")
STEERING = "\u202e\u2066\x1b[2J\x07"


class Page(Pages):
    def test_text_of_any_result_never_becomes_markup_and_every_element_is_closed(self):
        bad, failed = {**row(NASTY, [NASTY], [NASTY]), "kind": NASTY}, {**UNGRADED, "kind": NASTY, "error": NASTY}
        levels = {budget: {"recent": [row("one", ["x"])], "notes": [row("one")]} for budget in ("64", "128")}
        results = [report(bad, failed, case_set=NASTY, cases={NASTY: [bad, failed]}), sweep(levels),
                   compare(report(row(NASTY)), report(row(NASTY, [NASTY]))), SURVEY, SIGNALS, REPLAY]
        page = self.made(*results)
        tags = Tags(page)
        self.assertEqual((tags.problems, tags.open), ([], []))
        self.assertGreater(tags.words.count(NASTY), 16)
        for text in ("Of 4 user turns 3 fit whole, 1 never fit.", "0.250", "lost: port", "1 of 4 calls within 5",
                     "As I said"):
            self.assertIn(text, tags.words)
        # and nothing is loaded from elsewhere
        self.assertFalse({"script", "iframe", "img", "object", "embed", "base", "form"} & set(tags.tags))
        links = [value for name, value in tags.attributes if name in ("src", "href", "srcset", "action", "xlink:href")]
        places = {value for name, value in tags.attributes if name == "id"}
        self.assertEqual([link for link in links if link.removeprefix("#") not in places], ["data:,"])
        self.assertNotRegex(page, r"url\(|@import|https?://")
        self.assertFalse([name for name, _ in tags.attributes if name.startswith("on")])
        summary = self.made(*results, options=["--markdown"])
        self.assertNotRegex(re.sub(r"<code>[^<]*</code>", "", summary), "<script|@someone|`x`")
        self.assertNotRegex(summary, r"\| `x`")
        self.assertIn("**blocked**", summary)
        tables = re.findall(r"(?m)^(\|.*)\n(\|[-|]*)\n((?:\|.*\n)*)", summary)
        self.assertEqual(len(tables), 14)
        for head, rule, rows in tables:
            for line in (rule, *rows.splitlines()):
                self.assertEqual(line.count("|"), head.count("|"))

    def test_no_text_turns_about_what_stands_beside_it(self):
        shown = report(cases={STEERING: [row(STEERING, [STEERING], [STEERING])]}, case_set=STEERING)
        gates = (compare(report(row("one")), report(row("one", [STEERING]))),
                 compare(report(row(STEERING, [STEERING])), report(row(STEERING))))
        for options in FORMS:
            text = self.made(shown, *gates, options=options)
            self.assertIn("u202e", text)
            self.assertNotRegex(text, "[\u202e\u2066\x1b\x07]")

    def test_every_cell_says_its_state_in_words_and_signs(self):
        section = evaluation_section("r", report(row("a"), row("b", ["x"]), row("c", ["x", "y"], ["z"]),
                                                     row("d", within=False), UNGRADED), Namespace(show=9, only=[]))
        cells = [line["cells"][0] for line in section["parts"][-1]["rows"]]
        self.assertEqual([(cell["mark"], cell["text"]) for cell in cells],
                         [("●", "2/2"), ("◐", "1/2"), ("○", "0/2 +1 stale alone"), ("●", "2/2 over budget"),
                          ("×", "no grade")])

    def test_results_without_any_grade_can_be_shown(self):
        gate = compare(report(UNGRADED), report(UNGRADED))
        for options, dashes in zip(FORMS, ("<td>–</td>", "| <code>recent</code> | dev" + " | –" * 6 + " | 1 | – |")):
            text = self.made(report(UNGRADED), gate, options=options)
            self.assertIn(dashes, text)
            self.assertIn("undecided", text)

    def test_a_large_set_shows_telling_cases_first_and_says_how_many_it_left_out(self):
        rows = [row(f"c{number}") for number in range(9)]
        other = [row(f"c{number}", ["x"] if number == 7 else []) for number in range(9)]
        for only, chosen in (([], ["c7", "c0"]), (["c4", "c3", "c2"], ["c2", "c3", "c4"])):
            self.assertEqual([*chosen_cases({"a": rows, "b": other}, Namespace(show=2, only=only))], chosen)
        text = self.made(report(cases={"a": rows, "b": other}), options=["--show", 2])
        self.assertIn("7 more are not shown", text)

    def test_only_shows_the_named_case_with_what_was_hashed(self):
        text = self.made(report(row("one"), row("two"), strategies_sha256="abc"), options=["--only", "two"])
        self.assertIn("<h4>two", text)
        self.assertNotIn("<h4>one", text)
        self.assertRegex(text, "strategies_sha256.*abc")

    def test_what_is_no_result_and_options_that_name_nothing_are_refused(self):
        whole = self.write("whole.json", report(row("one")))
        for name, content, problem in (
            ("empty", {}, "no result"), ("list", [], "no result"), ("text", "nothing", "JSON"),
            ("half", {"grader": 1, "cases": {}}, "not as evaluate.py writes it")):
            self.refused(problem, main, self.write(f"{name}.json", content if content != "nothing" else b"nothing"))
        self.refused("no such case", main, whole, "--only", "gone")
        self.refused("from 1 on", main, whole, "--show", 0)
        self.refused("not the case set", main, whole, "--cases", self.write("cases.json", []))
        self.assertIn("is not at hand", run(main, whole)[1])

    def test_a_comparison_says_what_was_not_graded_and_what_was_allowed_in_vain(self):
        entry = {"change": "lost", "strategy": "recent", "case": "gone", "fact": "f", "why": "meant"}
        gate = compare(report(row("one"), row("two")), report(row("one"), UNGRADED), allowed=[entry])
        for options in FORMS:
            text = re.sub("<.*?>", "", self.made(gate, options=options))
            self.assertIn("Not graded, so neither found nor lost", text)
            self.assertRegex(text, "not graded, .*, two: a selector failed there")
            self.assertIn("Allowed, but did not happen", text)

    def test_stale_without_its_replacement_is_told_apart(self):
        stale = row("one", ["new"], ["old"]), row("two", [], ["old"])
        text = self.made(report(*stale, row("three")), options=["--markdown"])
        self.assertIn("| with stale facts | stale alone |", text)
        self.assertIn("| <code>recent</code> | dev | 5 of 6 | 0.833 | 2 of 3 | 2 | 1 |", text)
        text = self.made(compare(report(row("one"), row("two")), report(*stale)), options=["--markdown"])
        self.assertIn("lost, recent, one</code>", text)
        self.assertIn("stale, recent, one, without its replacement</code>", text)
        self.assertIn("stale, recent, two</code>", text)

    def test_an_edited_or_merged_result_is_refused_by_name(self):
        gate = compare(report(row("one")), report(row("one", ["x"])))
        twice, better = (copy.deepcopy(report(row("one"), row("two", ["x"]))) for _ in range(2))
        twice["cases"]["recent"].append(row("one"))
        better["summary"]["recent"]["dev"]["facts_found"] += 1
        for result, problem in ((twice, "'one' stands twice"), (better, "not that of its rows"),
                                ({**gate, "decision": "safe"}, "decision does not follow")):
            self.refused(problem, main, self.write("result.json", result))

    def test_the_contents_name_every_section_with_its_verdict_first(self):
        text = self.made(report(row("one")), compare(report(row("one")), report(row("one", ["x"]))))
        contents = re.sub("<.*?>", "", re.search("(?s)<nav.*?</nav>", text)[0])
        self.assertRegex(contents, r"(?s)Evaluation: result-0.json.*Summary.*Comparison: result-1.json blocked.*Paired")
        self.assertRegex(text, r'(?s)<h2 id="s2">[^<]*</h2>\s*<p><span class="verdict bad">blocked')

    @needs_tokenizer
    def test_the_recorded_report_opens_every_cell_by_the_manifest_that_counted_it(self):
        other, recorded = self.write("other.json", MANIFEST.read_text("utf-8") + "\n"), read_json(RECORDED)
        path = self.write("result.json", {**recorded, "tokenizer_manifest_sha256": file_hash(other)})
        arguments, rows = (main, path, "--cases", CASES), next(iter(recorded["cases"].values()))
        with mock.patch("workbench.report.sent.counter", return_value=counter()) as made:  # loaded once
            opened = run(*arguments, "--tokenizer", other)[1]
        made.assert_called_once_with(other)
        self.assertEqual(re.findall("<h4>([^<]*)", opened), [row["case"] for row in rows])
        self.assertEqual(opened.count("The request, "), len(recorded["cases"]) * len(rows))
        closed = run(*arguments)[1]
        self.assertIn("notes and question", opened)  # a request with notes is shown only where its cost is checked
        self.assertNotIn("notes and question", closed)
        self.assertIn("--tokenizer MANIFEST names the model", closed)
        self.refused("gone.json", *arguments, "--tokenizer", self.folder / "gone.json")


class Charts(unittest.TestCase):
    def test_points_follow_the_values_and_a_missing_one_leaves_no_point(self):
        made = chart("t", [64, 256, 1024], {"a": [0.0, None, 1.0]}, top=1.0)
        (first, last), line = made["lines"][0]["points"], made["lines"][0]
        self.assertEqual((first[0], last[0], first[1] > last[1]), (made["left"] + 8, made["right"], True))
        self.assertEqual(line["figures"], ["0.000", "none", "1.000"])

    def test_labels_of_close_budgets_do_not_run_into_each_other(self):
        made = chart("t", list(range(1000, 1400, 10)), {"a": [1] * 40})
        places = [place for place, _ in made["x_ticks"]]
        self.assertTrue(all(after - before >= 30 for before, after in zip(places, places[1:])))
        self.assertEqual(made["x_ticks"][-1][1], "1,390")

    def test_one_budget_can_be_drawn_and_whole_numbers_get_whole_ticks(self):
        self.assertEqual(chart("t", [5], {"a": [0]})["lines"][0]["points"][0][0], chart("t", [5], {})["left"] + 8)
        self.assertEqual([label for _, label in chart("t", [1, 2], {"a": [None, 2]})["y_ticks"]], ["0", "1", "2"])
