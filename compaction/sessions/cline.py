"""What Cline puts into chat messages: calls as XML, their results under the user's role, the user's words in tags.

Not a script: sessions/chat.py hands every message of a Cline conversation to it (api_conversation_history.json, or the
SDK's sessions). Where calls are blocks of their own (newer versions), only the user's words need to be found.
"""

import re

from compaction.sessions.log import event, own_words

TOOLS = (
    "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|search_files|"
    "list_files|list_code_definition_names|codebase_search|browser_action|use_mcp_tool|access_mcp_resource|"
    "ask_followup_question|attempt_completion|plan_mode_respond|plan_mode_response|act_mode_respond|new_task|condense|"
    "summarize_task|load_mcp_documentation|web_fetch|web_search|use_skill|switch_mode|fetch_instructions|"
    "update_todo_list|report_bug|new_rule|focus_chain")
CALL = re.compile(rf"(?:\A|(?<=\n))[ \t]*<({TOOLS})>(.*?)</\1>", re.DOTALL)
# To the last end tag, since the text may hold tags.
LONG = re.compile(r"<(content|diff|result|response)>\n?(.*)\n?</\1>", re.DOTALL)
PARAMETER = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)
RESULT = re.compile(rf"\s*\[({TOOLS}|\w+)(?: for [^\n]*| in [^\n]*)?\] Result:[ \t]*\n?(.*)", re.DOTALL)
TALK = {"ask_followup_question", "attempt_completion", "plan_mode_respond", "plan_mode_response", "act_mode_respond"}
TAGGED = re.compile(r"<(answer|feedback|user_message|user_input)>\s*(.*?)\s*</\1>", re.DOTALL)
SPOKE = re.compile(  # how a result hands on what the user said to it
    r"(?:\A|\n)\s*(?:The user (?:denied|rejected|provided|approved)[^\n]*|New (?:instructions|message)[^\n]*)\s*"
    r"<(feedback|user_message)>\s*(.*?)\s*</\1>",
    re.DOTALL,
)
WRAPPED = re.compile(r"\s*<(task|feedback|user_message|user_input|answer)(?:\s[^<>]*)?>(.*)</\1>\s*", re.DOTALL)
MACHINE = re.compile(
    r"\s*(?:\[ERROR\] You did not use a tool|# TODO LIST|# task_progress|\[NOTE\] |\[TASK RESUMPTION\]|"
    r"Task resumption:|\[SYSTEM|You have not (?:used|made)|\(tool did not return anything\))")


def is_cline(messages):
    """Whether chat messages are Cline's: the first user's text is wrapped, or the environment stands beside it."""
    first = next((m for m in messages if isinstance(m, dict) and m.get("role") == "user"), {})
    content = first.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
    return any(WRAPPED.match(t) or "<environment_details>" in t for t in texts)


def words_of(text, cline=True):
    """What the user wrote in a text block, without its tags; "" when the tool wrote it."""
    if cline and (MACHINE.match(text) or SPOKE.match(text)):
        spoke = SPOKE.search(text) or TAGGED.search(text)
        return spoke.group(2) if spoke else ""
    text = own_words(text)
    wrapped = WRAPPED.fullmatch(text)
    return wrapped.group(2).strip() if wrapped else text


def spoken_in(text, tool=None):
    """The user's words inside the text of a result, "" when there are none. A file that was read may hold such tags."""
    found = TAGGED.search(text) if tool in TALK else SPOKE.search(text)
    return found.group(2) if found else ""


class Written:
    """Calls written in the text of replies, and the blocks under the user's role that answer them."""

    def __init__(self):
        self.number, self.open = 0, []  # (id, tool) of calls whose result has not come

    def reply(self, text, key, time):
        """Events of a reply's text: the text beside the calls, then the calls."""
        beside = CALL.sub("", text).strip()
        if beside:
            yield event("assistant", time, content=beside, reply_key=key)
        for tool, body in CALL.findall(text):
            self.number += 1
            self.open.append((f"written {self.number}", tool))
            yield event(
                "tool_call", time, name=tool, arguments=parameters(body), call_id=self.open[-1][0], reply_key=key)

    def results(self, texts):
        """(texts that are no results, [(call id or None, tool, text)]) of a user message's text blocks, in order."""
        rest, found = [], []
        for text in texts:
            head = RESULT.match(text)
            if head:
                found.append([self.answered(head.group(1)), head.group(1), head.group(2)])
            elif found and not ends_result(text, found[-1][2]):
                found[-1][2] += ("\n" if found[-1][2] else "") + text
            else:
                rest.append(text)
        return rest, found

    def answered(self, tool):
        place = next((n for n, (_, name) in enumerate(self.open) if name == tool), None)
        return None if place is None else self.open.pop(place)[0]


def ends_result(text, so_far):
    """Whether a text block is no more of the result whose head stood before it."""
    if text.lstrip().startswith("<environment_details>") or WRAPPED.fullmatch(text):
        return True
    return bool(so_far.strip() and MACHINE.match(text))


def parameters(body):
    """{"path": …} of the XML inside a call."""
    found = {}
    for pattern in (LONG, PARAMETER):
        for name, value in pattern.findall(body):
            found.setdefault(name, value.strip("\n") if pattern is LONG else value.strip())
        body = pattern.sub("", body)
    return found
