import unittest

from modelkit import tools


def call(tool, **args):
    return {"kind": "call", "tool": tool, "args": args}


class Unprintable:
    def __str__(self):
        raise TypeError("no text")


def stop(error):
    raise error


class Loop(unittest.TestCase):
    def run_one(self, run, args, given, replies=None):
        """The result of one call of a tool that runs `run`."""
        registry = {"tool": {"args": args, "run": run}}
        written = iter(replies or [call("tool", **given), {"kind": "final", "text": "done"}])
        return tools.run_agent("Task.", lambda *_: next(written), registry)["transcript"][0]

    def test_what_a_tool_gives_becomes_text_and_what_it_raises_an_observation(self):
        for run, result in ((lambda: None, "None"), (lambda: [1, 2], "[1, 2]"),
                            (Unprintable, "ERROR: TypeError: no text"),
                            (lambda: stop(RuntimeError("no disk")), "ERROR: RuntimeError: no disk")):
            self.assertEqual(self.run_one(run, {}, {})["result"], result)
        with self.assertRaises(KeyboardInterrupt):  # a stop by the user is not told to the model
            self.run_one(lambda: stop(KeyboardInterrupt()), {}, {})

    def test_a_tool_that_changes_its_arguments_changes_no_record(self):
        given = {"items": [1]}
        entry = self.run_one(lambda items: items.clear(), {"items": list}, given)
        self.assertEqual((entry["args"], given), ({"items": [1]}, {"items": [1]}))

    def test_a_model_that_changes_the_transcript_changes_no_record(self):
        def model(_, transcript):
            transcript.append("forged")
            return call("tool")

        result = tools.run_agent("Task.", model, {"tool": {"args": {}, "run": lambda: "ok"}}, max_steps=2)
        self.assertEqual([entry["result"] for entry in result["transcript"]], ["ok", "ok"])

    def test_an_invalid_call_never_reaches_its_tool(self):
        reached = []
        for args, given in (({"n": int}, {"n": True}), ({"n": int}, {"n": "1"}), ({"n": int}, {}),
                            ({}, {"extra": 1}), ({"n": float}, {"n": False})):
            entry = self.run_one(lambda **_: reached.append(1), args, given)
            self.assertTrue(entry["result"].startswith("ERROR: "))
        self.assertEqual(reached, [])

    def test_a_reply_of_no_known_kind_or_a_call_without_name_or_arguments_is_told_to_the_model(self):
        unknown = None, "final", {}, {"kind": "final"}, {"kind": "final", "text": 3}, {"kind": "guess"}
        calls = ({}, {"tool": ["tool"], "args": {}}, {"tool": "tool", "args": [1]}, {"tool": "tool"})
        for reply in (*unknown, *({"kind": "call", **call} for call in calls)):
            entry = self.run_one(lambda: "ok", {}, {}, [reply, {"kind": "final", "text": "done"}])
            self.assertTrue(entry["result"].startswith("ERROR: reply with a call" if reply in unknown else "ERROR: "))

    def test_the_limit_of_steps_ends_the_loop_and_not_an_answer_at_the_last_one(self):
        runs, registry = [], {"tool": {"args": {}, "run": lambda: runs.append(1)}}
        result = tools.run_agent("Task.", lambda *_: call("tool"), registry, max_steps=3)
        self.assertEqual((len(runs), result["steps"], result["stopped"], result["answer"]), (3, 3, "step limit", None))
        result = tools.run_agent("Task.", lambda *_: {"kind": "final", "text": ""}, {}, max_steps=1)
        self.assertEqual(result, {"answer": "", "steps": 1, "stopped": "answered", "transcript": []})
        for steps in (0, True, 1.5, None):
            with self.assertRaisesRegex(ValueError, "max_steps"):
                tools.run_agent("Task.", None, {}, steps)

    def test_types_are_written_by_name_however_they_were_given(self):
        text = tools.tool_manifest({"f": {"args": {"a": int, "b": "str"}}, "g": {"args": {}, "description": "go"}})
        self.assertEqual(text, "TOOLS YOU MAY CALL:\n- f(a: int, b: str)\n- g() - go")
