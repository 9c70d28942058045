"""Survey a chat log before any label: what each rule sends at every user turn, and what a prompt cache keeps.

Run:  python -m workbench.survey workbench/sample/chat.jsonl --budget 256,1024 > survey.local.json

Every user turn of the log is a request: a rule chooses from the turns before it, as they were recorded. The log is a
chat log as workbench.import_cases reads it; a case set works too (its histories, each with its question where only one
case asks it). Says nothing about whether what was chosen is enough to answer from: that needs labels.

cached   tokens in the common prefix of a request and the one before it in the same conversation. A provider keeps them
         where they are at least --least, in whole blocks of --block: after a request [1, 2, 3, 4], [1, 2, 3, 9] shares
         3, of which blocks of 2 keep 2. The first request shares nothing, and a reply of the model is taken for new.
"""

import json
import sys
from collections import Counter
from contextlib import suppress
from itertools import chain, takewhile
from pathlib import Path

from base.command import InputError, dump, file_hash, make_parser, progress, run_command, whole_numbers
from base.shown import columns
from selection.cases import check_set
from selection.reporting import print_lines
from selection.run import run_one, selector_table, with_input
from strategies import render, request_cost
from tokenizer import CountError, counter
from tokens.manifest import MANIFEST
from workbench.chat_log import import_chat, read_chat_log
from workbench.import_cases import case_set, check_some, that_fit

RULES = "recent,relevant,notes,hybrid,bm25,near,near-messages-filled"
COUNTED = ("requests", "failed", "turns", "turns_sent", "tokens", "cached_tokens")
NO_LIMIT = 10 ** 9  # tokens: whether a question fits is told by budget
BEFORE = [{"role": "user", "content": "Q1"}, {"role": "assistant", "content": "A1"}]
AFTER = [{"role": "user", "content": "Q2"}]


class Tokens:
    """The tokens of a conversation's requests, as lists of them that requests share.

    Where a count is a sum of parts (Counter.sums), what a run (a user's message and what follows it) adds to a request
    is rendered and tokenised once, between a turn and a question. The parts of every request are held against its exact
    count, and `check` holds some against the whole. Elsewhere each request is tokenised whole.
    """

    def __init__(self, count):
        self._count, self._ids, self._pieces, self._around = count, {}, {}, None

    def parts(self, selected):
        """A request's tokens as lists of them: of the head, of each run and of the question, or else of the whole."""
        messages, texts = selected["messages"], []
        starts = [number for number, message in enumerate(messages) if message["role"] == "user"]
        runs = [messages[start:end] for start, end in zip([0, *starts], [*starts, len(messages)])]
        with suppress(CountError):  # the template refuses a run between others
            if self._count.sums:
                texts = [self._piece(run, number > 0, number < len(starts)) for number, run in enumerate(runs)]
        new = [text for text in texts if text not in self._ids]
        self._ids.update(zip(new, self._count.ids(new)))
        parts = [self._ids[text] for text in texts]
        if sum(map(len, parts)) == selected["input_tokens"]:
            return parts
        return self._count.ids([self._count.text(messages)])

    def check(self, selected, parts):
        """CountError where the whole rendering of a request has other tokens than its parts."""
        if self._count.ids([self._count.text(selected["messages"])])[0] != [*chain(*parts)]:
            raise CountError("its parts have other tokens than the whole; report it with the conversation")

    def _piece(self, run, follows, goes_on):
        """What a run adds: cut out of a rendering with a turn before it (not for the head) and a question behind it."""
        known = (follows, goes_on, *((message["role"], message["content"]) if len(message) == 2 else json.dumps(message)
                                     for message in run))
        if known not in self._pieces:
            if not self._around:
                text = self._count.text(BEFORE + AFTER)
                opening = max(text.rfind(token, 0, text.rfind("Q2")) for token in self._count.control_tokens)
                self._around = text[:opening], text[opening:]
            front, back = self._around[0] * follows, self._around[1] * goes_on
            text = self._count.text(BEFORE * follows + run + AFTER * goes_on)
            cut = text.startswith(front) and text.endswith(back)
            self._pieces[known] = text[len(front):len(text) - len(back)] if cut else ""
        return self._pieces[known]


def common_prefix(parts, before):
    """Tokens in the common prefix of two requests: common_prefix([[1, 2], [3]], [[1, 2], [4]]) -> 2."""
    def equal_front(pairs):
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))

    shared = equal_front(zip(parts, before))
    return sum(map(len, parts[:shared])) + equal_front(zip(chain(*parts[shared:]), chain(*before[shared:])))


def read_conversations(path, count):
    """([(name, instructions, turns)], losses) of a chat log or a case set; the last turn may be a question alone."""
    values, losses = read_chat_log(path)
    first = values[0][1] if values else None
    if isinstance(first, dict) and ("cases" in first or "history" in first):
        cases = check_set(first if "cases" in first else [value for _, value in values], path)
    else:
        made = that_fit(case_set(*import_chat(values, losses), NO_LIMIT), count, losses)
        check_some(made, losses, path)
        cases = [{**case, "history": made["histories"][case["history"]]} for case in made["cases"]]
    asked = Counter(id(case["history"]) for case in cases)
    by_history = {id(case["history"]): case for case in reversed(cases)}
    return [(case["id"], case["instructions"],
             case["history"] + [{"user": case["current"], "assistant": ""}] * (asked[history] == 1))
            for history, case in reversed(by_history.items())], losses


