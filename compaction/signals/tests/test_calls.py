"""Tests of signals/calls.py: which calls are equal, which repeats are hits, and of what kind."""

import unittest

from compaction.signals.calls import Calls, call_digest, is_poll, is_write, result_digest, targets


class Log:
    """A conversation that is written call by call; each call is a reply of its own unless told."""

    def __init__(self, turns=5):
        self.calls, self.turn, self.reply, self.n = Calls(turns), 1, 0, 0

    def call(self, name, arguments, result="ok", **fields):
        self.n, self.reply = self.n + 1, self.reply + 1
        at = {"turn": self.turn, "reply": self.reply, "call_id": f"c{self.n}", **fields}
        self.calls.tool_call({**at, "name": name, "arguments": arguments})
        if result is not None:
            self.calls.tool_result({**at, "content": result})
        return self

    def compact(self):
        self.calls.compaction({"turn": self.turn, "reply": self.reply})
        return self

    def kinds(self):
        return [hit["kind"] for hit in self.calls.end()]


READ = ("read", {"path": "src/a.py"})


class EqualArguments(unittest.TestCase):
    def test_order_of_keys_and_number_form_make_no_difference(self):
        for one, other in (({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"n": 1}, {"n": 1.0}), ({"n": [1e3]}, {"n": [1000]}),
                           ({"n": 0}, {"n": -0.0}), ({"x": {"a": 1, "b": [2.0]}}, {"x": {"b": [2], "a": 1}}),
                           ('{"a": 1}', {"a": 1.0}), ('{"a": 1, "b": 2}', '{"b":2,"a":1}')):
            self.assertEqual(call_digest("f", one), call_digest("f", other), (one, other))

    def test_another_type_or_value_is_another_call(self):
        for one, other in (({"n": 1}, {"n": "1"}), ({"n": True}, {"n": 1}), ({"n": False}, {"n": 0}),
                           ({"n": None}, {"n": 0}), ({"n": None}, {}), ({"n": "true"}, {"n": True}), ([1, 2], [2, 1]),
                           ({"n": 1.5}, {"n": 1}), ("ls", "ls "), ({"n": 2**53}, {"n": 2**53 + 1}),
                           ("[broken", ["broken"]), ("{ not json", "{not json")):  # a program
            self.assertNotEqual(call_digest("f", one), call_digest("f", other), (one, other))
        self.assertNotEqual(call_digest("f", {}), call_digest("g", {}))

    def test_arguments_nested_too_deep_to_write_are_like_no_other_and_end_nothing(self):
        deep = None
        for _ in range(100_000):
            deep = [deep]
        call = ("f", {"x": deep})
        self.assertIsNone(call_digest(*call))
        self.assertEqual(Log().call(*call).compact().call(*call).kinds(), [])

    def test_a_result_is_unchanged_whatever_the_moment_says(self):
        self.assertEqual(result_digest("Chunk ID: a1\nWall time: 0.1 seconds\nOutput:\nx"),
                         result_digest("Chunk ID: b2\nWall time: 9 seconds\nOutput:\nx"))
        self.assertEqual(result_digest("ok  \tpkg\t0.31s"), result_digest("ok  \tpkg\t4.02s"))
        self.assertNotEqual(result_digest("Output:\nx"), result_digest("Output:\ny"))


