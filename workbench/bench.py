"""Measure what selecting, counting and grading cost, each figure as a ratio taken in one run.

Run:  python -m workbench.bench > bench.local.json              all of it: about a quarter of an hour
      python -m workbench.bench --parts counting                the two facts of the front page
      python -m workbench.bench --parts selection,start --turns 50,200,600 --no-peers

Parts
counting   default counters of other libraries on the twelve cases; our count against the plain way, 2,000 turns
selection  our rules against the floor (every distinct message tokenised once with encode_batch, nothing else), the plain
           way (every candidate rendered and tokenised) and langchain's trim_messages with the same exact counter
sets       a generated set in the shape of LoCoMo, all selectors, one process and two
start      evaluate.py on the twelve cases against verifying and loading the tokenizer
near       indexing and asking, near and near-messages; filling by messages against filling by turns
choose     choose_messages after warming, 2,000 turns, and one turn later
answers    grader 2 on an answer that repeats itself
signals    compaction.signals over a generated log

Each row comes from a process of its own: it starts cold, and its peak memory is its own. Seconds are of this machine;
ratios carry over better. What is not installed (pip install -r workbench/requirements-bench.txt) is null.
"""

import json
import os
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import strategies
from base.shown import columns
from selection.cases import load_cases
from selection.fills import fill_messages, text_and_date, units
from selection.near import NearIndex, passages
from selection.near_messages import MessageIndex
from tokenizer import counter, load_counter
from tokens.manifest import MANIFEST, folder, read_manifest, verify

from base.command import InputError, dump, make_parser, progress, run_command, whole_numbers
from workbench.bench_set import ROOT, case_set, event_log, made_case, question

TURNS, BUDGET, BUDGETS = (50, 200, 600, 2000, 5000, 10000), 16384, (1024, 4096, 16384)
PEERS_UP_TO = 2000  # turns: beyond, the plain way would take hours
LONGEST = 10000
REPEATS = 3
ALL = ("recent", "relevant", "notes", "hybrid", "bm25", "dense", "rerank", "near", "near-messages")
LOAD = ("from tokenizer import *; from tokenizers import Tokenizer; "
        "Tokenizer.from_buffer(read_verified(MANIFEST, read_manifest(MANIFEST))['tokenizer.json'])")


def timed(function, *arguments):
    """(seconds, result)."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def median_s(function, *arguments):
    return statistics.median(timed(function, *arguments)[0] for _ in range(REPEATS))


def peak_mb(who=resource.RUSAGE_SELF):
    """The largest resident size of this process (or its children) so far, in MB."""
    return round(resource.getrusage(who).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def rounded(row):
    """A row whose numbers have four digits that tell: {"s": 0.0123456} -> {"s": 0.01235}."""
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}


def raw_tokenizer():
    """The tokenizer as the library loads it."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder() / "tokenizer.json"))


def floor_s(turns):
    """Seconds to tokenise every distinct message once with encode_batch and nothing else."""
    texts = list({message["content"]: None for turn in turns for message in strategies.turn_messages(turn)})
    tokenizer = raw_tokenizer()
    tokenizer.encode_batch(texts[:2], add_special_tokens=False)  # its threads start with the first batch
    return median_s(lambda: tokenizer.encode_batch(texts, add_special_tokens=False))


def fresh_counter():
    """A counter that has seen no message, its threads started."""
    load_counter.cache_clear()
    count = counter()
    count.lengths(["a", "b"])
    return count


def cold(choose, case):
    """(median seconds, selection) of `choose(case, count)` where nothing was counted or indexed before."""
    runs = [timed(choose, {**case, "history": list(case["history"])}, fresh_counter()) for _ in range(REPEATS)]
    return statistics.median(seconds for seconds, _ in runs), runs[-1][1]


def plain_counter():
    """messages -> tokens the plain way: jinja's sandbox as it comes, each request rendered and tokenised whole."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    tokenizer, bos = raw_tokenizer(), read_manifest(MANIFEST)["bos_token"]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder() / "chat_template.jinja").read_text(encoding="utf-8"))

    def count(messages):
        text = template.render(messages=messages, add_generation_prompt=True, enable_thinking=False, bos_token=bos)
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count


def trim(messages, budget, count="approximate"):
    """What langchain keeps of the newest messages, counted by `count` or its own default."""
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages

    counted = count if isinstance(count, str) else lambda some: count(convert_to_openai_messages(some))
    return convert_to_openai_messages(trim_messages(
        convert_to_messages(messages), max_tokens=budget, token_counter=counted, strategy="last", include_system=True,
        start_on="human"))


def remember(messages, budget):
    """What llama-index's buffer keeps with its default tokenizer, the system message counted first."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.utils import get_tokenizer

    head, *rest = messages
    buffer = ChatMemoryBuffer.from_defaults(chat_history=[ChatMessage(**one) for one in rest], token_limit=budget)
    kept = buffer.get(initial_token_count=len(get_tokenizer()(head["content"])))
    return [head, *({"role": message.role.value, "content": message.content} for message in kept)]


