"""Count a request as a sum: what each message adds is learned once, and the sum is proved before it is trusted.

Control tokens split a text before anything is merged, so what stands between two of them always has the same tokens.
What a template writes between two messages is learned by (role, next role), as far as it writes both. From there

    sum          count(request) = count(head with FIRST) - count(FIRST) + the costs of all messages
    incremental  count(request) = count(head, first run, last run) + the costs of the runs in between

where the head is what comes before the first user message, and a run is a user message and what follows it until the
next one: inside a run the template may look at neighbours (it joins assistant messages, it moves tool results), but
not across a user message. The second form is for templates that write the first or the last user message in a way
of its own (a system text is moved into it). A run that is no sum of texts is rendered once between two others; so is
a text that holds what the template looks for in texts (some cut at "</think>").

Both forms are tried on requests of many shapes. Where one differs by one token, or answers what the template refuses,
`way` is "whole", and the counter renders and tokenises whole requests.
"""

import json
import re
from contextlib import suppress
from itertools import chain, islice, pairwise, product
from operator import methodcaller

from base.command import InputError
from tokens.probes import ANSWER, FIRST, SECOND, TOOLS, mark_requests, plain_requests, run_requests, system

USER, ASSISTANT, END = "user", "assistant", "end"  # END: the generation prompt stands where a message would
LIMIT = 50_000_000  # characters of texts kept; a process that counts for days starts again instead of growing
DIFFERING = (  # texts that a template may write otherwise: none, blank ones, all with white space around them
    lambda text: False, lambda text: not text.strip(), lambda text: not text or text != text.strip())
STRIPS = (str, *(methodcaller(name, ends) for ends in (None, "\n") for name in ("strip", "lstrip", "rstrip")))


