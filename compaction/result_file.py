"""Keep a report of check.py as a file, and believe none: what follows from its items is computed again."""

import re
from pathlib import Path

from base.own_code import source_hash
from base.shapes import COMPACTION, misfit
from base.stats import resolution
from strategies import available

from base.command import InputError, NotComparable, check_replaceable, dump, read_json, replace_file, sha256
from compaction.comparison import compare
from compaction.judge.asking import judge_quality
from compaction.rows import summarize

RESULTS = Path(__file__).parent / "results"
CODE = (
    "base/turns.py",
    "base/stats.py",
    "compaction/comparison.py",
    "compaction/compactors.py",
    "compaction/contexts.py",
    "compaction/fixtures/classify.py",
    "compaction/fixtures/form.py",
    "compaction/fixtures/items.py",
    "compaction/fixtures/literals.py",
    "compaction/growth.py",
    "compaction/rows.py",
    "strategies.py",
)  # what decides a figure
SIDES = ("candidate", "incumbent")
NEEDS_KEY = {"supported": True, "unjudged": True, "verbatim": False, "opaque": False}  # the others may have one


def read_report(path):
    """A recorded report that follows from its own items, or InputError."""
    return check_report(read_json(path), path)


def check_report(report, path):
    """The report as it is, or InputError for the first part of it that does not follow from its own items."""
    problem = misfit(report, COMPACTION, "the report")
    try:
        for side in (side for side in SIDES if not problem and side in report):
            problem = side_problem(report[side])
            problem = problem and f"{side}: {problem}"
        if not problem:
            problem = report_problem(report)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:  # of fields that no shape holds
        problem = f"cannot be computed again ({error!r:.80})"
    if problem:
        raise InputError(f"{path}: {problem}; it was edited or merged, or an older check.py wrote it: record it again")
    return report


def side_problem(result):
    """Where one side does not follow from its items and contexts, or None."""
    contexts = {(one["conversation_id"], str(one["compaction"])): one for one in result["contexts"]}
    items = {(one["conversation_id"], one["item"]): one for one in result["items"]}
    if len(contexts) < len(result["contexts"]) or len(items) < len(result["items"]):
        return "an item or a context stands twice"
    for (conversation, name), item in items.items():
        if problem := item_problem(
            item, {number: one for (other, number), one in contexts.items() if other == conversation}
        ):
            return f"item {name}: {problem}"
    conversations = {conversation for conversation, _ in items}
    stated = {"conversations": len(conversations), "items": len(items)}
    if (not {conversation for conversation, _ in contexts} <= conversations
        or stated.items() - result["fixtures"].items()):
        return "its items or contexts are not those of its fixtures"
    for one in result["contexts"]:
        too_large = one["tokens"] is not None and one["tokens"] > result["budget"]["context_limit"]
        if one["failed"] != (too_large and result["keep_share"] is not None):
            return f"compaction {one['compaction']} of {one['conversation_id']}: failed is {one['failed']}"
    limit = available({"budget": result["budget"]})
    judge = judge_quality(result["judge"]["card"]) if result["judge"] else None
    again = {"available_input": limit, **summarize(result["items"], result["contexts"], limit, result["gates"], judge)}
    unlike = [field for field, value in again.items() if value != result[field]]
    return f"{unlike[0]} does not follow from its items" if unlike else None


def item_problem(item, contexts):
    """What is wrong with an item's verdicts at the contexts {number: context} of its conversation, or None."""
    for number, context in contexts.items():
        before = item["turn"] < context["turn"]
        unsure = context["inside"] and item["turn"] == context["turn"] - 1
        if not unsure and before != (number in item["verdicts"]):
            return (
                f"compaction {number}: {'no' if before else 'a'} verdict, stated {'before' if before else 'after'} it")
        if context["failed"] and before and item["verdicts"][number] != "absent":
            return f"compaction {number} failed and kept it all the same"
        if context["opaque"] and item["verdicts"].get(number, "opaque") not in ("opaque", "verbatim"):
            return f"compaction {number} cannot be read and was judged"
    if not (item["lines"].keys() | item["keys"].keys() <= item["verdicts"].keys() <= contexts.keys()):
        return "has verdicts, lines or keys of compactions that are not there"
    for number, verdict in item["verdicts"].items():
        if NEEDS_KEY.get(verdict, number in item["keys"]) != (number in item["keys"]):
            return f"compaction {number}: {verdict} {'with' if number in item['keys'] else 'without'} a judge's key"
    return None


def report_problem(report):
    """Where what stands beside the sides does not follow from them, or None."""
    if ("comparison" in report) != ("incumbent" in report):
        return "a comparison without two sides, or two sides without one"
    try:
        if "comparison" in report and report["comparison"] != compare(*(report[side] for side in SIDES)):
            return "the comparison does not follow from its sides"
    except NotComparable as error:
        return str(error)
    success = report["task_success"]
    if success and success != resolution(success["rate"], success["n"], success.get("drop")):
        return "task_success does not follow from its rate"
    return None


def record_path(given, names):
    """Where a result is kept: the file given, else one in the results folder named after the compactors.

    ["m:f", "../x"] -> results/m-f-against-..-x.json: names of files keep A-Z, a-z, 0-9, dot, underscore and hyphen.
    """
    if given:
        return Path(given)
    RESULTS.mkdir(exist_ok=True)
    return RESULTS / ("-against-".join(re.sub(r"[^A-Za-z0-9._-]", "-", name) for name in names) + ".json")


def own_result(names):
    """A function that tells whether a file holds a result of the same compactors, which a new one may replace."""

    def own(path):
        try:
            report = read_json(path)
            return [
                report[side]["compactor"]["name"] for side in SIDES if side in report
            ] == names and "candidate" in report
        except (InputError, KeyError, TypeError):
            return False

    return own


def check_recordable(path, names):
    """InputError where a result cannot be kept: before an hour of a judge's answers, not after."""
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder to record in; make it or name another file")
    check_replaceable(path, own_result(names))


def record(path, report, names):
    """Keep a report; an earlier one of the same compactors stays beside it as NAME.previous.json."""
    replace_file(path, dump(report).encode("utf-8"), own_result(names))


def fixtures_hash(fixtures):
    """SHA-256 of a loaded fixture set as this project writes JSON: white space in a file changes nothing."""
    return sha256(dump(fixtures))


def code_hashes():
    """SHA-256 of every file that decides a figure."""
    return {name: source_hash(Path(__file__).parents[1] / name) for name in CODE}
