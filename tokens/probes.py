"""Requests on which a chat template is tried: before a model is pinned, and to prove that counts are sums."""

from itertools import chain, cycle


def chat(*texts):
    """Messages of a user and an assistant in turn: chat("Q") -> [{"role": "user", "content": "Q"}]."""
    return [{"role": role, "content": text} for role, text in zip(cycle(("user", "assistant")), texts)]


def system(text):
    return {"role": "system", "content": text}


FIRST, ANSWER, SECOND = chat("Q1", "A1", "Q2")
CALL = {"id": "call00001", "type": "function", "function": {"name": "ls", "arguments": {"path": "a b"}}}
TOOL_RUN = [*chat("  list it\n"), {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": CALL["id"], "name": "ls", "content": "x\ny"},
            {"role": "assistant", "content": "Two files."}]
TOOLS = [{"type": "function", "function": {
    "name": "ls", "description": "List a folder.", "parameters": {
        "type": "object", "properties": {"path": {"type": "string", "description": "where"}}, "required": ["path"]}}}]
ODD_TEXTS = (
    "", " ", "\n", "w", "  two words ", "\r\nline\r\n\r\nnext\t\r\n", "\n\n\nx\n\n\n",
    "naïve – “quoted” 日本語 👩‍💻\u0301", "\u00a0hard space\u2028", "\x1cseparator\x1f", "{{ x }} {% y %} <b>&amp;",
    "- [turn 1, user] 12,000.50%", "a" * 200, "\u0307dot", 'a\n\n"b"\t\\c\r\nd\u2028e\'', "1234567", "LOUD")
LONG = chat("long text, " * 2000 + "cut")


def plain_requests():
    """Plain texts in the shapes that a lab's requests have."""
    simple, odd = chat("Q1", "A1", "Two words.", "Yes, two."), chat(*chain(*zip(ODD_TEXTS, ODD_TEXTS[::-1])))
    for head in [], [system(" Be brief. ")], [system("")]:
        for body in ([], simple, [*simple, *simple, *simple[2:]], 2 * [*simple, SECOND, ANSWER], odd,
                     [*odd[::-1][1:], *simple[1:]]):
            yield [*head, *body, SECOND]
    yield [*odd, *odd[:3], FIRST, FIRST, *chat(" ")]
    yield [*simple, FIRST, FIRST, SECOND, *simple, SECOND, SECOND]
    yield [*simple * 40, *LONG, ANSWER, *LONG]
    for text in ODD_TEXTS:
        for end in (text, "A1", "Q2"), ("Q1", text, "Q2"), (text,):
            yield [*simple, *chat(*end)]


def run_requests():
    """What a template may write by its neighbours: tools, joined texts, reasoning."""
    brief, call, result = system("Be brief."), *TOOL_RUN[1:3]
    again, thought = {**call, "content": "Again."}, {**ANSWER, "reasoning": "Because."}
    runs = [TOOL_RUN, [FIRST, ANSWER, {**ANSWER, "content": "Two."}], [FIRST, thought], [FIRST, call], TOOL_RUN[:3],
            [FIRST, brief], [FIRST, brief, ANSWER], [FIRST, call, result, again, result, result, ANSWER]]
    for run in runs:
        yield [FIRST, ANSWER, *run, *run, FIRST, ANSWER, *run, SECOND]
    yield [brief, *TOOL_RUN, SECOND]
    yield [brief, *chain(*runs), SECOND]
    yield [*chain(*runs[::-1], *runs), SECOND]


def mark_requests(marks):
    """Texts that hold what a template looks for."""
    for order in marks, marks[::-1]:
        texts = [text for mark in order for text in (mark, f"a {mark} b", f"{mark} b", f"a {mark}")]
        spoken = chat(*chain(*zip(texts, texts)))
        yield [FIRST, ANSWER, *spoken, FIRST, ANSWER, *spoken[:2], SECOND]
