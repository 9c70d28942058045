"""Items, results and reports that the tests of this room share, made of the small fixture."""

from collections import Counter

from compaction.comparison import compare
from compaction.rows import GATES, decide_items, summarize, verdict_row
from compaction.tests.doubles import small_fixture

BUDGET = {"context_limit": 70, "max_new_tokens": 8, "margin": 2}  # 60 words available, 30 left after a compaction
SAID = {1: "Do not push to main", 2: "The cutover is on Friday.", 3: "They talked."}


def said_by(*texts, role="user"):
    """Messages of one role with these texts."""
    return [{"role": role, "content": text} for text in texts]


def made_item(*verdicts, keys=(), class_="constraint", name="i"):
    """An item with these verdicts, one for each compaction, and the keys of those a judge was needed for."""
    return {"conversation_id": "c", "item": name, "class": class_, "tags": [],
            "verdicts": dict(zip("123456789", verdicts)), "lines": {}, "keys": dict(zip("123456789", keys))}


def made_row(name, value, of, unknown=0, gate="default"):
    """The row of a class, or of contradictions, from its counts, with the default gate where none is given."""
    counts = Counter({"contradicted" if name == "contradictions" else "verbatim": value, "unjudged": unknown})
    counts["absent"] = of - counts.total()
    return verdict_row(name, counts, GATES[name] if gate == "default" else gate)


def made_result(judge=None, extractive=False, opaque=(), said=SAID, turns=None, fixtures=None, **changes):
    """The result of contexts {compaction: text} of the small conversation, as check.py has it.

    turns: {compaction: turn}, 9 where none is given; fixtures: others than the small one; `changes` replace its fields
    """
    contexts = [
        {"conversation_id": "small", "compaction": number, "turn": (turns or {}).get(number, 9), "tokens": 5,
         "inside": False, "opaque": number in opaque, "failed": False, "messages": said_by(text)}
        for number, text in said.items()]
    fixtures = fixtures or [small_fixture()]
    items = decide_items(fixtures, contexts, extractive, judge)
    for context in contexts:
        del context["messages"]
    summary = summarize(items, contexts, 60, GATES, "unmeasured judge" if judge else None)
    return {"compactor": {"name": "double"}, "budget": BUDGET, "available_input": 60, "keep_share": None,
            "gates": GATES, "counter": {}, "manifest_sha256": "m", "left_out": {"unplaced": 0, "unannotated": 0},
            "fixtures": {"conversations": len(fixtures), "items": len(items), "sha256": "f"},
            "judge": {"identity": "j", "card": "unmeasured"} if judge else None,
            **summary, "contexts": contexts, "items": items, **changes}


def made_report(candidate, incumbent=None, success=None):
    """The report of one result, or of two compared."""
    both = {"incumbent": incumbent, "comparison": compare(candidate, incumbent)} if incumbent else {}
    return {"candidate": candidate, "task_success": success, **both}
