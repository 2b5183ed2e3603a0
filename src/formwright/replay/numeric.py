"""Whether two values that look different are: both computed for one choice of all inputs.

Inchoice functions terms are compared as they stand, so two texts may differ that mean the same
(``exp(a)*exp(b)`` and ``exp(a + b)``). Inputs are put in their places as fractions that depend on
their names alone, functions are taken to 60 digits. Values that differ by more than rounding
differ; where a function has no value for these inputs nothing is said.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, DecimalException, localcontext
from fractions import Fraction
from typing import cast

from formwright.replay.terms import FUNCTIONS, INVERSE, Frozen, Monomial, Polynomial, Token

DIGITS = 60
TOLERANCE = Decimal(10) ** -40
Stages = Callable[[Token], Polynomial | None]
"""What a cell of a stage is made of; of a cell of an input nothing."""

RAISED = 24
"""How many cells are made the greatest, one at a time: what a maximum leaves out shows then."""


def differ(left: Polynomial, right: Polynomial, stages: Stages) -> bool:
    """The two are shown to be different: as sums of products of cells, or by their values."""
    if left == right:
        return False
    if not any(_is_made(t, stages) for p in (left, right) for m in p for t in m):
        return True
    cells = sorted(set(_cells(left)) | set(_cells(right)), key=repr)
    for low in (Decimal(-2), Decimal(1)):  # both signs, then what roots have values for
        for raised in (None, *cells[:RAISED]):
            choice = _Choice(low, raised, stages)
            a, b = _value(left, choice), _value(right, choice)
            if a is None or b is None:
                continue
            if abs(a - b) > TOLERANCE * (1 + abs(a) + abs(b)):
                return True
    return False


def _is_made(token: Token, stages: Stages) -> bool:
    """A function or a cell of a stage, whose value depends on others."""
    return token[0] in FUNCTIONS or stages(token) is not None


@dataclass(slots=True)
class _Choice:
    """Values for all cells: from ``low`` on, by their names; ``raised`` is above the others."""

    low: Decimal
    raised: Token | None
    stages: Stages
    known: dict[Token, Decimal] = field(default_factory=dict)

    def of(self, token: Token) -> Decimal:
        if token not in self.known:
            made = self.stages(token)
            self.known[token] = self._plain(token) if made is None else _sum(made.items(), self)
        return self.known[token]

    def _plain(self, token: Token) -> Decimal:
        seed = hashlib.sha256(repr(token).encode()).digest()
        whole = int.from_bytes(seed[:4], "big")
        return self.low + Decimal(whole) / Decimal(2**30) + (8 if token == self.raised else 0)


def _cells(polynomial: Polynomial) -> Iterator[Token]:
    for monomial in polynomial:
        for token in monomial:
            if token[0] in FUNCTIONS:
                for part in cast(tuple[Frozen, ...], token[1]):
                    yield from _cells(dict(part))
            else:
                yield token


def _value(polynomial: Polynomial, choice: _Choice) -> Decimal | None:
    with localcontext() as context:
        context.prec = DIGITS
        try:
            return _sum(polynomial.items(), choice)
        except DecimalException:
            return None


def _sum(items: Iterable[tuple[Monomial, int | Fraction]], choice: _Choice) -> Decimal:
    total = Decimal(0)
    for monomial, factor in items:
        part = _number(Fraction(factor))
        for token in monomial:
            part *= _token(token, choice)
        total += part
    return total


def _number(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _token(token: Token, choice: _Choice) -> Decimal:
    name = token[0]
    if name not in FUNCTIONS:
        return choice.of(token)
    args = [_sum(part, choice) for part in cast(tuple[Frozen, ...], token[1])]
    if name == INVERSE:
        return 1 / args[0]
    match name:
        case "exp":
            return args[0].exp()
        case "sqrt":
            return args[0].sqrt()
        case "rsqrt":
            return 1 / args[0].sqrt()
        case "max":
            return max(args)
        case _:
            return min(args)
