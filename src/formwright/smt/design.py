"""Conditions on designs: K1, and the derived requirements ``fits`` and ``divisor``."""

from collections.abc import Callable, Iterator, Sequence

from formwright.base.source import Span
from formwright.ir.expr import Arith, Compare, Expr, Logic, MinMax, Num, Var, num
from formwright.ir.program import Alloc, Buffer
from formwright.ir.show import show_expr
from formwright.ir.template import Requirement, Template
from formwright.ir.types import BYTES
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, truth
from formwright.smt.goals import Goal, Query
from formwright.smt.lazy import Divisor, Way
from formwright.smt.schedule import place
from formwright.smt.sites import Site, Sites
from formwright.smt.terms import Poly, negated, symbol
from formwright.smt.ways import section_divisors, step

FIELDS = {"shared": ("chip.shared_bytes", True), "register": ("chip.accumulators", False)}
"""The chip field that bounds a home, and whether it counts bytes or elements."""

OnValues = tuple[Way, tuple[str, ...], Expr]
"""A condition that must hold where the way does, for all values of some names."""


def implied_goals(template: Template, atoms: Atoms) -> Iterator[Goal]:
    """K1: each requirement follows from scope, menus and constraints."""
    for requirement in template.requires:

        def stated(requirement: Requirement = requirement) -> Sequence[OnValues]:
            return [((), (), requirement.condition)]

        claim = f"the constraints allow a design without: {show_expr(requirement.condition)}"
        name = f"implied {requirement.name}"
        yield _goal(name, "K1", "implied", stated, claim, 1, requirement.span, atoms)


def _goal(
    name: str,
    group: str,
    condition: str,
    stated: Callable[[], Sequence[OnValues]],
    claim: str,
    weight: int,
    span: Span | None,
    atoms: Atoms,
) -> Goal:
    """A goal whose queries are made of what ``stated`` gives, and of nothing else."""

    def build() -> Sequence[Query]:
        return [_on_values(way, bound, atoms, holds) for way, bound, holds in stated()]

    return Goal(name, group, condition, build, claim, weight, span, inputs=stated)


def _on_values(way: Way, bound: Sequence[str], atoms: Atoms, condition: Expr) -> Query:
    """``condition`` must hold where ``way`` does, for all values of the names in ``bound``.

    The query states it for ``evaluate`` as well, which settles a solution.
    """
    repeated = [n for n in bound if bound.count(n) > 1]
    if repeated:
        raise UnderivableError(f'"{repeated[0]}" is bound twice on one path', condition.span)
    env: dict[str, Poly] = {n: symbol(f"{n}@value") for n in bound}
    facts = tuple(truth(c, env, atoms) for c in way)
    states = condition
    for cond in reversed(way):
        states = Logic("=>", cond, states)
    given = tuple(env.items())
    return Query(facts, negated(truth(condition, env, atoms)), (), (), given, states)


def fits_goals(template: Template, sites: Sites, atoms: Atoms) -> Iterator[Goal]:
    """What lives together in one home is no larger than the chip's field.

    One goal for each ``alloc``, with what is alive above it. ``shared`` is always bounded: a
    program that allocates there needs the field in its scope. ``register`` is bounded where
    the scope names ``accumulators``; ``scratch`` is not.
    """
    known = {p.name for p in template.scope.chip}
    for home, (name, in_bytes) in FIELDS.items():
        if name not in known and home != "shared":
            continue
        titles: set[str] = set()
        for site in _largest(sites.allocs, home):
            buffers = _alive(site, home)
            states = Compare("<=", footprint(buffers, in_bytes), Var(name))

            def stated(
                name: str = name, states: Expr = states, site: Site = site
            ) -> Sequence[OnValues]:
                if name not in known:
                    raise UnderivableError(f"{name} is not in the scope: no room is promised")
                return [(*way_to(site), states)]

            shown = ", ".join(b.name for b in buffers)
            claim = f"{shown} together are larger than {name}"
            title = f"fits {home} {shown}"
            title = f"{title} {place(site)}" if title in titles else title
            titles.add(title)
            yield _goal(title, "derived", "fits", stated, claim, 1, site.span, atoms)


