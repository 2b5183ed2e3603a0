"""Factors that a reduction does not change leave it: ``sum(a*c) = c*sum(a)``.

The sum goes into a register of its own; where it has ended its cell gets it, times the factor.
"""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, at, block_of, splice
from formwright.agent.rules.values import factors, is_zero, product, zero
from formwright.ir.expr import ONE, ZERO, Expr, Var
from formwright.ir.program import Access, Alloc, Apply, Buffer, For, Literal, Read, Stmt, Value
from formwright.ir.rewrite import accesses
from formwright.ir.show import show_value
from formwright.ir.template import Template
from formwright.ir.values import names_of, names_of_access
from formwright.ir.walk import Path, statements, walk

Terms = tuple[tuple[Value, bool], ...]


def _hoists(template: Template) -> Iterator[Change]:
    for path, loop in walk(template.program):
        if not isinstance(loop, For):
            continue
        for place, stmt in enumerate(loop.body):
            if isinstance(stmt, Apply) and stmt.op == "+=":
                still = _still(loop, stmt)
                begin = _begin(template, path, stmt)
                if still and begin is not None:
                    yield Change(
                        _hoisted(template, path, place, still, begin),
                        f"{show_value(product(still))} does not change over {loop.var}: it is "
                        "applied to the sum, not to its terms",
                    )


def _still(loop: For, apply: Apply) -> Terms:
    """The factors of the value that are the same in each term of the sum."""
    if apply.destination.buffer in allocated(loop.body):
        return ()
    if loop.var in names_of_access(apply.destination):
        return ()
    cells = names_of_access(apply.destination)
    summed = {loop.var} | {b.name for b in apply.box if b.name not in cells}
    written = {s.destination.buffer for s in statements(loop.body) if isinstance(s, Apply)}
    terms = factors(apply.value)
    still = tuple(
        (f, down)
        for f, down in terms
        if not isinstance(f, Literal)
        and not names_of(f) & summed
        and not any(a.buffer in written for a in accesses(f))
    )
    return still if len(still) < len(terms) else ()


def _begin(template: Template, path: Path, apply: Apply) -> int | None:
    """Where, in the loop's block, the sum begins with 0; nothing may touch it between."""
    block = block_of(template.program, path)
    for place in reversed(range(path[-1])):
        stmt = block[place]
        if isinstance(stmt, Apply) and stmt.destination.buffer == apply.destination.buffer:
            begins = stmt.op == "=" and is_zero(stmt.value)
            same = len(stmt.destination.index) == len(apply.destination.index)
            return place if begins and same else None
        if any(
            a.destination.buffer == apply.destination.buffer
            for a in statements((stmt,))
            if isinstance(a, Apply)
        ):
            return None
    return None


def _hoisted(template: Template, path: Path, place: int, still: Terms, begin: int) -> Template:
    fresh = Fresh(template)
    loop = at(template.program, path)
    assert isinstance(loop, For)
    apply = loop.body[place]
    assert isinstance(apply, Apply)
    cells = names_of_access(apply.destination)
    rows = tuple(b for b in apply.box if b.name in cells)
    shape = tuple(b.extent for b in rows) or (ONE,)
    index: tuple[Expr, ...] = tuple(Var(b.name) for b in rows) or (ZERO,)
    buffer = Buffer(fresh.name(f"{apply.destination.buffer}_sum", "sum_"), shape, "register")
    total = Access(buffer.name, index)
    moving = list(factors(apply.value))
    for term in still:
        moving.remove(term)
    inner = replace(apply, destination=total, value=product(tuple(moving)))
    body = (*loop.body[:place], inner, *loop.body[place + 1 :])
    scaled = product(((Read(total), False), *still))
    new: list[Stmt] = [
        Alloc((buffer,)),
        Apply(rows, total, "=", zero()),
        replace(loop, body=body),
        Apply(rows, apply.destination, "=", scaled),
    ]
    program = splice(template.program, path, new)
    return replace(template, program=splice(program, (*path[:-1], begin), ()))


HOIST = Rule(
    "hoist",
    "mapping",
    "A factor that is the same in all terms of a sum is applied once, to the sum.",
    _hoists,
)
