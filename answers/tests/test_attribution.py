"""Which facts were sent and which were answered; and two recordings held against each other pair by pair."""

import copy
import itertools
import random

import answer_check
from answers import attribution
from answers import compare as answer_compare
from answers.recording import json_hash, read_keys
from answers.tests.made import CASES, PUBLISHED, REPORT, entry
from base.command import InputError, NotComparable, dump
from base.tests.made import ROOT, Files, edited, named_cases, run
from selection.facts import in_request

KEYS = read_keys(ROOT / "answer-keys.json")


def attribute(recording=PUBLISHED, report=REPORT, cases=CASES, keys=KEYS, version=1):
    return attribution.attribute(recording, report, cases, keys, answer_check.GRADERS[version], in_request, version)


def answering(strategy, case, texts, recording=PUBLISHED):
    """The recording with other texts, {seed: text}, as answers of one case; None: none came."""
    recording = copy.deepcopy(recording)
    entries = recording["answers"][strategy][case]
    for place, before in enumerate(entries):
        text = texts.get(before["seed"], before["answer"])
        entries[place] = {"seed": before["seed"], "incomplete": "html"} if text is None else {**before, "answer": text}
    return recording


def row(report, case, strategy="recent"):
    return next(row for row in report["cases"][strategy] if row["case"] == case)


def outcomes(result, kind, strategy, case):
    """[(whether it was sent, answers by outcome)] of the facts of one kind."""
    return [(fact["in_request"], [*fact["answers"].values()]) for fact in result[kind]["facts"]
            if (fact["strategy"], fact["case"]) == (strategy, case)]