def counting(turns):
    """In how many of the twelve cases a default counter lets more than the budget through; and what exactness costs."""
    count, row, cases = counter(), {}, load_cases(ROOT / "cases.json")
    for name, keep in (("langchain", trim), ("llama_index", remember)):
        try:
            row[f"{name}_over_budget"] = sum(
                count(keep(strategies.render(case, range(len(case["history"]))), strategies.available(case)))
                > strategies.available(case) for case in cases)
        except ImportError:
            row[f"{name}_over_budget"] = None
    case = made_case(turns, BUDGET)
    ours = cold(strategies.recent, case)
    return {**row, "cases": len(cases), "turns": turns, "recent_s": ours[0],
            "plain_over_recent": plain_over("recent", case, *ours)}


def plain_over(name, case, seconds, selected):
    """How many times as long a rule takes with a counter that renders and tokenises every candidate."""
    plain_s, plain = timed(strategies.STRATEGIES[name], case, plain_counter())
    if plain["turns"] != selected["turns"]:
        raise RuntimeError(f"{name}: the plain way chose other turns")
    return plain_s / seconds


def selection(turns, peers):
    """Our rules from a cold start, against the floor and, where asked, the plain way and langchain."""
    case = made_case(turns, BUDGET)
    ours = {name: cold(strategies.STRATEGIES[name], case) for name in ("recent", "relevant")}
    floor = floor_s(case["history"])
    row = {"turns": turns, "recent_s": ours["recent"][0], "floor_s": floor, "relevant_s": ours["relevant"][0],
           "relevant_over_floor": ours["relevant"][0] / floor, "peak_mb": peak_mb()}
    row |= {f"plain_over_{name}": plain_over(name, case, *ours[name]) if peers else None for name in ours}
    try:
        took = timed(trim, strategies.render(case, range(turns)), BUDGET, plain_counter())[0] if peers else None
    except ImportError:
        took = None
    return {**row, "langchain_over_recent": took and took / ours["recent"][0]}


def whole_set(questions, budget):
    """All selectors over a set on one process and on two (which load the tokenizer themselves), against its floor and
    the limit set for it: ten times the floor and 5 ms a question."""
    from evaluate import run

    with tempfile.TemporaryDirectory() as place:
        path = case_set(Path(place, "set.json"), questions)
        histories = {id(case["history"]): case["history"] for case in load_cases(path)}.values()
        floor = floor_s([turn for turns in histories for turn in turns])
        load_s, _ = timed(counter)  # apart: the floor does not load its tokenizer either
        one_s, report = timed(lambda: run(path, ALL, budgets=[budget]))
        peak = peak_mb()
        two_s, again = timed(lambda: run(path, ALL, budgets=[budget], jobs=2))
    if report != again:
        raise RuntimeError("two processes gave another report than one")
    return {"budget": budget, "questions": questions, "one_process_s": one_s, "limit_s": 10 * floor + 0.005 * questions,
            "two_processes_s": two_s, "one_over_two": (load_s + one_s) / two_s, "peak_mb": peak}


def start():
    """`python evaluate.py` from a cold start against a process that verifies and loads the tokenizer alone."""

    def run(*arguments):
        return timed(lambda: subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True))[0]

    pairs = [(run("evaluate.py"), run("-c", LOAD)) for _ in range(5)]
    return {"evaluate_s": statistics.median(ours for ours, _ in pairs),
            "evaluate_over_load": statistics.median(ours / load for ours, load in pairs)}


