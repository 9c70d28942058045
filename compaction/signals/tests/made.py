"""Made event logs: nothing of a recorded conversation stands in them."""

import json
import random

RULES = ("never push to the {} branch without asking", "keep the {} table as it is until the audit is over",
         "use the staging copy of {} for every test", "write the report on {} in plain English, two pages at most")
WORK = ("look at {} and say what it does", "the {} test is slow, find out why", "add a case for {}",
        "rename {} where it is used")
NAMES = ("billing", "ledger", "session", "gateway", "import", "archive", "mailer", "search", "calendar", "invoice")
RULE = "never push to the release branch without asking Dana"


def lines(events):
    return [json.dumps(event).encode("utf-8") for event in events]


def conversation(name, again=True, restate=True):
    """Events of a conversation with a compaction, an idle repeat and a restated rule after it."""
    at = {"conversation_id": name, "time": "2026-03-01T10:00:00Z"}
    read = {"kind": "tool_call", "name": "read", "arguments": {"path": "a.py"}}
    events = [{**at, "turn": 1, "reply": 0, "kind": "user", "content": RULE},
              {**at, "turn": 1, "reply": 1, **read, "call_id": "c1"},
              {**at, "turn": 1, "reply": 1, "kind": "tool_result", "content": "x", "call_id": "c1"},
              {**at, "turn": 1, "reply": 2, "kind": "assistant", "content": "Done."},
              {**at, "turn": 1, "reply": 2, "kind": "compaction", "content": "Work went on."}]
    if restate:
        events.append({**at, "turn": 2, "reply": 2, "kind": "user", "content": "I said " + RULE})
    if again:
        events += [{**at, "turn": 2, "reply": 3, **read, "call_id": "c2"},
                   {**at, "turn": 2, "reply": 3, "kind": "tool_result", "content": "x", "call_id": "c2"}]
    return events


def generate_log(events, seed=0):
    """Yield `events` events of generated conversations, the same for a seed; the last one is cut at the number."""
    chance, number, made = random.Random(seed), 0, 0
    while made < events:
        number += 1
        for event in generated(f"generated-{number:07d}", chance):
            if made == events:
                return
            made += 1
            yield event


def generated(name, chance):
    """The events of one conversation with calls that repeat, writes between them, compactions and a rule said twice."""
    subjects = chance.sample(NAMES, 4)
    rule = chance.choice(RULES).format(subjects[0])
    reply = calls = 0
    for turn in range(1, chance.randint(5, 24)):
        words = (rule
                 if turn in (1, 17)
                 else chance.choice(WORK).format(f"{chance.choice(subjects)}_{chance.randint(1, 40)}.py"))
        yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "user", "content": words}
        for _ in range(chance.randint(1, 5)):
            reply, calls = reply + 1, calls + 1
            at = {"conversation_id": name, "turn": turn, "reply": reply}
            path = f"src/{chance.choice(subjects)}_{chance.randint(1, 12)}.py"
            call = chance.choice((("read", {"path": path, "limit": chance.choice((200, 200.0))}),
                                  ("edit", {"path": path, "new_text": f"value = {chance.randint(1, 999)}"}),
                                  ("bash", {"command": chance.choice(("git status", f"python -m unittest {path}"))})))
            yield {**at, "kind": "tool_call", "name": call[0], "arguments": call[1], "call_id": f"c{calls}"}
            yield {**at, "kind": "tool_result", "content": f"{chance.randint(1, 3)} lines", "call_id": f"c{calls}"}
        reply += 1
        yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "assistant",
               "content": "Done; the tests pass."}
        if turn in (8, 15):
            yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "compaction",
                   "content": f"The user works on {words}."}