class Attribution(Files):
    def test_the_published_recording(self):
        result = attribute()
        self.assertIn("no request hashes", result["same_requests_by"])
        for kind, figures in {  # of recent, relevant, notes, hybrid
                "required": [[5, 5, 25, 0, 0], [20, 0, 15, 0, 0], [30, 0, 5, 0, 0], [20, 0, 15, 0, 0]],
                "stale": [[0, 0, 5, 0, 0], [0, 5, 0, 0, 0], [5, 0, 0, 0, 0], [0, 5, 0, 0, 0]]}.items():
            self.assertEqual([[*counts.values()] for counts in result[kind]["summary"].values()], figures)
        lines = "\n".join(attribution.attribution_lines(result))
        self.assertIn("recent/held-spread: 'expire after 30 minutes' (5 of 5)", lines)
        self.assertIn("given as current: notes/held-correction: 'decided to use RabbitMQ' (5 of 5)", lines)
        self.assertNotRegex(lines, "(?m)^  (used|neither): ")  # where nothing went wrong is not listed
        self.assertEqual(attribute(version=2), {**result, "grader": 2})
        told = run(answer_check.main, "attribution", "--report", ROOT / "evaluation-result.json")
        self.assertEqual(told, (0, dump(result), lines + "\n"))

    def test_each_of_the_four_combinations_is_told_apart_by_fact(self):
        texts = {1: "14 and 30", 2: "30 minutes", 3: "14 characters", 4: "I do not have that information.", 5: ""}
        result = attribute(answering("recent", "held-spread", texts))
        self.assertEqual(outcomes(result, "required", "recent", "held-spread"),  # only the 30 minutes were sent
                         [(False, [0, 0, 2, 2, 1]), (True, [2, 2, 0, 0, 1])])
        result = attribute(answering("recent", "held-correction", {1: "We use RabbitMQ.", 2: None}))
        self.assertEqual(outcomes(result, "stale", "recent", "held-correction"), [(False, [0, 0, 3, 1, 1])])
        self.assertEqual(outcomes(result, "required", "recent", "held-correction"), [(False, [0, 0, 4, 0, 1])])

    def test_the_report_of_other_requests_is_refused(self):
        given = {"report": REPORT, "recording": PUBLISHED, "cases": CASES, "keys": KEYS}
        for case in named_cases(__file__, "other-reports.json"):
            changed = edited(given[case["of"]], case["at"], *case["put"])
            error = InputError if case["of"] == "keys" else NotComparable
            with self.subTest(case["name"]), self.assertRaisesRegex(error, case["says"]):
                attribute(**{**given, case["of"]: changed})

    def test_requests_of_as_many_tokens_pass_for_the_ones_that_were_sent(self):
        requests, by_id = {}, {case["id"]: case for case in CASES}
        for (strategy, case), graded in attribution.rows_of(REPORT).items():
            sent = {"messages_sha256": json_hash(attribution.request_messages(graded, by_id[case]))}
            requests.setdefault(strategy, {})[case] = sent

        def proof(report=REPORT, strategy=None, without=None):
            """How sameness is told where one request has another hash and one strategy has none."""
            sent = copy.deepcopy({name: cases for name, cases in requests.items() if name != without})
            if strategy:
                sent[strategy]["held-buried"]["messages_sha256"] = "0" * 64
            return attribute({**PUBLISHED, "recorded": {"requests": sent}}, report)["same_requests_by"]

        self.assertEqual(proof(), attribution.SAME_REQUESTS)
        self.assertEqual(proof(without="notes"), attribution.SAME_TOKENS)
        for strategy, without in (("recent", None), ("notes", None), ("hybrid", "notes")):
            with self.subTest(strategy), self.assertRaisesRegex(NotComparable, f"{strategy}/held-buried is not what"):
                proof(strategy=strategy, without=without)
        other = {**REPORT, "strategies_sha256": "0" * 64}  # of rules by which no request can be made again
        self.assertEqual((proof(other, "recent"), proof(other)), (attribution.SAME_TOKENS, attribution.SAME_REQUESTS))
        hashes = {"recorded": {name: REPORT[name] for name in attribution.HASHES}}
        self.assertEqual(attribute({**PUBLISHED, **hashes})["same_requests_by"], attribution.SAME_HASHES)

    def test_a_report_of_another_shape_is_an_error_and_no_traceback(self):
        sweep = {name: value for name, value in REPORT.items() if name not in ("cases", "summary")}
        sweep["budgets"] = {"384": {name: REPORT[name] for name in ("cases", "summary")}}
        for report, status, says in (([], 2, "no result of evaluate.py"), (sweep, 3, "is a sweep over budgets"),
                                     ({**REPORT, "cases": {"recent": [3]}}, 2, "not as evaluate.py writes it")):
            path = self.write("report.json", report)
            self.refused(says, answer_check.main, "attribution", "--report", path, status=status)

    def test_a_fact_is_told_from_the_same_words_in_another_turn(self):
        cases, report = copy.deepcopy([CASES, REPORT])
        case = next(case for case in cases if case["id"] == "held-spread")
        case["history"] = [{"id": f"t{number}", **turn} for number, turn in enumerate(case["history"], 1)]
        case["history"][0]["user"] = "They expire after 30 minutes."
        case["required"] = facts = [{"turn": turn, "text": "30 minutes"} for turn in ("t3", "t1")]
        for strategy in report["cases"]:
            graded = row(report, "held-spread", strategy)
            graded["missing"] = [fact for fact, turn in zip(facts, (2, 0)) if turn not in graded["turns"]]
        told = outcomes(attribute(report=report, cases=cases), "required", "notes", "held-spread")
        self.assertEqual([sent for sent, _ in told], [True, False])

    def test_a_recording_with_itself_shows_no_difference(self):
        result, lines = compare(PUBLISHED)
        figures = [result["all"][name] for name in ("pairs", "passed_a", "passed_b", "only_a", "only_b", "p")]
        self.assertEqual(figures, [120, 70, 70, 0, 0, 1.0])
        self.assertEqual((result["same_model"], result["same_requests"], result["discordant"]), (True, None, []))
        self.assertEqual(result["agreement_among_seeds"]["a"], {"seed_pairs": 240, "agree": 240})
        self.assertEqual(result["all"]["smallest_p_possible"], 0.03125)
        self.assertIn("over 6 cases: no p can be under 0.031", lines)
        self.assertIn("a and b agree in 120 of 120 pairs", lines)

    def test_discordant_pairs_are_listed_by_seed_and_not_by_place_and_incomplete_ones_left_out(self):
        other = answering("recent", "held-latest", {1: "Nobody."})
        other = answering("recent", "held-buried", {2: "200"}, recording=other)
        other = answering("notes", "held-buried", {3: ""}, recording=other)
        for entries in [entries for cases in other["answers"].values() for entries in cases.values()]:
            entries.reverse()
        other["model"] = {**other["model"], "ollama_digest": "0" * 64}
        result, lines = compare(other)
        self.assertEqual([(p["strategy"], p["case"], p["seed"], p["a"], p["b"]) for p in result["discordant"]],
                         [("recent", "held-latest", 1, "pass", "fail"), ("recent", "held-buried", 2, "fail", "pass")])
        figures = [result["all"][name] for name in ("pairs", "only_a", "only_b", "incomplete_pairs")]
        self.assertEqual((figures, result["same_model"]), ([119, 1, 1, 1], False))
        self.assertEqual([(pair["case"], pair["seed"]) for pair in result["incomplete"]], [("held-buried", 3)])
        self.assertEqual(result["agreement_among_seeds"]["b"], {"seed_pairs": 236, "agree": 228})
        told = run(answer_check.main, "compare", ROOT / "answer-result.json", self.write("other.json", other))
        self.assertEqual(told, (0, dump(result), lines + "\n"))

    def test_recordings_of_other_cases_or_seeds_or_with_nothing_whole_are_refused(self):
        for change, says in (
                (lambda cases: cases["notes"].clear(), "notes/held-buried seed 1: only the first has an answer"),
                (lambda cases: cases["recent"]["held-latest"].append(entry("x", seed=6)), "6: only the second has"),
                (lambda cases: [given.update(answer="") for rule in cases.values() for entries in rule.values()
                                for given in entries], "nothing to compare")):
            other = copy.deepcopy(PUBLISHED)
            change(other["answers"])
            with self.subTest(says), self.assertRaisesRegex(NotComparable, says):
                compare(other)

    def test_whether_the_requests_were_the_same_is_told(self):
        a, b = ({**PUBLISHED, "recorded": {"requests": dict.fromkeys(
            PUBLISHED["answers"], {case: {"messages_sha256": f"{case} {sent}"} for case in KEYS})}} for sent in (1, 2))
        shorter = edited(a, ["recorded", "requests", "recent", "held-buried", "num_predict"], 48)
        differ = ["the requests or their sizes differ"]
        for second, same, says in ((a, True, []), (b, False, differ), (shorter, False, differ),
                                   (PUBLISHED, None, ["is not"])):
            result, lines = compare(second, a)
            told = [line for line in lines.splitlines() if "requests" in line]
            self.assertEqual((result["same_requests"], len(told)), (same, len(says)))
            self.assertIn("".join(says), "".join(told))

    def test_sign_flip_equals_the_count_of_all_sign_patterns(self):
        rng = random.Random(7)
        for _ in range(100):
            differences = [rng.randint(-5, 5) for _ in range(rng.randint(1, 7))]
            seen = abs(sum(differences))
            sums = [abs(sum(s * d for s, d in zip(signs, differences)))
                    for signs in itertools.product((1, -1), repeat=len(differences))]
            self.assertEqual(
                answer_compare.sign_flip(differences), sum(s >= seen for s in sums) / len(sums), differences)
        self.assertEqual(answer_compare.sign_flip([1] * 100), 2 / 2**100)  # exact, and quick


def compare(second, first=PUBLISHED):
    """(the comparison, its lines as one text)."""
    result = answer_compare.compare([first, second], [answer_check.verdicts(side, KEYS) for side in (first, second)])
    return result, "\n".join(answer_compare.comparison_lines(result))
