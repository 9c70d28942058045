"""Count a request as a sum: what each message adds is learned once, and the sum is proved before it is trusted.

Control tokens split a text before anything is merged, so what stands between two of them always has the same tokens.
What a template writes between two messages is learned by (role, next role), as far as it writes both. From there

    sum          count(request) = count(head with FIRST) - count(FIRST) + the costs of all runs
    incremental  count(request) = count(head, first run, last run) + the costs of the runs in between

where the head is what comes before the first user message, and a run is a user message and what follows it until the
next one: inside a run the template may look at neighbours (it joins assistant messages, it moves tool results), but
not across a user message. The second form is for templates that write the first or the last user message in a way
of its own (a system text is moved into it). A run of plain text is the sum of its messages; any other run is rendered
once between two others. So is a text that holds what the template looks for in texts (some cut at "</think>").

Both forms are tried on requests of many shapes. One that differs by one token, or answers what the template refuses, is
never used; if neither holds, `way` is "whole", and the counter renders and tokenises whole requests.
"""

import json

from base.command import InputError

SYSTEM, FIRST, ANSWER, SECOND = ({"role": role, "content": text} for role, text in (
    ("system", "S"), ("user", "Q1"), ("assistant", "A1"), ("user", "Q2")))
USER, ASSISTANT, END = "user", "assistant", "end"  # END: the generation prompt stands where a message would
LIMIT = 50_000_000  # characters of texts kept; a process that counts for days starts again instead of growing
STRIPS = (str, str.strip, str.lstrip, str.rstrip, *(
    lambda text, strip=strip: strip(text, "\n") for strip in (str.strip, str.lstrip, str.rstrip)))

