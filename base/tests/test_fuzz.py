"""Every command takes mutated input: some mutants each; `python -m base.tests.fuzz 20000` runs as many as one likes."""

import unittest

from base.tests import fuzz
from base.tests.fuzz_samples import NO_FILES, TARGETS
from base.tests.made import commands, needs_tokenizer

EACH = 5  # mutants of a target


class Fuzz(unittest.TestCase):
    def test_a_new_command_has_no_target(self):
        self.assertEqual(set(commands()), {target.split()[0] for target in TARGETS} | set(NO_FILES))

    @needs_tokenizer
    def test_a_mutant_ends_in_a_traceback_a_hang_a_written_file_or_a_wrong_pass(self):
        """And a target whose sample is refused as it is would test nothing (number -1)."""
        self.assertEqual(fuzz.run_all([(target, number) for target in TARGETS for number in range(-1, EACH)]), [])


if __name__ == "__main__":
    unittest.main()
