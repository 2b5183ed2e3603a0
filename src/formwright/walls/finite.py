"""An inner problem over programs that are listed one by one: what each needs and what it costs.

The form of the examples of section 3.1 of the paper and of its register study, where every
program was measured beforehand. Each scenario runs one of its programs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Literal

from formwright.chip.library import Box, Library, Point
from formwright.chip.library_rules import ranges
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Expr, Num, Scalar
from formwright.ir.interval import Bound, bounds
from formwright.ir.rewrite import free_names
from formwright.walls.core import NONE, Answer, Chosen, ScenarioAnswer, Walls

Joined = Literal["worst", "weighted"]
"""How scenarios join: the largest ratio, or the sum of the ratios by their weights."""


@dataclass(frozen=True, slots=True)
class Program:
    """``needs``: by field, in base units; a wall that is not named takes any value.

    ``cost`` is an expression over ``chip.NAME``, a number where it is the same on every chip.
    """

    name: str
    needs: Mapping[str, int | Fraction]
    cost: Expr


@dataclass(frozen=True, slots=True)
class FiniteScenario:
    """``reference``: the cost that ratios are taken to."""

    name: str
    programs: tuple[Program, ...]
    weight: Fraction = Fraction(1)
    reference: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class FiniteInner:
    """An :class:`~formwright.walls.core.Inner`. Of equal programs the one listed first is taken."""

    library: Library
    scenarios: tuple[FiniteScenario, ...]
    objective: Joined = "worst"
    walls: tuple[str, ...] = field(init=False)
    _places: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        named = {w for s in self.scenarios for p in s.programs for w in p.needs}
        unknown = sorted(named - {f.name for f in self.library.fields})
        if unknown:
            raise ValueError(f"programs need {', '.join(unknown)}: no fields of the library")
        object.__setattr__(
            self, "walls", tuple(f.name for f in self.library.fields if f.name in named)
        )
        object.__setattr__(self, "_places", {f.name: i for i, f in enumerate(self.library.fields)})

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that some cost reads, derived quantities opened."""
        costs = [p.cost for s in self.scenarios for p in s.programs]
        names = frozenset[str]().union(*(free_names(self.library.opened(c)) for c in costs))
        return tuple(f.name for f in self.library.fields if f"chip.{f.name}" in names)

    def solve(self, point: Point, removed: Walls = NONE) -> Answer:
        values = self._values(point)
        answers: list[ScenarioAnswer] = []
        for scenario in self.scenarios:
            legal = [p for p in scenario.programs if not self._missing(p, point, removed)]
            if not legal:
                return Answer(None, (), f"no program of scenario {scenario.name} fits the chip")
            costs = [_cost(p, values) for p in legal]
            best = legal[costs.index(min(costs))]
            answers.append(self._answer(scenario, best, point, values))
        return self._joined(answers)

    def keep(self, point: Point, software: Answer) -> Answer:
        values = self._values(point)
        answers: list[ScenarioAnswer] = []
        chosen = {s.name: s.chosen[0].template for s in software.scenarios}
        for scenario in self.scenarios:
            name = chosen.get(scenario.name)
            program = next((p for p in scenario.programs if p.name == name), None)
            if program is None:
                return Answer(None, (), f"no program was chosen for scenario {scenario.name}")
            missing = self._missing(program, point, NONE)
            if missing:
                walls = ", ".join(missing)
                return Answer(None, (), f"{program.name} of {scenario.name} does not fit: {walls}")
            answers.append(self._answer(scenario, program, point, values))
        return self._joined(answers)

    def only(self, software: Answer) -> "FiniteInner":
        """The same problem, each scenario left with its program in ``software``."""
        chosen = {s.name: s.chosen[0].template for s in software.scenarios}
        left = tuple(
            replace(s, programs=tuple(p for p in s.programs if p.name == chosen.get(s.name)))
            for s in self.scenarios
        )
        return FiniteInner(self.library, left, self.objective)

    def lower(self, box: Box) -> float:
        top = tuple(high for _, high in box)
        spans = ranges(self.library, box)
        least: list[Bound] = []
        for scenario in self.scenarios:
            costs = [
                bounds(self.library.opened(p.cost), spans).lo
                for p in scenario.programs
                if not self._missing(p, top, NONE)
            ]
            low = min(costs, default=inf)
            if low == inf:
                return inf
            least.append(low if isinstance(low, float) else Fraction(low) / scenario.reference)
        if -inf in least:
            return -inf
        exact = [Fraction(low) for low in least]
        return _down(max(exact) if self.objective == "worst" else self._weighted(exact))

    def _missing(self, program: Program, point: Point, removed: Walls) -> list[str]:
        """The walls that keep ``program`` from the chip."""
        fields, places = self.library.fields, self._places
        return [
            wall
            for wall, need in program.needs.items()
            if wall not in removed and need > fields[places[wall]].menu[point[places[wall]]]
        ]

    def _answer(
        self,
        scenario: FiniteScenario,
        program: Program,
        point: Point,
        values: Mapping[str, Scalar],
    ) -> ScenarioAnswer:
        time = _cost(program, values)
        shown = self.library.shown(point)
        slack = {w: Fraction(shown[w]) - need for w, need in program.needs.items()}
        chosen = Chosen(scenario.name, program.name, {}, time, None, 1, slack)
        return ScenarioAnswer(scenario.name, time, None, time / scenario.reference, (chosen,))

    def _joined(self, answers: Sequence[ScenarioAnswer]) -> Answer:
        ratios = [a.ratio for a in answers]
        value = max(ratios) if self.objective == "worst" else self._weighted(ratios)
        return Answer(value, tuple(answers))

    def _weighted(self, ratios: Sequence[Fraction]) -> Fraction:
        pairs = zip(self.scenarios, ratios, strict=True)
        return sum((s.weight * ratio for s, ratio in pairs), Fraction(0))

    def _values(self, point: Point) -> Mapping[str, Scalar]:
        """Nothing where no cost reads the chip: the larger part of a solve."""
        if all(isinstance(p.cost, Num) for s in self.scenarios for p in s.programs):
            return {}
        return self.library.values(point)


def _cost(program: Program, values: Mapping[str, Scalar]) -> Fraction:
    if isinstance(program.cost, Num):
        return program.cost.value
    return Fraction(evaluate(program.cost, values))


def _down(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)
