"""Made-up results for the page, a reader of its elements, and the command run on them."""

from argparse import Namespace
from html.parser import HTMLParser

from base.shapes import LEVEL
from base.tests.made import ROOT, Files, run
from compaction.replay.__main__ import summarize as summarize_replay
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
REPLAY = {
    "agent": {}, "compactor": {"name": "c"}, "judge": None, "fixtures": {}, "budget": {}, "counter": {},
    "rows": [{"conversation_id": NASTY, "outcome": "lost", "reference": "run", "failed": False, "calls_differ": True,
              "pairs": {"port": "lost", "disk": "same"}}]}
REPLAY["summary"] = summarize_replay(REPLAY["rows"])
TALK = {"conversation_id": NASTY, "strength": 5, "restatements": [{"turn": 8, "said": "As I said"}],
        "hits": [{"turn": 7, "kind": "idle", "name": "Read", "arguments": NASTY}]}
SIGNALS = {"log": {"compactions": 2}, "user_messages": {"restates": 1}, "sample": {"conversations": [TALK]},
           "repeats": {
    "window_user_turns": 5, "hits": 1, "kinds": {"idle": 1}, "sign_test_p": 1.0,
    "after": {"repeats": 1, "calls": 4, "share": 0.25}, "control": {"repeats": 0, "calls": 9, "share": 0.0},
    "sessions": {"up": 1, "down": 0, "equal": 0}}}
UNGRADED = row("two", error="no")


def sweep(levels):
    """A report of {budget: {strategy: rows}}."""
    head = {field: value for field, value in report().items() if field not in LEVEL}
    return {**head, "budgets": {budget: {field: report(cases=cases)[field] for field in LEVEL}
                                for budget, cases in levels.items()}}


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
