"""Measure what selecting, counting and grading cost, each figure as a ratio taken in one run.

Run:  python -m workbench.bench > bench.local.json              # all of it: some minutes
      python -m workbench.bench --parts counting                # the two facts of the front page

Each row comes from a process of its own: it starts cold, and its peak memory is its own. Seconds are of this machine;
ratios carry over better. What is not installed (pip install -r workbench/requirements-bench.txt) is null. Histories
are generated, in utterances of about 120 characters as LoCoMo's are, of the words of the project's own cases and
fixtures as often as they occur there, so that a tokenizer works as on real text; the same seed gives the same bytes.

floor  every distinct message of a history tokenised once with encode_batch, and nothing else
plain  a rule given a counter that renders and tokenises every candidate request
"""

import json
import os
import platform
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path

import strategies
from base.command import InputError, dump, make_parser, progress, run_command
from base.shown import columns
from selection.cases import load_cases
from selection.retrievers import fill_messages
from tokenizer import counter, load_counter
from tokens.manifest import MANIFEST, folder, read_manifest, verify

ROOT = Path(__file__).parents[1]
BUDGET = 16384
REPEATS = 3


@cache
def vocabulary():
    """The words of the cases and fixtures, each as often as it occurs."""
    paths = [ROOT / "cases.json", *sorted((ROOT / "compaction" / "fixtures" / "conversations").glob("*.json"))]
    return re.findall(r"[A-Za-z][a-z'-]*|\d+", "\n".join(path.read_text(encoding="utf-8") for path in paths))


def utterance(rng):
    """A few sentences of 21 words on average."""
    drawn = rng.choices(vocabulary(), k=max(3, round(rng.gauss(21, 9))))
    for end in range(7, len(drawn), rng.randrange(6, 12)):
        drawn[end] += "."
    return " ".join(drawn).capitalize() + "."


