"""Turn what logs of one's own traffic gave into what the page and the Markdown summary show: surveys and signals."""

from base.command import InputError
from compaction.signals.__main__ import says, with_shares
from workbench.report.chart import chart
from workbench.report.view import fields, listed, section, share, table
from workbench.survey import figures_of

SURVEY = ("log", "log_sha256", "tokenizer_manifest_sha256", "counter", "least", "block")


def survey_section(name, report):
    """The section of a survey: what each rule sends at every user turn, and what a prompt cache keeps of it."""
    head = ["rule", "requests", "failed", "turns sent", "mean tokens", "cached"]
    for level in report["budgets"].values():
        for rule in level["rules"].values():
            if (rule["requests"] + rule["failed"] + level["never_fit"] != report["user_turns"]
                or not 0 <= rule["cached_tokens"] <= rule["tokens"] or not 0 <= rule["turns_sent"] <= rule["turns"]):
                raise InputError(f"{name}: its figures contradict each other; edited? run workbench.survey again")
    levels, parts = {int(budget): figures_of(level) for budget, level in report["budgets"].items()}, []
    if len(levels) > 1:
        rules = {lines[0][0]: [line[-1] for line in lines] for lines in zip(*levels.values())}
        parts.append({"kind": "charts", "title": "Against the budget",
                      "charts": [chart("Cached tokens, share", list(levels), rules, top=1.0)]})
    for budget, lines in levels.items():
        rows = [[*line[:3], share(line[3]), "none" if line[4] is None else f"{line[4]:,.1f}", share(line[5])]
                for line in lines]
        level = report["budgets"][str(budget)]
        note = f"Of {report['user_turns']} user turns {level['fit_whole']} fit whole, {level['never_fit']} never fit."
        parts.append(table(f"At {budget:,} input tokens", head, rows, note=note))
    notes = [f"{report['conversations']} conversations. Cached: the front of a request that is, token by token, that "
             f"of the one before it, of at least {report['least']} tokens in blocks of {report['block']}."]
    notes += [f"{what}: {number}." for what, number in report["left_out"].items()]
    return section("survey", name, parts, fields(report, SURVEY), None, notes)


def signals_section(name, report, most, only=()):
    """The section of compaction.signals: calls made again beside their control, and the conversations to read."""
    repeats = with_shares(report["repeats"])
    notes = [", ".join(f"{number} {what}" for what, number in report["log"].items()) + ".", says(repeats) + "."]
    kinds = [["calls made again after a compaction", kind, number] for kind, number in repeats["kinds"].items()]
    kinds += [["user messages", kind, number] for kind, number in report["user_messages"].items()]
    parts = [table("Kinds of evidence", ["where", "kind", "number"], kinds, text=(0, 1))] if kinds else []
    sample = [talk for talk in report["sample"]["conversations"] if not only or talk["conversation_id"] in only]
    parts += listed("Conversations to read, strongest evidence first",
                    [(f"{talk['conversation_id']}: strength {talk['strength']}", evidence(talk))
                     for talk in sample[:most]])
    return section("signals", name, parts, [], None, notes)


def evidence(talk):
    """What a conversation was flagged for: the calls made again and the instructions given again."""
    calls = [(f"call, turn {hit['turn']}, {hit['kind']}", f"{hit['name']} {hit['arguments']}") for hit in talk["hits"]]
    said = [(f"restated, turn {verdict['turn']}", str(verdict.get("said", ""))) for verdict in talk["restatements"]]
    return calls[:5] + said[:5]
