"""Closures with what is known of them before they run."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from formwright.base.source import Span
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar

State = tuple[Any, ...]
"""Values of all cells, in the places of a layout; ``int`` or ``bool`` each."""

Fn = Callable[[State], Any]
Kind = Literal["int", "number", "bool", "any"]
"""``number``: an integer or a fraction; ``any``: only a run tells."""


class Compiled(NamedTuple):
    """``total``: never raises; ``fixed``: total, with one value. ``slot``: it is this place.
    ``test``: it says that this place has this value."""

    fn: Fn
    kind: Kind
    total: bool
    fixed: bool = False
    slot: int | None = None
    test: tuple[int, Scalar] | None = None

    @property
    def value(self) -> Scalar:
        """Of a fixed expression."""
        found: Scalar = self.fn(())
        return found


def constant(value: Scalar) -> Compiled:
    """A closure that gives ``value`` in every state."""
    kind: Kind = "number"
    if isinstance(value, bool):
        kind = "bool"
    elif isinstance(value, int):
        kind = "int"
    return Compiled(lambda s: value, kind, True, True)


def failing(message: str, span: Span | None = None) -> Compiled:
    """A closure that has no value in any state."""

    def fail(state: State) -> Any:
        raise EvaluationError(message, span)

    return Compiled(fail, "any", False)


def plain(value: Any) -> Any:
    """A whole fraction is an ``int``."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def folded(made: Compiled, *parts: Compiled) -> Compiled:
    """A constant, if all of the parts are and the value exists."""
    if not all(p.fixed for p in parts):
        return made
    try:
        return constant(made.fn(()))
    except EvaluationError:
        return made._replace(total=False)
