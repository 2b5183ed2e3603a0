"""Chip and software in one mixed-integer program, as in section 3.1 of the paper.

One binary for each menu value of each field, one for each design of each work at each
combination of the values that costs read; a design of a work is taken where its wall admits it
and the combination is the chip's. Solved by HiGHS, whose bound is a float; the chip it names is
solved again exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import inf
from typing import Protocol, runtime_checkable

import numpy as np

from formwright.chip.library import Box, Library, Point
from formwright.ir.expr import Var
from formwright.milp.highs import Arrays, minimise
from formwright.walls.areas import Areas, formula
from formwright.walls.attempt import Attempt
from formwright.walls.counting import Counted
from formwright.walls.outcome import Outcome

MOST_COLUMNS = 250_000
"""Columns of a model that HiGHS is given."""


@dataclass(frozen=True, slots=True)
class Design:
    """One design of a work at given values of the fields that costs read.

    ``cost`` in the work's unit. ``needs``: the least ``chip.WALL`` that admits it, by the name
    of a field or a derived quantity.
    """

    cost: Fraction
    needs: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class JointWork:
    """``shares``: what one unit of the work's cost adds to the ratio of a scenario, by name."""

    name: str
    shares: Mapping[str, Fraction]


@runtime_checkable
class Tables(Protocol):
    """What the program over both sides needs to see of an inner problem."""

    @property
    def works(self) -> Sequence[JointWork]: ...

    @property
    def weights(self) -> Mapping[str, Fraction] | None:
        """Of the scenarios' ratios; ``None`` where the objective is the largest of them."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that some cost, or some need of a wall, reads."""
        ...

    def designs(self, work: str, places: Mapping[str, int]) -> Sequence[Design]:
        """Those worth taking at these places of ``reads``: every best one is among them."""
        ...


def joint_program(
    inner: Counted, tables: Tables, budget: Fraction | None = None, seconds: float = 60.0
) -> Outcome:
    """The best chip within ``budget`` (mm2), by one program, in at most ``seconds``."""
    attempt = Attempt("joint program", inner, budget)
    box = attempt.areas.cut(inner.library.whole, budget)
    if box is None:
        return attempt.outcome(note="no chip is within the budget")
    try:
        model = _Model(inner.library, box, tables, budget)
    except _TooLargeError as error:
        return attempt.outcome(note=f"not run: {error}")
    answer = minimise(model.arrays(), seconds)
    size = f"{model.columns} columns, {len(model.rows)} rows"
    if answer.status == "infeasible":
        return attempt.outcome(note=f"no chip within the budget has a program ({size})")
    if answer.values is not None:
        point = model.chip(answer.values.tolist())
        if attempt.admits(point):
            attempt.solve(point)
    bound = None if answer.bound in (inf, -inf) else Fraction(answer.bound)
    if bound is not None and attempt.objective is not None:
        bound = min(bound, attempt.objective)
    notes = [size, "bound by HiGHS, in floating point", answer.reason]
    return attempt.outcome(bound=bound, note="; ".join(n for n in notes if n))


class _TooLargeError(Exception):
    pass


_Form = dict[int, float]


