"""Histories and an event log generated for measuring: utterances of about 120 characters, like LoCoMo's.

The words are those of the project's own cases and fixtures, drawn as often as they occur there: a tokenizer works on
them as on real text. Same seed, same bytes.
"""

import random
import re
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parent.parent
UTTERANCE_WORDS = 21  # about 120 characters


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


def made_case(turns, budget):
    """A case over a generated history, in the form that strategies take."""
    made = history(turns, seed=turns)
    return {"id": "made", "split": "held_out", "kind": "generated", "instructions": "Be brief.",
            "current": question(random.Random(turns), [made[turns // 2]]), "history": made, "required": [], "stale": [],
            "budget": {"context_limit": budget, "max_new_tokens": 0, "margin": 0}}


def event_log(events, seed=1):
    """Yield events of an agent's log: conversations of 15 turns with calls that repeat, writes and a compaction."""
    rng = random.Random(seed)
    for made in range(events):
        turn, step = made % 150 // 10 + 1, made % 10
        event = {"conversation_id": f"c{made // 150}", "turn": turn, "reply": made % 150, "content": utterance(rng)}
        if step in (0, 9):
            yield {**event, "kind": "user" if step == 0 else "compaction" if turn == 8 else "assistant"}
        elif step % 2:
            arguments = {"path": f"src/part_{rng.randrange(40)}.py"}
            yield {**event, "kind": "tool_call", "name": rng.choice(("read", "edit")), "arguments": arguments,
                   "call_id": str(made)}
        else:
            yield {**event, "kind": "tool_result", "content": f"{rng.randrange(3)} lines", "call_id": str(made - 1)}
