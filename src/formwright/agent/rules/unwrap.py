"""An index that wraps around, ``(h + c) mod H``, in two loops that do not: before and behind it.

Cells of ``h`` then lie side by side in both, where the remainder hides it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import splice
from formwright.agent.rules.values import minus, plus
from formwright.ir.expr import ZERO, Arith, Expr, Var
from formwright.ir.program import Apply, For, Stmt
from formwright.ir.rewrite import children, free_names, map_body, map_children, substitute
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.ir.values import all_accesses
from formwright.ir.walk import statements, walk

_HERE = "$here"
"""Stands for the wrapped index while the others are moved; no name of a text is like it."""


@dataclass(frozen=True, slots=True)
class _Wrap:
    """``(name + shift) mod size``."""

    whole: Expr
    shift: Expr
    size: Expr


def _unwrapped(template: Template) -> Iterator[Change]:
    for path, loop in walk(template.program):
        if not isinstance(loop, For) or loop.lo != ZERO:
            continue
        wrap = _wrap(loop)
        if wrap is None:
            continue
        turn = minus(wrap.size, wrap.shift)
        name = Var(loop.var)
        before = _with(loop.body, wrap, plus(name, wrap.shift))
        # Behind the turn the loop counts from 0, as the wrapped index does.
        later = _moved(_with(loop.body, wrap, Var(_HERE)), loop.var, plus(name, turn))
        behind = _moved(later, _HERE, name)
        parts = (replace(loop, hi=turn, body=before), replace(loop, hi=wrap.shift, body=behind))
        yield Change(
            replace(template, program=splice(template.program, path, parts)),
            f"{show_expr(wrap.whole)} without a remainder: {loop.var} before and behind the turn",
        )


def _wrap(loop: For) -> _Wrap | None:
    """The first remainder by the loop's own range in an index of its body."""
    for stmt in statements(loop.body):
        if isinstance(stmt, Apply):
            for access in all_accesses(stmt):
                for index in access.index:
                    found = _in(index, loop)
                    if found is not None:
                        return found
    return None


def _in(expr: Expr, loop: For) -> _Wrap | None:
    match expr:
        case Arith("mod", Arith("+", Var(name), shift), size) if (
            name == loop.var and size == loop.hi and loop.var not in free_names(shift)
        ):
            return _Wrap(expr, shift, size)
        case _:
            return next((w for c in children(expr) if (w := _in(c, loop)) is not None), None)


def _moved(body: tuple[Stmt, ...], name: str, index: Expr) -> tuple[Stmt, ...]:
    return map_body(body, lambda e: substitute(e, {name: index}))


def _with(body: tuple[Stmt, ...], wrap: _Wrap, index: Expr) -> tuple[Stmt, ...]:
    def change(expr: Expr) -> Expr:
        return index if expr == wrap.whole else map_children(expr, change)

    return map_body(body, change)


UNWRAP = Rule(
    "unwrap",
    "mapping",
    "An index that wraps around becomes two loops without a remainder.",
    _unwrapped,
)
