"""Print how much of LoCoMo's evidence each selector finds: by budget, by category, and at k utterances.

Run:  python -m workbench.retrieval_table locomo10.json > locomo.local.json
      python -m workbench.retrieval_table locomo10.json --strategies recent,bm25,near --budget 4096

JSON on standard output, tables on standard error. Turns are two utterances; for recall at k each utterance is a turn
of its own and a selector may take k of them. Beside it stands what the set's authors published for a dense retriever.
Pairs are questions whose whole evidence is in the request. The bootstrap draws conversations, since questions of one
conversation depend on each other; there are only ten, so its intervals are rough.
"""

import argparse
import random
import sys
from pathlib import Path

from base.stats import mcnemar
from evaluate import grade
from selection.cases import check_set
from selection.run import run_cases, selector_table, with_input
from strategies import STRATEGIES, render
from tokenizer import counter

from base.command import InputError, dump, progress, read_json, run_command, whole_numbers
from workbench.import_cases import case_set
from workbench.locomo import CATEGORIES, import_locomo

BUDGETS = [1024, 4096, 16384]
CUTS = (5, 10, 25, 50)
PUBLISHED = {"DRAGON, as published": [0.567, 0.662, 0.767, 0.827]}  # over all categories, by the authors of LoCoMo
DRAWS, SEED = 10_000, 20240227


class MessageCount:
    """Counts every message as one token, so that a budget is a number of utterances. Recall at k alone uses it."""

    def __call__(self, messages, tools=None):
        return len(messages)

    def part(self, runs):
        return [len(run) for run in runs]


def read_cases(path, size):
    """The checked cases of LoCoMo's file with `size` utterances a turn."""
    histories, cases, _ = import_locomo(read_json(path), path, size)
    if not cases:
        raise InputError(f"{path}: no question of it has evidence to find; use locomo10.json unchanged")
    return check_set(case_set(histories, cases, BUDGETS[0]), path)


def figures(rows):
    """Labels found and in all, complete questions and mean tokens of rows; a row without a grade is counted apart."""
    graded = [row for row in rows if "error" not in row]
    return {"questions": len(graded), "labels": sum(row["required_total"] for row in graded),
            "labels_found": sum(row["required_found"] for row in graded),
            "complete_questions": sum(not row["missing"] for row in graded),
            "mean_input_tokens": round(sum(row["input_tokens"] for row in graded) / len(graded), 1) if graded else None,
            "errors": len(rows) - len(graded)}


def groups(rows):
    """The figures of all rows, of each split and of each category."""
    kinds = [kind for kind in CATEGORIES.values() if any(row["kind"] == kind for row in rows)]
    return {"all": figures(rows),
            **{split: figures([row for row in rows if row["split"] == split]) for split in ("dev", "held_out")},
            **{kind: figures([row for row in rows if row["kind"] == kind]) for kind in kinds}}


def conversation(row):
    """The conversation of a row, which its id begins with."""
    return row["case"].rpartition("-")[0]


def against(rows, baseline):
    """Questions complete in one and not in the other, the exact McNemar test, and the bootstrap over conversations."""
    old = {row["case"]: row for row in baseline if "error" not in row}
    pairs = [(row, old[row["case"]]) for row in rows if "error" not in row and row["case"] in old]
    gained = sum(not new["missing"] and bool(before["missing"]) for new, before in pairs)
    lost = sum(bool(new["missing"]) and not before["missing"] for new, before in pairs)
    sums = {}
    for new, before in pairs:
        total = sums.setdefault(conversation(new), [0, 0])
        total[0] += new["required_found"] - before["required_found"]
        total[1] += new["required_total"]
    low, high = bootstrap(list(sums.values()))
    return {"pairs": len(pairs), "gained": gained, "lost": lost, "mcnemar_p": float(f"{mcnemar(lost, gained):.3g}"),
            "labels_difference": sum(one for one, _ in sums.values()), "conversations": len(sums),
            "difference_interval": [low, high]}


def pairs(rows, baseline):
    """`against` over all conversations, and over the held-out ones, which no rule of this project was tuned on."""
    held_out = [row for row in rows if row["split"] == "held_out"]
    return {"all": against(rows, baseline), "held_out": against(held_out, baseline)}


def bootstrap(sums, draws=DRAWS, seed=SEED):
    """The 95% percentile interval of the summed difference over the summed labels, conversations drawn anew."""
    draw, shares = random.Random(seed), []
    for _ in range(draws):
        chosen = draw.choices(sums, k=len(sums))
        shares.append(sum(one for one, _ in chosen) / sum(total for _, total in chosen))
    shares.sort()
    return round(shares[int(0.025 * draws)], 4), round(shares[int(0.975 * draws) - 1], 4)


def recall_at(cases, names):
    """{selector: {k: mean over questions of the share of labels found}}; None for `notes`, whose room is in tokens."""
    found, count = {}, MessageCount()
    for name, select in selector_table(names).items():
        if name == "notes":
            found[name] = None
            continue
        shares = dict.fromkeys(CUTS, 0.0)
        for case in progress(cases, desc=f"recall at k, {name}"):
            for cut in CUTS:
                limited = with_input(case, cut + len(render(case, [])))
                row = grade(limited, select(limited, count))
                shares[cut] += row["required_found"] / row["required_total"]
        found[name] = {str(cut): round(total / len(cases), 4) for cut, total in shares.items()}
    return found


