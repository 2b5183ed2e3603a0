"""Values small enough to run a program at in a few milliseconds, drawn from its scope."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from random import Random

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Compare, Expr, Num, Scalar
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.replay.expressions import divisions

Values = dict[str, Scalar]

LARGE = 8
"""A decision whose menu reaches this far is a size, and may fall below its menu."""

SIZES = (1, 2, 2, 2, 3, 4)
EXTENTS = (1, 2, 2, 3, 3, 4, 5)
VOLUME = 800
"""The most that extents, one more than each, may be multiplied: agents and terms grow with it."""

LARGER = (1, 3, 4, 5, 6, 7, 9)


def drawn(
    template: Template, seed: int, count: int, larger: bool = False, in_menus: bool = False
) -> Iterator[Values]:
    """``count`` draws over the extents, agents and menus of an inlined template; conditions of
    its constraints and requirements are not looked at, those of its scope are."""
    random = Random(seed)
    reach = LARGER if larger else EXTENTS
    menus = {d.name: d.menu for d in template.decisions}
    sizes = set() if in_menus else {n for n, m in menus.items() if max(m) >= LARGE}
    pairs = multiples(template, sizes)
    scope = template.scope
    stated = [p.condition for p in (*scope.extents, *scope.agents) if p.condition is not None]
    stated += [r for r in scope.relations if not _of_chip(r)]
    given: Values = {p.name: 4 for p in scope.sizes}
    for _ in range(count):
        values: Values = dict(given)
        for name, menu in menus.items():
            values[name] = random.choice(SIZES if name in sizes else menu)
        for above, below in pairs:
            values[above] = int(values[below]) * random.choice((1, 1, 2))
        values.update((p.name, random.choice(reach)) for p in scope.extents)
        values.update((p.name, random.choice((1, 2, 2, 3))) for p in scope.agents)
        volume = prod(1 + int(values[p.name]) for p in scope.extents)
        if volume <= VOLUME and all(holds(c, values) for c in stated):
            yield values


def multiples(template: Template, sizes: set[str]) -> list[tuple[str, str]]:
    """Pairs that the program divides and whose menus always divide: so do their miniatures."""
    menus = {d.name: d.menu for d in template.decisions}
    found = []
    for above, below in divisions(template.program):
        for a in sorted(above & sizes):
            for b in sorted(below & sizes):
                if a != b and all(x % y == 0 for x in menus[a] for y in menus[b]):
                    found.append((a, b))
    return list(dict.fromkeys(found))


def premises(template: Template) -> list[Expr]:
    """What must hold where a run is to be right: the requirements, or the constraints where there
    are none; least sizes, which a miniature falls below, and walls are left out."""
    if template.requires:
        return [r.condition for r in template.requires]
    found = [c.condition for c in template.constraints]
    return [c for c in found if not _of_chip(c) and not _is_floor(c)]


def _of_chip(condition: Expr) -> bool:
    return any(n.startswith("chip.") for n in free_names(condition))


def _is_floor(condition: Expr) -> bool:
    match condition:
        case Compare(">=" | ">", _, Num(value)):
            return value > LARGE
        case Compare("<=" | "<", Num(value), _):
            return value > LARGE
        case _:
            return False


def holds(condition: Expr, values: Mapping[str, Scalar]) -> bool:
    """True as well where a name has no value: it cannot be judged here."""
    try:
        return evaluate(condition, values) is True
    except EvaluationError as error:
        return error.message.startswith("no value for")


def admitted(conditions: Sequence[Expr], values: Mapping[str, Scalar]) -> bool:
    """Every one of ``conditions`` holds."""
    return all(holds(c, values) for c in conditions)