def near(messages):
    """near and near-messages over so many messages, tokenising them on one thread being the measure; and filling by
    messages against filling by as many turns, in an order that has nothing to do with the conversation's."""
    os.environ["RAYON_NUM_THREADS"] = "1"  # before the tokenizer's threads start: the comparison is with one
    case, long, rng = made_case(messages // 2, BUDGET), made_case(messages, BUDGET), random.Random(1)
    said = list(map(text_and_date, units(case["history"])))
    asked = [question(rng, [turn]) for turn in case["history"][:: max(1, messages // 40)]]
    floor, row = floor_s(case["history"]), {"messages": messages}
    for name, kind, texts in (("near", NearIndex, [text for text, _ in said]), ("near_messages", MessageIndex, said)):
        index_s = statistics.median(timed(lambda: passages.cache_clear() or kind(texts))[0] for _ in range(REPEATS))
        index = kind(texts)
        ask_s = statistics.median(timed(index.scores, text)[0] for text in [asked[0], *asked])
        add_s = timed(lambda: [index.add(text) for text, _ in said[:100]])[0] / min(100, len(said))
        row |= {f"{name}_index_s": index_s, f"{name}_index_over_tokenise": index_s / floor,
                f"{name}_ask_ms": 1000 * ask_s, f"{name}_add_ms": 1000 * add_s}
    for name, fill, size in (("turns", strategies.fill, messages), ("messages", fill_messages, 2 * messages)):
        order = rng.sample(range(size), size)
        row[f"fill_by_{name}_s"], _ = cold(lambda case, count: fill(case, count, order), long)
    return {**row, "fill_messages_over_turns": row["fill_by_messages_s"] / row["fill_by_turns_s"]}


def choose(turns):
    """choose_messages with its default rule: the first call of a warmed process, and the one after the next turn."""
    from workbench.adapter import choose_messages, warm

    warm()
    case = made_case(turns + 1, BUDGET)
    head, *said, asked = strategies.render(case, range(turns + 1))
    row = {"turns": turns}
    for name, end in (("first_ms", -2), ("next_ms", None)):
        row[name] = 1000 * timed(choose_messages, [head, *said[:end], asked], 4096)[0]
    return {**row, "floor_ms": 1000 * floor_s(case["history"])}


def answers(characters):
    """Grader 2 on an answer that says one thing over and over, and on one eight times as long: 8 is linear."""
    from answer_check import grade

    def seconds(length):
        entry = {"answer": ("Three attempts" + " or 5" * length)[:length], "done_reason": "stop"}
        return median_s(grade, entry, {"must": [re.compile("three|3")], "stale": [re.compile("5")]}, 2)

    short, long = seconds(characters), seconds(8 * characters)
    return {"characters": characters, "grade_ms": 1000 * short, "eight_times_as_long_over": long / short}


def signals(events):
    """compaction.signals over a generated log, against reading the same log as JSON lines and nothing else."""
    with tempfile.TemporaryDirectory() as place:
        log, out = Path(place, "log.jsonl"), Path(place, "signals.json")
        with log.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in event_log(events))
        with log.open(encoding="utf-8") as file:
            read_s, _ = timed(lambda: [json.loads(line) and None for line in file])
        with out.open("wb") as file:
            command = [sys.executable, "-m", "compaction.signals", str(log)]
            look_s, _ = timed(lambda: subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.PIPE, check=True))
    return {"events": events, "signals_s": look_s, "events_per_s": round(events / look_s),
            "over_reading": look_s / read_s, "peak_mb": peak_mb(resource.RUSAGE_CHILDREN)}


PARTS = {
    "counting": lambda args: [(counting, PEERS_UP_TO)],
    "selection": lambda args: [(selection, turns, not args.no_peers and turns <= PEERS_UP_TO) for turns in args.turns],
    "sets": lambda args: [(whole_set, args.questions, budget) for budget in BUDGETS],
    "start": lambda args: [(start,)],
    "near": lambda args: [(near, LONGEST)],
    "choose": lambda args: [(choose, PEERS_UP_TO)],
    "answers": lambda args: [(answers, 1000)],
    "signals": lambda args: [(signals, args.events)],
}


def alone(function, *arguments):
    """The function's result from a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, of %(default)s")
    parser.add_argument("--turns", type=whole_numbers, default=TURNS, help="lengths of history of the part selection")
    parser.add_argument("--questions", type=int, default=1982, help="questions of the generated set")
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the generated log")
    parser.add_argument("--no-peers", action="store_true", help="leave out the slow ones: the plain way, langchain")
    args = parser.parse_args(argv)
    parts = args.parts.split(",")
    if not set(parts) <= set(PARTS):
        raise InputError(f"--parts: {args.parts!r}; name some of {', '.join(PARTS)}")
    if min(args.questions, args.events) < 1:
        raise InputError("--questions and --events take a whole number from 1")
    if not set(parts) <= {"signals", "answers"}:
        problems = verify(folder(), read_manifest(MANIFEST))
        if problems:
            raise InputError(f"{problems[0]}; run: python prepare.py")
    result = {"machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}}
    for part in parts:
        result[part] = [rounded(alone(*work)) for work in progress(PARTS[part](args), desc=part)]
        lines = columns([list(result[part][0]), *(row.values() for row in result[part])])
        if len(result[part]) == 1:
            lines = columns(result[part][0].items())
        print(f"\n{part}", *lines, sep="\n", file=sys.stderr, flush=True)
    sys.stdout.write(dump(result))
    return 0


if __name__ == "__main__":
    run_command(main)
