"""Record a model's answers to each strategy's requests: nothing is asked twice, lost, mixed or cut without a word.

The finished recording is put together from the journal alone, in the order of the plan, so a run that was killed often
ends in the same bytes as one that was not. A reply that is no answer is kept aside and asked for once more, then
entered as incomplete. A prompt that the server counts otherwise than we do ends the run.

planned  {"strategy", "case", "messages", "input_tokens", "num_ctx", "num_predict"}; counts in tokens
task     {"key": journal key, "body": exact request, "planned": planned, "place": "STRATEGY/CASE seed N"}
"""

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

from answers.builds import CHECKED_VERSIONS
from answers.exchange import ServerError, patient
from answers.journal import KEY
from answers.recording import json_hash
from answers.reply import incomplete_kind
from answers.server import CountMismatch, sampler_options
from base.command import InputError, progress, told
from base.shown import one_line


def plan_requests(cases, strategies, count):
    """What each strategy asks for each held-out case; InputError where a request leaves no room for its answer."""
    full = getattr(count, "full", count)  # the whole rendering: the number that the server's is held against
    plan = []
    for name, strategy in strategies.items():
        for case in cases:
            if case["split"] != "held_out":
                continue
            selected, budget = strategy(case, count), case["budget"]
            tokens, room = full(selected["messages"]), budget["context_limit"] - budget["max_new_tokens"]
            if tokens != selected["input_tokens"] or tokens > room:
                raise InputError(
                    f"{name}/{case['id']}: the request costs {tokens} tokens ({selected['input_tokens']} by"
                    f" the strategy), {room} leave room for the answer; correct strategy or budget")
            plan.append({"strategy": name, "case": case["id"], "messages": selected["messages"], "input_tokens": tokens,
                         "num_ctx": budget["context_limit"], "num_predict": budget["max_new_tokens"]})
    if not plan:
        raise InputError("no held-out case: there is nothing to record; give a case set that has some")
    return plan


def only(plan, wanted):
    """The part of a plan that STRATEGY/CASE names, or InputError."""
    named = {f"{planned['strategy']}/{planned['case']}": planned for planned in plan}
    if wanted not in named:
        raise InputError(f"--only {wanted}: nothing of that name; choose from {', '.join(named)}")
    return [named[wanted]]


def bodies(plan, seeds, body_of):
    """(planned, seed, exact request) for everything that is to be asked, in the order of the plan."""
    for planned in plan:
        for seed in seeds:
            yield planned, seed, body_of(planned["messages"], num_ctx=planned["num_ctx"],
                                         num_predict=planned["num_predict"], seed=seed)


def shown(plan, seeds, body_of):
    """The requests of a plan with their token counts, for a person to read before anything is asked."""
    return [{**{name: planned[name] for name in ("strategy", "case", "input_tokens")}, "seed": seed, "request": body}
            for planned, seed, body in bodies(plan, seeds, body_of)]


def tasks_for(plan, model):
    """The tasks of a plan for one verified server: a key holds all that an answer depends on."""
    tasks = []
    for planned, seed, body in bodies(plan, model.model["seeds"], model.body):
        strategy, case, asked = planned["strategy"], planned["case"], {"api": model.api, **model.identity, "body": body}
        tasks.append({"key": (strategy, case, seed, json_hash(asked)), "body": body, "planned": planned,
                      "place": f"{strategy}/{case} seed {seed}"})
    return tasks


def kept(task, journal):
    """The journal's answer to a task or None; CountMismatch where its prompt is not counted now as it was then."""
    entry, ours = journal.answers.get(task["key"]), task["planned"]["input_tokens"]
    if entry and "incomplete" not in entry and entry["prompt_tokens"] != ours:
        raise CountMismatch(f"{journal.path}: {task['place']}: count_mismatch: recorded with {entry['prompt_tokens']}"
                            f" prompt tokens, we count {ours} now; take the tokenizer of then or another --out")
    return entry


