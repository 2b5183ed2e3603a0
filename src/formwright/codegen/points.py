"""Applies on memory: loops over the box; vectors along contiguous rows, blocks for transposes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.context import Context, bind
from formwright.codegen.fold import fold
from formwright.codegen.linear import Linear, linear
from formwright.codegen.places import (
    Bound,
    address,
    bound_text,
    bounds,
    form_text,
    offset,
)
from formwright.codegen.values import updated, value_text
from formwright.ir.expr import ZERO, Arith, Expr, Num, Var, num
from formwright.ir.program import Access, Apply, BoxVar, Index, Op, Read, Select, Value
from formwright.ir.rewrite import accesses, free_names

MOST_UNROLLED = 16
"""Vectors of a row that are written out; longer rows get a loop."""


@dataclass(frozen=True, slots=True)
class Point:
    """Leaves at one point of a box."""

    context: Context
    vector: bool = False
    multiply_add: str = "fw_madd_1"

    @property
    def calls(self) -> bool:
        return self.context.output.calls

    def constant(self, _value: Value) -> str | None:
        return None

    def read(self, access: Access) -> str:
        place = self.context.place(access.buffer)
        cell = f"{place.name}[{address(place, access, {}, self.context.names)}]"
        tests = [
            bound_text(b, {}, self.context.names)
            for b in bounds(place, access, self.context.ranges)
        ]
        return f"({' && '.join(tests)} ? {cell} : 0.0f)" if tests else cell

    def index(self, expr: Expr) -> str:
        return f"(float)({c_integer(expr, self.context.names)})"

    def choice(self, cond: Expr, then: Value, other: Value) -> str:
        test = c_truth(cond, self.context.names)
        return f"({test} ? {value_text(then, self)} : {value_text(other, self)})"


def emit_rows(apply: Apply, context: Context) -> bool:
    """One apply whose buffers are all f32 in memory; False where it has no rows of this kind."""
    row = _row_variable(apply, context)
    if row is not None:
        _emit_rows(apply, row, context)
        return True
    turned = _transpose(apply, context)
    if turned is not None:
        _emit_transpose(apply, turned, context)
    return turned is not None


def loops_over(box: Sequence[BoxVar], context: Context, body: Callable[[Context], None]) -> None:
    """``body`` inside loops over the box variables, in their order."""
    if not box:
        body(context)
        return
    var, extent = box[0].name, box[0].extent
    inside = bind_box(context, var, extent)
    end = c_integer(extent, context.names)
    with context.writer.block(f"for (int64_t i_{var} = 0; i_{var} < {end}; i_{var}++)"):
        loops_over(box[1:], inside, body)


def bind_box(context: Context, var: str, extent: Expr) -> Context:
    """A box variable in sight; unlike a loop of the driver it stays inside one function."""
    return bind(replace(context, level="agent"), var, ZERO, extent)


def _emit_point(apply: Apply, context: Context) -> None:
    place = context.place(apply.destination.buffer)
    cell = f"{place.name}[{address(place, apply.destination, {}, context.names)}]"
    tests = [
        bound_text(b, {}, context.names) for b in bounds(place, apply.destination, context.ranges)
    ]
    head = f"if ({' && '.join(tests)}) " if tests else ""
    context.writer.line(f"{head}{cell} = {updated(apply.op, cell, apply.value, Point(context))};")


# Rows: the destination is contiguous in one box variable, each read contiguous or constant in it.


def _row_variable(apply: Apply, context: Context) -> BoxVar | None:
    for box_var in reversed(apply.box):
        reads = list(accesses(apply.value))
        if not _contiguous(apply.destination, box_var.name):
            continue
        if not all(_contiguous(r, box_var.name) or _constant(r, box_var.name) for r in reads):
            continue
        if box_var.name in _names_of_indices(apply.value):
            continue
        every = [apply.destination, *reads]
        ranges = bind_box(context, box_var.name, box_var.extent).ranges
        for other in apply.box:
            ranges = bind_box(replace(context, ranges=ranges), other.name, other.extent).ranges
        if any(
            b.below and b.form.mentions(box_var.name)
            for a in every
            for b in bounds(context.place(a.buffer), a, ranges)
        ):
            continue
        return box_var
    return None


def _contiguous(access: Access, name: str) -> bool:
    """``name`` stands once, alone, with coefficient 1 in the last index."""
    if access.generation is not None and name in free_names(access.generation):
        return False
    if any(name in free_names(index) for index in access.index[:-1]):
        return False
    form = linear(fold(access.index[-1]))
    return form.coefficient(name) == 1 and not form.hides(name)


def _constant(access: Access, name: str) -> bool:
    inside = list(access.index) + ([] if access.generation is None else [access.generation])
    return not any(name in free_names(index) for index in inside)


def _names_of_indices(value: Value) -> frozenset[str]:
    """Names in index expressions that are values or conditions."""
    match value:
        case Index(expr):
            return free_names(expr)
        case Op(_, args):
            return frozenset().union(*(_names_of_indices(a) for a in args))
        case Select(cond, then, other):
            return free_names(cond) | _names_of_indices(then) | _names_of_indices(other)
        case _:
            return frozenset()


def _outer_first(apply: Apply, row: str, context: Context) -> list[BoxVar]:
    """The other box variables, the one with the longest stride in the source first."""
    reads = [a for a in accesses(apply.value) if context.place(a.buffer).home == "tensor"]
    guide = reads[0] if reads else apply.destination

    def rank(var: BoxVar) -> tuple[int, int]:
        for at, index in enumerate(guide.index):
            form: Linear = linear(fold(index))
            if form.mentions(var.name):
                return at, -abs(form.coefficient(var.name))
        return -1, 0

    return sorted((v for v in apply.box if v.name != row), key=rank)


def _emit_rows(apply: Apply, row: BoxVar, context: Context) -> None:
    order = _outer_first(apply, row.name, context)
    loops_over(order, context, lambda inside: _emit_row(apply, row, inside))


def _emit_row(apply: Apply, row: BoxVar, context: Context) -> None:
    """``if`` the whole row is inside its bounds, whole vectors; else partial ones."""
    inside = bind_box(context, row.name, row.extent)
    last = {row.name: fold(Arith("-", row.extent, num(1)))}
    tests = sorted(
        {
            bound_text(b, last, context.names)
            for a in (apply.destination, *accesses(apply.value))
            for b in bounds(context.place(a.buffer), a, inside.ranges)
        }
    )
    if not tests:
        _emit_vectors(apply, row, context, clipped=False)
        return
    with context.writer.block(f"if ({' && '.join(tests)})"):
        _emit_vectors(apply, row, context, clipped=False)
    with context.writer.block("else"):
        _emit_vectors(apply, row, context, clipped=True)


def _emit_vectors(apply: Apply, row: BoxVar, context: Context, clipped: bool) -> None:
    lanes, out = context.output.target.lanes, context.writer
    constant = row.extent.value.numerator if isinstance(row.extent, Num) else None
    if constant is not None and constant <= MOST_UNROLLED * lanes:
        for at in range(0, constant, lanes):
            rest = constant - at
            count = None if rest >= lanes and not clipped else str(min(rest, lanes))
            _emit_vector(apply, row.name, num(at), count, clipped, context)
        return
    end = c_integer(row.extent, context.names)
    inside = bind_box(context, row.name, row.extent)
    with out.block(""):
        out.line(f"int64_t i_{row.name} = 0;")
        with out.block(f"for (; i_{row.name} + {lanes} <= {end}; i_{row.name} += {lanes})"):
            count = str(lanes) if clipped else None
            _emit_vector(apply, row.name, Var(row.name), count, clipped, inside)
        with out.block(f"if (i_{row.name} < {end})"):
            _emit_vector(apply, row.name, Var(row.name), f"{end} - i_{row.name}", clipped, inside)


@dataclass(frozen=True, slots=True)
class RowVector:
    """Leaves for lanes ``at .. at + lanes`` of a row; ``count`` lanes of them when not None."""

    context: Context
    row: str
    at: Expr
    count: str | None
    clipped: bool
    vector: bool = True
    multiply_add: str = "fw_fma"

    @property
    def calls(self) -> bool:
        return self.context.output.calls

    def constant(self, _value: Value) -> str | None:
        return None

    def read(self, access: Access) -> str:
        place, names = self.context.place(access.buffer), self.context.names
        values = {self.row: self.at}
        cell = f"{place.name} + {address(place, access, values, names)}"
        found = bounds(place, access, self.context.ranges) if self.clipped else ()
        if _constant(access, self.row):
            tests = [bound_text(b, {}, names) for b in found]
            guard = f"{' && '.join(tests)} ? {{}} : 0.0f" if tests else "{}"
            return f"fw_splat({guard.format(f'*({cell})')})"
        if self.count is None:
            return f"fw_load({cell})"
        return f"fw_load_part({cell}, {lanes_inside(self.count, found, self.row, values, names)})"

    def index(self, expr: Expr) -> str:
        return f"fw_splat((float)({c_integer(expr, self.context.names)}))"

    def choice(self, cond: Expr, then: Value, other: Value) -> str:
        test = c_truth(cond, self.context.names)
        return f"({test} ? {value_text(then, self)} : {value_text(other, self)})"


def lanes_inside(
    count: str,
    found: Sequence[Bound],
    row: str,
    values: Mapping[str, Expr],
    names: Mapping[str, str],
) -> str:
    """How many of ``count`` lanes are inside: bounds along the row cut, the others decide."""
    text = count
    for bound in found:
        if bound.form.mentions(row):
            left = f"{c_integer(bound.limit, names)} - ({form_text(bound.form, values, names)})"
            text = f"fw_min({text}, {left})"
    tests = [bound_text(b, values, names) for b in found if not b.form.mentions(row)]
    return f"({' && '.join(tests)} ? {text} : 0)" if tests else text


def _emit_vector(
    apply: Apply, row: str, at: Expr, count: str | None, clipped: bool, context: Context
) -> None:
    place, names = context.place(apply.destination.buffer), context.names
    leaves = RowVector(context, row, at, count, clipped)
    values = {row: at}
    cell = f"{place.name} + {address(place, apply.destination, values, names)}"
    if count is None:
        text = updated(apply.op, f"fw_load({cell})", apply.value, leaves)
        context.writer.line(f"fw_store({cell}, {text});")
        return
    found = bounds(place, apply.destination, context.ranges) if clipped else ()
    inside = lanes_inside(count, found, row, values, names)
    text = updated(apply.op, f"fw_load_part({cell}, {inside})", apply.value, leaves)
    context.writer.line(f"fw_store_part({cell}, {text}, {inside});")


# Transposes: a copy whose destination is contiguous in a few rows and whose source along them.


@dataclass(frozen=True, slots=True)
class Turn:
    """``across``: contiguous in the destination (a constant extent); ``along``: in the source."""

    across: BoxVar
    along: BoxVar
    source: Access
    step: int


def _transpose(apply: Apply, context: Context) -> Turn | None:
    if apply.op != "=" or not isinstance(apply.value, Read):
        return None
    source = apply.value.access
    if source.generation is not None or context.place(source.buffer).home != "tensor":
        return None
    for across in apply.box:
        if not isinstance(across.extent, Num) or not _contiguous(apply.destination, across.name):
            continue
        for along in apply.box:
            if along is across or not _contiguous(source, along.name):
                continue
            row = linear(fold(source.index[-2])) if len(source.index) == 2 else None
            if row is not None and row.coefficient(across.name) == 1:
                step = step_of(context, apply.destination, along.name)
                if step is not None:
                    return Turn(across, along, source, step)
    return None


def _emit_transpose(apply: Apply, turn: Turn, context: Context) -> None:
    rest = [v for v in apply.box if v.name not in (turn.across.name, turn.along.name)]
    loops_over(rest, context, lambda inside: _emit_turned(apply, turn, inside))


def _emit_turned(apply: Apply, turn: Turn, context: Context) -> None:
    """Blocks of four by four while every row is inside; the rest point by point."""
    out, names = context.writer, context.names
    along, across = turn.along.name, turn.across.name
    count = int(turn.across.extent.value) if isinstance(turn.across.extent, Num) else 0
    inside = bind_box(context, along, turn.along.extent)
    full = bind_box(inside, across, turn.across.extent)
    source, target = context.place(turn.source.buffer), context.place(apply.destination.buffer)
    ends: dict[str, Expr] = {across: num(count - 1), along: Arith("+", Var(along), num(3))}
    every = bounds(source, turn.source, full.ranges) + bounds(
        target, apply.destination, full.ranges
    )
    tests = sorted({bound_text(b, ends, inside.names) for b in every if b.form.mentions(across)})
    tests += sorted(
        {bound_text(b, ends, inside.names) for b in every if not b.form.mentions(across)}
    )
    end = c_integer(turn.along.extent, names)
    condition = " && ".join([f"i_{along} + 4 <= {end}", *tests])
    with out.block(""):
        out.line(f"int64_t i_{along} = 0;")
        with out.block(f"for (; {condition}; i_{along} += 4)"):
            for first, size in _groups(count):
                _emit_group(apply, turn, first, size, inside)
        with out.block(f"for (; i_{along} < {end}; i_{along}++)"):
            loops_over([turn.across], inside, lambda c: _emit_point(apply, c))


def _groups(count: int) -> list[tuple[int, int]]:
    """Rows in fours, then twos, then one."""
    found, at = list[tuple[int, int]](), 0
    for size in (4, 2, 1):
        while count - at >= size:
            found.append((at, size))
            at += size
    return found


def size_of(var: BoxVar) -> int:
    """The constant extent of a box variable, 0 where it has none."""
    extent = fold(var.extent)
    return int(extent.value) if isinstance(extent, Num) else 0


def step_of(context: Context, access: Access, name: str) -> int | None:
    """Elements between neighbours along ``name``, where that is a constant."""
    forms = offset(context.place(access.buffer), access)
    if any(form.hides(name) for form, _ in forms):
        return None
    if any(form.coefficient(name) != 0 and factor != "1" for form, factor in forms):
        return None
    return sum(form.coefficient(name) for form, _ in forms)


def _emit_group(apply: Apply, turn: Turn, first: int, size: int, context: Context) -> None:
    names, out = context.names, context.writer
    source, target = context.place(turn.source.buffer), context.place(apply.destination.buffer)
    values: dict[str, Expr] = {turn.across.name: num(first)}
    start = f"{source.name} + {address(source, turn.source, values, names)}"
    to = f"{target.name} + {address(target, apply.destination, values, names)}"
    if size == 1:
        for k in range(4):
            out.line(f"({to})[{k * turn.step}] = ({start})[{k}];")
        return
    out.line(f"fw_transpose_{size}({start}, {source.stride}, {to}, {turn.step});")
