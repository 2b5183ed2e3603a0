"""What a co-design asks: kernels of scenarios, a library of chips, what is to be least.

A kernel is one piece of work (an operator at its extents) with the templates that may do it. A
scenario runs its works one after another, each as often as its count. Times have the unit of the
templates' cost, energies the unit of its ``energy`` line; all templates of a problem share both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from formwright.chip.library import Library, Point
from formwright.ir.template import Template

Objective = Literal["worst", "weighted", "energy-delay"]
"""``worst``: the largest ratio of a scenario's time to its time at the reference. ``weighted``:
the sum of the ratios, each times the scenario's weight. ``energy-delay``: the sum of all energies
times the sum of all times, over all works of all scenarios with their counts and weights."""

Coefficients = Mapping[str, Mapping[str, Fraction]]
"""By template and coefficient; those that are not given have the template's defaults."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """``extents``: every integer of the scope that the templates read, by name (extents, agents,
    ``bytes.X``). A template whose scope excludes them takes no part."""

    name: str
    templates: tuple[Template, ...]
    extents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """Further requirements of a scenario, each ``None`` where there is none.

    ``power``: the most energy per time, in the templates' units (energy unit per time unit).
    ``rate``: the least tokens per time unit.
    """

    power: Fraction | None = None
    rate: Fraction | None = None


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """``works``: kernels with their counts, the names of the kernels distinct. ``tokens`` are what
    one run of the scenario yields, for a rate."""

    name: str
    works: tuple[tuple[Kernel, int], ...]
    weight: Fraction = Fraction(1)
    tokens: int | None = None
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class CodesignProblem:
    """``reference``: the chip whose best software has the ratio 1 in every scenario.

    ``budget_area`` in mm2, ``None`` for no ceiling.
    """

    library: Library
    scenarios: tuple[ScenarioSpec, ...]
    objective: Objective
    reference: Point
    budget_area: Fraction | None
    coefficients: Coefficients = field(default_factory=dict)
