"""Where buffers live in emitted code, and the C text of a cell's address and bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from formwright.codegen.cexpr import Names, c_integer
from formwright.codegen.elements import F32, Element, element
from formwright.codegen.fold import fold
from formwright.codegen.linear import (
    Linear,
    Range,
    as_expr,
    linear,
    plus,
    scaled,
    surely_below,
    surely_nonnegative,
)
from formwright.ir.expr import Arith, Expr, Num, Var
from formwright.ir.program import Access, Buffer
from formwright.ir.rewrite import substitute

Home = Literal["tensor", "memory", "tile"]


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer with its C name. ``tensor``: rows ``stride`` apart; ``tile``: vector registers."""

    name: str
    shape: tuple[Expr, ...]
    home: Home
    ring: Expr | None = None
    stride: str = ""
    kind: Element = F32


@dataclass(frozen=True, slots=True)
class Bound:
    """One dimension of a clipped access that must be compared at run time: ``0 <= form < limit``.

    ``at`` is the dimension; ``below`` or ``above`` is False when that side holds without looking.
    """

    at: int
    form: Linear
    limit: Expr
    below: bool
    above: bool


def address(place: Place, access: Access, values: Mapping[str, Expr], names: Names) -> str:
    """The element offset of a cell, names of ``values`` replaced (box variables at constants)."""
    parts: list[str] = []
    for form, factor in offset(place, access):
        text = form_text(form, values, names)
        if text != "0":
            parts.append(text if factor == "1" else f"({text}) * {factor}")
    return " + ".join(parts) if parts else "0"


def offset(place: Place, access: Access) -> tuple[tuple[Linear, str], ...]:
    """The offset of a cell: linear forms, each times a C factor (``"1"`` or a stride)."""
    forms = [linear(fold(index)) for index in access.index]
    if place.home == "tensor":
        if len(forms) == 1:
            return ((forms[0], "1"),)
        row = _flat(forms[:-1], place.shape[:-1], access)
        return ((row, place.stride), (forms[-1], "1"))
    flat = _flat(forms, place.shape, access)
    if place.ring is None or access.generation is None:
        return ((flat, "1"),)
    slot = linear(fold(Arith("mod", access.generation, place.ring)))
    size: Expr = place.shape[0]
    for extent in place.shape[1:]:
        size = Arith("*", size, extent)
    return ((plus(_times(slot, fold(size)), flat), "1"),)


def _flat(forms: list[Linear], shape: tuple[Expr, ...], access: Access) -> Linear:
    """Row-major position of the index."""
    total = Linear(0, ())
    for form, extent in zip(forms, shape, strict=True):
        total = plus(_times(total, extent), form)
    return total


def _times(form: Linear, factor: Expr) -> Linear:
    """``form * factor``: linear where the factor is a number, else an opaque product."""
    if isinstance(factor, Num):
        return scaled(form, factor.value.numerator)
    if not form.terms and form.constant == 0:
        return form
    return linear(Arith("*", as_expr(form), factor))


def form_text(form: Linear, values: Mapping[str, Expr], names: Names) -> str:
    """C text of a linear form; a box variable with a constant value folds into the constant."""
    constant, parts = form.constant, list[str]()
    for atom, coefficient in form.terms:
        value = values.get(atom.name) if isinstance(atom, Var) else None
        if isinstance(value, Num):
            constant += coefficient * value.value.numerator
            continue
        text = c_integer(fold(substitute(atom, values)), names)
        parts.append(text if coefficient == 1 else f"{text} * {coefficient}")
    if constant != 0 or not parts:
        parts.append(str(constant) if constant >= 0 else f"({constant})")
    return " + ".join(parts)


def bounds(
    place: Place, access: Access, ranges: Mapping[str, Range], facts: Sequence[Linear] = ()
) -> tuple[Bound, ...]:
    """The dimensions of a clipped access that need a comparison; ``facts`` are known to be >= 0."""
    if not access.clip:
        return ()
    found: list[Bound] = []
    for at, (index, limit) in enumerate(zip(access.index, place.shape, strict=True)):
        form = linear(fold(index))
        below = not surely_nonnegative(form, ranges, facts)
        above = not surely_below(form, limit, ranges, facts)
        if below or above:
            found.append(Bound(at, form, limit, below, above))
    return tuple(found)


def bound_text(bound: Bound, values: Mapping[str, Expr], names: Names) -> str:
    """C text that is 1 inside the bound."""
    text = form_text(bound.form, values, names)
    parts: list[str] = []
    if bound.below:
        parts.append(f"{text} >= 0")
    if bound.above:
        parts.append(f"{text} < {c_integer(bound.limit, names)}")
    return " && ".join(parts)


def tensor_place(buffer: Buffer) -> Place:
    kind = element(buffer.name, buffer.dtype, buffer.span)
    return Place(f"t_{buffer.name}", buffer.shape, "tensor", None, f"s_{buffer.name}", kind)
