"""Record a model's answers to each strategy's requests: nothing is asked twice, lost, mixed or cut without a word.

The recording is put together from the journal alone, in the order of the plan: a run that was killed often ends in the
same bytes as one that was not. A prompt that the server counts otherwise than we do ends the run.

planned  {"strategy", "case", "messages", "input_tokens", "sizes": {"num_ctx", "num_predict"}}; counts in tokens
task     the same with "seed", "body" (the exact request), "key" (of the journal) and "place" (STRATEGY/CASE seed N)
journal  a line for each answer, on the disk before the next request: {"kind": "answer", KEY's fields, "entry"}; and
         {"kind": "aside", KEY's fields, "why", "raw" (text) or "entry"} for what came and is no answer. "request" is
         the SHA-256 of the exact request, the server's version and build among it: an answer belongs to no other.
         "sha256" is over the line's other fields, an edited line is refused; lines of earlier versions have none
"""

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from itertools import product
from pathlib import Path

from answers.builds import CHECKED_VERSIONS
from answers.exchange import ServerError, patient
from answers.recording import entry_misfit, has_own_hash, incomplete_kind, json_hash
from answers.server import sampler_options
from base.command import InputError, complain, progress
from base.lines import LineFile, read_lines
from base.shapes import misfit
from base.shown import one_line

KEY = ("strategy", "case", "seed", "request")
LINE = {"kind": lambda kind: kind in ("answer", "aside"), "strategy": str, "case": str, "seed": int, "request": str}
LINES = {"answer": {**LINE, "entry": dict}, "aside": {**LINE, "why": str}}


class Journal(LineFile):
    """The open, locked journal of a recording; `answers` maps KEY's fields to an entry, `asides` is a list of lines.

    unhashed  KEY's fields of the answers that nothing tells to be as they came
    """

    def __init__(self, out):
        super().__init__(Path(out).with_name(f"{Path(out).stem}.journal.jsonl"))
        self.answers, self.asides, self.unhashed = {}, [], set()
        try:
            for number, line in read_lines(self.path):
                if problem := line_misfit(line, self.answers):
                    raise InputError(f"{self.path}: line {number}: {problem}; restore it or move the journal away")
                self.note(line)
        except BaseException:
            os.close(self.file)
            raise

    def add(self, key, **came):
        """Keep what came, on the disk when this returns: an `entry`, or with `why` what is no answer to grade."""
        line = {"kind": "aside" if "why" in came else "answer", **dict(zip(KEY, key)), **came}
        line["sha256"] = json_hash(line)
        self.append(line)
        self.note(line)

    def note(self, line):
        if line["kind"] == "aside":
            self.asides.append(line)
        else:
            self.answers[key := tuple(line[name] for name in KEY)] = line["entry"]
            if "sha256" not in line:
                self.unhashed.add(key)


def line_misfit(line, answers):
    """What is wrong with a line of a journal behind others that hold `answers`: it is for a person to look at."""
    problem = misfit(line, LINE) or misfit(line, LINES[line["kind"]]) or (
        "sha256" in line and not has_own_hash(line) and "it was edited after it came")
    if problem or line["kind"] == "aside":
        return problem
    return (entry_misfit(entry := line["entry"], "its entry")
            or entry["seed"] != line["seed"] and "its entry has another seed"
            or tuple(line[name] for name in KEY) in answers and "it is a second answer to one request")


def plan_requests(cases, strategies, count):
    """What each strategy asks for each held-out case; InputError where a request leaves no room for its answer."""
    full = getattr(count, "full", count)  # the whole rendering: the number that the server's is held against
    plan, held_out = [], [case for case in cases if case["split"] == "held_out"]
    for (name, strategy), case in product(strategies.items(), held_out):
        selected, budget = strategy(case, count), case["budget"]
        tokens, room = full(selected["messages"]), budget["context_limit"] - budget["max_new_tokens"]
        if tokens != selected["input_tokens"] or tokens > room:
            raise InputError(f"{name}/{case['id']}: the request costs {tokens} tokens ({selected['input_tokens']} by"
                             f" the strategy), {room} leave room for the answer; correct strategy or budget")
        plan.append({"strategy": name, "case": case["id"], "messages": selected["messages"], "input_tokens": tokens,
                     "sizes": {"num_ctx": budget["context_limit"], "num_predict": budget["max_new_tokens"]}})
    if not plan:
        raise InputError("no held-out case: there is nothing to record; give a case set that has some")
    return plan


def tasks_for(plan, seeds, body_of, **server):
    """The tasks of a plan; `server` is its API and identity: a key holds all that an answer depends on."""
    tasks = []
    for planned, seed in product(plan, seeds):
        body = body_of(planned["messages"], **planned["sizes"], seed=seed)
        key = (planned["strategy"], planned["case"], seed, json_hash({**server, "body": body}))
        tasks.append({**planned, "seed": seed, "body": body, "key": key, "place": "{}/{} seed {}".format(*key)})
    return tasks


def only(plan, wanted):
    """The part of a plan that STRATEGY/CASE names, or InputError."""
    named = {f"{planned['strategy']}/{planned['case']}": planned for planned in plan}
    if wanted not in named:
        raise InputError(f"--only {wanted}: nothing of that name; choose from {', '.join(named)}")
    return [named[wanted]]


