"""Print how much of a case set's evidence each rule finds: by budget, by kind of question, and at k messages.

Run:  python -m workbench.retrieval_table locomo10.json --jobs 2 > locomo.local.json
      python -m workbench.retrieval_table my_cases.json --strategies bm25,near,my_rule.py:choose --budget 4096

Takes LoCoMo's file as its authors publish it, or a case set whose facts are {"turn", "text"} (selection/README.md).

label     a required fact: a message that the answer depends on; a question is complete when all of its labels are found
at k      share of labels among a rule's first k messages, each taken for a turn of its own; mean over questions
paired    questions complete by one rule and not by the other, exact McNemar test; and the difference in labels as a
          95% bootstrap interval that draws histories, since questions of one history depend on each other
"""

import random
import sys
from collections import defaultdict
from pathlib import Path

from base.command import InputError, dump, make_parser, progress, read_json, run_command, whole_numbers
from base.result_files import graded
from base.shown import columns
from base.stats import mcnemar
from evaluate import grade
from selection.cases import check_set
from selection.reporting import print_lines
from selection.retrievers import SELECTORS, order_of, units, with_date
from selection.run import run_cases, selector_table
from strategies import STRATEGIES, per_history
from workbench.import_cases import case_set, import_locomo

BUDGETS = [1024, 4096, 16384]
CUTS = (5, 10, 25, 50)


def read_cases(path):
    """The cases of a file, or InputError for facts that name no turn."""
    value = read_json(path)
    if isinstance(value, list) and value and isinstance(value[0], dict) and "sample_id" in value[0]:
        value = case_set(*import_locomo(value, path, []), BUDGETS[0])
    cases = check_set(value, path)
    if unplaced := [case["id"] for case in cases if any(isinstance(fact, str) for fact in case["required"])]:
        problem = f"case {unplaced[0]!r} has a fact without a turn"
        raise InputError(f"{path}: {problem}; write {{'turn': its id, 'text': the whole message}}")
    return cases


def figures(rows):
    """Labels found and in all, complete questions and mean tokens of rows; a row without a grade is counted apart."""
    scored = list(filter(graded, rows))
    return {"questions": len(scored), "labels": sum(row["required_total"] for row in scored),
            "labels_found": sum(row["required_found"] for row in scored),
            "complete_questions": sum(not row["missing"] for row in scored),
            "mean_input_tokens": round(sum(row["input_tokens"] for row in scored) / len(scored), 1) if scored else None,
            "errors": len(rows) - len(scored)}


def by_group(rows, of=figures):
    """`of` the rows of all, of each split and of each kind of question that there is."""
    groups = {"all": rows}
    for field in ("split", "kind"):
        for name in dict.fromkeys(row[field] for row in rows):
            known = not name or name in groups  # a kind that is named as a split, or not at all
            groups[f"kind {name!r}" if known else name] = [row for row in rows if row[field] == name]
    return {name: of(some) for name, some in groups.items()}


def against(rows, baseline, history_of):
    """A rule's rows paired with the baseline's; history_of: case id -> what names its history."""
    old = {row["case"]: row for row in filter(graded, baseline)}
    pairs = [(row, old[row["case"]]) for row in filter(graded, rows) if row["case"] in old]
    complete = [(not new["missing"], not before["missing"]) for new, before in pairs]
    gained, lost = complete.count((True, False)), complete.count((False, True))
    sums = defaultdict(lambda: [0, 0])  # of each history: labels found more, labels
    for new, before in pairs:
        sums[history_of[new["case"]]][0] += new["required_found"] - before["required_found"]
        sums[history_of[new["case"]]][1] += new["required_total"]
    return {"pairs": len(pairs), "gained": gained, "lost": lost, "mcnemar_p": float(f"{mcnemar(lost, gained):.3g}"),
            "labels_difference": sum(more for more, _ in sums.values()), "histories": len(sums),
            "difference_interval": bootstrap(list(sums.values())) if sums else None}


def bootstrap(sums, draws=10_000):
    """The 95% percentile interval of sum(more) / sum(labels), histories drawn: bootstrap([[1, 10]]) -> [0.1, 0.1]."""
    draw, shares = random.Random(20240227), []
    for _ in range(draws):
        more, labels = map(sum, zip(*draw.choices(sums, k=len(sums))))
        shares.append(more / labels)
    shares.sort()
    return [round(shares[int(0.025 * draws)], 4), round(shares[int(0.975 * draws) - 1], 4)]


@per_history
def messages_apart(history):
    """(the history, each message a turn; {turn id: [(number there, text)]}, as {"t1": [(0, "Hi"), (1, "Ho")]})."""
    apart, by_turn = [], {}
    for number, unit in enumerate(units(history)):
        text = "\n".join(message.get("content") or "" for message in with_date(unit))
        apart.append({**history[unit.turn], "id": str(number), "user": text, "assistant": "", "messages": []})
        by_turn.setdefault(history[unit.turn].get("id"), []).append((number, text))
    return apart, by_turn


