"""A recording made against the double, for the tests: requests counted by a stand-in, no model and no tokenizer."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import answer_check
from answer_model import AnswerModel
from answers import record
from answers.journal import open_journal
from answers.tests.ollama_double import OllamaDouble, stand_in_count
from base.command import InputError
from selection.cases import load_cases
from strategies import STRATEGIES

ROOT = Path(__file__).parents[2]
TIMES = (2, 2, 4)  # seconds: the double answers at once or is told to hang


def run(main, *argv):
    """(status or InputError, standard output, standard error) of a command in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main(list(argv))
        except InputError as error:
            status = error
    return status, out.getvalue(), err.getvalue()


def entry(answer, **changed):
    """A whole answer as a recording holds it, with some fields changed."""
    return {"seed": 1, "answer": answer, "tool_calls": [], "done_reason": "stop", "prompt_tokens": 9,
            "answer_tokens": 9, **changed}


def stand_in_requests(*_):
    """The lab's requests for its own cases, counted by the stand-in, in place of answer_check.lab_requests."""
    return record.plan_requests(load_cases(ROOT / "cases.json"), STRATEGIES, stand_in_count), {}


PLAN = stand_in_requests()[0]
SMALL = [planned for planned in PLAN if planned["strategy"] == "recent"][:2]  # ten answers


class Recording(unittest.TestCase):
    """A place for a recording, and what records into it; waits are noted and not waited."""

    def setUp(self):
        self.out = Path(self.enterContext(tempfile.TemporaryDirectory())) / "answer-result.json"
        self.waits, self.plan = [], PLAN

    def double(self, **options):
        return self.enterContext(OllamaDouble(**options))

    def model(self, double, times=TIMES):
        return AnswerModel(host=double.host, wait=self.waits.append, times=times)

    def ask(self, double, plan=SMALL, jobs=1, times=TIMES):
        """Ask for all of a plan; what the journal then holds: (answers, asides), and what was raised."""
        model, raised = self.model(double, times), None
        with open_journal(self.out) as journal:
            try:
                record.ask_all(record.tasks_for(plan, model), model, journal, jobs)
            except InputError as error:
                raised = error
        return journal.answers, journal.asides, raised

    def command(self, double, *argv):
        """(status or InputError, stdout as JSON or None, stderr) of `answer_check.py record`."""
        with (mock.patch.object(answer_check, "lab_requests", lambda *_: (self.plan, {})),
              mock.patch("time.sleep", self.waits.append)):
            status, out, err = run(answer_check.main, "record", "--out", str(self.out), "--host", double.host, *argv)
        return status, json.loads(out) if out else None, err