def survey(conversations, rules, budgets, count, least=0, block=1):
    """{budget: {"fit_whole", "never_fit", "rules": {rule: figures}}} over conversations as read_conversations gives.

    rules    {name: strategy}
    figures  requests, failed (the rule gave no request), turns (there were), turns_sent, tokens, cached_tokens
    """
    levels = {budget: {"fit_whole": 0, "never_fit": 0,
                       "rules": {rule: Counter(dict.fromkeys(COUNTED, 0)) for rule in rules}} for budget in budgets}
    for name, instructions, turns in progress(conversations, desc="survey", unit=" conversations"):
        tokens, before, history = Tokens(count), {}, []  # one history, which grows from one request to the next
        try:
            for turn in turns:
                case = {"id": name, "split": "dev", "kind": "", "instructions": instructions, "current": turn["user"],
                        "history": history, "budget": {"context_limit": NO_LIMIT, "max_new_tokens": 0, "margin": 0},
                        "required": [], "stale": []}
                smallest, whole = count(render(case, [])), request_cost(case, count, range(len(history)))
                for budget, level in levels.items():
                    level["fit_whole"] += whole <= budget
                    level["never_fit"] += smallest > budget
                    for rule, select in rules.items() if smallest <= budget else ():
                        selected, problem = run_one(rule, select, with_input(case, budget), count)
                        if problem is not None:
                            level["rules"][rule]["failed"] += 1
                            continue
                        parts = tokens.parts(selected)
                        prefix = common_prefix(parts, before.get((budget, rule), [()])[0])
                        before[budget, rule] = parts, selected
                        level["rules"][rule].update(
                            requests=1, turns=len(history), turns_sent=len(selected["turns"]),
                            tokens=selected["input_tokens"],
                            cached_tokens=prefix // block * block if prefix >= least else 0)
                history.append(turn)
            for parts, selected in before.values():
                tokens.check(selected, parts)
        except CountError as error:
            raise InputError(f"conversation {name!r}: {error}") from None
    return levels


def figures_of(level):
    """[[rule, requests, failed, share of turns sent, mean tokens, share cached]]; None for a share of nothing."""
    return [[rule, figures["requests"], figures["failed"], *(
        figures[part] / figures[of] if figures[of] else None
        for part, of in (("turns_sent", "turns"), ("tokens", "requests"), ("cached_tokens", "tokens")))]
            for rule, figures in level["rules"].items()]


def survey_lines(report):
    rows = [["budget", "rule", "requests", "failed", "turns sent", "mean tokens", "cached"]]
    for budget, level in report["budgets"].items():
        rows += [[f"{int(budget):,}", *("none" if value is None else format(value, form)
                                        for value, form in zip(line, ("", "", "", ".1%", ",.1f", ".1%")))]
                 for line in figures_of(level)]
    return columns(rows, right=(0, 2, 3, 4, 5, 6))


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("log", type=Path, help="a chat log or a case set")
    parser.add_argument("--strategies", default=RULES, metavar="NAME,…", help="rules (default %(default)s)")
    parser.add_argument("--budget", type=whole_numbers, default=[1024, 4096], metavar="N,…",
                        help="input tokens (default 1024,4096)")
    parser.add_argument("--least", type=int, default=0, metavar="N", help="a shorter common prefix is not kept")
    parser.add_argument("--block", type=int, default=1, metavar="N", help="it is kept in whole blocks of N tokens")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST", help="another model's manifest")
    args = parser.parse_args(argv)
    if args.least < 0 or args.block < 1:
        raise InputError("--least is a number from 0 on, --block one from 1 on; correct it")
    count = counter(args.tokenizer)
    rules = selector_table([name for name in args.strategies.split(",") if name])
    log_hash = file_hash(args.log) if args.log.is_file() else None  # a pipe can be read once
    conversations, losses = read_conversations(args.log, count)
    levels = survey(conversations, rules, args.budget, count, args.least, args.block)
    report = {"log": args.log.name, "log_sha256": log_hash, "tokenizer_manifest_sha256": file_hash(args.tokenizer),
              "counter": count.profile(), "least": args.least, "block": args.block,
              "conversations": len(conversations), "user_turns": sum(len(turns) for _, _, turns in conversations),
              "left_out": dict(Counter(what for what, _, _ in losses)),
              "budgets": {str(budget): level for budget, level in levels.items()}}
    sys.stdout.write(dump(report))
    print_lines([f"{report['conversations']} conversations, {report['user_turns']} user turns",
                 *(f"{budget:,} tokens: {level['fit_whole']} fit whole, {level['never_fit']} never fit"
                   for budget, level in levels.items()),
                 *(f"{what}: {count}; workbench.import_cases lists them" for what, count in report["left_out"].items()),
                 *survey_lines(report)], limit=None)
    return 0


if __name__ == "__main__":
    run_command(main)
