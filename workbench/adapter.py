"""Choose which messages of a running conversation to send, from one's own program.

Run:  echo '[{"role": "user", "content": "Hello"}]' > hello.local.json
      python -m workbench.adapter hello.local.json --budget 100

In a program, with the lab's folder on sys.path: request = choose_messages(messages, budget=4096, tools=tools)

System messages in front and everything from the last user message on are always kept; a tool call stays with its
result. The request costs at most `budget` tokens, tools included, by the prepared tokenizer. Does not ask a model.
"""

import sys
from pathlib import Path

from base.command import InputError, dump, make_parser, read_json, run_command
from base.result_files import canonical
from base.shapes import texts_in
from base.turns import MessageError, after_user, calls_of, text_of, turn_of
from selection.reporting import print_lines
from selection.retrievers import SELECTORS, then_newest
from selection.run import find_selector, wrong_selection
from strategies import fill as fill_turns
from strategies import render, request_cost, selection
from tokenizer import counter
from tokens.manifest import MANIFEST
from workbench.chat_log import group_messages

warm = counter  # the counter of a tokenizer's manifest, loaded and verified now instead of at the first request
DEFAULT = "near-messages"  # with `fill` near-messages-filled: what found most on data that nothing was tuned on


class BudgetError(InputError):
    """A budget too small for what must be sent."""


def choose_messages(messages, budget, strategy=DEFAULT, tools=None, count=None, fill=True, allowance=0):
    """The messages to send, in their order: what `choose` gives as `messages`."""
    return choose(messages, budget, strategy, tools, count, fill, allowance)["messages"]


def choose(messages, budget, strategy=DEFAULT, tools=None, count=None, fill=True, allowance=0):
    """{"messages", "tokens", "left_out"}: what to send of OpenAI messages, its cost, and what is not sent and why.

    messages   [{"role", "content", ...}], system messages in front; the last user message is the current question
    strategy   a name of `evaluate.py --strategies`, or a function (case, count) as strategies.py describes it
    tools      the tool declarations that are sent along, counted too
    count      (messages, tools) -> tokens; the prepared tokenizer's counter where none is given
    fill       everything is sent where it fits, and room that the rule leaves goes to the newest; False: the bare rule
    allowance  tokens kept free for what cannot be counted of what has to be sent
    left_out   [{"messages": places in the list, from 0, "why"}]

    A turn that cannot be read or counted (a picture, a call without its result, arguments that are no JSON, a system
    message inside it, a control token of the model) is left out. The last turn and the system messages in front are
    passed on as they are; where they cannot be counted, a field `uncounted` says why, and their texts are counted.
    Assistant messages side by side come back joined by an empty line, which is how they are counted; notes stand in the
    question. BudgetError where the budget cannot hold what must be sent, MessageError where there is no user message.
    """
    count = count or counter()
    control_token = getattr(count, "control_token", lambda text: None)  # the first of the model in a text, or None
    front, groups, aside, unknown = group_messages(messages)
    if not groups:
        raise MessageError("no user message: there is no question to choose for")
    if allowance < 0:
        raise InputError(f"an allowance of {allowance} tokens; give a whole number from 0")
    odd, history, places, left_out = aside | unknown, [], [], []
    for group in groups[:-1]:
        try:
            history.append(read_turn(messages, group, odd, control_token))
            places.append(group)
        except MessageError as error:
            left_out.append({"messages": group, "why": str(error)})
    head, current, tail, uncounted = read_kept(messages, front, groups[-1], odd, control_token)
    room = budget - (allowance if uncounted else 0)

    def around(messages, _=None):  # what always goes with the messages that a strategy considers is counted with them
        return count([*head, *messages, *tail], tools)

    around.__dict__ |= {name: getattr(count, name) for name in ("part", "control_token") if hasattr(count, name)}
    case = {"id": "chat", "split": "dev", "kind": "", "instructions": "", "current": current, "history": history,
            "budget": {"context_limit": room, "max_new_tokens": 0, "margin": 0}, "required": [], "stale": []}
    if (needed := around(render(case, []))) > room:
        raise BudgetError(f"system messages, question, what follows it and tools cost {needed} tokens, the budget is "
                          f"{budget}, less {budget - room} for what cannot be counted; raise it or send less")
    chosen = select(case, around, strategy, fill)
    *sent, asked = chosen["messages"]
    question, *rest = (messages[place] for place in groups[-1])
    came = as_came([messages[place] for group in places for place in group] + ([] if uncounted else rest))
    if asked["content"] != current:  # a strategy wrote notes around it
        content, notes = question.get("content"), asked["content"]
        if uncounted and isinstance(content, str):
            notes = notes.replace(current, content, 1)
        elif uncounted and isinstance(content, list):
            notes = [{"type": "text", "text": notes.replace(current, "", 1).strip()}, *content]
        question = {**question, "content": notes}
    left_out += [{"messages": [place], "why": why} for place, why in aside.items() if place < groups[0][0]]
    left_out += not_sent(messages, places, chosen, fill)
    return {"messages": [*(messages[place] for place in front), *map(came, sent), question,
                         *(rest if uncounted else map(came, tail))],
            "tokens": chosen["input_tokens"] + budget - room,
            "left_out": sorted(left_out, key=lambda part: part["messages"]),
            **({"uncounted": uncounted} if uncounted else {})}


def read_turn(messages, group, odd, control_token):
    """The turn of the messages at these places; MessageError for one that cannot be read or counted."""
    if wrong := [odd[place] for place in group if place in odd]:
        raise MessageError(wrong[0])
    return check_control(turn_of([messages[place] for place in group]), control_token)


