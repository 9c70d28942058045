"""A recording made against the double, for the tests: requests counted by a stand-in, no model and no tokenizer."""

import json
from functools import partial
from pathlib import Path
from unittest import mock

import answer_check
from answer_model import AnswerModel
from answers import record
from answers.recording import read_recording
from answers.tests.ollama_double import OllamaDouble, stand_in_count
from base.command import InputError, read_json
from base.tests.made import ROOT, Files, run
from selection.cases import load_cases
from strategies import STRATEGIES

CASES = load_cases(ROOT / "cases.json")
PUBLISHED = read_recording(ROOT / "answer-result.json")
REPORT = read_json(ROOT / "evaluation-result.json")
INPUTS = read_json(Path(__file__).parent / "input-cases.json")
PLAN = record.plan_requests(CASES, STRATEGIES, stand_in_count)
SMALL = [planned for planned in PLAN if planned["strategy"] == "recent"][:2]  # ten answers
TIMES = (2, 2, 4)  # seconds: the double answers at once or is told to hang


def entry(answer, **changed):
    """A whole answer as a recording holds it, with some fields changed."""
    return {"seed": 1, "answer": answer, "tool_calls": [], "done_reason": "stop", "prompt_tokens": 9,
            "answer_tokens": 9, **changed}


class Recording(Files):
    """A place for a recording, and what records into it; waits are noted and not waited."""

    def setUp(self):
        super().setUp()
        self.out, self.waits = self.folder / "answer-result.json", []

    def double(self, fault=None, **options):
        return self.enterContext(OllamaDouble(fault, **options))

    def model(self, double, times=TIMES):
        return AnswerModel(host=double.host, wait=self.waits.append, times=times)

    def ask(self, double, plan=SMALL, jobs=1, seeds=(1, 2, 3, 4, 5)):
        """Ask for all of a plan; what the journal then holds, (answers, asides), and the InputError that was raised."""
        model, raised = self.model(double), None
        with record.Journal(self.out) as journal:
            tasks = record.tasks_for(plan, seeds, partial(model.request, model.model), api=model.api, **model.identity)
            try:
                record.ask_all(tasks, model, journal, jobs)
            except InputError as error:
                raised = error
        return journal.answers, journal.asides, raised

    def command(self, host, *argv, plan=SMALL):
        """(status, stdout as JSON or None, stderr) of `answer_check.py record` on the requests of a plan."""
        with (mock.patch.object(answer_check, "lab_requests", lambda *_: (plan, {})),
              mock.patch("time.sleep", self.waits.append)):
            status, out, err = run(answer_check.main, "record", "--out", self.out, "--host", host, *argv)
        return status, json.loads(out) if out else None, err
