"""Products of bf16 panels for the matrix units of a core: which applies they are, and their call.

Such an apply adds up ``a[.., r, 2q+e] * b[.., q, s, e]`` in f32, over pairs ``e``, the 16 pairs
``q`` of a block and perhaps blocks: the order in which AMX reads its tiles. What an apply adds to
zero (the statement before it) is stored, not added; ``select(.., a * b, 0)`` may leave out the
last cells of each row of a block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context
from formwright.codegen.elements import F32, Panel
from formwright.codegen.fold import fold
from formwright.codegen.linear import Linear, linear, plus
from formwright.codegen.places import address, bounds, form_text
from formwright.codegen.points import bind_box, size_of, step_of
from formwright.codegen.target import Target
from formwright.ir.expr import ZERO, Compare, Expr
from formwright.ir.program import Access, Alloc, Apply, BoxVar, Literal, Op, Read, Select, Stmt
from formwright.ir.rewrite import free_names
from formwright.ir.walk import statements

SIDE: Final = 16
"""Rows and columns of a tile, and the pairs of cells in a row of one."""


@dataclass(frozen=True, slots=True)
class Factors:
    """``a * b``, of which only cells with ``kept >= 0`` count where it is not None."""

    a: Access
    b: Access
    kept: Linear | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """An apply that the matrix units do, and what its box variables are."""

    apply: Apply
    factors: Factors
    row: BoxVar
    column: BoxVar
    pair: BoxVar
    half: BoxVar
    block: BoxVar | None


def unit_headers(target: Target) -> tuple[str, ...]:
    """The files of the runtime for programs with panels."""
    return ("panels.h", "tiles.h" if "amx_bf16" in target.units else "pairs.h", "products.h")


def panels(program: Sequence[Stmt]) -> frozenset[str]:
    """Names of bf16 buffers that are multiplied with one another and added up."""
    narrow = {
        b.name
        for s in statements(program)
        if isinstance(s, Alloc)
        for b in s.buffers
        if b.dtype == "bf16"
    }
    products = [_factors(s) for s in statements(program) if isinstance(s, Apply)]
    pairs = [{f.a.buffer, f.b.buffer} for f in products if f is not None]
    return frozenset().union(*(pair for pair in pairs if pair <= narrow))


def _factors(apply: Apply) -> Factors | None:
    match apply:
        case Apply(op="+=", value=Op("*", (Read(a), Read(b)))):
            return Factors(a, b)
        case Apply(
            op="+=",
            value=Select(Compare("<" | "<=" as op, less, more), Op("*", (Read(a), Read(b))), other),
        ) if other == Literal(ZERO.value):
            gap = plus(linear(fold(more)), linear(fold(less)), -1)
            return Factors(a, b, gap if op == "<=" else plus(gap, Linear(1, ()), -1))
        case _:
            return None


def product_of(apply: Apply, context: Context) -> Product | None:
    """The apply as a product of panels; None where the target or the shape has no units for it."""
    factors = _factors(apply)
    if factors is None or not context.output.target.units or context.level != "agent":
        return None
    every = (apply.destination, factors.a, factors.b)
    if any(a.buffer in context.tiles or a.buffer not in context.places for a in every):
        return None
    kinds = [context.places[a.buffer].kind for a in every]
    if kinds[0] != F32 or not all(isinstance(k, Panel) for k in kinds[1:]):
        return None
    return next(_ways(apply, factors, context), None)


def _ways(apply: Apply, given: Factors, context: Context) -> Iterator[Product]:
    """Both orders of the factors; those whose steps are the tiles'."""
    for factors in (given, Factors(given.b, given.a, given.kept)):
        a, b, to = factors.a, factors.b, apply.destination
        rows = [v for v in apply.box if _in(v, to) and _in(v, a) and not _in(v, b)]
        columns = [v for v in apply.box if _in(v, to) and _in(v, b) and not _in(v, a)]
        sums = [v for v in apply.box if not _in(v, to)]
        halves = [v for v in sums if _step(v, a, context) == 1 and _step(v, b, context) == 1]
        pairs = [v for v in sums if _step(v, a, context) == 2 and v not in halves]
        rest = [v for v in sums if v not in halves and v not in pairs]
        if [len(g) for g in (rows, columns, halves, pairs)] != [1, 1, 1, 1] or len(rest) > 1:
            continue
        block = rest[0] if rest else None
        found = Product(apply, factors, rows[0], columns[0], pairs[0], halves[0], block)
        if len(apply.box) == 4 + len(rest) and _fits(found, context) and _keeps(found):
            yield found


