"""Count what a request costs: the model's own chat template and tokenizer, no inference.

Run:  python tokenizer.py messages.json
      python tokenizer.py --tokenizer other-manifest.json - < messages.jsonl

FILE is a list of messages, an object with messages and tools, or JSON lines of them; "-" is standard input. In Python
count_request(messages, tools=None) is the tokens of the request as the model's server sees it: generation prompt on,
thinking off, special tokens written by the template and not added again. counter() is the loaded Counter. Both can be
the `count` of a strategy, which then adds costs (`part`) instead of counting each candidate again.

Does not fetch or pin files (prepare.py does), nor learn how the template puts messages together (tokens/token_sum.py).
"""

import base  # noqa: F401, I001 (first, for Ctrl-C during the other imports)

import multiprocessing
import sys
import time
from functools import lru_cache
from pathlib import Path

from base.command import dump, make_parser, run_command
from base.shown import columns
from tokens.manifest import MANIFEST, folder, is_shipped, read_manifest, read_verified, special_tokens
from tokens.request_file import cost_by_message, read_requests
from tokens.template import CountError, TokenizerError, compile_template, render, template_text, tried
from tokens.token_sum import TokenSum

COUNT_SCOPE = "chat template with generation prefix; tokenizer files only, no inference"
FEW = 16  # texts for which waking the threads of a batch takes longer than the tokens
MANY = 25  # requests counted whole before a run is told what that costs


class Counter:
    """The loaded tokenizer and template of one manifest. Called with messages, it gives their tokens.

    messages  [{"role", "content"}, ...], with tool_calls and tool results as in OpenAI's interface
    way       how plain requests are counted: "sum", "incremental" or "whole"
    sums      whether `part` can tell what runs add: a system text changes nothing of how other messages are written
    marks     texts that may change how the template writes a message that holds them
    """

    def __init__(self, tokenizer, template, manifest):
        """`tokenizer` as the tokenizers library loads it, `template` the text of the chat template."""
        self._tokenizer, self._manifest, self._special = tokenizer, manifest, special_tokens(manifest)
        self._template, marks, words = compile_template(template, manifest.get("today"))
        added = tokenizer.get_added_tokens_decoder().values()
        self.control_tokens = sorted((token.content for token in added if token.special), key=len, reverse=True)
        self._sum = TokenSum(self.text, self.lengths, self.control_tokens, marks, words)
        self.way, self.sums, self.marks = self._sum.way, self._sum.adds, self._sum.marks
        self._whole, self._whole_s = 0, 0.0

    def count(self, messages, tools=None):
        """Tokens of the whole request: a sum of known parts where the template allows it, else `full`."""
        total = self._sum.total(messages, tools)
        if total is None:
            began = time.perf_counter()
            total = self.full(messages, tools)
            if messages and messages[-1].get("role") == "user":  # what selectors count
                self._tell_whole(time.perf_counter() - began)
        return total

    __call__ = count

    def full(self, messages, tools=None):
        """Tokens of the whole request, rendered and tokenised from scratch."""
        return self.lengths([self.text(messages, tools)])[0]

    def part(self, runs):
        """For each run of messages the tokens that it adds to any request, or None where only the whole can tell.

        A run starts with a user's message and ends before the next one. The runs are tokenised together.
        """
        return self._sum.parts(runs) if self.sums else [None] * len(runs)

    def text(self, messages, tools=None):
        """The request as the template writes it."""
        return render(self._template, messages, tools, self._special)

    def lengths(self, texts):
        """The number of tokens of each text, nothing added."""
        try:
            if len(texts) < FEW:
                return [len(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts]
            return [len(tokens) for tokens in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        except (TypeError, UnicodeEncodeError) as error:
            raise CountError(f"a text that cannot be tokenised: {error}; give valid Unicode text") from None

    def ids(self, texts):
        """The tokens of each text as their numbers in the vocabulary, nothing added."""
        return [tokens.ids for tokens in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def control_token(self, text):
        """The first control token of the model inside a text, or None: the template or the server would act on it."""
        return min((token for token in self.control_tokens if token in text), key=text.find, default=None)

    def profile(self):
        """The `counter` block of a report: what the counts depend on."""
        return profile_of(self._manifest)

    def _tell_whole(self, seconds):
        """Tell a run once that it counts whole requests, and how much longer that takes."""
        self._whole, self._whole_s = self._whole + 1, self._whole_s + seconds
        if self._whole == MANY and multiprocessing.parent_process() is None:
            each = self._whole_s / MANY
            print(f"{self._manifest['model']}: {MANY} requests were counted whole so far, {1000 * each:.1f} ms each, "
                  f"since its chat template gives them no sum of their messages: trying 200 turns takes "
                  f"{200 * each:.1f} s instead of at most {10 * each:.2f} s", file=sys.stderr)


def profile_of(manifest):
    """The `counter` block that a manifest's counter has."""
    return {"model": manifest["model"], "revision": manifest.get("revision"),
            "template_sha256": manifest["files"]["chat_template.jinja"]["sha256"], "enable_thinking": False,
            "count_scope": COUNT_SCOPE}


def counter(manifest_path=MANIFEST):
    """The Counter of a manifest, its files verified against their hashes; loaded once in a process."""
    return load_counter(Path(manifest_path))


@lru_cache(maxsize=4)
def load_counter(manifest_path):
    """The Counter of a manifest, loaded anew where it was not loaded before."""
    manifest = read_manifest(manifest_path)
    files = read_verified(manifest_path, manifest)
    if not is_shipped(manifest_path):
        tried(template_text(files, manifest_path), manifest, folder(manifest_path))
    return make_counter(manifest, files, manifest_path)


def make_counter(manifest, files, where):
    """The Counter of a manifest and its files, {name: bytes}."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
    except Exception as error:  # the library raises bare Exception
        raise TokenizerError(f"{where}: tokenizer.json cannot be loaded: {error}; pin another one") from None
    tokenizer.no_truncation()  # a count must not be cut or filled up
    tokenizer.no_padding()
    return Counter(tokenizer, template_text(files, where), manifest)


def count_request(messages, tools=None):
    """Tokens of a request to the pinned model: [{"role", "content"}, ...], and the tools declared with it."""
    return counter()(messages, tools)


count_request.part = lambda runs: counter().part(runs)  # what strategies look for: else each candidate is counted anew


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("file", metavar="FILE", help="messages; - for standard input")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST",
                        help="count for the model of another manifest")
    arguments = parser.parse_args(argv)
    requests, count = read_requests(arguments.file), counter(arguments.tokenizer)
    costs = [cost_by_message(count, **request) for request in requests]
    sys.stdout.write(dump(costs[0] if len(costs) == 1 else costs))
    for cost in costs:
        rows = [[number, row["role"], "with the next" if row["tokens"] is None else row["tokens"]]
                for number, row in enumerate(cost["messages"], 1)]
        rows = [["", "around the messages", cost["around"]], *rows, ["", "the request", cost["tokens"]]]
        print("\n".join(columns(rows, right=[0, 2])), file=sys.stderr)


if __name__ == "__main__":
    run_command(main)
