"""The command: both questions answered apart, every exit status, and one line for what cannot run."""

import json
import os
import sys
from unittest import mock

import tokenizer
from base.command import file_hash, read_json
from base.tests.made import Files, named_cases, run
from compaction import check
from compaction.result_file import CODE
from compaction.rows import verdicts
from compaction.tests.doubles import CountsWords, small_fixture
from compaction.tests.made import BUDGET, said_by

SAID = " ".join(item["literal"] + "." for item in small_fixture()["must_survive"])


def compactor(extractive, make):
    """A compactor for the tests: make(history) -> messages in front of the current one."""

    def double(history, budget, count):
        return [*make(history), history[-1]]

    double.extractive = extractive
    return double


keeps_all = compactor(True, lambda history: history[:-1])
keeps_last = compactor(True, lambda history: [])
keeps_said = compactor(True, lambda history: said_by(SAID))
keeps_said_unseen = compactor(True, lambda history: [{"role": "tool", "tool_call_id": "c1", "content": SAID}])
doubles_it = compactor(True, lambda history: [*history, *history[:-1]])
rewrites = compactor(False, lambda history: said_by("They talked."))
turns_round = compactor(False, lambda history: said_by("The cutover is on Friday."))


def says_absent(question):
    """Double of a judge: nothing is ever there."""
    return {"verdict": "absent", "answer": "It does not say."}


