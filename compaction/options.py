"""The options that several commands share, and what the user names with them: budget, judge, compactor.

Does not call what it finds.
"""

from pathlib import Path

import tokenizer
from base.command import InputError
from base.own_code import code_hash, load_function
from compaction import compactors
from compaction.fixtures.form import SHIPPED
from strategies import available

BUILT_IN = {"recent": compactors.recent, "notes": compactors.notes, "ledger": compactors.ledger}


def add_budget(parser, budget, keep_share):
    """The four options of a budget."""
    parser.add_argument("--context-limit", type=int, default=budget["context_limit"], metavar="TOKENS",
                        help="the model's window (default %(default)s)")
    parser.add_argument("--max-new-tokens", type=int, default=budget["max_new_tokens"], metavar="TOKENS",
                        help="kept for the answer (default %(default)s)")
    parser.add_argument(
        "--margin", type=int, default=budget["margin"], metavar="TOKENS", help="kept free (default %(default)s)")
    parser.add_argument("--keep-share", type=float, default=keep_share, metavar="SHARE",
                        help="of the available input, at most, that a compactor may leave filled (default %(default)s)")


def add_fixtures(parser):
    """The option that names fixtures."""
    parser.add_argument("--fixtures", nargs="+", type=Path, default=[SHIPPED], metavar="PATH",
                        help="fixture files or folders (default: the shipped set)")


def add_tokenizer(parser):
    """The option that names another model's tokenizer."""
    parser.add_argument("--tokenizer", type=Path, metavar="MANIFEST", help="count for the model of another manifest")


def counter_of(args):
    """The Counter of the manifest that the options name, or of the shipped one."""
    return tokenizer.counter(args.tokenizer) if args.tokenizer else tokenizer.counter()


def budget_of(args):
    """The lab's budget from the options, or InputError where nothing is left for the input."""
    budget = {"context_limit": args.context_limit, "max_new_tokens": args.max_new_tokens, "margin": args.margin}
    if min(budget.values()) < 0 or available({"budget": budget}) <= 0:
        raise InputError(f"the budget {budget} leaves no input; raise --context-limit or lower the other two")
    if not 0 < args.keep_share <= 1:
        raise InputError(f"--keep-share is {args.keep_share}; give a share above 0, at most 1")
    return budget


def add_judge(parser):
    """The options that say who judges what text cannot tell."""
    parser.add_argument("--judge", metavar="NAME",
                        help="human, your own function (FILE.py:NAME, module:function) or the file of a model block")
    parser.add_argument(
        "--verdicts", type=Path, metavar="FILE", help="recorded verdicts (JSON lines): read, and with --judge added to")
    parser.add_argument("--card", type=Path, metavar="FILE", help="the judge's card, as compaction.judge prints it")


def judge_of(args):
    """The judge that the options name, or None."""
    if not (args.judge or args.verdicts):
        if args.card:
            raise InputError(f"{args.card}: a card says nothing without its judge; name --judge or --verdicts too")
        return None
    from compaction.judge.asking import recorded_judge  # here, since most runs do without a model

    return recorded_judge(args.judge, args.verdicts, args.card, args.tokenizer)


def find_compactor(name, model_file=None, manifest=None):
    """{"name", "function", "extractive", "sha256"} for a built-in name, "summary" or module:function."""
    if name == "summary":
        from compaction.summary import summariser  # here, since it needs a model that most runs do without

        return {"name": name, **summariser(model_file, manifest)}
    function = (
        BUILT_IN[name] if name in BUILT_IN else load_function(name, f"one of {', '.join([*BUILT_IN, 'summary'])}"))
    return {"name": name, "function": function, "extractive": bool(getattr(function, "extractive", False)),
            "sha256": code_hash(function)}
