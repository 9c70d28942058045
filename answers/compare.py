"""Compare two recordings answer by answer: paired by case, strategy and seed, never by means alone.

A pair is discordant where one passed and the other failed; incomplete pairs are counted apart. How often the seeds of
one recording agree among themselves is shown beside: a difference within that is noise.

sign-flip test  under "no difference" the sign of each case's difference is a coin toss; p is the share of all sign
                patterns whose sum is at least as far from zero as the one seen (two-sided, R. A. Fisher 1935)
"""

from collections import Counter
from itertools import combinations

from answers.recording import answered
from base.command import NotComparable
from base.shown import figure_table


def pairs(recordings, verdicts):
    """One dict for each strategy, case and seed: the grades of both; NotComparable where one has other answers."""
    a, b = ({(strategy, case, entry["seed"]): verdict["grade"] for strategy, case, entries, _ in answered(recording)
             for entry, verdict in zip(entries, graded[strategy][case])}
            for recording, graded in zip(recordings, verdicts))
    for strategy, case, seed in sorted(a.keys() ^ b.keys()):
        side = "first" if (strategy, case, seed) in a else "second"
        raise NotComparable(f"{strategy}/{case} seed {seed}: only the {side} has an answer; record the same in both")
    return [dict(zip(("strategy", "case", "seed"), place), a=a[place], b=b[place]) for place in a]


def sign_flip(differences):
    """The exact two-sided p of whole-number differences, one a case: sign_flip([5, 5, 5, 5, 5, 5]) -> 0.03125."""
    sums = Counter({0: 1})  # the cost grows with their sum, not with 2 to the n
    for size in map(abs, differences):
        flipped = Counter()
        for total, ways in sums.items():
            flipped[total + size] += ways
            flipped[total - size] += ways
        sums = flipped
    return sum(ways for total, ways in sums.items() if abs(total) >= abs(sum(differences))) / 2 ** len(differences)


def paired_figures(paired):
    """Counts, and the sign-flip test, of some pairs; the smallest p possible is that of all signs alike."""
    complete = [pair for pair in paired if "incomplete" not in (pair["a"], pair["b"])]
    both = Counter((pair["a"], pair["b"]) for pair in complete)
    by_case = dict.fromkeys((pair["case"] for pair in complete), 0)
    for pair in complete:
        by_case[pair["case"]] += (pair["b"] == "pass") - (pair["a"] == "pass")
    passed, only_a, only_b = (both[grades] for grades in (("pass", "pass"), ("pass", "fail"), ("fail", "pass")))
    return {"pairs": len(complete), "passed_a": passed + only_a, "passed_b": passed + only_b, "only_a": only_a,
            "only_b": only_b, "incomplete_pairs": len(paired) - len(complete), "difference_by_case": by_case,
            "p": sign_flip(by_case.values()) if complete else None,
            "smallest_p_possible": min(1.0, 2 / 2 ** len(by_case)) if complete else None}


def seed_agreement(verdicts):
    """Of all pairs of seeds of one request, how many have the same grade; incomplete answers are left out."""
    alike = [first["grade"] == second["grade"] for cases in verdicts.values() for row in cases.values()
             for first, second in combinations([v for v in row if v["grade"] != "incomplete"], 2)]
    return {"seed_pairs": len(alike), "agree": sum(alike)}


def compare(recordings, verdicts):
    """Two recordings compared; same_requests by hashes and sizes, None where a recording holds no hashes."""
    paired, (first, second) = pairs(recordings, verdicts), recordings
    sent = [{(strategy, case): {**row, "entries_sha256": None} for strategy, case, _, row in answered(recording)}
            for recording in recordings]
    hashed = all("messages_sha256" in row for rows in sent for row in rows.values())
    overall = paired_figures(paired)
    if not overall["pairs"]:
        raise NotComparable("no pair in which both answers are whole; there is nothing to compare")
    discordant = [pair for pair in paired if {pair["a"], pair["b"]} == {"pass", "fail"}]
    return {"same_model": first["model"] == second["model"],
            "same_requests": sent[0] == sent[1] if hashed else None,
            "all": overall,
            "strategies": {strategy: paired_figures([pair for pair in paired if pair["strategy"] == strategy])
                           for strategy in first["answers"]},
            "discordant": discordant,
            "incomplete": [pair for pair in paired if "incomplete" in (pair["a"], pair["b"])],
            "agreement_among_seeds": dict(zip("ab", map(seed_agreement, verdicts))),
            "agreement_between": {"pairs": overall["pairs"], "agree": overall["pairs"] - len(discordant)}}


def comparison_lines(result):
    """The comparison as lines of text for a person."""
    rows = {name: {**row, "p": "-" if row["p"] is None else f"{row['p']:.3f}"}
            for name, row in {**result["strategies"], "all": result["all"]}.items()}
    cases, smallest = len(result["all"]["difference_by_case"]), result["all"]["smallest_p_possible"]
    same = {None: ["a recording without request hashes: whether both answered the same requests is not known"],
            False: ["the requests or their sizes differ: this compares more than answers"], True: []}
    return [*figure_table(("pairs", "passed_a", "passed_b", "only_a", "only_b", "incomplete_pairs", "p"), rows),
            f"sign-flip test over {cases} cases: no p can be under {smallest:.2g}",
            *(f"seeds of {side} agree in {agreed['agree']} of {agreed['seed_pairs']} pairs of one request"
              for side, agreed in result["agreement_among_seeds"].items()),
            "a and b agree in {agree} of {pairs} pairs".format(**result["agreement_between"]),
            *same[result["same_requests"]],
            *(f"  discordant: {pair['strategy']}/{pair['case']} seed {pair['seed']}: a {pair['a']}, b {pair['b']}"
              for pair in result["discordant"])]
