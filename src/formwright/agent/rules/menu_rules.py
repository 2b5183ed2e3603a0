"""Menus opened, closed and tied: the same program, with another choice of designs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from formwright.agent.rules.rule import Change, Rule
from formwright.ir.expr import Expr, Var
from formwright.ir.rewrite import free_names, map_body, map_buffer, substitute
from formwright.ir.template import Decision, Template

MENU = 12
"""Values of a menu that opening goes up to."""

LARGEST = 4096


def _openings(template: Template) -> Iterator[Change]:
    for decision in template.decisions:
        wider = _wider(decision.menu)
        if wider != decision.menu:
            told = ", ".join(str(v) for v in wider if v not in decision.menu)
            yield Change(
                _with_menu(template, decision, wider),
                f"{decision.name} may be {told} too",
                costed=True,
            )


def _wider(menu: tuple[int, ...]) -> tuple[int, ...]:
    """The menu, the middles of its gaps, and one step further than its largest value.

    Multiples of the least value (whole vectors) stay multiples.
    """
    if len(menu) < 2 or menu[-1] < 2:
        return menu
    step = menu[0] if menu[0] > 0 and all(v % menu[0] == 0 for v in menu) else 1
    middles = {(a + b) // 2 for a, b in pairwise(menu)}
    further = {min(LARGEST, 2 * menu[-1] - menu[-2])}
    middles = {v for v in middles if v % step == 0}
    return tuple(sorted({*menu, *middles, *further}))[: max(MENU, len(menu))]


def _closings(template: Template) -> Iterator[Change]:
    """Halves of a menu: a decision that is settled costs the solver nothing."""
    for decision in template.decisions:
        if len(decision.menu) < 2:
            continue
        half = (len(decision.menu) + 1) // 2
        for menu in dict.fromkeys((decision.menu[:half], decision.menu[-half:])):
            told = ", ".join(map(str, menu))
            yield Change(
                _with_menu(template, decision, menu),
                f"{decision.name} is one of {told}",
                costed=True,
            )


def _with_menu(template: Template, decision: Decision, menu: tuple[int, ...]) -> Template:
    changed = replace(decision, menu=menu, extra=tuple(v for v in decision.extra if v not in menu))
    decisions = tuple(changed if d is decision else d for d in template.decisions)
    return replace(template, decisions=decisions)


def _ties(template: Template) -> Iterator[Change]:
    """Two decisions of one menu become one: coarse where a finer choice gains little."""
    for one, other in combinations(template.decisions, 2):
        if one.menu != other.menu or len(one.menu) < 2:
            continue
        yield Change(
            tied(template, one.name, other.name),
            f"{other.name} is {one.name}: one choice in the place of two",
        )


def tied(template: Template, name: str, other: str) -> Template:
    """``template`` with decision ``other`` in the place of which ``name`` stands everywhere."""
    values = {other: Var(name)}

    def f(expr: Expr) -> Expr:
        return substitute(expr, values)

    constraints = tuple(
        replace(c, condition=f(c.condition)) if other in free_names(c.condition) else c
        for c in template.constraints
    )
    return replace(
        template,
        decisions=tuple(d for d in template.decisions if d.name != other),
        definitions=tuple(replace(d, value=f(d.value)) for d in template.definitions),
        constraints=constraints,
        requires=tuple(replace(r, condition=f(r.condition)) for r in template.requires),
        program=map_body(template.program, f),
        globals=tuple(map_buffer(b, f) for b in template.globals),
        realised=tuple(replace(r, index=tuple(f(i) for i in r.index)) for r in template.realised),
        cost=None,
    )


OPEN_MENU = Rule(
    "open-menu",
    "mapping",
    "A menu gets the values between those that it has, and one further.",
    _openings,
)
CLOSE_MENU = Rule("close-menu", "schedule", "A menu keeps one half of its values.", _closings)
TIE = Rule("tie", "schedule", "Two decisions with one menu become one.", _ties)