def check_control(value, control_token):
    """The value; MessageError where a text in it holds a control token of the model."""
    if token := control_token("\n".join(texts_in(value))):
        raise MessageError(f"holds the model's control token {token}, on which the template would act")
    return value


def read_kept(messages, front, last, odd, control_token):
    """(messages in front, the question, messages after it, why some cannot be counted) of what has to be sent."""
    head, uncounted = [], []
    for message in (messages[place] for place in front):
        try:
            head.append(check_control({"role": message["role"], "content": text_of(message)}, control_token))
        except MessageError as error:
            uncounted.append(f"role {message['role']}: {error}")
            head.append({"role": message["role"], "content": roughly([message], control_token)})
    group = [messages[place] for place in last]
    try:
        return head, read_turn(messages, last, odd, control_token)["user"], after_user(group), uncounted
    except MessageError as error:
        uncounted.append(f"last turn: {error}")
    asked, after = roughly(group[:1], control_token), roughly(group[1:], control_token)
    return head, asked, [{"role": "assistant", "content": after}] if after else [], uncounted


def roughly(messages, control_token):
    """The texts of messages that cannot be counted as they are, calls included, control tokens made plain text."""
    texts = []
    for message in messages:
        message = message if isinstance(message, dict) else {"content": message}
        parts = [message.get(field) for field in ("content", "refusal", "tool_calls", "function_call")]
        if isinstance(parts[0], list):  # a picture in it may be a million characters long
            parts[0] = [part.get("text") for part in parts[0] if isinstance(part, dict)]
        texts += texts_in(parts)
    text = "\n".join(texts).encode("utf-8", "replace").decode("utf-8")
    while token := control_token(text):
        text = text.replace(token, "? " * len(token))
    return text


def select(case, count, strategy, fill):
    """The selection of a strategy; with `fill` everything where it fits, else the newest turns in the room it left."""
    size = len(case["history"])
    if fill and request_cost(case, count, range(size)) <= case["budget"]["context_limit"]:
        return selection(case, count, range(size))
    if not callable(strategy):
        strategy = find_selector(f"{strategy}-filled" if fill and f"{strategy}-filled" in SELECTORS else strategy)
    chosen = strategy(case, count)
    if problem := wrong_selection(case, chosen, count):
        raise InputError(f"the strategy: {problem}")
    if not fill or chosen["messages"] != render(case, chosen["turns"]):  # notes and single messages fill it themselves
        return chosen
    return fill_turns(case, count, then_newest(chosen["turns"], size))


def as_counted(message):
    calls = calls_of(message) if message["role"] == "assistant" else []
    return {"role": message["role"], "content": text_of(message), **({"tool_calls": calls} if calls else {}),
            **({"tool_call_id": message["tool_call_id"]} if message["role"] == "tool" else {})}


def as_came(messages):
    """(counted message) -> as it came; one that was joined, or a refusal, as counted but with the calls that came."""
    known = {canonical(as_counted(message)): message for message in messages
             if message.get("content") or not message.get("refusal")}
    calls = {canonical(call): came for message in messages if message.get("tool_calls")
             for call, came in zip(calls_of(message), message["tool_calls"])}  # an id may stand again in a later turn

    def came(message):
        joined = message | ({"tool_calls": [calls.get(canonical(call), call) for call in message["tool_calls"]]}
                            if "tool_calls" in message else {})
        return known.get(canonical(message), joined)

    return came


def not_sent(messages, places, chosen, fill):
    """What of the turns that could be read is not in the selection, as `left_out`."""
    sent = {canonical(message) for message in chosen["messages"]}

    def is_sent(message):  # by itself, or joined to another
        return canonical(message) in sent or any(
            {**other, "content": message["content"]} == message and message["content"] in (other["content"] or "")
            for other in chosen["messages"] if "content" in other)

    for number, group in enumerate(places):
        if number not in chosen["turns"]:
            why = "it did not fit beside what was chosen" if fill else "the rule did not choose it"
            yield {"messages": group, "why": why}
        elif part := [place for place in group if not is_sent(as_counted(messages[place]))]:
            yield {"messages": part, "why": "the rule chose other messages of its turn"}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("messages", type=Path, help='JSON: a list of OpenAI messages, or {"messages", "tools"}')
    parser.add_argument("--budget", type=int, required=True, metavar="N", help="input tokens")
    parser.add_argument("--strategy", default=DEFAULT, help="one of evaluate.py --strategies (default %(default)s)")
    parser.add_argument("--bare", action="store_true", help="do not fill the room that the rule leaves")
    parser.add_argument("--allowance", type=int, default=0, metavar="N", help="tokens for what cannot be counted")
    parser.add_argument("--tokenizer", type=Path, default=MANIFEST, metavar="MANIFEST", help="another model's manifest")
    args = parser.parse_args(argv)
    value = read_json(args.messages)
    value = value if isinstance(value, dict) else {"messages": value}
    if not isinstance(value.get("messages"), list):
        raise InputError(f"{args.messages}: no list of messages; see --help")
    try:
        chosen = choose(value["messages"], args.budget, args.strategy, value.get("tools"), warm(args.tokenizer),
                        not args.bare, args.allowance)
    except MessageError as error:
        raise InputError(f"{args.messages}: {error}") from None
    sys.stdout.write(dump(chosen["messages"]))
    print_lines([f"{len(chosen['messages'])} of {len(value['messages'])} messages chosen, {chosen['tokens']} tokens",
                 *(f"left out: message {', '.join(str(place + 1) for place in part['messages'])}: {part['why']}"
                   for part in chosen["left_out"]),
                 *(f"sent although it cannot be counted: {why}" for why in chosen.get("uncounted", ()))], limit=None)
    return 0


if __name__ == "__main__":
    run_command(main)
