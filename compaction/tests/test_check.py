"""The command: both questions answered apart, every exit status, and one line for what cannot run."""

import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import tokenizer
from base.command import file_hash, read_json, status_of
from compaction import check, result_file
from compaction.rows import verdicts
from compaction.tests.doubles import CountsWords, small_fixture

BUDGET = ["--context-limit", "70", "--max-new-tokens", "8", "--margin", "2"]


def keeps_all(history, budget, count):
    """A compactor for the tests: everything stays."""
    return history


def keeps_last(history, budget, count):
    """A compactor for the tests: nothing but the current message stays."""
    return history[-1:]


def keeps_said(history, budget, count):
    """A compactor for the tests: the items of the small fixture stay."""
    said = " ".join(item["literal"] + "." for item in small_fixture()["must_survive"])
    return [{"role": "user", "content": said}, history[-1]]


def keeps_said_unseen(history, budget, count):
    """A compactor for the tests that leaves the items where no template writes them: a result without its call."""
    said = keeps_said(history, budget, count)[0]["content"]
    return [{"role": "tool", "tool_call_id": "c1", "content": said}, history[-1]]


def doubles_it(history, budget, count):
    """A compactor for the tests whose output grows."""
    return [*history, *history]


def rewrites(history, budget, count):
    """A compactor for the tests that does not copy."""
    return [{"role": "user", "content": "They talked."}, history[-1]]


def turns_round(history, budget, count):
    """A compactor for the tests that brings back what was replaced."""
    return [{"role": "user", "content": "The cutover is on Friday."}, history[-1]]


