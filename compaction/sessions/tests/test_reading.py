"""Made sessions give the events, contexts and counts that session-cases.json has beside them, and nothing else."""

import unittest

from base.tests.made import named_cases
from compaction.sessions.tests.made import imported, session

# What a case says nothing of is not there.
NOTHING = {"contexts": [], "unread": {}, "left_out": {}, "noted": {}, "other_files": {}, "stored_again": 0}
NUMBERS = ("conversation_id", "turn", "reply", "kind", "time")


def listed(events):
    """{conversation id: [[turn, reply, kind, content or name, {further fields, but for the time}]]}."""
    conversations = {}
    for event in events:
        said = event.get("content", event.get("name"))
        rest = {field: value for field, value in event.items() if field not in (*NUMBERS, "content", "name")}
        line = [event["turn"], event["reply"], event["kind"], said, *([rest] if rest else [])]
        conversations.setdefault(event["conversation_id"], []).append(line)
    return conversations


class MadeSessions(unittest.TestCase):
    maxDiff = None

    def test_every_case(self):
        for case in named_cases(__file__, "session-cases.json"):
            with self.subTest(case["name"]):
                events, contexts, summary = imported(case["files"], case.get("folder", False))
                read = {"events": listed(events), "formats": [row["format"] for row in summary["by_file"]],
                        "contexts": contexts, **{field: summary[field] for field in NOTHING if field != "contexts"}}
                self.assertEqual(read, NOTHING | {field: case[field] for field in case if field in read})

    def test_times_that_run_backwards_stand_as_they_are(self):
        first, second = session({"user": "go"}, {"user": "stop"})
        events, _, _ = imported({"one.jsonl": [{**first, "timestamp": second["timestamp"]},
                                               {**second, "timestamp": first["timestamp"]}]})
        self.assertEqual([event["time"] for event in events], [second["timestamp"], first["timestamp"]])
