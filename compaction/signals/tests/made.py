"""Made event logs: nothing of a recorded conversation stands in them."""

RULE = "never push to the release branch without asking Dana"


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
