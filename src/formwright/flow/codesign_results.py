"""What a co-design study gives back: plain data, each part with the number of its journal entry.

Objectives are ratios (``worst``, ``weighted``) or energy times time in the templates' units;
areas are mm2. ``entry`` is the line of ``journal.jsonl`` (from 0) that the numbers come from.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Values = dict[str, int | float]
"""The fields of a chip in base units, whole numbers where they are."""

Steps = dict[str, tuple[int | float, int | float]]
"""Fields that changed: value before, value after."""


@dataclass(frozen=True, slots=True)
class DesignRow:
    """One work's design. ``evaluated``: the evaluator's time; ``None`` where there is none."""

    work: str
    template: str
    assignment: dict[str, int]
    count: int
    time: float
    energy: float | None
    evaluated: float | None


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """``alone``: the ratio on the best chip for this scenario only, under the same ceiling;
    ``loses``: what sharing the chip costs it, as a part of that; ``alone_note``: why that chip
    may not be the best."""

    name: str
    time: float
    energy: float | None
    ratio: float
    alone: float | None
    loses: float | None
    designs: tuple[DesignRow, ...]
    entry: int
    alone_note: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """A scenario before and after a purchase, in the templates' units; ``None`` where there was
    no program before, or where no energy is stated."""

    scenario: str
    time_before: float | None
    time: float
    energy_before: float | None
    energy: float | None


@dataclass(frozen=True, slots=True)
class PurchaseRow:
    """One purchase: ``area`` that it adds, ``predicted`` drop of the objective, ``price`` drop per
    mm2; ``None`` where there was no program before. ``evaluated``: the drop on the evaluator,
    ``verdict`` what was made of the two. ``objective`` and ``total_area`` hold after it."""

    round: int
    way: str
    fields: Steps
    area: float | None
    total_area: float | None
    predicted: float | None
    price: float | None
    evaluated: float | None
    verdict: str
    mechanism: tuple[str, ...]
    reclaimed: Steps
    objective: float | None
    entry: int
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Stair:
    """A value of a wall's field, all other fields as they are: the objective that the best
    software has there (``None``: no program), and the area of that chip, mm2."""

    value: int | float
    objective: float | None
    area: float


@dataclass(frozen=True, slots=True)
class Staircase:
    """The objective against one field: around the chosen chip, and around the start of the study.
    ``sampled`` of a longer menu: not all of its values were solved."""

    field: str
    chosen: tuple[Stair, ...]
    start: tuple[Stair, ...]
    sampled: bool
    entry: int


@dataclass(frozen=True, slots=True)
class FieldRow:
    """What a field of the library is: its menu from ``least`` to ``most`` in base units."""

    name: str
    dimension: str
    role: str
    meaning: str
    source: str
    least: int | float
    most: int | float
    values: int


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method, all its seeds. ``objective``, ``chip`` and ``area`` are of the best run.
    ``relaxations``: bounds of boxes that it asked for, which are no inner solves.

    ``objectives``, ``solves``, ``solves_to_best`` and ``seconds`` have one number a run;
    ``solves_to_best``: until a design within 1 % of the best of any method was known, the whole
    budget for a run that never knew one (``reached_by`` tells which did).
    """

    method: str
    chip: Values | None
    area: float | None
    objective: float | None
    bound: float | None
    objectives: tuple[float | None, ...]
    solves: tuple[int, ...]
    evaluations: tuple[int, ...]
    relaxations: tuple[int, ...]
    solves_to_best: tuple[int, ...]
    reached_by: tuple[bool, ...]
    seconds: tuple[float, ...]
    note: str
    entries: tuple[int, ...]

    @property
    def reached(self) -> int:
        """The runs that came within 1 % of the best of all methods."""
        return sum(self.reached_by)


@dataclass(frozen=True, slots=True)
class ChipRow:
    """A chip to compare with, or a point of the front.

    ``dominated`` by a point of the front; ``None`` where that is not known."""

    name: str
    chip: Values
    area: float
    objective: float | None
    dominated: bool | None
    source: str
    entry: int


@dataclass(frozen=True, slots=True)
class CeilingResult:
    """What one ceiling on the area led to; ``found_by`` names the method with the best chip."""

    budget: float | None
    chip: Values | None
    area: float | None
    objective: float | None
    found_by: str
    bound: float | None
    gap: float | None
    scenarios: tuple[ScenarioRow, ...]
    purchases: tuple[PurchaseRow, ...]
    purchases_of: str
    certificate: dict[str, Any] | None
    methods: tuple[MethodRow, ...]
    entries: dict[str, int]
    notes: tuple[str, ...] = ()
    area_parts: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By term of the area model, mm2: of the start and of the chosen chip."""
    staircases: tuple[Staircase, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StudyResult:
    """``proofs``: verdicts of the templates. ``agreement``: model against evaluator on sampled
    designs, before anything was bought. ``repairs``: of the model, before methods are compared.
    ``choices``: the fields with more than one value. ``held``: every ceiling has a chip with
    programs for all scenarios.
    """

    study: str
    description: str
    library: str
    objective: str
    choices: tuple[str, ...]
    chips_in_library: int
    units: dict[str, str]
    start: Values
    proofs: dict[str, str]
    evaluator: dict[str, Any] | None
    agreement: dict[str, Any] | None
    repairs: tuple[dict[str, Any], ...]
    ceilings: tuple[CeilingResult, ...]
    front: tuple[ChipRow, ...]
    front_tolerance: float | None
    front_complete_to: float | None
    """mm2; ``None``: every chip within the ceiling was weighed, or no front was asked for."""
    chips: tuple[ChipRow, ...]
    generated: tuple[dict[str, Any], ...]
    area_model: tuple[dict[str, str], ...]
    unmodelled: dict[str, str]
    journal: str
    seconds: float
    fields: tuple[FieldRow, ...] = ()
    cost_units: dict[str, str] = field(default_factory=dict)
    """Units of ``time`` and, where templates state it, ``energy``; empty for listed programs."""

    @property
    def folder(self) -> Path:
        """Where the journal and the tables are."""
        return Path(self.journal).parent

    @property
    def held(self) -> bool:
        return all(c.objective is not None for c in self.ceilings)

    def as_json(self) -> dict[str, Any]:
        """The keys of the last ceiling (the largest) at the top, and all of a sweep under
        ``ceilings``."""
        shown = asdict(self)
        last = self.ceilings[-1].as_json()
        shown.update({"schema": 1, "held": self.held, "goal": self.objective, **last})
        if len(self.ceilings) == 1:
            del shown["ceilings"]
        return shown
