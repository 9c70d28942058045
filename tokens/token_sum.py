"""Count a request as a sum: what each message adds is found once, and the sum is proved before it is trusted.

Control tokens split a text before anything is merged, so what stands between two of them always has the same tokens.
A chat template that writes each message between control tokens therefore gives

    count(request) = count(head with one user message) - that message + the sum over runs

where the head is what comes before the first user message, and a run is a user message and what follows it until the
next one: inside a run the template may look at neighbours (it joins assistant messages, it moves tool results), but
not across a user message. A run of plain text is the sum of its messages, and of a message only "role + content" is
tokenised; any other run is rendered once between two user messages. So is a text that holds what the template looks
for in texts (some cut at "</think>").

All of that is tried on requests of many shapes when a counter is made. Where one differs by one token the sum is
never used: `holds` is false, and the counter renders and tokenises whole requests.
"""

import json

from base.command import InputError

FIRST, SECOND = {"role": "user", "content": "Q1"}, {"role": "user", "content": "Q2"}
LIMIT = 50_000_000  # characters of texts kept; a process that counts for days starts again instead of growing

TOOL_RUN = [
    {"role": "user", "content": "  list it\n"},
    {"role": "assistant", "content": "",
     "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": {"path": "a b"}}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x\ny"},
    {"role": "assistant", "content": "Two files."},
]
ODD_TEXTS = (
    "", " ", "\n", "w", "  two words ", "\r\nline\r\n\r\nnext\t\r\n", "\n\n\nx\n\n\n",
    "naïve – “quoted” 日本語 👩‍💻\u0301", "\u00a0hard space\u2028", "\x1cseparator\x1f", "{{ x }} {% y %} <b>&amp;",
    "- [turn 1, user] 12,000.50%", "a" * 200, "\u0307dot")


class TokenSum:
    """What each message and run adds to a request, for one template and tokenizer.

    text     (messages, tools) -> the request as the template writes it
    lengths  texts -> their numbers of tokens
    control  the model's control tokens
    marks    what the template looks for in texts
    """

    def __init__(self, text, lengths, control, marks=()):
        self._text, self._lengths, self._control = text, lengths, control
        self._acted_on = [*control, *marks]
        self._plain, self._heads, self._runs, self._kept = {}, {}, {}, 0
        try:
            self._openings, self._closings, self._strips = learn(text, lengths, control)
            self.holds = self.runs_hold = True
            self.holds = all(map(self._proved, plain_shapes()))
            self.runs_hold = self.holds and all(map(self._proved, run_shapes(marks)))
        except (Unlearnable, InputError):  # InputError: the template refuses a shape
            self.runs_hold = False
            self.holds = getattr(self, "holds", False) and self._plain_again()

    def _plain_again(self):
        """Whether the sum holds for plain runs, for a template that refuses or breaks on others."""
        try:
            return all(map(self._proved, plain_shapes()))
        except InputError:
            return False

    def _proved(self, messages):
        return self.total(messages, None) == self._full(messages)

    def _full(self, messages, tools=None):
        return self._lengths([self._text(messages, tools)])[0]

    def total(self, messages, tools=None):
        """The tokens of the request, or None where the sum cannot tell them."""
        if not self.holds:
            return None
        starts = [number for number, message in enumerate(messages) if message.get("role") == "user"]
        if not starts:
            return None
        runs = [messages[start:end] for start, end in zip(starts, [*starts[1:], len(messages)])]
        if not (plain(runs[-1]) and len(runs[-1]) == 1):
            return None  # the end of a request decides what the model is asked to go on with
        parts = self.parts(runs)
        if self._plain["user", runs[-1][0]["content"]] is None:
            return None  # a template that acts on its text may take it for something else than the question
        head = self._head(messages[: starts[0]], tools)
        return None if None in parts or head is None else head + sum(parts)

    def _head(self, head, tools):
        """Tokens of what stands around the runs: the messages before the first, tools, the generation prompt.

        None where the head runs into the first user message without a control token between them.
        """
        key = json.dumps([head, tools])  # not sorted: a template may write fields in their order
        if key not in self._heads:
            before = self._text([*head, FIRST], tools).rpartition(FIRST["content"])[0]
            apart = after_control(before, self._control) == self._openings["user"]
            alone = self.parts([[FIRST]])[0]
            self._keep(self._heads, key, self._full([*head, FIRST], tools) - alone if apart else None, len(key))
        return self._heads[key]

    def parts(self, runs):
        """For each run the tokens that it adds to a request, or None."""
        if not self.holds:
            return [None] * len(runs)
        if self._kept > LIMIT:
            self._kept = 0
            for kept in (self._plain, self._heads, self._runs):
                kept.clear()
        self._learn_messages([message for run in runs if plain(run) for message in run])
        return [self._part(run) for run in runs]

    def _part(self, run):
        if plain(run):
            costs = [self._plain[message["role"], message["content"]] for message in run]
            if None not in costs:
                return sum(costs)
        return self._rendered(run) if self.runs_hold and run and run[0]["role"] == "user" else None

    def _rendered(self, run):
        """Tokens of a run that is no plain text, rendered once between two user messages."""
        key = json.dumps(run)
        if key not in self._runs:
            self._keep(self._runs, key, self._full([FIRST, *run, SECOND]) - self._full([FIRST, SECOND]), len(key))
        return self._runs[key]

    def _keep(self, kept, key, value, size):
        kept[key] = value
        self._kept += size

    def _learn_messages(self, messages):
        """Tokenise together the messages that were not seen before. One whose text is acted on stays None."""
        keys = dict.fromkeys((message["role"], message["content"]) for message in messages)
        new = [key for key in keys if key not in self._plain]
        if not new:
            return
        safe = [key for key in new if not any(mark in key[1] for mark in self._acted_on)]
        texts = [self._openings[role] + (text.strip() if self._strips else text) for role, text in safe]
        costs = {key: length + self._closings[key[0]] for key, length in zip(safe, self._lengths(texts))}
        for key in new:
            self._keep(self._plain, key, costs.get(key), len(key[1]))


