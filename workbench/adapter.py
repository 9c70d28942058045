"""Choose which messages of a running conversation to send, from one's own program.

Run:  from workbench.adapter import choose_messages
      request = choose_messages(messages, budget=4096, strategy="hybrid", tools=tools)
      or, to try it:  python -m workbench.adapter conversation.json --budget 4096

System messages in front and everything from the last user message on are always kept; the turns in between are chosen
whole, so that a tool call stays with its result. The request costs at most `budget` tokens, tools included, counted
with the prepared tokenizer. Does not ask a model.
"""

import argparse
import sys
from pathlib import Path

from base.shapes import texts_in
from base.turns import MessageError, between, split_messages, text_of, turn_of
from selection.own import wrong_selection
from selection.run import find_selector
from strategies import STRATEGIES, turn_messages
from tokenizer import counter

from base.command import InputError, dump, read_json, run_command

EXAMPLE = """\
example: echo '[{"role": "user", "content": "Hello"}]' > hello.local.json
         python -m workbench.adapter hello.local.json --budget 100"""


class BudgetError(InputError):
    """A budget too small for what must be sent: system messages, the current question and what follows it, tools."""


class CountAround:
    """Counts a request that a strategy considers together with what always goes with it.

    front and tail: messages before the turns and after the question; tools: the declared tools.
    """

    def __init__(self, count, front, tail, tools):
        self._count, self._front, self._tail, self._tools = count, front, tail, tools

    def __call__(self, messages, tools=None):
        return self._count([*self._front, *messages, *self._tail], self._tools)

    def __getattr__(self, name):  # `part` and what else the counter has to offer: a turn costs the same anywhere
        return getattr(self._count, name)


def choose_messages(messages, budget, strategy="hybrid", tools=None, count=None):
    """The messages to send, in their order: OpenAI messages as they came in, at most `budget` tokens in all.

    messages  [{"role", "content", ...}] with system messages in front; the last user message is the current question
    strategy  a name of `evaluate.py --strategies`, or a function (case, count) as strategies.py describes it
    tools     the tool declarations that are sent along, counted too
    count     (messages, tools) -> tokens; the prepared tokenizer's counter where none is given

    Assistant messages that stand side by side come back joined by an empty line, which is how they are counted; a
    strategy that takes notes puts them into the question. Messages are not changed in place. BudgetError where the
    budget cannot hold what must be sent, MessageError for messages that cannot be read, InputError for a strategy
    that gives back something else than a selection.
    """
    front, groups = split_messages(messages)
    count = count or counter()
    check_control(messages, count)
    if not groups:
        raise MessageError("no user message: there is no question to choose for")
    *past, current = groups
    tail = between(current)
    around = CountAround(count, [plain(message) for message in front], tail, tools)
    case = {"id": "conversation", "split": "dev", "kind": "", "instructions": "", "current": text_of(current[0]),
            "history": [turn_of(group) for group in past], "required": [], "stale": [],
            "budget": {"context_limit": budget, "max_new_tokens": 0, "margin": 0}}
    needed = around([{"role": "user", "content": case["current"]}])
    if needed > budget:
        raise BudgetError(f"system messages, question, what follows it and tools cost {needed} tokens, the budget is "
                          f"{budget}; raise it or send less")
    select = strategy if callable(strategy) else find_selector(strategy)
    chosen = select(case, around)
    problem = wrong_selection(case, chosen, around)
    if problem:
        raise InputError(f"strategy {strategy}: {problem}")
    kept = [message for turn in chosen["turns"] for message in as_sent(past[turn])]
    question, *rest = as_sent(current)
    if chosen["notes"]:
        question = {**question, "content": chosen["messages"][-1]["content"]}
    check_cost(case, chosen, question, around, budget, strategy)
    return [*front, *kept, question, *rest]


def check_control(messages, count):
    """MessageError for a message that holds a control token of the model, where the counter knows them."""
    control_token = getattr(count, "control_token", lambda text: None)
    for number, message in enumerate(messages, 1):
        token = control_token("\n".join(texts_in(message)))
        if token:
            problem = f"message {number} holds the model's control token {token}"
            raise MessageError(f"{problem}; the template would act on it: take it out")


def check_cost(case, chosen, question, count, budget, strategy):
    """InputError where the whole turns that are sent cost more than the budget: a strategy may have chosen parts."""
    whole = [message for turn in chosen["turns"] for message in turn_messages(case["history"][turn])]
    cost = count([*whole, {"role": "user", "content": text_of(question)}])
    if cost > budget:
        raise InputError(f"strategy {strategy}: its turns cost {cost} tokens when sent whole, the budget is {budget}; "
                         "use a strategy that chooses whole turns")


def as_sent(group):
    """The messages of a group as they came, unless some had to be joined or a refusal was counted as its text."""
    read = between(group)
    if len(read) == len(group) - 1 and not any(one.get("refusal") and not one.get("content") for one in group):
        return group
    calls = (call for message in group for call in message.get("tool_calls") or ())  # in the caller's form
    return [group[0]] + [
        {**message, "tool_calls": [next(calls) for _ in message["tool_calls"]]} if "tool_calls" in message else message
        for message in read]


def plain(message):
    """A message in front as it is counted: role and text."""
    return {"role": message["role"], "content": text_of(message)}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=EXAMPLE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("messages", type=Path, help='JSON: a list of OpenAI messages, or {"messages", "tools"}')
    parser.add_argument("--budget", type=int, required=True, metavar="N", help="input tokens")
    parser.add_argument("--strategy", default="hybrid", help=f"{', '.join(STRATEGIES)} or any of evaluate.py's")
    args = parser.parse_args(argv)
    value = read_json(args.messages)
    value = value if isinstance(value, dict) else {"messages": value}
    if not isinstance(value.get("messages"), list):
        raise InputError(f"{args.messages}: no list of messages; see --help")
    try:
        chosen = choose_messages(value["messages"], args.budget, args.strategy, value.get("tools"))
    except MessageError as error:
        raise InputError(f"{args.messages}: {error}") from None
    sys.stdout.write(dump(chosen))
    print(f"{len(chosen)} of {len(value['messages'])} messages chosen", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run_command(main)
