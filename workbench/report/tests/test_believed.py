"""What the page could believe: fields that say less was lost than the rest of a result tells."""

import copy

from base.command import read_json
from compaction.replay.__main__ import differences, summarize
from compaction.signals.__main__ import concluded
from workbench.compare import compare, decide, paired
from workbench.report.__main__ import main
from workbench.report.tests.made import REPLAY, RESULTS, RULE, SIGNALS, SURVEY, Pages, changed
from workbench.tests.made import report, row


class Believed(Pages):
    def refused_each(self, result, edits, again=lambda result: result):
        """A result is shown, and refused after each of the edits, what follows from them made again."""
        self.made(result)
        for changes in edits:
            with self.subTest(changes):
                self.refused("does not follow|not as .* writes it", main,
                             self.write("edited.json", again(changed(result, changes))))

    BEFORE = [row("a"), row("b", ["x"]), row("c", [], ["old"]), row("d"), row("e", ["x"]), row("f", [], ["old"]),
              row("g", ["x"], ["old"])]
    AFTER = [row("a", ["x"]), row("b", [], ["old"]), row("c"), row("d", ["y"], ["old"]), row("e", ["x"]),
             row("f", ["x"], ["old"]), row("g", ["x"], ["old"])]

    def test_what_a_gate_says_of_its_changes_is_believed(self):
        entry = {"change": "lost", "strategy": "recent", "case": "d", "fact": "y", "why": "meant"}
        gate = compare(report(*self.BEFORE), report(*self.AFTER), allowed=[entry, {**entry, "case": "gone"}])
        figures, unused = "results/0/paired/", gate["allowed_unused"]
        self.refused_each(gate, [
            {"results": [], "blocking": [], "decision": "safe", "allowed": []}, {"blocking": []},
            {"allowed/0/why": None}, {"allowed/0/why": " "}, {"allowed_unused": gate["allowed"]},
            {"allowed": gate["allowed"] + unused}, {"smallest_difference/cases": 5},
            {"smallest_difference/within_reach": False}, {figures + "more": {}}, {figures + "facts/found_fresh": 14},
            {figures + "cases/mcnemar_p": 0.01}, {"results/0/not_graded": None}, {figures + "facts/total": -14},
            {figures + "facts/total": 5}, {figures + "facts/interval_fresh": [0.9, 1.0]}, {figures + "cases/lost": 0}])

    def test_what_a_gate_counts_could_not_come_of_its_changes(self):
        gate = compare(report(*self.BEFORE), report(*self.AFTER))
        (result, ), true, stale = gate["results"], (7, 4, 3, 1), "results/0/stale_cases/"

        def counted(cases, facts=(14, 11, 3, 1)):
            return {"results/0/paired/cases": paired(*cases), "results/0/paired/facts": paired(*facts)}

        def again(result):
            return {**result, **decide(result["results"], [])}

        self.assertEqual(changed(gate, counted(true)), gate)
        self.refused_each(gate, [
            {"results/0/lost": []}, {"results/0/not_graded": ["a"]},
            {"results": [result, {**result, "not_graded": ["z"]}]},
            # cases that cannot have changed as their facts did, or that are complete without their facts
            counted((5, 4, 3, 1)), counted((7, 4, 4, 1)), counted((7, 4, 3, 2), (14, 12, 3, 1)), counted((7, 4, 1, 0)),
            counted((7, 6, 3, 1)), counted((7, 6, 3, 1), (14, 13, 3, 1)), counted(true, (14, 11, 0, 1)),
            counted(true, (14, 11, 3, 0)), counted(true, (14, 12, 3, 1)), counted(true, (6, 3, 3, 1)),
            {**counted((7, 3, 2, 1), (14, 10, 2, 1)), "results/0/lost": result["lost"][:2]},
            # a stale fact that came, stayed or went where the lists of stale cases say otherwise
            {"results/0/stale": []}, {"results/0/stale gone": []}, {stale + "fresh/alone": ["f", "g"]},
            {stale + "recorded/replaced": ["f"]}, {stale + "fresh/replaced": ["b", "d"]},
            {stale + "fresh/alone": ["b", "d", "f", "g"]}, {stale + "fresh/alone": ["f", "g"],
                                                           stale + "fresh/replaced": ["b", "d"]},
            {stale + "recorded/replaced": [*"abcdef"]}], again)
        self.refused_each(compare(report(*self.BEFORE[:2]), report(row("a", ["x"]), row("b"))),
                          [counted((2, 1, 0, 0), (4, 2, 1, 1))], again)  # lost and gained, but no case changed
        self.refused_each(compare(report(row("a")), report(row("a"))), [
            counted((0, ) * 4, (0, ) * 4), counted((1, 1, 0, 0), (2, 1, 0, 0))], again)

    def test_what_a_replay_says_of_its_runs_is_believed(self):
        made, other = REPLAY, {**REPLAY["rows"][0], "conversation_id": "other"}
        run, compacted = "rows/0/reference_run/", "rows/0/compacted_run/"

        def counted(result):
            return {**result, "summary": summarize(result["rows"])}

        def again(result):
            return counted({**result, "rows": [row | differences(row) for row in result["rows"]]})

        self.made(again(changed(made, {"rows/0/reference": "accepted trace", run + "probe_calls": {}, run + "checks": {
            "port": "accepted", "disk": "accepted"}})))
        self.refused_each(made, [{"summary/items/lost": 0}, {"summary/failed": False}, {"rows/0/outcome": None}])
        self.refused_each(made, [
            {"rows/0/outcome": "same"}, {"rows/0/pairs/port": "same"}, {"rows/0/calls_differ": False},
            {compacted + "checks/port": None, "rows/0/pairs/port": None}], counted)
        self.refused_each(made, [
            {"rows/0/reference": "none"}, {"rows/0/reference": "accepted trace"}, {"rows/0/failed": True},
            {compacted + "checks/port": "kept"}, {compacted + "checks/port": "accepted"},
            {compacted + "checks/port": "opaque"}, {run + "checks/port": "accepted"}, {"rows": []},
            {"rows": made["rows"] * 2, "fixtures/conversations": 2}, {"rows": made["rows"] + [other]},
            {"rows": [], "fixtures/conversations": 0}], again)

    def test_what_signals_say_of_their_evidence_is_believed(self):
        self.refused_each(SIGNALS, [
            {"repeats/sign_test_p": 0.01}, {"repeats/hits": 0}, {"repeats/kinds": {"poll": 1}},
            {"repeats/kinds/idle": 0}, {"repeats/after/share": 0.0}, {"repeats/says": "nothing"},
            {"user_messages/restates": 0}, {"sample/conversations": []}, {"sample/conversations/0/hits": []},
            {"sample/conversations/0/strength": 0}, {"flagged/0/strength": 0}, {"flagged": []}, {"to_look_at": [{}]}])
        self.refused_each(SIGNALS, [
            {"repeats/after/repeats": 0}, {"repeats/after/calls": 0}, {"repeats/control/calls": -1},
            {"repeats/sessions/up": 2}, {"repeats/sessions/down": 1}, {"repeats/sessions/equal": 2},
            {"repeats/control/repeats": 10}, {"log/conversations": 9}, {"log/flagged conversations": 0},
            {"flagged": []}, {"flagged": SIGNALS["flagged"] * 2, "repeats/after/repeats": 2,
                              "log/flagged conversations": 2, "log/conversations": 3}], concluded)

    def test_what_a_survey_or_a_check_could_not_count_is_believed(self):
        place = "budgets/128/rules/own/"
        level = {**SURVEY["budgets"]["128"], "rules": {"own": RULE, "own.py:rule": {**RULE, "tokens": 999}}}
        survey = {**SURVEY, "budgets": {"128": level, "1024": copy.deepcopy(level)}}
        self.refused_each(survey, [
            {"user_turns": 5}, {"budgets/128/fit_whole": 4}, {"budgets/128/fit_whole": -1}, {"budgets/1024/rules": {}},
            {"budgets/128/rules/own.py:rule": None}, {place + "requests": 2}, {place + "turns_sent": 9},
            {place + "turns_sent": -1}, {place + "failed": -1, place + "requests": 4}, {place + "tokens": 385},
            {place + "cached_tokens": 101}, {"left_out": {"x": -1}}])
        self.refused_each(read_json(RESULTS[0]), [{"candidate/left_out/unplaced": -1}])
