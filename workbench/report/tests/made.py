"""Made-up results for the page, a reader of its elements, and the command run on them."""

import contextlib
import io
import json
import tempfile
from argparse import Namespace
from html.parser import HTMLParser
from pathlib import Path

from base.command import status_of
from compaction.replay.__main__ import summarize as summarize_replay
from evaluate import summarize
from workbench.report.__main__ import main
from workbench.tests.made import report

ROOT = Path(__file__).parents[3]
ALL = Namespace(show=60, only=[])  # the options of a section
CASE = {
    "id": "one", "split": "dev", "kind": "k", "instructions": "Be brief.", "current": "Which port?",
    "history": [{"user": "The port is 80 & no other.", "assistant": "Noted."}, {"user": "Now 8080.", "assistant": ""}],
    "budget": {"context_limit": 900, "max_new_tokens": 0, "margin": 0}, "required": ["80 & no"], "stale": ["Now 8080"],
}
NASTY = "<script>alert('&\"')</script> {{ 7 * 7 }} | `x` @someone"
SURVEY = {
    "log": "log.jsonl", "log_sha256": "a", "tokenizer_manifest_sha256": "b", "counter": {"model": "m"}, "least": 0,
    "block": 1, "conversations": 1, "user_turns": 4, "left_out": {"turn left out": 1}, "budgets": {
        budget: {
            "fit_whole": 3, "never_fit": 1, "rules": {
                NASTY: {"requests": 3, "failed": 0, "turns": 8, "turns_sent": 2, "tokens": 100, "cached_tokens": 25}}
        } for budget in ("128", "1024")}
}
REPLAY = {
    "agent": {}, "compactor": {"name": "c"}, "judge": None, "fixtures": {}, "budget": {}, "counter": {},
    "rows": [{"conversation_id": NASTY, "outcome": "lost", "reference": "run", "failed": False, "calls_differ": True,
              "pairs": {"port": "lost", "disk": "same"}}]}
REPLAY["summary"] = summarize_replay(REPLAY["rows"])
SIGNALS = {
    "log": {"compactions": 2}, "user_messages": {"restates": 1}, "repeats": {
        "window_user_turns": 5, "hits": 1, "kinds": {"idle": 1}, "sign_test_p": 1.0,
        "after": {"repeats": 1, "calls": 4, "share": 0.25}, "control": {"repeats": 0, "calls": 9, "share": 0.0},
        "sessions": {"up": 1, "down": 0, "equal": 0}}, "sample": {
        "conversations": [{"conversation_id": NASTY, "strength": 5, "restatements": [{"turn": 8, "said": "As I said"}],
                           "hits": [{"turn": 7, "kind": "idle", "name": "Read", "arguments": NASTY}]}]}
}


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = status_of(main, list(map(str, arguments)))
    return status, out.getvalue(), err.getvalue()


def evaluation(*rows, **changes):
    made = report(*rows, **changes)
    return {**made, "summary": {name: summarize(found) for name, found in made["cases"].items()}}


def sweep(levels):
    made = report()
    del made["cases"], made["summary"]
    return {**made, "budgets": {budget: {"summary": {name: summarize(rows)
                                                     for name, rows in cases.items()}, "cases": cases}
                                for budget, cases in levels.items()}}


class Tags(HTMLParser):
    """Collects the elements, their attributes and the text of a page, and whether every element was closed."""

    VOID = {"meta", "link", "br", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.problems = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def made(*results, options=()):
    """What the command prints for results, each in a file of its own; AssertionError with its complaint."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, result in enumerate(results):
            paths.append(Path(folder) / f"result-{number}.json")
            paths[-1].write_text(json.dumps(result), encoding="utf-8")
        status, out, err = run(*paths, *options)
        if status:
            raise AssertionError(err)
        return out
