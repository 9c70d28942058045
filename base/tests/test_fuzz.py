"""Every command takes mutated input: some mutants each; `python -m base.tests.fuzz 20000` runs as many as one likes."""

import re
import tempfile
import unittest
from pathlib import Path

from base.tests import fuzz
from base.tests.fuzz_samples import NO_FILES, ROOT, TARGETS
from compaction.tests.doubles import prepared

EACH = 6  # mutants of a target


def commands():
    """Names of the modules that can be run."""
    paths = [path for path in ROOT.rglob("*.py") if not any(part[:1] == "." or part in ("tests", "venv") for part in
                                                            path.relative_to(ROOT).parts)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__") for path in paths
            if re.search(r"^    run_command\(main\)", path.read_text(encoding="utf-8"), re.MULTILINE)}


class Fuzz(unittest.TestCase):
    def test_a_new_command_has_no_target(self):
        self.assertEqual(commands(), {target.split()[0] for target in TARGETS} | set(NO_FILES))

    @unittest.skipUnless(prepared(), "the tokenizer is not prepared: python prepare.py")
    def test_a_target_refuses_what_was_not_mutated_so_that_it_tests_nothing(self):
        for target in TARGETS:
            with self.subTest(target), tempfile.TemporaryDirectory() as folder:
                _, argv = fuzz.laid_out(target, Path(folder))
                status, _, err = fuzz.run(target.split()[0], argv, folder)
                self.assertNotEqual(status, 2, err[-300:])

    @unittest.skipUnless(prepared(), "the tokenizer is not prepared: python prepare.py")
    def test_a_mutant_ends_in_a_traceback_a_hang_a_written_file_or_a_wrong_pass(self):
        self.assertEqual(fuzz.run_all([(target, number) for target in TARGETS for number in range(EACH)]), [])


if __name__ == "__main__":
    unittest.main()
