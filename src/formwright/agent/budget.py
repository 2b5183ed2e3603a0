"""What a run may spend on proposals, enforced before it is spent.

Limits are on calls, tokens, money and the seconds of the agent, of building and of the device. A
call is made only if what it may cost at most is still there, so a limit is never passed by more
than what a server does against its word.
"""

import math
from dataclasses import dataclass, fields
from threading import Lock

from formwright.agent.protocol import Spent
from formwright.base.diagnostics import Diagnostic, InputError

CHARACTERS_PER_TOKEN = 3
"""Fewer than in the tokenisers of today's models (about four of English): estimates are high."""


def estimated_tokens(text: str) -> int:
    """Tokens of ``text``, rather too many."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens, as the user states them."""

    tokens_in: float
    tokens_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """US dollars."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


@dataclass(frozen=True, slots=True)
class Budget:
    """``None``: no limit. ``seconds``, ``build_seconds`` and ``device_seconds`` are wall time."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None
    build_seconds: float | None = None
    device_seconds: float | None = None


_UNITS = {
    "calls": "calls",
    "tokens": "tokens",
    "money": "US dollars",
    "seconds": "seconds of the agent",
    "build_seconds": "seconds of building",
    "device_seconds": "seconds of the device",
}


class Ledger:
    """What was spent against a budget; many threads may charge it.

    Raises ``InputError`` for limits that are no numbers above 0, and for a limit on money without
    prices, all at once.
    """

    def __init__(self, budget: Budget, prices: Prices | None = None) -> None:
        faults = [
            Diagnostic(f"the budget of {unit} is {limit}", hint="state a number above 0")
            for name, unit in _UNITS.items()
            if (limit := getattr(budget, name)) is not None
            and not (math.isfinite(limit) and limit > 0)
        ]
        if budget.money is not None and prices is None:
            hint = "state US dollars for a million tokens in and out"
            faults.append(Diagnostic("a budget of money needs the prices of the model", hint=hint))
        if prices is not None and not all(
            math.isfinite(p) and p >= 0 for p in (prices.tokens_in, prices.tokens_out)
        ):
            faults.append(Diagnostic("a price is no number from 0", hint="US dollars a million"))
        if faults:
            raise InputError(faults)
        self.budget = budget
        self.prices = prices
        self._lock = Lock()
        self._spent: dict[str, float] = dict.fromkeys(_UNITS, 0)

    def charge(self, spent: Spent) -> None:
        """What an answer took. Its money is that of the stated prices, once, by :meth:`priced`."""
        with self._lock:
            self._spent["calls"] += spent.calls
            self._spent["tokens"] += spent.tokens_in + spent.tokens_out
            self._spent["money"] += spent.money
            self._spent["seconds"] += spent.seconds

    def charge_building(self, seconds: float) -> None:
        """Wall seconds that compiling and proving for proposals took."""
        with self._lock:
            self._spent["build_seconds"] += seconds

    def charge_device(self, seconds: float) -> None:
        """Wall seconds of measuring."""
        with self._lock:
            self._spent["device_seconds"] += seconds

    def priced(self, calls: int, tokens_in: int, tokens_out: int, seconds: float) -> Spent:
        """A ``Spent`` with its money, by the stated prices (0 without)."""
        money = self.prices.of(tokens_in, tokens_out) if self.prices else 0.0
        return Spent(calls, tokens_in, tokens_out, seconds, money)

    def left(self, name: str) -> float:
        """What is left of the limit ``name`` (a field of ``Budget``); infinite without one."""
        limit: float | None = getattr(self.budget, name)
        return math.inf if limit is None else max(0.0, limit - self._spent[name])

    def exhausted(self) -> str:
        """Which limits are reached, in words; empty while none is."""
        reached = [
            f"{self._spent[f.name]:.6g} of {getattr(self.budget, f.name):.6g} {_UNITS[f.name]}"
            for f in fields(Budget)
            if self.left(f.name) <= 0
        ]
        return f"the budget is spent: {', '.join(reached)}" if reached else ""

    def answer_tokens(self, tokens_in: int, most: int) -> int:
        """How many tokens the next answer may have after a prompt of ``tokens_in``; 0 for none."""
        allowed = min(most, self.left("tokens") - tokens_in)
        if self.prices is not None and self.budget.money is not None:
            rest = self.left("money") - self.prices.of(tokens_in, 0)
            if rest <= 0:
                return 0
            if self.prices.tokens_out > 0:
                allowed = min(allowed, rest * 1e6 / self.prices.tokens_out)
        return max(0, math.floor(allowed))

    def lines(self) -> tuple[str, ...]:
        """What was spent, one line each, for people: ``3 of 10 calls``."""
        told = []
        for name, unit in _UNITS.items():
            limit = getattr(self.budget, name)
            if limit is not None or self._spent[name]:
                bound = "" if limit is None else f" of {limit:.6g}"
                told.append(f"{self._spent[name]:.6g}{bound} {unit}")
        return tuple(told)

    def data(self) -> dict[str, dict[str, float | None]]:
        """As JSON: for each limit ``spent`` and ``limit``."""
        return {
            name: {"spent": self._spent[name], "limit": getattr(self.budget, name)}
            for name in _UNITS
        }

    def restore(self, spent: dict[str, float]) -> None:
        """Start from what a journal says was spent before: the ``spent`` of :meth:`data`."""
        with self._lock:
            for name in _UNITS:
                self._spent[name] = spent.get(name, 0)
