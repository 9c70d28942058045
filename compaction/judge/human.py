"""A person as the judge: shown the record, the question and its right answer in the terminal, asked for a verdict."""

import sys

from base.command import InputError
from base.shown import written_out

LETTERS = {"s": "supported", "a": "absent", "c": "contradicted", "": None}
PROMPT = "Does the record still give that answer? [s]upported, [a]bsent, [c]ontradicted, empty for no verdict: "


def human_judge():
    """A judge (asking.py) that asks on standard error and reads standard input; InputError where that ends."""
    seen = [None]  # the last record, which the next question is often about as well

    def judge(question):
        if question["context"] != seen[0]:
            print(f"\n{written_out(question['context'])}", file=sys.stderr)
        seen[0] = question["context"]
        print(written_out(f"\nQuestion: {question['probe']}\nRight answer: {question['expect']}"), file=sys.stderr)
        while True:
            print(PROMPT, end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                print(file=sys.stderr)
                raise InputError("standard input ended before the last verdict; those so far are kept, run it again")
            letter = line.strip().lower()[:1]
            if letter in LETTERS:
                return {"verdict": LETTERS[letter], "answer": None, "problems": []}

    judge.identity = {"human": "asked in the terminal"}
    return judge
