"""A hardware library: a chip whose fields are menus, with areas and energies.

A :data:`Point` is one chip of the library: a place in the menu of each field, in the order of
``Library.fields``. A :data:`Box` is a range of places for each field, both ends included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal

from formwright.base.quantities import Dimension
from formwright.ir.evaluate import evaluate, truth
from formwright.ir.expr import Expr, Scalar, Var
from formwright.ir.rewrite import free_names, substitute

Role = Literal["capacity", "throughput", "both", "fixed"]
"""``capacity``: a wall, more of it only admits more programs, at a cost per program that does not
depend on it. ``throughput``: changes what a program costs. ``both``: a wall that changes costs too.
``fixed``: one value, no decision."""

Point = tuple[int, ...]
Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MenuField:
    """``menu`` ascends, in base units. ``source`` says where the menu comes from."""

    name: str
    dimension: Dimension
    menu: tuple[int | Fraction, ...]
    role: Role
    start: int
    source: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """A quantity computed from fields and earlier derived ones; templates read ``chip.NAME``."""

    name: str
    value: Expr
    source: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition among fields, such as ``blocks <= warps``."""

    name: str
    condition: Expr
    source: str = ""


@dataclass(frozen=True, slots=True)
class AreaTerm:
    """A summand of the area, in mm2. ``error`` says how well the formula fits its source."""

    name: str
    value: Expr
    source: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """Expressions name fields and derived quantities as ``chip.NAME``.

    ``unmodelled``: fields whose area is not modelled, with the reason; they have one value.
    """

    name: str
    description: str
    fields: tuple[MenuField, ...]
    derived: tuple[Derived, ...]
    rules: tuple[Rule, ...]
    area_terms: tuple[AreaTerm, ...]
    unmodelled: Mapping[str, str]

    @property
    def size(self) -> int:
        """Chips in the product of the menus, those that break a rule included."""
        return prod(len(field.menu) for field in self.fields)

    @property
    def start(self) -> Point:
        return tuple(field.start for field in self.fields)

    @property
    def whole(self) -> Box:
        return tuple((0, len(field.menu) - 1) for field in self.fields)

    def index(self, name: str) -> int:
        """The place of the field of that name in points and boxes."""
        return next(i for i, field in enumerate(self.fields) if field.name == name)

    def opened(self, expr: Expr) -> Expr:
        """``expr`` with derived quantities put in their places: it reads fields only."""
        done: dict[str, Expr] = {}
        for each in self.derived:
            done[f"chip.{each.name}"] = substitute(each.value, done)
        return substitute(expr, done)

    def reads(self, name: str) -> tuple[str, ...]:
        """The fields behind ``chip.NAME``: itself, or those that the derived quantity reads."""
        found = free_names(self.opened(Var(f"chip.{name}")))
        return tuple(f.name for f in self.fields if f"chip.{f.name}" in found)

    def values(self, point: Point) -> dict[str, Scalar]:
        """Every ``chip.NAME`` of the chip at ``point``, derived ones included."""
        found: dict[str, Scalar] = {
            f"chip.{f.name}": f.menu[i] for f, i in zip(self.fields, point, strict=True)
        }
        for each in self.derived:
            found[f"chip.{each.name}"] = evaluate(each.value, found)
        return found

    def broken(self, point: Point) -> tuple[str, ...]:
        """The rules that the chip at ``point`` breaks, by name."""
        values = self.values(point)
        return tuple(r.name for r in self.rules if not truth(r.condition, values))

    def area(self, point: Point) -> Fraction:
        """In mm2: the sum of the terms."""
        return sum(self.area_by_term(point).values(), Fraction(0))

    def area_by_term(self, point: Point) -> dict[str, Fraction]:
        """In mm2, by the name of the term."""
        values = self.values(point)
        return {t.name: Fraction(evaluate(t.value, values)) for t in self.area_terms}

    def stepped(self, point: Point, name: str, steps: int) -> Point | None:
        """The chip with field ``name`` ``steps`` menu places further; ``None`` past an end."""
        at = self.index(name)
        place = point[at] + steps
        if not 0 <= place < len(self.fields[at].menu):
            return None
        return (*point[:at], place, *point[at + 1 :])

    def shown(self, point: Point) -> dict[str, Scalar]:
        """The values of the menu fields by plain name, in base units."""
        return {f.name: f.menu[i] for f, i in zip(self.fields, point, strict=True)}
