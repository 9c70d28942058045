"""A small made-up conversation and a counter of words: what the tests of this folder share.

Run:  not a script.
`count_words` is a double of the tokenizer: it splits at white space and needs no prepared files.
"""

import tokenizer


def prepared():
    """Whether the pinned tokenizer is at hand; tests that need it are skipped where it is not."""
    try:
        tokenizer.counter()
        return True
    except tokenizer.TokenizerError:
        return False


def count_words(messages, tools=None):
    """Double of the tokenizer: the words of all contents."""
    return sum(len(message["content"].split()) for message in messages)


class CountsWords:
    """Double of tokenizer.Counter that splits at white space and knows one control token."""

    count = staticmethod(count_words)

    def profile(self):
        return {"model": "double: words"}

    def control_token(self, text):
        return "<bos>" if "<bos>" in text else None


def small_fixture(**changes):
    """A fixture of twelve turns with one item of each class; `changes` replace its fields."""
    history = [
        {"user": f"Step {n}: look at part {n} of the log please.", "assistant": f"Part {n} of the log is clean."}
        for n in range(1, 13)
    ]
    history[0]["user"] = "Do not push to main before the audit. We run v1.20 now."
    history[1]["assistant"] = "I will write the report on Monday."
    history[1]["messages"] = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": {"path": "docs/plan-7.md"}}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "plan: the cutover is on Friday"},
    ]
    history[2]["user"] = "Should we keep the old queue?"
    history[3]["user"] = "The cutover is on Sunday."

    def item(number, class_, turn, literal, **more):
        return {
            "id": f"small-{number}",
            "class": class_,
            "turn": turn,
            "literal": literal,
            "probe": f"Is item {number} so?",
            "expect": "It is.",
            **more,
        }

    fixture = {
        "conversation_id": "small",
        "history": history,
        "turns": 12,
        "compactions_expected": 1,
        "must_survive": [
            item(1, "constraint", 1, "Do not push to main"),
            item(2, "commitment", 2, "I will write the report"),
            item(3, "open_question", 3, "Should we keep the old queue?"),
            item(
                4,
                "reference",
                4,
                "The cutover is on Sunday",
                replaced=["cutover is on Friday"],
                tags=["uncued-correction"],
            ),
        ],
    }
    return fixture | changes