def order(rule, case):
    """The numbers of the turns in the order in which a rule would take them; None for one that has none."""
    newest_first = range(len(case["history"]))[::-1]
    if rule == "recent":
        return newest_first
    if rule == "hybrid":
        return list(dict.fromkeys([newest_first[0], *order("relevant", case)]))
    return order_of(case["history"], rule, case["current"]) if rule in ("relevant", *SELECTORS) else None


def recall_at(cases, names):
    """{rule: {k: mean share of labels found}}; None for rules that have no order (notes, and one's own)."""
    shares = {name: [] for name in names}  # of each case, at each cut
    for case in progress(cases, desc="recall at k"):
        apart, by_turn = messages_apart(case["history"])
        labels = [{place for place, text in by_turn[fact["turn"]] if fact["text"] in text} for fact in case["required"]]
        for name in names:
            if (ranked := order(name, {**case, "history": apart})) is not None:
                shares[name].append([sum(not label.isdisjoint(ranked[:cut]) for label in labels) / len(labels)
                                     for cut in CUTS])
    return {name: {str(cut): round(sum(at_cut) / len(cases), 4) for cut, at_cut in zip(CUTS, zip(*rows))} or None
            for name, rows in shares.items()}


def measure(path, names, budgets, baseline, jobs):
    cases, levels = read_cases(path), {}
    history_of = {case["id"]: id(case["history"]) for case in cases}
    result, _ = run_cases(cases, names, path, grade, budgets, jobs=jobs)
    for budget, rows in progress(result.items(), desc="pairs"):
        paired = {name: {group: against(some, rows[baseline], history_of)
                         for group, some in by_group(rows[name], list).items() if group in ("all", "dev", "held_out")}
                  for name in names if name != baseline}
        levels[str(budget)] = {"strategies": {name: by_group(rows[name]) for name in names}, "paired": paired}
    return {"questions": len(cases), "labels": sum(len(case["required"]) for case in cases), "baseline": baseline,
            "budgets": levels, "recall_at": recall_at(cases, names)}


def percent(part, total=1):
    """A share as text: percent(1, 3) -> "33.3"."""
    return f"{100 * part / total:.1f}" if total else "-"


def pair_cells(pair):
    """Gained, lost, p and interval of a pair as cells."""
    p, few = pair["mcnemar_p"], pair["histories"]
    ends = " to ".join(f"{100 * end:+.1f}" for end in pair["difference_interval"] or [])
    note = "one history has no interval" if few == 1 else f"{few} histories{', few: rough' if few < 30 else ''}"
    return [pair["gained"], pair["lost"], f"{p:.2g}" if p else "under 1e-300", f"{ends} ({note})" if few > 1 else note]


def tables(result):
    for budget, level in result["budgets"].items():
        yield f"{int(budget):,} input tokens, {result['questions']} questions; % of labels found"
        rows = [["rule", *next(iter(level["strategies"].values())), "complete", "tokens", "failed"]]
        for name, groups in level["strategies"].items():
            every = groups["all"]
            rows.append([name, *(percent(group["labels_found"], group["labels"]) for group in groups.values()),
                         every["complete_questions"], every["mean_input_tokens"], every["errors"] or ""])
        yield from columns(rows, right=range(1, len(rows[0])))
        rows = [[f"against {result['baseline']}", "complete: gained", "lost", "McNemar p", "labels, points"]]
        rows += [[f"{name}, {group}", *pair_cells(pair)]
                 for name, groups in level["paired"].items() for group, pair in groups.items()]
        yield from columns(rows if len(rows) > 1 else [], right=(1, 2, 3))
        yield ""
    rows = [["recall at k messages", *CUTS]]
    rows += [[name, *(map(percent, shares.values()) if shares else "-" * len(CUTS))]
             for name, shares in result["recall_at"].items()]
    yield from columns(rows, right=range(1, 5))


def main(argv=None):
    every = [*STRATEGIES, *SELECTORS]
    parser = make_parser(__doc__)
    parser.add_argument("file", type=Path, help="locomo10.json as its authors publish it, or a case set")
    parser.add_argument("--strategies", default=",".join(every), metavar="NAME,…", help="default: %(default)s")
    parser.add_argument("--budget", type=whole_numbers, default=BUDGETS, metavar="N,…",
                        help="input tokens (default 1024,4096,16384)")
    parser.add_argument("--against", default="bm25", metavar="NAME", help="the baseline of the pairs (default bm25)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    args = parser.parse_args(argv)
    names = [name.strip() for name in args.strategies.split(",") if name.strip()]
    if args.jobs < 1:
        raise InputError(f"--jobs {args.jobs}: give a whole number from 1")
    if args.against not in names:
        raise InputError(f"--against {args.against}: not among --strategies; add it there or name another baseline")
    selector_table(names)  # an unknown name is refused before the long work
    result = measure(args.file, names, args.budget, args.against, args.jobs)
    sys.stdout.write(dump(result))
    print_lines(tables(result), limit=None)
    return 0


if __name__ == "__main__":
    run_command(main)
