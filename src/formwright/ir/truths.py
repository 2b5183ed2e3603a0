"""Conditions compared with conditions, as in ``loaded = true``: written with logic only."""

from collections.abc import Container

from formwright.ir.expr import Cell, Compare, Cond, Expr, Logic, Not, Truth, Var
from formwright.ir.rewrite import map_children


def is_condition(expr: Expr, names: Container[str]) -> bool:
    """Whether ``expr`` is a condition; ``names`` are those that stand for conditions."""
    match expr:
        case Truth() | Compare() | Logic() | Not():
            return True
        case Var(name) | Cell(name, _):
            return name in names
        case Cond(_, then, _):
            return is_condition(then, names)
        case _:
            return False


def settled(expr: Expr, names: Container[str]) -> Expr:
    """``expr`` with ``=`` and ``!=`` between conditions replaced: readers compare numbers only."""
    inner = map_children(expr, lambda e: settled(e, names))
    if not isinstance(inner, Compare) or inner.op not in ("=", "!="):
        return inner
    left, right = inner.left, inner.right
    if not (is_condition(left, names) and is_condition(right, names)):
        return inner
    if isinstance(left, Truth):
        left, right = right, left
    if isinstance(right, Truth):
        return left if right.value == (inner.op == "=") else Not(left, inner.span)
    forth, back = (Logic("=>", a, b, inner.span) for a, b in ((left, right), (right, left)))
    same = Logic("and", forth, back, inner.span)
    return same if inner.op == "=" else Not(same, inner.span)
