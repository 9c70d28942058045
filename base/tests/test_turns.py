"""What broken messages could do: end in a traceback, or come through torn from what belongs to them."""

import contextlib
import copy
import io
import json
import random
import tempfile
import unittest
from pathlib import Path

from workbench.adapter import choose_messages
from workbench.import_cases import main
from workbench.tests.made import CHAT, locomo, longmemeval, question

from base.command import InputError, status_of
from base.turns import MessageError, split_messages, turn_of

ODD = [None, 0, True, "", [], {}, "x", [1], {"a": 1}, 1.5, "\ud800", " ", [{"type": "text", "text": "q"}]]


def places(value, path=()):
    """Every path into a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def broken(value, rng):
    """The value with one or two of its parts taken out or replaced by something odd."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2))):
        *path, last = rng.choice(list(places(value)) or [(None,)])
        if last is None:
            break
        owner = value
        for key in path:
            owner = owner[key]
        if rng.random() < 0.3:
            del owner[last]
        else:
            owner[last] = copy.deepcopy(rng.choice(ODD))
    return value


class BrokenInput(unittest.TestCase):
    def test_a_broken_file_is_refused_in_one_line_or_imported_never_half(self):
        whole = {"chat": {"id": "a", "messages": CHAT}, "locomo": locomo([question(["D1:1", "D2:1"])]),
                 "longmemeval": longmemeval()}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            for seed in range(600):
                rng = random.Random(seed)
                form = rng.choice(list(whole))
                path.write_text(json.dumps(broken(whole[form], rng)) + "\n", encoding="utf-8")
                out, err = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    status = status_of(main, [form, str(path), *(["--mask"] if seed % 2 else [])])
                with self.subTest(seed=seed, form=form):
                    self.assertIn(status, (0, 2))
                    self.assertNotIn("Traceback", err.getvalue())
                    if status:
                        self.assertEqual((out.getvalue(), len(err.getvalue().splitlines())), ("", 1))
                    else:
                        out.getvalue().encode("utf-8")

    def test_broken_messages_raise_what_the_adapter_says_it_raises(self):
        refused = 0
        for seed in range(600):
            messages = broken(CHAT[:-1], random.Random(seed))
            with self.subTest(seed=seed):
                try:
                    choose_messages(messages, 10**6, "recent", count=lambda messages, tools=None: len(messages))
                except (MessageError, InputError):
                    refused += 1
        self.assertTrue(100 < refused < 600, refused)


class Turns(unittest.TestCase):
    def test_results_stay_behind_their_call_and_the_closing_text_apart(self):
        _, groups = split_messages(CHAT)
        turn = turn_of(groups[0])
        self.assertEqual([message["role"] for message in turn["messages"]], ["assistant", "tool"])
        self.assertEqual(turn["assistant"], "The disk is full.")

    def test_a_text_before_a_call_joins_it_only_where_they_stand_side_by_side(self):
        _, (group,) = split_messages([CHAT[1], {"role": "assistant", "content": "I look."}, *CHAT[2:5]])
        first, *_ = turn_of(group)["messages"]
        self.assertEqual((first["content"], len(first["tool_calls"])), ("I look.", 1))


if __name__ == "__main__":
    unittest.main()
