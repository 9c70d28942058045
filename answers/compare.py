"""Compare two recordings answer by answer: paired by case, strategy and seed, never by means alone.

Lists each discordant pair (one passed, the other failed), tests the difference over cases, and shows how often the
seeds of one recording agree among themselves: a difference within that is noise. Incomplete pairs are counted apart.

sign-flip test  under "no difference" the sign of each case's difference is a coin toss; p is the share of all sign
                patterns whose sum is at least as far from zero as the one seen (two-sided, R. A. Fisher 1935)
"""

from collections import Counter
from itertools import combinations

from answers.recording import answered, sent_request
from base.command import NotComparable
from base.shown import figures


def seeds_of(recording):
    """{(strategy, case id): seeds} of a recording."""
    return {(strategy, case): sorted(entry["seed"] for entry in entries)
            for strategy, case, entries in answered(recording)}


def pairs(recording, other, verdicts, other_verdicts):
    """One dict for each strategy, case and seed: the grades of both; NotComparable where one has other answers."""
    paired, seeds = [], [seeds_of(recording), seeds_of(other)]
    for place in sorted(seeds[0].keys() | seeds[1].keys()):
        told = [f"seeds {side[place]}" if place in side else "no answers" for side in seeds]
        if told[0] != told[1]:
            raise NotComparable(f"{'/'.join(place)}: the first has {told[0]}, the second {told[1]}; record the same")
    for strategy, case in seeds[0]:
        a, b = ({entry["seed"]: verdict["grade"] for entry, verdict in zip(side["answers"][strategy][case], rows)}
                for side, rows in ((recording, verdicts[strategy][case]), (other, other_verdicts[strategy][case])))
        paired += [{"strategy": strategy, "case": case, "seed": seed, "a": a[seed], "b": b[seed]} for seed in a]
    return paired


def sign_flip(differences):
    """The exact two-sided p of whole-number differences, one a case: sign_flip([5, 5, 5, 5, 5, 5]) -> 0.03125."""
    sums = Counter({0: 1})  # the cost grows with their sum, not with 2 to the n
    for size in map(abs, differences):
        flipped = Counter()
        for total, ways in sums.items():
            flipped[total + size] += ways
            flipped[total - size] += ways
        sums = flipped
    seen = abs(sum(differences))
    return sum(ways for total, ways in sums.items() if abs(total) >= seen) / 2 ** len(differences)


def paired_figures(paired):
    """Counts, and the sign-flip test, of some pairs; the smallest p possible is that of all signs alike."""
    complete = [pair for pair in paired if "incomplete" not in (pair["a"], pair["b"])]
    passed = [(pair["a"] == "pass", pair["b"] == "pass") for pair in complete]
    by_case = Counter({pair["case"]: 0 for pair in complete})
    for pair, (a, b) in zip(complete, passed):
        by_case[pair["case"]] += b - a
    return {"pairs": len(complete), "passed_a": sum(a for a, _ in passed), "passed_b": sum(b for _, b in passed),
            "only_a": passed.count((True, False)), "only_b": passed.count((False, True)),
            "incomplete_pairs": len(paired) - len(complete), "difference_by_case": dict(by_case),
            "p": sign_flip(list(by_case.values())) if complete else None,
            "smallest_p_possible": min(1.0, 2 / 2 ** len(by_case)) if complete else None}


def seed_agreement(verdicts):
    """Of all pairs of seeds of first request, how many have the same grade; incomplete answers are left out."""
    alike = [first["grade"] == second["grade"] for cases in verdicts.values() for row in cases.values()
             for first, second in combinations([v for v in row if v["grade"] != "incomplete"], 2)]
    return {"seed_pairs": len(alike), "agree": sum(alike)}


def compare(first, second, verdicts, other_verdicts):
    """Two recordings compared; same_requests is true or false by their hashes, None where a recording holds none."""
    paired = pairs(first, second, verdicts, other_verdicts)
    hashes = [[sent_request(recording, *place).get("messages_sha256") for place in sorted(seeds_of(recording))]
              for recording in (first, second)]
    overall = paired_figures(paired)
    discordant = [pair for pair in paired if {pair["a"], pair["b"]} == {"pass", "fail"}]
    if not overall["pairs"]:
        raise NotComparable("no pair in which both answers are whole; there is nothing to compare")
    return {"same_model": first["model"] == second["model"], 
            "same_requests": None if None in [*hashes[0], *hashes[1]] else hashes[0] == hashes[1],
            "all": overall,
            "strategies": {strategy: paired_figures([pair for pair in paired if pair["strategy"] == strategy])
                           for strategy in first["answers"]},
            "discordant": discordant,
            "incomplete": [pair for pair in paired if "incomplete" in (pair["a"], pair["b"])],
            "agreement_among_seeds": {"a": seed_agreement(verdicts), "b": seed_agreement(other_verdicts)},
            "agreement_between": {"pairs": overall["pairs"], "agree": overall["pairs"] - len(discordant)}}


def table(result):
    """The comparison as lines of text for a person."""
    rows = {name: {**row, "p": "-" if row["p"] is None else f"{row['p']:.3f}"}
            for name, row in {**result["strategies"], "all": result["all"]}.items()}
    names = ("pairs", "passed_a", "passed_b", "only_a", "only_b", "incomplete_pairs", "p")
    cases, smallest = len(result["all"]["difference_by_case"]), result["all"]["smallest_p_possible"]
    lines = [*figures(names, rows), f"sign-flip test over {cases} cases: no p can be under {smallest:.2g}"]
    lines += [f"seeds of {side} agree in {agreed['agree']} of {agreed['seed_pairs']} pairs of one request"
              for side, agreed in result["agreement_among_seeds"].items()]
    between = result["agreement_between"]
    lines.append(f"a and b agree in {between['agree']} of {between['pairs']} pairs")
    if not result["same_requests"]:
        lines.append("a recording without request hashes: whether both answered the same requests is not known"
                     if result["same_requests"] is None else
                     "the requests differ: this compares strategies or cases as well as answers")
    return "\n".join(lines + [
        f"  discordant: {pair['strategy']}/{pair['case']} seed {pair['seed']}: a {pair['a']}, b {pair['b']}"
        for pair in result["discordant"]])
