"""Valid input of every kind that a command reads, small and made up, and the targets: which command is run on which.

SAMPLES  name of a file -> a function that gives its bytes; the name stands in a target's words as {name}
TARGETS  command lines; a {name} that is no sample is a place to write to
NO_FILES why a command has no target
NEVER    exit statuses that no mutant may give a command: the unchanged input is a no
"""

import json
import tempfile
from functools import lru_cache, partial
from pathlib import Path

from base.tests.made import ROOT, as_bytes, run

VALUES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))  # {name: what the file holds}
CASE = VALUES.pop("case")
SMALL = "--context-limit 420 --max-new-tokens 64 --margin 16"


def cases():
    return [CASE, {**CASE, "id": "case-2", "split": "dev"}]


def shared_cases():
    shared = {**CASE, "history": "h", "required": [{"turn": "t3", "text": "blue"}]}
    of_set = [shared, {**shared, "id": "case-2", "split": "dev"}]
    return {"format": 1, "histories": {"h": CASE["history"]}, "cases": of_set}


@lru_cache
def recorded(name):
    return (ROOT / name).read_bytes()


def report():
    """The recorded report, cut to two strategies and three cases, its summary made again."""
    from evaluate import summarize

    value = json.loads(recorded("evaluation-result.json"))
    rows = {name: value["cases"][name][:3] for name in ("recent", "notes")}
    return {**value, "summary": {name: summarize(of_name) for name, of_name in rows.items()}, "cases": rows}


def worse_report():
    """The same report with one fact of `notes` lost: a gate has to block it, whatever else is changed in one place."""
    from evaluate import summarize

    value = report()
    row = next(row for row in value["cases"]["notes"] if row["required_found"])
    row["missing"] = {case["id"]: case["required"] for case in json.loads(recorded("cases.json"))}[row["case"]]
    row["required_found"] = 0
    return {**value, "summary": {name: summarize(rows) for name, rows in value["cases"].items()}}


def answers():
    """The published recording cut to one strategy and two seeds."""
    value = json.loads(recorded("answer-result.json"))
    kept = {"recent": {case: entries[:2] for case, entries in value["answers"]["recent"].items()}}
    return {**value, "answers": kept}


def fixture():
    from compaction.tests.doubles import small_fixture

    return small_fixture()


@lru_cache
def result():
    """What a check of that fixture records."""
    from compaction.check import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fixture.json"
        path.write_bytes(as_bytes(path.name, fixture()))
        return run(main, *f"--compactor recent --against notes {SMALL} --fixtures {path}".split())[1].encode()


def locomo():
    from workbench.tests.made import locomo, question

    return locomo([question(["D1:1"])])


def longmemeval():
    from workbench.tests.made import longmemeval

    return longmemeval()


MAKERS = {make.__name__: make for make in (
    cases, shared_cases, report, worse_report, answers, fixture, result, locomo, longmemeval)}
MAKERS |= {"other_answers": answers, "messages": lambda: VALUES["chat.jsonl"][0]["messages"]}
SAMPLES = {f"{name}.json": lambda make=make: as_bytes(".json", make()) for name, make in MAKERS.items()}
SAMPLES |= {name: partial(as_bytes, name, value) for name, value in VALUES.items()}
SAMPLES |= {name: partial(recorded, path) for name, path in {
    "keys.json": "answer-keys.json", "labels.json": "compaction/judge/labels.json",
    "recorded.json": "evaluation-result.json"}.items()}
TARGETS = """
evaluate --cases {cases.json}
evaluate --cases {shared_cases.json} --strategies recent,notes,near --budget 200,300
evaluate --cases {cases.json} --explain case-1
answer_check --recording {answers.json} --keys {keys.json}
answer_check attribution --recording {answers.json} --report {recorded.json}
answer_check compare {answers.json} {other_answers.json}
workbench.compare {report.json} {worse_report.json}
workbench.compare {report.json} {worse_report.json} --allow {allow.json} --junit {out.xml}
workbench.report {report.json}
workbench.report {result.json}
workbench.report --markdown {worse_report.json}
workbench.survey {chat.jsonl} --strategies recent,notes --budget 200
workbench.import_cases chat {chat.jsonl} --mask
workbench.import_cases locomo {locomo.json}
workbench.import_cases longmemeval {longmemeval.json}
workbench.label_cases {shared_cases.json} {labelled.json}
workbench.adapter {messages.json} --budget 200
workbench.retrieval_table {shared_cases.json} --strategies bm25,near
compaction.check --compactor recent --against notes SMALL --fixtures {fixture.json}
compaction.check --compactor notes --against {result.json} SMALL --fixtures {fixture.json}
compaction.check --contexts {contexts.jsonl} --fixtures {fixture.json} --record {kept.json}
compaction.check --contexts {contexts.jsonl} --fixtures {fixture.json} --gates {gates.json} --verdicts {verdicts.jsonl}
compaction.fixtures {fixture.json}
compaction.fixtures.annotate propose {events.jsonl}
compaction.fixtures.rank {events.jsonl}
compaction.fixtures.from_sessions {events.jsonl} {items.json} --output {made}
compaction.replay --compactor notes --agent DOUBLES:shipped_forgetful_agent SMALL --fixtures {fixture.json}
compaction.judge --judge DOUBLES:overlap_judge --labels {labels.json} --repeats 1
compaction.sessions {claude.jsonl} --output {log.jsonl}
compaction.sessions {codex.jsonl} --output {log.jsonl}
compaction.sessions {gemini.json} --output {log.jsonl}
compaction.sessions {chat.jsonl} --output {log.jsonl}
compaction.signals {events.jsonl}
tokenizer {messages.json}
prepare --model my/model --manifest {pinned.json} --from {pin}
""".replace("SMALL", SMALL).replace("DOUBLES", "compaction.tests.doubles").strip().splitlines()
NO_FILES = {"answer_model": "asks a server; its readers are fuzzed by the answers' own tests",
            "workbench.bench": "generates what it measures"}
NEVER = {"workbench.compare": (0,)}
