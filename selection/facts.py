"""Find a fact in a request. A text is there where one message holds it, or the notes hold its escaped form.

A fact that names its turn, {"turn": id, "text": text}, is there where one of these holds:

1. the request holds whole a message of that turn that contains the text; where other turns sent have a message of the
   same words, every copy has to be there, since one alone does not say whose it is
2. the notes hold whole a note of that turn that contains the text. Notes are made again from the history: text inside
   a turn, a note or the question that looks like a note is none
3. the text stands in any text of the request, the instructions and the question aside, and no other turn of the
   history has it: what a selector words anew counts where nobody else can have said it
"""

import re
from html import unescape

import strategies
from selection.cases import holders, turn_numbers
from strategies import NOTES_HEADER, note_lines, render, turn_messages

BLOCK = re.compile(rf"{re.escape(NOTES_HEADER)}\n<notes>\n(.*)\n</notes>\n\nQuestion: ", re.DOTALL)
MARK = re.compile(r"^- \[turn \d+, (?:user|assistant|tool)\] ", re.MULTILINE)


def in_request(fact, case, selected):
    """Whether a fact of either form reached the request of a selection.
    in_request("port 80", {"current": "Which?"}, {"messages": [{"content": "Use port 80."}]}) -> True"""
    if isinstance(fact, dict):
        return turn_fact_sent(fact, case, selected)
    written = strategies.escape(fact)
    return any(fact in said for said in sent_texts(case, selected)) or (
        written != fact and written in before_question(case, selected))


def before_question(case, selected):
    """What stands in the last message of a request before the question."""
    return "".join(message.get("content") or "" for message in selected["messages"][-1:]).removesuffix(case["current"])


def sent_texts(case, selected):
    """The texts of a request as they were said: of a message with notes each note, unescaped, without its mark.

    So "amp" is not found in the "&amp;" of a note.
    """
    contents = [message.get("content") or "" for message in selected["messages"]]
    block = BLOCK.fullmatch(before_question(case, selected))
    return [*contents[:-1], *map(unescape, MARK.split(block[1]))] if block else contents


def turn_fact_sent(fact, case, selected):
    """Whether the request of a selection holds a fact of the form {"turn", "text"}."""
    history, text = case["history"], fact["text"]
    number = turn_numbers(history)[fact["turn"]]
    return (holders(history, text) == [number] and any(text in said for said in said_texts(case, selected))
            or message_sent(number, text, case, selected)
            or any(turn == number and text in unescape(line.partition("] ")[2])
                   for turn, line in notes_sent(case, selected)))


def said_texts(case, selected):
    """The parts of a request around its instructions, its question, wherever repeated, and what frames the notes."""
    own = "|".join(re.escape(text.strip()) for text in (case["instructions"], case["current"]) if text.strip())
    for content in sent_texts(case, selected):
        yield from re.split(own, content)


def message_sent(number, text, case, selected):
    """Whether the request holds whole a message of this turn that contains the text, every copy of it that may be sent.

    Assistant texts that stand side by side may have been joined by an empty line, a session's date may stand elsewhere.
    """
    history = case["history"]
    turns = selected["turns"] if number in selected["turns"] else range(len(history))
    every = [message for turn in turns for message in turn_messages(history[turn])]
    date = f"[{history[number].get('date')}] "
    return any(copies(content, message["role"], selected["messages"][:-1]) >= copies(content, message["role"], every)
               for message in turn_messages(history[number])
               if text in message["content"] and (content := message["content"].removeprefix(date)))


def copies(content, role, messages):
    """How often a content stands in messages of a role, alone or as whole paragraphs, with or without "[date] ".
    copies("Yes.", "user", [{"role": "user", "content": "[May 1] Yes.\\n\\nNo."}]) -> 1"""
    paragraphs = re.compile(rf"(?:\A|(?<=\n\n))(?=(?:\[[^\]\n]*\] )?{re.escape(content)}(?:\n\n|\Z))")
    return sum(len(paragraphs.findall(message.get("content") or "")) for message in messages if message["role"] == role)


def notes_sent(case, selected):
    """[(turn number from 0, note), ...] of a request in order, made again from the history.

    Where the notes are not the last ones of the turns left out (another rule's), a note counts that stands whole in the
    block and in no other note of it.
    """
    by_turn = enumerate(note_lines(case["history"], strategies.CUES))
    every = [(number, line) for number, lines in by_turn for line in lines]
    kept = [note for note in every if note[0] not in selected["turns"]][-selected["notes"] or len(every) :]
    if selected["messages"][-1]["content"] == render(case, [], [line for _, line in kept])[-1]["content"]:
        return kept
    block = BLOCK.fullmatch(before_question(case, selected))
    standing = [(number, line) for number, line in every if block and f"\n{line}\n" in f"\n{block[1]}\n"]
    return [note for note in standing if not any(note[1] in line for _, line in standing if line != note[1])]
