"""Copies into panels (see ``matrix.py``): rows as they are, turned into columns, or zipped."""

from dataclasses import dataclass
from typing import Literal

from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context
from formwright.codegen.elements import Panel
from formwright.codegen.matrix import SIDE
from formwright.codegen.places import Bound, address, bound_text, bounds, form_text, offset
from formwright.codegen.points import bind_box, loops_over, size_of, step_of
from formwright.ir.expr import ONE, ZERO, Expr
from formwright.ir.program import Access, Apply, BoxVar, Read

Way = Literal["rows", "turned", "zipped"]


@dataclass(frozen=True, slots=True)
class Packing:
    """``to[.., r, c]`` from ``from[r, c]`` (rows), or ``to[.., q, s, e]`` from ``from[s, 2q + e]``
    (turned) or ``from[2q + e, s]`` (zipped).

    ``line`` is r or s, ``cell`` c or e, ``pair`` q; ``bounds`` are those of the source.
    """

    way: Way
    apply: Apply
    source: Access
    line: BoxVar
    cell: BoxVar
    pair: BoxVar | None
    bounds: tuple[Bound, ...]

    @property
    def looped(self) -> tuple[BoxVar, ...]:
        """Box variables that are loops round the copy."""
        inner = (self.line, self.cell, self.pair)
        return tuple(v for v in self.apply.box if v not in inner)


def packing_of(apply: Apply, context: Context) -> Packing | None:
    """The apply as such a copy; None when it is another."""
    to = apply.destination
    place = context.places.get(to.buffer)
    if apply.op != "=" or not isinstance(apply.value, Read) or place is None:
        return None
    source = apply.value.access
    if not isinstance(place.kind, Panel) or source.buffer not in context.places:
        return None
    if context.place(source.buffer).kind.dtype != place.kind.dtype:
        return None
    inside = context
    for v in apply.box:
        inside = bind_box(inside, v.name, v.extent)
    found = bounds(context.place(source.buffer), source, inside.ranges)
    if bounds(place, to, inside.ranges) or any(b.below for b in found):
        return None
    packing = _shaped(apply, source, found, context)
    return packing if packing is not None and _linear(packing, context) else None


def _shaped(
    apply: Apply, source: Access, found: tuple[Bound, ...], context: Context
) -> Packing | None:
    """The copy by the steps of its destination and its source."""
    to = {v: step_of(context, apply.destination, v.name) for v in apply.box}
    of = {v: step_of(context, source, v.name) for v in apply.box}
    cell = next((v for v in apply.box if to[v] == 1), None)
    if cell is None or None in to.values():
        return None
    whole = [v for v in apply.box if v != cell and size_of(v) > 0]
    if size_of(cell) == 2 * SIDE and of[cell] == 1 and whole:
        return Packing("rows", apply, source, whole[-1], cell, None, found)
    line = next((v for v in whole if to[v] == 2 and size_of(v) % SIDE == 0), None)
    pair = next((v for v in whole if v != line and size_of(v) == SIDE and to[v] != 2), None)
    if line is None or pair is None or (size_of(cell), size_of(pair)) != (2, SIDE):
        return None
    way: Way = "turned" if of[cell] == 1 else "zipped"
    if of[cell if way == "turned" else line] != 1:
        return None
    return Packing(way, apply, source, line, cell, pair, found)


def _linear(packing: Packing, context: Context) -> bool:
    """A pair's names stand together, as ``2q + e``; bounds are along lines or along cells."""
    line, cell = packing.line.name, packing.cell.name
    forms = [form for form, _ in offset(context.place(packing.source.buffer), packing.source)]
    forms += [b.form for b in packing.bounds]
    for form in forms:
        if any(form.hides(v.name) for v in packing.apply.box):
            return False
        if packing.pair and form.coefficient(packing.pair.name) != 2 * form.coefficient(cell):
            return False
    return all(
        (b.form.coefficient(line), b.form.coefficient(cell)) in ((0, 0), (0, 1), (1, 0))
        for b in packing.bounds
    )


def emit_packing(packing: Packing, context: Context) -> None:
    """The call of ``runtime/panels.h``, in loops over the other box variables."""
    loops_over(packing.looped, context, lambda inside: _call(packing, inside))


def _call(packing: Packing, context: Context) -> None:
    names, to, source = context.names, packing.apply.destination, packing.source
    first = _first(packing)
    target, origin = context.place(to.buffer), context.place(source.buffer)
    below = packing.cell if packing.way == "zipped" else packing.line
    begin = address(origin, source, first, names)
    second = address(origin, source, {**first, below.name: ONE}, names)
    step = packing.line if packing.pair is None else packing.pair
    given = [
        f"{target.name} + {address(target, to, first, names)}",
        str(step_of(context, to, step.name)),
        f"{origin.name} + {begin}",
        f"({second}) - ({begin})",
        str(size_of(packing.line)),
        _there(size_of(packing.line), packing, packing.line, context),
        _there(2 * SIDE, packing, packing.cell, context),
        f"FW_SEEN({target.name})",
    ]
    context.writer.line(f"fw_pack_{packing.way}({', '.join(given)});")


def _there(size: int, packing: Packing, var: BoxVar, context: Context) -> str:
    """How many of ``size`` are inside the bounds along ``var``; none where others fail."""
    names, text, tests = context.names, str(size), list[str]()
    first, inner = _first(packing), _first(packing).keys()
    for bound in packing.bounds:
        if bound.form.mentions(var.name):
            start = form_text(bound.form, first, names)
            text = f"fw_min({text}, {c_integer(bound.limit, names)} - ({start}))"
        elif not any(bound.form.mentions(name) for name in inner):
            tests.append(bound_text(bound, {}, names))
    return f"({' && '.join(tests)} ? {text} : 0)" if tests else text


def _first(packing: Packing) -> dict[str, Expr]:
    inner = (packing.line, packing.cell, packing.pair)
    return {v.name: ZERO for v in inner if v is not None}
