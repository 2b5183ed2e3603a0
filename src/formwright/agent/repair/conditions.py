"""Edits of the precondition: constraints, requirements and menus."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations, product

from formwright.agent.repair.designs import share
from formwright.agent.repair.donors import closed
from formwright.agent.repair.edits import Edit
from formwright.agent.repair.expressions import Words, neighbours, plus
from formwright.agent.repair.points import drawn
from formwright.agent.repair.walls import new_name
from formwright.ir.expr import ZERO, Arith, Compare, Expr, Var, num
from formwright.ir.rewrite import free_names, substitute
from formwright.ir.template import Constraint, Decision, Requirement, Template
from formwright.replay.expressions import divisions

SMALL = 8
"""The largest value of a menu of slots, distances and flags."""

VARIABLES = 3
"""The most decisions in one linear condition."""

SAMPLES = 64
"""Draws of decisions that say how much a condition shuts out."""

POINTS = 4_096
"""The most points of menus that a condition is counted on."""


def condition_edits(template: Template) -> Iterator[Edit]:
    """Conditions that stand in the text, changed; then such as may be missing."""
    yield from _copied(template)
    yield from _changed(template)
    for condition, size in new_conditions(template):
        yield Edit(partial(with_condition, template, condition), "conditions", (), size)
    yield from _menus(template)
    for at, constraint in enumerate(template.constraints):
        rows = (*template.constraints[:at], *template.constraints[at + 1 :])
        lines = (constraint.span.line,) if constraint.span else ()
        yield Edit(partial(replace, template, constraints=rows), "conditions", lines, 3)


def with_condition(template: Template, condition: Expr) -> Template:
    """``condition`` among the constraints, and the requirements where there are any."""
    constraints = template.constraints
    if all(c.condition != condition for c in constraints):
        constraints = (*constraints, Constraint(new_name(template, "N"), condition))
    requires = template.requires
    if requires and all(r.condition != condition for r in requires):
        taken = {r.name for r in requires}
        name = next(f"needs{n}" for n in range(1, 10_000) if f"needs{n}" not in taken)
        requires = (*requires, Requirement(name, condition))
    return replace(template, constraints=constraints, requires=requires)


def _copied(template: Template) -> Iterator[Edit]:
    """A requirement that no constraint states, and a constraint that the proof may not use."""
    for requirement in template.requires:
        stated = requirement.condition
        if with_condition(template, stated) != template:
            yield Edit(partial(with_condition, template, stated), "conditions", (), 0)
    for constraint in template.constraints:
        chip = any(n.startswith("chip.") for n in free_names(constraint.condition))
        stated = constraint.condition
        if not chip and with_condition(template, stated) != template:
            yield Edit(partial(with_condition, template, stated), "conditions", (), 0)


def _changed(template: Template) -> Iterator[Edit]:
    decisions = tuple(d.name for d in template.decisions)
    scope = template.scope
    extents = tuple(p.name for p in (*scope.extents, *scope.agents))
    chip = tuple(p.name for p in scope.chip)
    defined = tuple(d.name for d in template.definitions)
    switches = tuple(d.name for d in template.decisions if min(d.menu) == 0)
    words = Words((decisions, extents, defined, chip), switches)
    samples = list(drawn(closed(replace(template, cost=None)), 0, SAMPLES, in_menus=True))
    flat: dict[str, Expr] = {}
    for definition in template.definitions:
        flat[definition.name] = substitute(definition.value, flat)
    stated = dict.fromkeys(
        [c.condition for c in template.constraints] + [r.condition for r in template.requires]
    )
    for condition in stated:
        both = [(c.condition, c.span) for c in template.constraints]
        both += [(r.condition, r.span) for r in template.requires]
        lines = tuple(span.line for c, span in both if c == condition and span)
        for new, size in neighbours(condition, words):
            if _opens_a_wall(condition, new):
                continue
            kept = share(substitute(new, flat), samples)
            worth = 0.5 if kept == 1 else 1 - kept
            yield Edit(partial(_put, template, condition, new), "conditions", lines, size + worth)


def _opens_a_wall(old: Expr, new: Expr) -> bool:
    """A capacity of the chip stays a bound: ``x != capacity`` is none, whatever a proof needs."""
    chip = any(n.startswith("chip.") for n in free_names(old))
    return chip and isinstance(old, Compare) and isinstance(new, Compare) and new.op == "!="


def _put(template: Template, old: Expr, new: Expr) -> Template:
    """``new`` wherever ``old`` is stated."""
    return replace(
        template,
        constraints=tuple(
            replace(c, condition=new) if c.condition == old else c for c in template.constraints
        ),
        requires=tuple(
            replace(r, condition=new) if r.condition == old else r for r in template.requires
        ),
    )


def new_conditions(template: Template) -> Iterator[tuple[Expr, int]]:
    """Divisibilities of what the program divides; comparisons of decisions; linear conditions
    over slots, distances and flags, the weakest first."""
    menus = {d.name: d.menu for d in template.decisions}
    divided = {
        (a, b)
        for above, below in divisions(closed(template).program)
        for a in above & menus.keys()
        for b in below & menus.keys()
        if a != b
    }
    for a, b in sorted(divided):
        yield Compare("=", Arith("mod", Var(a), Var(b)), ZERO), 1
    for a, b in product(menus, menus):
        if a != b and (a, b) not in divided and max(menus[a]) > SMALL and max(menus[b]) > SMALL:
            yield Compare("=", Arith("mod", Var(a), Var(b)), ZERO), 2
    for a, b in product(menus, menus):
        if a != b:
            yield Compare("<=", Var(a), Var(b)), 2
    yield from linear_conditions({n: m for n, m in menus.items() if max(m) <= SMALL})


def linear_conditions(menus: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[Expr, int]]:
    """``e <= c`` with coefficients 0, 1 and -1, one condition for each set of points, those that
    allow most of the points first."""
    found: dict[tuple[tuple[str, ...], frozenset[tuple[int, ...]]], tuple[int, Expr]] = {}
    names = sorted(menus)
    for count in range(1, VARIABLES + 1):
        for several in combinations(names, count):
            points = list(product(*(menus[n] for n in several)))
            if len(points) > POINTS:
                continue
            for signs in product((1, -1), repeat=count):
                sums = [sum(s * v for s, v in zip(signs, p, strict=True)) for p in points]
                for bound in sorted(set(sums))[:-1]:
                    kept = frozenset(p for p, v in zip(points, sums, strict=True) if v <= bound)
                    if len(kept) < len(points):
                        rate = 1000 * len(kept) // len(points)
                        stated = _linear(several, signs, bound)
                        found.setdefault((several, kept), (rate, stated))
    ordered = sorted(found.values(), key=lambda item: -item[0])
    for rate, condition in ordered:
        yield condition, 1 if rate >= 750 else 2 if rate >= 500 else 3


def _linear(names: tuple[str, ...], signs: tuple[int, ...], bound: int) -> Expr:
    """``sum(signs * names) <= bound`` with each name on the side where it is added."""
    left = [Var(n) for n, s in zip(names, signs, strict=True) if s > 0]
    right = [Var(n) for n, s in zip(names, signs, strict=True) if s < 0]
    return Compare("<=", _sum(left, -bound if bound < 0 else 0), _sum(right, max(bound, 0)))


def _sum(names: list[Var], constant: int) -> Expr:
    if not names:
        return num(constant)
    total: Expr = names[0]
    for name in names[1:]:
        total = Arith("+", total, name)
    return plus(total, constant) if constant else total


def _menus(template: Template) -> Iterator[Edit]:
    """A menu without its least or its greatest value."""
    for at, decision in enumerate(template.decisions):
        if len(decision.menu) < 2:
            continue
        for menu in (decision.menu[1:], decision.menu[:-1]):
            changed = Decision(decision.name, menu, decision.extra, decision.span)
            rows = (*template.decisions[:at], changed, *template.decisions[at + 1 :])
            lines = (decision.span.line,) if decision.span else ()
            yield Edit(partial(replace, template, decisions=rows), "conditions", lines, 3)
