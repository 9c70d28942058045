"""Run a selector that is the user's own, and take nothing that it returns on trust.

Whatever such a selector raises, prints or changes is its result for that case and no other's: the error stands in its
row, what it prints goes to standard error, and the next selector gets the case as it was. It runs in this process and
is trusted as far as code on your own machine is: it is checked for mistakes, not fenced in.
"""

import sys
from contextlib import redirect_stdout
from copy import deepcopy
from pathlib import Path
from traceback import extract_tb

from base.own_code import described
from base.shapes import NONE, Only, misfit
from strategies import turn_messages

SELECTION = Only({"messages": [{"role": str, "content?": (str, NONE)}], "turns": [int],
                  "notes": lambda notes: misfit(notes, int) is None and notes >= 0, "input_tokens": int})


def run_own(select, case, count, snapshots):
    """A user's selector on one case, without its facts -> (selection, None) or (None, what is wrong).

    snapshots  {id of a history: the history as it was}, filled here
    """
    history = case["history"]
    if id(history) not in snapshots:
        snapshots[id(history)] = deepcopy(history)
    fields = {field: value for field, value in case.items() if field not in ("history", "required", "stale")}
    asked = {**deepcopy(fields), "history": history}  # not the facts: a rule could send the answers themselves
    selected = None
    try:
        with redirect_stdout(sys.stderr):
            selected = select(asked, count)
        problem = wrong_selection(case, selected, count) or unwritten(case, selected["messages"], count)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it raises is its result for this case, sys.exit included
        problem = raised(error)
    if asked != {**fields, "history": snapshots[id(history)]} or asked["history"] is not history:
        history[:] = deepcopy(snapshots[id(history)])  # the next selector gets the case as it was
        problem = "changed the case"
    if problem is not None:
        return None, problem
    return {**selected, "turns": list(selected["turns"])}, None  # it may fill the same list anew for the next case


def raised(error):
    """What a selector raised, and the last line of its own file that led there: "KeyError: 'x' (own.py, line 12)"."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return described(error) + (f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else "")


def wrong_selection(case, selected, count):
    """What is wrong with a selector's return value, or None."""
    if problem := misfit(selected, SELECTION):
        return f"returned no {', '.join(SELECTION)} as it should: {problem}"
    messages, turns = selected["messages"], selected["turns"]
    if turns != sorted({*turns} & {*range(len(case["history"]))}):
        return f"returned turns {turns!a:.60}, not turns of the history (from 0), each once in ascending order"
    for number, message in enumerate(messages, 1):
        content = message.get("content")
        if content is None and message["role"] != "assistant":
            return f"returned message {number} without a content that can be searched for facts"
        token = count.control_token(content or "") if hasattr(count, "control_token") else None
        if token is not None:
            return f"returned message {number} with the model's control token {token}"
    if not messages or messages[-1]["role"] != "user" or case["current"] not in messages[-1]["content"]:
        return "returned messages that do not end with the user's question"
    needed, said = count(messages), selected["input_tokens"]
    return None if needed == said else f"says that the request costs {said} tokens, but it costs {needed}"


def unwritten(case, messages, count):
    """Which of a selector's own texts the chat template does not write as it is, or None: no grader may count it."""
    rendered = count.text(messages) if hasattr(count, "text") else None
    for number, message in enumerate(messages, 1):
        content = (message.get("content") or "").strip()
        said = (own["content"].strip() for turn in case["history"] for own in turn_messages(turn))
        if rendered is not None and content not in rendered and content not in said:
            return f"returned message {number}, whose text the chat template changes: {content!a:.60}"
    return None
