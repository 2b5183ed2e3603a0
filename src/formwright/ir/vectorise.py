"""Expressions over whole arrays of values at once; agrees with ``evaluate`` everywhere.

Arrays broadcast: with one axis per decision, a subexpression over few decisions is
computed on their small table only. Results are exact: 64-bit integers where bounds allow
it, else floats with a proven error bound, and Python integers where that does not settle
a comparison or a rounding.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, assert_never

import numpy as np

from formwright.ir import int_arrays as ints
from formwright.ir import rational_arrays as rationals
from formwright.ir.evaluate import SUM_LIMIT, SUM_TERMS, EvaluationError, evaluate
from formwright.ir.expr import (
    CELL,
    Arith,
    Cell,
    Compare,
    CompareOp,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Scalar,
    Sum,
    Truth,
    Var,
)
from formwright.ir.int_arrays import Array, TooWideError
from formwright.ir.rational_arrays import Approx, Bad, Exact, NeedsExactError, Number, either
from formwright.ir.rewrite import free_names


@dataclass(frozen=True, slots=True)
class Truths:
    """A condition at every point; an unknown place in ``bad`` has no value."""

    value: bool | Array
    bad: Bad = False


_SUM_WORK = 4 * 10**9
"""Terms of a sum, counted at every point, that are worth computing."""

Values = Number | Truths
Given = Array | int | Fraction | float | Exact | Truths

_COMPARE: dict[CompareOp, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


def vectorised(expr: Expr, arrays: Mapping[str, Given]) -> Array:
    """``expr`` at every point of the broadcast ``arrays``.

    Integers come as ``int64`` where their bounds fit, conditions as ``bool``, all else as
    ``float64``. Raises :class:`EvaluationError` if some point has no value.
    """
    result = Evaluator(arrays).run(expr)
    raise_first_error(expr, result, arrays)
    match result:
        case Truths(value):
            return np.asarray(value)
        case Approx(value):
            return value
        case Exact(num):
            if rationals.is_integer(result) and num.lo >= -(2**63) and num.hi < 2**63:
                return np.asarray(num.a, dtype=np.int64)
            return rationals.approx(result).value


def exactly(expr: Expr, arrays: Mapping[str, Given]) -> list[Scalar]:
    """The exact value at each point of one-dimensional ``arrays``, as ``evaluate`` gives it."""
    count = int(np.broadcast_shapes(*(np.shape(a) for a in _plain(arrays).values()), (1,))[0])
    return exact_list(Evaluator(arrays, wide=True), expr, count)


def exact_list(evaluator: "Evaluator", expr: Expr, count: int) -> list[Scalar]:
    """As :func:`exactly`, by a wide ``evaluator`` over ``count`` points that may be reused."""
    result = evaluator.run(expr)
    raise_first_error(expr, result, evaluator.arrays)
    if isinstance(result, Truths):
        return [bool(v) for v in np.broadcast_to(np.asarray(result.value), (count,))]
    if isinstance(result, Approx):
        raise TypeError("a wide evaluation stays exact unless it is given floats")
    if rationals.is_integer(result):
        return [int(n) for n in np.broadcast_to(np.asarray(result.num.a), (count,)).tolist()]
    pairs = (np.broadcast_to(np.asarray(n, dtype=object), (count,)) for n in _pair(result))
    fractions = [Fraction(int(n), int(d)) for n, d in zip(*pairs, strict=True)]
    return [f.numerator if f.denominator == 1 else f for f in fractions]


def raise_first_error(expr: Expr, result: Values, arrays: Mapping[str, Given]) -> None:
    """If some point has no value, raise what ``evaluate`` raises at the first one."""
    if not np.any(result.bad):
        return
    plain = _plain(arrays)
    shape = np.broadcast_shapes(np.shape(result.bad), *(np.shape(a) for a in plain.values()))
    place = np.unravel_index(int(np.argmax(np.broadcast_to(result.bad, shape))), shape)
    point = {n: _scalar(np.broadcast_to(np.asarray(a), shape)[place]) for n, a in plain.items()}
    evaluate(expr, point)
    raise EvaluationError("a value is missing here")


def _plain(arrays: Mapping[str, Given]) -> dict[str, Any]:
    return {n: a for n, a in arrays.items() if not isinstance(a, (Exact, Truths))}


def _pair(x: Exact) -> tuple[Any, Any]:
    return x.num.a, x.den.a


def _scalar(value: Any) -> Scalar:
    plain = value.item() if isinstance(value, np.generic) else value
    return Fraction(plain) if isinstance(plain, float) else plain


@dataclass(slots=True)
class Evaluator:
    """One pass over expressions with the same ``arrays``; equal nodes are computed once."""

    arrays: Mapping[str, Given]
    wide: bool = False
    _seen: dict[int, tuple[Expr, Values]] = field(default_factory=dict)
    _names: dict[str, Values] = field(default_factory=dict)
    _exact: "Evaluator | None" = None

    def run(self, expr: Expr) -> Values:
        """The values of ``expr``, with the places where it has none."""
        found = self._seen.get(id(expr))
        if found is None:
            found = (expr, self._compute(expr))
            self._seen[id(expr)] = found
        return found[1]

    def number(self, expr: Expr) -> Number:
        result = self.run(expr)
        if isinstance(result, Truths):
            raise EvaluationError("a number is needed here, not a condition", expr.span)
        return result

    def truths(self, expr: Expr) -> Truths:
        result = self.run(expr)
        if not isinstance(result, Truths):
            raise EvaluationError("a condition is needed here, not a number", expr.span)
        return result

    def _compute(self, expr: Expr) -> Values:
        try:
            return self._node(expr)
        except (NeedsExactError, TooWideError):
            return self._widened().run(expr)

    def _widened(self) -> "Evaluator":
        if self.wide:
            raise EvaluationError("a float has no exact meaning here")
        if self._exact is None:
            self._exact = Evaluator(self.arrays, wide=True)
        return self._exact

    def _node(self, expr: Expr) -> Values:
        match expr:
            case Num(value):
                return rationals.rational(value)
            case Truth(verdict):
                return Truths(verdict)
            case Var(name):
                if name not in self.arrays:
                    raise EvaluationError(f'no value for "{name}"', expr.span)
                if name not in self._names:
                    self._names[name] = _given(self.arrays[name])
                return self._names[name]
            case Cell():
                raise EvaluationError(CELL, expr.span)
            case Arith():
                return self._arith(expr)
            case Neg(arg):
                return rationals.negate(self.number(arg), self.wide)
            case MinMax(op, args):
                result = self.number(args[0])
                for arg in args[1:]:
                    other = self.number(arg)
                    result = rationals.smaller(result, other, self.wide, larger=op == "max")
                return result
            case Round(op, arg):
                return rationals.round_to_integer(self.number(arg), op == "ceil", self.wide)
            case Compare():
                return self._compare(expr)
            case Logic():
                return self._logic(expr)
            case Not(arg):
                inner = self.truths(arg)
                return Truths(_not(inner.value), inner.bad)
            case Cond():
                return self._cond(expr)
            case Sum():
                return self._sum(expr)
            case _:
                assert_never(expr)

    def _arith(self, expr: Arith) -> Number:
        left, right = self.number(expr.left), self.number(expr.right)
        match expr.op:
            case "+" | "-":
                return rationals.add(left, right, self.wide, minus=expr.op == "-")
            case "*":
                return rationals.multiply(left, right, self.wide)
            case "/":
                return rationals.divide(left, right, self.wide)
            case "//" | "mod":
                return rationals.divide_floor(left, right, self.wide, expr.op == "mod")
            case _:
                assert_never(expr.op)

    def _compare(self, expr: Compare) -> Truths:
        left, right = self.number(expr.left), self.number(expr.right)
        bad = either(left.bad, right.bad)
        if isinstance(left, Exact) and isinstance(right, Exact):
            try:
                a, b, _ = rationals.common(left, right, self.wide)
                return Truths(_condition(_COMPARE[expr.op](a.a, b.a)), bad)
            except TooWideError:
                pass
        x, y = rationals.approx(left), rationals.approx(right)
        difference = x.value - y.value
        open_places = np.abs(difference) <= (x.error + y.error) * 1.001 + 1e-15 * (x.size + y.size)
        value = np.asarray(_COMPARE[expr.op](difference, 0))
        if np.any(open_places):
            value = self._settle(expr, value, np.asarray(open_places))
        return Truths(value, bad)

    def _settle(self, expr: Expr, value: Array, places: Array) -> Array:
        """``value`` with the given places computed exactly, as single points."""
        needed = {n: a for n, a in self.arrays.items() if n in free_names(expr)}
        plain = _plain(needed)
        if len(plain) < len(needed):
            raise NeedsExactError
        shape = np.broadcast_shapes(places.shape, *(np.shape(a) for a in plain.values()))
        index = np.nonzero(np.broadcast_to(places, shape))
        picked = {
            n: np.broadcast_to(a, shape)[index] if isinstance(a, np.ndarray) else a
            for n, a in plain.items()
        }
        exact = Evaluator(picked, wide=True).truths(expr)
        settled = np.broadcast_to(value, shape).copy()
        settled[index] = exact.value
        return settled

    def _logic(self, expr: Logic) -> Truths:
        left = self.truths(expr.left)
        if expr.op == "=>":
            left = Truths(_not(left.value), left.bad)
        # The right side counts only where the left one does not decide, as in evaluate.
        decided = _not(left.value) if expr.op == "and" else left.value
        if decided is True:
            return left
        right = self.truths(expr.right)
        if left.value is True or left.value is False:
            return Truths(right.value, either(left.bad, right.bad))
        value = left.value & right.value if expr.op == "and" else left.value | right.value
        missing = False if right.bad is False else right.bad & _not(decided)
        return Truths(value, either(left.bad, missing))

    def _cond(self, expr: Cond) -> Values:
        cond = self.truths(expr.cond)
        if isinstance(cond.value, bool):
            chosen = self.run(expr.then if cond.value else expr.other)
            return _with_bad(chosen, cond.bad)
        a, b = self.run(expr.then), self.run(expr.other)
        if isinstance(a, Truths) and isinstance(b, Truths):
            bad: Bad = False
            if a.bad is not False or b.bad is not False:
                bad = np.where(cond.value, a.bad, b.bad)
            return Truths(np.where(cond.value, a.value, b.value), either(cond.bad, bad))
        if isinstance(a, Truths) or isinstance(b, Truths):
            raise EvaluationError("both sides of an if need the same kind", expr.span)
        return _with_bad(rationals.select(cond.value, a, b, self.wide), cond.bad)

    def _sum(self, expr: Sum) -> Number:
        lo, lo_bad = rationals.integral(self.number(expr.lo), self.wide)
        hi, hi_bad = rationals.integral(self.number(expr.hi), self.wide)
        bad = either(lo_bad, hi_bad)
        outer: Any = self.arrays.get(SUM_TERMS, 1)
        if (hi.hi - lo.lo) * int(np.max(outer)) > SUM_LIMIT:
            too_long = np.asarray((hi.a - lo.a) * outer > SUM_LIMIT)
            if np.any(too_long):
                bad, hi = either(bad, too_long), ints.of_array(np.where(too_long, lo.a, hi.a))
        terms = np.asarray(np.maximum(hi.a - lo.a, 1) * outer)
        total: Number = rationals.rational(0)
        for start, stop in self._chunks(lo.lo, hi.hi, expr):
            index = np.arange(start, stop).reshape((-1, *(1 for _ in self._shape)))
            inner = {**self.arrays, expr.var: index, SUM_TERMS: terms}
            term = Evaluator(inner, self.wide).number(expr.body)
            inside = (lo.a <= index) & (index < hi.a)
            if not np.all(inside):
                term = rationals.select(inside, term, rationals.rational(0), self.wide)
            part = rationals.total(term, len(index), len(self._shape), self.wide)
            total = rationals.add(total, part, self.wide)
        return rationals.add(total, Exact(ints.constant(0), ints.ONES, bad), self.wide)

    @property
    def _shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(np.shape(a) for a in _plain(self.arrays).values()))

    def _chunks(self, lo: int, hi: int, expr: Sum) -> Iterator[tuple[int, int]]:
        """Stretches of a sum's range that fit the memory at every point."""
        points = prod(self._shape)
        if (hi - lo) * points > _SUM_WORK:
            message = f"a sum of {hi - lo} terms at {points} points is too much work"
            raise EvaluationError(message, expr.span)
        step = max(1, (1 << 20) // max(1, points))
        for start in range(lo, hi, step):
            yield start, min(hi, start + step)


def _given(value: Given) -> Values:
    if isinstance(value, (Exact, Truths)):
        return value
    if isinstance(value, (bool, np.bool_)):
        return Truths(bool(value))
    if isinstance(value, np.ndarray):
        if value.dtype == bool:
            return Truths(value)
        if value.dtype.kind == "f":
            size = float(np.max(np.abs(value))) if value.size else 0.0
            return Approx(value, 0.0, size)
        return Exact(ints.of_array(value), ints.ONES)
    return rationals.rational(Fraction(value))


def _condition(value: Any) -> bool | Array:
    return bool(value) if isinstance(value, (bool, np.bool_)) else value


def _not(value: bool | Array) -> bool | Array:
    return not value if isinstance(value, bool) else ~value


def _with_bad(value: Values, bad: Bad) -> Values:
    if bad is False:
        return value
    joined = either(value.bad, bad)
    match value:
        case Truths(v):
            return Truths(v, joined)
        case Exact(num, den):
            return Exact(num, den, joined)
        case Approx(v, error, size):
            return Approx(v, error, size, joined)
