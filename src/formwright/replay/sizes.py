"""Values small enough to interpret: a miniature of the point that a solver names.

Decisions that are sizes (tiles, panels, blocks) may go below their menus, down to 1; the
schedule's decisions (slots, distances, flags) stay as they were refuted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from random import Random

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Compare, Expr, Scalar
from formwright.ir.template import Template
from formwright.replay.expressions import divisions, has_mod, schedule_names

Values = dict[str, Scalar]

SIZE_MENU = 8
"""A decision whose menu reaches this far is a size, unless it counts slots or phases."""

REDUCTION_STEPS = 5
"""Tiles of the reduction in the first miniature: as in the paper's event model."""

DRAWS = 3_000
RANDOM_SIZES = (1, 1, 2, 2, 2, 3, 4)
RANDOM_EXTENTS = (1, 2, 3, 3, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class Family:
    """What may vary round a refutation, and the conditions that must go on to hold."""

    template: Template
    base: Values
    extents: tuple[str, ...]
    reductions: frozenset[str]
    agents: tuple[str, ...]
    sizes: tuple[str, ...]
    inner: frozenset[str]
    """Sizes that cut a reduction."""
    premises: tuple[Expr, ...]
    floors: tuple[Expr, ...]
    """Conditions of the constraints that only bound sizes: a miniature may fall below."""

    def admits(self, values: Mapping[str, Scalar], menus: bool = False) -> bool:
        """Every premise holds; with ``menus`` the bounds of sizes too."""
        conditions = (*self.premises, *self.floors) if menus else self.premises
        return all(holds(c, values) for c in conditions)

    def miniature(self, values: Mapping[str, Scalar]) -> tuple[str, ...]:
        """Sizes that have a value outside their menus, as ``Tm = 2``."""
        shown = []
        for decision in self.template.decisions:
            value = values.get(decision.name)
            if value is not None and value not in (*decision.menu, *decision.extra):
                shown.append(f"{decision.name} = {value}")
        return tuple(shown)


def holds(condition: Expr, values: Mapping[str, Scalar]) -> bool:
    """True as well when a name has no value here: it cannot be judged."""
    try:
        return evaluate(condition, values) is True
    except EvaluationError as error:
        return error.message.startswith("no value for")


def family(template: Template, base: Mapping[str, Scalar]) -> Family:
    """``template`` must be inlined. Constraints that ``base`` itself breaks are no premises."""
    scope = template.scope
    reductions = frozenset(extent for line in scope.lines for _, extent in line.reductions)
    fixed = schedule_names(template.program)
    sizes = tuple(
        d.name for d in template.decisions if max(d.menu) >= SIZE_MENU and d.name not in fixed
    )
    cuts = list(divisions(template.program))
    inner = frozenset(d for d in sizes if any(n & reductions and d in m for n, m in cuts))
    kept = [c.condition for c in template.constraints if holds(c.condition, base)]
    floors = tuple(c for c in kept if _is_bound(c))
    parameters = scope.parameters
    premises = (
        *(p.condition for p in parameters if p.condition is not None),
        *scope.relations,
        *(r.condition for r in template.requires),
        *(c for c in kept if not _is_bound(c)),
    )
    return Family(
        template,
        dict(base),
        tuple(p.name for p in scope.extents),
        reductions,
        tuple(p.name for p in scope.agents),
        sizes,
        inner,
        premises,
        floors,
    )


def _is_bound(condition: Expr) -> bool:
    """An inequality without ``mod``: a wall or a least size, not a divisibility."""
    return (
        isinstance(condition, Compare)
        and condition.op in ("<", "<=", ">", ">=")
        and not has_mod(condition)
    )


def candidates(around: Family, empty_reduction: bool) -> Iterator[Values]:
    """Small values, the standard miniature first, then ragged ones, then drawn ones.

    ``empty_reduction``: try an empty sum before anything else.
    """
    if empty_reduction:
        yield from _admitted(around, [_profile(around, 2, 0, 2, 1)])
    profiles = [
        _profile(around, 2, REDUCTION_STEPS, 2, 1),
        _profile(around, 3, REDUCTION_STEPS, 2, 1),
        _profile(around, 3, 3, 2, 2),
        _profile(around, 5, 3, 4, 2),
        _profile(around, 5, 5, 2, 2),
    ]
    yield from _admitted(around, profiles)
    yield from _admitted(around, _drawn(around))


def _admitted(around: Family, several: Iterable[Values]) -> Iterator[Values]:
    return (v for v in several if around.admits(v))


def _profile(around: Family, extent: int, reduction: int, outer: int, inner: int) -> Values:
    values = dict(around.base)
    for name in around.extents:
        values[name] = reduction if name in around.reductions else extent
    for name in around.agents:
        values[name] = 2
    for name in around.sizes:
        values[name] = inner if name in around.inner else outer
    return values


def _drawn(around: Family) -> Iterator[Values]:
    random = Random(0)
    for _ in range(DRAWS):
        values = dict(around.base)
        for name in around.extents:
            choices = (0, *RANDOM_EXTENTS) if name in around.reductions else RANDOM_EXTENTS
            values[name] = random.choice(choices)
        for name in around.agents:
            values[name] = random.choice((1, 2, 2, 3))
        for name in around.sizes:
            values[name] = random.choice(RANDOM_SIZES)
        yield values


def smaller(around: Family, values: Values) -> Iterator[Values]:
    """One step towards 1 in each of the names that may vary."""
    for name in (*around.extents, *around.agents, *around.sizes):
        current = values[name]
        if isinstance(current, int) and current > 1:
            for less in sorted({1, current - 1}):
                yield from _admitted(around, [{**values, name: less}])


def full_sizes(around: Family, values: Values) -> Iterator[Values]:
    """The miniature blown up to sizes of the menus: the least, then the refuted ones.

    Each extent grows with the size that cuts it, so that the tiles keep their number.
    """
    refuted = {name: around.base[name] for name in around.sizes}
    least = {d.name: d.menu[0] for d in around.template.decisions if d.name in around.sizes}
    for sizes in (least, refuted):
        grown = _grown(around, values, sizes)
        if not around.miniature(grown) and around.admits(grown, menus=True):
            yield grown


def _grown(around: Family, values: Values, sizes: Mapping[str, Scalar]) -> Values:
    grown = {**values, **sizes}
    cuts = list(divisions(around.template.program))
    for name in around.extents:
        by = [d for d in around.sizes if any(name in n and d in m for n, m in cuts)]
        for size in by[:1]:
            tiles = Fraction(int(values[name])) / int(values[size])
            grown[name] = ceil(tiles * int(sizes[size]))
    return grown


def products(around: Family, values: Mapping[str, Scalar]) -> int:
    """How many terms the workload has in all."""
    total = 1
    for name in around.extents:
        total *= max(1, int(values[name]))
    return total
