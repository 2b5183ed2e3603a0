"""Which decisions divide one another whatever is chosen: read from the menus, for nothing.

Where a program cuts one decision by another (``ceil(Mc/Mr)`` panels), its proof needs that the
one divides the other. Menus of powers of two say so by themselves; the solver would have to try
all pairs to see it, case by case in a query that is large anyway.
"""

from formwright.base.memo import by_identity
from formwright.ir.expr import Arith, Compare, Expr, Round, Var, num
from formwright.ir.rewrite import children, map_body
from formwright.ir.template import Template

Menus = dict[str, tuple[int, ...]]


def divisibilities(template: Template, menus: Menus) -> list[Expr]:
    """``a mod b = 0`` for the pairs that the program divides, true of all values of ``menus``."""
    return [
        Compare("=", Arith("mod", Var(a), Var(b)), num(0))
        for a, b in _divided(template)
        if a in menus
        and b in menus
        and all(w >= 1 and v % w == 0 for v in menus[a] for w in menus[b])
    ]


@by_identity
def _divided(template: Template) -> tuple[tuple[str, str], ...]:
    """Decisions that a program divides by one another, in the order of the text."""
    found: dict[tuple[str, str], None] = {}

    def note(expr: Expr) -> Expr:
        match expr:
            case Round(_, Arith("/", Var(a), Var(b))) | Arith("//" | "mod", Var(a), Var(b)):
                found[a, b] = None
            case _:
                pass
        for child in children(expr):
            note(child)
        return expr

    map_body(template.program, note)
    return tuple(found)
