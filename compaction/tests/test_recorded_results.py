"""The recorded comparisons of the shipped fixtures are what a fresh run gives, and what the README shows."""

import io
import json
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import tokenizer
from base.command import read_json
from base.own_code import source_hash
from compaction import check, result_file, table
from compaction.fixtures.form import load_fixtures
from compaction.result_file import check_report
from compaction.rows import verdicts
from compaction.tests.doubles import prepared

RECORDED = ("notes", "ledger")  # both against recent
AGAIN = "record it again: python -m compaction.check --compactor {} --against recent --record"


class Recorded(unittest.TestCase):
    def test_a_checkout_with_other_line_ends_has_the_same_hashes(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = Path(folder) / "one.py", Path(folder) / "other.py"
            one.write_bytes(b"a = 1\nb = 2\n")
            other.write_bytes(b"a = 1\r\nb = 2\r\n")
            self.assertEqual(source_hash(one), source_hash(other))

    @unittest.skipUnless(prepared(), "the tokenizer is not prepared; run: python prepare.py")
    def test_fresh_runs_on_the_shipped_fixtures_give_the_recorded_results(self):
        incumbent = None
        for name in RECORDED:
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(io.StringIO()):
                check.main(["--compactor", name] + ([] if incumbent else ["--against", "recent"]))
            fresh, recorded = (json.loads(out.getvalue()),
                               check_report(read_json(result_file.RESULTS / f"{name}-against-recent.json"), name))
            incumbent = incumbent or fresh["incumbent"]
            for side, result in (("candidate", fresh["candidate"]), ("incumbent", incumbent)):
                for part in result:  # what else it holds follows from the two, or read_report had refused it
                    with self.subTest(f"{name}: {side}: {part}"):
                        self.assertTrue(result[part] == recorded[side][part], AGAIN.format(name))

    def test_the_recorded_hashes_match_their_files(self):
        for name in RECORDED:
            recorded = read_json(result_file.RESULTS / f"{name}-against-recent.json")
            self.assertEqual(recorded["code"], result_file.code_hashes(), AGAIN.format(name))
            self.assertEqual(recorded["candidate"]["fixtures"]["sha256"], result_file.fixtures_hash(load_fixtures()))
            self.assertEqual(recorded["candidate"]["manifest_sha256"], source_hash(tokenizer.MANIFEST))

    def test_next_to_nothing_is_left_unjudged_by_compactors_that_copy(self):
        for name in RECORDED:
            recorded = read_json(result_file.RESULTS / f"{name}-against-recent.json")
            decided = verdicts(recorded["candidate"]["items"])
            self.assertLess(decided.count("unjudged"), 0.02 * len(decided))

    def test_the_readme_shows_the_recorded_figures(self):
        reports = [read_json(result_file.RESULTS / f"{name}-against-recent.json") for name in RECORDED]
        sides = [reports[0]["incumbent"], *(report["candidate"] for report in reports)]
        readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        for row in zip(*(side["rows"] for side in sides)):
            name = row[0]["name"] + (", median and p95" if "median" in row[0] else "")
            cells = [table.value(one) for one in row]
            with self.subTest(name):
                (line,) = [line for line in readme.split("\n") if line.startswith(f"| {name} |")]
                self.assertTrue(line.endswith(" | ".join(["", *cells, ""]).rstrip()), line)

    def test_every_item_of_the_shipped_fixtures_is_checked_at_some_compaction(self):
        for name in RECORDED:
            recorded = read_json(result_file.RESULTS / f"{name}-against-recent.json")
            self.assertEqual((recorded["candidate"]["never_checked"], recorded["candidate"]["uncovered"]), ([], []))


if __name__ == "__main__":
    unittest.main()
