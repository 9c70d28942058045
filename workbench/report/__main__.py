"""Show results as one self-contained page, or as a Markdown summary for a pull request.

Run:  python -m workbench.report evaluation-result.json > report.html
      python -m workbench.report evaluation-result.json --markdown

A result is what evaluate.py, workbench.compare or compaction.check gave. A cell of the matrix opens to the request
that the strategy chose, made again from the case set and checked against the recorded row; that needs the prepared
tokenizer and the case set that was hashed (beside the result, in this folder, or --cases FILE). Where it cannot be
made, the page says why and shows the row's figures. All text is escaped; the page runs no script and loads nothing.
"""

import argparse
import sys
from pathlib import Path

from base.result_files import read_result
from base.shown import written_out

from base.command import InputError, run_command
from workbench.report.sent import read_requests
from workbench.report.view import comparison_section, evaluation_section

TITLES = {"evaluation": "Evaluation", "comparison": "Comparison", "compaction": "Compaction"}


def section_of(path, args):
    """The section of one result file; InputError for a file that is none."""
    kind, result = read_result(path, *TITLES)
    notes = []
    if kind == "evaluation":
        shown, requests = only(result, args.only), {}
        if not args.markdown:
            requests, notes = read_requests(path, result, args.cases, args.show, args.only)
        section = evaluation_section(path.name, shown, args.show, requests)
    elif kind == "comparison":
        section = comparison_section(path.name, result)
    else:
        from workbench.report.compacted import compaction_section  # here, since an evaluation needs nothing of it

        section = compaction_section(path.name, result, args.show, args.only)
    return {"notes": notes, **section, "title": TITLES[kind]}


def only(report, names):
    """The report with the rows of the named cases alone, all rows where none is named; summaries stay."""
    if not names:
        return report

    def kept(level):
        cases = {strategy: [row for row in rows if row["case"] in names] for strategy, rows in level["cases"].items()}
        if not all(cases.values()):
            raise InputError(f"--only {', '.join(names)}: no such case in the report; take a name from it")
        return {**level, "cases": cases}

    if "budgets" in report:
        return {**report, "budgets": {budget: kept(level) for budget, level in report["budgets"].items()}}
    return kept(report)


def shown(value):
    """A value as the page writes it, before it is escaped: nothing in it turns the text around it about."""
    return written_out(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def page(sections):
    """The page as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        autoescape=select_autoescape(default=True, default_for_string=True, disabled_extensions=("css",)),
        trim_blocks=True, extensions=["jinja2.ext.loopcontrols"], undefined=StrictUndefined, finalize=shown)
    title = "What reaches the model" if len(sections) != 1 else f"What reaches the model: {sections[0]['name']}"
    return environment.get_template("page.jinja").render(title=title, sections=sections)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="example: python -m workbench.report evaluation-result.json > report.html",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT", help="a recorded result, JSON")
    parser.add_argument("--markdown", action="store_true", help="a summary for a pull request instead of the page")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="the case set that the results were made from")
    parser.add_argument("--show", type=int, default=60, metavar="N", help="cases in a matrix (default %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help="show this case; may be repeated")
    args = parser.parse_args(argv)
    if args.show < 1:
        raise InputError("--show: a number from 1 on is wanted")
    sections = [section_of(path, args) for path in args.results]
    if args.markdown:
        from workbench.report.markdown import markdown

        sys.stdout.write(markdown(sections))
    else:
        sys.stdout.write(page(sections))
    return 0


if __name__ == "__main__":
    run_command(main)
