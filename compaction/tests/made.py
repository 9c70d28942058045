"""Items, results and reports that the tests of this room share, made of the small fixture."""

from compaction import comparison
from compaction.rows import GATES, decide_items, summarize
from compaction.tests.doubles import small_fixture

BUDGET = {"context_limit": 70, "max_new_tokens": 8, "margin": 2}  # 60 words available
SAID = {1: "Do not push to main", 2: "The cutover is on Friday.", 3: "They talked."}


def made_item(*verdicts, keys=(), class_="constraint", name="i"):
    """An item with these verdicts, one for each compaction, and the keys of those a judge was needed for."""
    return {"conversation_id": "c", "item": name, "class": class_, "tags": [],
            "verdicts": dict(zip("123456789", verdicts)), "lines": {}, "keys": dict(zip("123456789", keys))}


def made_result(
    judge=None, extractive=False, opaque=(), said=SAID, name="double", line=None, turns=None, fixtures=None
):
    """The result of contexts {compaction: text} of the small conversation, as check.py has it.

    turns: {compaction: turn}, 9 where none is given; fixtures: others than the small one; line: what every item shows
    """
    contexts = [
        {"conversation_id": "small", "compaction": number, "turn": (turns or {}).get(number, 9), "tokens": 5,
         "inside": False, "opaque": number in opaque, "failed": False, "messages": [{"role": "user", "content": text}]}
        for number, text in said.items()]
    fixtures = fixtures or [small_fixture()]
    items = decide_items(fixtures, contexts, extractive, judge)
    for context in contexts:
        del context["messages"]
    for item in items if line else ():
        item["lines"] = dict.fromkeys(item["verdicts"], line)
    judged = "unmeasured judge" if judge else None
    return {"compactor": {"name": name}, "budget": BUDGET, "available_input": 60, "keep_share": None, "gates": GATES,
            "counter": {}, "fixtures": {"conversations": len(fixtures), "items": len(items), "sha256": "f"},
            "judge": {"identity": "j", "card": "unmeasured"} if judge else None,
            "left_out": {"unplaced": 0, "unannotated": 0}, **summarize(items, contexts, 60, GATES, judged),
            "contexts": contexts, "items": items}


def made_report(candidate, incumbent=None, success=None):
    """The report of one result, or of two compared."""
    report = {"candidate": candidate, "task_success": success}
    if incumbent:
        report |= {"incumbent": incumbent, "comparison": comparison.compare(candidate, incumbent)}
    return report