class Hits(unittest.TestCase):
    def test_a_call_made_again_after_a_compaction_with_the_same_result_is_idle(self):
        log = Log().call(*READ).compact().call(*READ)
        hit = log.calls.end()[0]
        self.assertEqual((hit["kind"], hit["result"], hit["made_before_compaction"]), ("idle", "unchanged", True))
        self.assertEqual((hit["earlier"], hit["turns_after"]), ({"turn": 1, "reply": 1}, 0))

    def test_without_a_compaction_before_it_no_repeat_is_a_hit(self):
        self.assertEqual(Log().call(*READ).call(*READ).kinds(), [])

    def test_a_file_that_was_written_in_between_makes_it_innocent_and_another_file_does_not(self):
        for path, kind in (("src/a.py", "written between"), ("/repo/src/a.py", "written between"), ("src/b.py", "idle"),
                           ("src/aa.py", "idle")):
            log = Log().call(*READ).call("edit", {"path": path, "new_text": "x"}).compact().call(*READ)
            self.assertEqual(log.kinds(), [kind], path)

    def test_writes_before_the_earlier_call_do_not_count(self):
        self.assertEqual(Log().call("edit", {"path": "src/a.py"}).call(*READ).compact().call(*READ).kinds(), ["idle"])

    def test_a_write_after_the_compaction_counts(self):
        self.assertEqual(
            Log().call(*READ).compact().call("edit", {"path": "src/a.py"}).call(*READ).kinds(), ["written between"])

    def test_a_patch_writes_the_files_that_it_names(self):
        patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** End Patch"
        self.assertEqual(
            Log().call(*READ).compact().call("apply_patch", patch).call(*READ).kinds(), ["written between"])

    def test_a_command_may_read_anything_so_any_write_counts(self):
        tests = ("bash", {"command": "go test ./..."})
        self.assertEqual(
            Log().call(*tests).compact().call("edit", {"path": "z.go"}).call(*tests).kinds(), ["written between"])
        self.assertEqual(Log().call(*tests).compact().call(*tests).kinds(), ["idle"])

    def test_a_file_that_a_command_wrote_in_between_was_written(self):
        for command in ("sed -i s/1/2/ src/a.py", "cd src && mv b.py a.py", "git checkout -- src/a.py"):
            log = Log().call(*READ).compact().call("bash", {"command": command}).call(*READ)
            self.assertEqual(log.kinds(), ["written between"], command)
        for command in ("rm build/out.bin", "cat src/a.py"):
            log = Log().call(*READ).compact().call("bash", {"command": command}).call(*READ)
            self.assertEqual(log.kinds(), ["idle"], command)

    def test_an_editor_tool_that_shows_a_file_reads_that_file_alone(self):
        show = ("str_replace_editor", {"command": "view", "path": "src/a.py"})
        for path, kind in (("src/b.py", "idle"), ("src/a.py", "written between")):
            edit = ("str_replace_editor", {"command": "str_replace", "path": path, "new_str": "x"})
            self.assertEqual(Log().call(*show).compact().call(*edit).call(*show).kinds(), [kind])

    def test_a_repeat_of_a_call_first_made_after_the_compaction_is_told_apart(self):
        log = Log().call("ls", {}).compact()
        for log.turn in (3, 6):
            log.call(*READ)
        self.assertEqual([hit["made_before_compaction"] for hit in log.calls.end()], [False])

    def test_a_changed_or_unknown_result_is_not_idle(self):
        self.assertEqual(Log().call(*READ, "1").compact().call(*READ, "2").kinds(), ["result changed"])
        self.assertEqual(Log().call(*READ, "1").compact().call(*READ, None).kinds(), ["result unknown"])
        self.assertEqual(Log().call(*READ, None).compact().call(*READ, "1").kinds(), ["result unknown"])

    def test_polls_are_told_apart(self):
        for call in (("BashOutput", {"bash_id": "1"}), ("bash", {"command": "git status --short"}),
                     ("exec_command", {"cmd": "cd x && git --no-pager log -1"}),
                     ("write_stdin", {"session_id": 3, "chars": ""}),
                     ("bash", {"command": "sleep 5; kubectl get pods"})):
            self.assertEqual(Log().call(*call).compact().call(*call).kinds(), ["poll"], call)

    def test_a_call_that_only_waits_is_a_poll_by_its_shape_and_one_that_says_what_to_do_is_not(self):
        for name, arguments in (("read_terminal", {"terminal_id": "3", "timeout_ms": 500}),
                                ("custom_wait", {"task_id": "t", "block": True}),
                                ("peek", {"processId": 7, "max_output": 5})):
            self.assertTrue(is_poll(name, arguments), arguments)
        for name, arguments in (("send_input", {"session_id": 3, "chars": "y"}), ("read", {"path": "a", "offset": 3}),
                                ("list", {}), ("run", {"command": "ls", "timeout": 3})):
            self.assertFalse(is_poll(name, arguments), arguments)

    def test_a_call_that_was_repeated_unchanged_with_no_compaction_near_is_a_poll_after_one_as_well(self):
        ask = ("check", {"what": "queue"})
        self.assertEqual(Log().call(*ask).call(*ask).compact().call(*ask).kinds(), ["poll"])
        self.assertEqual(Log().call(*ask, "1").call(*ask, "2").compact().call(*ask, "2").kinds(), ["idle"])
        self.assertEqual(Log().call(*ask).compact().call(*ask).call(*ask).kinds(), ["idle", "idle"])

    def test_the_fifth_turn_after_is_inside_and_the_sixth_is_not(self):
        for turn, hits in ((6, 1), (7, 0)):
            log = Log().call(*READ).compact()
            log.turn, log.reply = turn, 9
            self.assertEqual(len(log.call(*READ).calls.end()), hits)

    def test_a_result_joins_the_last_call_of_an_id_that_was_used_again(self):
        log = Log()
        log.call(*READ, "1", call_id="c").call("ls", {}, "2", call_id="c").compact().call(*READ, "1", call_id="c")
        self.assertEqual(log.kinds(), ["idle"])

    def test_history_that_a_fork_copied_is_no_hit_and_not_counted(self):
        log = Log().call(*READ).compact().call(*READ, copied=True)
        self.assertEqual(log.kinds(), [])
        self.assertFalse(log.calls.shares()["after"])