keeps_all.extractive = keeps_last.extractive = keeps_said.extractive = keeps_said_unseen.extractive = (
    doubles_it.extractive) = True


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.fixture = self.write("small.json", small_fixture())
        patch = mock.patch.object(tokenizer, "counter", CountsWords)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name, value):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def run_check(self, *argv):
        """(status, report or None, standard error) of check.py on the small fixture."""
        out, err = io.StringIO(), io.StringIO()
        argv = [*BUDGET, "--fixtures", str(self.fixture), *argv]  # the last of an option given twice holds
        with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["check.py"]):
            status = status_of(check.main, argv)
        return status, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()

    def mine(self, name):
        return f"{__name__}:{name}"

    def compact(self, name, *argv, against=None):
        """run_check of a compactor of this module."""
        argv = [*argv, "--against", self.mine(against)] if against else argv
        return self.run_check("--compactor", self.mine(name), *argv)

    def test_safe_and_not_compliant_is_0_and_1_where_compliance_is_required(self):
        status, report, err = self.compact("keeps_last", against="keeps_last")
        self.assertEqual(
            (status, report["comparison"]["decision"], report["candidate"]["compliant"]), (0, "safe", False))
        self.assertIn("not compliant", err)
        self.assertEqual(self.compact("keeps_last", "--require", "compliant", against="keeps_last")[0], 1)

    def test_compliant_is_0_and_not_compliant_is_1_without_an_incumbent(self):
        self.assertEqual(self.compact("keeps_said")[0], 0)
        self.assertEqual(self.compact("keeps_last")[0], 1)

    def test_blocked_is_1_and_the_changed_items_are_listed_with_both_lines(self):
        status, report, err = self.compact(
            "turns_round", "--against", self.mine("keeps_said"), "--judge", self.mine("says_absent"))
        self.assertEqual((status, report["comparison"]["decision"]), (1, "blocked"))
        first = report["comparison"]["changed"][0]
        self.assertEqual((first["item"], first["candidate"]), ("small-4", "contradicted"))
        self.assertEqual(first["candidate_line"], "The cutover is on Friday.")
        self.assertEqual(first["incumbent_line"], "The cutover is on Sunday.")
        self.assertTrue(err.startswith("blocked: worse in"))
        self.assertIn("The cutover is on Friday.", err)

    def test_not_decided_is_3_and_says_how_many_verdicts_are_missing(self):
        status, report, err = self.compact("rewrites", against="keeps_last")
        self.assertEqual((status, report["comparison"]["decision"]), (3, "not decided"))
        self.assertGreater(report["comparison"]["missing_verdicts"]["unjudged"], 0)
        self.assertRegex(err, r"missing verdicts: \d+ to be judged")
        status, report, err = self.compact("rewrites")
        self.assertEqual((status, report["candidate"]["compliant"]), (3, None))
        self.assertRegex(err, r"missing verdicts: \d+ to be judged")

    def test_another_budget_is_not_comparable(self):
        result = self.folder / "result.json"
        self.compact("keeps_all", "--record", str(result))
        status, report, err = self.compact("keeps_all", "--against", str(result))
        self.assertEqual(status, 0)
        status, report, err = self.compact("keeps_all", "--against", str(result), "--keep-share", "1")
        self.assertEqual((status, report), (3, None))
        self.assertIn("not comparable: the compactors were handed different shares", err)
        recorded = read_json(result)
        recorded["candidate"]["budget"]["margin"] = 3
        result.write_text(json.dumps(recorded))
        status, report, err = self.compact("keeps_all", "--against", str(result))
        self.assertEqual((status, report), (2, None))
        self.assertIn("available_input does not follow from its items; it was edited", err)

    def test_a_compactor_whose_output_grows_runs_on_or_counts_as_kept(self):
        other = small_fixture(conversation_id="other", compactions_expected=9)
        other["must_survive"] = [item | {"id": "other-" + item["id"]} for item in other["must_survive"]]
        both = ["--fixtures", str(self.fixture), str(self.write("other.json", other))]
        status, report, err = self.compact("doubles_it", *both)
        self.assertEqual((status, report["candidate"]["compliant"]), (1, False))
        self.assertEqual([one["compaction"] for one in report["candidate"]["failed"]], [1, 1])
        self.assertTrue(err.startswith("not compliant: 2 compactions failed\n2 compactions failed, as"), err)
        self.assertEqual(set(verdicts(report["candidate"]["items"])), {"absent"})
        status, report, err = self.compact("doubles_it", against="keeps_last")
        self.assertEqual(status, 1)
        self.assertTrue(err.startswith("blocked: worse in failed compactions"), err)
        status, report, err = self.compact("keeps_last", against="doubles_it")
        self.assertIn("incumbent: 1 compactions failed, as", err)

    def test_what_the_template_does_not_write_counts_as_kept(self):
        _, report, _ = self.compact("keeps_said_unseen")
        self.assertEqual(set(verdicts(report["candidate"]["items"])), {"absent"})

    def test_a_judged_row_says_that_its_judge_is_unmeasured(self):
        _, report, err = self.compact("rewrites", "--judge", self.mine("says_absent"))
        self.assertEqual(report["candidate"]["judge"]["card"], "unmeasured")
        judged = [row.get("judge") for row in report["candidate"]["rows"] if row["judged"]]
        self.assertEqual(judged, ["unmeasured judge"] * 5)

    def test_recorded_contexts_are_checked_and_opaque_ones_have_a_line_of_their_own(self):
        lines = [{"conversation_id": "small", "compaction": 1, "turn": 5, "messages": [], "opaque": True},
                 {"conversation_id": "small", "compaction": 2, "turn": 9,
                  "messages": [{"role": "user", "content": "Do not push to main"}]}]
        path = self.write("contexts.jsonl", "\n".join(map(json.dumps, lines)))
        status, report, err = self.run_check("--contexts", str(path), "--extractive")
        self.assertEqual(status, 1)
        self.assertIn("opaque: 1 contexts that cannot be read, or not wholly: 4 decisions", err)
        self.assertEqual(
            (report["candidate"]["opaque_contexts"], report["candidate"]["missing_verdicts"]["opaque"]), (1, 4))
        self.assertEqual(report["candidate"]["rows"][0]["unknown"], 1)

    def test_whether_a_side_only_copies_is_said_for_each_side(self):
        line = {"conversation_id": "small", "compaction": 1, "turn": 9, "messages": [{"role": "user", "content": "x"}]}
        path = str(self.write("contexts.jsonl", json.dumps(line)))
        for options, unknown in (([], (4, 4)), (["--extractive"], (0, 4)), (["--against-extractive"], (4, 0))):
            with self.subTest(options):
                _, report, err = self.run_check("--contexts", path, "--against", path, *options)
                sides = [report[side]["rows"][4]["unknown"] for side in ("candidate", "incumbent")]
                self.assertEqual(tuple(sides), unknown)
        self.assertIn("uncued-correction  0 of 1 +1?", err)
        self.assertIn("incumbent: 4 items lost: 4 at compaction 1", err)

    def test_task_success_stands_on_the_last_line_with_its_standard_error(self):
        _, report, err = self.compact("keeps_all", *"--task-success 0.83 --task-runs 200".split())
        self.assertRegex(
            err.strip().split("\n")[-1], r"task success 0\.830 over 200 runs: standard error 0\.027.*0\.78 to 0\.88")
        _, report, err = self.compact("keeps_all", *"--task-success 0.83 --task-runs 200 --task-drop 0.015".split())
        self.assertIn("a drop of 0.015 needs 2,410 runs", " ".join(err.split()))
        _, report, err = self.compact("keeps_all")
        self.assertRegex(err.strip().split("\n")[-1], "task success: not given")

    def test_what_cannot_run_is_2_with_one_line_and_nothing_on_stdout(self):
        control = small_fixture()
        control["history"][5]["user"] += " <bos>"
        self.write("needs_another.py", "import nor.such")
        self.write("half_written.py", "def f(")
        path = mock.patch.object(sys, "path", [*sys.path, str(self.folder)])
        path.start()
        self.addCleanup(path.stop)
        late = small_fixture()
        late["must_survive"] = [late["must_survive"][0] | {"turn": 12, "literal": "Step 12"}]
        recent, mine = (["--compactor", "recent"],
                        lambda name, fixture: ["--compactor", self.mine(name), "--fixtures",
                                               str(self.write(f"{name}.json", fixture))])
        for told, argv in {"no name known here": ["--compactor", "nothing"],
                           "run from the folder that holds no_such_module": ["--compactor", "no_such_module:f"],
                           "no_such_part'; run from the folder": ["--compactor", "compaction.no_such_part:f"],
                           "named 'nor'; mend the file": ["--compactor", "needs_another:f"],
                           "(half_written.py, line 1); mend the file": ["--compactor", "half_written:f"],
                           "'..check:main' is no name known here": ["--compactor", "..check:main"],
                           "'compaction.:main' is no name": ["--compactor", "compaction.:main"],
                           "has no function": ["--compactor", f"{__name__}:nothing"],
                           "no such folder to record in": [*recent, "--record", "nowhere/at/all.json"],
                           "a card says nothing without its judge": [*recent, "--card", str(self.fixture)],
                           "compacted less often": mine("keeps_said", small_fixture(compactions_expected=50)),
                           "control token": mine("keeps_all", control), "nothing was checked": mine("keeps_last", late),
                           "leaves no input": [*recent, "--margin", "99"], "keep-share": [*recent, "--keep-share", "0"],
                           "go together, --task-drop": [*recent, "--task-drop", "0.1"],
                           "go together": [*recent, "--task-success", "0.5"],
                           "share from 0 to 1": [*recent, "--task-success", "1.5", "--task-runs", "3"],
                           "the report has no field 'candidate'": [*recent, "--against", str(self.fixture)]}.items():
            with self.subTest(told):
                status, report, err = self.run_check(*argv)
                self.assertEqual((status, report), (2, None), err)
                self.assertIn(told, err)
                self.assertNotIn("Traceback", err)

    def test_no_outweighs_not_decided_where_both_questions_are_asked(self):
        for decision, compliant, wanted in (("not decided", False, 1), ("blocked", None, 1), ("safe", None, 3),
                                            ("not decided", True, 3), ("safe", True, 0)):
            report = {"comparison": {"decision": decision}, "candidate": {"compliant": compliant}}
            self.assertEqual(check.status(report, "compliant"), wanted, (decision, compliant))

    def test_what_own_code_prints_is_no_data_and_its_exit_is_no_answer(self):
        self.write("chatty.py", "print('at import')\ndef keep(h, b, c):\n    print('hello')\n    return h")
        self.write("leaves.py", "def keep(h, b, c):\n    raise SystemExit(0)")
        self.write("leaves_at_once.py", "raise SystemExit(0)")
        with mock.patch.object(sys, "path", [*sys.path, str(self.folder)]):
            status, report, err = self.run_check("--compactor", "chatty:keep")
            self.assertEqual((status, "hello" in err, "at import" in err), (1, True, True))
            self.assertIsNotNone(report)
            for name in ("leaves:keep", "leaves_at_once:keep"):
                status, report, err = self.run_check("--compactor", name)
                self.assertEqual((status, report), (2, None))
                self.assertRegex(err, r"SystemExit: 0|that code ended the process \(exit 0\)")

    def test_the_record_is_what_was_printed(self):
        result = self.folder / "result.json"
        _, report, _ = self.compact("keeps_all", "--record", str(result))
        self.assertEqual(read_json(result), report)
        self.assertEqual(len(report["candidate"]["items"]), 4)
        self.assertEqual(set(report["code"]), set(result_file.CODE))

    def test_ci_is_told_of_no_lost_item_or_of_an_open_decision_as_a_pass(self):
        path = self.folder / "gate.xml"
        pair = ["--compactor", self.mine("keeps_last"), "--against", self.mine("keeps_said"), "--junit", str(path)]
        with mock.patch.dict(os.environ, {"GITHUB_ACTIONS": "true"}):
            status, _, err = self.run_check(*pair)
            self.assertEqual((status, err.count("::error title=compaction.check%3A small-")), (1, 4))
            _, _, err = self.compact("keeps_last")
            self.assertIn("::error title=compaction.check%3A small-1::constraint: lost at compaction 1", err)
            self.compact("rewrites", "--junit", str(self.folder / "open.xml"))
        text = path.read_text(encoding="utf-8")
        self.assertIn('tests="11" failures="9" errors="0"', text)
        self.assertIn('<failure message="blocked: worse in constraints retained', text)
        text = (self.folder / "open.xml").read_text(encoding="utf-8")
        self.assertIn('<error message="mostly unknown: ', text)
        self.assertIn('tests="7" failures="0" errors="6"', text)  # the prompt's size is known and met

    def test_another_models_manifest_counts_all_the_same_as_the_shipped_one(self):
        manifest = self.write("other-manifest.json", "{}")
        with mock.patch.object(tokenizer, "counter", lambda *given: self.given.append(given) or CountsWords()):
            self.given = []
            _, report, _ = self.compact("keeps_last", "--tokenizer", str(manifest))
        self.assertEqual(self.given[0], (manifest,))
        self.assertEqual(report["candidate"]["manifest_sha256"], file_hash(manifest))


def says_absent(question):
    """Double of a judge: nothing is ever there."""
    return {"verdict": "absent", "answer": "It does not say."}


if __name__ == "__main__":
    unittest.main()
