"""Attribute each answer to its request: was the fact sent, and was it answered?

A required fact is used, sent_not_answered (the model's loss), not_sent_nor_answered (the selection's loss) or
answered_without (known or guessed); for stale facts answered means given as current. The report has to be that of the
very requests that were answered. The nth must pattern belongs to the nth fact.
"""

from collections import Counter

import strategies
from answers.recording import answered, incomplete_kind, json_hash, same_as_recorded
from base.command import InputError, NotComparable, file_hash
from base.result_files import graded
from base.shown import figure_table, one_line
from base.turns import fact_text

OUTCOMES = {  # (sent, answered) -> what the answer is for a fact, by kind of fact; None: could not be told
    "required": {(True, True): "used", (True, False): "sent_not_answered", (False, False): "not_sent_nor_answered",
                 (False, True): "answered_without", None: "incomplete"},
    "stale": {(True, True): "given_as_current", (True, False): "sent_not_given", (False, False): "neither",
              (False, True): "given_without", None: "incomplete"}}
HASHES = ("case_set_sha256", "strategies_sha256", "tokenizer_manifest_sha256")
SAME_REQUESTS = "the hash of every request, made again from the report"
SAME_HASHES = "the hashes of case set, strategies and tokenizer manifest, and the prompt tokens of every request"
SAME_TOKENS = ("equal prompt tokens for every strategy and case, for the recording holds no request hashes: likely the"
               " same requests, not proved")


def rows_of(report):
    """{(strategy, case id): row} of an evaluation (base.result_files), less the rows of selectors that failed."""
    if "budgets" in report:
        raise NotComparable("the report is a sweep over budgets; make one at the cases' own with python evaluate.py")
    return {(strategy, row["case"]): row for strategy, rows in report["cases"].items() for row in filter(graded, rows)}


def check_same_requests(recording, report, cases, in_request):
    """How sameness was established, or NotComparable for a report of other requests; `cases` is {case id: case}.

    Which facts a request holds is computed again (selection.facts.in_request) where it can be made again.
    """
    rows, recorded = rows_of(report), recording.get("recorded", {})
    for name in HASHES:
        if name in recorded and recorded[name] != report.get(name):
            raise NotComparable(f"the report is about other requests: its {name} is {report.get(name)} and the"
                                f" recording's {recorded[name]}; run python evaluate.py on what was recorded")
    remade = report.get("strategies_sha256") == file_hash(strategies.__file__)  # by the rules of today
    proved = True
    for strategy, case, entries, request in answered(recording):
        where, row, known = f"{strategy}/{case}", rows.get((strategy, case)), cases.get(case)
        if row is None:
            raise NotComparable(f"the report has no row for {where}; run evaluate.py with that strategy and case")
        if other := {entry.get("prompt_tokens", row["input_tokens"]) for entry in entries} - {row["input_tokens"]}:
            raise NotComparable(f"the report is about other requests: {where} costs {row['input_tokens']} tokens"
                                f" there and {min(other)} in the recording")
        if known is None or not is_about(row, known):
            raise NotComparable(
                f"{where}: the facts are not those of the case set, or it lacks the case; correct --cases")
        selected, sent = {**row, "messages": request_messages(row, known)}, request.get("messages_sha256")
        same = sent == json_hash(selected["messages"])
        if remade and not same and sent is not None:
            raise NotComparable(f"{where} is not what was sent, by its hash; give the recording's report and cases")
        missing = [fact for fact in known["required"] if not in_request(fact, known, selected)]
        stale = [fact for fact in known["stale"] if in_request(fact, known, selected)]
        if (same or remade) and (missing, stale) != (row["missing"], row["stale_included"]):
            raise NotComparable(f"the report was edited: {where} does not have the facts of its request; run python"
                                " evaluate.py on what was recorded")
        proved = proved and same
    if proved:
        return SAME_REQUESTS
    return SAME_HASHES if all(name in recorded for name in HASHES) else SAME_TOKENS


def is_about(row, case):
    """Whether a report's row can be about a case: its facts and its turns are the case's."""
    return (row["required_total"] == len(case["required"])
            and all(fact in case["required"] for fact in row["missing"])
            and all(fact in case["stale"] for fact in row["stale_included"])
            and all(0 <= turn < len(case["history"]) for turn in row["turns"]))


def request_messages(row, case):
    """The messages that a report's row is about: its turns, and the newest notes of the turns that it left out."""
    notes = [line for turn, lines in enumerate(strategies.note_lines(case["history"], strategies.CUES))
             if turn not in row["turns"] for line in lines]
    return strategies.render(case, row["turns"], notes[len(notes) - row["notes"] :])


def attribute(recording, report, cases, keys, grader, in_request, version=1):
    """The attribution report: answers by outcome for each strategy and for every fact; grader as in GRADERS."""
    by_id, rows = {case["id"]: case for case in cases}, rows_of(report)
    result = {"same_requests_by": check_same_requests(recording, report, by_id, in_request),
              "answers_as_recorded": same_as_recorded(recording), **({} if version == 1 else {"grader": version})}
    for kind, outcomes in OUTCOMES.items():
        facts = [fact for rule, id_, entries, _ in answered(recording)
                 for fact in attribute_case(kind, rule, by_id[id_], rows[rule, id_], entries, keys[id_], grader)]
        summary = {rule: {name: sum(fact["answers"][name] for fact in facts if fact["strategy"] == rule)
                          for name in outcomes.values()} for rule in recording["answers"]}
        result[kind] = {"summary": summary, "facts": facts}
    return result


def attribute_case(kind, strategy, case, row, entries, key, grader):
    """For each fact of one kind in a case: was it sent, and how many answers had which outcome."""
    facts, patterns, (given, stale, _) = case[kind], key["must" if kind == "required" else "stale"], grader
    if len(patterns) != len(facts):
        raise InputError(f"case {case['id']!r}: {len(patterns)} patterns for {len(facts)} {kind} facts; give one each")
    texts = [entry["answer"] for entry in entries if not incomplete_kind(entry)]
    for place, fact in enumerate(facts):
        if kind == "required":
            sent = fact not in row["missing"]
            told = Counter((sent, given(text, key)[place]) for text in texts)
        else:
            sent, alone = fact in row["stale_included"], {**key, "stale": [patterns[place]]}
            told = Counter((sent, stale(text, alone)) for text in texts)
        told[None] = len(entries) - len(texts)
        yield {"strategy": strategy, "case": case["id"], "fact": fact_text(fact), "in_request": sent,
               "answers": {name: told[outcome] for outcome, name in OUTCOMES[kind].items()}}


def attribution_lines(result):
    """The attribution as lines of text for a person."""
    lines = [
        f"same requests: {result['same_requests_by']}", f"answers as recorded: {result['answers_as_recorded']}",
        "sent: the fact was in the request; answered: the answer states it; the figures count one fact in one answer"]
    for kind, outcomes in OUTCOMES.items():
        lines += ["", f"{kind} facts, answers by outcome", *figure_table(outcomes.values(), result[kind]["summary"])]
        lines += [f"  {name.replace('_', ' ')}: {fact['strategy']}/{fact['case']}: {one_line(fact['fact'], 80)!r}"
                  f" ({fact['answers'][name]} of {sum(fact['answers'].values())})"
                  for name in outcomes.values() if name not in ("used", "neither")
                  for fact in result[kind]["facts"] if fact["answers"][name]]
    return lines
