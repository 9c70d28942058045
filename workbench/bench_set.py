"""Histories, a case set in the shape of LoCoMo and an event log, generated for measuring.

The words are those of the project's own cases and fixtures, drawn as often as they occur there: a tokenizer works on
them as on real text. Same seed, same bytes. LoCoMo's shape: ten histories of about 300 turns of two utterances (about
120 characters each), 1,982 questions, most with one or two evidence turns; nothing of that set is in them.
"""

import json
import random
import re
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parent.parent
UTTERANCE_WORDS = 21  # about 120 characters
HISTORIES, TURNS, QUESTIONS = 10, 297, 1982


@lru_cache(maxsize=1)
def vocabulary():
    """(words, cumulative weights) of the cases and fixtures."""
    counts = {}
    for path in [ROOT / "cases.json", *sorted((ROOT / "compaction" / "fixtures" / "conversations").glob("*.json"))]:
        for word in re.findall(r"[A-Za-z][a-z'-]*|\d+", path.read_text(encoding="utf-8")):
            counts[word] = counts.get(word, 0) + 1
    return list(counts), list(accumulate(counts.values()))


def utterance(rng):
    """One utterance: a few sentences of words as frequent as in the sources."""
    words, weights = vocabulary()
    drawn = rng.choices(words, cum_weights=weights, k=max(3, round(rng.gauss(UTTERANCE_WORDS, 9))))
    for end in range(7, len(drawn), rng.randrange(6, 12)):
        drawn[end] += "."
    return " ".join(drawn).capitalize() + "."


def history(turns, seed):
    """A history of so many turns of two utterances."""
    rng = random.Random(seed)
    return [{"id": f"t{number}", "user": utterance(rng), "assistant": utterance(rng)} for number in range(turns)]


def question(rng, turns):
    """A question of some words of the turns that hold its evidence, and some others."""
    words, weights = vocabulary()
    rare = [word for turn in turns for word in turn["user"].rstrip(".").split() if len(word) > 3]
    drawn = [*rng.sample(rare, min(4, len(rare))), *rng.choices(words, cum_weights=weights, k=4)]
    return f"What about {' '.join(drawn)}?"


def case_of(turns, name, asked, budget, evidence=(), instructions=""):
    """A case in the form of a case set; `turns` a history or the name of one."""
    return {"id": name, "split": "held_out", "kind": "generated", "instructions": instructions, "current": asked,
            "history": turns, "budget": {"context_limit": budget, "max_new_tokens": 0, "margin": 0},
            "required": [{"turn": turn["id"], "text": turn["user"]} for turn in evidence], "stale": []}


def made_case(turns, budget):
    """A case over a generated history, in the form that strategies take."""
    made = history(turns, seed=turns)
    return case_of(made, "made", question(random.Random(turns), [made[turns // 2]]), budget, instructions="Be brief.")


def case_set(path, questions=QUESTIONS, histories=HISTORIES, turns=TURNS, seed=1):
    """Write a case set of the larger form and return its path."""
    rng = random.Random(seed)
    made = {f"h{number}": history(turns, seed * 1000 + number) for number in range(histories)}
    cases = []
    for number in range(questions):
        name = f"h{number % histories}"
        evidence = rng.sample(made[name], rng.choice((1, 1, 1, 2)))
        cases.append(case_of(name, f"q{number}", question(rng, evidence), 4096, evidence))
    value = {"format": 1, "histories": made, "cases": cases}
    Path(path).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return Path(path)


def event_log(events, seed=1):
    """Yield events of an agent's log: conversations of 15 turns with calls that repeat, writes and a compaction."""
    rng = random.Random(seed)
    for made in range(events):
        turn, step = made % 150 // 10 + 1, made % 10
        event = {"conversation_id": f"c{made // 150}", "turn": turn, "reply": made % 150}
        path = f"src/part_{rng.randrange(40)}.py"
        if step == 0:
            yield {**event, "kind": "user", "content": utterance(rng)}
        elif step == 9:
            yield {**event, "kind": "compaction" if turn == 8 else "assistant", "content": utterance(rng)}
        elif step % 2:
            name, more = rng.choice((("read", {}), ("edit", {"text": f"x = {rng.randrange(999)}"})))
            yield {**event, "kind": "tool_call", "name": name, "call_id": str(made), "arguments": {"path": path, **more}}
        else:
            yield {**event, "kind": "tool_result", "content": f"{rng.randrange(3)} lines", "call_id": str(made - 1)}
