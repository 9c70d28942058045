"""Made-up files of LoCoMo and LongMemEval, a chat log, a case, a row and a report of an evaluation."""

from itertools import zip_longest

from evaluate import summarize


def part(expected, actual):
    """What `actual` has where `expected` has something: of objects the fields it names, of lists every item."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {field: part(value, actual.get(field)) for field, value in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list):
        return [part(*pair) for pair in zip_longest(expected, actual)]
    return actual


def message(said):
    """A message written as "user: Hi.", or as it is."""
    return dict(zip(("role", "content"), said.split(": ", 1))) if isinstance(said, str) else said


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "log"}'}}
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look at the log."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "disk full"},
    {"role": "assistant", "content": "The disk is full."},
    {"role": "user", "content": [{"type": "text", "text": "Write to ana@example.com"}]},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "What was wrong?"},
    {"role": "assistant", "content": "The disk."},
]


def utterance(name, speaker, text, **more):
    return {"dia_id": name, "speaker": speaker, "text": text, **more}


def locomo(qa, **conversation):
    """A file of the shape of LoCoMo with one conversation of two sessions, three and two utterances long."""
    said = {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1 May",
            "session_1": [utterance("D1:1", "Ana", "The boat is green."), utterance("D1:2", "Ben", "Mine is red."),
                          utterance("D1:3", "Ana", "Look.", blip_caption="a boat on a lake")],
            "session_2_date_time": "2 May",
            "session_2": [utterance("D2:1", "Ben", "I sold it."), utterance("D2:2", "Ana", "To whom?")]}
    return [{"sample_id": "one", "conversation": {**said, **conversation}, "qa": qa}]


def question(evidence, category=4):
    return {"question": "Which colour?", "answer": "green", "evidence": evidence, "category": category}


def longmemeval(**changes):
    session = [{"role": "user", "content": "I moved to Lisbon.", "has_answer": True},
               {"role": "assistant", "content": "How nice."}, {"role": "assistant", "content": "Anything else?"}]
    return [{"question_id": "q1", "question_type": "single-session-user", "question": "Where do I live?",
             "question_date": "2023/05/03 (Wed) 09:30", "haystack_dates": ["2023/05/01 (Mon) 18:05"],
             "haystack_sessions": [session], **changes}]


def labelled_case(name="one", **changes):
    """A case of a set, without facts, on the history of its name."""
    return {"id": name, "split": "dev", "kind": "k", "instructions": "", "current": "Which colour?", "history": name,
            "budget": {"context_limit": 900, "max_new_tokens": 0, "margin": 0}, "required": [], "stale": [], **changes}


def row(case, missing=(), stale=(), total=2, within=True, error=None):
    """A row of an evaluation; with an error one without a grade."""
    grade = {"turns": [0], "notes": 0, "input_tokens": 10, "within_budget": within,
             "required_found": total - len(missing), "required_total": total, "missing": list(missing),
             "stale_included": list(stale)}
    return {"case": case, "split": "dev", "kind": "made up", **({"error": error} if error else grade)}


def report(*rows, **changes):
    """A report of the strategy `recent`, or of the `cases` among the changes, its summary as evaluate.py makes it."""
    made = {"case_set": "made-up.json", "case_set_sha256": "a", "strategies_sha256": "b",
            "tokenizer_manifest_sha256": "c", "environment": {}, "counter": {"model": "m"}, "trials": 1, "grader": "g",
            "summary": {}, "cases": {"recent": list(rows)}, **changes}
    return {**made, "summary": {name: summarize(rows) for name, rows in made["cases"].items()}}