class TokenSum:
    """What each message and run adds to a request, for one template and tokenizer.

    text     (messages, tools) -> the request as the template writes it, or InputError where it refuses it
    lengths  texts -> their numbers of tokens
    control  the model's control tokens
    marks    what the template looks for in texts; words: the same without punctuation, acted on if found to be

    way      "sum", "incremental" or "whole"
    adds     whether the costs of runs may be added to any request with no head or a system text
    """

    def __init__(self, text, lengths, control, marks=(), words=()):
        self._text, self._lengths = text, lengths
        self.marks, self._switches = [*control, *marks], []
        self._tools_hold = self._runs_hold = True
        self.way, self.adds = "whole", False
        try:
            self._before, self._after, self._strip = learn(text, control)
        except ValueError:  # also the template's InputError
            return
        self.way = "sum"
        if not any(self._proved(plain_requests(), least=1) for self._differs in DIFFERING):
            self.way = "whole"
            return
        if self._around([]) is None and self._around([system("S")]) is None:
            self.way = "incremental"
        self._tools_hold = self._proved(plain_requests(), [TOOLS], least=1)
        self._runs_hold = self._proved(run_requests(), [None, TOOLS], least=1)
        if not self._proved(mark_requests(words)):  # some change how a message is written that holds them
            self.marks += [word for word in words if not self._proved(mark_requests([word]))]
        self._runs_hold &= all(self._proved(mark_requests(some)) for some in (*([mark] for mark in marks), marks))
        candidates = self.marks if self._is_apart([system(" ".join(words))]) else [*self.marks, *words]
        self._switches = [text for text in candidates if not self._is_apart([system(text)])]
        self.adds = not self._switches and self._is_apart([]) and self._is_apart([system("S")])
        self._forget()

    def _proved(self, requests, declared=(None,), least=0):
        """Whether the forms give what whole requests give wherever they answer, and answer so many at least."""
        self._forget()  # what was found by rules that are tried no more
        answered = 0
        for messages, tools in product(requests, declared):
            total = self.total(messages, tools)
            if total is not None and total != self._whole(messages, tools):
                return False
            answered += total is not None
        return answered >= least

    def total(self, messages, tools=None):
        """The tokens of the request, or None where neither form can tell them."""
        starts = [number for number, message in enumerate(messages) if message.get("role") == USER]
        if self.way == "whole" or not starts or (tools and not self._tools_hold):
            return None
        head, keys = messages[: starts[0]], keys_of(messages, END)
        costs = self._costs(keys)  # None for the last one where it is no user's text: only that comes before END
        if costs[-1] is None or not self._adds_behind(head):
            return None
        costs[: starts[0]] = [0] * len(head)
        for start, end in pairwise(starts) if None in costs else ():
            if None in costs[start:end]:
                run = self._once(self._added, messages[start:end], keys=keys[start:end])
                costs[start:end] = [run, *[0] * (end - start - 1)]
        if None in costs:
            return None
        around = self._once(self._around, head, tools)
        if around is not None:
            return around + sum(costs)
        ends = self._once(self._whole, [*messages[: starts[1]], messages[-1]], tools) if len(starts) > 2 else None
        return None if ends is None else ends + sum(costs[starts[1] : -1])

    def parts(self, runs):
        """For each run the tokens that it adds to a request in which it is one of others, or None."""
        keys = [keys_of(run, USER) for run in runs]
        costs = iter(self._costs([*chain(*keys)]))
        return [sum(part) if own and own[0][0] == USER and None not in part else self._once(self._added, run, keys=own)
                for run, own, part in zip(runs, keys, [[*islice(costs, len(run))] for run in runs])]

    def _whole(self, messages, tools=None):
        """Tokens of a whole request, or None where the template refuses it."""
        with suppress(InputError):
            return self._lengths([self._text(messages, tools)])[0]

    def _around(self, head, tools=None):
        """Tokens of what stands around the runs: the messages before the first, tools, the generation prompt.

        None where the template refuses the head, or writes the first user message in another way than later ones.
        """
        whole, [cost] = self._whole([*head, FIRST], tools), self._costs(keys_of([FIRST], END))
        if whole is None or cost is None:
            return None
        before, _, after = self._text([*head, FIRST], tools).rpartition(FIRST["content"])
        return whole - cost if before.endswith(self._before[USER]) and after == self._after[USER, END] else None

    def _adds_behind(self, head):
        """Whether costs may be added behind what a request begins with: a system text, a reply (tried), or both."""
        keys = keys_of(head)
        told = [text for role, _, text in keys[:1] if role == "system"]
        if any(switch in text for text in told for switch in self._switches):
            return False
        replies = keys[len(told) :]
        return not replies or ([role for role, _, _ in replies] == [ASSISTANT] and not self._acted_on(replies[0][2])
                               and self._once(self._is_apart, head))

    def _is_apart(self, head, tools=None):
        """Whether costs may be added to a request that begins so, or the template refuses it."""
        whole, base = self._whole([*head, FIRST, ANSWER, SECOND]), self._whole([*head, SECOND])
        if whole is None or base is None:
            return whole is base
        return self._around(head) is not None and [whole - base] == self.parts([[FIRST, ANSWER]])

    def _added(self, run, tools=None):
        """Tokens of a run that is no sum of texts, rendered among others, or None where they depend on those."""
        if not self._runs_hold or not run or run[0].get("role") != USER:
            return None
        added = set()
        for before, after in (([FIRST, ANSWER], [SECOND]), ([FIRST, ANSWER], [FIRST, ANSWER, SECOND]),
                              ([], [FIRST, ANSWER, SECOND])):
            around, within = self._once(self._whole, [*before, *after]), self._whole([*before, *run, *after])
            added.add(None if around is None or within is None else within - around)
        return added.pop() if len(added) == 1 else None

    def _costs(self, keys):
        """For each (role, next role, content) what the message adds, or None where the template never writes that.

        Tokenised together, each once, from the control token before the message to the last one before the next.
        """
        if self._kept > LIMIT:
            self._forget()
        new = dict.fromkeys(key for key in keys if key not in self._texts)
        known = [key for key in new if key[:2] in self._after and not self._acted_on(key[2])]
        lengths = self._lengths([self._before[role] + self._strip[role](content) + self._after[role, following]
                                 for role, following, content in known])
        costs = {key: length - 1 for key, length in zip(known, lengths)}  # the first belongs to the message before
        self._texts |= {**new, **costs}
        self._kept += sum(len(text) for *_, text in new)
        return [self._texts[key] for key in keys]

    def _once(self, find, messages, tools=None, keys=None):
        """find(messages, tools), kept. `keys`: of the messages."""
        keys, declared = keys or keys_of(messages), json.dumps(tools)
        key = (find.__name__, declared, *keys)
        if key not in self._requests:
            self._requests[key] = find(messages, tools)
            self._kept += sum(len(text) for *_, text in keys) + len(declared)
        return self._requests[key]

    def _forget(self):
        self._texts, self._requests, self._kept = {}, {}, 0

    def _acted_on(self, text):
        """Whether the template may write a message of this text in another way than the sum thinks."""
        return self._differs(text) or any(mark in text for mark in self.marks)


