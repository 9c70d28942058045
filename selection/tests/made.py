"""Cases and doubles of the counter for the tests of selectors."""

VOCABULARY = ["harbour", "lights", "painting", "moved", "Lagos", "dogs", "42", "the", "гавань", "東京都", "it's", "\n",
              ". "]


def count(messages):
    """A double of the lab's counter: a token for each word and one for each message."""
    return sum(1 + len((message.get("content") or "").split()) for message in messages)


class Adding:
    """A double of the lab's counter with `part`."""

    def __call__(self, messages):
        return count(messages)

    def part(self, runs):
        return [count(run) for run in runs]


def case(question, *turns, room=1000):
    """A case of these turns (texts of users, or turns) with `room` tokens for input."""
    history = [turn if isinstance(turn, dict) else {"user": turn, "assistant": "ok"} for turn in turns]
    return {"id": "c", "instructions": "", "current": question, "history": history,
            "budget": {"context_limit": room, "max_new_tokens": 0, "margin": 0}}


def random_text(rng):
    """Some words, sentences and lines: from none to more than a passage holds."""
    return " ".join(rng.choice(VOCABULARY) for _ in range(rng.choice([0, 1, 5, 40, 130])))
