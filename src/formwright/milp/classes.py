"""Expressions by their distinct values, and the shapes that the encoder takes apart."""

from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import ONE, Arith, Compare, Expr, Logic, Neg, Not, Round, Scalar, Var
from formwright.milp.model import Exactly, combined

Form = dict[int, Exactly]
_ONE = 1


@dataclass(frozen=True, slots=True)
class Classes:
    """Distinct values of an expression; ``None`` stands for no value."""

    values: tuple[Scalar | None, ...]
    forms: tuple[Form, ...]


def exact_number(value: Scalar) -> Exactly:
    return value if isinstance(value, Fraction) else int(value)


def by_value(values: list[Scalar | None], forms: list[Form]) -> Classes:
    """Equal values joined; ``True`` and ``1`` are kept apart."""
    joined: dict[tuple[bool, Scalar | None], list[Form]] = {}
    for value, form in zip(values, forms, strict=True):
        joined.setdefault((isinstance(value, bool), value), []).append(form)
    return Classes(
        tuple(value for _, value in joined),
        tuple(combined((_ONE, f) for f in parts) for parts in joined.values()),
    )


def value_of(shape: Expr, args: tuple[Scalar | None, ...]) -> Scalar | None:
    """``shape`` over ``$0``, ``$1``; ``None`` where it reads an argument without a value."""
    known = {f"${i}": a for i, a in enumerate(args) if a is not None}
    try:
        return evaluate(shape, known)
    except EvaluationError:
        return None


def with_children(expr: Expr, names: list[Var]) -> Expr:
    match expr:
        case Arith(op, _, _):
            return Arith(op, names[0], names[1], expr.span)
        case Compare(cop, _, _):
            return Compare(cop, names[0], names[1], expr.span)
        case Logic(lop, _, _):
            return Logic(lop, names[0], names[1], expr.span)
        case Neg(_):
            return Neg(names[0], expr.span)
        case Round(rop, _):
            return Round(rop, names[0], expr.span)
        case Not(_):
            return Not(names[0], expr.span)
        case _:
            raise AssertionError("not an operation of one or two arguments")


def product_factors(expr: Expr) -> list[Expr]:
    match expr:
        case Arith("*", a, b):
            return [*product_factors(a), *product_factors(b)]
        case Arith("/", a, b):
            return [*product_factors(a), Arith("/", ONE, b, expr.span)]
        case _:
            return [expr]


def signed_terms(expr: Expr, sign: Exactly = _ONE) -> list[tuple[Exactly, Expr]]:
    match expr:
        case Arith("+", a, b):
            return [*signed_terms(a, sign), *signed_terms(b, sign)]
        case Arith("-", a, b):
            return [*signed_terms(a, sign), *signed_terms(b, -sign)]
        case Neg(a):
            return signed_terms(a, -sign)
        case _:
            return [(sign, expr)]