def keys_of(messages, following=None):
    """(role, next role, content) of each message that is a text and no more, (None, next role, JSON) of any other.

    keys_of([{"role": "user", "content": "Q"}], "end") -> [("user", "end", "Q")]; following: the role behind the last
    """
    roles = [message.get("role") for message in messages]
    return [(role, after, text) if role and len(message) == 2 and type(text := message.get("content")) is str
            else (None, after, json.dumps(message))  # not sorted: a template may write fields in their order
            for message, role, after in zip(messages, roles, [*roles[1:], following])]


def learn(text, control):
    """What the template writes around a user's and an assistant's text in the middle of a request, or ValueError.

    -> ({role: from the control token before the content to the content},
        {(role, next role): text after the content, to the last control token before the next},
        {role: how the content is stripped})
    """
    before, after = {}, {}
    gaps = between(text, [FIRST, ANSWER], [USER, ASSISTANT, USER], [ANSWER, SECOND])
    after[USER, ASSISTANT], before[ASSISTANT] = cut(gaps[1], control)
    after[ASSISTANT, USER], before[USER] = cut(gaps[2], control)
    after[USER, END] = between(text, [FIRST, ANSWER], [USER], [])[1]
    with suppress(ValueError):  # two users in a row are refused or joined
        end, start = cut(between(text, [FIRST, ANSWER], [USER, USER], [ANSWER, SECOND])[1], control)
        if start == before[USER]:
            after[USER, USER] = end
    return before, after, {role: learn_strip(text, role, before[role]) for role in before}


def between(text, before, roles, behind):
    """What a template writes before, between and after texts of these roles that stand between other messages."""
    marks = [f"SENTINEL{number}" for number in range(len(roles))]
    messages = [{"role": role, "content": mark} for role, mark in zip(roles, marks)]
    pieces = re.split(r"(SENTINEL\d)", text([*before, *messages, *behind], None))
    if pieces[1::2] != marks:
        raise ValueError("a text does not stand once and in its place")
    return pieces[::2]


def cut(gap, control):
    """What a template writes between two texts as (to the end of its last control token, from there), or ValueError.

    cut("<end>\\n<im>user\\n", ["<im>", "<end>"]) -> ("<end>\\n<im>", "<im>user\\n")
    """
    ends = [(gap.rindex(token) + len(token), len(token)) for token in control if token in gap]
    if not ends:
        raise ValueError("two messages stand together without a control token between them")
    end, length = max(ends)
    return gap[:end], gap[end - length :]


def learn_strip(text, role, before):
    """How a template strips the white space around a content of this role: one of STRIPS."""
    contents = ["  SENTINEL \n", "\n\n SENTINEL\t\n\n", "SENTINEL"]
    around = ([FIRST, ANSWER], [ANSWER, SECOND]) if role == USER else ([FIRST], [SECOND])
    written = [text([*around[0], {"role": role, "content": content}, *around[1]], None) for content in contents]
    for strip in STRIPS:
        if written == [written[-1].replace(before + "SENTINEL", before + strip(content)) for content in contents]:
            return strip
    return str  # only some white space: contents with any around them are told by the proof
