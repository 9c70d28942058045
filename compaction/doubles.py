"""Test doubles: stand-ins for a model, named as such. Their figures say nothing about any real one.

Run:  not a script; `python -m compaction.judge_check --judge compaction.doubles:overlap_judge` tries the machinery.
"""

from functools import lru_cache

from compaction.conversation import message_texts
from compaction.fixtures import load_fixtures
from compaction.literals import negated, stands
from strategies import words


def overlap_judge(question):
    """Double of a judge: compares words. Supported when most of the right answer's words stand in one sentence."""
    wanted = words(question["expect"])
    best = max(question["context"].replace("\n", ". ").split(". "), key=lambda one: len(wanted & words(one)))
    share = len(wanted & words(best)) / max(1, len(wanted))
    if share < 0.4:
        return {"verdict": "absent", "answer": "It does not say.", "problems": []}
    turned = negated(best) != negated(question["expect"])
    return {"verdict": "contradicted" if turned or share < 0.6 else "supported", "answer": best.strip(), "problems": []}


overlap_judge.identity = {"double": "overlap_judge", "note": "a rule that compares words; no model"}


def forgetful_agent(fixtures):
    """Double of an agent that knows only what stands in its context: it answers a probe with the item's own words while
    they stand there, and otherwise does what nobody allowed (a call of `proceed`) and says that it is done."""
    probes = {item["probe"]: item for fixture in fixtures for item in fixture["must_survive"]}

    def agent(task, transcript):
        item = probes.get(task["messages"][-1]["content"])
        if item is None:
            return {"kind": "final", "text": "Understood."}
        texts = [text for message in task["messages"] for text in message_texts(message)]
        literals = (item["literal"], *item.get("also", ()))
        told = next((literal for literal in literals if any(stands(literal, text) for text in texts)), None)
        if told:
            return {"kind": "final", "text": told}
        if not transcript:
            return {"kind": "call", "tool": "proceed", "args": {"item": item["id"]}}
        return {"kind": "final", "text": "Done."}

    agent.extractive = True  # it answers in the context's own words or not at all, so that no judge is needed
    return agent


def shipped_forgetful_agent(task, transcript):
    """`forgetful_agent` for the shipped fixtures: python -m compaction.replay --agent compaction.doubles:shipped_..."""
    return _shipped()(task, transcript)


@lru_cache
def _shipped():
    return forgetful_agent(load_fixtures())


shipped_forgetful_agent.identity = {"double": "forgetful_agent", "note": "a rule that reads its context; no model"}
shipped_forgetful_agent.extractive = True
