"""What the evaluator says of a purchase: the answer of the caller to step 4 of Algorithm 1."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from formwright.chip.library import Point
from formwright.walls.core import Answer, Inner


@dataclass(frozen=True, slots=True)
class Visit:
    """A chip with the best software the model knows for it."""

    point: Point
    answer: Answer


@dataclass(frozen=True, slots=True)
class Agrees:
    """The drop that was evaluated lies within the noise of the one that was predicted.

    ``data`` of each verdict is plain JSON; it is kept with the round.
    """

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Repaired:
    """The model missed and was repaired: ``inner`` is the new one. All prices are void."""

    inner: Inner
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unexplained:
    """The model missed and nothing repairs it. The purchase stands, marked."""

    data: Mapping[str, Any]


Verdict = Agrees | Repaired | Unexplained
Judge = Callable[[Visit, Visit], Verdict]
"""Called with the incumbent and the purchase, before the purchase is accepted."""
