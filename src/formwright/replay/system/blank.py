"""A stand-in for ``x any`` while nobody looks at it.

An action whose outcome does not depend on such a parameter is tried once, with the blank in
its place; only where something computes with it do values have to be tried.
"""

from typing import NoReturn

from formwright.ir.evaluate import EvaluationError


class BlankError(EvaluationError):
    """Something depends on the value that was left blank."""

    def __init__(self) -> None:
        super().__init__("a parameter that may be any integer is used here")


class Blank:
    """Every operation raises :class:`BlankError`; it is passed on as it is."""

    def __str__(self) -> str:
        return "any"

    __repr__ = __str__
    __hash__ = object.__hash__

    def _used(self, *_: object) -> NoReturn:
        raise BlankError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _used
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _used
    __neg__ = __int__ = __index__ = __ceil__ = __floor__ = __bool__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = _used
    __eq__ = _used
    __ne__ = _used


BLANK = Blank()

Arg = int | Blank
"""A parameter's value, or the blank that stands for any."""
