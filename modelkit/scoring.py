"""Score answers, judge them, and decide from the scores whether a change may ship: no test of significance.

A mean hides the case that broke, so `gate_on_regressions` is the gate to use. A judge's score is worth its agreement
with people (`agreement`, `kappa`) and no more.

case  {"id", "question", "exact": text or None, "must": texts, "must_not": texts,
       "rubric": [(weight, label, check), ...]}, check(answer) -> bool
run   {"name", "score": 0..1, and what it took, such as "ms" and "usd_per_1k" (dollars per 1,000 calls)}
"""

from collections import Counter
from math import fsum, isfinite

from modelkit import check_whole


def exact_match(answer, case):
    """Whether an answer is `exact`, letter case aside; None without one: exact_match(" A", {"exact": "a"}) -> True."""
    return None if case["exact"] is None else answer.strip().lower() == case["exact"].strip().lower()


def contains_all(answer, case):
    """Whether the answer holds every `must` and no `must_not`, in any case.
    contains_all("Port 80", {"must": ["80"], "must_not": ["443"]}) -> True"""
    if not case["must"] and not case["must_not"]:
        raise ValueError(f"case {case['id']!r} has neither must nor must_not, so that nothing could fail it; add one")
    text = answer.lower()
    return all(part.lower() in text for part in case["must"]) and not any(
        part.lower() in text for part in case["must_not"])


def rubric_score(answer, case):
    """(share of the weights whose check passes, 0..1; labels missed).
    rubric_score("Hi", {"rubric": [(3, "said", bool), (1, "digits", str.isdigit)]}) -> (0.75, ["digits"])"""
    total = fsum(weight for weight, _, _ in case["rubric"])
    if not total > 0 or any(weight < 0 for weight, _, _ in case["rubric"]):
        raise ValueError(f"case {case['id']!r} has a rubric without positive weights; correct it")
    passed = [(weight, label, bool(check(answer))) for weight, label, check in case["rubric"]]
    share = fsum(weight for weight, _, good in passed if good) / total
    return share, [label for _, label, good in passed if not good]


def evaluate(system, cases):
    """{"rows", "pass_rate": the share that contains_all passes, "rubric_mean"} of system(question) -> answer.

    A row has id, answer, exact, contains, rubric, missed. An answer that is no text is neither right nor wrong.
    """
    rows = []
    for case in cases:
        answer = system(case["question"])
        if not isinstance(answer, str):
            raise ValueError(f"case {case['id']!r}: the answer is no text but {answer!r}; it cannot be scored")
        rubric, missed = rubric_score(answer, case)
        rows.append({"id": case["id"], "answer": answer, "exact": exact_match(answer, case),
                     "contains": contains_all(answer, case), "rubric": rubric, "missed": missed})
    if not rows:
        raise ValueError("no cases to evaluate; give at least one")
    return {"rows": rows, "pass_rate": sum(row["contains"] for row in rows) / len(rows),
            "rubric_mean": fsum(row["rubric"] for row in rows) / len(rows)}


def both_orders(judge, question, a, b):
    """"a", "b", or "tie" where judge(question, first, second) -> "first" or "second" shows a position bias."""
    verdicts = judge(question, a, b), judge(question, b, a)
    if other := [verdict for verdict in verdicts if verdict not in ("first", "second")]:
        raise ValueError(f"the judge said {other[0]!r}; it has to say 'first' or 'second'")
    return {("first", "second"): "a", ("second", "first"): "b"}.get(verdicts, "tie")


def agreement(judged, labels):
    """The share of items on which a judge and a person agree: agreement([1, 0, 1], [1, 1, 1]) -> 0.667."""
    if len(judged) != len(labels) or not labels:
        raise ValueError(f"{len(judged)} judged and {len(labels)} labels; give one of each for at least one item")
    return sum(verdict == label for verdict, label in zip(judged, labels)) / len(labels)


def kappa(judged, labels):
    """Cohen's kappa (1960), beyond chance: kappa([1, 0, 1, 0], [1, 0, 0, 0]) -> 0.5; one label in all: ValueError."""
    observed = agreement(judged, labels)
    by_judge, by_person = Counter(judged), Counter(labels)
    both = sum(by_judge[label] * by_person[label] for label in by_judge)
    if both == len(labels) ** 2:
        raise ValueError("every item has the same label from both; kappa is undefined, add items of another kind")
    expected = both / len(labels) ** 2
    return (observed - expected) / (1 - expected)


def repeat(judge, answer, times):
    """The `times` scores that judge(answer) gives the same answer, in order: their spread is the judge's own noise."""
    check_whole(1, times=times)
    return [judge(answer) for _ in range(times)]


def compare(golden, candidate, tolerance=1e-9):
    """{"improved", "regressed": [[id, before, after], ...], "before", "after": means} of scores by case id.

    Differences up to `tolerance` are none. A case that only one side has is a ValueError, not a skip.
    """
    if alone := sorted(map(str, set(golden) ^ set(candidate))):
        raise ValueError(f"only one side has {', '.join(alone)}; score the same cases on both")
    if not golden:
        raise ValueError("no scores to compare; score at least one case")
    for name, score in [*golden.items(), *candidate.items()]:
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not isfinite(score):
            raise ValueError(f"the score of {name} must be a finite number, got {score!r}")
    moved = [[name, golden[name], candidate[name]] for name in golden]
    return {"improved": [row for row in moved if row[2] - row[1] > tolerance],
            "regressed": [row for row in moved if row[1] - row[2] > tolerance],
            "before": fsum(golden.values()) / len(golden), "after": fsum(candidate.values()) / len(golden)}


def gate_on_mean(comparison):
    """"ship" when the mean did not fall (by more than rounding), else "hold": blind to a case that broke."""
    return "ship" if comparison["after"] >= comparison["before"] - 1e-9 else "hold"


def gate_on_regressions(comparison):
    """"ship" when no case became worse, else "hold", whatever the mean says."""
    return "hold" if comparison["regressed"] else "ship"


def eligible(runs, budget):
    """The runs that keep within every limit of the budget ({"ms": 1000, "usd_per_1k": 5.0}).
    eligible([{"ms": 900}, {"ms": 1200}], {"ms": 1000}) -> [{"ms": 900}]"""
    for run in runs:
        if lacking := sorted(set(budget) - set(run)):
            raise ValueError(f"run {run.get('name')!r} does not say its {', '.join(lacking)}; measure it")
    return [run for run in runs if all(run[limit] <= most for limit, most in budget.items())]


def choose(runs, budget):
    """The best-scoring run within the budget, the first of equals, or None where no run keeps within it."""
    return max(eligible(runs, budget), key=lambda run: run["score"], default=None)


def cost_per_point(cheaper, dearer):
    """Dollars per 1,000 calls for each point (0.01 of score) that the dearer run gains over the cheaper one.
    cost_per_point({"score": 0.8, "usd_per_1k": 1}, {"score": 0.9, "usd_per_1k": 6}) -> 0.5"""
    points = (dearer["score"] - cheaper["score"]) * 100
    if not points > 0:
        raise ValueError(f"{dearer.get('name')!r} scores no better than {cheaper.get('name')!r}: no gain to price")
    return (dearer["usd_per_1k"] - cheaper["usd_per_1k"]) / points
