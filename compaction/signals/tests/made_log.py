"""A generated event log for measuring signals.py on: a double, no recorded conversation stands in it.

Run:  python -m compaction.signals.tests.made_log 1000000 > log.local.jsonl
Conversations of some 40 to 400 events, one after the other, with calls that repeat, files that are written between,
compactions and messages that say again what was said. The same number and seed give the same log.
"""

import argparse
import json
import random
import sys

from base.command import run_command

RULES = ("never push to the {} branch without asking", "keep the {} table as it is until the audit is over",
         "use the staging copy of {} for every test", "write the report on {} in plain English, two pages at most")
WORK = ("look at {} and say what it does", "the {} test is slow, find out why", "add a case for {}",
        "rename {} where it is used")
NAMES = ("billing", "ledger", "session", "gateway", "import", "archive", "mailer", "search", "calendar", "invoice")


def generate_log(events, seed=0):
    """Yield `events` event dicts of generated conversations; the last one is cut where the number is reached."""
    chance, number, made = random.Random(seed), 0, 0
    while made < events:
        number += 1
        for event in conversation(f"generated-{number:07d}", chance):
            if made == events:
                return
            made += 1
            yield event


def conversation(name, chance):
    """The events of one generated conversation."""
    subjects = chance.sample(NAMES, 4)
    rule = chance.choice(RULES).format(subjects[0])
    reply = calls = 0
    for turn in range(1, chance.randint(5, 24)):
        words = (rule
                 if turn in (1, 17)
                 else chance.choice(WORK).format(f"{chance.choice(subjects)}_{chance.randint(1, 40)}.py"))
        yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "user", "content": words}
        for _ in range(chance.randint(1, 5)):
            reply += 1
            calls += 1
            at = {"conversation_id": name, "turn": turn, "reply": reply}
            yield {**at, "kind": "tool_call", **call(chance, subjects), "call_id": f"c{calls}"}
            yield {**at, "kind": "tool_result", "content": f"{chance.randint(1, 3)} lines", "call_id": f"c{calls}"}
        reply += 1
        yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "assistant",
               "content": "Done; the tests pass."}
        if turn in (8, 15):
            yield {"conversation_id": name, "turn": turn, "reply": reply, "kind": "compaction",
                   "content": f"The user works on {words}."}


def call(chance, subjects):
    path = f"src/{chance.choice(subjects)}_{chance.randint(1, 40)}.py"
    kind = chance.random()
    if kind < 0.6:
        return {"name": "read", "arguments": {"path": path, "limit": chance.choice((200, 200.0))}}
    if kind < 0.8:
        return {"name": "edit", "arguments": {"path": path, "new_text": f"value = {chance.randint(1, 999)}"}}
    return {"name": "bash",
            "arguments": {"command": chance.choice(("git status", f"python -m unittest {path}", "ls src"))}}


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python -m compaction.signals.tests.made_log 1000 --seed 1 > log.local.jsonl",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int, help="how many events")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if args.events < 1:
        parser.error("events: give a whole number from 1")
    for event in generate_log(args.events, args.seed):
        sys.stdout.write(json.dumps(event) + "\n")
    return 0


if __name__ == "__main__":
    run_command(main)