class Command(Files):
    def setUp(self):
        super().setUp()
        self.small = self.write("small.json", small_fixture())
        self.enterContext(mock.patch.object(tokenizer, "counter", CountsWords))
        self.enterContext(mock.patch.object(sys, "path", [*sys.path, str(self.folder)]))

    def words(self, *argv):
        """The words of the command for the small fixture; a double of this module or a file is given by its name."""
        budget = [word for field, size in BUDGET.items() for word in (f"--{field.replace('_', '-')}", size)]
        named = [f"{__name__}:{word}" if callable(globals().get(word)) else word for word in argv]
        paths = {path.name: path for path in self.folder.iterdir()}
        return [*budget, "--fixtures", self.small, *(paths.get(word, word) for word in named)]  # the last one holds

    def check(self, wanted, *argv):
        """(report, standard error) of a run that ends with this status; --compactor stands in front of a name."""
        argv = argv if argv[0].startswith("--") else ("--compactor", *argv)
        status, out, err = run(check.main, *self.words(*argv))
        self.assertEqual(status, wanted, err)
        return json.loads(out), err

    def test_an_answer_has_another_status_or_the_two_questions_are_one(self):
        for case in named_cases(__file__, "answered-runs.json"):
            with self.subTest(case["name"]):
                report, err = self.check(case["status"], *case["argv"].split())
                self.assertEqual(report.get("comparison", {}).get("decision"), case["decision"])
                self.assertIs(report["candidate"]["compliant"], case["compliant"])
                if case["status"] == 3:
                    self.assertRegex(err, r"missing verdicts: [1-9]\d* to be judged")
        for decision, compliant, wanted in (("not decided", False, 1), ("blocked", None, 1), ("safe", None, 3),
                                            ("not decided", True, 3), ("safe", True, 0)):
            report = {"comparison": {"decision": decision}, "candidate": {"compliant": compliant}}
            self.assertEqual(check.status(report, "compliant"), wanted, (decision, compliant))

    def test_a_changed_item_is_not_listed_with_both_lines_or_its_judge_passes_for_measured(self):
        report, err = self.check(1, "turns_round", "--against", "keeps_said", "--judge", "says_absent")
        first = report["comparison"]["changed"][0]
        self.assertEqual([first[field] for field in ("item", "candidate", "candidate_line", "incumbent_line")],
                         ["small-4", "contradicted", "The cutover is on Friday.", "The cutover is on Sunday."])
        self.assertRegex(err, r"(?s)\Ablocked: worse in.*The cutover is on Friday\.")
        result = self.check(1, "rewrites", "--judge", "says_absent")[0]["candidate"]
        self.assertEqual(result["judge"]["card"], "unmeasured")
        self.assertEqual([row.get("judge") for row in result["rows"]], ["unmeasured judge"] * 5 + [None])

    def test_another_share_is_compared_or_an_edited_result_believed_or_the_record_is_something_else(self):
        result = self.folder / "result.json"
        report, _ = self.check(1, "keeps_all", "--record", result)
        self.assertEqual((read_json(result), set(report["code"])), (report, set(CODE)))
        against = self.words("--compactor", "keeps_all", "--against", result)
        self.assertEqual(run(check.main, *against)[0], 0)
        self.refused("different shares", check.main, *against, "--keep-share", 1, status=3)
        self.assertEqual(run(check.main, "--contexts", result)[0], 1)
        for given, told in ((["--gates", self.write("gates.json", {"constraint": 0})], "--gates"),
                            (["--margin", 1, "--fixtures", self.small, "--judge", "human"],
                             "--fixtures, --margin, --judge")):
            for sides in (["--contexts", result], ["--contexts", result, "--against", result]):
                self.refused(f"{told}: a result keeps the setting", check.main, *sides, *given)
        for code in ({}, {**report["code"], "strategies.py": "0" * 64}):
            other = self.write("other.json", report | {"code": code})
            self.refused("other code of this lab", check.main, *against[:-1], other, status=3)
        report["candidate"]["budget"]["margin"] = 3
        self.write("result.json", report)
        self.refused("available_input does not follow from its items; it was edited", check.main, *against)

    def test_a_compactor_whose_output_grows_runs_on_or_counts_as_kept(self):
        other = small_fixture(conversation_id="other", compactions_expected=9)
        report, err = self.check(1, "doubles_it", "--fixtures", self.small, self.write("other.json", other))
        self.assertEqual([failed["compaction"] for failed in report["candidate"]["failed"]], [1, 1])
        self.assertTrue(err.startswith("not compliant: 2 compactions failed\n2 compactions failed, as"), err)
        self.assertEqual(set(verdicts(report["candidate"]["items"])), {"absent"})
        err = self.check(1, "doubles_it", "--against", "keeps_last")[1]
        self.assertTrue(err.startswith("blocked: worse in failed compactions"), err)
        self.assertIn("incumbent: 1 compactions failed, as", self.check(0, "keeps_last", "--against", "doubles_it")[1])

    def test_an_opaque_context_has_no_line_of_its_own_or_a_side_copies_because_the_other_does(self):
        line = {"conversation_id": "small", "compaction": 1, "turn": 9, "messages": said_by("Do not push to main")}
        path = self.write("c.jsonl", [{"conversation_id": "small", "compaction": 2, "turn": 9, "opaque": True}, line])
        report, err = self.check(1, "--contexts", path, "--extractive")
        self.assertIn("opaque: 1 contexts that cannot be read, or not wholly: 4 decisions", err)
        self.assertEqual(report["candidate"]["rows"][0]["unknown"], 1)
        path = self.write("c.jsonl", [line | {"messages": said_by("x")}])
        for options, wanted, unknown in (([], 0, (4, 4)), (["--extractive"], 3, (0, 4)),
                                         (["--against-extractive"], 3, (4, 0))):
            report, err = self.check(wanted, "--contexts", path, "--against", path, *options)
            sides = [report[side]["rows"][4]["unknown"] for side in ("candidate", "incumbent")]
            self.assertEqual(tuple(sides), unknown, options)
        self.assertIn("incumbent: 4 items lost: 4 at compaction 1", err)

    def test_task_success_does_not_stand_on_the_last_line_with_its_standard_error(self):
        for options, told in (([], "task success: not given"),
                              ("--task-success 0.83 --task-runs 200 --task-drop 0.015".split(),
                               r"task success 0\.830 over 200 runs: standard error 0\.027.*0\.78 to 0\.88.*"
                               r"a drop of 0\.015 needs 2,410 runs")):
            err = self.check(1, "keeps_all", *options)[1]
            self.assertRegex(" ".join(err.strip().split("\n\n")[-1].split()), told)

    def test_what_cannot_run_is_something_else_than_2_and_one_line(self):
        control, late = small_fixture(), small_fixture()
        control["history"][5]["user"] += " <bos>"
        late["must_survive"] = [late["must_survive"][0] | {"turn": 12, "literal": "Step 12"}]
        for name, content in (
            ("control.json", control), ("late.json", late), ("often.json", small_fixture(compactions_expected=50)),
            ("leaves.py", "def keep(h, b, c):\n    raise SystemExit(0)"), ("leaves_at_once.py", "raise SystemExit(0)"),
            ("half.py", "def f("), ("needs_another.py", "import nor.such")):
            self.write(name, content)
        for case in named_cases(__file__, "refused-runs.json"):
            with self.subTest(case["name"]):
                self.refused(case["told"], check.main, *self.words(*case["argv"].split()))

    def test_what_own_code_prints_is_data(self):
        self.write("chatty.py", "print('at import')\ndef keep(h, b, c):\n    print('hello')\n    return h")
        err = self.check(1, "chatty:keep")[1]
        self.assertTrue("hello" in err and "at import" in err)

    def test_ci_is_told_of_no_lost_item_or_of_an_open_decision_as_a_pass(self):
        gate, undecided = self.folder / "gate.xml", self.folder / "open.xml"
        with mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "true"}):
            err = self.check(1, "keeps_last", "--against", "keeps_said", "--junit", gate)[1]
            self.assertEqual(err.count("::error title=compaction.check%3A small-"), 4)
            self.assertIn("::error title=compaction.check%3A small-1::constraint: lost at compaction 1",
                          self.check(1, "keeps_last")[1])
            self.check(3, "rewrites", "--junit", undecided)
        for path, *told in ((gate, 'tests="11" failures="9" errors="0"', '<failure message="blocked: worse in constr'),
                            (undecided, 'tests="7" failures="0" errors="6"', '<error message="mostly unknown: ')):
            text = path.read_text(encoding="utf-8")  # of the undecided one the prompt's size is known and met
            self.assertTrue(all(words in text for words in told), text)

    def test_another_models_manifest_counts_all_the_same_as_the_shipped_one(self):
        manifest, given = self.write("other-manifest.json", {}), []
        with mock.patch.object(tokenizer, "counter", lambda path: given.append(path) or CountsWords()):
            report, _ = self.check(1, "keeps_last", "--tokenizer", manifest)
        self.assertEqual(given[0], manifest)
        self.assertEqual(report["candidate"]["manifest_sha256"], file_hash(manifest))
