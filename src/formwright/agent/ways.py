"""Rules one after another: how far a template gets when each rule is applied where it fits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from formwright.agent.rules import RULES, Rule, Variant
from formwright.agent.rules.menus import menu_points
from formwright.ir.template import Template

POINTS = 20_000
"""Points of all menus past which a way opens no further menu: the solver has to look at them."""

REPEATED = 6
"""How often one rule is applied on a way; each has its places, and some make new ones."""

DEVELOPING = ("keep", "hoist", "copy", "partial-results", "block-lanes", "block-rows")
"""The rules that take a plain program to one that uses vectors and registers, in their order."""


@dataclass(frozen=True, slots=True)
class Way:
    """A template with the rules that led to it, and the reasons of each."""

    template: Template
    rules: tuple[str, ...]
    why: tuple[str, ...]

    @property
    def rule(self) -> str:
        """``keep + copy + partial-results x3``."""
        counted = list[tuple[str, int]]()
        for name in self.rules:
            if counted and counted[-1][0] == name:
                counted[-1] = (name, counted[-1][1] + 1)
            else:
                counted.append((name, 1))
        return " + ".join(n if c == 1 else f"{n} x{c}" for n, c in counted)


def developed(template: Template, names: Sequence[str] = DEVELOPING) -> Iterator[Way]:
    """The way through ``names``: a template after each rule that did something, nearest first.

    Of the places where a rule fits the first one is taken, again and again.
    """
    rules = {rule.name: rule for rule in RULES}
    way = Way(template, (), ())
    for name in names:
        gone = _repeated(way, rules[name])
        if gone is not way:
            way = gone
            yield way


def _repeated(way: Way, rule: Rule) -> Way:
    for _ in range(REPEATED):
        found = _first(rule.apply(way.template), lambda v: menu_points(v.template) <= POINTS)
        if found is None:
            return way
        way = Way(found.template, (*way.rules, rule.name), (*way.why, found.why))
        if rule.name == "block-rows":  # one index for the rows of an agent; more take turns
            return way
    return way


def _first(variants: Sequence[Variant], kept: Callable[[Variant], bool]) -> Variant | None:
    return next((v for v in variants if kept(v)), None)
