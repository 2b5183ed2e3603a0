"""Leaves of an apply at one point or one vector: the C text of reads, indices and choices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from formwright.base.diagnostics import fail
from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.context import Context, Tile
from formwright.codegen.fold import fold
from formwright.codegen.linear import Linear, Range, linear, plus
from formwright.codegen.places import Bound, address, bound_text, bounds, form_text
from formwright.codegen.values import value_text
from formwright.ir.expr import ZERO, Arith, Compare, Expr, Logic, Not, Num, Var, num
from formwright.ir.program import Access, Literal, Value
from formwright.ir.rewrite import accesses, free_names, substitute
from formwright.ir.values import names_of, names_of_access

LANE = "lane'"
"""The lane of a vector in index forms; no name of a program has an apostrophe."""


@dataclass(slots=True)
class Named:
    """Loads by text, each named once: ``outer`` ends with the outer index of a group."""

    top: list[str] = field(default_factory=list)
    outer: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    inner: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def name(self, text: str, outer: bool) -> str:
        known, lines = (self.inner, self.outer) if outer else (self.names, self.top)
        if text not in known:
            self.count += 1
            known[text] = f"x{self.count}"
            lines.append(f"const fw_vec {known[text]} = {text};")
        return known[text]

    def take(self) -> list[str]:
        """The lines that stand for the next statement, just before which they belong."""
        lines, self.top, self.outer = [*self.top, *self.outer], [], []
        return lines

    def turn(self) -> None:
        """The outer index ends here: its names are not in use any more."""
        self.inner = {}

    def forget(self) -> None:
        """The block of the names ends here."""
        self.names, self.inner = {}, {}


@dataclass(frozen=True, slots=True)
class Mask:
    """Lanes where a condition holds: the first ``count``, those from ``count`` on, or others."""

    text: str
    first: str | None = None
    from_on: str | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """Leaves with unrolled names at constants (``values``) and the column's first lane ``at``.

    ``count`` lanes are wanted, all of them when it is None; ``size`` says so to the bounds.
    Without a ``column`` it is one point. ``by_vector``: groups run over vectors, rows inside.
    """

    context: Context
    values: Mapping[str, Expr]
    named: Named
    column: str | None = None
    at: Expr = ZERO
    count: str | None = None
    size: tuple[Expr, ...] = ()
    by_vector: bool = True

    @property
    def vector(self) -> bool:
        return self.column is not None

    @property
    def calls(self) -> bool:
        return self.context.output.calls

    @property
    def multiply_add(self) -> str:
        """With rows outside it is a product's tile: compilers spill what they contract there."""
        if not self.vector:
            return "fw_madd_1"
        return "fw_madd" if self.by_vector else "fw_fma"

    def scalar(self) -> "Cells":
        return replace(self, column=None, count=None, size=())

    # Where names stand.

    def along(self, value: Value) -> bool:
        """The value changes along the vector."""
        return self.column is not None and self.column in names_of(value)

    def _unrolled(self, names: frozenset[str]) -> bool:
        return not names.isdisjoint(self.values)

    def constant(self, value: Value) -> str | None:
        """A value that is the same in all lanes is computed once, then spread."""
        if not self.vector or self.along(value) or isinstance(value, Literal):
            return None
        spread = "fw_all" if self.by_vector else "fw_splat"
        text = f"{spread}({value_text(value, self.scalar())})"
        outer = self._unrolled(names_of(value)) and not self.by_vector
        return self.named.name(text, outer)

    # Reads.

    def read(self, access: Access) -> str:
        tile = self.context.tiles.get(access.buffer)
        if tile is not None:
            return self.cell(access, tile)
        if not self.vector:
            return self._point(access)
        text = self._row(access)
        return self.named.name(text, self.by_vector and not self._unrolled(names_of_access(access)))

    def cell(self, access: Access, tile: Tile) -> str:
        """The C variable of a tile's cell; a lane of a vector by its number."""
        index = [fold(substitute(i, self.values)) for i in access.index]
        lead = index if tile.vectors == 0 else index[:-1]
        if not all(isinstance(i, Num) for i in lead):
            raise fail(
                f"{access.buffer} is in registers: its index is a constant or a name of the box",
                access.span,
            )
        parts = [str(i.value) for i in lead if isinstance(i, Num)]
        if tile.vectors == 0:
            return "_".join([tile.name, *parts])
        lanes = self.context.output.target.lanes
        last = index[-1]
        if isinstance(last, Num):
            vector, lane = divmod(int(last.value), lanes)
            return "_".join([tile.name, *parts, str(vector)]) + f"[{lane}]"
        if not isinstance(self.at, Num) or not self.vector:
            raise fail(f"{access.buffer} is in vector registers: use its whole rows", access.span)
        return "_".join([tile.name, *parts, str(int(self.at.value) // lanes)])

    def _point(self, access: Access) -> str:
        inner = self.placed(access)
        place = self.context.place(access.buffer)
        text = place.kind.get(self.pointer(inner))
        tests = self.tests(self.found(inner))
        return f"({' && '.join(tests)} ? {text} : 0.0f)" if tests else text

    def _row(self, access: Access) -> str:
        inner = self.placed(access)
        place, found, cell = self.context.place(access.buffer), self.found(inner), None
        if linear(inner.index[-1]).coefficient(LANE) != 1:
            raise fail(f"{access.buffer} is not read along its rows here", access.span)
        cell = self.pointer(inner)
        count = self.lanes(found)
        text = place.kind.load(cell) if count is None else place.kind.load_part(cell, count)
        tests = self.tests(b for b in found if not b.form.mentions(LANE))
        return f"({' && '.join(tests)} ? {text} : (fw_vec){{0}})" if tests else text

    def placed(self, access: Access, lane: int | None = None) -> Access:
        """The access with unrolled names at their values and the column at ``at + lane``."""
        values = dict(self.values)
        if self.column is not None:
            step = Var(LANE) if lane is None else num(lane)
            values[self.column] = fold(Arith("+", self.at, step))
        index = tuple(fold(substitute(i, values)) for i in access.index)
        generation = access.generation and fold(substitute(access.generation, values))
        return replace(access, index=index, generation=generation)

    def found(self, placed: Access, clip: bool | None = None) -> tuple[Bound, ...]:
        """What must be compared for an access (of ``placed``) at run time."""
        lanes = num(self.context.output.target.lanes)
        ranges = {**self.context.ranges, LANE: Range(0, (lanes, *self.size))}
        access = placed if clip is None else replace(placed, clip=clip)
        return bounds(self.context.place(access.buffer), access, ranges, self.context.facts)

    def pointer(self, placed: Access) -> str:
        place = self.context.place(placed.buffer)
        return f"{place.name} + {address(place, placed, {LANE: ZERO}, self.context.names)}"

    def lanes(self, found: Sequence[Bound]) -> str | None:
        """How many lanes are there, as C text; None when all are."""
        lanes = self.context.output.target.lanes
        text = self.count
        for bound in found:
            if not bound.form.mentions(LANE):
                continue
            if bound.below:
                raise fail("a clipped read in vectors may begin before its row here")
            limit = c_integer(bound.limit, self.context.names)
            left = f"{limit} - ({form_text(bound.form, {LANE: ZERO}, self.context.names)})"
            text = f"fw_min({lanes if text is None else text}, {left})"
        return text

    def tests(self, found: Iterable[Bound]) -> list[str]:
        names = self.context.names
        return [bound_text(b, {LANE: ZERO}, names) for b in found]

    # Indices and choices.

    def index(self, expr: Expr) -> str:
        inner = self._expr(expr)
        if self.vector and LANE in free_names(inner):
            form = linear(inner)
            if form.hides(LANE):
                raise fail("an index along the vector is linear in it", expr.span)
            base = form_text(form, {LANE: ZERO}, self.context.names)
            return f"fw_index({base}, {form.coefficient(LANE)})"
        text = f"(float)({c_integer(inner, self.context.names)})"
        return f"fw_all({text})" if self.vector else text

    def _expr(self, expr: Expr) -> Expr:
        values = dict(self.values)
        if self.column is not None:
            values[self.column] = fold(Arith("+", self.at, Var(LANE)))
        return fold(substitute(expr, values))

    def choice(self, cond: Expr, then: Value, other: Value) -> str:
        inner = self._expr(cond)
        if not self.vector or LANE not in free_names(inner):
            test = c_truth(inner, self.context.names)
            return f"({test} ? {value_text(then, self)} : {value_text(other, self)})"
        mask = mask_of(inner, self.context)
        yes = self._restricted(then, mask.first)
        no = self._restricted(other, mask.from_on)
        return f"fw_choose({mask.text}, {value_text(then, yes)}, {value_text(other, no)})"

    def _restricted(self, value: Value, count: str | None) -> "Cells":
        """Leaves that read only lanes where the side is chosen, unless every lane may be read."""
        unsafe = [a for a in accesses(value) if not self._safe(a)]
        if not unsafe:
            return self
        if count is None:
            raise fail(
                f"{unsafe[0].buffer} may be left where this side of select is not chosen",
                unsafe[0].span,
                "clip the access, or compare so that it is chosen up to one place of the row",
            )
        return replace(
            self, count=count if self.count is None else f"fw_min({self.count}, {count})"
        )

    def _safe(self, access: Access) -> bool:
        if access.clip or access.buffer in self.context.tiles:
            return True
        return not self.found(self.placed(access), clip=True)


def mask_of(cond: Expr, context: Context) -> Mask:
    """The lanes where a condition over LANE holds: comparisons that are linear in it."""
    match cond:
        case Compare("<" | "<=" | ">" | ">=" as op, a, b):
            left, right = (linear(fold(a)), linear(fold(b)))
            gap = plus(right, left, -1) if op in ("<", "<=") else plus(left, right, -1)
            return _prefix(plus(gap, Linear(1 if op in ("<", ">") else 0, ()), -1), cond, context)
        case Compare("=", a, b):
            return mask_of(Logic("and", Compare("<=", a, b), Compare(">=", a, b)), context)
        case Compare(_, a, b):
            return mask_of(Not(Compare("=", a, b)), context)
        case Logic("and", a, b):
            left_mask, right_mask = mask_of(a, context), mask_of(b, context)
            if left_mask.first is not None and right_mask.first is not None:
                count = f"fw_min({left_mask.first}, {right_mask.first})"
                return Mask(f"fw_first({count})", first=count)
            return Mask(f"({left_mask.text} & {right_mask.text})")
        case Logic("or", a, b):
            return Mask(f"({mask_of(a, context).text} | {mask_of(b, context).text})")
        case Logic(_, a, b):
            return Mask(f"(~{mask_of(a, context).text} | {mask_of(b, context).text})")
        case Not(a):
            mask = mask_of(a, context)
            if mask.first is not None:
                return Mask(f"fw_from({mask.first})", from_on=mask.first)
            return Mask(f"(~{mask.text})")
        case _:
            return Mask(f"fw_truth({c_truth(cond, context.names)})")


def _prefix(gap: Linear, cond: Expr, context: Context) -> Mask:
    """Lanes where ``gap >= 0``."""
    step = gap.coefficient(LANE)
    if gap.hides(LANE):
        raise fail("a condition along the vector is linear in it", cond.span)
    rest = form_text(gap, {LANE: ZERO}, context.names)
    if step == 0:
        return Mask(f"fw_truth({rest} >= 0)")
    if step < 0:
        count = f"fw_floor_div({rest}, {-step}) + 1" if step != -1 else f"{rest} + 1"
        return Mask(f"fw_first({count})", first=f"({count})")
    count = f"fw_ceil_div(-({rest}), {step})" if step != 1 else f"-({rest})"
    return Mask(f"fw_from({count})", from_on=f"({count})")
