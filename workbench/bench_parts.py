"""One measurement a function, for bench.py: each is called in a process of its own and returns a row.

Seconds are wall time of this process; the median of a few repetitions where one is short. peak_mb is the process's
largest resident size, its children's not included.
"""

import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from workbench.bench_set import history, question
from workbench.bench_set import vocabulary as word_list

ROOT = Path(__file__).parent.parent
REPEATS = 3
QUESTION = "What did the deploy log say about the rollout, the queue and the replica before the audit on Friday?"
ALL = ("recent", "relevant", "notes", "hybrid", "bm25", "dense", "rerank", "near")


LOAD = """
import hashlib, tokenizers
from tokens.manifest import folder
for name in ("tokenizer.json", "chat_template.jinja"):
    data = (folder() / name).read_bytes()
    hashlib.sha256(data).hexdigest()
    if name == "tokenizer.json":
        tokenizers.Tokenizer.from_buffer(data)
"""


def machine():
    """Where the seconds come from."""
    return {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}


def timed(function, *arguments):
    """(seconds, result)."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def peak_mb():
    """The largest resident size of this process so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(size / (1024 * 1024 if sys.platform == "darwin" else 1024))


def made_case(turns, budget):
    """A case over a generated history."""
    return {"id": "made", "split": "dev", "kind": "generated", "instructions": "Be brief.", "current": QUESTION,
            "history": history(turns, seed=turns), "required": [], "stale": [],
            "budget": {"context_limit": budget, "max_new_tokens": 0, "margin": 0}}


def distinct_messages(turns):
    """Every distinct text of a history once."""
    return list({turn[role]: None for turn in turns for role in ("user", "assistant")})


def raw_tokenizer():
    """The tokenizer as the library loads it."""
    from tokenizers import Tokenizer

    from tokens.manifest import folder

    return Tokenizer.from_file(str(folder() / "tokenizer.json"))


def floor_seconds(turns):
    """Seconds to tokenise every distinct message once with encode_batch and nothing else; median of a few."""
    tokenizer, texts = raw_tokenizer(), distinct_messages(turns)
    tokenizer.encode_batch(texts[:2], add_special_tokens=False)  # its threads start with the first batch
    return statistics.median(
        timed(lambda: tokenizer.encode_batch(texts, add_special_tokens=False))[0] for _ in range(REPEATS))


def selection(name, turns, budget):
    """A rule, cold and warm, against the floor of its history."""
    import strategies
    from tokenizer import counter, load_counter

    case = made_case(turns, budget)
    cold, warm, floors = [], [], []
    for _ in range(REPEATS):
        load_counter.cache_clear()
        count = counter()
        count.lengths(["a", "b"])
        fresh = {**case, "history": list(case["history"])}  # a list of its own, so that nothing shared is known
        select = strategies.STRATEGIES[name]
        seconds, selected = timed(select, fresh, count)
        cold.append(seconds)
        warm.append(timed(select, fresh, count)[0])
        floors.append(floor_seconds(case["history"]))
        if selected["input_tokens"] > budget:
            raise RuntimeError(f"{name} at {turns} turns: over budget")
    cold_s, floor_s = statistics.median(cold), statistics.median(floors)
    return {"turns": turns, "rule": name, "cold_s": round(cold_s, 4), "warm_s": round(statistics.median(warm), 5),
            "floor_s": round(floor_s, 4), "cold_over_floor": round(cold_s / floor_s, 2),
            "turns_chosen": selected["turns"], "peak_mb": peak_mb()}


def plain_counter():
    """messages -> tokens the plain way: jinja's sandbox as it comes, each request rendered and tokenised whole.

    The lab's own full count is about four times as fast, since it spares the sandbox some questions (tokenizer.py).
    """
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from tokens.manifest import MANIFEST, folder, read_manifest

    tokenizer, bos = raw_tokenizer(), read_manifest(MANIFEST)["bos_token"]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder() / "chat_template.jinja").read_text(encoding="utf-8"))

    def count(messages):
        text = template.render(messages=messages, add_generation_prompt=True, enable_thinking=False, bos_token=bos)
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count


def plain_way(name, turns, budget):
    """The same rule given a counter that renders and tokenises every candidate."""
    import strategies

    seconds, selected = timed(strategies.STRATEGIES[name], made_case(turns, budget), plain_counter())
    return {"plain_s": round(seconds, 3), "plain_turns": selected["turns"]}


def langchain(turns, budget):
    """langchain_core's trim_messages, the newest messages that fit, given the same exact counter."""
    try:
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages
    except ImportError:
        return {"langchain_s": None}
    from strategies import render

    case, full = made_case(turns, budget), plain_counter()
    classes = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    roles = {"system": "system", "human": "user", "ai": "assistant"}
    messages = [classes[m["role"]](m["content"]) for m in render(case, range(turns))]

    def count(some):
        return full([{"role": roles[message.type], "content": message.content} for message in some])

    seconds, kept = timed(
        lambda: trim_messages(
            messages, max_tokens=budget, token_counter=count, strategy="last", include_system=True, start_on="human"))
    return {"langchain_s": round(seconds, 3), "langchain_messages": len(kept)}


