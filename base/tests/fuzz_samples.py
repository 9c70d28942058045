"""Valid input of every kind that a command reads, small and made up, and the targets: which command is run on which.

SAMPLES  name of a file -> a function that gives its bytes; the name stands in a target's words as {name}
TARGETS  command lines; a {name} that is no sample is a place to write to
NO_FILES why a command has no target
NEVER    exit statuses that no mutant may give a command: the unchanged input is a no
"""

import json
import tempfile
from functools import lru_cache
from pathlib import Path

from base.tests.made import run

ROOT = Path(__file__).parents[2]
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": {"path": "plan.md"}}}
HISTORY = [
    {"id": "t1", "user": "We decided to use the red one.", "assistant": "Noted."},
    {"id": "t2", "user": "Read the plan.", "assistant": "It says Friday.",
     "messages": [{"role": "assistant", "content": "", "tool_calls": [CALL]},
                  {"role": "tool", "tool_call_id": "c1", "content": "cutover on Friday"}]},
    {"id": "t3", "user": "Now we use the blue one.", "assistant": "Blue it is."},
]
SMALL = "--context-limit 420 --max-new-tokens 64 --margin 16"
BUDGET = {"context_limit": 384, "max_new_tokens": 96, "margin": 32}


def as_json(value):
    return json.dumps(value, indent=1).encode()


def as_lines(values):
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def case(number, **changes):
    return {"id": f"case-{number}", "split": "held_out" if number % 2 else "dev", "kind": "made up",
            "instructions": "Be brief.", "current": "Which one do we use?", "history": HISTORY, "budget": BUDGET,
            "required": ["the blue one", {"turn": "t2", "text": "Friday"}],
            "stale": [{"turn": "t1", "text": "the red one"}], **changes}


def cases():
    return as_json([case(1), case(2)])


def shared_cases():
    of_set = [case(number, history="h", required=[{"turn": "t3", "text": "blue"}]) for number in (1, 2)]
    return as_json({"format": 1, "histories": {"h": HISTORY}, "cases": of_set})


@lru_cache
def recorded(name):
    return (ROOT / name).read_bytes()


def report():
    """The recorded report, cut to two strategies and three cases, its summary made again."""
    from evaluate import summarize

    value = json.loads(recorded("evaluation-result.json"))
    rows = {name: value["cases"][name][:3] for name in ("recent", "notes")}
    return as_json({**value, "summary": {name: summarize(of_name) for name, of_name in rows.items()}, "cases": rows})


def worse_report():
    """The same report with one fact of `notes` lost: a gate has to block it, whatever else is changed in one place."""
    from evaluate import summarize

    value = json.loads(report())
    row = next(row for row in value["cases"]["notes"] if row["required_found"])
    facts = {case["id"]: case["required"] for case in json.loads(recorded("cases.json"))}[row["case"]]
    row["missing"] = facts
    row["required_found"] = 0
    return as_json({**value, "summary": {name: summarize(rows) for name, rows in value["cases"].items()}})


def answers():
    """The published recording cut to one strategy and two seeds."""
    value = json.loads(recorded("answer-result.json"))
    kept = {"recent": {case: entries[:2] for case, entries in value["answers"]["recent"].items()}}
    return as_json({**value, "answers": kept})


def fixture():
    from compaction.tests.doubles import small_fixture

    return as_json(small_fixture())


@lru_cache
def result():
    """What a check of that fixture records."""
    from compaction.check import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fixture.json"
        path.write_bytes(fixture())
        words = f"--compactor recent --against notes {SMALL} --fixtures {path}"
        return run(main, *words.split())[1].encode()


def events():
    def event(turn, reply, kind, content="text", **more):
        told = {"content": content} if kind != "tool_call" else {"name": "read", "arguments": {"path": "a"}}
        return {"conversation_id": "s-1", "turn": turn, "reply": reply, "kind": kind, **told, **more}

    return as_lines([
        event(1, 0, "user", "Never push to main. Write the report by Monday."),
        event(1, 1, "tool_call", call_id="c1"), event(1, 1, "tool_result", call_id="c1"),
        event(1, 2, "assistant", "I will write it."), event(1, 2, "compaction", "The user wants a report."),
        event(2, 2, "user", "As I said, never push to main."),
        event(2, 3, "tool_call", call_id="c2"), event(2, 3, "tool_result", call_id="c2")])


def contexts():
    messages = [{"role": "system", "content": "Do not push to main. The cutover is on Sunday."},
                {"role": "user", "content": "Go on."}]
    return as_lines([{"conversation_id": "small", "compaction": 1, "turn": 12, "messages": messages}])


def chat():
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "The disk is /srv."},
                {"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Which disk?"}]
    return as_lines([{"id": "a", "messages": messages}, {"id": "b", "messages": messages}])


def messages():
    return as_json(json.loads(chat().split(b"\n")[0])["messages"])


def locomo():
    from workbench.tests.made import locomo, question

    return as_json(locomo([question(["D1:1"])]))


def longmemeval():
    from workbench.tests.made import longmemeval

    return as_json(longmemeval())


