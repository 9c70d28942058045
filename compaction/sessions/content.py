"""What stands in a message: its content blocks, walked in one place, and which words under the user's role are a
person's own.
"""

import json
import re

THINKING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "refusal")
TEXTS = ("text", "input_text", "output_text", None)
CALLS = ("tool_use", "server_tool_use")
TAGS = "|".join(
    ("system-reminder system_reminder local-command-stdout local-command-stderr local-command-caveat bash-input "
     "bash-stdout bash-stderr task-notification agent-message ide_opened_file ide_selection ide_diagnostics "
     "user-prompt-submit-hook environment_context environment_details user_instructions subagent_notification "
     "turn_aborted skill hook_context current_datetime teammate-message cross-session-message session_context "
     "explicit_instructions file_content folder_content url_content command-message command-contents "
     "permissions_instructions INSTRUCTIONS user_shell_command").split())
# A notice ends with the line after its tag, which tells the model where to read on.
INJECTED = re.compile(rf"<({TAGS})(?:\s[^<>]*)?>.*?</\1>(?:(?<=</task-notification>)\n[^\n]+)?", re.DOTALL)
MACHINE = re.compile(r"\s*(?:# AGENTS\.md instructions|# CLAUDE\.md|Caveat: The messages below were generated|"
                     r"This is the Gemini CLI\. We are setting up the context|Here is the user's editor context|"
                     r"System: Please continue\.|Stop hook feedback:|SessionStart:\S* hook|\[SYSTEM NOTIFICATION|"
                     r"I ran the following shell command:\n)")
EDITOR_REQUEST = re.compile(r"\A# Context from my IDE setup:.*?^## My request for \w+:\s*", re.DOTALL | re.MULTILINE)
SHELL_LINE = re.compile(r"^![ \t]?[\w./~$(-].*(?:\n|\Z)", re.MULTILINE)  # a command that the person let the tool run
CONTINUED = "This session is being continued from a previous conversation"  # how a summary begins in two tools


def own_words(text):
    """What a person wrote in `text`: without what tools put around it; "" when nothing of it is the person's.

    A tag counts only where a line begins with it: who asks about <skill> tags in a sentence keeps the words.
    own_words("<bash-stdout>a</bash-stdout>\\nfix it") -> "fix it"
    """
    if MACHINE.match(text):
        return ""
    text = SHELL_LINE.sub("", EDITOR_REQUEST.sub("", text))
    if not text.lstrip().startswith("<") and "\n<" not in text:
        return text

    def kept(match):
        before = text[: match.start()].rstrip(" \t")
        return "" if not before or before.endswith(("\n", ">")) else match[0]

    cut = INJECTED.sub(kept, text)
    return text if cut == text else cut.strip()


def count_foreign(text, tally):
    """Count a text under the user's role that holds no words of a person."""
    tally.left_out("text that the tool put under the user's role" if text.strip() else "empty text")


def blocks(content, tally):
    """Yield ("text", text), ("call", fields) and ("result", fields) of a message's content, fields as an event's.

    content: a text, a block, or a list of them, as OpenAI, Anthropic and Gemini write blocks. What holds nothing to
    read (thinking, images, files) is counted as left out, what is not known as unread.
    """
    for block in [content] if isinstance(content, (str, dict)) else content or []:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, str):
            yield "text", block
        elif not isinstance(block, dict) or not isinstance(kind, str | None):
            tally.unread(f"block of type {type(block).__name__}")
        elif kind in THINKING or block.get("thought"):
            tally.left_out("thinking")
        elif kind in TEXTS and isinstance(block.get("text"), str):
            yield "text", block["text"]
        elif kind in CALLS or isinstance(block.get("functionCall"), dict):
            call = block if kind in CALLS else block["functionCall"]
            given = call.get("input") if kind in CALLS else call.get("args")
            yield "call", {"name": call.get("name"), "arguments": arguments(given), "call_id": call.get("id")}
        elif kind == "tool_result" or kind and kind.endswith("_tool_result"):
            yield "result", {"content": text_of(block.get("content"), tally), "call_id": block.get("tool_use_id")}
        elif isinstance(block.get("functionResponse"), dict):
            result = block["functionResponse"]
            yield "result", {"content": text_of(block, tally), "call_id": result.get("id"), "name": result.get("name")}
        elif kind in ("image", "image_url", "document", "file", "input_audio", "input_image", "input_file"):
            tally.left_out(f"block without text: {kind}")
        elif kind is None and {"inlineData", "fileData"} & block.keys():
            tally.left_out("block without text: " + next(iter(block)))
        else:
            tally.unread(f"block of unknown type {kind!r}")


def text_of(content, tally):
    """The text of a message's or result's content: a string, or blocks, whose texts are joined by line ends.

    A block that is no text (an image, a file) is counted as left out; a shape that is unknown as unread.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, (dict, list)):
        tally.unread(f"content of type {type(content).__name__}")
        return ""
    texts = []
    for block in [content] if isinstance(content, dict) else content:
        text = block if isinstance(block, str) else block_text(block)
        if text is None:
            kind = block.get("type") or next(iter(block), "empty") if isinstance(block, dict) else type(block).__name__
            tally.left_out(f"block without text: {kind}")
        else:
            texts.append(text)
    return "\n".join(texts)


def block_text(block):
    """The text of one content block, or None when it holds none. Gemini's results hold output or error."""
    if not isinstance(block, dict):
        return None
    answer = block.get("functionResponse")
    answer = answer.get("response") if isinstance(answer, dict) else None
    if isinstance(answer, dict):
        value = answer.get("output", answer.get("error", answer))
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return next((block[field] for field in ("text", "output") if isinstance(block.get(field), str)), None)


def arguments(value):
    """The arguments of a call: JSON in a string as its value, a program or a patch as the string it is."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value, parse_constant=str)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, (dict, list)) else value