def tell_server(model):
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
        key, tokens, where = task["key"], task["planned"]["input_tokens"], f"{journal.path}: {task['place']}"
        journal.add_answer(key, model.ask_whole(task["body"], key[2], tokens, where, partial(journal.set_aside, key)))

    pending, pool = [task for task in tasks if kept(task, journal) is None], ThreadPoolExecutor(jobs)
    try:
        futures = [pool.submit(ask, task) for task in pending if jobs > 1]
        done = map(ask, pending) if jobs == 1 else (future.result() for future in as_completed(futures))
        for number, _ in enumerate(progress(done, total=len(pending), desc="answers", unit="answer")):
            if number == 0:
                check_runner(tasks, model)
    except KeyboardInterrupt:
        try:
            if jobs > 1:
                print("stopping when the answers under way are there; once more to leave them", file=sys.stderr)
            pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            os._exit(told("stopped", 130))  # the interpreter would wait for the pool's threads
        raise
    finally:
        pool.shutdown(cancel_futures=True)  # what is under way is waited for and kept
    return len(pending)


def check_runner(tasks, model):
    """ServerError where the loaded model has less context than the longest request and its answer need."""
    context, others = patient(model.running, model.wait)
    needed = max(task["planned"]["input_tokens"] + task["planned"]["num_predict"] for task in tasks)
    if context is not None and context < needed:
        raise ServerError(f"{model.url}: the model was loaded with {context} tokens of context and {needed} are needed;"
                          " unload it, or raise the server's limit")
    if others:
        print(f"also loaded there: {one_line(', '.join(others), 300)}; another user's requests can reload the model",
              file=sys.stderr)


def missing(tasks, journal):
    """What the journal lacks, as strategy, case and seed."""
    return [dict(zip(("strategy", "case", "seed"), task["key"])) for task in tasks if kept(task, journal) is None]


def finished(tasks, model, journal, sources):
    """The recording that a complete journal holds, or InputError: only a whole one is ever written."""
    if lacking := missing(tasks, journal):
        raise InputError(f"{journal.path}: {len(lacking)} answers are missing; run record again")
    answers, requests = {}, {}
    for task in tasks:
        strategy, case, _, _ = task["key"]
        planned, entry = task["planned"], kept(task, journal)
        answers.setdefault(strategy, {}).setdefault(case, []).append(entry)
        sent = requests.setdefault(strategy, {}).setdefault(case, {
            "messages_sha256": json_hash(planned["messages"]),
            **{name: planned[name] for name in ("input_tokens", "num_ctx", "num_predict")}, "entries_sha256": []})
        sent["entries_sha256"].append(json_hash(entry))
    recorded = {"api": model.api, **model.identity, "build": model.facts, "unverified": list(model.unverified),
                "options": sampler_options(model.model["options"]), **sources, "requests": requests,
                "answers_sha256": json_hash(answers)}
    return {"model": model.block, "answers": answers, "recorded": recorded}


def tell(tasks, journal):
    """What a run did, for a person and for a script: printed on standard error, returned as counts."""
    keys = {task["key"] for task in tasks}
    kinds = [incomplete_kind(journal.answers[key]) for key in keys if key in journal.answers]
    aside = [line["why"] for line in journal.asides if tuple(line[name] for name in KEY) in keys]
    more = "" if len(kinds) == len(tasks) else "; run record again for the rest"
    print(f"{len(kinds)} of {len(tasks)} answers are in {journal.path}{more}", file=sys.stderr)
    counts = {"incomplete": Counter(filter(None, kinds)), "set_aside": Counter(aside)}
    for title, counted in counts.items():
        for name, number in sorted(counted.items()):
            print(f"{title.replace('_', ' ')}, not graded: {one_line(name)} {number}", file=sys.stderr)
    return {"answers": len(kinds), **{title: dict(sorted(counted.items())) for title, counted in counts.items()}}
