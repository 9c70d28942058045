"""Made-up results for the page, a reader of its elements, and the command run on them."""

from argparse import Namespace
from html.parser import HTMLParser

from base.shapes import LEVEL
from base.tests.made import ROOT, Files, edited, run
from compaction.replay.__main__ import differences
from compaction.replay.__main__ import summarize as summarize_replay
from compaction.signals.__main__ import concluded
from workbench.report.__main__ import main
from workbench.tests.made import labelled_case, report, row

RESULTS = sorted((ROOT / "compaction" / "results").glob("*-against-*.json"))
ALL = Namespace(show=60, only=[])  # the options of a section
FORMS = ((), ("--markdown", ))  # options of the page and of the summary
CASE = labelled_case(
    instructions="Be brief.", current="Which port?", required=["80 & no"], stale=["Now 8080"],
    history=[{"user": "The port is 80 & no other.", "assistant": "Noted."}, {"user": "Now 8080.", "assistant": ""}])
NASTY = "<script>alert('&\"')</script> {{ 7 * 7 }} | `x` @someone"
RULE = {"requests": 3, "failed": 0, "turns": 8, "turns_sent": 2, "tokens": 100, "cached_tokens": 25}
SURVEY = {"log": "log.jsonl", "log_sha256": "a", "tokenizer_manifest_sha256": "b", "counter": {"model": "m"},
          "least": 0, "block": 1, "conversations": 1, "user_turns": 4, "left_out": {"turn left out": 1},
          "budgets": dict.fromkeys(("128", "1024"), {"fit_whole": 3, "never_fit": 1, "rules": {NASTY: RULE}})}
RUN = {"calls": [["ask", {}]], "answers": ["Ok."], "checks": {"port": "verbatim", "disk": "verbatim"},
       "probe_calls": {"port": [], "disk": []}}
ROW = {"conversation_id": NASTY, "turn": 9, "reference": "run", "failed": False, "reference_run": RUN,
       "compacted_run": {**RUN, "checks": {"port": "absent", "disk": "verbatim"},
                         "probe_calls": {"port": [["ask", {"item": "port"}]], "disk": []}}}
REPLAY = {"agent": {}, "compactor": {"name": "c"}, "judge": None, "fixtures": {"conversations": 1}, "budget": {},
          "counter": {}, "rows": [ROW | differences(ROW)]}
REPLAY["summary"] = summarize_replay(REPLAY["rows"])
TALK = {"conversation_id": NASTY, "restatements": [{"turn": 8, "near": True, "said": "As I said"}],
        "hits": [{"turn": 7, "kind": "idle", "name": "Read", "arguments": NASTY}]}
QUIET = {"conversation_id": "quiet", "restatements": [], "hits": []}
SIGNALS = concluded({
    "log": {"compactions": 2, "conversations": 2, "flagged conversations": 1}, "user_messages": {}, "repeats": {
        "window_user_turns": 5, "after": {"repeats": 1, "calls": 4}, "control": {"repeats": 0, "calls": 9},
        "sessions": {"up": 1, "down": 0, "equal": 0}},
    "sample": {"seed": 0, "conversations": [QUIET]}, "to_look_at": [], "flagged": [TALK]})
UNGRADED = row("two", error="no")


def sweep(levels):
    """A report of {budget: {strategy: rows}}."""
    head = {field: value for field, value in report().items() if field not in LEVEL}
    return {**head, "budgets": {budget: {field: report(cases=cases)[field] for field in LEVEL}
                                for budget, cases in levels.items()}}


def changed(result, changes):
    """A copy of a result, other values at some places, None for none: changed(gate, {"results/0/lost": []})."""
    for place, value in changes.items():
        path = [int(part) if part in "01" else part for part in place.split("/")]
        result = edited(result, path, *[value] * (value is not None))
    return result


class Tags(HTMLParser):
    """Collects the elements, their attributes and the text of a page, and whether every element was closed."""

    VOID = {"meta", "link", "br", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.problems = [], [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open += [tag] * (tag not in self.VOID)

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.problems.append(tag)

    def handle_data(self, data):
        self.words += data


class Pages(Files):
    def made(self, *results, options=()):
        """What the command prints for results, each in a file of its own."""
        paths = [self.write(f"result-{number}.json", result) for number, result in enumerate(results)]
        status, out, err = run(main, *paths, *options)
        self.assertEqual(status, 0, err)
        return out
