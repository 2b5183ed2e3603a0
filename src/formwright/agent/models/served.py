"""A proposer behind a served model: asks, waits, tries again, goes back with what was wrong.

Needs the extra ``openai`` or ``anthropic``. Keys come from the environment, when a call is made,
and are kept by nothing; the address may come from there or from the user.
"""

import ipaddress
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from formwright.agent.answers import read_answer
from formwright.agent.budget import Ledger, estimated_tokens
from formwright.agent.models.dialects import DIALECTS, Answer, Dialect, Turn, UnreadableError
from formwright.agent.models.wire import Failure, Key, post
from formwright.agent.prompt import TOKENS, follow_up, prompt_for
from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.base.diagnostics import fail, nearest

Screening = Callable[[Proposal], tuple[Finding, ...]]

LONGEST_WAIT: Final = 60.0
"""Seconds that a server may ask us to wait; a longer time ends the request."""


@dataclass(frozen=True, slots=True)
class Patience:
    """``seconds`` for one call, ``calls`` tries of each turn, ``turns`` answers to one request.

    ``wait``: seconds before the second try, doubled for each further one.
    """

    seconds: float = 300.0
    calls: int = 4
    turns: int = 3
    wait: float = 1.0
    answer_tokens: int = 8_000
    prompt_tokens: int = TOKENS


@dataclass(frozen=True, slots=True)
class Served:
    """A :class:`~formwright.agent.protocol.Proposer`. It charges ``ledger`` itself."""

    dialect: Dialect
    model: str
    address: str
    ledger: Ledger
    screening: Screening | None = None
    patience: Patience = field(default_factory=Patience)
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        return f"{self.dialect.name}:{self.model}"

    def propose(self, request: Request) -> Reply:
        """Proposals that parse as an answer and pass the screening, or the problem in words."""
        prompt = prompt_for(request, self.patience.prompt_tokens)
        turns: tuple[Turn, ...] = (Turn("user", prompt.user),)
        spent = Spent()
        faults: tuple[Finding, ...] = ()
        for _ in range(self.patience.turns):
            answer, used = self._asked(prompt.system, turns)
            spent = _added(spent, used)
            if isinstance(answer, str):
                return Reply((), spent, answer)
            if answer.refused:
                return Reply((), spent, f"the model refused: {_short(answer.text)}")
            proposals, faults = self._taken(answer, request)
            if proposals:
                return Reply(proposals, spent)
            said = answer.text if answer.text.strip() else "(nothing)"
            turns = (turns[0], Turn("assistant", said[:20_000]), Turn("user", follow_up(faults)))
        problem = "; ".join(f"{f.stage}: {f.message.splitlines()[0]}" for f in faults[:3])
        return Reply((), spent, f"no usable answer in {self.patience.turns} tries: {problem}")

    def _taken(
        self, answer: Answer, request: Request
    ) -> tuple[tuple[Proposal, ...], tuple[Finding, ...]]:
        read, faults = read_answer(answer.text, request)
        if answer.cut and not read:
            told = "the answer was cut at the limit of tokens: write a shorter text"
            faults = (Finding("answer", told), *faults)
        kept: list[Proposal] = []
        for proposal in read:
            found = self.screening(proposal) if self.screening else ()
            faults = (*faults, *found)
            if not found:
                kept.append(proposal)
        return tuple(kept), faults

    def _asked(self, system: str, turns: tuple[Turn, ...]) -> tuple[Answer | str, Spent]:
        """One answer of the model, or why there is none; and what all tries took."""
        text = system + "".join(t.text for t in turns)
        size = estimated_tokens(text)
        spent, told, names = Spent(), "", "max_tokens"
        for attempt in range(self.patience.calls):
            tokens = self.ledger.answer_tokens(size, self.patience.answer_tokens)
            stop = self.ledger.exhausted() or ("" if tokens else _too_little(size))
            if stop:
                return f"{stop}{f' ({told})' if told else ''}", spent
            key = _key(self.dialect)
            body = self.dialect.body(self.model, system, turns, tokens)
            body[names] = body.pop("max_tokens")
            start = time.monotonic()
            seconds = min(self.patience.seconds, self.ledger.left("seconds"))
            found = post(self._url, self.dialect.head(key.value), body, key, seconds)
            answer = found if isinstance(found, Failure) else self._read(found, text, key)
            used = self._used(answer, size, time.monotonic() - start)
            spent = _added(spent, used)
            if isinstance(answer, Answer):
                return answer, spent
            told = answer.message
            if "max_completion_tokens" in told and names == "max_tokens":
                names = "max_completion_tokens"  # newer models of OpenAI; other servers lack it
                continue
            if not answer.again:
                return f"{self.name}: {told}", spent
            if attempt + 1 < self.patience.calls:
                wait = self._wait(attempt, answer)
                if wait > min(LONGEST_WAIT, self.ledger.left("seconds")):
                    return f"{self.name}: {told}; it asks to wait {wait:.6g} s", spent
                spent = _added(spent, self._slept(wait))
        return f"{self.name}: {told} ({self.patience.calls} tries)", spent

    @property
    def _url(self) -> str:
        return self.address.rstrip("/") + self.dialect.path

    def _read(self, body: Any, prompt: str, key: Key) -> Answer | Failure:
        try:
            answer = self.dialect.read(body, prompt)
        except UnreadableError as error:
            return Failure(str(error), True)
        text = key.struck(answer.text)
        return Answer(text, answer.tokens_in, answer.tokens_out, answer.refused, answer.cut)

    def _used(self, answer: Answer | Failure, size: int, seconds: float) -> Spent:
        """A call that broke off may be charged for: its prompt counts, by estimate."""
        match answer:
            case Answer():
                used = self.ledger.priced(1, answer.tokens_in, answer.tokens_out, seconds)
            case Failure():
                lost = size if answer.reached and answer.again and answer.after is None else 0
                used = self.ledger.priced(1, lost, 0, seconds)
        self.ledger.charge(used)
        return used

    def _wait(self, attempt: int, failure: Failure) -> float:
        """Seconds: what the server asks for, else doubling; drawn, so that clients part ways."""
        if failure.after is not None:
            return failure.after
        return self.patience.wait * 2.0**attempt * random.uniform(0.75, 1.0)

    def _slept(self, seconds: float) -> Spent:
        self.sleep(seconds)
        used = Spent(seconds=seconds)
        self.ledger.charge(used)
        return used