def made_case(turns, budget):
    """A case over a generated history, as strategies take it: it asks for words of the middle turn and some others."""
    rng, asking = random.Random(turns), random.Random(turns)
    history = [{"id": f"t{number}", "user": utterance(rng), "assistant": utterance(rng)} for number in range(turns)]
    rare = [word for word in history[turns // 2]["user"].rstrip(".").split() if len(word) > 3]
    asked = [*asking.sample(rare, min(4, len(rare))), *asking.choices(vocabulary(), k=4)]
    return {"id": "made", "split": "held_out", "kind": "generated", "instructions": "Be brief.",
            "current": f"What about {' '.join(asked)}?", "history": history, "required": [], "stale": [],
            "budget": {"context_limit": budget, "max_new_tokens": 0, "margin": 0}}


def timed(function, *arguments):
    """(seconds, result)."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def median_s(function, *arguments):
    return statistics.median(timed(function, *arguments)[0] for _ in range(REPEATS))


def rounded(row):
    """A row whose numbers have four digits that tell: {"s": 0.0123456} -> {"s": 0.01235}."""
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}


def peak_mb():
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # bytes there, KiB elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def raw_tokenizer():
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder() / "tokenizer.json"))


def floor_s(turns):
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


def trimmed(messages, budget):
    """What langchain keeps of the newest messages by its own default counter."""
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages

    return convert_to_openai_messages(trim_messages(
        convert_to_messages(messages), max_tokens=budget, token_counter="approximate", strategy="last",
        include_system=True, start_on="human"))


def buffered(messages, budget):
    """What llama-index's buffer keeps by its default tokenizer, the system message counted first."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.utils import get_tokenizer

    head, *rest = messages
    history = [ChatMessage(**message) for message in rest]
    buffer = ChatMemoryBuffer.from_defaults(chat_history=history, token_limit=budget)
    kept = buffer.get(initial_token_count=len(get_tokenizer()(head["content"])))
    return [head, *({"role": message.role.value, "content": message.content} for message in kept)]


def over_budget(keep, cases, count):
    """In how many cases what a library keeps costs more than the budget; None where it is not installed."""
    try:
        return sum(count(keep(strategies.render(case, range(len(case["history"]))), strategies.available(case)))
                   > strategies.available(case) for case in cases)
    except ImportError:
        return None


def counting(turns):
    """What default counters let through on the twelve cases, and how long the plain way takes against exact sums."""
    cases, case = load_cases(ROOT / "cases.json"), made_case(turns, BUDGET)
    ours_s, ours = cold(strategies.recent, case)
    plain_s, plain = timed(strategies.recent, case, plain_counter())
    if plain["turns"] != ours["turns"]:
        raise RuntimeError("the plain way chose other turns")
    return {"cases": len(cases), "langchain_over_budget": over_budget(trimmed, cases, counter()),
            "llama_index_over_budget": over_budget(buffered, cases, counter()), "turns": turns, "recent_s": ours_s,
            "plain_over_recent": plain_s / ours_s}


def selection(turns):
    """Two rules from a cold start against the floor."""
    case = made_case(turns, BUDGET)
    recent_s, relevant_s = (cold(rule, case)[0] for rule in (strategies.recent, strategies.relevant))
    floor = floor_s(case["history"])
    return {"turns": turns, "recent_s": recent_s, "floor_s": floor, "relevant_s": relevant_s,
            "relevant_over_floor": relevant_s / floor, "peak_mb": peak_mb()}


def fill(turns):
    """Filling by messages against filling by turns, in an order that has nothing to do with the conversation's."""
    case, rng, row = made_case(turns, BUDGET), random.Random(1), {"turns": turns}
    for name, by, size in (("turns", strategies.fill, turns), ("messages", fill_messages, 2 * turns)):
        order = rng.sample(range(size), size)
        row[f"fill_by_{name}_s"], _ = cold(lambda case, count: by(case, count, order), case)
    return {**row, "fill_messages_over_turns": row["fill_by_messages_s"] / row["fill_by_turns_s"]}


def choose(turns):
    """choose_messages with its default rule: the first call of a warmed process, and the one after the next turn."""
    from workbench.adapter import choose_messages, warm

    warm()
    case = made_case(turns + 1, BUDGET)
    head, *said, asked = strategies.render(case, range(turns + 1))
    first_s, next_s = (timed(choose_messages, [head, *said[:end], asked], 4096)[0] for end in (-2, None))
    return {"turns": turns, "first_ms": 1000 * first_s, "next_ms": 1000 * next_s,
            "first_over_floor": first_s / floor_s(case["history"])}


def answers(characters):
    """Grader 2 on an answer that says one thing over and over, and on one eight times as long: 8 is linear."""
    from answer_check import grade

    key = {"must": [re.compile("three|3")], "stale": [re.compile("5")]}
    short_s, long_s = (
        median_s(grade, {"answer": ("Three attempts" + " or 5" * length)[:length], "done_reason": "stop"}, key, 2)
        for length in (characters, 8 * characters))
    return {"characters": characters, "grade_ms": 1000 * short_s, "eight_times_as_long_over": long_s / short_s}


def event_log(events):
    """Events of an agent's log: conversations of 15 turns of ten events, calls that repeat, writes, a compaction."""
    rng = random.Random(1)
    for number in range(events):
        turn, step = number % 150 // 10 + 1, number % 10
        event = {"conversation_id": f"c{number // 150}", "turn": turn, "reply": number % 150}
        if step in (0, 9):
            kind = "user" if step == 0 else "compaction" if turn == 8 else "assistant"
            yield {**event, "kind": kind, "content": utterance(rng)}
        elif step % 2:
            yield {**event, "kind": "tool_call", "call_id": str(number), "name": rng.choice(("read", "edit")),
                   "arguments": {"path": f"src/part_{rng.randrange(40)}.py"}}
        else:
            yield {**event, "kind": "tool_result", "call_id": str(number - 1), "content": f"{rng.randrange(3)} lines"}


def signals(events):
    """compaction.signals over a generated log."""
    from compaction.sessions.log import read_log
    from compaction.signals.__main__ import find_signals

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "log.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in event_log(events)), encoding="utf-8")
        seconds, report = timed(lambda: find_signals(read_log(path), path))
    return {"events": events, "hits": report["repeats"]["hits"], "signals_s": seconds, "peak_mb": peak_mb()}


PARTS = {"counting": [(counting, 2000)],
         "selection": [(selection, turns) for turns in (50, 200, 600, 2000, 5000, 10_000)], "fill": [(fill, 10_000)],
         "choose": [(choose, 2000)], "answers": [(answers, 1000)], "signals": [(signals, 100_000)]}


def alone(function, *arguments):
    """The function's result from a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        try:
            return executor.submit(function, *arguments).result()
        except KeyboardInterrupt:  # a terminal's Ctrl-C reaches both processes, kill -INT this one alone
            for process in active_children():
                process.kill()
            raise


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, of %(default)s")
    parts = parser.parse_args(argv).parts.split(",")
    if not set(parts) <= set(PARTS):
        raise InputError(f"--parts {','.join(parts)}: name some of {', '.join(PARTS)}")
    problems = verify(folder(), read_manifest(MANIFEST))
    if problems and not {"answers", "signals"}.issuperset(parts):
        raise InputError(f"{problems[0]}; run: python prepare.py")
    result = {"machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}}
    for part in parts:
        result[part] = [rounded(alone(*work)) for work in progress(PARTS[part], desc=part)]
        rows = [result[part][0], *(row.values() for row in result[part])]
        print(f"\n{part}", *columns(rows if len(rows) > 2 else rows[0].items()), sep="\n", file=sys.stderr, flush=True)
    sys.stdout.write(dump(result))
    return 0


if __name__ == "__main__":
    run_command(main)
