"""Small values of the parameters, the smallest first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from time import thread_time

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Compare, Expr, Scalar
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
CHIP = (0, 1, 2, 4, 16, 256, 2**16, 2**31)
"""A resource (what others must not exceed) takes the last that its conditions allow."""
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

    def broken(self, known: Mapping[str, Scalar], name: str) -> frozenset[str] | None:
        """The names of a condition about ``name`` that fails; ``None``: all that can be
        judged hold."""
        for names, condition in self.about.get(name, ()):
            if names <= known.keys() and not holds(condition, known):
                return names
        return None

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
    resources = _resources(c for pairs in about.values() for _, c in pairs)
    small |= {p.name: CHIP[::-1] if p.name in resources else CHIP for p in scope.chip}
    for parameter in scope.given:
        name = parameter.name
        own = [c for names, c in about[name] if names == {name}]
        allowed = (v for v in range(GIVEN_UP_TO) if all(holds(c, {name: v}) for c in own))
        small[name] = tuple(islice(allowed, GIVEN))
    return small


def _resources(conditions: Iterable[Expr]) -> frozenset[str]:
    """Names on the greater side of a comparison with other names."""
    found: frozenset[str] = frozenset()
    for condition in conditions:
        match condition:
            case Compare("<" | "<=", less, greater) | Compare(">" | ">=", greater, less):
                found |= free_names(greater) if free_names(less) else frozenset()
            case _:
                pass
    return found


def boxes(
    around: Domain, hint: Mapping[str, Scalar], fixed: frozenset[str], deadline: float
) -> Iterator[Values]:
    """Values for every name, smaller ones first; those of ``fixed`` are as in ``hint``.

    What the systems do not use is as in ``hint`` where the conditions allow it.
    """
    longest = sum(len(_options(around, n, hint, fixed, {})) for n in around.used)
    completion = _Completed(around, hint)
    for level in range(longest + 1):
        for used in _level(around, around.used, level, {}, hint, fixed, deadline):
            yield from completion.of(used)
        if thread_time() > deadline:
            return


def drawn(around: Domain, hint: Mapping[str, Scalar], deadline: float) -> Iterator[Values]:
    """Values for every name by chance, small ones more often; the same ones in every run.

    With many names a fault that needs four of them is met sooner than level by level.
    """
    random = Random(0)
    completion = _Completed(around, hint)
    while around.used and thread_time() < deadline:
        known: Values = {}
        for name in around.used:
            options = _options(around, name, hint, frozenset(), known)
            likely = [min(random.choices(range(len(options)), k=2)) for _ in range(DRAWS)]
            for place in likely if options else ():
                now = {**known, name: options[place]}
                if around.broken(now, name) is None:
                    known = now
                    break
            else:
                break
        if len(known) == len(around.used):
            yield from completion.of(known)


DRAWS = 8
"""Tries for one name before a draw begins anew."""


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
    if thread_time() > deadline:
        return
    first, rest = names[0], names[1:]
    options = _options(around, first, hint, fixed, known)
    for place, value in enumerate(options[: level + 1]):
        now = {**known, first: value}
        if around.broken(now, first) is None:
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


class _Completed:
    """Values for the rest of the names: those of the last time where they fit."""

    def __init__(self, around: Domain, hint: Mapping[str, Scalar]) -> None:
        self._around = around
        self._hint = hint
        self._before: Values = {}

    def of(self, used: Values) -> Iterator[Values]:
        """The whole, if the conditions allow any."""
        around = self._around
        whole: Values | None = {**self._before, **used}
        fits = len(whole or ()) == len(around.used) + len(around.rest)
        if whole is None or not fits or not around.admits(whole):
            whole = _Completion(around, self._hint).fill(around.rest, used)
        if whole is not None:
            self._before = {n: whole[n] for n in around.rest}
            yield whole


class _Completion:
    """A search that goes back to a name that had a part in what failed, not just one step."""

    def __init__(self, around: Domain, hint: Mapping[str, Scalar]) -> None:
        self._around = around
        self._hint = hint
        scope = around.template.scope
        self._counted = {p.name for p in (*scope.extents, *scope.agents)}
        """The smallest is tried first; what the chip and the menus are is taken from the hint."""
        self._tries = 0
        self._blamed: frozenset[str] = frozenset()

    def fill(self, names: tuple[str, ...], known: Values) -> Values | None:
        """``None``: nothing fits, and ``_blamed`` are the names that had a part in it."""
        if not names:
            return known if self._around.admits(known) else None
        first = names[0]
        blamed: frozenset[str] = frozenset()
        for value in self._options(first, known):
            self._tries += 1
            if self._tries > COMPLETIONS:
                return None
            now = {**known, first: value}
            broken = self._around.broken(now, first)
            if broken is None:
                whole = self.fill(names[1:], now)
                if whole is not None or first not in self._blamed:
                    return whole
                broken = self._blamed
            blamed |= broken
        self._blamed = blamed - {first}
        return None

    def _options(self, name: str, known: Values) -> dict[Scalar, None]:
        hinted: list[Scalar] = [self._hint[name]] if name in self._hint else []
        options: list[Scalar] = list(_options(self._around, name, {}, frozenset(), known))
        options = [*options, *hinted] if name in self._counted else [*hinted, *options]
        return dict.fromkeys((*options, *_large(self._around, name)))


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
