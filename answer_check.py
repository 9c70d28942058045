"""Grade recorded answers again, offline; record new ones; tell which facts were used; compare two recordings.

Run:  python answer_check.py
      python answer_check.py record --help
      python answer_check.py attribution --report evaluation-result.json
      python answer_check.py compare answer-result.json answer-result.json

Without a command it grades answer-result.json, which needs no tokenizer and no model; `record` needs both. Version 1 of
the grader is the published rule and the default. Version 2 (answers/claims.py) reads numbers, negations and corrections
as a person would. Neither is a judge of a whole answer: both look for the patterns of answer-keys.json.

verdict  {"grade": "pass", "fail" or "incomplete"}, and "why": "said_missing", "missing", "stale_as_current" or the
         kind of incompleteness (answers/recording.py)
"""

import base  # noqa: F401, I001 (first, for Ctrl-C during the other imports)

import argparse
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from answers import claims
from answers.recording import (check_covered, incomplete_kind, is_recording, read_keys, read_recording,
                               same_as_recorded)
from base.command import InputError, check_replaceable, dump, file_hash, make_parser, replace_file, run_command
from base.result_files import read_result
from base.shown import figure_table, written_out

HERE = Path(__file__).parent
RECORDING = HERE / "answer-result.json"
KEYS = HERE / "answer-keys.json"
CASES = HERE / "cases.json"
REPLACED = re.compile(
    r"\b(?:replaced|instead|not|no longer|switched|changed|actually|previous|originally|earlier)\b", re.IGNORECASE)
