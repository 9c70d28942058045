"""Every command takes mutated input: some mutants each; `python -m base.tests.fuzz 20000` runs as many as one likes."""

import re
import unittest

from base.tests import fuzz
from base.tests.fuzz_samples import NO_FILES, ROOT, TARGETS
from base.tests.made import needs_tokenizer

EACH = 5  # mutants of a target


def commands():
    """Names of the modules that can be run."""
    paths = [path for path in ROOT.rglob("*.py") if not any(part[:1] == "." or part in ("tests", "venv") for part in
                                                            path.relative_to(ROOT).parts)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__") for path in paths
            if re.search(r"^    run_command\(main\)", path.read_text(encoding="utf-8"), re.MULTILINE)}


class Fuzz(unittest.TestCase):
    def test_a_new_command_has_no_target(self):
        self.assertEqual(commands(), {target.split()[0] for target in TARGETS} | set(NO_FILES))

    @needs_tokenizer
    def test_a_mutant_ends_in_a_traceback_a_hang_a_written_file_or_a_wrong_pass(self):
        """And a target whose sample is refused as it is would test nothing (number -1)."""
        self.assertEqual(fuzz.run_all([(target, number) for target in TARGETS for number in range(-1, EACH)]), [])


if __name__ == "__main__":
    unittest.main()