def whole_set(path, budget):
    """All selectors over a case set on one process and on two (which load the tokenizer themselves), against its floor
    and the limit set for it: ten times the floor and 5 ms a question."""
    from evaluate import load_cases, run
    from tokenizer import counter

    cases = load_cases(path)
    histories = {id(case["history"]): case["history"] for case in cases}.values()
    floor_s = floor_seconds([turn for turns in histories for turn in turns])
    load_s, _ = timed(counter)  # apart: the floor does not load its tokenizer either
    one_s, report = timed(lambda: run(path, ALL, budgets=[budget]))
    peak = peak_mb()
    two_s, again = timed(lambda: run(path, ALL, budgets=[budget], jobs=2))
    if report != again:
        raise RuntimeError("two processes gave another report than one")
    limit = 10 * floor_s + 0.005 * len(cases)
    return {"budget": budget, "questions": len(cases), "selectors": len(ALL), "load_s": round(load_s, 2),
            "one_process_s": round(one_s, 2), "two_processes_s": round(two_s, 2),
            "one_over_two": round((load_s + one_s) / two_s, 2), "floor_s": round(floor_s, 2),
            "limit_s": round(limit, 2), "peak_mb": peak}


def start():
    """`python evaluate.py` from a cold start against a process that verifies and loads the tokenizer alone."""

    def run(*arguments):
        return timed(lambda: subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True))[0]

    pairs = [(run("evaluate.py"), run("-c", LOAD)) for _ in range(5)]
    ours, alone = zip(*pairs)
    return {"evaluate_s": round(statistics.median(ours), 3), "load_s": round(statistics.median(alone), 3),
            "evaluate_over_load": round(statistics.median(one / other for one, other in pairs), 2)}


def near(turns):
    """Indexing a history with `near` and asking, against tokenising its messages on one thread."""
    import tracemalloc

    os.environ["RAYON_NUM_THREADS"] = "1"  # before the tokenizer's threads start: the comparison is with one
    from selection.near import NearIndex
    from strategies import turn_text

    made = history(turns, seed=turns)
    texts = [turn_text(turn) for turn in made]
    floor_s = floor_seconds(made)
    index_s = statistics.median(timed(NearIndex, texts)[0] for _ in range(REPEATS))
    tracemalloc.start()
    index = NearIndex(texts)
    index_mb = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    grown_s, _ = timed(lambda: [index.add(text) for text in texts[:100]])
    rng, vocabulary = random.Random(1), word_list()
    questions = [question(rng, [made[number]], *vocabulary) for number in range(0, turns, turns // 20)]
    ask_s = statistics.median(timed(index.scores, text)[0] for text in questions)
    return {"turns": turns, "index_s": round(index_s, 3), "tokenise_one_thread_s": round(floor_s, 3),
            "index_over_tokenise": round(index_s / floor_s, 2), "ask_ms": round(ask_s * 1000, 2),
            "add_one_turn_ms": round(grown_s * 10, 3), "index_mb": round(index_mb, 1), "peak_mb": peak_mb()}


def choose(turns, budget):
    """`choose_messages` of a program whose tokenizer is warm, at its first call and when the chat has grown by a turn,
    against tokenising the messages once."""
    from strategies import turn_messages
    from workbench.adapter import choose_messages, warm

    made = history(turns + 1, seed=turns)
    warm()
    row = {"turns": turns, "floor_s": round(floor_seconds(made), 4)}
    messages = [message for turn in made[:-1] for message in turn_messages(turn)]
    asked = {"role": "user", "content": QUESTION}
    for rule in ("near-messages", "relevant"):
        first_s, _ = timed(choose_messages, [*messages, asked], budget, rule)
        next_s, _ = timed(choose_messages, [*messages, *turn_messages(made[-1]), asked], budget, rule)
        row |= {f"{rule}_first_s": round(first_s, 4), f"{rule}_next_s": round(next_s, 4)}
    return {**row, "peak_mb": peak_mb()}


def signals(events):
    """compaction.signals over a generated log, against reading the same log as JSON lines and nothing else."""
    import json
    import tempfile

    from workbench.bench_set import event_log

    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder, "log.jsonl"), Path(folder, "signals.json")
        with log.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in event_log(events, seed=1))

        def read():
            with log.open(encoding="utf-8") as file:
                for line in file:
                    json.loads(line)

        def look():
            with out.open("wb") as file:
                subprocess.run(
                    [sys.executable, "-m", "compaction.signals", str(log)], cwd=ROOT, stdout=file, check=True)

        read_s, look_s = timed(read)[0], timed(look)[0]
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        return {"events": events, "log_mb": round(log.stat().st_size / 1e6), "signals_s": round(look_s, 2),
                "events_per_s": round(events / look_s), "read_json_s": round(read_s, 2),
                "signals_over_read": round(look_s / read_s, 2), "report_mb": round(out.stat().st_size / 1e6, 1),
                "peak_mb_of_signals": round(children / (1024 * 1024 if sys.platform == "darwin" else 1024))}
