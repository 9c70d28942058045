"""Turn what logs of one's own traffic gave into what the page and the Markdown summary show: surveys and signals."""

from workbench.report.chart import chart
from workbench.report.view import fields, listed, section, share, table

SURVEY = ("log", "log_sha256", "tokenizer_manifest_sha256", "counter", "least", "block")


def survey_section(name, report):
    """The section of a survey: what each rule sends at every user turn, and what a prompt cache keeps of it."""
    head = ["rule", "requests", "failed", "turns sent", "mean tokens", "cached"]
    parts, budgets = [], [int(budget) for budget in report["budgets"]]
    if len(budgets) > 1:
        rules = {rule: [part(level["rules"][rule]["cached_tokens"], level["rules"][rule]["tokens"])
                        for level in report["budgets"].values()]
                 for rule in next(iter(report["budgets"].values()))["rules"]}
        parts.append({"kind": "charts", "title": "Against the budget",
                      "charts": [chart("Cached tokens, share", budgets, rules, top=1.0)]})
    for budget, level in report["budgets"].items():
        rows = [[rule, one["requests"], one["failed"], share(part(one["turns_sent"], one["turns"])),
                 f"{one['tokens'] / one['requests']:,.1f}" if one["requests"] else "none",
                 share(part(one["cached_tokens"], one["tokens"]))] for rule, one in level["rules"].items()]
        note = f"Of {report['user_turns']} user turns {level['fit_whole']} fit whole, {level['never_fit']} never fit."
        parts.append(table(f"At {int(budget):,} input tokens", head, rows, note=note))
    notes = [
        f"{report['conversations']} conversations. Cached: the front of a request that is, token by token, the front "
        f"of the one before it, of at least {report['least']} tokens in blocks of {report['block']}."]
    notes += [f"{number} times {what}." for what, number in report["left_out"].items()]
    return section("survey", name, parts, fields(report, SURVEY), None, notes)


def part(some, whole):
    """A share, or None of nothing."""
    return some / whole if whole else None


def signals_section(name, report, most, only=()):
    """The section of compaction.signals: calls made again beside their control, and the conversations to read."""
    rows = [[
        window.replace("_", " "), one["repeat"], *(side_text(one[side]) for side in ("after", "control")),
        *(one["sessions"].get(way, 0) for way in ("up", "down", "equal")), f"{one['sign_test_p']:.3g}"
    ] for window, found in report["repeats"].items() for one in found["shares"]]
    parts = [table(
                 "Calls made again",
                 ["window", "a call", "after a compaction", "control", "up", "down", "equal", "sign test p"], rows,
                 text=(0, 1),
                 note="Most calls made again are innocent: no share is read without its control. Up, down, equal: "
                 "conversations with a larger, smaller or equal share after a compaction.")]
    kinds = [[window.replace("_", " "), kind, number]
             for window, found in report["repeats"].items()
             for kind, number in found["kinds"].items()]
    kinds += [["user messages", kind, number] for kind, number in report["user_messages"].items()]
    if kinds:
        parts.append(table("Kinds", ["where", "kind", "number"], kinds, text=(0, 1)))
    sample = [one for one in report["sample"]["conversations"] if not only or one["conversation_id"] in only]
    parts += listed("Conversations to read, strongest evidence first",
                    [(f"{one['conversation_id']}: strength {one['strength']}", evidence(one)) for one in sample[:most]])
    counts = ", ".join(f"{number} {what}" for what, number in report["log"].items())
    return section("signals", name, parts, [], None, [counts + "."])


def side_text(one):
    """Repeats of calls on one side of the comparison, with the share where there is one."""
    told = f"{one['repeats']} of {one['calls']}"
    return told if one["share"] is None else f"{told} ({one['share']:.3f})"


def evidence(one):
    """What a conversation was flagged for: the calls made again and the instructions given again."""
    calls = [(f"call, turn {hit['turn']}, {hit['kind']}", f"{hit['name']} {hit['arguments']}") for hit in one["hits"]]
    said = [(f"restated, turn {verdict['turn']}", str(verdict.get("said", ""))) for verdict in one["restatements"]]
    return calls[:5] + said[:5]
