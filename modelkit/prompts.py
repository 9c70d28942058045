"""Build prompts from named blocks, fence text that someone else wrote, and keep within a window.

A fence tells a model where foreign text begins and ends and cannot be closed from inside. It does not make a model
obey: what stands in a fence can still persuade. `count_tokens` is a stand-in, `tokenizer.counter().count` is exact.
"""

import re

from modelkit import check_whole

_FENCE_NAME = "USER_TEXT_"


def build_prompt(role, task, constraints, output_format, examples=(), context=None):
    """The prompt as text: blocks ROLE, TASK, CONSTRAINTS, OUTPUT FORMAT, EXAMPLES (with any), CONTEXT (when given).

    `constraints` are texts, `examples` (input, output) pairs. The context is last, so that text nobody here wrote never
    stands above the rules that govern it.
    """
    if isinstance(constraints, str):
        raise ValueError(f"constraints must be a list of texts, got the text {constraints!r}; put it in a list")
    numbered = "\n".join(f"{number}. {text.strip()}" for number, text in enumerate(constraints, 1))
    pairs = "\n\n".join(f"input: {given}\noutput: {wanted}" for given, wanted in examples) if examples else None
    blocks = {"ROLE": role, "TASK": task, "CONSTRAINTS": numbered, "OUTPUT FORMAT": output_format, "EXAMPLES": pairs,
              "CONTEXT": context}
    return "\n\n".join(f"{heading}:\n{text.strip()}" for heading, text in blocks.items() if text is not None)


def fence(untrusted, rng):
    """(tag, fenced text): `untrusted` between <TAG> and </TAG> on lines of their own.

    The tag ends in nine digits from `rng` (a random.Random), which the writer of the text cannot know; a tag-like
    `USER_TEXT_` inside becomes `USER TEXT `, so that no text can close its own fence even when the digits leak.
    """
    tag = f"{_FENCE_NAME}{rng.randrange(10 ** 8, 10 ** 9)}"
    return tag, f"<{tag}>\n{untrusted.replace(_FENCE_NAME, 'USER TEXT ')}\n</{tag}>"


def instruction_region(prompt, tag):
    """The prompt with what is fenced by `tag` cut out, tags and all; ValueError where that fence is not in it."""
    rest, cuts = re.subn(rf"(?ms)^<{re.escape(tag)}>\n.*?\n</{re.escape(tag)}>$", "", prompt)
    if not cuts:
        raise ValueError(f"no fence {tag} in the prompt; give the tag that fence() returned for it")
    return rest


def count_tokens(text):
    """A stand-in for a tokenizer: runs of letters, digits and apostrophes, and every other non-space character.

    It undercounts: a tokenizer cuts long and rare words. count_tokens("don't — é_1") -> 5
    """
    return len(re.findall(r"(?:[^\W_]|')+|\S", text))


def budget(prompt, window=512, reserve=200, count=count_tokens):
    """Tokens of `window` with `reserve` for the answer: budget("a b", 9, 5) -> {"used": 2, "left": 2, "fits": True}."""
    check_whole(0, window=window, reserve=reserve)
    used = count(prompt)
    left = window - reserve - used
    return {"used": used, "left": left, "fits": left >= 0}


def fit_context(header, chunks, window=512, reserve=200, count=count_tokens):
    """(chunks kept, tokens used), in order until one does not fit: fit_context("h", ["a"], 9, 5) -> (["a"], 2).

    The header is never trimmed: where it alone is too long `used` says so. Texts are counted joined by line feeds.
    """
    check_whole(0, window=window, reserve=reserve)
    text, kept, used = header, [], count(header)
    for chunk in chunks:
        longer = f"{text}\n{chunk}"
        needed = count(longer)
        if needed > window - reserve:
            break  # not `continue`: a later chunk would be sent in place of one that matters more
        text, used = longer, needed
        kept.append(chunk)
    return kept, used
