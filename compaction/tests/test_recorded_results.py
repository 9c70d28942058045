"""The recorded comparisons of the shipped fixtures are what a fresh run gives, and what the README shows."""

import json
from pathlib import Path

import tokenizer
from base.command import dump, read_json, sha256
from base.own_code import source_hash
from base.tests.made import Files, needs_tokenizer, run
from compaction import check, result_file, table
from compaction.fixtures.form import load_fixtures
from compaction.rows import verdicts

AGAIN = "record it again: python -m compaction.check --compactor {} --against recent --record"
PATHS = {name: result_file.RESULTS / f"{name}-against-recent.json" for name in ("notes", "ledger")}
REPORTS = {name: read_json(path) for name, path in PATHS.items()}


class Recorded(Files):
    @needs_tokenizer
    def test_fresh_runs_on_the_shipped_fixtures_give_something_else(self):
        incumbent = None
        for name, recorded in REPORTS.items():
            result_file.check_report(recorded, PATHS[name])
            _, out, err = run(check.main, "--compactor", name, *([] if incumbent else ["--against", "recent"]))
            fresh = json.loads(out)
            incumbent = incumbent or fresh["incumbent"]
            for side, result in (("candidate", fresh["candidate"]), ("incumbent", incumbent)):
                for part in result:  # what else it holds follows from the two, or check_report had refused it
                    with self.subTest(f"{name}: {side}: {part}"):
                        self.assertTrue(result[part] == recorded[side][part], AGAIN.format(name))

    def test_a_recorded_hash_is_of_another_file_or_depends_on_line_ends(self):
        for name, recorded in REPORTS.items():
            self.assertEqual(recorded["code"], result_file.code_hashes(), AGAIN.format(name))
            self.assertEqual(recorded["candidate"]["fixtures"]["sha256"], sha256(dump(load_fixtures())))
            self.assertEqual(recorded["candidate"]["manifest_sha256"], source_hash(tokenizer.MANIFEST))
        texts = (b"a = 1\nb = 2\n", b"a = 1\r\nb = 2\r\n")
        self.assertEqual(len({source_hash(self.write("one.py", text)) for text in texts}), 1)

    def test_an_item_is_never_checked_or_left_unjudged_although_compactors_copy(self):
        for recorded in REPORTS.values():
            decided = verdicts(recorded["candidate"]["items"])
            self.assertLess(decided.count("unjudged"), 0.02 * len(decided))
            self.assertEqual((recorded["candidate"]["never_checked"], recorded["candidate"]["uncovered"]), ([], []))

    def test_the_readme_shows_other_figures(self):
        sides = [REPORTS["notes"]["incumbent"], *(report["candidate"] for report in REPORTS.values())]
        readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        for rows in zip(*(side["rows"] for side in sides)):
            name = rows[0]["name"] + (", median and p95" if "median" in rows[0] else "")
            with self.subTest(name):
                (line,) = [line for line in readme.split("\n") if line.startswith(f"| {name} |")]
                values = [table.row_cells(row)["value"] for row in rows]
                self.assertTrue(line.endswith(" | ".join(["", *values, ""]).rstrip()), line)