class Control(unittest.TestCase):
    def counts(self, log):
        log.calls.end()
        return {side: [counted["repeats"], counted["calls"]] for side, counted in log.calls.shares().items()}

    def test_calls_far_from_a_compaction_are_the_control_and_the_first_window_is_not(self):
        log = Log(turns=2)
        for log.turn in range(1, 9):
            log.call(*READ)
        self.assertEqual(self.counts(log), {"after": [0, 0], "control": [6, 6]})

    def test_a_window_that_a_compaction_falls_into_is_no_control(self):
        log = Log(turns=2)
        for log.turn in range(1, 5):
            log.call(*READ)
        log.compact()
        self.assertEqual(self.counts(log)["control"], [0, 0])

    def test_the_window_after_a_compaction_ends_and_control_begins_again(self):
        log = Log(turns=2).call(*READ).compact()
        for log.turn in range(2, 6):
            log.call(*READ)
        self.assertEqual(self.counts(log), {"after": [2, 2], "control": [2, 2]})

    def test_turns_without_calls_move_the_control_window_on(self):
        log = Log(turns=2).call(*READ)
        log.turn = 100
        log.call(*READ).call("ls", {})
        self.assertEqual(self.counts(log)["control"], [1, 2])


class Shapes(unittest.TestCase):
    def test_targets_of_the_forms_that_tools_use(self):
        self.assertEqual(targets({"file_path": "a"}), ["a"])
        self.assertEqual(targets({"files": [{"path": "a"}, {"path": "b"}]}), ["a", "b"])
        self.assertEqual(targets({"paths": "a"}), ["a"])
        self.assertEqual(targets("--- a/x.py\n+++ b/x.py"), ["x.py", "x.py"])
        for value in (None, 7, [], {}, {"path": None}, {"path": 3}, "ls"):
            self.assertEqual(targets(value), [], value)

    def test_what_writes_and_what_only_looks_like_it(self):
        for name, arguments in (("Write", {"file_path": "a"}), ("bash", {"command": "echo x > a"}),
                                ("bash", {"command": "sed -i s/a/b/ f"}), ("functions.apply_patch", "x"),
                                ("bash", {"command": "git checkout main"}),
                                ("str_replace_editor", {"command": "create", "path": "a"})):
            self.assertTrue(is_write(name, arguments), (name, arguments))
        for name, arguments in (("Read", {"file_path": "a"}), ("bash", {"command": "grep -rn 'a' src 2>/dev/null"}),
                                ("bash", {"command": "ls 2>&1"}),
                                ("str_replace_editor", {"command": "view", "path": "a"}),
                                ("bash", {"command": "cat a | head"}), ("f", None)):
            self.assertFalse(is_write(name, arguments), (name, arguments))

    def test_the_end_of_a_pipe_and_a_file_named_status_are_no_polls(self):
        self.assertTrue(is_poll("bash", {"command": "tail -n 20 run.log"}))
        for name, arguments in (("bash", {"command": "rg -n parse src | tail -n 20"}), ("read", {"path": "status"}),
                                ("bash", {"command": "cat git status.md"})):
            self.assertFalse(is_poll(name, arguments), arguments)
