"""Designs as an evaluator sees them, beside what the cost model says of them.

Each design is evaluated once on each chip; the model's figures are computed anew, since the model
may change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, log

from formwright.chip.library import Point
from formwright.ir.expr import Scalar
from formwright.ir.floats import Code, floats
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.milp.problem import objective_expression, plain
from formwright.simulate.evaluator import Evaluation, Evaluator
from formwright.walls.core import Answer
from formwright.walls.counters import Counter, counted
from formwright.walls.problem import CodesignProblem, Kernel


@dataclass(frozen=True, slots=True)
class Design:
    """A kernel's design on a chip, and how a message names it."""

    kernel: str
    template: str
    assignment: Mapping[str, int]
    point: Point

    @property
    def key(self) -> tuple[object, ...]:
        return (self.kernel, self.template, tuple(sorted(self.assignment.items())), self.point)


@dataclass(frozen=True, slots=True)
class Seen:
    """A design with the evaluator's figures, in the units of the template's cost."""

    design: Design
    evaluation: Evaluation


@dataclass(slots=True)
class Observer:
    """``problem`` names the kernels; ``evaluator`` is asked once for a design and chip."""

    problem: CodesignProblem
    evaluator: Evaluator
    known: dict[tuple[object, ...], Seen] = field(default_factory=dict)

    def see(self, design: Design) -> Seen:
        if design.key not in self.known:
            kernel = kernels(self.problem)[design.kernel]
            chip = self.problem.library.values(design.point)
            found = self.evaluator.evaluate(
                design.template, kernel.extents, design.assignment, chip
            )
            self.known[design.key] = Seen(design, found)
        return self.known[design.key]


def kernels(problem: CodesignProblem) -> dict[str, Kernel]:
    """Every kernel of the scenarios, by name."""
    return {k.name: k for s in problem.scenarios for k, _ in s.works}


def templates(problem: CodesignProblem) -> dict[str, Template]:
    """Every template of the kernels, by name."""
    return {t.name: t for k in kernels(problem).values() for t in k.templates}


def designs_of(point: Point, answer: Answer) -> list[Design]:
    """The designs that ``answer`` chose at ``point``, each once."""
    found = {
        d.key: d
        for s in answer.scenarios
        for c in s.chosen
        for d in (Design(c.work, c.template, c.assignment, point),)
    }
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of one design as functions of the coefficients alone."""

    time: Code
    energy: Code | None


def figures(template: Template, values: Mapping[str, Scalar]) -> Figures:
    """The cost model of ``template`` at one design and chip; coefficients stay open."""
    cost = inlined(template).cost
    if cost is None:
        raise ValueError(f"{template.name} has no cost")
    energy = None if cost.energy is None else floats(folded(cost.energy, values))
    return Figures(floats(folded(objective_expression(cost.bounds), values)), energy)


Present = Mapping[str, float]
"""Coefficients of one template, by name."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An observation and the model of it: what refits are fitted to.

    ``counted``: what the study says the evaluator's counters count of the design.
    """

    seen: Seen
    figures: Figures
    counted: Mapping[str, Fraction]

    def errors(self, present: Present) -> list[float]:
        """``log(predicted / evaluated)`` of the time and, where both know one, of the energy."""
        return [log_ratio(predicted, evaluated) for predicted, evaluated in self.pairs(present)]

    def pairs(self, present: Present) -> list[tuple[float, float]]:
        """Predicted and evaluated: of the time, then of the energy where both know one."""
        found = [(self.time(present), float(self.seen.evaluation.time))]
        if self.figures.energy is not None and self.seen.evaluation.energy is not None:
            found.append((self.figures.energy(present), float(self.seen.evaluation.energy)))
        return found

    def time(self, present: Present) -> float:
        return self.figures.time(present)


def log_ratio(predicted: float, evaluated: float) -> float:
    """0 where both are 0; a figure that only one side has is off by a large but finite factor."""
    tiny = exp(-50.0)
    return log(max(predicted, tiny) / max(evaluated, tiny))


def compare(
    problem: CodesignProblem, seen: Iterable[Seen], counters: Sequence[Counter] = ()
) -> dict[str, list[Compared]]:
    """Observations by template, with the model that ``problem`` holds."""
    known, named = kernels(problem), templates(problem)
    found: dict[str, list[Compared]] = {}
    for each in seen:
        design = each.design
        chip, extents = problem.library.values(design.point), known[design.kernel].extents
        values = plain({**chip, **extents, **design.assignment})
        shape = figures(named[design.template], values)
        said = counted(counters, design.template, values)
        found.setdefault(design.template, []).append(Compared(each, shape, said))
    return found


def present_of(problem: CodesignProblem, template: str) -> dict[str, Fraction]:
    """The coefficients that the problem gives ``template``, defaults where it says nothing."""
    cost = templates(problem)[template].cost
    defaults = {} if cost is None else {c.name: c.default for c in cost.coefficients}
    return {**defaults, **problem.coefficients.get(template, {})}


def as_floats(present: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(value) for name, value in present.items()}


def all_errors(rows: Sequence[Compared], present: Present) -> list[float]:
    return [e for row in rows for e in row.errors(present)]
