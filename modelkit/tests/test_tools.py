import unittest

from modelkit import tools


def call(tool, **args):
    return {"kind": "call", "tool": tool, "args": args}


class Loop(unittest.TestCase):
    def run_one(self, run, args, given, replies=None):
        """The result of one call of a tool that runs `run`."""
        registry = {"tool": {"args": args, "run": run}}
        written = iter(replies or [call("tool", **given), {"kind": "final", "text": "done"}])
        return tools.run_agent("Task.", lambda *_: next(written), registry)["transcript"][0]

    def test_a_tool_that_raises_is_an_observation(self):
        def fail():
            raise RuntimeError("no disk")

        self.assertEqual(self.run_one(fail, {}, {})["result"], "ERROR: RuntimeError: no disk")

    def test_a_result_that_is_no_text_becomes_text_and_one_that_cannot_is_an_error(self):
        class Unprintable:
            def __str__(self):
                raise TypeError("no text")

        self.assertEqual(self.run_one(lambda: None, {}, {})["result"], "None")
        self.assertEqual(self.run_one(lambda: [1, 2], {}, {})["result"], "[1, 2]")
        self.assertEqual(self.run_one(Unprintable, {}, {})["result"], "ERROR: TypeError: no text")

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

    def test_the_same_call_again_runs_again_and_counts_a_step(self):
        runs = []
        result = tools.run_agent("Task.", lambda *_: call("tool"),
                                 {"tool": {"args": {}, "run": lambda: runs.append(1)}}, max_steps=3)
        self.assertEqual((len(runs), result["steps"], result["stopped"], result["answer"]), (3, 3, "step limit", None))

    def test_an_answer_at_the_last_step_counts(self):
        result = tools.run_agent("Task.", lambda *_: {"kind": "final", "text": ""}, {}, max_steps=1)
        self.assertEqual(result, {"answer": "", "steps": 1, "stopped": "answered", "transcript": []})

    def test_no_steps_are_refused(self):
        for steps in (0, True, 1.5, None):
            with self.assertRaisesRegex(ValueError, "max_steps"):
                tools.run_agent("Task.", None, {}, steps)

    def test_a_stop_by_the_user_is_not_told_to_the_model(self):
        def stop():
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.run_one(stop, {}, {})


class Registry(unittest.TestCase):
    def test_types_are_written_by_name_however_they_were_given(self):
        text = tools.tool_manifest({"f": {"args": {"a": int, "b": "str"}}, "g": {"args": {}, "description": "go"}})
        self.assertEqual(text, "TOOLS YOU MAY CALL:\n- f(a: int, b: str)\n- g() - go")

    def test_an_unknown_tool_names_those_there_are(self):
        self.assertEqual(tools.check_call("f", {}, {}), ["there is no tool called 'f'; available: none"])

    def test_every_problem_of_a_call_is_told_at_once(self):
        self.assertEqual(tools.check_call("f", {"a": "1", "c": 2}, {"f": {"args": {"a": "int", "b": "str"}}}),
                         ["f.a must be of type int, got '1'", "f needs an argument called b",
                          "f does not take an argument called c"])