@dataclass(slots=True)
class _Model:
    library: Library
    box: Box
    tables: Tables
    budget: Fraction | None
    areas: Areas = field(init=False)
    columns: int = 0
    binary: list[bool] = field(default_factory=list)
    rows: list[tuple[float, float, _Form]] = field(default_factory=list)
    menus: list[dict[int, int]] = field(default_factory=list)
    """By field: the column of each place of its menu that ``box`` holds."""
    chosen: dict[tuple[int, ...], dict[Point, int]] = field(default_factory=dict)
    """By fields: the column of each combination of their places."""
    objective: int = 0

    def __post_init__(self) -> None:
        self.areas = Areas(self.library)
        self.objective = self.column(False)
        self.menus = [
            {place: self.column(True) for place in range(low, high + 1)} for low, high in self.box
        ]
        for menu in self.menus:
            self.row(dict.fromkeys(menu.values(), 1.0), 1, 1)
        self.within_budget()
        self.within_rules()
        self.scenarios()

    def column(self, binary: bool) -> int:
        if self.columns >= MOST_COLUMNS:
            raise _TooLargeError(f"the program has more than {MOST_COLUMNS} columns")
        self.binary.append(binary)
        self.columns += 1
        return self.columns - 1

    def row(self, form: _Form, low: float, high: float) -> None:
        size = max(map(abs, form.values()), default=1.0) or 1.0
        self.rows.append((low / size, high / size, {c: v / size for c, v in form.items()}))

    def combinations(self, fields: tuple[int, ...]) -> dict[Point, int]:
        """A column for each combination of places of ``fields``: 1 for the chip's, 0 else.

        Continuous: sums along each field equal its menu columns, which leaves no other value.
        """
        if fields in self.chosen:
            return self.chosen[fields]
        found: dict[Point, int]
        if len(fields) == 1:
            found = {(place,): column for place, column in self.menus[fields[0]].items()}
        else:
            places = product(*(self.menus[i] for i in fields))
            found = {each: self.column(False) for each in places}
            for nth, i in enumerate(fields):
                for place, menu in self.menus[i].items():
                    form = {c: 1.0 for each, c in found.items() if each[nth] == place}
                    self.row({**form, menu: -1.0}, 0, 0)
            if not fields:
                self.row({found[()]: 1.0}, 1, 1)
        self.chosen[fields] = found
        return found

    def within_budget(self) -> None:
        if self.budget is None:
            return
        form: _Form = {}
        for term in self.areas.terms:
            for places, column in self.combinations(term.reads).items():
                form[column] = form.get(column, 0.0) + float(term.at(places))
        limit = float(self.budget)
        self.row(form, -inf, limit + 1e-9 * abs(limit))

    def within_rules(self) -> None:
        for rule in self.areas.rules:
            for places, column in self.combinations(rule.reads).items():
                if not rule.at(places):
                    self.row({column: 1.0}, 0, 0)

    def scenarios(self) -> None:
        fields = tuple(self.library.index(name) for name in self.tables.reads)
        costs: dict[str, _Form] = {}
        for work in self.tables.works:
            cost = self.work(work.name, fields)
            for scenario, share in work.shares.items():
                form = costs.setdefault(scenario, {})
                form.update({column: float(value * share) for column, value in cost.items()})
        weights = self.tables.weights
        if weights is None:
            for form in costs.values():
                self.row({**form, self.objective: -1.0}, -inf, 0)
            return
        total: _Form = {self.objective: -1.0}
        for scenario, form in costs.items():
            for column, value in form.items():
                total[column] = total.get(column, 0.0) + float(weights[scenario]) * value
        self.row(total, -inf, 0)

    def work(self, name: str, fields: tuple[int, ...]) -> dict[int, Fraction]:
        """The columns of the designs of a work with their costs; their rows."""
        costs: dict[int, Fraction] = {}
        needs: dict[str, list[tuple[Fraction, int]]] = {}
        for places, chip in self.combinations(fields).items():
            known = dict(zip(self.tables.reads, places, strict=True))
            taken: _Form = {chip: -1.0}
            for design in self.tables.designs(name, known):
                column = self.column(True)
                costs[column] = design.cost
                taken[column] = 1.0
                for wall, need in design.needs.items():
                    needs.setdefault(wall, []).append((need, column))
            self.row(taken, 0, 0)
        for wall, pairs in needs.items():
            self.wall(wall, pairs)
        return costs

    def wall(self, wall: str, pairs: list[tuple[Fraction, int]]) -> None:
        """Designs that need ``t`` or more are taken only where the wall is at ``t`` or more."""
        value = formula(self.library, Var(f"chip.{wall}"))
        stands = sorted(
            ((Fraction(value.at(p)), c) for p, c in self.combinations(value.reads).items()),
            reverse=True,
        )
        pairs = sorted(pairs, reverse=True)
        levels = sorted({need for need, _ in pairs})
        for level in levels:
            if level <= stands[-1][0]:
                continue
            form: _Form = {column: 1.0 for need, column in pairs if need >= level}
            for stand, column in stands:
                if stand >= level:
                    form[column] = form.get(column, 0.0) - 1.0
            self.row(form, -inf, 0)

    def chip(self, values: Sequence[float]) -> Point:
        """The place of each field whose column is 1."""
        return tuple(
            max((values[column], -place) for place, column in menu.items())[1] * -1
            for menu in self.menus
        )

    def arrays(self) -> Arrays:
        cost, lows, highs = np.zeros(self.columns), np.zeros(self.columns), np.ones(self.columns)
        cost[self.objective], highs[self.objective] = 1.0, inf
        return Arrays(
            cost=cost,
            lows=lows,
            highs=highs,
            integer=np.array(self.binary, dtype=bool),
            row_lows=np.array([low for low, _, _ in self.rows], dtype=float),
            row_highs=np.array([high for _, high, _ in self.rows], dtype=float),
            starts=np.cumsum([0, *(len(form) for _, _, form in self.rows)], dtype=np.int32),
            index=np.array([c for _, _, form in self.rows for c in form], dtype=np.int32),
            value=np.array([v for _, _, form in self.rows for v in form.values()], dtype=float),
        )