def claude():
    def line(number, kind, content):
        return {"type": kind, "uuid": f"u{number}", "sessionId": "s-1", "isSidechain": False,
                "timestamp": f"2026-02-03T10:00:0{number}.000Z",
                "message": {"id": f"m{number}", "role": kind, "content": content}}

    use = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"}}
    return as_lines(
        [line(1, "user", "Never push to main."), line(2, "assistant", [{"type": "text", "text": "I will not."}, use]),
         line(3, "user", [{"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}]), line(4, "user", "Go on.")]
    )


def codex():
    def line(kind, **payload):
        return {"timestamp": "2026-02-03T10:00:00.000Z", "type": kind, "payload": payload}

    words = [{"type": "output_text", "text": "Done."}]
    return as_lines(
        [line("session_meta", id="s-2", cwd="/x"), line("event_msg", type="user_message", message="Look."),
         line("response_item", type="message", role="assistant", content=words),
         line("response_item", type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
         line("response_item", type="function_call_output", call_id="c1", output="a.py")])


def gemini():
    call = {"id": "c1", "name": "read", "args": {"path": "a.py"},
            "result": [{"functionResponse": {"id": "c1", "response": {"output": "x = 1"}}}]}
    return as_json({"sessionId": "s-3", "projectHash": "h", "messages": [
        {"id": "1", "type": "user", "content": "Look."},
        {"id": "2", "type": "gemini", "content": "Done.", "toolCalls": [call]}]})


def items():
    return as_json({"items": [{"conversation_id": "s-1", "id": "s-1-1", "class": "constraint", "turn": 1,
                               "literal": "Never push to main", "probe": "May one push to main?", "expect": "No."}]})


def small_tokenizer():
    """A tokenizers file of a few words, which no model has."""
    words = {word: number for number, word in enumerate(["<unk>", "user", "assistant", "a", "b"])}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"}
    return as_json({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                    "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": model})


def template():
    return b"{% for message in messages %}{{ message['role'] }} {{ message['content'] }}\n{% endfor %}assistant"


LINES = (events, contexts, chat, claude, codex)
SAMPLES = {f"{make.__name__}.json{'l' * (make in LINES)}": make for make in (
    *LINES, cases, shared_cases, report, worse_report, answers, fixture, result, messages, locomo, longmemeval, gemini,
    items)}
SAMPLES |= {
    "pin/tokenizer.json": small_tokenizer,
    "pin/chat_template.jinja": template,
    "gates.json": lambda: as_json({"constraint": 0.9, "contradictions": 0}),
    "allow.json": lambda: as_json(
        [{"strategy": "notes", "case": "held-pronoun", "change": "lost", "fact": "x", "why": "meant"}]),
    "verdicts.jsonl": lambda: as_lines(
        [{"key": "0" * 64, "judge": {"model": "m"}, "verdict": "absent", "answer": "No.", "problems": []}]),
    "keys.json": lambda: recorded("answer-keys.json"),
    "labels.json": lambda: recorded("compaction/judge/labels.json"),
    "other_answers.json": answers,
    "recorded.json": lambda: recorded("evaluation-result.json"),
}
TARGETS = """
evaluate --cases {cases.json}
evaluate --cases {shared_cases.json} --strategies recent,notes,near --budget 200,300
evaluate --cases {cases.json} --explain case-1
answer_check --recording {answers.json} --keys {keys.json}
answer_check attribution --recording {answers.json} --report {recorded.json}
answer_check compare {answers.json} {other_answers.json}
workbench.compare {report.json} {worse_report.json}
workbench.compare {report.json} {worse_report.json} --allow {allow.json} --junit {out.xml}
workbench.report {report.json}
workbench.report {result.json}
workbench.report --markdown {worse_report.json}
workbench.survey {chat.jsonl} --strategies recent,notes --budget 200
workbench.import_cases chat {chat.jsonl} --mask
workbench.import_cases locomo {locomo.json}
workbench.import_cases longmemeval {longmemeval.json}
workbench.label_cases {shared_cases.json} {labelled.json}
workbench.adapter {messages.json} --budget 200
workbench.retrieval_table {shared_cases.json} --strategies bm25,near
compaction.check --compactor recent --against notes SMALL --fixtures {fixture.json}
compaction.check --compactor notes --against {result.json} SMALL --fixtures {fixture.json}
compaction.check --contexts {contexts.jsonl} --fixtures {fixture.json} --record {kept.json}
compaction.check --contexts {contexts.jsonl} --fixtures {fixture.json} --gates {gates.json} --verdicts {verdicts.jsonl}
compaction.fixtures {fixture.json}
compaction.fixtures.annotate propose {events.jsonl}
compaction.fixtures.rank {events.jsonl}
compaction.fixtures.from_sessions {events.jsonl} {items.json} --output {made}
compaction.replay --compactor notes --agent DOUBLES:shipped_forgetful_agent SMALL --fixtures {fixture.json}
compaction.judge --judge DOUBLES:overlap_judge --labels {labels.json} --repeats 1
compaction.sessions {claude.jsonl} --output {log.jsonl}
compaction.sessions {codex.jsonl} --output {log.jsonl}
compaction.sessions {gemini.json} --output {log.jsonl}
compaction.sessions {chat.jsonl} --output {log.jsonl}
compaction.signals {events.jsonl}
tokenizer {messages.json}
prepare --model my/model --manifest {pinned.json} --from {pin}
""".replace("SMALL", SMALL).replace("DOUBLES", "compaction.tests.doubles").strip().splitlines()
NO_FILES = {
    "answer_model": "asks a server; its readers are fuzzed by the answers' own tests",
    "workbench.bench": "generates what it measures",
}
NEVER = {"workbench.compare": (0,)}