def answer_to(task, journal):
    """The journal's answer to a task or None; InputError where its prompt is not counted now as it was then."""
    entry, ours = journal.answers.get(task["key"]), task["input_tokens"]
    if entry and entry.get("prompt_tokens", ours) != ours:
        raise InputError(f"{journal.path}: {task['place']}: count_mismatch: recorded with {entry['prompt_tokens']}"
                         f" prompt tokens, we count {ours} now; take the tokenizer of then or another --out")
    return entry


def warn_unverified(model):
    """Say on standard error what of a server nobody has checked, or nothing can."""
    version = model.identity["version"]
    if model.api == "ollama" and version not in CHECKED_VERSIONS:
        print(f"Ollama {one_line(version, 60)} is not one of the versions that were checked"
              f" ({', '.join(CHECKED_VERSIONS)}); the token counts of each answer still are", file=sys.stderr)
    if model.unverified:
        print(f"not verified on this server: {', '.join(model.unverified)}", file=sys.stderr)


def ask_all(tasks, model, journal, jobs=1):
    """Ask for all that the journal lacks, `jobs` at a time; the number asked. The first fault ends the run."""

    def ask(task):
        add, where = partial(journal.add, task["key"]), f"{journal.path}: {task['place']}"
        add(entry=model.ask_whole(task["body"], task["seed"], task["input_tokens"], where, add))

    pending, pool = [task for task in tasks if answer_to(task, journal) is None], ThreadPoolExecutor(jobs)
    bar = progress(None, total=len(pending), desc="answers", unit="answer")  # its import can lose a Ctrl-C: now
    try:
        futures = [pool.submit(ask, task) for task in pending if jobs > 1]
        done = map(ask, pending) if jobs == 1 else (future.result() for future in as_completed(futures))
        for number, _ in enumerate(done):
            bar.update()
            if number == 0:
                check_runner(tasks, model)
    except KeyboardInterrupt:
        try:
            if jobs > 1:
                print("stopping when the answers under way are there; once more to leave them", file=sys.stderr)
            pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            os._exit(complain("stopped", 130))  # the interpreter would wait for the pool's threads
        raise
    finally:
        bar.close()
        pool.shutdown(cancel_futures=True)  # what is under way is waited for and kept
    return len(pending)


def check_runner(tasks, model):
    """ServerError where the loaded model has less context than the longest request and its answer need."""
    context, others = patient(model.running, model.wait)
    needed = max(task["input_tokens"] + task["sizes"]["num_predict"] for task in tasks)
    if context and context < needed:
        raise ServerError(f"{model.url}: the model was loaded with {context} tokens of context and {needed} are needed;"
                          " unload it, or raise the server's limit")
    if others:
        print(f"also loaded there: {one_line(', '.join(others), 300)}; another user's requests can reload the model",
              file=sys.stderr)


def missing_answers(tasks, journal):
    """What the journal lacks, as strategy, case and seed."""
    return [dict(zip(KEY[:3], task["key"])) for task in tasks if answer_to(task, journal) is None]


def finished(tasks, model, journal, sources):
    """The recording that a complete journal holds, or InputError: only a whole one is ever written."""
    if lacking := missing_answers(tasks, journal):
        raise InputError(f"{journal.path}: {len(lacking)} answers are missing; run record again")
    answers, requests = {}, {}
    for task in tasks:
        strategy, case, entry = task["strategy"], task["case"], answer_to(task, journal)
        answers.setdefault(strategy, {}).setdefault(case, []).append(entry)
        sent = requests.setdefault(strategy, {}).setdefault(case, {
            "messages_sha256": json_hash(task["messages"]), "input_tokens": task["input_tokens"], **task["sizes"],
            "entries_sha256": []})
        sent["entries_sha256"].append(json_hash(entry))
    recorded = {"api": model.api, **model.identity, "build": model.facts, "unverified": list(model.unverified),
                "options": sampler_options(model.model["options"]), **sources, "requests": requests}
    if journal.unhashed.isdisjoint(task["key"] for task in tasks):
        recorded["answers_sha256"] = json_hash(answers)
    recorded["sha256"] = json_hash({**recorded, "model": model.block})
    return {"model": model.block, "answers": answers, "recorded": recorded}


def print_outcomes(tasks, journal):
    """What a run did, for a person and for a script: printed on standard error, returned as counts."""
    keys = {task["key"] for task in tasks}
    kinds = [incomplete_kind(journal.answers[key]) for key in keys & journal.answers.keys()]
    named = {"incomplete": filter(None, kinds),
             "set_aside": [line["why"] for line in journal.asides if tuple(line[name] for name in KEY) in keys]}
    counts = {title: dict(sorted(Counter(names).items())) for title, names in named.items()}
    more = "" if len(kinds) == len(tasks) else "; run record again for the rest"
    print(f"{len(kinds)} of {len(tasks)} answers are in {journal.path}{more}", file=sys.stderr)
    for title, name in [(title, name) for title, counted in counts.items() for name in counted]:
        print(f"{title.replace('_', ' ')}, not graded: {one_line(name)} {counts[title][name]}", file=sys.stderr)
    return {"answers": len(kinds), **counts}
