"""Weights that are copied ahead of the call and read in whole rows: kept in fewer bits.

No word of the language says so. The emitter knows a buffer ``w[R, G, Q, 128]`` of bf16 or f32 that
the first statements fill and whose only readers are products with a vector,
``to[r] += w[r, i, q, l] * x[q, l]`` (``runtime/coded.h``). What is proved is the plain nest; each
cell reads back bit for bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context
from formwright.codegen.places import address
from formwright.ir.expr import ZERO, Expr, Num, Var
from formwright.ir.program import Access, Alloc, Apply, Buffer, Hint, Op, Par, Read, Stmt
from formwright.ir.rewrite import accesses
from formwright.ir.walk import statements

BLOCK: Final = 128
"""Cells of a block, the last dimension."""

MOST_ROWS: Final = 8
"""Rows of a group: their sums are in registers together."""

DTYPES: Final = ("bf16", "f32")


@dataclass(frozen=True, slots=True)
class RowProduct:
    """``to[r] += weights[r, i, q, l] * vector[q, l]`` over r, q and l."""

    to: Access
    weights: Access
    vector: Access


def coded_buffers(program: Sequence[Stmt], count: int) -> frozenset[str]:
    """Names of buffers of the first ``count`` statements that may be kept in fewer bits."""
    every = [b for s in statements(program) if isinstance(s, Alloc) for b in s.buffers]
    known = {b.name: b for b in every}
    if len(known) != len(every):
        return frozenset()
    first = [b for s in program[:count] if isinstance(s, Alloc) for b in s.buffers]
    agents = [s for s in statements(program[count:]) if isinstance(s, Par)]
    inner = {id(s): s for agent in agents for s in statements(agent.body)}.values()
    products = [s for s in inner if isinstance(s, Apply) and _product(s, known)]
    return frozenset(b.name for b in first if _fits(b) and _only(b.name, program, products))


def _fits(buffer: Buffer) -> bool:
    if buffer.dtype not in DTYPES or buffer.home != "scratch" or buffer.ring is not None:
        return False
    match buffer.shape:
        case (Num(rows), _, _, Num(cells)):
            return 1 <= rows <= MOST_ROWS and cells == BLOCK
        case _:
            return False


def _only(name: str, program: Sequence[Stmt], products: Sequence[Apply]) -> bool:
    """Whether the buffer is written by copies alone and read by ``products`` alone."""
    read = False
    for stmt in statements(program):
        if isinstance(stmt, Hint) and stmt.access is not None and stmt.access.buffer == name:
            return False
        if not isinstance(stmt, Apply):
            continue
        if stmt.destination.buffer == name and stmt.op != "=":
            return False
        if any(a.buffer == name for a in accesses(stmt.value)):
            if not any(stmt is p for p in products):
                return False
            read = True
    return read


def _product(apply: Apply, known: Mapping[str, Buffer]) -> RowProduct | None:
    """The apply as such a product; None when it is another."""
    match apply:
        case Apply(op="+=", value=Op("*", (Read(a), Read(b)))) if len(apply.box) == 3:
            for weights, vector in ((a, b), (b, a)):
                found = RowProduct(apply.destination, weights, vector)
                if _shaped(found, {v.name: v.extent for v in apply.box}, known):
                    return found
    return None


def _shaped(product: RowProduct, box: Mapping[str, Expr], known: Mapping[str, Buffer]) -> bool:
    to, w, x = product.to, product.weights, product.vector
    if not all(a.buffer in known and not a.clip and a.generation is None for a in (to, w, x)):
        return False
    kept, vector, sums = known[w.buffer], known[x.buffer], known[to.buffer]
    if not _fits(kept) or any(b.dtype != "f32" or b.home != "scratch" for b in (vector, sums)):
        return False
    match w.index:
        case (Var(r), Var(i), Var(q), Var(l)):
            names = (to.index, x.index) == ((Var(r),), (Var(q), Var(l))) and i not in box
            rows, _, blocks, cells = kept.shape
            whole = box == {r: rows, q: blocks, l: cells}
            return names and whole and vector.shape == (blocks, cells) and sums.shape == (rows,)
        case _:
            return False


def row_product_of(apply: Apply, context: Context) -> RowProduct | None:
    """The product of the apply with a buffer that is kept in fewer bits."""
    match apply.value:
        case Op("*", (Read(a), Read(b))):
            for weights, vector in ((a, b), (b, a)):
                if weights.buffer in context.output.coded:
                    return RowProduct(apply.destination, weights, vector)
    return None


def emit_row_product(product: RowProduct, context: Context) -> None:
    """The call of ``runtime/coded.h``."""
    names, weights = context.names, context.place(product.weights.buffer)
    rows, groups, blocks, _ = weights.shape
    zero: dict[str, Expr] = {i.name: ZERO for i in product.to.index if isinstance(i, Var)}
    to, vector = context.place(product.to.buffer), context.place(product.vector.buffer)
    given = [
        f"{to.name} + {address(to, product.to, zero, names)}",
        f"(const char *){weights.name}",
        c_integer(rows, names),
        c_integer(product.weights.index[1], names),
        c_integer(groups, names),
        c_integer(blocks, names),
        vector.name,
        str(weights.kind.size),
    ]
    context.writer.line(f"fw_times_rows({', '.join(given)});")
