"""Run selectors over cases: choose, check what came back, grade; in one process, in several, or on a cluster.

A result is {budget or None: {selector: [row, ...]}}, rows in the order of the cases whatever the number of processes.
A selector that raises, returns something else, changes its case or miscounts gets a row with an `error` in place of
figures: counted apart, never scored as a miss. What a row means, a function `grade` says, which is passed in. The
user's own selectors run in this process, trusted as far as code on your own machine is: checked, not fenced in.
"""

import gc
import os
import random
import signal
import sys
from collections import Counter
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from functools import partial
from itertools import chain, product
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from traceback import extract_tb

from base.command import InputError, file_hash, progress
from base.own_code import code_hash, is_own, load_function
from base.shapes import NONE, Only, misfit
from base.shown import error_line
from selection.cases import check_rendered, check_requests, written_forms
from selection.retrievers import SELECTORS
from strategies import STRATEGIES, available, per_history, render, turn_messages
from tokenizer import CountError, counter
from tokens.manifest import MANIFEST

ROOT = Path(__file__).parents[1]
ALWAYS_CHECKED = 200  # requests: a set as small as that is counted in full as well, whole
SAMPLE = 12  # requests of a larger set that are: a long one costs a second in a template that looks ahead
SEED = 20260711
SIGN = "\u4e00"  # in place of a text, to see what a template writes of it
PATIENCE = "5s"  # for a cluster's scheduler to answer
SELECTION = Only({"messages": [{"role": str, "content?": (str, NONE)}], "turns": [int],
                  "notes": lambda notes: misfit(notes, int) is None and notes >= 0, "input_tokens": int})
own_history = per_history(lambda history, name: [deepcopy(history)])  # a rule's copy, made anew where it changed it


def selector_table(names):
    """Name -> function for names of STRATEGIES, of this room's SELECTORS, and FILE.py:NAME; InputError otherwise."""
    if not names:
        raise InputError("--strategies: names no strategy; a run over nothing shows nothing")
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"--strategies: {name} stands twice; name it once")
    return {name: find_selector(name) for name in names}


def find_selector(name):
    """The function of a name of `--strategies`, or InputError."""
    known = {**STRATEGIES, **SELECTORS}
    return known.get(name) or load_function(name, ", ".join(known))


def selector_hashes(names):
    """{file: SHA-256} of selectors' code outside of strategies.py: their own file, or all of this room and modelkit."""
    files = {}
    for name in names:
        if is_own(name):
            place, function = name.rpartition(":")[0], load_function(name)
            files[Path(place).as_posix()] = file_hash(place) if place.endswith(".py") else code_hash(function)
        elif name not in STRATEGIES:
            paths = sorted([*(ROOT / "modelkit").glob("*.py"), *(ROOT / "selection").glob("*.[pj][ys]*")])
            files |= {path.relative_to(ROOT).as_posix(): file_hash(path) for path in paths}
    return files


def with_input(case, tokens):
    """The case with a context limit that leaves `tokens` for input; as it is where tokens is None."""
    if tokens is None:
        return case
    more = tokens - available(case)
    return {**case, "budget": {**case["budget"], "context_limit": case["budget"]["context_limit"] + more}}


def choose_checked(names, cases, budgets, verify):
    """The (budget, selector, case id) of the requests that are counted in full too: all, or a seeded sample."""
    keys = [(budget, name, case["id"]) for budget in budgets for name in names for case in cases]
    return set(keys if verify or len(keys) <= ALWAYS_CHECKED else random.Random(SEED).sample(keys, SAMPLE))


def run_cases(cases, names, path, grade, budgets=(None,), manifest=MANIFEST, jobs=1, scheduler=None, verify=False):
    """Run every selector on every case under every budget -> (result, number of requests counted in full).

    cases as load_cases gives them; names of selectors; path names the set in errors; grade(case, selection) gives a
    row; budgets in input tokens, None for the case's own; jobs processes, or a Dask scheduler's address.
    """
    checked = choose_checked(names, cases, budgets, verify)
    task = partial(run_group, names=names, path=path, grade=grade, budgets=budgets, manifest=manifest, checked=checked)
    if jobs == 1 and scheduler is None:
        rows = task(cases, show=True)
    else:
        selector_table(names)  # a wrong name is told before processes start
        groups = {}  # each history is sent and worked through once
        for case in cases:
            groups.setdefault(id(case["history"]), []).append(case)
        largest_first = sorted(groups.values(), key=len, reverse=True)  # the last to end runs alone
        rows = dict(chain.from_iterable(map(dict.items, spread(task, largest_first, jobs, scheduler))))
    return {budget: {name: [rows[budget, name, case["id"]] for case in cases] for name in names}
            for budget in budgets}, len(checked)


