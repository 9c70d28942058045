"""Test doubles: stand-ins for a judge, an agent and the tokenizer, named as such, and a small made-up conversation.

Their figures say nothing about any real model.
"""

from functools import lru_cache

from base.turns import message_texts
from compaction.fixtures.form import load_fixtures
from compaction.fixtures.items import NEGATION, find_all
from selection.tests.made import count_words
from strategies import words


def overlap_judge(question):
    """Double of a judge: compares words. Supported when most of the right answer's words stand in one sentence."""
    wanted = words(question["expect"])
    best = max(question["context"].replace("\n", ". ").split(". "), key=lambda part: len(wanted & words(part)))
    share = len(wanted & words(best)) / max(1, len(wanted))
    if share < 0.4:
        return {"verdict": "absent", "answer": "It does not say.", "problems": []}
    turned = bool(NEGATION.search(best)) != bool(NEGATION.search(question["expect"]))
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
        told = next((literal for literal in literals if any(find_all(literal, text) for text in texts)), None)
        if told:
            return {"kind": "final", "text": told}
        if not transcript:
            return {"kind": "call", "tool": "proceed", "args": {"item": item["id"]}}
        return {"kind": "final", "text": "Done."}

    agent.extractive = True  # it answers in the context's own words or not at all, so that no judge is needed
    return agent


def shipped_forgetful_agent(task, transcript):
    """`forgetful_agent` for the shipped fixtures, as replay takes it by name."""
    return _shipped()(task, transcript)


@lru_cache
def _shipped():
    return forgetful_agent(load_fixtures())


shipped_forgetful_agent.identity = {"double": "forgetful_agent", "note": "a rule that reads its context; no model"}
shipped_forgetful_agent.extractive = True


class CountsWords:
    """Double of tokenizer.Counter that splits at white space and knows one control token."""

    count = full = staticmethod(count_words)
    control_tokens = ["<bos>"]

    def __init__(self, manifest=None):
        self.manifest = manifest

    def text(self, messages, tools=None):
        """The request as a template writes it that knows no tools."""
        return "".join(
            f"<bos>{message['role']}\n{message['content']}\n" for message in messages if message["role"] != "tool")

    def profile(self):
        return {"model": "double: words"}

    def control_token(self, text):
        return "<bos>" if "<bos>" in text else None


def small_fixture(**changes):
    """A fixture of twelve turns with one item of each class, its ids by its name; `changes` replace its fields."""
    name = changes.get("conversation_id", "small")
    history = [{"user": f"Step {n}: look at part {n} of the log please.", "assistant": f"Part {n} of the log is clean."}
               for n in range(1, 13)]
    history[0]["user"] = "Do not push to main before the audit. We run v1.20 now."
    history[1]["assistant"] = "I will write the report on Monday."
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": {"path": "docs/plan-7.md"}}}
    history[1]["messages"] = [{"role": "assistant", "content": "", "tool_calls": [call]},
                              {"role": "tool", "tool_call_id": "c1", "content": "plan: the cutover is on Friday"}]
    history[2]["user"] = "Should we keep the old queue?"
    history[3]["user"] = "The cutover is on Sunday."

    def item(number, class_, turn, literal, **more):
        return {"id": f"{name}-{number}", "class": class_, "turn": turn, "literal": literal,
                "probe": f"Is item {number} so?", "expect": "It is.", **more}

    fixture = {"conversation_id": "small", "history": history, "turns": 12, "compactions_expected": 1,
               "must_survive": [item(1, "constraint", 1, "Do not push to main"),
                                item(2, "commitment", 2, "I will write the report"),
                                item(3, "open_question", 3, "Should we keep the old queue?"),
                                item(4, "reference", 4, "The cutover is on Sunday", replaced=["cutover is on Friday"],
                                     tags=["uncued-correction"])]}
    return fixture | changes
