"""The emitted C over integers mod 2^64: another build, for the loop nest.

Sums and products of these integers are exact, whatever their order, so the output of a program
without division and functions must be the workload's polynomial in its inputs, bit for bit.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from formwright.codegen.emit import Emitted
from formwright.codegen.tiles import applies
from formwright.codegen.words import NumbersError, word_source
from formwright.ir.program import Index, Literal, Op, Read, Select, Stmt, Value


class RingError(NumbersError):
    """The source has something that is no sum and no product of integers."""


def check_ring(program: Sequence[Stmt]) -> None:
    """Raises :class:`RingError` for a program that does more than add and multiply.

    C would divide integers and round: a right program would seem wrong.
    """
    for apply in applies(program):
        if apply.op == "max=":
            raise RingError("the program takes a maximum")
        found = set(_operations(apply.value)) - {"+", "-", "*", "neg"}
        if found:
            raise RingError(f"the program has {' and '.join(sorted(found))}")


def _operations(value: Value) -> Iterator[str]:
    match value:
        case Op(name, args):
            yield name
            for arg in args:
                yield from _operations(arg)
        case Select(_, then, other):
            yield from _operations(then)
            yield from _operations(other)
        case Literal(number):
            if number.denominator != 1:
                yield str(number)
        case Read() | Index():
            return
        case _:
            assert_never(value)


def ring_source(emitted: Emitted) -> str:
    """The C text of ``emitted`` (of f32 tensors) over integers mod 2^64.

    Raises :class:`NumbersError`.
    """
    return word_source(emitted, ("ring.h",))