SAID_MISSING = re.compile(r"\b(?:do not|don't|does not|doesn't) (?:have|say|mention|state|specify|contain)\b"
                          r"|\bnot (?:mention|state|specif|provide|includ|contain)"
                          r"|\bno information\b|\bnot enough information\b|\bmissing\b|\bnot in the conversation\b"
                          r"|\bcannot (?:find|determine)\b|\bprovide (?:more |the )?(?:context|conversation)\b",
                          re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
COUNTS = ("pass", "fail", "incomplete", "said_missing", "stale_as_current", "cases_passed_every_trial")


def states_stale_as_current(text, key):
    """Version 1: a stale pattern in a sentence that neither speaks of a replacement nor holds a must pattern."""
    return any(any(pattern.search(sentence) for pattern in key["stale"])
               and not REPLACED.search(sentence)
               and not any(pattern.search(sentence) for pattern in key["must"])
               for sentence in SENTENCE_END.split(text.strip()))


GRADERS = {1: (lambda text, key: [bool(pattern.search(text)) for pattern in key["must"]], states_stale_as_current,
               SAID_MISSING.search),
           2: (claims.facts_given, claims.states_stale_as_current, claims.says_missing)}


def grade(entry, key, version=1):
    """The verdict on one entry under one key, by the published order: incomplete, stale, missing, pass.
    grade({"answer": "80", "done_reason": "stop"}, {"must": [re.compile("80")], "stale": []}) -> {"grade": "pass"}"""
    given, stale, missing = GRADERS[version]
    if kind := incomplete_kind(entry):
        return {"grade": "incomplete", "why": kind}
    if stale(entry["answer"], key):
        return {"grade": "fail", "why": "stale_as_current"}
    if not all(given(entry["answer"], key)):
        return {"grade": "fail", "why": "said_missing" if missing(entry["answer"]) else "missing"}
    return {"grade": "pass"}


def verdicts(recording, keys, version=1):
    """{strategy: {case: [verdict]}} for a whole recording, entries in their recorded order."""
    return {rule: {case: [grade(entry, keys[case], version) for entry in entries] for case, entries in cases.items()}
            for rule, cases in recording["answers"].items()}


def summarize(cases):
    """The counts of one strategy's verdicts, and where some are incomplete the counts of each kind."""
    every = [verdict for trials in cases.values() for verdict in trials]
    grades = Counter(verdict["grade"] for verdict in every)
    why, kinds = (Counter(verdict["why"] for verdict in every if verdict["grade"] == kind)
                  for kind in ("fail", "incomplete"))
    passed = sum(all(verdict["grade"] == "pass" for verdict in trials) for trials in cases.values())
    counts = dict(zip(COUNTS, (grades["pass"], grades["fail"], grades["incomplete"], why["said_missing"],
                               why["stale_as_current"], passed)))
    return {**counts, "incomplete_kinds": dict(sorted(kinds.items()))} if kinds else counts


def report(recording, keys, version=1):
    """The published report: a summary for each strategy, and every grade. Another grader than version 1 is named."""
    graded = verdicts(recording, keys, version)
    return {**({} if version == 1 else {"grader": version}),
            "summary": {strategy: summarize(cases) for strategy, cases in graded.items()},
            "graded": {strategy: {case: [verdict["grade"] for verdict in trials] for case, trials in cases.items()}
                       for strategy, cases in graded.items()}}


def grade_table(summary):
    """The summary as lines of text for a person, each kind of incompleteness on a line of its own."""
    kinds = [f"incomplete, not graded: {strategy} {kind} {number}" for strategy, counts in summary.items()
             for kind, number in counts.get("incomplete_kinds", {}).items()]
    return "\n".join([*figure_table(COUNTS, summary), *kinds])


def print_result(result, *lines):
    """The result on standard output, lines for a person on standard error."""
    sys.stdout.write(dump(result))
    for line in lines:
        print(written_out(line), file=sys.stderr)


def run_grade(args):
    """Print the report of the grades, and its table on standard error."""
    recording, keys = read_both(args.recording, args.keys)
    graded = report(recording, keys, args.grader)
    print_result(graded, grade_table(graded["summary"]), f"answers as recorded: {same_as_recorded(recording)}")


def read_both(recording_path, keys_path):
    """The recording and the keys in two files, checked against each other."""
    recording, keys = read_recording(recording_path), read_keys(keys_path)
    check_covered(recording, keys, keys_path)
    return recording, keys


def run_record(args):
    """Record answers from a local server: ask for what the journal lacks and, when it has all, write the recording.

    Run:  python answer_check.py record --dry-run --only recent/held-latest
    """
    from answer_model import MODEL, AnswerModel, read_model
    from answers import record
    from answers.server import OpenAIModel

    if not 1 <= args.jobs <= 64:
        raise InputError(f"--jobs is {args.jobs}; give a number of requests at a time from 1 to 64")
    pinned = read_model(args.model) if args.model else MODEL
    kind = {"ollama": AnswerModel, "openai": OpenAIModel}[args.api]
    body_of = partial(kind.request, pinned)
    plan, sources = lab_requests(args.cases, args.tokenizer)
    chosen = record.only(plan, args.only) if args.only else plan
    if args.dry_run:
        return print_result([{**{name: task[name] for name in ("strategy", "case", "input_tokens", "seed")},
                              "request": task["body"]} for task in record.tasks_for(chosen, pinned["seeds"], body_of)])
    check_replaceable(args.out, is_recording)  # told now, and not when all answers are there
    model = kind(pinned, args.host)
    record.warn_unverified(model)
    with record.Journal(args.out) as journal:
        tasks, wanted = (record.tasks_for(part, pinned["seeds"], body_of, api=model.api, **model.identity)
                         for part in (plan, chosen))
        try:
            asked = record.ask_all(wanted, model, journal, args.jobs)
        finally:
            counts = record.print_outcomes(tasks, journal)
        counts["asked_now"] = asked
        if args.only:
            counts["missing"] = record.missing_answers(tasks, journal)
        else:
            recording = record.finished(tasks, model, journal, sources)
            replace_file(args.out, dump(recording).encode("utf-8"), is_recording)
            counts = {"recording": str(args.out), **counts}
    print_result(counts)


def lab_requests(cases_path, manifest_path):
    """(plan, hashes of what it was made from): the requests of the lab's strategies for a case set."""
    import strategies
    from answers.record import plan_requests
    from selection.cases import check_requests, read_set
    from tokenizer import MANIFEST, counter

    manifest_path = manifest_path or MANIFEST
    (cases, digest), count = read_set(cases_path), counter(manifest_path)
    check_requests(cases, count, cases_path)
    sources = {"case_set_sha256": digest, "strategies_sha256": file_hash(strategies.__file__),
               "tokenizer_manifest_sha256": file_hash(manifest_path), "counter": count.profile()}
    return plan_requests(cases, strategies.STRATEGIES, count), sources


def run_attribution(args):
    """Tell for each fact whether it was in the request and in the answer.

    Run:  python answer_check.py attribution --report evaluation-result.json
    """
    from answers import attribution
    from selection.cases import load_cases
    from selection.facts import in_request

    (recording, keys), cases = read_both(args.recording, args.keys), load_cases(args.cases)
    _, report = read_result(args.report, "evaluation")
    result = attribution.attribute(recording, report, cases, keys, GRADERS[args.grader], in_request, args.grader)
    print_result(result, *attribution.attribution_lines(result))


def run_compare(args):
    """Compare two recordings of the same cases, strategies and seeds, pair by pair.

    Run:  python answer_check.py compare answer-result.json answer-result.json
    """
    from answers import compare as answer_compare

    (first, keys), (second, _) = (read_both(path, args.keys) for path in (args.a, args.b))
    graded = [verdicts(recording, keys, args.grader) for recording in (first, second)]
    result = answer_compare.compare([first, second], graded)
    lines = answer_compare.comparison_lines(result)
    print_result({**({} if args.grader == 1 else {"grader": args.grader}), **result}, *lines)


FILE = dict(type=Path, metavar="FILE")
GRADING = {
    "--recording": dict(FILE, default=RECORDING, help="recorded answers (default answer-result.json)"),
    "--keys": dict(FILE, default=KEYS, help="patterns (default answer-keys.json)"),
    "--grader": dict(type=int, choices=sorted(GRADERS), default=1,
                     help="version of the rule: 1 as published, 2 reads negations and corrections (default 1)")}
OPTIONS = {  # of commands; those of GRADING may stand before one too: a default here would undo what was given there
    **{option: {**how, "default": argparse.SUPPRESS} for option, how in GRADING.items()},
    "a": dict(type=Path, help="a recording"),
    "b": dict(type=Path, help="another recording of the same cases, strategies and seeds"),
    "--report": dict(FILE, required=True, help="evaluation report of the same requests"),
    "--cases": dict(FILE, default=CASES, help="case set (default cases.json)"),
    "--out": dict(FILE, default=RECORDING, help="the recording, its journal beside it (default answer-result.json)"),
    "--only": dict(metavar="STRATEGY/CASE", help="fill the journal for one, and print what is missing"),
    "--dry-run": dict(action="store_true", help="print the requests and their counts, ask nothing"),
    "--jobs": dict(type=int, default=1, metavar="N", help="requests at a time (default 1: a batch may change answers)"),
    "--host": dict(help="the server's address (default OLLAMA_HOST, else 127.0.0.1:11434)"),
    "--model": dict(FILE, help="a model block, as answer_model.py pin prints it"),
    "--api": dict(choices=("ollama", "openai"), default="ollama",
                  help="the server's interface; openai for llama.cpp's or vLLM's, never for an Ollama"),
    "--tokenizer": dict(type=Path, metavar="MANIFEST", help="manifest of another model's tokenizer")}
COMMANDS = ((run_record, "--out --only --dry-run --jobs --host --model --api --cases --tokenizer"),
            (run_attribution, "--report --cases --recording --keys --grader"), (run_compare, "a b --keys --grader"))


def parse_arguments(argv):
    """The arguments of one command; without one they are those of grading."""
    parser = make_parser(__doc__)
    parser.set_defaults(run=run_grade)
    for option, how in GRADING.items():
        parser.add_argument(option, **how)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for run, options in COMMANDS:
        command = make_parser(run.__doc__, commands, run.__name__.removeprefix("run_"))
        command.set_defaults(run=run)
        for option in options.split():
            command.add_argument(option, **OPTIONS[option])
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_arguments(argv)
    args.run(args)
    return 0


if __name__ == "__main__":
    run_command(main)
