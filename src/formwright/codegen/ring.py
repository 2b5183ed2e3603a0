"""The emitted C with integers mod 2^64 in the place of f32: another build, for the loop nest.

Sums and products of these integers are exact, whatever their order, so the output of a program
without division and functions must be the workload's polynomial in its inputs, bit for bit. Only
the element type and its vectors differ; loops, tiles, packing and threads are the emitter's own.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from formwright.codegen.driver import runtime_text
from formwright.codegen.emit import Emitted
from formwright.codegen.tiles import applies
from formwright.ir.program import Index, Literal, Op, Read, Select, Stmt, Value

BITS: Final = 64

_REPLACED: Final = ("vectors.h", "lanes.h", "elements.h", "exponential.h")
_LITERAL: Final = re.compile(r"(?<![\w.])(\d+)\.0*f\b")
_OTHER_LITERAL: Final = re.compile(r"(?<![\w.])(0x)?[\d.]+[\d.]*([ep][+-]?\d+)?f\b")
_SCRATCH: Final = re.compile(r"(bytes \+= fw_bytes\(.*), 4\);")


class RingError(Exception):
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

    Tensors are then ``uint64_t``, their strides and extents as before. Raises :class:`RingError`.
    """
    source = emitted.source
    for number, name in enumerate(_REPLACED):
        text = runtime_text(name)
        if text not in source:
            raise RingError(f"the emitted code does not have {name} as it ships")
        source = source.replace(text, runtime_text("ring.h") if number == 0 else "", 1)
    source = re.sub(r"\bfloat\b", "fw_word", source)
    source = _LITERAL.sub(r"\1u", source)
    other = _OTHER_LITERAL.search(source)
    if other is not None:
        raise RingError(f"{other[0]} is no integer")
    # Scratch is laid out by the bytes of an element.
    return _SCRATCH.sub(r"\1, 8);", source)
