"""Show results as one self-contained page, or as a Markdown summary for a pull request.

Run:  python -m workbench.report evaluation-result.json > report.html
      python -m workbench.report evaluation-result.json --markdown

One that does not follow from its own rows is refused. A cell of an evaluation opens to the request that the strategy
chose; that needs the prepared tokenizer and the case set that was hashed (beside the result, in this folder, or --cases
FILE). All text is escaped; the page runs no script and loads nothing.
"""

import sys
from html import escape
from pathlib import Path

from base.command import InputError, make_parser, run_command
from base.result_files import KINDS, check_evaluation, read_result
from base.shown import one_line, written_out
from evaluate import summarize
from tokens.manifest import MANIFEST
from workbench.report.compacted import compaction_section, replay_section, signals_section
from workbench.report.sent import request_views
from workbench.report.view import comparison_section, evaluation_section, survey_section

SECTIONS = {"comparison": comparison_section, "survey": survey_section, "signals": signals_section,
            "compaction": compaction_section, "replay": replay_section}
SIGNS = str.maketrans({sign: f"&#{ord(sign)};" for sign in "|\\`*_[]~@#"})


def section_of(path, args):
    """The section of one result file; InputError for a file that is none or does not follow from its rows."""
    kind, result = read_result(path, *KINDS)
    if kind != "evaluation":
        return SECTIONS[kind](path.name, result, args)
    check_evaluation(result, path, summarize)
    requests, notes = ({}, []) if args.markdown else request_views(path, result, args)
    return evaluation_section(path.name, result, args, requests) | {"notes": notes}


def page_value(value):
    """A value as the page writes it, before it is escaped: control characters and overrides written out."""
    return written_out(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def summary_value(value):
    """A value as the summary writes it: on one line, with nothing in it that Markdown or HTML acts on."""
    return escape(" ".join(one_line(value).split()), quote=False).translate(SIGNS)


def filled(sections, markdown=False):
    """The page of some sections, or their summary."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"), trim_blocks=True, undefined=StrictUndefined,
        autoescape=not markdown, finalize=summary_value if markdown else page_value)
    title = "What reaches the model" + (f": {sections[0]['name']}" if len(sections) == 1 else "")
    template = environment.get_template("summary.jinja" if markdown else "page.jinja")
    return template.render(title=title, sections=sections)


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT", help="a recorded result, JSON")
    parser.add_argument("--markdown", action="store_true", help="a summary for a pull request instead of the page")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="the case set that the results were made from")
    parser.add_argument("--show", type=int, default=60, metavar="N", help="rows in a matrix (default %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="show this case, item or "
                        "conversation; may be repeated")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST",
                        help="the manifest of the model that the results were counted for")
    args = parser.parse_args(argv)
    if args.show < 1:
        raise InputError("--show: a number from 1 on is wanted")
    sys.stdout.write(filled([section_of(path, args) for path in args.results], args.markdown))


if __name__ == "__main__":
    run_command(main)
