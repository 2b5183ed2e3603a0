"""The exact output of a contract's formula over a prime field or a pair: the reference of
:mod:`formwright.codegen.field`, on Python integers and with nothing of the emitter.

What is written there of pairs, roots and maxima holds here: a root is a power, a maximum the
largest (or the least) pair of its set, and a result of ``exp`` has no residue mod q.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from formwright.contract.contract import Contract
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Expr, Var
from formwright.ir.program import Index, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import free_names
from formwright.ir.template import Workload
from formwright.qualify.exact import NotExactError, Whole, lines_in_order

_STEP: Final = 1 << 16
"""Powers come from two tables of so many: exponents are below its square."""


class ZeroDivisorError(Exception):
    """The inputs make a divisor 0: other inputs are to be drawn."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Arrays of one shape. ``q`` is None where there is no residue mod q."""

    q: Whole | None
    p: Whole


@dataclass(frozen=True, slots=True)
class Field:
    """``q`` and ``base`` (of order q mod p) are None of a single field.

    ``root``: the power that stands for ``sqrt``. ``largest``: which element a maximum is.
    """

    p: int
    root: int
    q: int | None = None
    base: int | None = None
    largest: bool = True


def field_output(
    contract: Contract, values: Mapping[str, int], inputs: Mapping[str, Halves], field: Field
) -> Halves:
    """The output for inputs by name.

    Raises :class:`NotExactError` for a formula that the field does not have, and
    :class:`ZeroDivisorError`.
    """
    known = dict(inputs)
    for line in lines_in_order(contract):
        known[line.output.name] = _line(line, values, known, field)
    return known[contract.output.name]


def _line(
    line: Workload, values: Mapping[str, int], known: Mapping[str, Halves], field: Field
) -> Halves:
    sizes = {i: values[e] for i, e in zip(line.indices, line.output.extents, strict=True)}
    sizes |= {i: values[e] for i, e in line.reductions}
    whole = _Line(sizes, values, known, field).value(line.value)
    over = tuple(range(len(line.indices), len(sizes)))
    shape = tuple(sizes.values())

    def spread(half: Whole) -> Whole:
        return np.broadcast_to(half, shape)

    if not over:
        return _each(whole, field, lambda half, _: spread(half))
    if line.combine == "sum":
        return _each(whole, field, lambda half, m: np.asarray(spread(half).sum(axis=over)) % m)
    choose = np.max if field.largest else np.min
    return _unpacked(np.asarray(choose(spread(_packed(whole, field)), axis=over), object))


def _packed(value: Halves, field: Field) -> Whole:
    if value.q is None or field.q is None:
        raise NotExactError("it takes a maximum of what has no order in a field")
    return np.asarray(value.q * (1 << 32) + value.p, object)


def _unpacked(found: Whole) -> Halves:
    return Halves(np.asarray(found >> 32, object), np.asarray(found & 0xFFFFFFFF, object))


def _each(value: Halves, field: Field, act: Callable[[Whole, int], Any]) -> Halves:
    """``act`` on each half there is, with its modulus."""
    q = None if value.q is None or field.q is None else np.asarray(act(value.q, field.q), object)
    return Halves(q, np.asarray(act(value.p, field.p), object))


def _both(a: Halves, b: Halves, field: Field, act: Callable[[Whole, Whole, int], Any]) -> Halves:
    p = np.asarray(act(a.p, b.p, field.p), object)
    if a.q is None or b.q is None or field.q is None:
        return Halves(None, p)
    return Halves(np.asarray(act(a.q, b.q, field.q), object), p)


def _inverse(half: Whole, modulus: int) -> Whole:
    if (half == 0).any():
        raise ZeroDivisorError
    return np.asarray(np.frompyfunc(lambda x: pow(x, -1, modulus), 1, 1)(half), object)


