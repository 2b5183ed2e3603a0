"""What a comparison before a block makes known, and which comparisons the block would like.

A block is written twice where that spares its inner loops their bounds: once where every access
is inside (the facts hold), once with a test at each access. Facts are linear forms that are >= 0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from formwright.codegen.context import Context, bind
from formwright.codegen.fold import fold
from formwright.codegen.linear import (
    Linear,
    Range,
    linear,
    plus,
    range_of,
    surely_below,
    surely_nonnegative,
    with_products_at,
    without,
)
from formwright.codegen.places import form_text
from formwright.ir.expr import ZERO, Expr, MinMax, Num, num
from formwright.ir.program import Access, Alloc, Apply, For, If, Par, Stmt
from formwright.ir.rewrite import accesses, free_names

MOST_SPLITS = 3
"""Blocks are written twice at most so often inside one another."""

Chooses = Callable[[Apply, Context], bool]
"""Whether an apply is one of those that make use of facts."""

Declares = Callable[[Alloc, Sequence[Stmt], Context], Context | None]
"""The context with the register tiles of an alloc; None where they see to their own bounds."""


def known_extent(extent: Expr, context: Context) -> Expr:
    """``min(8, e)`` is 8 where the facts say so."""
    if not isinstance(extent, MinMax) or extent.op != "min":
        return extent
    constants = [a for a in extent.args if isinstance(a, Num)]
    others = [a for a in extent.args if not isinstance(a, Num)]
    if len(constants) == 1 and all(
        surely_nonnegative(plus(linear(o), linear(constants[0]), -1), context.ranges, context.facts)
        for o in others
    ):
        return constants[0]
    return extent


def largest(extent: Expr) -> int | None:
    """The constant that bounds an extent: 8 of ``min(8, e)``."""
    if isinstance(extent, Num):
        return int(extent.value)
    if isinstance(extent, MinMax) and extent.op == "min":
        found = [int(a.value) for a in extent.args if isinstance(a, Num)]
        return min(found, default=None)
    return None


def wanted(
    block: Sequence[Stmt], context: Context, chooses: Chooses, declares: Declares
) -> tuple[Linear, ...]:
    """The facts over names in sight that the applies of ``block`` would use and do not have."""
    sight = frozenset(context.names)
    found: dict[Linear, None] = {}
    for form in _forms(block, replace(context, level="agent"), chooses, declares):
        if all(sight.issuperset(free_names(atom)) for atom, _ in form.terms) and form.terms:
            found[form] = None
    return tuple(found)


def _forms(
    block: Sequence[Stmt], context: Context, chooses: Chooses, declares: Declares
) -> Iterator[Linear]:
    for at, stmt in enumerate(block):
        match stmt:
            case Alloc():
                inside = declares(stmt, block[at + 1 :], context)
                if inside is None:
                    return
                context = inside
            case For(var, lo, hi, body):
                yield from _forms(body, bind(context, var, lo, hi), chooses, declares)
            case Par(_, variables, extents, body):
                inside = context
                for var, extent in zip(variables, extents, strict=True):
                    inside = bind(inside, var, ZERO, extent)
                yield from _forms(body, inside, chooses, declares)
            case If(_, body):
                yield from _forms(body, context, chooses, declares)
            case Apply() if chooses(stmt, context):
                yield from _of_apply(stmt, context)
            case _:
                pass


def _of_apply(apply: Apply, context: Context) -> Iterator[Linear]:
    ranges, tops = dict(context.ranges), dict[str, Linear]()
    for var in apply.box:
        extent = fold(var.extent)
        ranges[var.name] = range_of(ZERO, extent)
        most = largest(extent)
        end = linear(extent if most is None else num(most))
        tops[var.name] = plus(end, Linear(1, ()), -1)
        if most is not None and isinstance(extent, MinMax):
            for other in extent.args:
                form = plus(linear(other), linear(num(most)), -1)
                if not surely_nonnegative(form, context.ranges, context.facts):
                    yield form
    for access in (apply.destination, *accesses(apply.value)):
        place = context.places.get(access.buffer)
        if access.clip and place is not None:
            yield from _of_access(access, place.shape, ranges, tops, context.facts)


def _of_access(
    access: Access,
    shape: Sequence[Expr],
    ranges: Mapping[str, Range],
    tops: Mapping[str, Linear],
    facts: Sequence[Linear],
) -> Iterator[Linear]:
    for index, limit in zip(access.index, shape, strict=True):
        form = linear(fold(index))
        if not surely_below(form, limit, ranges, facts):
            top = _at_end(form, tops, ranges, upper=True)
            if top is not None:
                yield plus(plus(linear(limit), top, -1), Linear(1, ()), -1)
        if not surely_nonnegative(form, ranges, facts):
            low = _at_end(form, tops, ranges, upper=False)
            if low is not None:
                yield low


def _at_end(
    form: Linear, tops: Mapping[str, Linear], ranges: Mapping[str, Range], upper: bool
) -> Linear | None:
    """``form`` with the box variables where it is largest (least); None when that is not known."""
    for name, top in tops.items():
        if not top.terms:
            least, most = (0, top.constant) if upper else (top.constant, 0)
            form = with_products_at(form, name, least, most, ranges)
        if form.hides(name):
            return None
        coefficient = form.coefficient(name)
        form = without(form, name)
        if (coefficient > 0) == upper and coefficient != 0:
            form = plus(form, top, coefficient)
    return form


def fact_text(form: Linear, context: Context) -> str:
    return f"{form_text(form, {}, context.names)} >= 0"


def turning(form: Linear, name: str) -> int | None:
    """``k`` where the form is ``rest - k * name``: it holds up to some value of ``name``."""
    coefficient = form.coefficient(name)
    return -coefficient if coefficient < 0 and not form.hides(name) else None
