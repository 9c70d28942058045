"""Keep a report of check.py as a file, and believe none: what follows from its items is computed again."""

import re
from contextlib import suppress
from functools import partial
from pathlib import Path

from base.command import InputError, NotComparable, check_replaceable, read_json
from base.own_code import source_hash
from base.result_files import canonical
from base.shapes import COMPACTION, misfit
from base.stats import resolution
from compaction.comparison import compare
from compaction.judge.asking import judge_quality
from compaction.rows import summarize
from strategies import available

RESULTS = Path(__file__).parent / "results"
CODE = [  # what decides a figure
    "base/stats.py", "base/turns.py", "strategies.py", *(f"compaction/{name}.py" for name in (
        "comparison", "compactors", "contexts", "fixtures/classify", "fixtures/form", "fixtures/items", "rows"))]
SIDES = ("candidate", "incumbent")
NEEDS_KEY = {"supported": True, "unjudged": True, "verbatim": False, "opaque": False}  # the others may have one


def read_candidate(path):
    """The candidate of a report in a file. InputError as of check_report, NotComparable where other code decided it."""
    report = check_report(read_json(path), path)
    if report.get("code") != code_hashes():
        raise NotComparable(f"{path}: other code of this lab decided its items; make it again with today's")
    return report["candidate"]


def check_report(report, path):
    """The report as it is, or InputError for the first part of it that does not follow from its own items."""
    problem = misfit(report, COMPACTION, "the report")
    try:
        problem = problem or next(problems(report), None)
    except NotComparable as error:
        problem = str(error)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:  # of fields that no shape holds
        problem = f"cannot be computed again ({error!r:.80})"
    if problem:
        raise InputError(f"{path}: {problem}; it was edited or merged, or an older check.py wrote it: record it again")
    return report


def problems(report):
    """What in a report does not follow from its items, one after the other: what follows a problem may be wrong too."""
    sides = [side for side in SIDES if side in report]
    for side in sides:
        yield from (f"{side}: {problem}" for problem in side_problems(report[side]))
    if ("comparison" in report) != (len(sides) == 2):
        yield "a comparison without two sides, or two sides without one"
    if "comparison" in report and canonical(report["comparison"]) != canonical(compare(*map(report.get, SIDES))):
        yield "the comparison does not follow from its sides"
    success = report["task_success"]
    if success is not None and success != resolution(success["rate"], success["n"], success.get("drop")):
        yield "task_success does not follow from its rate"


def side_problems(result):
    """What in one side does not follow from its items and contexts."""
    contexts, items = {item["conversation_id"]: {} for item in result["items"]}, set()
    for context in result["contexts"]:
        name, number = context["conversation_id"], str(context["compaction"])
        if number in contexts.get(name, {number}):
            yield f"compaction {number} of {name} stands twice, or has no items"
        contexts[name][number] = context
        too_large = context["tokens"] is not None and context["tokens"] > result["budget"]["context_limit"]
        if context["failed"] != (too_large and result["keep_share"] is not None):
            yield f"compaction {number} of {name}: failed is {context['failed']}"
    for item in result["items"]:
        place = item["conversation_id"], item["item"]
        if place in items:
            yield f"item {item['item']}: stands twice"
        items.add(place)
        yield from (f"item {item['item']}: {problem}" for problem in item_problems(item, contexts[place[0]]))
    for name, numbered in contexts.items():
        turns = [numbered[number]["turn"] for number in sorted(numbered, key=int)]
        if turns != sorted(turns):
            yield f"the compactions of {name} go back to an earlier turn"
    limit = available({"budget": result["budget"]})
    judge = judge_quality(result["judge"]["card"]) if result["judge"] else None
    again = {"fixtures": result["fixtures"] | {"conversations": len(contexts), "items": len(items)},
             "available_input": limit, **summarize(result["items"], result["contexts"], limit, result["gates"], judge)}
    yield from (f"{field} does not follow from its items"
                for field, value in again.items() if canonical(value) != canonical(result[field]))


def item_problems(item, contexts):
    """What is wrong with an item's verdicts at the contexts {number: context} of its conversation."""
    if not (item["lines"].keys() | item["keys"].keys() <= item["verdicts"].keys() <= contexts.keys()):
        yield "has verdicts, lines or keys of compactions that are not there"
    for number, context in contexts.items():
        verdict, key = item["verdicts"].get(number), number in item["keys"]
        before = item["turn"] < context["turn"]
        unsure = context["inside"] and item["turn"] == context["turn"] - 1  # its user may have stated it, or a tool
        if not unsure and before != (verdict is not None):
            yield f"compaction {number}: {verdict or 'no verdict'}, stated {'before' if before else 'after'} it"
        unlike = (context["failed"] and verdict != "absent"
                  or context["opaque"] and verdict not in ("opaque", "verbatim"))
        if verdict and (unlike or NEEDS_KEY.get(verdict, key) != key):
            yield f"compaction {number}: cannot be {verdict} {'with' if key else 'without'} a judge's key there"


def record_path(given, names):
    """Where a result is kept: the file given, else ["m:f", "../x"] -> results/m-f-against-..-x.json. InputError where
    nothing can be kept there: before an hour of a judge's answers, not after."""
    if not given:
        RESULTS.mkdir(exist_ok=True)
        given = RESULTS / f"{'-against-'.join(re.sub('[^A-Za-z0-9._-]', '-', name) for name in names)}.json"
    path = Path(given)
    check_replaceable(path, partial(is_result_of, names))
    return path


def is_result_of(names, path):
    """Whether a file holds a result of the same compactors, which a new one may replace."""
    with suppress(InputError, KeyError, TypeError):
        report = read_json(path)
        return names == [report[side]["compactor"]["name"] for side in SIDES if side in report]


def code_hashes():
    """SHA-256 of every file that decides a figure."""
    return {name: source_hash(Path(__file__).parents[1] / name) for name in CODE}
