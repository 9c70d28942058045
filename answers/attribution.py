"""Attribute each answer to its request: was the fact sent, and was it answered?

A required fact is used, sent_not_answered (the model's loss), not_sent_nor_answered (the selection's loss) or
answered_without (known or guessed); for stale facts answered means given as current. Only the report of the very
requests that were answered can tell, and another is refused. The nth must pattern belongs to the nth fact.
"""

import strategies
from answers.recording import answered, json_hash, same_as_recorded, sent_request
from answers.reply import incomplete_kind
from base.command import InputError, NotComparable, file_hash
from base.shapes import FACT, Each, misfit
from base.shown import figures, one_line
from base.turns import fact_text

OUTCOMES = {  # (sent, answered) -> what the answer is for a fact, by kind of fact; None: could not be told
    "required": {(True, True): "used", (True, False): "sent_not_answered", (False, False): "not_sent_nor_answered",
                 (False, True): "answered_without", None: "incomplete"},
    "stale": {(True, True): "given_as_current", (True, False): "sent_not_given", (False, False): "neither",
              (False, True): "given_without", None: "incomplete"},
}
ROW = {"case": str, "input_tokens": int, "required_total": int, "missing": [FACT], "stale_included": [FACT],
       "turns": [int], "notes": int}
HASHES = ("case_set_sha256", "strategies_sha256", "tokenizer_manifest_sha256")
SAME_REQUESTS = "the hash of every request, made again from the report"
SAME_HASHES = "the hashes of case set, strategies and tokenizer manifest, and the prompt tokens of every request"
SAME_TOKENS = ("equal prompt tokens for every strategy and case, for the recording holds no request hashes: likely the"
               " same requests, not proved")


def rows_of(report):
    """{(strategy, case id): row} of an evaluation report, less the rows of selectors that failed."""
    if misfit(report, {"cases": Each(object)}):
        raise NotComparable("the report has no level 'cases' (a sweep over budgets?); make one with python evaluate.py")
    rows = {}
    for strategy, listed in report["cases"].items():
        for row in listed if isinstance(listed, list) else [listed]:
            if isinstance(row, dict) and "error" in row:
                continue
            if problem := misfit(row, ROW, "it"):
                raise InputError(f"the report has a broken row of {strategy}: {problem}; run python evaluate.py again")
            rows[strategy, row["case"]] = row
    return rows


def check_same_requests(recording, report, cases):
    """How sameness was established, or NotComparable for a report of other requests; `cases` is {case id: case}."""
    rows, recorded = rows_of(report), recording.get("recorded", {})
    for name in HASHES:
        if name in recorded and recorded[name] != report.get(name):
            raise NotComparable(f"the report is about other requests: its {name} is {report.get(name)} and the"
                                f" recording's {recorded[name]}; run python evaluate.py on what was recorded")
    proved = remade = report.get("strategies_sha256") == file_hash(strategies.__file__)  # by the rules of today
    for strategy, case, entries in answered(recording):
        where, row = f"{strategy}/{case}", rows.get((strategy, case))
        if row is None:
            raise NotComparable(f"the report has no row for {where}; run evaluate.py with that strategy and case")
        for entry in entries:
            if "incomplete" not in entry and entry["prompt_tokens"] != row["input_tokens"]:
                raise NotComparable(f"the report is about other requests: {where} costs {row['input_tokens']} tokens"
                                    f" there and {entry['prompt_tokens']} in the recording")
        known = cases.get(case, {"required": [], "stale": [], "history": []})
        if (len(known["required"]) != row["required_total"]
            or case not in cases
            or any(fact not in known["required"] for fact in row["missing"])
            or any(fact not in known["stale"] for fact in row["stale_included"])
            or any(not 0 <= turn < len(known["history"]) for turn in row["turns"])):
            raise NotComparable(
                f"{where}: the facts are not those of the case set, or it lacks the case; correct --cases")
        sent = sent_request(recording, strategy, case).get("messages_sha256")
        proved = proved and sent is not None
        if remade and sent is not None and json_hash(request_of(row, cases[case])) != sent:
            raise NotComparable(f"{where} is not what was sent, by its hash; give the recording's report and cases")
    if proved:
        return SAME_REQUESTS
    return SAME_HASHES if all(name in recorded for name in HASHES) else SAME_TOKENS


def request_of(row, case):
    """The messages that a report's row is about: its turns, and the newest notes of the turns that it left out."""
    candidates = [line
                  for turn, notes in enumerate(strategies.note_lines(case["history"], strategies.CUES))
                  if turn not in row["turns"]
                  for line in notes]
    return strategies.render(case, row["turns"], candidates[len(candidates) - row["notes"] :])


def attribute(recording, report, cases, keys, grader, version=1):
    """The attribution report: answers by outcome for each strategy and for every fact; grader as in GRADERS."""
    by_id = {case["id"]: case for case in cases}
    result = {"same_requests_by": check_same_requests(recording, report, by_id),
              "answers_as_recorded": same_as_recorded(recording), **({} if version == 1 else {"grader": version})}
    rows = rows_of(report)
    for kind in OUTCOMES:
        facts = [fact for rule, id_, entries in answered(recording)
                 for fact in attribute_case(kind, rule, by_id[id_], rows[rule, id_], entries, keys[id_], grader)]
        summary = {strategy: dict.fromkeys(OUTCOMES[kind].values(), 0) for strategy in recording["answers"]}
        for fact in facts:
            for name, number in fact["answers"].items():
                summary[fact["strategy"]][name] += number
        result[kind] = {"summary": summary, "facts": facts}
    return result


def attribute_case(kind, strategy, case, row, entries, key, grader):
    """For each fact of one kind in a case: was it sent, and how many answers had which outcome."""
    facts, patterns, (given, stale, _) = case[kind], key["must" if kind == "required" else "stale"], grader
    if len(patterns) != len(facts):
        raise InputError(f"case {case['id']!r}: {len(patterns)} patterns for {len(facts)} {kind} facts; give one each")
    for place, fact in enumerate(facts):
        if kind == "required":
            sent = fact not in row["missing"]
            told = [None if incomplete_kind(entry) else (sent, given(entry["answer"], key)[place]) for entry in entries]
        else:
            sent, alone = fact in row["stale_included"], {**key, "stale": [patterns[place]]}
            told = [None if incomplete_kind(entry) else (sent, stale(entry["answer"], alone)) for entry in entries]
        yield {"strategy": strategy, "case": case["id"], "fact": fact_text(fact), "in_request": sent,
               "answers": {name: told.count(outcome) for outcome, name in OUTCOMES[kind].items()}}


def table(result):
    """The attribution as lines of text for a person."""
    lines = [
        f"same requests: {result['same_requests_by']}", f"answers as recorded: {result['answers_as_recorded']}",
        "sent: the fact was in the request; answered: the answer states it; the figures count one fact in one answer"]
    for kind in OUTCOMES:
        lines += ["", f"{kind} facts, answers by outcome",
                  *figures([*OUTCOMES[kind].values()], result[kind]["summary"])]
        lines += [f"  {name.replace('_', ' ')}: {fact['strategy']}/{fact['case']}: {one_line(fact['fact'], 80)!r}"
                  f" ({fact['answers'][name]} of {sum(fact['answers'].values())})"
                  for name in OUTCOMES[kind].values()
                  if name not in ("used", "neither")
                  for fact in result[kind]["facts"]
                  if fact["answers"][name]]
    return "\n".join(lines)
