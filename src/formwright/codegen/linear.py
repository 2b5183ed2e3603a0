"""Linear forms of index expressions, and what they say about ranges without a solver.

A form that cannot be bounded here costs a comparison at run time, nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from formwright.ir.expr import Arith, Expr, MinMax, Neg, Num, Round, Var, num
from formwright.ir.rewrite import free_names


@dataclass(frozen=True, slots=True)
class Linear:
    """``constant + sum(coefficient * atom)``; atoms are names or opaque expressions."""

    constant: int
    terms: tuple[tuple[Expr, int], ...]

    def coefficient(self, name: str) -> int:
        return next((c for atom, c in self.terms if atom == Var(name)), 0)

    def hides(self, name: str) -> bool:
        """``name`` stands inside an opaque atom."""
        return any(atom != Var(name) and name in free_names(atom) for atom, _ in self.terms)

    def mentions(self, name: str) -> bool:
        return any(name in free_names(atom) for atom, _ in self.terms)


def linear(expr: Expr) -> Linear:
    """The linear form of an integer expression; what is not linear is an atom."""
    constant, terms = _collect(expr)
    kept = tuple((a, c) for a, c in terms.items() if c != 0)
    return Linear(constant, kept)


def _collect(expr: Expr) -> tuple[int, dict[Expr, int]]:
    match expr:
        case Num(value) if value.denominator == 1:
            return value.numerator, {}
        case Arith("+", a, b):
            return _sum(_collect(a), _collect(b), 1)
        case Arith("-", a, b):
            return _sum(_collect(a), _collect(b), -1)
        case Neg(a):
            return _sum((0, {}), _collect(a), -1)
        case Arith("*", a, b):
            left, right = _collect(a), _collect(b)
            for form, other in ((left, right), (right, left)):
                if not form[1]:
                    return _sum((0, {}), other, form[0])
            return 0, {expr: 1}
        case _:
            return 0, {expr: 1}


def _sum(
    left: tuple[int, dict[Expr, int]], right: tuple[int, dict[Expr, int]], factor: int
) -> tuple[int, dict[Expr, int]]:
    terms = dict(left[1])
    for atom, coefficient in right[1].items():
        terms[atom] = terms.get(atom, 0) + factor * coefficient
    return left[0] + factor * right[0], terms


def plus(left: Linear, right: Linear, factor: int = 1) -> Linear:
    """``left + factor * right``."""
    constant, terms = _sum(
        (left.constant, dict(left.terms)), (right.constant, dict(right.terms)), factor
    )
    return Linear(constant, tuple((a, c) for a, c in terms.items() if c != 0))


def scaled(form: Linear, factor: int) -> Linear:
    return plus(Linear(0, ()), form, factor)


def without(form: Linear, name: str) -> Linear:
    """``form`` where ``name`` is 0 (``name`` stands in no opaque atom)."""
    return Linear(form.constant, tuple((a, c) for a, c in form.terms if a != Var(name)))


def as_expr(form: Linear) -> Expr:
    """The expression back, constant last."""
    result: Expr | None = None
    for atom, coefficient in form.terms:
        term = atom if coefficient == 1 else Arith("*", atom, num(coefficient))
        result = term if result is None else Arith("+", result, term)
    if result is None:
        return num(form.constant)
    return result if form.constant == 0 else Arith("+", result, num(form.constant))


@dataclass(frozen=True, slots=True)
class Range:
    """``lower <= name < each of uppers``; a lower end of None is unknown."""

    lower: int | None
    uppers: tuple[Expr, ...]


def range_of(lo: Expr, hi: Expr) -> Range:
    """The range of a loop variable."""
    lower = lo.value.numerator if isinstance(lo, Num) and lo.value.denominator == 1 else None
    return Range(lower, hi.args if isinstance(hi, MinMax) and hi.op == "min" else (hi,))


def surely_nonnegative(
    form: Linear, ranges: Mapping[str, Range], facts: Sequence[Linear] = ()
) -> bool:
    """``form >= 0`` for all values in range, by at most one of ``facts`` (each is ``>= 0``)."""
    if _nonnegative(form, ranges):
        return True
    return any(_nonnegative(plus(form, fact, -1), ranges) for fact in facts)


def _nonnegative(form: Linear, ranges: Mapping[str, Range]) -> bool:
    total = form.constant
    for atom, coefficient in form.terms:
        lower = _lower(atom, ranges)
        if coefficient < 0 or lower is None:
            return False
        total += coefficient * lower
    return total >= 0


def _lower(atom: Expr, ranges: Mapping[str, Range]) -> int | None:
    match atom:
        case Var(name):
            return ranges[name].lower if name in ranges else None
        case Round(_, Arith("/", a, Num(value))) if value > 0:
            lower = _lower(a, ranges)
            return None if lower is None or lower < 0 else 0
        case Arith("*", a, b):
            left, right = _lower(a, ranges), _lower(b, ranges)
            if left is None or right is None or min(left, right) < 0:
                return None
            return left * right
        case _:
            return None


def with_products_at(
    form: Linear, name: str, least: int, most: int, ranges: Mapping[str, Range]
) -> Linear:
    """``form`` where products of ``name`` and an ``e`` that is never negative have it at an end.

    Those of a positive coefficient have ``name = most``, the others ``name = least``; what else
    ``name`` stands in is left.
    """
    result = form
    for atom, coefficient in form.terms:
        match atom:
            case Arith("*", Var(left), e) if left == name:
                pass
            case Arith("*", e, Var(right)) if right == name:
                pass
            case _:
                continue
        lower = _lower(e, ranges)
        if name not in free_names(e) and lower is not None and lower >= 0:
            end = most if coefficient > 0 else least
            result = plus(result, Linear(0, ((atom, 1),)), -coefficient)
            result = plus(result, linear(e), coefficient * end)
    return result


def surely_below(
    form: Linear,
    limit: Expr,
    ranges: Mapping[str, Range],
    facts: Sequence[Linear] = (),
    depth: int = 2,
) -> bool:
    """``form < limit``: some variables at their upper ends leave a gap that is positive."""
    gap = plus(linear(limit), form, -1)
    if surely_nonnegative(plus(gap, Linear(1, ()), -1), ranges, facts):
        return True
    if depth == 0:
        return False
    return any(
        surely_below(raised, limit, ranges, facts, depth - 1) for raised in _raised(form, ranges)
    )


def _raised(form: Linear, ranges: Mapping[str, Range]) -> Iterator[Linear]:
    """``form`` with one variable of positive coefficient at one of its largest values."""
    for atom, coefficient in form.terms:
        if isinstance(atom, Var) and coefficient > 0 and atom.name in ranges:
            for upper in ranges[atom.name].uppers:
                top = plus(linear(upper), Linear(1, ()), -1)
                yield plus(without(form, atom.name), top, coefficient)