def evidence_fits(cases, budget, count):
    """Questions whose evidence turns alone, with instructions and question, fit the budget."""
    fits = 0
    for case in cases:
        wanted = {fact["turn"] for fact in case["required"]}
        turns = [number for number, turn in enumerate(case["history"]) if turn["id"] in wanted]
        fits += count(render(case, turns)) <= budget
    return fits


def measure(path, names, budgets, baseline, jobs=1):
    """The whole result for LoCoMo's file."""
    cases = read_cases(path, 2)
    result, _ = run_cases(cases, names, path, grade, budgets, jobs=jobs)
    levels = {}
    for budget, rows in result.items():
        levels[str(budget)] = {
            "evidence_alone_fits": evidence_fits(cases, budget, counter()),
            "strategies": {name: groups(rows[name]) for name in names},
            "paired": {name: pairs(rows[name], rows[baseline]) for name in names if name != baseline}}
    return {"questions": len(cases), "labels": sum(len(case["required"]) for case in cases), "baseline": baseline,
            "budgets": levels, "recall_at": recall_at(read_cases(path, 1), names), "published": PUBLISHED}


def percent(part, whole):
    return f"{100 * part / whole:5.1f}" if whole else "    -"


def pair_lines(by_split, baseline):
    """The pairs of one selector against the baseline as lines."""
    for split, pair in by_split.items():
        low, high = pair["difference_interval"]
        p = f"{pair['mcnemar_p']:.2g}" if pair["mcnemar_p"] else "under 1e-300"
        few = f"bootstrap over only {pair['conversations']} conversations"
        interval = f"{100 * low:+.1f} to {100 * high:+.1f} points ({few})"
        if pair["conversations"] == 1:  # drawn anew it is always itself
            interval = f"{100 * low:+.1f} points, and one conversation has no interval"
        yield (f"against {baseline}, {split}: complete questions gained {pair['gained']}, lost {pair['lost']}, exact "
               f"McNemar p {p}; labels {interval}")


def table(result):
    """The result as lines of text."""
    names = list(next(iter(result["budgets"].values()))["strategies"])
    wide = max(map(len, [*names, *PUBLISHED]))
    for budget, level in result["budgets"].items():
        yield (f"{int(budget):,} input tokens; the evidence alone fits for {level['evidence_alone_fits']} "
               f"of {result['questions']} questions")
        columns = list(level["strategies"][names[0]])
        yield (
            f"{'% of labels found':{wide}}  " + "  ".join(f"{column:>11}" for column in columns) + "   complete  tokens"
        )
        for name, by_group in level["strategies"].items():
            shares = "  ".join(f"{percent(one['labels_found'], one['labels']):>11}" for one in by_group.values())
            all_ = by_group["all"]
            failed = f"  {all_['errors']} failed" if all_["errors"] else ""
            yield f"{name:{wide}}  {shares}  {all_['complete_questions']:>9}  {all_['mean_input_tokens']:>8}{failed}"
        for name, by_split in level["paired"].items():
            yield from (f"{name:{wide}}  {line}" for line in pair_lines(by_split, result["baseline"]))
        yield ""
    yield f"{'recall at k utterances':{wide}}  " + "  ".join(f"{cut:>5}" for cut in CUTS)
    for name, shares in result["recall_at"].items():
        values = [f"{100 * value:5.1f}" for value in shares.values()] if shares else ["    -"] * len(CUTS)
        yield f"{name:{wide}}  " + "  ".join(values)
    for name, values in result["published"].items():
        yield f"{name:{wide}}  " + "  ".join(f"{100 * value:5.1f}" for value in values)


def main(argv=None):
    from selection.retrievers import SELECTORS

    every = [*STRATEGIES, *SELECTORS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="LoCoMo: github.com/snap-research/locomo, data/locomo10.json\n"
                                     "example: python -m workbench.retrieval_table locomo10.json > locomo.local.json",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="locomo10.json as its authors publish it")
    parser.add_argument("--strategies", default=",".join(every), metavar="NAME,…", help="default: %(default)s")
    parser.add_argument("--budget", type=whole_numbers, default=BUDGETS, metavar="N,…",
                        help="input tokens, one run each (default 1024,4096,16384)")
    parser.add_argument("--against", default="bm25", metavar="NAME", help="the baseline of the pairs (default bm25)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes for the budgets' runs")
    args = parser.parse_args(argv)
    names = [name.strip() for name in args.strategies.split(",") if name.strip()]
    if args.against not in names:
        raise InputError(f"--against {args.against}: not among --strategies; add it there or name another baseline")
    selector_table(names)  # an unknown name is refused before the long work
    result = measure(args.file, names, args.budget, args.against, args.jobs)
    sys.stdout.write(dump(result))
    for line in table(result):
        print(line, file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