def extent_goals(sites: Sites, atoms: Atoms) -> Iterator[Goal]:
    """No extent of an ``alloc`` is negative: it would be room for others in ``fits``."""
    for site in sites.allocs:
        for buffer in _of(site):
            for size in dict.fromkeys(buffer.shape):
                if isinstance(size, Num) and size.value >= 0:
                    continue

                def stated(size: Expr = size, site: Site = site) -> Sequence[OnValues]:
                    return [(*way_to(site), Compare(">=", size, num(0)))]

                claim = f"the extent {show_expr(size)} of {buffer.name} is negative"
                title = f"fits extent {show_expr(size)} of {buffer.name} {place(site)}"
                yield _goal(title, "derived", "fits", stated, claim, 0, buffer.span, atoms)


def _of(site: Site) -> tuple[Buffer, ...]:
    assert isinstance(site.node, Alloc)
    return site.node.buffers


def _alive(site: Site, home: str) -> list[Buffer]:
    return [h.buffer for h in site.homes.values() if h.buffer.home == home]


def _largest(allocs: Sequence[Site], home: str) -> list[Site]:
    """The sites of ``alloc`` that add to a home; the last of a block speaks for all of it."""
    mine = [s for s in allocs if any(b.home == home for b in _of(s))]
    blocks = {s.path[:-1]: s for s in mine}
    return list(blocks.values())


def way_to(site: Site) -> tuple[Way, tuple[str, ...]]:
    """What holds where a statement stands, and the names that the way binds."""
    frames = site.frames[:-1]
    way = tuple(c for f in frames for c in step(f.node))
    return way, tuple(n for f in frames for n in f.binds())


def footprint(buffers: Sequence[Buffer], in_bytes: bool) -> Expr:
    """The bytes (or elements) of ``buffers`` together, all slots of a ring counted."""
    total: Expr | None = None
    for buffer in buffers:
        size: Expr = num(BYTES[buffer.dtype] if in_bytes else 1)
        for extent in (*([buffer.ring] if buffer.ring is not None else []), *buffer.shape):
            size = Arith("*", size, extent)
        total = size if total is None else Arith("+", total, size)
    return total or num(0)


def divisor_goals(
    template: Template, atoms: Atoms, section: str, positive: frozenset[str]
) -> Iterator[Goal]:
    """Each divisor of a section is at least 1 (positive for an exact division)."""
    found: dict[Expr, dict[Divisor, None]] = {}
    for divisor in section_divisors(template, section):
        found.setdefault(divisor.expr, {})[divisor] = None
    for expr, places in found.items():

        def stated(
            expr: Expr = expr, places: Sequence[Divisor] = tuple(places)
        ) -> Sequence[OnValues]:
            plain = _is_positive(expr, positive)
            found: dict[tuple[Way, Expr], OnValues] = {}
            for at in places:
                way, bound = ((), ()) if plain else (at.way, at.bound)
                least = Compare(">", expr, num(0)) if at.exact else Compare(">=", expr, num(1))
                found[way, least] = (way, bound, least)
            return list(found.values())

        shown = show_expr(expr)
        claim = f"the divisor {shown} is below 1"
        name = f"divisor {shown} in {section}"
        yield _goal(name, "derived", "divisor", stated, claim, 0, expr.span, atoms)


def _is_positive(expr: Expr, positive: frozenset[str]) -> bool:
    """At least 1 whatever stands around it: then the way to it need not be told."""
    match expr:
        case Num(value):
            return value >= 1
        case Var(name):
            return name in positive
        case Arith("*" | "+", a, b):
            return _is_positive(a, positive) and _is_positive(b, positive)
        case MinMax(_, args):
            return all(_is_positive(a, positive) for a in args)
        case _:
            return False
