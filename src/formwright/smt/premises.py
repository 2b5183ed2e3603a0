"""What a template lets the verifier assume."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from formwright.ir.expr import Compare, Expr, Logic, Num, Var
from formwright.ir.template import Template
from formwright.smt.atoms import Atoms
from formwright.smt.divides import divisibilities
from formwright.smt.encode import truth
from formwright.smt.lazy import divisors
from formwright.smt.terms import Formula, conj, constant, disj, eq, le, symbol
from formwright.smt.ways import scope_conditions


@dataclass(frozen=True, slots=True)
class Premises:
    """``scope`` with names of ``menus``; ``conditions`` are requirements or constraints."""

    scope: tuple[Formula, ...]
    conditions: tuple[Formula, ...]
    menus: dict[str, tuple[int, ...]]
    positive: frozenset[str]

    def bounds(self) -> list[Formula]:
        """The menus as ranges: weaker than the menus, and linear."""
        return [f for name, menu in self.menus.items() for f in _range(name, menu)]

    def members(self) -> list[Formula]:
        """The menus as they stand."""
        return [_member(name, menu) for name, menu in self.menus.items()]


@lru_cache(maxsize=512)
def _range(name: str, menu: tuple[int, ...]) -> tuple[Formula, Formula]:
    return le(constant(min(menu)), symbol(name)), le(symbol(name), constant(max(menu)))


@lru_cache(maxsize=512)
def _member(name: str, menu: tuple[int, ...]) -> Formula:
    return disj(eq(symbol(name), constant(v)) for v in menu)


def scope_premises(template: Template, atoms: Atoms) -> list[Formula]:
    """The conditions of the scope: extents, agents, chip fields, relations."""
    return [truth(c, {}, atoms) for c in scope_conditions(template)]


def premises(
    template: Template,
    conditions: Iterable[Expr],
    atoms: Atoms,
    menus: dict[str, tuple[int, ...]] | None = None,
    plain_scope: bool = False,
) -> Premises:
    """Scope, menus and ``conditions`` of an inlined template, with what the menus divide.

    ``plain_scope``: of the scope only what divides by nothing, to judge the rest by.
    """
    scope = template.scope
    known = scope_conditions(template)
    if plain_scope:
        known = [c for c in known if not list(divisors(c))]
    atoms.real.update(p.name for p in scope.chip)
    chosen = {d.name: d.menu for d in template.decisions}
    chosen.update(menus or {})
    positive = {n for n, menu in chosen.items() if min(menu) >= 1}
    stated = [p.condition for p in scope.integers if p.condition is not None]
    positive |= {n for c in stated for n in _at_least_one(c)}
    assumed = list(conditions)
    if assumed:  # what the menus say anyway, where the text does not
        assumed += [c for c in divisibilities(template, chosen) if c not in assumed]
    return Premises(
        scope=tuple(truth(c, {}, atoms) for c in known),
        conditions=tuple(conj([truth(c, {}, atoms)]) for c in assumed),
        menus=chosen,
        positive=frozenset(positive),
    )


def _at_least_one(condition: Expr) -> list[str]:
    match condition:
        case Compare(">=", Var(name), Num(value)) if value >= 1:
            return [name]
        case Logic("and", left, right):
            return [*_at_least_one(left), *_at_least_one(right)]
        case Compare(">", Var(name), Num(value)) if value >= 0:
            return [name]
        case _:
            return []


def schedule_conditions(template: Template) -> list[Expr]:
    """What K2 may use: the requirements; the constraints where there are none.

    A template without a section ``requires`` states its precondition by its constraints,
    and K1 then has nothing to show.
    """
    if template.requires:
        return [r.condition for r in template.requires]
    return [c.condition for c in template.constraints]
