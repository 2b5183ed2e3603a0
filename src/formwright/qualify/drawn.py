"""Inputs and references of trials, kept a while: all candidates of a search meet the same ones."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, TypeVar

from formwright.contract.contract import Contract, contract_digest
from formwright.contract.expected import Expected
from formwright.contract.inputs import inputs
from formwright.contract.numbers import Array
from formwright.contract.reference import expected
from formwright.qualify.plan import Trial

MOST_BYTES: Final = 1 << 28
"""Of all that is kept. What takes more than a third of it is made again each time."""

T = TypeVar("T")
Key = tuple[str, str, str, tuple[tuple[str, int], ...], int]


class Kept:
    """What was made last, for all threads; what was not asked for longest goes first.

    Arrays in it cannot be written to: another candidate is judged by them.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._made: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: Key, make: Callable[[], T], arrays: Callable[[T], tuple[Array, ...]]) -> T:
        """What ``key`` stands for, made now or before. Two threads may both make it."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                known: T = self._made[key][0]
                return known
        made = make()
        size = 0
        for array in arrays(made):
            array.flags.writeable = False
            size += array.nbytes
        with self._lock:
            if 3 * size <= self._most and key not in self._made:
                self._made[key] = (made, size)
                self._bytes += size
            while self._bytes > self._most:
                _, (_, gone) = self._made.popitem(last=False)
                self._bytes -= gone
        return made


_KEPT = Kept()


class Drawn:
    """The inputs of a contract's trials and what they must give."""

    def __init__(self, contract: Contract, kept: Kept = _KEPT) -> None:
        self.contract = contract
        self._digest = contract_digest(contract)
        self._kept = kept

    def inputs(self, kind: str, trial: Trial) -> tuple[Array, ...]:
        """The inputs of a kind, in the order of the call. Nobody may write to them."""
        return self._kept.get(
            self._key("inputs", kind, trial),
            lambda: inputs(self.contract, kind, trial.extents, trial.seed),
            lambda found: found,
        )

    def expected(self, kind: str, trial: Trial) -> Expected:
        """What they must give."""
        return self._kept.get(
            self._key("expected", kind, trial),
            lambda: expected(self.contract, kind, self.inputs(kind, trial)),
            lambda found: (found.value, found.bound, found.free),
        )

    def _key(self, what: str, kind: str, trial: Trial) -> Key:
        return self._digest, what, kind, tuple(sorted(trial.extents.items())), trial.seed
