"""Obligations before they are discharged: what is known, and what would go wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.smt.instances import Instance
from formwright.smt.terms import Formula, Poly


@dataclass(frozen=True, slots=True)
class Actor:
    """A run that takes part in what goes wrong, for the counterexample."""

    instance: Instance
    role: str
    buffer: str


@dataclass(frozen=True, slots=True)
class Query:
    """``facts and goal`` must have no solution in the scope of the template.

    ``facts`` say that the runs happen; ``goal`` is the negated condition. ``hints`` are
    polynomials whose products the solver should compare. ``given`` are free values that the
    counterexample names (an output cell, a reduction index). ``states``, where there is one,
    is the condition as an expression over values alone, those of ``given`` included:
    ``evaluate`` settles a solution.
    """

    facts: tuple[Formula, ...]
    goal: Formula
    hints: tuple[Poly, ...] = ()
    actors: tuple[Actor, ...] = ()
    given: tuple[tuple[str, Poly], ...] = ()
    states: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """The part of the program that a goal is derived from, so that it is known before.

    ``what`` and ``named`` (places of statements) say which goal of its condition it is;
    ``kept``: places of all statements that it reads; ``ordered``: those that synchronise too;
    ``terms``: the workload too; ``shifts``: the names of the decisions too.
    """

    what: str
    named: tuple[tuple[int, ...], ...]
    kept: frozenset[tuple[int, ...]]
    ordered: bool = False
    terms: bool = False
    shifts: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """One obligation: all of its queries must be unsatisfiable.

    ``build`` raises ``UnderivableError`` where the text leaves what the rules can state.
    ``weight`` orders the work, cheap first. ``reads`` says which part of the program the goal
    is about: derived from that part alone it is the same goal (``docs/reuse.md``). ``inputs``
    is, for a goal on values, all that its queries are made of.
    """

    name: str
    group: str
    condition: str
    build: Callable[[], Sequence[Query]]
    claim: str
    weight: int = 0
    span: Span | None = field(default=None)
    reads: Reads | None = None
    inputs: Callable[[], object] | None = None
