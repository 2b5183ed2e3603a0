"""A line of the workload as what it joins: products for a sum, whole values for a maximum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from formwright.ir.expr import Expr
from formwright.ir.program import Index, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import accesses
from formwright.ir.template import Workload
from formwright.smt.encode import UnderivableError
from formwright.smt.forms import (
    FORM_TERMS,
    INDEX,
    Form,
    Leaf,
    added,
    applied,
    factor_form,
    is_opaque,
    multiplied,
    number_form,
    reciprocal,
    scaled,
)

When = tuple[tuple[Expr, bool], ...]
"""Conditions of selects, with the side that is taken."""


@dataclass(frozen=True, slots=True)
class Product:
    """What one choice of indices adds to a line: of a sum ``form`` is one product.

    ``when``: the conditions of the selects around it, with the side that it stands on.
    """

    form: Form
    when: When = ()


def products(line: Workload) -> list[Product]:
    """The products of a sum, the values of a maximum; raises on more than the limit."""
    return values(line.value) if line.combine == "max" else summands(line.value)


def _few(found: list[Product], value: Value) -> list[Product]:
    """Told while they grow: forty sums of two are 2^40 products."""
    if len(found) > FORM_TERMS:
        raise UnderivableError(f"a workload of more than {FORM_TERMS} products", value.span)
    return found


def summands(value: Value) -> list[Product]:
    """The products that a value is the sum of."""
    match value:
        case Op("+", (a, b)):
            return _few(summands(a) + summands(b), value)
        case Op("-", (a, b)):
            return _few(summands(a) + [_scaled(p) for p in summands(b)], value)
        case Op("neg", (a,)):
            return [_scaled(p) for p in summands(a)]
        case Op("*" as name, (a, b)):
            return _pairs(name, value, summands(a), summands(b))
        case Op("/" as name, (a, b)):
            return _pairs(name, value, summands(a), values(b))
        case Select(cond, a, b):
            return _few(_chosen(cond, summands(a), summands(b)), value)
        case _:
            return _few([Product((t,), p.when) for p in values(value) for t in p.form], value)


def _scaled(product: Product) -> Product:
    return replace(product, form=scaled(product.form, Fraction(-1)))


def _chosen(cond: Expr, yes: list[Product], no: list[Product]) -> list[Product]:
    found = [replace(p, when=((cond, True), *p.when)) for p in yes]
    return found + [replace(p, when=((cond, False), *p.when)) for p in no]


def values(value: Value) -> list[Product]:
    """A value on every side of its selects."""
    match value:
        case Literal(number):
            return [Product(number_form(number))]
        case Read(access):
            return [Product(factor_form(Leaf(access.buffer, 0, access)))]
        case Index(expr):
            return [Product(factor_form(Leaf(INDEX, 0, None, expr)))]
        case Select(cond, a, b):
            return _few(_chosen(cond, values(a), values(b)), value)
        case Op(name, args):
            sides = [values(a) for a in args]
            if len(sides) == 1:
                return [Product(combined(name, [p.form], value), p.when) for p in sides[0]]
            return _pairs(name, value, sides[0], sides[1])
        case _:
            assert_never(value)


def _pairs(name: str, value: Op, left: list[Product], right: list[Product]) -> list[Product]:
    found: list[Product] = []
    for p in left:
        for q in right:
            found.append(Product(combined(name, [p.form, q.form], value), p.when + q.when))
            _few(found, value)
    return found


def combined(name: str, args: list[Form], value: Op) -> Form:
    """What an operation makes of forms."""
    match name:
        case "neg":
            return scaled(args[0], Fraction(-1))
        case "+":
            return added(args[0], args[1], value.span)
        case "-":
            return added(args[0], scaled(args[1], Fraction(-1)), value.span)
        case "*":
            if any(not a for a in args) and any(map(is_opaque, args)):
                raise UnderivableError("0 times a function, which may have no value", value.span)
            return multiplied(args[0], args[1], value.span)
        case "/":
            if not args[0] and any(t.factors for t in args[1]):
                raise UnderivableError("0 over what may be 0", value.span)
            return multiplied(args[0], (reciprocal(args[1], value.span),), value.span)
        case _:
            return (applied(name, args, value.span),)


def with_functions(stages: Sequence[Workload]) -> frozenset[str]:
    """Stages with a root, a quotient or an exponential of what is read, in them or below."""
    found: set[str] = set()
    for _ in stages:
        found |= {s.output.name for s in stages if _has_function(s.value, found)}
    return frozenset(found)


def _has_function(value: Value, known: set[str]) -> bool:
    match value:
        case Read(access):
            return access.buffer in known
        case Op("exp" | "sqrt" | "rsqrt", (a,)) | Op("/", (_, a)) if next(accesses(a), None):
            return True
        case Op(_, args):
            return any(_has_function(a, known) for a in args)
        case Select(_, then, other):
            return _has_function(then, known) or _has_function(other, known)
        case Literal() | Index():
            return False
        case _:
            assert_never(value)
