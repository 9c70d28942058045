"""Tool calls that are made again after a compaction, each with its evidence and kind, and the same count elsewhere.

Arguments are compared as JSON values: the order of keys and 1 or 1.0 make no
difference, "1", 1 and true do. Kept of a call: a digest, where it stood, a digest of its result.

place    a compaction, or the beginning of a control window of the same length with no compaction near
repeat   a call in a place's window that equals an earlier call; counted apart: that call was made before the place
control  windows that follow one another where no compaction lies within a window's length before or inside, the first
         window's length of a conversation left out, since little has been called there that could be repeated
"""

import hashlib
import json
import re

from compaction.signals.kinds import command_of, is_poll, is_write, kind_of, same_file, targets, written

SHOWN = 160  # characters of a call's arguments in its evidence

# What a result tells of the moment and not of the answer, with what stays: equal answers must be found equal. Each
# begins with fixed text where it can, since one pattern of all of them is four times as slow on long results.
MOMENT = [
    (re.compile(pattern, re.MULTILINE), stays)
    for pattern, stays in ((r"Chunk ID: (?<=^Chunk ID: )\S+$\n?", ""), (r"Wall time: (?<=^Wall time: ).*$\n?", ""),
                           (r"Original token count: (?<=^Original token count: )\d+$\n?", ""),
                           (r"^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\]?\s*$\n?", ""),
                           (r"\"duration_seconds\":\s*[\d.]+,?", ""), (r"\t[\d.]+s$", "\t"),
                           (r"in (?<=\bin )[\d.]+ ?m?s\b", ""), (r"\([\d.]+ ?m?s\)|\(cached\)", ""))
]
ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode
FLOAT = re.compile(r"\.0|e\+")  # stands in the text of every whole float


def canonical(value):
    """One text for equal JSON values: keys in order, a whole number without its point, nothing else made equal.

    None for a value that is nested too deep to write: such a call is like no other.
    """
    if isinstance(value, str) and value[:1] in "{[":  # arguments that a tool recorded as JSON inside a string
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            pass
    try:
        text = ENCODE(value)
        return ENCODE(plain(value)) if FLOAT.search(text) else text
    except RecursionError:
        return None


def plain(value):
    """The value with every whole float as an integer, so that 1.0 is written as 1."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def digest(text):
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def call_digest(name, arguments):
    """Twelve bytes that are equal for calls of one tool with equal arguments; None for arguments nested too deep."""
    text = canonical(arguments)
    return None if text is None else digest(f"{name}\0{text}")


def result_digest(content):
    """Twelve bytes for a result, its times and ids of the moment left out."""
    for pattern, stays in MOMENT:
        content = pattern.sub(stays, content)
    return digest(content.strip())


class Window:
    """Calls and repeats near compactions and elsewhere, in windows of `length` turns or replies (`unit`)."""

    def __init__(self, unit, length):
        self.unit, self.length = unit, length
        self.start, self.kind, self.place = None, "first", 0  # where the window began; its calls before are < place
        self.open = [0, 0, 0]  # repeats, those of calls made before the place, calls: of the open window
        self.counts = {"after": [0, 0, 0], "control": [0, 0, 0]}

    def close(self):
        if self.kind in self.counts:
            self.counts[self.kind] = [a + b for a, b in zip(self.counts[self.kind], self.open)]
        self.open = [0, 0, 0]

    def compaction(self, at, calls_before):
        """A compaction ends the open window: a control one does not count, since it lies near this compaction."""
        if self.kind == "control":
            self.open = [0, 0, 0]
        self.close()
        self.start, self.kind, self.place = at, "after", calls_before

    def call(self, at, calls_before, first):
        """Count a call at turn or reply `at`; `first`: number of the first equal call, or None. -> whether it is a
        repeat after a compaction."""
        if self.start is None:
            self.start = at - 1
        if at > self.start + self.length:
            self.close()
            steps = (at - self.start - 1) // self.length
            self.start, self.kind, self.place = self.start + steps * self.length, "control", calls_before
        self.open = [self.open[0] + (first is not None), self.open[1] + (first is not None and first < self.place),
                     self.open[2] + 1]
        return self.kind == "after" and first is not None


class Calls:
    """The calls of one conversation: what was called and written, and the repeats in the windows after a place."""

    def __init__(self, turns, replies):
        self.windows = [Window("turn", turns), Window("reply", replies)]
        # digest: [number of the first equal call, then of the last: number, turn, reply, result digest]
        self.known = {}
        self.written, self.written_anything = {}, -1  # path: number of the last call that wrote it
        self.number = 0
        self.open = {}  # call_id: (digest, hit or None) of a call whose result has not come
        self.hits = []
        self.compactions = []  # turn, reply and number of calls before each

    def compaction(self, event):
        at = {"turn": event["turn"], "reply": event["reply"], "calls": self.number}
        self.compactions.append(at)
        for window in self.windows:
            window.compaction(at[window.unit], self.number)

    def call(self, event):
        name, arguments = event.get("name"), event.get("arguments")
        key = call_digest(name, arguments) or f"too deep {self.number}"
        before = self.known.get(key)
        if event.get("copied"):  # counted in the conversation that it was copied from
            hit = None
        else:
            first = before[0] if before else None
            inside = [w.unit for w in self.windows if w.call(event[w.unit], self.number, first)]
            hit = self.hit(event, before, inside) if inside else None
        if is_write(name, arguments):
            self.written_anything = self.number
            for path in written(arguments):
                self.written[path] = self.number
        self.known[key] = [before[0] if before else self.number, self.number, event["turn"], event["reply"], None]
        if event.get("call_id") is not None:
            self.open[event["call_id"]] = (key, hit, self.number)
        self.number += 1

    def hit(self, event, before, inside):
        arguments = event.get("arguments")
        since = before[1]
        files = targets(arguments)
        if files and not command_of(arguments):
            wrote = any(
                number > since and any(same_file(path, file) for file in files) for path, number in self.written.items()
            )
        else:
            wrote = self.written_anything > since  # a command reads what it likes
        compaction = self.compactions[-1]
        hit = {"name": event.get("name"), "arguments": shown(arguments), "turn": event["turn"], "reply": event["reply"],
               "earlier": {"turn": before[2], "reply": before[3]},
               "made_before_compaction": before[0] < compaction["calls"], "compaction": len(self.compactions),
               "turns_after": event["turn"] - compaction["turn"], "replies_after": event["reply"] - compaction["reply"],
               "windows": inside, "result": "unknown", "target_written_between": wrote,
               "poll": is_poll(event.get("name"), arguments), "before": before[4]}
        self.hits.append(hit)
        return hit

    def result(self, event):
        key, hit, number = self.open.pop(event.get("call_id"), (None, None, None))
        if key is None:
            return
        found = result_digest(event.get("content") or "")
        if hit is not None and hit["before"] is not None:
            hit["result"] = "unchanged" if hit["before"] == found else "changed"
        if self.known[key][1] == number:
            self.known[key][4] = found

    def end(self):
        """Close the windows; the hits with their kind."""
        for window in self.windows:
            window.close()
        for hit in self.hits:
            hit.pop("before")
            hit["kind"] = kind_of(hit)
        return self.hits


def shown(arguments):
    """The beginning of a call's arguments, as text for a person."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
