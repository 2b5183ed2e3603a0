"""A co-design study as data: a library, scenarios, what is wanted, which methods look for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

from formwright.chip.library import Library, Point
from formwright.ir.template import Template
from formwright.walls.counters import Counter
from formwright.walls.finite import FiniteScenario
from formwright.walls.problem import CodesignProblem, Coefficients, Objective, ScenarioSpec

OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)

Method = Literal[
    "fixed-hardware",
    "software-only",
    "hardware-only",
    "sequential",
    "wall-relaxation",
    "coupled",
    "sets",
    "random",
    "optuna",
    "joint",
    "joint-program",
]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""In the order of tables: the controls, the relaxations, the black boxes, the exact ones."""

RELAXATIONS: Final[tuple[Method, ...]] = ("wall-relaxation", "coupled", "sets")
SEEDED: Final[tuple[Method, ...]] = ("random", "optuna")


@dataclass(frozen=True, slots=True)
class Search:
    """``look_ahead``: menu steps that a wall is priced out; ``rounds``: purchases at most.

    ``seeds`` runs of each black-box method, ``solves`` inner problems in each.
    ``bound_seconds``: the most for one bound or exact search.
    """

    methods: tuple[Method, ...]
    look_ahead: int
    rounds: int
    seeds: int
    solves: int
    bound_seconds: float


@dataclass(frozen=True, slots=True)
class EvaluatorChoice:
    """``noise`` is relative; ``samples`` designs are ranked by model and evaluator beforehand."""

    name: str
    noise: Fraction
    samples: int


@dataclass(frozen=True, slots=True)
class NamedChip:
    """A chip that the result is compared with."""

    name: str
    point: Point
    source: str


@dataclass(frozen=True, slots=True)
class Generated:
    """Problems drawn at random, in which a set of ``hidden`` walls pays only together."""

    seeds: int
    walls: int
    hidden: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """``budgets``: ceilings on the area in mm2, ascending; ``(None,)`` where there is none.

    Either ``scenarios`` (kernels with templates) or ``programs`` (listed one by one) is empty.
    ``coefficients``: of the cost model, in place of the templates' own.
    ``counters``: what the evaluator's counters count, for a wall that the model lacks.
    ``front_tolerance``: of the front of objective and area, ``None`` where none is asked for.
    ``templates``: those of the scenarios, by the name that the study gives them.
    """

    name: str
    description: str
    library: Library
    objective: Objective
    budgets: tuple[Fraction | None, ...]
    start: Point
    reference: Point
    templates: Mapping[str, Template]
    scenarios: tuple[ScenarioSpec, ...]
    programs: tuple[FiniteScenario, ...]
    search: Search
    evaluator: EvaluatorChoice | None
    coefficients: Coefficients
    counters: tuple[Counter, ...]
    chips: tuple[NamedChip, ...]
    front_tolerance: Fraction | None
    generated: Generated | None

    def problem(self, budget: Fraction | None) -> CodesignProblem:
        """What the inner problem is built from, where ``scenarios`` are not listed programs."""
        return CodesignProblem(
            self.library,
            self.scenarios,
            self.objective,
            self.reference,
            budget,
            self.coefficients,
        )
