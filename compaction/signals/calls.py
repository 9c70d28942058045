"""Tool calls that are made again after a compaction, each with its evidence and kind, and the same count elsewhere.

Arguments are compared as JSON values: the order of keys and 1 or 1.0 make no difference, "1", 1 and true do. Kept of a
call: a digest, where it stood, a digest of its result.

repeat   a call that equals an earlier one of its conversation
hit      a repeat within the window after a compaction
control  calls at turns with no compaction within the window's length before or behind them, the first turns of that
         number left out, since little has been called there that could be repeated
"""

import hashlib
import json
import re

from base.shown import one_line
from compaction.signals.kinds import command_of, is_poll, is_write, same_file, targets

SHOWN = 160  # characters of a call's arguments in its evidence
# What a result tells of the moment and not of the answer, with what stays: equal answers must be found equal. Each
# begins with fixed text where it can, since one pattern of all of them is four times as slow on long results.
MOMENT = [(re.compile(pattern, re.MULTILINE), stays) for pattern, stays in (
    (r"Chunk ID: (?<=^Chunk ID: )\S+$\n?", ""), (r"Wall time: (?<=^Wall time: ).*$\n?", ""),
    (r"Original token count: (?<=^Original token count: )\d+$\n?", ""), (r"\t[\d.]+s$", "\t"),
    (r"^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\]?\s*$\n?", ""), (r"\"duration_seconds\":\s*[\d.]+,?", ""),
    (r"in (?<=\bin )[\d.]+ ?m?s\b", ""), (r"\([\d.]+ ?m?s\)|\(cached\)", ""))]
ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode
NUMBER = lambda text: int(float(text)) if float(text).is_integer() else float(text)  # noqa: E731
FLOAT = re.compile(r"\.0|e\+")  # stands in the text of every whole float


def canonical(value):
    """One text for equal JSON values: keys in order, a whole number without its point, nothing else made equal.

    None for a value that is nested too deep to write: such a call is like no other.
    canonical({"b": 1.0, "a": [2]}) -> '{"a":[2],"b":1}'
    """
    try:
        if isinstance(value, str) and value[:1] in ("{", "["):  # arguments that a tool recorded as JSON inside a string
            value = json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        text = ENCODE(value)
        return ENCODE(json.loads(text, parse_float=NUMBER)) if FLOAT.search(text) else text
    except RecursionError:
        return None


def digest(text):
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def call_digest(name, arguments):
    """Twelve bytes that are equal for calls of one tool with equal arguments; None for arguments nested too deep."""
    text = canonical(arguments)
    return text and digest(f"{name}\0{text}")


def result_digest(content):
    """Twelve bytes for a result, its times and ids of the moment left out."""
    for pattern, stays in MOMENT:
        content = pattern.sub(stays, content)
    return digest(content.strip())


class Calls:
    """The calls of one conversation: what was called and written, and the repeats within `turns` after a compaction."""

    def __init__(self, turns):
        self.turns = turns
        self.counts = {}  # (user turn, compactions before): [repeats, calls]
        self.known = {}  # digest: {"first", "last": numbers of equal calls, "at": place of the last, "result", "habit"}
        self.written, self.written_anything = {}, -1  # path: number of the last call that wrote it
        self.number = 0
        self.open = {}  # call_id: (digest, hit or None, number) of a call whose result has not come
        self.hits = []
        self.compactions = []  # turn, reply and number of calls before each

    def compaction(self, event):
        self.compactions.append({"turn": event["turn"], "reply": event["reply"], "calls": self.number})

    def near(self, turn):
        """Whether a compaction lies at most `turns` user turns before the end of what was read so far."""
        return bool(self.compactions) and turn - self.compactions[-1]["turn"] <= self.turns

    def shares(self):
        """{"after", "control": [repeats, calls]} of the conversation."""
        shares, at = {"after": [0, 0], "control": [0, 0]}, [compaction["turn"] for compaction in self.compactions]
        begin = min(self.counts, default=(0,))[0] + self.turns
        for (turn, before), counts in self.counts.items():
            near = before and turn - at[before - 1] <= self.turns
            far = turn >= begin and all(abs(turn - place) > self.turns for place in at)
            if near or far:
                kind = "after" if near else "control"
                shares[kind] = [a + b for a, b in zip(shares[kind], counts)]
        return shares

    def tool_call(self, event):
        name, arguments = event.get("name"), event.get("arguments")
        key = call_digest(name, arguments) or f"too deep {self.number}"
        before, hit = self.known.get(key), None
        if not event.get("copied"):  # it is counted in the conversation that it was copied from
            counts = self.counts.setdefault((event["turn"], len(self.compactions)), [0, 0])
            counts[:] = counts[0] + (before is not None), counts[1] + 1
            hit = self.hit(event, before) if before and self.near(event["turn"]) else None
        if is_write(name, arguments):
            self.written_anything = self.number
            self.written.update(dict.fromkeys(targets(arguments, in_command=True), self.number))
        self.known[key] = {"first": before["first"] if before else self.number, "last": self.number, "result": None,
                           "at": {"turn": event["turn"], "reply": event["reply"]},
                           "before": before and before["result"], "habit": bool(before and before["habit"])}
        if event.get("call_id") is not None:
            self.open[event["call_id"]] = (key, hit, self.number)
        self.number += 1

    def hit(self, event, before):
        arguments, since, compaction = event.get("arguments"), before["last"], self.compactions[-1]
        files = targets(arguments)
        wrote = self.written_anything > since  # a command reads what it likes
        if files and not command_of(arguments):
            wrote = any(
                at > since and any(same_file(path, file) for file in files) for path, at in self.written.items())
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        hit = {"name": event.get("name"), "arguments": one_line(text, SHOWN), "turn": event["turn"],
               "reply": event["reply"], "earlier": before["at"], "compaction": len(self.compactions),
               "made_before_compaction": before["first"] < compaction["calls"],
               "turns_after": event["turn"] - compaction["turn"], "result": "unknown", "target_written_between": wrote,
               "poll": is_poll(event.get("name"), arguments) or before["habit"], "before": before["result"]}
        self.hits.append(hit)
        return hit

    def tool_result(self, event):
        if event.get("call_id") not in self.open:
            return
        key, hit, number = self.open.pop(event["call_id"])
        result, call = result_digest(event.get("content") or ""), self.known[key]
        if hit is not None and hit["before"] is not None:
            hit["result"] = "unchanged" if hit["before"] == result else "changed"
        if call["last"] == number:
            call["result"] = result
            # Repeated with an unchanged result where no compaction is near: the agent polls with it.
            call["habit"] = call["habit"] or not self.near(event["turn"]) and call["before"] == result

    def end(self):
        """The hits with their kind."""
        return [{**{field: value for field, value in hit.items() if field != "before"}, "kind": kind_of(hit)}
                for hit in self.hits]


def kind_of(hit):
    """`idle`: the result was known to be unchanged, nothing it reads was written in between, and it is no poll."""
    if hit["poll"]:
        return "poll"
    if hit["target_written_between"]:
        return "written between"
    return {"unchanged": "idle", "changed": "result changed", "unknown": "result unknown"}[hit["result"]]
