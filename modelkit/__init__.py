"""Building blocks for programs around a model: prompts, replies, retrieval, tools, scoring. README.md tells more."""


def check_whole(least, **given):
    """ValueError, by name, for the first that is no whole number or under `least`: check_whole(1, k=0)."""
    for name, value in given.items():
        if type(value) is not int or value < least:
            raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