@lru_cache(maxsize=4)
def _powers(base: int, modulus: int) -> Whole:
    found = list(accumulate(range(_STEP - 1), lambda x, _: x * base % modulus, initial=1))
    return np.array(found, object)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a formula: arrays broadcast to one dimension for each of ``sizes``."""

    sizes: Mapping[str, int]
    extents: Mapping[str, int]
    known: Mapping[str, Halves]
    field: Field

    def value(self, value: Value) -> Halves:
        field = self.field
        match value:
            case Literal(number):
                return self._number(number)
            case Index(expr):
                return _each(
                    Halves(self._index(expr), self._index(expr)), field, lambda i, m: i % m
                )
            case Read(access):
                return self._read(access.buffer, access.index)
            case Op("+", (a, b)):
                return _both(self.value(a), self.value(b), field, lambda x, y, m: (x + y) % m)
            case Op("-", (a, b)):
                return _both(self.value(a), self.value(b), field, lambda x, y, m: (x - y) % m)
            case Op("*", (a, b)):
                return _both(self.value(a), self.value(b), field, lambda x, y, m: x * y % m)
            case Op("/", (a, b)):
                below = _each(self.value(b), field, _inverse)
                return _both(self.value(a), below, field, lambda x, y, m: x * y % m)
            case Op("neg", (a,)):
                return _each(self.value(a), field, lambda x, m: -x % m)
            case Op("sqrt", (a,)):
                return self._power(self.value(a), field.root)
            case Op("rsqrt", (a,)):
                return _each(self._power(self.value(a), field.root), field, _inverse)
            case Op("exp", (a,)):
                return self._exp(self.value(a))
            case Op("max", (a, b)):
                choose = np.maximum if field.largest else np.minimum
                left, right = _packed(self.value(a), field), _packed(self.value(b), field)
                return _unpacked(np.asarray(choose(left, right), object))
            case Op(name):
                raise NotExactError(f"it has {name}")
            case Select(cond, then, other):
                test = self._index(cond).astype(bool)
                return _both(
                    self.value(then), self.value(other), field, lambda x, y, _: np.where(test, x, y)
                )
            case _:
                assert_never(value)

    def _number(self, number: Fraction) -> Halves:
        def residue(modulus: int) -> Whole:
            found = number.numerator * pow(number.denominator, -1, modulus) % modulus
            return np.full((1,) * len(self.sizes), found, object)

        q = None if self.field.q is None else residue(self.field.q)
        return Halves(q, residue(self.field.p))

    def _power(self, value: Halves, power: int) -> Halves:
        return _each(
            value, self.field, lambda x, m: np.frompyfunc(lambda a: pow(a, power, m), 1, 1)(x)
        )

    def _exp(self, value: Halves) -> Halves:
        base, p = self.field.base, self.field.p
        if value.q is None or base is None:
            raise NotExactError("it takes exp of what depends on a result of exp")
        low, high = _powers(base, p), _powers(pow(base, _STEP, p), p)
        power = value.q.astype(np.int64)
        return Halves(None, np.asarray(low[power % _STEP] * high[power // _STEP] % p, object))

    def _read(self, name: str, index: tuple[Expr, ...]) -> Halves:
        """A transposed view where the indices are axes, else cell by cell."""
        axes, array = list(self.sizes), self.known[name]
        names = [i.name for i in index if isinstance(i, Var) and i.name in self.sizes]
        if len(names) == len(index) == len(set(names)):
            order = sorted(range(len(names)), key=lambda n: axes.index(names[n]))
            shape = [self.sizes[a] if a in names else 1 for a in axes]
            if array.p.shape == tuple(self.sizes[n] for n in names):
                return _each(array, self.field, lambda x, _: x.transpose(order).reshape(shape))
        cells = tuple(self._index(i).astype(np.int64) for i in index)
        for at, size in zip(cells, array.p.shape, strict=True):
            if at.size and not (at.min() >= 0 and at.max() < size):
                raise NotExactError(f"it reads beyond {name}")
        return _each(array, self.field, lambda x, _: x[cells])

    def _index(self, expr: Expr) -> NDArray[Any]:
        """The values of an expression, an array of Python integers or truths."""
        free = free_names(expr)
        own = [n for n in self.sizes if n in free]
        points = product(*(range(self.sizes[n]) for n in own))
        found = [
            evaluate(expr, {**self.extents, **dict(zip(own, at, strict=True))}) for at in points
        ]
        shape = [self.sizes[n] if n in own else 1 for n in self.sizes]
        array = np.empty(len(found), object)
        array[:] = found
        return array.reshape(shape)
