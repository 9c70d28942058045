"""The content blocks of a message, walked in one place, and which words under the user's role are a person's own."""

import json
import re
from contextlib import suppress

from compaction.sessions.log import event

THINKING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "refusal")
TEXTS = ("text", "input_text", "output_text", None)
GEMINI = ("functionResponse", "inlineData", "fileData")  # names of what a block of that tool holds
WORDLESS = ("image image_url document file audio input_audio input_image input_file inlineData fileData tool_reference "
            "search_result web_search_result resource resource_link").split()
TAGS = "|".join(
    ("system-reminder system_reminder local-command-stdout local-command-stderr local-command-caveat bash-input "
     "bash-stdout bash-stderr task-notification agent-message ide_opened_file ide_selection ide_diagnostics "
     "user-prompt-submit-hook environment_context environment_details user_instructions subagent_notification "
     "turn_aborted skill hook_context current_datetime teammate-message cross-session-message session_context "
     "explicit_instructions file_content folder_content url_content command-message command-contents "
     "permissions_instructions INSTRUCTIONS user_shell_command").split())
# At the start of a line or behind another tag. A notice ends with the line after its tag, which says where to read on.
INJECTED = re.compile(
    rf"(?:\A|(?<=[\n>]))[ \t]*<({TAGS})(?:\s[^<>]*)?>.*?</\1>(?:(?<=</task-notification>)\n[^\n]+)?", re.DOTALL)
MACHINE = re.compile(r"\s*(?:# AGENTS\.md instructions|# CLAUDE\.md|Caveat: The messages below were generated|"
                     r"This is the Gemini CLI\. We are setting up the context|Here is the user's editor context|"
                     r"System: Please continue\.|Stop hook feedback:|SessionStart:\S* hook|\[SYSTEM NOTIFICATION|"
                     r"I ran the following shell command:\n)")
EDITOR_REQUEST = re.compile(r"\A# Context from my IDE setup:.*?^## My request for \w+:\s*", re.DOTALL | re.MULTILINE)
SHELL_LINE = re.compile(r"\A\s*![ \t]?(?=[\w./~$(-])(?!\w+[:!,])[^\n]*(?:\n|\Z)")  # a command for the tool to run
CONTINUED = "This session is being continued from a previous conversation"  # how a summary begins in two tools


def own_words(text):
    """What a person wrote in `text`: without what tools put around it; "" when nothing of it is the person's.

    A tag counts only where a line begins with it: who asks about <skill> tags in a sentence keeps the words.
    own_words("<bash-stdout>a</bash-stdout>\\nfix it") -> "fix it"
    """
    if MACHINE.match(text):
        return ""
    text = SHELL_LINE.sub("", EDITOR_REQUEST.sub("", text))
    if text.lstrip().startswith("<") or "\n<" in text:
        cut = INJECTED.sub("", text)
        text = text if cut == text else cut.strip()
    return text if text.strip() else ""


def said_by_person(text, tally):
    """A person's own words in a text under the user's role, or "": then it is counted as what the tool put there."""
    if words := own_words(text):
        return words
    tally.left_out("text that the tool put under the user's role" if text.strip() else "empty text")
    return ""


def blocks(content, tally):
    """Yield ("text", text), ("call", fields) and ("result", fields) of a message's content, fields as an event's.

    content: a text, a block, or a list of them. What holds nothing to read is left out, what is not known is unread.
    """
    for block in [content] if isinstance(content, (str, dict)) else content or []:
        block = {"text": block} if isinstance(block, str) else block
        if not isinstance(block, dict) or not isinstance(block.get("type"), str | None):
            tally.unread(f"block of type {type(block).__name__}")
            continue
        kind = block.get("type") or next((name for name in GEMINI if name in block), None)
        if kind in THINKING or block.get("thought"):
            tally.left_out("thinking")
        elif kind in TEXTS and isinstance(block.get("text", block.get("output")), str):
            yield "text", block.get("text", block.get("output"))
        elif kind in ("tool_use", "server_tool_use"):
            given = arguments(block.get("input"))
            yield "call", {"name": block.get("name"), "arguments": given, "call_id": block.get("id")}
        elif kind == "functionResponse":
            answer = (block[kind] or {}).get("response")
            answer = answer.get("output", answer.get("error", answer)) if isinstance(answer, dict) else answer
            yield "text", answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, sort_keys=True)
        elif kind and kind.endswith("tool_result"):
            yield "result", {"content": text_of(block.get("content"), tally), "call_id": block.get("tool_use_id")}
        elif kind in WORDLESS:
            tally.left_out(f"block without text: {kind}")
        else:
            tally.unread(f"block of unknown type {kind!r}")


def said_by_model(content, time, key, tally):
    """The raw events of a model's message: its texts, its calls, and results that stand beside them."""
    for kind, value in blocks(content, tally):
        if kind != "text":
            yield event("tool_" + kind, time, reply_key=key, **value)
        elif value.strip():
            yield event("assistant", time, content=value, reply_key=key)
        else:
            tally.left_out("empty text")


def text_of(content, tally):
    """The text of a message's or result's content, its blocks one a line: text_of([{"text": "a"}], tally) is "a"."""
    return "\n".join(value for kind, value in blocks(content, tally) if kind == "text")


def arguments(value):
    """The arguments of a call, parsed where they are JSON in a string: arguments('{"a": 1}') -> {"a": 1}."""
    with suppress(TypeError, ValueError, RecursionError):  # TypeError: a value as it is
        parsed = json.loads(value, parse_constant=str)
        return parsed if isinstance(parsed, (dict, list)) else value
    return value