def spread(task, groups, jobs, scheduler=None):
    """[task(group), ...] in the order of the groups, each in another process; whatever ends the work, none is left."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed

    others, futures = set(active_children()), []
    pool = {"mp_context": get_context("spawn"), "initializer": end_with_parent}
    with cluster(scheduler) if scheduler else ProcessPoolExecutor(min(jobs, len(groups)), **pool) as executor:
        try:
            with interrupts_later():  # the processes are started here
                futures.extend(executor.submit(task, group) for group in groups)
                executor.submit(int)  # a pool looks for workers that died when work comes: without this not at the last
            for _ in progress(as_completed(futures), total=len(futures), desc="histories"):
                pass
            return [future.result() for future in futures]  # of several errors always the same
        except BrokenExecutor as error:
            remedy = "it may have run out of memory: try fewer --jobs"
            raise InputError(f"a worker process ended before its work was done: {error}; {remedy}") from None
        except BaseException:
            for process in set(active_children()) - others:
                process.kill()  # a history can take minutes, and Ctrl-C is not to wait for it
            for future in futures if scheduler else ():  # our own pool does not survive cancelled work here
                future.cancel()
            raise


@contextmanager
def interrupts_later():
    """Hold SIGINT back, for good in processes started meanwhile: Ctrl-C reaches all of a terminal, one has to tell."""
    mask = getattr(signal, "pthread_sigmask", None)  # Windows has none
    before = mask and mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask and mask(signal.SIG_SETMASK, before)


def end_with_parent():
    """Started in each worker: one whose parent was killed would wait for work without end."""
    parent = parent_process()
    Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@contextmanager
def cluster(address):
    """The executor of a Dask cluster, whose scheduler and workers have to find the lab's modules and its tokenizer.

    Started by hand: PYTHONPATH=. dask scheduler, PYTHONPATH=. dask worker ADDRESS --nworkers 2 --nthreads 1
    """
    try:
        from distributed import Client

        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except ImportError:
        raise InputError("--scheduler needs distributed; pip install -r workbench/requirements-dask.txt") from None
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no cluster answers: {error}; start one or drop the option") from None
    with client, client.get_executor() as executor:
        try:
            yield executor
        except (ImportError, RuntimeError) as error:  # what a cluster answers that cannot read the work
            remedy = "start its scheduler and workers with PYTHONPATH set to this folder and the tokenizer prepared"
            problem = f"the cluster cannot run this: {error_line(error)}"
            raise InputError(f"--scheduler {address}: {problem}; {remedy}") from error


def run_group(cases, names, path, grade, budgets, manifest, checked, show=False):
    """Run cases in this process -> {(budget, name, case id): row}."""
    selectors, count, rows = selector_table(names), counter(manifest), {}
    gc.freeze()  # what is loaded lives to the end; walking it again and again took a sixth of a long run
    for budget in budgets:
        check_requests([with_input(case, budget) for case in cases], count, path)
    check_rendered(cases, count, path)
    for case in progress(cases, desc="cases") if show else cases:
        for budget, name in product(budgets, names):
            asked, key = with_input(case, budget), (budget, name, case["id"])
            try:
                selected, problem = run_one(name, selectors[name], asked, count, key in checked)
                if problem is None and key in checked:
                    as_sum, in_full = selected["input_tokens"], count.full(selected["messages"])
                    if as_sum != in_full:
                        raise CountError(f"{as_sum} tokens as a sum, {in_full} counted in full; no figure of this run "
                                         "can be trusted: report it with the case")
            except CountError as error:
                raise InputError(f"{path}: case {case['id']!r}, {name}: {error}") from None
            failed = {"case": case["id"], "split": case["split"], "kind": case["kind"], "error": problem}
            rows[key] = grade(asked, selected) if problem is None else failed
    return rows


def run_one(name, select, case, count, checked=False):
    """A selector on one case, the user's own without its facts -> (selection, None) or (None, what is wrong).

    checked  the texts of any rule but the published are looked for in what the template writes; else only where one
             holds what the template looks for: replies are joined, and a mark in one may cut the other
    """
    if not is_own(name):
        selected = select(case, count)
        said = "\0".join(message.get("content") or "" for message in selected["messages"])
        look = name not in STRATEGIES and (checked or any(mark in said for mark in getattr(count, "marks", ())))
        problem = unwritten(case, selected["messages"], count) if look else None
        return (None, problem) if problem else (selected, None)
    held = own_history(case["history"], name)  # of its own: what others keep about a history is never about its edits
    fields = {field: value for field, value in case.items() if field not in ("history", "required", "stale")}
    asked = {**deepcopy(fields), "history": held[0]}  # not the facts: a rule could send the answers themselves
    try:
        with redirect_stdout(sys.stderr):
            selected = select(asked, count)
        problem = wrong_selection(case, selected, count) or unwritten(case, selected["messages"], count)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it raises is its result for this case, sys.exit included
        problem = raised(error)
    if asked != {**fields, "history": case["history"]} or asked["history"] is not held[0]:
        held[0] = deepcopy(case["history"])  # its next case is as it was
        problem = "changed the case"
    # the list is copied: a selector may fill the same one anew for the next case
    return (None, problem) if problem else ({**selected, "turns": list(selected["turns"])}, None)


def raised(error):
    """What a selector raised, and the last line of its own file in the traceback: "KeyError: 'x' (own.py, line 12)"."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return error_line(error) + (f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else "")


