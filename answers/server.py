"""A model behind a server, whatever its interface: what is asked, that the server stays the same, what broke."""

import time

from answers.exchange import BrokenReply, ServerError, Unavailable, check_status, exchange, patient
from base.command import InputError

NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "presence_penalty": 0.0,
           "frequency_penalty": 0.0}  # what changes no probability; an option left out would be the server's to decide
BROKEN_TRIES = 2  # with the same seed the same fault is likely: once more, and no further
BROKEN_WAIT_S = 2
FIRST_S, IDLE_S, TOTAL_S = 600, 120, 1200  # the first part waits for a load of the model


class ServerChanged(ServerError):
    """Version or build changed during a run, or may have; `came`, what was given meanwhile: {"entry"} or {"raw"}."""

    def __init__(self, text, came, why="server_changed"):
        super().__init__(text)
        self.came, self.why = came, why


class CountMismatch(InputError):
    """The server's count of a prompt is not ours: it was cut, or another template wrote it."""


class Server:
    """A verified server. A kind of server adds address, identify, request, send, running, and what differs below.

    `identity` is what the server said of itself: {"version", "digest"}; `facts` what else is worth recording; `block`
    the model block for a recording; `unverified` what nobody can check. `wait` takes seconds (else time.sleep);
    `times` are seconds to the first part of a reply, between parts, and in all.
    """

    unverified = ()

    def __init__(self, model, host=None, wait=None, times=(FIRST_S, IDLE_S, TOTAL_S)):
        self.model, self.wait, self.times = model, wait or time.sleep, times
        self.url = self.address(host)
        self.identity, self.facts, self.block = self.identify(), {}, model

    def body(self, messages, tools=(), **options):
        """The exact request for one answer: num_ctx, num_predict, seed, `options` (say {"temperature": 0.0})."""
        return self.request(self.model, messages, tools, **options)

    def answer(self, messages, tools=(), **options):
        """One whole answer; what it takes, `body` says, and what it raises, `ask`."""
        return self.ask(self.body(messages, tools, **options))

    def post(self, path, body, reader, seed, num_predict, streamed=False):
        """What `reader` makes of the reply to one request; BrokenReply with what came where that is no answer."""
        status, data, fault = exchange("POST", f"{self.url}{path}", body, *self.times)
        check_status(status, data, f"{self.url}{path}")
        try:
            if fault and not (streamed and fault == "stopped_stream"):  # of a stream the last line tells
                raise BrokenReply(fault)
            return reader(data, seed, num_predict)
        except BrokenReply as error:
            error.raw = data.decode("utf-8", "replace")
            raise

    def ask(self, body):
        """The answer to one exact request, the server's identity checked before and after it.

        Time-outs, refused connections and 429, 500, 503 are tried again after waits, then raise Unavailable.
        BrokenReply for a reply that is no answer; ServerChanged where the server is not the one that was verified.
        """

        def attempt():
            self.check_unchanged({})
            return self.send(body)

        broken = None
        try:
            came = {"entry": patient(attempt, self.wait)}
        except BrokenReply as error:
            broken, came = error, {"raw": error.raw}
        try:
            patient(lambda: self.check_unchanged(came), self.wait)
        except Unavailable as error:
            problem = f"{error}; a reply came before, and what gave it is not known"
            raise ServerChanged(problem, came, "unconfirmed") from None
        if broken:
            raise broken
        return came["entry"]

    def ask_whole(self, body, seed, tokens, where, aside=lambda why, **came: None):
        """An entry for one exact request, its prompt as long as we count it; every question to a model goes this way.

        A reply that is no answer is asked for once more; one that stays so gives {"seed", "incomplete": its kind}.
        CountMismatch where the server counted other than `tokens`. What came and is no entry goes to `aside`.
        """
        for number in range(BROKEN_TRIES):
            if number:
                self.wait(BROKEN_WAIT_S)
            try:
                entry = self.ask(body)
            except BrokenReply as error:
                kind = error.kind
                aside(kind, raw=error.raw)
                continue
            except ServerChanged as error:
                if error.came:
                    aside(error.why, **error.came)
                raise
            counted = entry["prompt_tokens"]
            if counted != tokens:
                aside("count_mismatch", entry=entry)
                cause = "the prompt was cut" if counted < tokens else "another template or a system text was put in"
                raise CountMismatch(f"{where}: count_mismatch: the server counted {counted} prompt tokens, we {tokens}"
                                    f" ({counted - tokens:+d}): {cause}; its answer is not used, the run ends here")
            return entry
        return {"seed": seed, "incomplete": kind}

    def check_unchanged(self, came):
        """Nothing, or ServerChanged (with what was given meanwhile) unless the server is still the same."""
        try:
            now = self.identify()
        except ServerError as error:
            if type(error) is not ServerError:  # Unavailable: nothing is known yet
                raise
            raise ServerChanged(f"the server changed during the run: {error}", came) from None
        if now != self.identity:
            before, after = (f"version {told['version']}, build {told['digest']}" for told in (self.identity, now))
            raise ServerChanged(f"{self.url} changed during the run from {before} to {after}; go back to the first, or"
                                " start again to ask everything anew", came)


def sampler_options(pinned, overrides=None, **sizes):
    """Every sampler option: neutral values under the pinned ones under the caller's, or InputError for a wrong one.

    sizes: seed, num_ctx and num_predict, checked too: a server draws a wrong seed at random and takes 0 for no limit.
    """
    chosen = {**NEUTRAL, **pinned, **(overrides or {})}
    for name, value in chosen.items():
        if name not in NEUTRAL:  # a server ignores what it does not know, with nothing but a line in its log
            raise InputError(f"option {name!r} is no sampler option; choose from {', '.join(NEUTRAL)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"option {name}: {value!r} is no number; correct it")
    for name, value in sizes.items():
        if type(value) is not int or value < (name != "seed"):
            raise InputError(f"{name} {value!r} is no whole number from {int(name != 'seed')} on; correct it")
    return chosen
