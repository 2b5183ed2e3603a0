"""Small values of the parameters, the smallest first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Expr, Scalar
from formwright.ir.inline import inlined
from formwright.ir.rewrite import children, free_names
from formwright.ir.template import Template
from formwright.replay.system import parts

Values = dict[str, Scalar]

EXTENTS = (1, 2, 3, 4, 5, 6)
AGENTS = (1, 2, 3, 4)
GIVEN_UP_TO = 64
"""The least admissible values of a given decision are looked for up to here."""
GIVEN = 5
MENU = 8
"""Values of one menu that are tried."""
CHIP = (1, 2, 4, 16, 256, 2**16, 2**31)
COMPLETIONS = 2_000
"""Tries to give the names that the systems do not use values that the conditions allow."""


@dataclass(frozen=True, slots=True)
class Domain:
    """``used``: names that the systems depend on, decisions before agents before extents.

    ``rest``: the other names of the scope. ``conditions`` (scope, given, and requirements, or
    constraints where there are none) are looked at as soon as all their names have values.
    """

    template: Template
    used: tuple[str, ...]
    rest: tuple[str, ...]
    conditions: tuple[Expr, ...]
    about: Mapping[str, tuple[tuple[frozenset[str], Expr], ...]]
    """The conditions about each name, with all their names."""
    small: Mapping[str, tuple[int, ...]]
    """Values of each name but the extents, the smallest first."""
    divisors: Mapping[str, frozenset[str]]
    """For each name above the line of a division the names below it."""

    def allows(self, known: Mapping[str, Scalar], name: str) -> bool:
        """No condition about ``name`` whose names all have values is broken."""
        return all(
            holds(c, known) for names, c in self.about.get(name, ()) if names <= known.keys()
        )

    def admits(self, values: Mapping[str, Scalar]) -> bool:
        """Every condition holds, and decisions are values of their menus."""
        menus = all(values.get(d.name) in (*d.menu, *d.extra) for d in self.template.decisions)
        return menus and all(holds(c, values) for c in self.conditions)


def holds(condition: Expr, values: Mapping[str, Scalar]) -> bool:
    """False as well where the condition has no value: such parameters refute nothing."""
    try:
        return evaluate(condition, values) is True
    except EvaluationError:
        return False


def domain(template: Template) -> Domain:
    """What may vary in ``template``, and the conditions that must hold."""
    closed = inlined(template)
    scope = closed.scope
    parameters = (*scope.extents, *scope.agents, *scope.chip, *scope.given)
    conditions = [p.condition for p in parameters if p.condition is not None]
    conditions += scope.relations
    conditions += [r.condition for r in closed.requires or closed.constraints]
    decided = [d.name for d in closed.decisions]
    order = [*decided, *(p.name for p in (*scope.given, *scope.chip, *scope.agents))]
    order += [p.name for p in scope.extents]
    in_step = [] if closed.refinement is None else list(parts.of_step(closed.refinement))
    names = parts.names_in(in_step)
    named = [(free_names(c), c) for c in conditions]
    about = {n: tuple(pair for pair in named if n in pair[0]) for n in order}
    return Domain(
        closed,
        tuple(n for n in order if n in names),
        tuple(n for n in order if n not in names),
        tuple(conditions),
        about,
        _small(closed, about),
        _divisors(in_step),
    )


def _small(
    closed: Template, about: Mapping[str, tuple[tuple[frozenset[str], Expr], ...]]
) -> dict[str, tuple[int, ...]]:
    scope = closed.scope
    small = {d.name: d.menu[:MENU] for d in closed.decisions}
    small |= {p.name: AGENTS for p in scope.agents}
    small |= {p.name: CHIP for p in scope.chip}
    for parameter in scope.given:
        name = parameter.name
        own = [c for names, c in about[name] if names == {name}]
        allowed = (v for v in range(GIVEN_UP_TO) if all(holds(c, {name: v}) for c in own))
        small[name] = tuple(islice(allowed, GIVEN))
    return small


def boxes(
    around: Domain, hint: Mapping[str, Scalar], fixed: frozenset[str], deadline: float
) -> Iterator[Values]:
    """Values for every name, smaller ones first; those of ``fixed`` are as in ``hint``.

    What the systems do not use is as in ``hint`` where the conditions allow it.
    """
    longest = sum(len(_options(around, n, hint, fixed, {})) for n in around.used)
    for level in range(longest + 1):
        for used in _level(around, around.used, level, {}, hint, fixed, deadline):
            whole = _completed(around, used, hint)
            if whole is not None:
                yield whole
        if monotonic() > deadline:
            return


def smaller(around: Domain, values: Values) -> Iterator[Values]:
    """One name less: its least value, or the one before."""
    for name in around.used:
        known = {n: v for n, v in values.items() if n != name}
        options = _options(around, name, {}, frozenset(), known)
        below = [v for v in options if v < values[name]]
        for value in dict.fromkeys((*below[:1], *below[-1:])):
            less = {**values, name: value}
            if around.admits(less):
                yield less


def _level(
    around: Domain,
    names: tuple[str, ...],
    level: int,
    known: Values,
    hint: Mapping[str, Scalar],
    fixed: frozenset[str],
    deadline: float,
) -> Iterator[Values]:
    """Values whose places in their lists add up to ``level``."""
    if not names:
        if level == 0:
            yield known
        return
    if monotonic() > deadline:
        return
    first, rest = names[0], names[1:]
    options = _options(around, first, hint, fixed, known)
    for place, value in enumerate(options[: level + 1]):
        now = {**known, first: value}
        if around.allows(now, first):
            yield from _level(around, rest, level - place, now, hint, fixed, deadline)


def _options(
    around: Domain,
    name: str,
    hint: Mapping[str, Scalar],
    fixed: frozenset[str],
    known: Mapping[str, Scalar],
) -> list[int]:
    if name in fixed and name in hint:
        return [int(hint[name])]
    small = around.small.get(name)
    return list(_extents(around, name, known) if small is None else small)


def _extents(around: Domain, name: str, known: Mapping[str, Scalar]) -> list[int]:
    """Small numbers of the parts that a division cuts the extent into, one ragged."""
    sizes = [int(known[d]) for d in around.divisors.get(name, ()) if d in known]
    size = max(sizes, default=1)
    if size <= 1:
        return list(EXTENTS)
    return [size, 2 * size, 1, size + 1, *(n * size for n in EXTENTS[2:])]


def _completed(around: Domain, used: Values, hint: Mapping[str, Scalar]) -> Values | None:
    """Values for the rest of the names, the first that the conditions allow."""
    tries = 0
    scope = around.template.scope
    counted = {p.name for p in (*scope.extents, *scope.agents)}
    """The smallest is tried first; what the chip and the menus are is taken from the hint."""

    def fill(names: tuple[str, ...], known: Values) -> Values | None:
        nonlocal tries
        if not names:
            return known if around.admits(known) else None
        first = names[0]
        hinted: list[Scalar] = [hint[first]] if first in hint else []
        options: list[Scalar] = list(_options(around, first, {}, frozenset(), known))
        options = [*options, *hinted] if first in counted else [*hinted, *options]
        options += _large(around, first)
        for value in dict.fromkeys(options):
            tries += 1
            if tries > COMPLETIONS:
                return None
            now = {**known, first: value}
            if around.allows(now, first):
                whole = fill(names[1:], now)
                if whole is not None:
                    return whole
        return None

    return fill(around.rest, used)


def _large(around: Domain, name: str) -> tuple[int, ...]:
    decision = next((d for d in around.template.decisions if d.name == name), None)
    return () if decision is None else decision.menu[MENU:]


def _divisors(about: Iterable[Expr]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    pending = list(about)
    while pending:
        part = pending.pop()
        if isinstance(part, Arith) and part.op in ("/", "//"):
            for name in free_names(part.left):
                found[name] = found.get(name, frozenset()) | free_names(part.right)
        pending += children(part)
    return found
