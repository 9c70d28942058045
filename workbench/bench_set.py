"""Make histories and a case set in the shape of LoCoMo, for measuring; nothing of that set is in them.

The words are those of the project's own cases and fixtures, drawn as often as they occur there: a tokenizer works on
them as on real text. Same seed, same bytes.

LoCoMo's shape: ten histories of about 300 turns of two utterances (about 120 characters each), 1,982 questions, most
with one or two evidence turns.
"""

import json
import random
import re
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parent.parent
UTTERANCE_WORDS = 21  # about 120 characters
HISTORIES, TURNS, QUESTIONS = 10, 297, 1982


def vocabulary():
    """(words, cumulative weights) of the cases and fixtures."""
    counts = {}
    for path in [ROOT / "cases.json", *sorted((ROOT / "compaction" / "fixtures" / "conversations").glob("*.json"))]:
        for word in re.findall(r"[A-Za-z][a-z'-]*|\d+", path.read_text(encoding="utf-8")):
            counts[word] = counts.get(word, 0) + 1
    return list(counts), list(accumulate(counts.values()))


def utterance(rng, words, weights):
    """One utterance: a few sentences of words as frequent as in the sources."""
    drawn = rng.choices(words, cum_weights=weights, k=max(3, round(rng.gauss(UTTERANCE_WORDS, 9))))
    for end in range(7, len(drawn), rng.randrange(6, 12)):
        drawn[end] += "."
    return " ".join(drawn).capitalize() + "."


def history(turns, seed):
    """A history of so many turns of two utterances."""
    rng = random.Random(seed)
    words, weights = vocabulary()
    return [{"id": f"t{number}", "user": utterance(rng, words, weights), "assistant": utterance(rng, words, weights)}
            for number in range(turns)]


def question(rng, turns, words, weights):
    """A question of some words of the turns that hold its evidence, and some others."""
    rare = [word for turn in turns for word in turn["user"].rstrip(".").split() if len(word) > 3]
    return ("What about "
            + " ".join([*rng.sample(rare, min(4, len(rare))), *rng.choices(words, cum_weights=weights, k=4)])
            + "?")


def case_set(path, questions=QUESTIONS, histories=HISTORIES, turns=TURNS, seed=1):
    """Write a case set of the larger form and return its path."""
    rng = random.Random(seed)
    words, weights = vocabulary()
    made = {f"h{number}": history(turns, seed * 1000 + number) for number in range(histories)}
    cases = []
    for number in range(questions):
        name = f"h{number % histories}"
        evidence = rng.sample(made[name], rng.choice((1, 1, 1, 2)))
        cases.append({"id": f"q{number}", "split": "held_out", "kind": "generated", "instructions": "",
                      "current": question(rng, evidence, words, weights), "history": name,
                      "budget": {"context_limit": 4096, "max_new_tokens": 0, "margin": 0},
                      "required": [{"turn": turn["id"], "text": turn["user"]} for turn in evidence], "stale": []})
    value = {"format": 1, "histories": made, "cases": cases}
    Path(path).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return Path(path)


def event_log(events, seed):
    """Yield so many events of an agent's log: conversations of 15 turns with calls that repeat, writes and a compaction."""
    rng, words = random.Random(seed), vocabulary()
    for made in range(events):
        conversation, turn, step = made // 150, made % 150 // 10 + 1, made % 10
        event = {"conversation_id": f"c{conversation}", "turn": turn, "reply": made % 150}
        path = f"src/part_{rng.randrange(40)}.py"
        if step == 0:
            yield {**event, "kind": "user", "content": utterance(rng, *words)}
        elif step == 9:
            yield {**event, "kind": "compaction" if turn == 8 else "assistant", "content": utterance(rng, *words)}
        elif step % 2:
            name, given = rng.choice((("read", {"path": path}), ("edit", {"path": path, "text": f"x = {rng.randrange(999)}"})))
            yield {**event, "kind": "tool_call", "name": name, "arguments": given, "call_id": str(made)}
        else:
            yield {**event, "kind": "tool_result", "content": f"{rng.randrange(3)} lines", "call_id": str(made - 1)}