class Unlearnable(ValueError):
    """A template that does not write messages one after the other between control tokens."""


def plain(run):
    """Whether a run is a user's text, with at most one assistant's text after it, and nothing else."""
    if len(run) == 2:
        return is_text(run[0], "user") and is_text(run[1], "assistant")
    return len(run) == 1 and is_text(run[0], "user")


def is_text(message, role):
    """Whether a message is a text of this role and has no other field."""
    return len(message) == 2 and message.get("role") == role and isinstance(message.get("content"), str)


def learn(text, lengths, control):
    """What the template writes around a user's and an assistant's text.

    -> ({role: text between the last control token and the content}, {role: tokens after the content},
        whether contents are stripped), or Unlearnable.
    """
    marks = ["SENTINEL" + letter for letter in "ABCD"]
    roles = ["user", "assistant", "user", "user"]
    rendered = text([{"role": role, "content": mark} for role, mark in zip(roles, marks)], None)
    gaps = []
    for mark in marks:
        before, found, rendered = rendered.partition(mark)
        if not found or mark in rendered:
            raise Unlearnable(f"{mark} stands {'twice' if found else 'nowhere'} in the request")
        gaps.append(before)
    _, to_assistant, to_user, user_to_user = gaps
    openings = {"user": after_control(user_to_user, control), "assistant": after_control(to_assistant, control)}
    if after_control(to_user, control) != openings["user"]:
        raise Unlearnable("a user's message is written in two ways")
    closings = {"user": closing(user_to_user, openings["user"], control),
                "assistant": closing(to_user, openings["user"], control)}
    if closing(to_assistant, openings["assistant"], control) != closings["user"]:
        raise Unlearnable("what follows a user's message depends on the next one")
    for head in ([], [{"role": "system", "content": "S"}]):
        before = text([*head, FIRST], None).rpartition(FIRST["content"])[0]
        if after_control(before, control) != openings["user"]:
            raise Unlearnable("what comes first runs into the first user's message")
    padded = text([{"role": "user", "content": "  SENTINELA \n"}], None)
    tokens = dict(zip(closings, lengths(list(closings.values()))))
    return openings, tokens, "  SENTINELA \n" not in padded


def after_control(gap, control):
    """What stands after the last control token of a gap between two contents."""
    ends = [gap.rindex(token) + len(token) for token in control if token in gap]
    if not ends:
        raise Unlearnable("two messages stand together without a control token between them")
    return gap[max(ends) :]


def closing(gap, opening, control):
    """The part of a gap up to its last control token. It has to start with a control token: the content ends there."""
    ended = gap[: len(gap) - len(opening)]
    if not any(ended.startswith(token) for token in control):
        raise Unlearnable("a message does not end at a control token")
    return ended


def plain_shapes():
    """Requests of plain text in the shapes that a lab's requests have."""
    system = {"role": "system", "content": " Be brief. "}
    turns = [[{"role": "user", "content": text}, {"role": "assistant", "content": ODD_TEXTS[-1 - number]}]
             for number, text in enumerate(ODD_TEXTS)]
    everything = [message for turn in turns for message in turn]
    yield [SECOND]
    yield [system, SECOND]
    yield [system, *everything, SECOND]
    yield [*everything, *everything[:3], FIRST, FIRST, {"role": "user", "content": " "}]
    yield [{"role": "system", "content": ""}, FIRST, *everything[1::2][:1], SECOND]


def run_shapes(marks):
    """Requests with what a template may treat by its neighbours: tools, joined texts, reasoning, what it looks for."""
    system = {"role": "system", "content": "Be brief."}
    call, result = TOOL_RUN[1:3]
    joined = [FIRST, {"role": "assistant", "content": "One."}, {"role": "assistant", "content": "Two."}]
    thought = [FIRST, {"role": "assistant", "content": "Three.", "reasoning": "Because."}]
    unanswered = [FIRST, call]
    again, end = {**call, "content": "Again."}, {"role": "assistant", "content": "x"}
    two_calls = [FIRST, call, result, again, result, result, end]
    yield [system, *TOOL_RUN, SECOND]
    yield [*joined, *TOOL_RUN, *TOOL_RUN, *two_calls, *joined, SECOND]
    yield [*TOOL_RUN[:3], *thought, *unanswered, FIRST, system, *two_calls, SECOND]
    if marks:
        texts = [text for mark in [*marks, "".join(marks)] for text in (mark, f"a{mark}b")]
        yield [*({"role": role, "content": text} for text in texts for role in ("user", "assistant")), SECOND]
