"""The emitted C over prime fields: another build, for the loop nest of programs that divide.

In a field every quotient is exact, so a program without ``exp`` must give its formula's fraction
of the inputs: integers mod ``MERSENNE`` = 2^61 - 1. With ``exp`` a number is a pair, one residue
mod ``Q`` and one mod ``P`` = 2 ``Q`` + 1, both prime: ``exp`` takes s mod Q to G^s mod P, and since
G has the order Q, ``exp(a + b) = exp(a) exp(b)``. Its result has no residue mod Q, so what depends
on it cannot be an argument of ``exp`` again; everything else is done in both halves.

``sqrt`` and ``rsqrt`` are a power that is drawn anew for every build (``FW_ROOT``, a macro that
the compiler's command defines). A maximum is some element of its set, the same in any order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count
from typing import Final, assert_never

from formwright.base.source import Span
from formwright.codegen.emit import Emitted
from formwright.codegen.words import NumbersError, word_source
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    For,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
)
from formwright.ir.template import Scope

MERSENNE: Final = 2**61 - 1
Q: Final = 2147483543
"""The largest prime below 2^31 for which 2 Q + 1 is prime."""

P: Final = 2 * Q + 1
G: Final = 4
"""A square, so its order mod P is Q."""

_FIELD: Final = frozenset({"+", "-", "*", "/", "neg", "sqrt", "rsqrt"})


class FieldError(NumbersError):
    """The program does something that no field has, or an ``exp`` of what ``exp`` gave."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """What the numbers of a program are.

    ``pair``: it has ``exp``. ``values`` are then the buffers whose cells have a residue mod P
    only, since they depend on a result of ``exp``; all others have one mod Q too.
    """

    pair: bool
    values: frozenset[str]


def kinds_of(scope: Scope, program: Sequence[Stmt]) -> Kinds:
    """The kinds of the buffers of ``program``. Raises :class:`FieldError`, with the line."""
    formula = [line.value for line in scope.lines]
    pair = any(o.name == "exp" for v in formula for o in _operations(v))
    maxima = any(line.combine == "max" for line in scope.lines) or any(
        o.name == "max" for v in formula for o in _operations(v)
    )
    allowed = _FIELD | ({"exp"} if pair else set()) | ({"max"} if pair and maxima else set())
    uses = list(_uses(program, {}, count()))
    for apply, _ in uses:
        for op in _operations(apply.value):
            if op.name not in allowed:
                raise FieldError(_at(f"no field has the program's {op.name}", op.span))
        if apply.op == "max=" and "max" not in allowed:
            raise FieldError(_at("no field has the program's maximum", apply.span))
    values = _after_exp(uses)
    for apply, buffers in uses:
        _check(apply, buffers, values)
    return Kinds(pair, frozenset(name for name, _ in values))


Buffers = Mapping[str, tuple[str, int]]
"""Those in sight, by name: the name and a number, since names come again."""


def _uses(
    block: Sequence[Stmt], known: Buffers, numbers: Iterator[int]
) -> Iterator[tuple[Apply, Buffers]]:
    """Each apply with the buffers in its sight; tensors are not among them."""
    known = dict(known)
    for stmt in block:
        match stmt:
            case Alloc(buffers):
                known.update({b.name: (b.name, next(numbers)) for b in buffers})
            case Apply():
                yield stmt, dict(known)
            case For() | If() | Par():
                yield from _uses(stmt.body, known, numbers)
            case _:
                pass


def _after_exp(uses: Sequence[tuple[Apply, Buffers]]) -> frozenset[tuple[str, int]]:
    """Buffers with a cell that depends on a result of ``exp``."""
    found, size = set[tuple[str, int]](), -1
    while size < len(found):
        size = len(found)
        for apply, buffers in uses:
            if _depends(apply.value, buffers, found):
                found.add(_key(apply.destination, buffers))
    return frozenset(found)


def _key(access: Access, buffers: Buffers) -> tuple[str, int]:
    return buffers.get(access.buffer, (access.buffer, -1))


def _depends(value: Value, buffers: Buffers, values: Set[tuple[str, int]]) -> bool:
    match value:
        case Literal() | Index():
            return False
        case Read(access):
            return _key(access, buffers) in values
        case Op(name, args):
            return name == "exp" or any(_depends(a, buffers, values) for a in args)
        case Select(_, then, other):
            return _depends(then, buffers, values) or _depends(other, buffers, values)
        case _:
            assert_never(value)


def _check(apply: Apply, buffers: Buffers, values: Set[tuple[str, int]]) -> None:
    for op in _operations(apply.value):
        if op.name in ("exp", "max") and any(_depends(a, buffers, values) for a in op.args):
            told = f"{op.name} of what depends on a result of exp"
            raise FieldError(_at(f"{told}: no number has both kinds", op.span))
    to = apply.destination
    if apply.op == "max=" and (
        _depends(apply.value, buffers, values) or _key(to, buffers) in values
    ):
        told = f"{to.buffer} is a maximum of what depends on a result of exp"
        raise FieldError(_at(f"{told}: its elements have no order", apply.span))


def _operations(value: Value) -> Iterator[Op]:
    match value:
        case Op(_, args):
            yield value
            for arg in args:
                yield from _operations(arg)
        case Select(_, then, other):
            yield from _operations(then)
            yield from _operations(other)
        case Literal() | Read() | Index():
            return
        case _:
            assert_never(value)


def _at(told: str, span: Span | None) -> str:
    return told if span is None else f"{told} (line {span.line})"


def field_source(emitted: Emitted, kinds: Kinds) -> str:
    """The C text over a field, or over a pair; ``emitted`` has f32 tensors and ``calls``.

    Tensors are then ``uint64_t``; of a pair the upper half is the residue mod Q. Raises
    :class:`NumbersError`.
    """
    source = word_source(emitted, ("pair.h" if kinds.pair else "mersenne.h", "field.h"))
    source = source.replace("(fw_word)(", "fw_whole(").replace("-INFINITY", "0")
    return re.sub(r"\bsqrtf\b", "fw_root", source)