TOOL_RUN = [
    {"role": "user", "content": "  list it\n"},
    {"role": "assistant", "content": "",
     "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "ls", "arguments": {"path": "a b"}}}]},
    {"role": "tool", "tool_call_id": "call00001", "name": "ls", "content": "x\ny"},
    {"role": "assistant", "content": "Two files."},
]
TOOLS = [{"type": "function", "function": {
    "name": "ls", "description": "List a folder.", "parameters": {
        "type": "object", "properties": {"path": {"type": "string", "description": "where"}}, "required": ["path"]}}}]
ODD_TEXTS = (
    "", " ", "\n", "w", "  two words ", "\r\nline\r\n\r\nnext\t\r\n", "\n\n\nx\n\n\n",
    "naïve – “quoted” 日本語 👩‍💻\u0301", "\u00a0hard space\u2028", "\x1cseparator\x1f", "{{ x }} {% y %} <b>&amp;",
    "- [turn 1, user] 12,000.50%", "a" * 200, "\u0307dot")


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
        self._text, self._lengths, self._control = text, lengths, control
        self._marks, self._switches, self._limits = [*control, *marks], [], "none"
        self._tools_hold = self._runs_hold = self._marks_hold = True
        self._forget()
        self.way, self.adds = "whole", False
        try:
            self._prefix, self._after, self._strip = learn(text, control)
            self._prefix_cost = dict(zip(self._prefix, lengths([own[0] for own in self._prefix.values()])))
        except (Unlearnable, InputError):
            return
        self.way = next((way for way in ("sum", "incremental") if self._set_limits(way)), "whole")
        if self.way == "sum" and self._head([], None) is None and self._head([SYSTEM], None) is None:
            self.way = "incremental"  # the other form answered all of them
        if self.way == "whole":
            return
        self._tools_hold = self._proved(((messages, TOOLS) for messages, _ in plain_shapes()), answered=False)
        self._runs_hold = self._proved(run_shapes(), answered=False)
        if not self._proved(mark_shapes(words)):  # some change how a message is written that holds them
            self._marks += [word for word in words if not self._proved(mark_shapes([word]))]
        self._marks_hold = self._proved(shape for mark in marks for shape in mark_shapes([mark]))
        self._marks_hold = self._marks_hold and self._proved(mark_shapes(marks))
        together = self._is_apart(" ".join(words))
        self._switches = [text for text in (*self._marks, *([] if together else words)) if not self._is_apart(text)]
        self._runs.clear()
        self.adds = self.way == "sum" and not self._switches and all(map(self._is_apart, (None, SYSTEM["content"])))

    def _set_limits(self, way):
        """Whether a form holds for plain text, maybe but for texts that are blank or have white space around them."""
        self.way = way
        for self._limits in ("none", "blank", "padded"):
            if self._proved(plain_shapes(), answered=False):
                return True
        return False

    def _proved(self, shapes, answered=True):
        """Whether the form gives what whole requests give wherever it answers; with False: and answers at all."""
        self._runs.clear()  # what they cost may have been found by rules that are tried no more
        for messages, tools in shapes:
            total = self.total(messages, tools)
            if total is not None:
                answered = True
                if total != self._whole(messages, tools):
                    return False
        return answered

    def _whole(self, messages, tools=None):
        """Tokens of a whole request, or None where the template refuses it."""
        try:
            return self._lengths([self._text(messages, tools)])[0]
        except InputError:
            return None

    def total(self, messages, tools=None):
        """The tokens of the request, or None where neither form can tell them."""
        roles = [message.get("role") for message in messages]
        starts = [number for number, role in enumerate(roles) if role == USER]
        if self.way == "whole" or not starts or starts[-1] < len(messages) - 1 or (tools and not self._tools_hold):
            return None
        head, last = messages[: starts[0]], messages[-1]
        if not is_text(last, USER) or self._acted_on(last["content"]):
            return None  # the end of a request decides what the model is asked to go on with
        if head and not self._adds_behind(head):
            return None
        parts = self._turns(messages[starts[0] : -1], roles[starts[0] : -1])
        if parts is None:
            parts = self._parts([messages[start:end] for start, end in zip(starts, starts[1:])])
        if None in parts:
            return None
        if self.way == "sum":
            around = self._head(head, tools)
            if around is not None:
                return around + sum(parts) + self._costs([(USER, END, last["content"])])[0]
        if len(starts) < 3:
            return None
        ends = self._rendered([*head, *messages[starts[0] : starts[1]], last], tools)
        return None if ends is None else ends + sum(parts[1:])

    def _turns(self, messages, roles):
        """The costs of messages that are turns of two texts each, else None: `_parts` for what selectors ask most."""
        if roles != [USER, ASSISTANT] * (len(messages) // 2) or not set(map(len, messages)) <= {2}:
            return None
        texts = [message["content"] for message in messages if "content" in message]
        if not set(map(type, texts)) <= {str} or self._kept > LIMIT or len(texts) < len(messages):
            return None
        keys = list(zip(texts[::2], texts[1::2]))
        new = {key: messages[2 * number : 2 * number + 2] for number, key in enumerate(keys) if key not in self._runs}
        return self._costs_of(keys, new)

    def _head(self, head, tools):
        """Tokens of what stands around the runs: the messages before the first, tools, the generation prompt.

        None where the template refuses the head, or writes the first user message in another way than later ones.
        """
        return self._once(self._heads, request_key(head, tools), lambda: self._new_head(head, tools))

    def _new_head(self, head, tools):
        try:
            text = self._text([*head, FIRST], tools)
        except InputError:
            return None
        before, _, after = text.rpartition(FIRST["content"])
        if not before.endswith("".join(self._prefix[USER])) or after != self._after[USER, END]:
            return None
        return self._lengths([text])[0] - self._costs([(USER, END, FIRST["content"])])[0]

    def _adds_behind(self, head):
        """Whether costs may be added behind what a request begins with: a system text, a reply (tried), or both."""
        system, replies = (head[0]["content"], head[1:]) if is_text(head[0], "system") else (None, head)
        if system and any(text in system for text in self._switches):
            return False
        if not replies:
            return True
        if len(replies) > 1 or not is_text(replies[0], ASSISTANT) or self._acted_on(replies[0]["content"]):
            return False
        key = ("apart", *request_key(head, None))
        return self._once(self._heads, key, lambda: self._is_apart(system, *replies))

    def _is_apart(self, system, *replies):
        """Whether costs may be added to a request with this system text (None: none), or the template refuses it."""
        head = [*([] if system is None else [{**SYSTEM, "content": system}]), *replies]
        whole, base = self._whole([*head, FIRST, ANSWER, SECOND]), self._whole([*head, SECOND])
        if whole is None or base is None:
            return whole is base
        return self._head(head, None) is not None and [whole - base] == self._parts([[FIRST, ANSWER]])

    def parts(self, runs):
        """For each run the tokens that it adds to any request, or None."""
        return self._parts(runs) if self.adds else [None] * len(runs)

    def _parts(self, runs):
        if self._kept > LIMIT:
            self._forget()
        keys = [tuple(message["content"] for message in run) if plain(run) else json.dumps(run) for run in runs]
        return self._costs_of(keys, {key: run for key, run in zip(keys, runs) if key not in self._runs})

    def _costs_of(self, keys, runs):
        """The costs by keys; the new runs, {key: run}, those of plain text together, each of the others by itself."""
        plains = {}
        for key, run in runs.items():
            if plain(run) and not any(self._acted_on(message["content"]) for message in run):
                following = [*(message["role"] for message in run[1:]), USER]
                plains[key] = [(message["role"], role, message["content"]) for message, role in zip(run, following)]
        costs = iter(self._costs([text for texts in plains.values() for text in texts]))
        for key, texts in plains.items():
            parts = [next(costs) for _ in texts]
            self._keep(self._runs, key, None if None in parts else sum(parts), 0)
        for key, run in runs.items():
            if self._runs.get(key) is None:
                self._keep(self._runs, key, self._added(run), len(key))
        return [self._runs[key] for key in keys]

    def _added(self, run):
        """Tokens of a run that is no plain text, rendered among others, or None where they depend on those."""
        known = run and run[0].get("role") == USER and self._runs_hold
        if not known or not (self._marks_hold or self._unmarked(run)):
            return None
        added = set()
        for before, after in (([FIRST, ANSWER], [SECOND]), ([FIRST, ANSWER], [FIRST, ANSWER, SECOND]),
                              ([], [FIRST, ANSWER, SECOND])):
            around, within = self._rendered([*before, *after]), self._rendered([*before, *run, *after])
            added.add(None if around is None or within is None else within - around)
        return added.pop() if len(added) == 1 else None

    def _rendered(self, messages, tools=None):
        """Tokens of a request that stands for others, or None where the template refuses it."""
        return self._once(self._requests, request_key(messages, tools), lambda: self._whole(messages, tools))

    def _costs(self, keys):
        """For each (role, next role, content) what the message adds, or None where the template never writes that.

        Tokenised together, each once, from the control token before the message to the last one before the next.
        """
        new = [key for key in dict.fromkeys(keys) if key not in self._texts]
        known = [key for key in new if key[:2] in self._after]
        texts = ["".join(self._prefix[role]) + self._strip[role](content) + self._after[role, following]
                 for role, following, content in known]
        for key, length in zip(known, self._lengths(texts) if texts else ()):
            self._keep(self._texts, key, length - self._prefix_cost[key[0]], len(key[2]))
        return [self._texts.get(key) for key in keys]

    def _once(self, kept, key, find):
        """kept[key], and what find() gives where it is new."""
        if key not in kept:
            self._keep(kept, key, find(), sum(map(len, key)))
        return kept[key]

    def _keep(self, kept, key, value, size):
        kept[key] = value
        self._kept += size

    def _forget(self):
        self._texts, self._runs, self._heads, self._requests, self._kept = {}, {}, {}, {}, 0

    def _acted_on(self, text):
        """Whether the template may write a message of this text in another way than the sum thinks."""
        if self._limits != "none" and not text.strip() or self._limits == "padded" and text != text.strip():
            return True
        return any(mark in text for mark in self._marks)

    def _unmarked(self, run):
        text = json.dumps(run, ensure_ascii=False)
        return "\\" not in text and not any(mark in text for mark in self._marks)  # escaped, a mark is not seen


class Unlearnable(ValueError):
    """A template that does not write messages one after the other between control tokens."""


def request_key(messages, tools):
    """What tells requests apart: (role, content, ...) of texts, other messages and tools as JSON.

    Not sorted: a template may write fields in their order.
    """
    key = [json.dumps(tools)]
    for message in messages:
        role, text = message.get("role"), message.get("content")
        key += (role, text) if is_text(message, role) and role else (json.dumps(message), "")
    return tuple(key)


def plain(run):
    """Whether a run is a user's text, with at most one assistant's text after it, and nothing else."""
    return 1 <= len(run) <= 2 and is_text(run[0], USER) and (len(run) == 1 or is_text(run[1], ASSISTANT))


def is_text(message, role):
    """Whether a message is a text of this role and has no other field."""
    return len(message) == 2 and message.get("role") == role and isinstance(message.get("content"), str)


def learn(text, control):
    """What the template writes around a user's and an assistant's text in the middle of a request, or Unlearnable.

    -> ({role: (control token before the content, text between the two)},
        {(role, next role): text after the content, as far as the next message's own part},
        {role: how the content is stripped})
    """
    roles = (USER, ASSISTANT, USER, ASSISTANT)
    gaps = between(text, roles, [FIRST, ANSWER], [SECOND])
    after = {(USER, ASSISTANT): gaps[1], (ASSISTANT, USER): gaps[2], (USER, END): between(
        text, [USER], [FIRST, ANSWER], [])[1]}
    if gaps[3] != gaps[1]:
        raise Unlearnable("two turns are written in two ways")
    prefix = {role: split_prefix(after[other, role], control) for other, role in ((ASSISTANT, USER), (USER, ASSISTANT))}
    try:
        after[USER, USER] = between(text, [USER, USER], [FIRST, ANSWER], [ANSWER, SECOND])[1]
    except (Unlearnable, InputError):
        pass  # two users in a row are refused or joined
    for role, following in list(after):
        gap, own = after.pop((role, following)), prefix.get(following, ("", ""))
        if gap.endswith("".join(own)):
            after[role, following] = gap[: len(gap) - len(own[1])]
    return prefix, after, {role: learn_strip(text, role, "".join(prefix[role])) for role in prefix}


def between(text, roles, before, behind):
    """What a template writes before, between and after texts of these roles that stand between other messages."""
    marks = ["SENTINEL" + "ABCD"[number] for number in range(len(roles))]
    messages = [{"role": role, "content": mark} for role, mark in zip(roles, marks)]
    rest, gaps = text([*before, *messages, *behind], None), []
    for mark in marks:
        gap, found, rest = rest.partition(mark)
        if not found or mark in rest:
            raise Unlearnable(f"{mark} stands {'twice' if found else 'nowhere'} in the request")
        gaps.append(gap)
    return [*gaps, rest]


def split_prefix(gap, control):
    """(last control token of a gap between two contents, what stands after it), or Unlearnable."""
    ends = [(gap.rindex(token) + len(token), token) for token in control if token in gap]
    if not ends:
        raise Unlearnable("two messages stand together without a control token between them")
    end, token = max(ends, key=lambda pair: (pair[0], len(pair[1])))
    return token, gap[end:]


def learn_strip(text, role, prefix):
    """How a template strips the white space around a content of this role: one of STRIPS, or Unlearnable."""
    padded = ["  SENTINEL \n", "\n\n SENTINEL\t\n\n", "SENTINEL"]
    before, behind = ([FIRST, ANSWER], [ANSWER, SECOND]) if role == USER else ([FIRST], [SECOND])
    rendered = [text([*before, {"role": role, "content": content}, *behind], None) for content in padded]
    for strip in STRIPS:
        expected = [rendered[-1].replace(prefix + "SENTINEL", prefix + strip(content)) for content in padded]
        if expected == rendered:
            return strip
    return str  # only some white space: contents with any around them are told by the proof


def plain_shapes():
    """(messages, tools) of plain text in the shapes that a lab's requests have."""
    system = {"role": "system", "content": " Be brief. "}
    everything = [{"role": role, "content": text} for pair in zip(ODD_TEXTS, ODD_TEXTS[::-1])
                  for role, text in zip((USER, ASSISTANT), pair)]
    simple = [FIRST, ANSWER, {"role": "user", "content": "Two words."}, {"role": "assistant", "content": "Yes, two."}]
    for head in ([], [system], [{"role": "system", "content": ""}]):
        yield [*head, SECOND], None
        yield [*head, *simple, SECOND], None
        yield [*head, *simple, *simple, *simple[2:], {"role": "user", "content": "And then?"}], None
        yield [*head, *simple, SECOND, ANSWER, *simple, SECOND, ANSWER, SECOND], None  # the last one stands there twice
        yield [*head, *everything, SECOND], None
        yield [*head, *everything[::-1][1:], *simple[1:], SECOND], None
    yield [*everything, *everything[:3], FIRST, FIRST, {"role": "user", "content": " "}], None
    yield [*simple, FIRST, FIRST, SECOND, *simple, SECOND, SECOND], None
    for text in ODD_TEXTS:
        yield [*simple, {"role": "user", "content": text}, ANSWER, SECOND], None
        yield [*simple, FIRST, {"role": "assistant", "content": text}, SECOND], None
        yield [*simple, {"role": "user", "content": text}], None


def run_shapes():
    """Requests with what a template may treat by its neighbours: tools, joined texts, reasoning."""
    system = {"role": "system", "content": "Be brief."}
    call, result = TOOL_RUN[1:3]
    again, thought = {**call, "content": "Again."}, {**ANSWER, "reasoning": "Because."}
    runs = [TOOL_RUN, [FIRST, ANSWER, {**ANSWER, "content": "Two."}], [FIRST, thought], [FIRST, call], TOOL_RUN[:3],
            [FIRST, system], [FIRST, system, ANSWER], [FIRST, call, result, again, result, result, ANSWER]]
    for tools in (None, TOOLS):
        for run in runs:
            yield [FIRST, ANSWER, *run, *run, FIRST, ANSWER, *run, SECOND], tools
        yield [system, *TOOL_RUN, SECOND], tools
        yield [system, *(message for run in runs for message in run), SECOND], tools
        yield [message for run in [*runs[::-1], *runs] for message in run] + [SECOND], tools


def mark_shapes(marks):
    """Requests whose texts hold what a template looks for."""
    for order in (marks, marks[::-1]):
        texts = [text for mark in order for text in (mark, f"a {mark} b", f"{mark} b", f"a {mark}")]
        spoken = [{"role": role, "content": text} for text in texts for role in (USER, ASSISTANT)]
        yield [FIRST, ANSWER, *spoken, FIRST, ANSWER, *spoken[:2], SECOND], None
