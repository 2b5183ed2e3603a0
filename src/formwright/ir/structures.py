"""Structures that a template declares (Table 1 of the paper): what the solver may leave out.

Each is a claim with a condition under which it holds. The condition is checked where the structure
is used; it bears on how many designs are costed, never on which one is the best.
``when`` is a further condition, over the scope alone: elsewhere nothing is claimed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class Rank:
    """Bottleneck dominance: ``by`` is never above the cost, so designs are taken by it."""

    by: Expr
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Knee:
    """Concavity: along ``decision`` some bounds of the cost fall and the others rise, so the least
    stands where they cross, or at the last value that fits."""

    decision: str
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Monotonicity: the cost moves one way with each of ``decisions``; with the capacities gone
    their best ends bound what all their values cost."""

    decisions: tuple[str, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Split:
    """Near-decomposability: ``decisions`` meet the others only at ``at``."""

    decisions: tuple[str, ...]
    at: tuple[str, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Scenarios:
    """Scenario decomposition: workloads that differ in ``extents`` share no decision but
    ``shared``, so each is solved by itself for each value of these."""

    extents: tuple[str, ...]
    shared: tuple[str, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Coarse:
    """Low effective dimension: all values of ``decisions`` cost about the same, so a range stands
    for them until the others are chosen."""

    decisions: tuple[str, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Symmetry: to swap the values of the two decisions changes nothing, so ``low <= high``."""

    low: str
    high: str
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Menu:
    """Discrete menus: the cost reads ``decision`` through ``by`` only, so values that agree in all
    of ``by`` count as one."""

    decision: str
    by: tuple[Expr, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Drop:
    """Dominance: the cost reads decisions through ``by`` only and falls with none of them, so a
    design that another is no worse than in all of them goes."""

    by: tuple[Expr, ...]
    when: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


Structure = Rank | Knee | Bounded | Split | Scenarios | Coarse | Ordered | Menu | Drop

Title = Literal[
    "bottleneck dominance",
    "concavity",
    "monotonicity",
    "near-decomposability",
    "scenario decomposition",
    "low effective dimension",
    "symmetry",
    "discrete menus",
    "dominance",
]

TITLES: dict[type, Title] = {
    Rank: "bottleneck dominance",
    Knee: "concavity",
    Bounded: "monotonicity",
    Split: "near-decomposability",
    Scenarios: "scenario decomposition",
    Coarse: "low effective dimension",
    Ordered: "symmetry",
    Menu: "discrete menus",
    Drop: "dominance",
}
"""The names of Table 1."""


def title_of(structure: Structure) -> Title:
    return TITLES[type(structure)]


def expressions_of(structure: Structure) -> tuple[Expr, ...]:
    """What it is claimed by, without its ``when``."""
    match structure:
        case Rank(by):
            return (by,)
        case Menu(_, by) | Drop(by):
            return by
        case _:
            return ()


def map_expressions(structure: Structure, f: Callable[[Expr], Expr]) -> Structure:
    """``structure`` with ``f`` of what :func:`expressions_of` gives in its place."""
    match structure:
        case Rank(by):
            return replace(structure, by=f(by))
        case Menu(_, by) | Drop(by):
            return replace(structure, by=tuple(map(f, by)))
        case _:
            return structure


def decisions_of(structure: Structure) -> tuple[str, ...]:
    """The decisions that it names outside its expressions."""
    match structure:
        case Knee(one) | Menu(one):
            return (one,)
        case Bounded(names) | Coarse(names):
            return names
        case Split(names, at):
            return (*names, *at)
        case Scenarios(_, shared):
            return shared
        case Ordered(low, high):
            return (low, high)
        case _:
            return ()
