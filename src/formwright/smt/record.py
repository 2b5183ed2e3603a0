"""Formulas of the solver's side as the data of :mod:`formwright.proof.assertions`."""

from collections.abc import Iterable
from typing import assert_never

from formwright.proof import assertions as data
from formwright.smt.atoms import Atoms
from formwright.smt.terms import All, Any, Eq, Formula, Le, Lt, Negation, Poly

Tagged = tuple[data.Role, Formula]


def statement(formula: Formula) -> data.Statement:
    """The same formula; a product becomes a name of its own."""
    match formula:
        case Le(poly):
            return _row("<=", poly)
        case Lt(poly):
            return _row("<", poly)
        case Eq(poly):
            return _row("=", poly)
        case All(parts):
            return data.All(tuple(statement(p) for p in parts))
        case Any(parts):
            return data.Any(tuple(statement(p) for p in parts))
        case Negation(part):
            return data.Not(statement(part))
        case _:
            assert_never(formula)


def _row(relation: data.Relation, poly: Poly) -> data.Row:
    constant = sum(c for m, c in poly.terms if not m)
    return data.row(relation, [(data.product(m), c) for m, c in poly.terms if m], -constant)


def record(formulas: Iterable[Tagged], atoms: Atoms) -> data.Recorded:
    """A query in the order of ``formulas``, with the sorts that ``atoms`` knows."""
    kept = [data.Assertion(role, statement(f)) for role, f in formulas]
    used = {s for a in kept for s in data.symbols(a.statement)}
    sorts: dict[str, data.Sort] = {s: "Real" if s in atoms.real else "Int" for s in used}
    return data.recorded(sorts, kept)
