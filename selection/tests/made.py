"""What tests of this room share: cases made up, doubles of the counter, work for a pool of processes."""

import os
import time

VOCABULARY = [*"harbour lights painting moved Lagos dogs 42 the гавань 東京都 it's".split(), "\n", ". "]


def count(messages):
    """A double of the lab's counter: a token for each word and one for each message."""
    return sum(1 + len((message.get("content") or "").split()) for message in messages)


def count_words(messages, tools=None):
    """A double of the lab's counter: a token a word."""
    return sum(len(message["content"].split()) for message in messages)


class Template:
    """A double of a counter whose template applies a function to each message."""

    def __init__(self, change=lambda message: message["content"]):
        self.change, self.asked = change, 0

    def __call__(self, messages):
        return count(messages)

    def text(self, messages):
        self.asked += 1
        return "".join(f"<{message['role']}>{self.change(message)}" for message in messages) + "<model>"


class Adding:
    """A double of the lab's counter with `part`."""

    def __call__(self, messages):
        return count(messages)

    def part(self, runs):
        return [count(run) for run in runs]


def case(question, *turns, room=1000):
    """A case of these turns (texts of users, or turns) with `room` tokens for input, no instructions and no facts."""
    return {**case_of(*turns, current=question, required=(), room=room), "instructions": ""}


def case_of(*turns, current="What is it?", required=("x",), stale=(), room=200):
    """A case with turns t1, t2, ..., given as (user, assistant), a user's text or a turn; `room` tokens for input."""
    history = []
    for number, turn in enumerate(turns, 1):
        user, assistant = (turn, "ok") if isinstance(turn, (str, dict)) else turn
        said = turn if isinstance(turn, dict) else {"user": user, "assistant": assistant}
        history.append({"id": f"t{number}", **said})
    return {"id": "made-up", "split": "dev", "kind": "made up", "instructions": "Be brief.", "current": current,
            "history": history, "budget": {"context_limit": room + 30, "max_new_tokens": 20, "margin": 10},
            "required": list(required), "stale": list(stale)}


def random_text(rng, vocabulary=VOCABULARY, lengths=(0, 1, 5, 40, 130)):
    """Some words: from none to more than a passage of near holds."""
    return " ".join(rng.choices(vocabulary, k=rng.choice(lengths)))


def sleeps(group):
    """Work that never ends: tells of its start through the named pipe group[0], which is open as long as it lives."""
    os.write(os.open(group[0], os.O_WRONLY), f"{os.getpid()}\n".encode())
    time.sleep(3600)