def wrong_selection(case, selected, count):
    """What is wrong with a selector's return value, or None."""
    if problem := misfit(selected, SELECTION):
        return f"returned no {', '.join(SELECTION)} as it should: {problem}"
    messages, turns = selected["messages"], selected["turns"]
    if turns != sorted({*turns} & {*range(len(case["history"]))}):
        return f"returned turns {turns!a:.60}, not turns of the history (from 0), each once in ascending order"
    for number, message in enumerate(messages, 1):
        content = message.get("content")
        if content is None and message["role"] != "assistant":
            return f"returned message {number} without a content that can be searched for facts"
        token = count.control_token(content or "") if hasattr(count, "control_token") else None
        if token is not None:
            return f"returned message {number} with the model's control token {token}"
    if not messages or messages[-1]["role"] != "user" or case["current"] not in messages[-1]["content"]:
        return "returned messages that do not end with the user's question"
    needed, said = count(messages), selected["input_tokens"]
    return None if needed == said else f"says that the request costs {said} tokens, but it costs {needed}"


def in_order(texts, rendered):
    """Whether the texts stand one behind the other in a rendering: in_order(["a", "a"], "<a>") -> False."""
    place = 0
    for text in texts:
        place = rendered.find(text, place) + len(text)
        if place < len(text):
            return False
    return True


def unwritten(case, messages, count):
    """Which text of a selection the chat template does not write, or None: no grader may count it.

    A text of the history that the template changes passes, if all that it writes of it with its turn alone stands here:
    a tool's result without its call may be left out.
    """
    if not hasattr(count, "text"):
        return None
    contents, rendered = [(message.get("content") or "").strip() for message in messages], count.text(messages)
    if in_order(contents, rendered):
        return None
    everything = "\0".join(contents)
    for number, content in enumerate(contents):
        if rendered.count(content) >= everything.count(content):
            continue
        turns = [turn for turn, said in enumerate(case["history"])
                 if content in (own["content"].strip() for own in turn_messages(said))]
        whole = "".join(count.text(render(case, [turn])) for turn in turns)
        bare = count.text([*messages[:number], {**messages[number], "content": SIGN}, *messages[number + 1 :]])
        lost = any(form in whole and rendered.count(form) <= bare.count(form)
                   for part in (content, *content.splitlines()) for form in written_forms(part.strip()) if form)
        if lost or not turns and content not in rendered:
            how = "leaves out here" if lost else "changes"
            return f"returned message {number + 1}, whose text the chat template {how}: {content!a:.60}"
    return None