def _fits(product: Product, context: Context) -> bool:
    apply, a, b = product.apply, product.factors.a, product.factors.b
    row, column = product.row, product.column
    whole = all(size_of(v) > 0 and size_of(v) % SIDE == 0 for v in (row, column))
    inner = size_of(product.pair) == SIDE and size_of(product.half) == 2
    places = _step(column, apply.destination, context) == 1 and _step(column, b, context) == 2
    steps = [_step(row, apply.destination, context), _step(row, a, context)]
    steps.append(_step(product.pair, b, context))
    if product.block is not None:
        steps += [_step(product.block, x, context) for x in (a, b)]
    inside = context
    for v in apply.box:
        inside = bind_box(inside, v.name, v.extent)
    every = (apply.destination, a, b)
    clipped = any(bounds(context.place(x.buffer), x, inside.ranges) for x in every)
    return whole and inner and places and None not in steps and not clipped


def _keeps(product: Product) -> bool:
    """What is left out are the last cells of the rows of one block."""
    kept = product.factors.kept
    if kept is None:
        return True
    names = [v.name for v in product.apply.box]
    cells = kept.coefficient(product.half.name) == -1 and kept.coefficient(product.pair.name) == -2
    alone = product.block is None and not kept.mentions(product.column.name)
    return cells and alone and not any(kept.hides(n) for n in names)


def _in(var: BoxVar, access: Access) -> bool:
    return any(var.name in free_names(i) for i in access.index)


def _step(var: BoxVar, access: Access, context: Context) -> int | None:
    return step_of(context, access, var.name)


def cleared(first: Stmt, product: Product) -> bool:
    """``first`` sets all cells to zero that the product adds to."""
    match first:
        case Apply(destination=to, op="=", value=Literal(number)) if number == 0:
            box = {v.name: v.extent for v in first.box}
            wanted = {v.name: v.extent for v in (product.row, product.column)}
            return to == product.apply.destination and box == wanted
        case _:
            return False


def emit_product(product: Product, add: str, context: Context) -> None:
    """The call of ``runtime/products.h``; ``add`` is 0 in C where the sum is stored, not added."""
    apply, names, a, b = product.apply, context.names, product.factors.a, product.factors.b
    first: dict[str, Expr] = {v.name: ZERO for v in apply.box}
    kept = product.factors.kept

    def at(access: Access) -> str:
        return f"{context.place(access.buffer).name} + {_address(access, first, context)}"

    def step(var: BoxVar | None, access: Access) -> int:
        return 0 if var is None else _step(var, access, context) or 0

    fields: dict[str, object] = {
        "a": at(a),
        "b": at(b),
        "c": at(apply.destination),
        "blocks": "1" if product.block is None else c_integer(product.block.extent, names),
        "a_block": step(product.block, a),
        "a_row": step(product.row, a),
        "b_block": step(product.block, b),
        "b_pair": step(product.pair, b),
        "c_row": step(product.row, apply.destination),
        "kept": 2 * SIDE if kept is None else f"{form_text(kept, first, names)} + 1",
        "kept_row": 0 if kept is None else kept.coefficient(product.row.name),
    }
    left, right = (context.place(x.buffer).name for x in (a, b))
    exact = f"fw_no_digit_lost({left}, {right})"
    call = "fw_multiply"
    if kept is not None:
        call, exact = "fw_multiply_kept", f"{exact} && fw_finite({right})"
    given = ", ".join(f".{name} = {text}" for name, text in fields.items())
    sizes = f"{size_of(product.row)}, {size_of(product.column)}, {add}"
    context.writer.line(f"{call}({exact}, (fw_product){{{given}}}, {sizes});")
    context.output.multiplies = True


def _address(access: Access, first: dict[str, Expr], context: Context) -> str:
    return address(context.place(access.buffer), access, first, context.names)
