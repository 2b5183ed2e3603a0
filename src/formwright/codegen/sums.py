"""Sums and maxima over the lanes of vectors: what the rows of an apply come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formwright.codegen.context import Context
from formwright.codegen.leaves import Cells, Named
from formwright.codegen.values import joined
from formwright.ir.expr import Expr
from formwright.ir.program import Apply
from formwright.ir.rewrite import accesses

AT_ONCE = 4
"""Rows whose lanes are added up together: a third of the instructions, the same bits."""

LEAST = 3
"""Fewer are added up one by one."""


@dataclass(frozen=True, slots=True)
class Summed:
    """A row: values of the names that are written out, and the C text of its vector."""

    values: Mapping[str, Expr]
    vector: str


def at_once(apply: Apply, tests: Sequence[str], context: Context) -> int:
    """How many rows are finished together, from the first on; those with a test stand alone."""
    if apply.op != "+=" or context.output.calls:
        return 1
    if any(a.buffer == apply.destination.buffer for a in accesses(apply.value)):
        return 1
    some = tests[:AT_ONCE]
    return len(some) if len(some) >= LEAST and not any(some) else 1


def neutral(apply: Apply) -> str:
    """A vector that changes nothing."""
    return "(fw_vec){0}" if apply.op == "+=" else "fw_all(-INFINITY)"


def tree(op: str, vectors: Sequence[str], context: Context) -> str:
    """Vectors put together two by two."""
    found = list(vectors)
    while len(found) > 1:
        pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
        found = [
            _both(op, pair[0], pair[1], context) if len(pair) == 2 else pair[0] for pair in pairs
        ]
    return found[0]


def _both(op: str, a: str, b: str, context: Context) -> str:
    if op == "+=":
        return joined("+", a, b, True, context.output.calls)
    return f"fw_vec_max({a}, {b})"


def finish(apply: Apply, rows: Sequence[Summed], context: Context) -> list[str]:
    """The destinations of some rows with the lanes of their vectors put together."""
    if len(rows) == 1:
        whole = "fw_sum" if apply.op == "+=" else "fw_greatest"
        return [_into(apply, f"{whole}({rows[0].vector})", rows[0].values, context)]
    vectors = [row.vector for row in rows]
    vectors += [neutral(apply)] * (AT_ONCE - len(vectors))
    lines = [f"const fw_four sums = fw_sum_of_4({', '.join(vectors)});"]
    lines += [_into(apply, f"sums[{n}]", row.values, context) for n, row in enumerate(rows)]
    return lines


def _into(apply: Apply, lanes: str, values: Mapping[str, Expr], context: Context) -> str:
    access, cells = apply.destination, Cells(context, values, Named())

    def with_old(old: str) -> str:
        if apply.op == "+=" and context.output.calls:
            return joined("+", old, lanes, False, True)
        return f"{old} + {lanes}" if apply.op == "+=" else f"fw_larger({lanes}, {old})"

    tile = context.tiles.get(access.buffer)
    if tile is not None:
        cell = cells.cell(access, tile)
        return f"{cell} = {with_old(cell)};"
    placed = cells.placed(access)
    kind, pointer = context.place(access.buffer).kind, cells.pointer(placed)
    tests = cells.tests(cells.found(placed))
    text = kind.put(pointer, with_old(kind.get(pointer)))
    return f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text
