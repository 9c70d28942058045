"""Count what a request costs: the model's own chat template and tokenizer, no inference.

count_request(messages, tools=None) -> tokens of the request as the model's server sees it: generation prompt on,
thinking off, special tokens written by the template and not added again. counter() is the loaded Counter; use it as
the `count` of a strategy, which can then add costs (`part`) instead of counting each candidate again.

Does not fetch or pin files (prepare.py does), nor learn how the template puts messages together (tokens/token_sum.py).
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from tokens.manifest import MANIFEST, folder, read_manifest
from tokens.template import CountError, TokenizerError, compile_template
from tokens.token_sum import TokenSum

COUNT_SCOPE = "chat template with generation prefix; tokenizer files only, no inference"


class Counter:
    """The loaded tokenizer and template of one manifest. Called with messages, it gives their tokens.

    messages  [{"role", "content"}, ...], with tool_calls and tool results as in OpenAI's interface
    """

    def __init__(self, tokenizer, template, manifest):
        """`tokenizer` as the tokenizers library loads it, `template` the text of the chat template."""
        self._tokenizer, self._manifest = tokenizer, manifest
        self._special = {name: text for name, text in manifest.items() if name.endswith("_token")}  # bos_token, ...
        self._template, marks, words = compile_template(template, manifest.get("today"))
        added = tokenizer.get_added_tokens_decoder().values()
        self.control_tokens = sorted((token.content for token in added if token.special), key=len, reverse=True)
        self._sum = TokenSum(self.text, self.lengths, self.control_tokens, marks, words)

    def __call__(self, messages, tools=None):
        """Tokens of the whole request: a sum of known parts where the template allows it, else `full`."""
        total = self._sum.total(messages, tools)
        return self.full(messages, tools) if total is None else total

    def count(self, messages, tools=None):
        """The same as calling the counter."""
        return self(messages, tools)

    def full(self, messages, tools=None):
        """Tokens of the whole request, rendered and tokenised from scratch."""
        return self.lengths([self.text(messages, tools)])[0]

    def part(self, runs):
        """For each run of messages the tokens that it adds to any request, or None where only the whole can tell.

        A run starts with a user's message and ends before the next one. The runs are tokenised together.
        """
        return self._sum.parts(runs)

    @property
    def way(self):
        """How plain requests are counted: "sum", "incremental" or "whole"."""
        return self._sum.way

    @property
    def sums(self):
        """Whether `part` can tell what runs add: a system text changes nothing of how other messages are written."""
        return self._sum.adds

    def text(self, messages, tools=None):
        """The request as the template writes it."""
        said = [{name: value for name, value in message.items() if value is not None} for message in messages]
        try:
            return self._template.render(messages=said, tools=tools, documents=None, add_generation_prompt=True,
                                         enable_thinking=False, **self._special)
        except CountError:
            raise
        except Exception as error:  # whatever somebody's template makes of these messages, too deep ones included
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise CountError(
                f"the chat template fails on this request: {reason}; it may lack what the request has (tools, "
                "a system text), or be wrong itself") from None

    def lengths(self, texts):
        """The number of tokens of each text, nothing added."""
        try:
            return [len(found) for found in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        except (TypeError, UnicodeEncodeError) as error:
            raise CountError(f"a text that cannot be tokenised: {error}; give valid Unicode text") from None

    def ids(self, texts):
        """The tokens of each text as their numbers in the vocabulary, nothing added."""
        return [found.ids for found in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def control_token(self, text):
        """The first control token of the model inside a text, or None: the template or the server would act on it."""
        found = [token for token in self.control_tokens if token in text]
        return min(found, key=text.find) if found else None

    def profile(self):
        """The `counter` block of a report: what the counts depend on."""
        return profile_of(self._manifest)


def profile_of(manifest):
    """The `counter` block that a manifest's counter has."""
    return {"model": manifest["model"], "revision": manifest["revision"],
            "template_sha256": manifest["files"]["chat_template.jinja"]["sha256"], "enable_thinking": False,
            "count_scope": COUNT_SCOPE}


def read_verified(manifest_path, manifest):
    """The bytes of the manifest's files by name, each hashed before use, or TokenizerError."""
    found = {}
    for name, pinned in manifest["files"].items():
        path = folder(manifest_path) / name
        remedy = "run: python prepare.py"
        if manifest_path != MANIFEST:
            remedy = f"run: python prepare.py --manifest {manifest_path}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TokenizerError(f"{path}: {error.strerror or error}; {remedy}") from None
        if len(data) != pinned["bytes"] or hashlib.sha256(data).hexdigest() != pinned["sha256"]:
            raise TokenizerError(f"{path}: differs from {manifest_path.name}; {remedy}")
        found[name] = data
    return found


def counter(manifest_path=MANIFEST):
    """The Counter of a manifest, its files verified against their hashes; loaded once in a process."""
    return load_counter(Path(manifest_path))


@lru_cache(maxsize=4)
def load_counter(manifest_path):
    """The Counter of a manifest, loaded anew where it was not loaded before."""
    from tokenizers import Tokenizer

    manifest = read_manifest(manifest_path)
    files = read_verified(manifest_path, manifest)
    try:
        tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
    except Exception as error:  # the library raises bare Exception
        raise TokenizerError(f"{manifest_path}: tokenizer.json cannot be loaded: {error}; pin another one") from None
    tokenizer.no_truncation()  # a count must not be cut or filled up
    tokenizer.no_padding()
    try:
        template = files["chat_template.jinja"].decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"chat_template.jinja is not UTF-8 at byte {error.start}; pin another one"
        raise TokenizerError(f"{manifest_path}: {problem}") from None
    return Counter(tokenizer, template, manifest)


def count_request(messages, tools=None):
    """Tokens of a request to the pinned model: [{"role", "content"}, ...], and the tools declared with it."""
    return counter()(messages, tools)


def _part(runs):
    """Counter.part of the pinned model."""
    return counter().part(runs)


count_request.part = _part  # what strategies look for in `count`: without it they count every candidate anew
