"""Rules one after another: how far a template gets when each rule is applied where it fits."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from formwright.agent.rules import RULES, Rule, Variant
from formwright.agent.rules.menus import menu_points
from formwright.agent.rules.pack import steps_over_rows
from formwright.ir.template import Template

POINTS: Final = 20_000
"""Points of all menus past which no further menu is opened: the solver has to look at them."""

REPEATED: Final = 6
"""How often one rule is applied on a way; each has its places, and some make new ones."""

DEVELOPING: Final = (
    *("narrow", "unwrap", "keep", "hoist", "copy", "fuse"),
    *("partial-results", "block-lanes", "block-rows"),
)
"""The rules that take a plain program to one that keeps what it needs, uses vectors and has rows of
an agent in registers, in their order."""

IN_PANELS: Final = (
    *("narrow", "unwrap", "keep", "hoist", "copy", "fuse"),
    *("panels", "partial-results", "block-lanes", "block-rows"),
)
"""The same with panels of what several agents read by rows."""

HELPFUL: Final = {
    "core": ("keep", "hoist", "partial-results", "block-lanes", "block-rows", "open-menu"),
    "dram": ("order", "prefetch", "stream", "block-rows", "fuse", "strip"),
    "l3": ("order", "prefetch", "strip", "pack", "copy", "block-rows"),
    "l2": ("order", "pack", "copy", "strip", "split", "block-rows"),
    "l1": ("block-rows", "pack", "copy", "open-menu"),
    "barriers": ("add-slots", "fuse"),
    "cores": ("spread", "phases"),
}
"""Rules by the resource that bounds the present best."""

ANSWERING: Final = {
    "optimisation": ("close-menu", "tie"),
    "precondition": ("open-menu", "add-slots"),
}
"""Rules by the kind of a diagnosis that names no resource."""


BOLD: Final = ("meet", "add-slots")
"""Rules that leave a condition of their result open: refuted as they stand, to be repaired."""

SETTLING: Final = ("close-menu", "tie")
"""Rules that open nothing: fewer designs of the same programs."""


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

    def then(self, variant: Variant) -> "Way":
        """One step further."""
        return Way(variant.template, (*self.rules, variant.rule), (*self.why, variant.why))


def start(template: Template) -> Way:
    """The way without steps."""
    return Way(template, (), ())


def bold(template: Template) -> Iterator[Way]:
    """A rule that leaves a condition open, then the whole way from there."""
    for rule in RULES:
        if rule.name in BOLD:
            for variant in rule.apply(template):
                first = start(template).then(variant)
                end = first
                for way in developed(variant.template):
                    end = way
                if end is first:
                    yield first
                else:
                    yield Way(end.template, (*first.rules, *end.rules), (*first.why, *end.why))


def developed(template: Template, names: Sequence[str] = DEVELOPING) -> Iterator[Way]:
    """The way through ``names``: where each rule that did something led, nearest first.

    Of the places where a rule fits the first one is taken, again and again.
    """
    rules = {rule.name: rule for rule in RULES}
    way = start(template)
    for name in names:
        further = _repeated(way, rules[name], REPEATED)
        if further is not way:
            yield further
        way = further


def packed(way: Way) -> Way | None:
    """``way`` with panels in the place of what its innermost loops step over, if they do.

    Panels that come before the partial results are those of :data:`IN_PANELS`.
    """
    if not steps_over_rows(way.template):
        return None
    rules = {rule.name: rule for rule in RULES}
    further = _repeated(way, rules["pack"], 1)
    return None if further is way else further


def _repeated(way: Way, rule: Rule, most: int) -> Way:
    for _ in range(most):
        fitting = (v for v in rule.apply(way.template) if menu_points(v.template) <= POINTS)
        found = next(fitting, None)
        if found is None:
            return way
        way = way.then(found)
    return way


def steps(
    way: Way, draws: random.Random, *, level: str, helpful: Sequence[str] = ()
) -> tuple[Way, ...]:
    """One step from ``way``: helpful rules first, then those of the level, each lot as drawn.

    Every rule of a lot has its turn before one has a second. Those that only make the solver's
    work less, and those that leave a condition open, come last unless they are asked for.
    """
    most = max(POINTS, menu_points(way.template))
    found = list[tuple[tuple[bool, bool, bool, int, float], Way]]()
    for rule in RULES:
        variants = [v for v in rule.apply(way.template) if menu_points(v.template) <= most]
        draws.shuffle(variants)
        asked = rule.name in helpful
        late = rule.name in (*SETTLING, *BOLD) and not asked
        lot = (not asked, late, rule.level != level)
        found += [((*lot, n, draws.random()), way.then(v)) for n, v in enumerate(variants)]
    return tuple(further for _, further in sorted(found, key=lambda f: f[0]))


def twice(
    template: Template, draws: random.Random, *, level: str, helpful: Sequence[str] = ()
) -> Iterator[Way]:
    """Two steps, drawn: what one rule alone does not show."""
    for first in steps(start(template), draws, level=level, helpful=helpful):
        second = steps(first, draws, level=level, helpful=helpful)
        if second:
            yield second[0]