def served_model(
    dialect: str,
    model: str,
    ledger: Ledger,
    *,
    address: str | None = None,
    screening: Screening | None = None,
    patience: Patience | None = None,
) -> Served:
    """A proposer behind the model called ``model``. ``dialect``: ``openai`` or ``anthropic``.

    ``address`` is the base of the server, else that of the environment (``OPENAI_BASE_URL``,
    ``ANTHROPIC_BASE_URL``), else the provider's. Raises ``InputError`` for an unknown dialect, no
    key for a provider's address, an address with a key in it, or one that would show the key on
    the way.
    """
    if dialect not in DIALECTS:
        hint = nearest(dialect, DIALECTS) or f"known: {', '.join(DIALECTS)}"
        raise fail(f'no models are served by "{dialect}"', hint=hint)
    if not model.strip():
        raise fail("a served model needs the model's name", hint="as the server lists it")
    spoken = DIALECTS[dialect]
    values = os.environ
    where = address or values.get(spoken.base) or spoken.address
    parts = urlsplit(where)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise fail("the address of the model is no http address", hint="https://host/v1")
    if parts.username or parts.password or parts.query:
        raise fail(
            "the address of the model holds more than a host and a path",
            hint=f"keys come from the environment: {spoken.key}",
        )
    key = values.get(spoken.key, "")
    if not key and where == spoken.address:
        raise fail(f"no key for {where}", hint=f"set {spoken.key} in the environment")
    if not key.isascii() or not key.isprintable():
        raise fail(f"{spoken.key} holds signs that no key has", hint="set it again")
    if key and parts.scheme == "http" and not _near(parts.hostname):
        hint = f"use https, or unset {spoken.key} for a server that needs none"
        raise fail(f"the key would travel in the open to {parts.hostname}", hint=hint)
    return Served(spoken, model, where, ledger, screening, patience or Patience())


def _near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _key(dialect: Dialect) -> Key:
    return Key(os.environ.get(dialect.key, ""))


def _added(a: Spent, b: Spent) -> Spent:
    return Spent(
        a.calls + b.calls,
        a.tokens_in + b.tokens_in,
        a.tokens_out + b.tokens_out,
        a.seconds + b.seconds,
        a.money + b.money,
    )


def _too_little(size: int) -> str:
    return f"the budget does not reach for a prompt of about {size} tokens and an answer"


def _short(text: str) -> str:
    return " ".join(text.split())[:200] or "(no words)"
