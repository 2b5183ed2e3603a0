"""What the page of a co-design study says in many places: its goal, its chips, its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from formwright.report.page import Axis, Cell, Evidence, Origin
from formwright.report.pages.study_sources import Kept
from formwright.report.pages.study_words import NOTHING, Fields, figure, no_higher, no_less, unit

METHODS: Final[Mapping[str, str]] = {
    "fixed-hardware": "nothing: the start with the reference's software",
    "software-only": "software, on the start",
    "hardware-only": "a chip, for the reference's software",
    "sequential": "the best software of the start, then a chip for it",
    "wall-relaxation": "walls one by one, the most gained per mm² first",
    "coupled": "the same, pairs of walls screened too",
    "sets": "sets of walls that pay only together, and fields that change costs",
    "random": "chips drawn at random, each with its best software",
    "optuna": "chips proposed by a tree-structured Parzen estimator, each with its best software",
    "joint": "chip and software at once: exact when it closes",
    "joint-program": "chip and software in one integer program: exact when it closes",
    "bound": "the search that gave the bound from below",
}
"""What each method is free to choose."""

RELAXATIONS: Final = ("wall-relaxation", "coupled", "sets")


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be least: its name in a sentence, the unit, and what one unit of it is."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Told:
    """A study and one of its ceilings. ``time``, ``energy``: units; empty where unknown."""

    kept: Kept
    ceiling: Mapping[str, Any]
    fields: Fields
    goal: Goal
    time: str
    energy: str

    def axis(self, name: str = "") -> Axis:
        """Of the objective, or of what is in its unit: the unit stands once, in the name, since it
        is as long as a number."""
        name = name or self.goal.name
        return Axis(f"{name}, {self.goal.unit}" if self.goal.unit else name, "", "log")

    @property
    def result(self) -> Mapping[str, Any]:
        return self.kept.result

    def under(self, ceiling: Mapping[str, Any]) -> "Told":
        """The same study under another ceiling."""
        return Told(self.kept, ceiling, self.fields, self.goal, self.time, self.energy)

    def objective(self, value: float | None, digits: int = 6) -> str:
        """The figure with its unit."""
        return f"{figure(value, digits)} {self.goal.unit}".strip() if value is not None else "-"

    def cell(
        self,
        value: float | None,
        entry: Origin | int | None = None,
        *,
        digits: int = 5,
        evidence: Evidence | None = None,
    ) -> Cell:
        """A figure that sorts by its value, with the entry of the journal that it comes from."""
        origin = self.kept.entry(entry) if isinstance(entry, int) else entry
        if value is None:
            return Cell("-", None, origin)
        return Cell(figure(value, digits), float(value), origin, evidence)


def told_of(kept: Kept) -> Told:
    """The last ceiling of a study, which is the largest."""
    result = kept.result
    units = result.get("cost_units") or {}
    time, energy = unit(units.get("time", "")), unit(units.get("energy", ""))
    ceilings = result.get("ceilings") or [result]
    return Told(
        kept,
        ceilings[-1],
        Fields(result["units"], result["choices"]),
        _goal(result["goal"], time, energy),
        time,
        energy,
    )


def _goal(goal: str, time: str, energy: str) -> Goal:
    match goal:
        case "energy-delay":
            joined = f"{energy}·{time}" if time and energy else ""
            return Goal(
                "energy times delay",
                joined,
                "all energies of the work added up, times all times of it added up",
            )
        case "worst":
            return Goal(
                "the worst ratio of any scenario",
                "",
                "a scenario's ratio is its time over its time on the reference chip, which has 1",
            )
        case "weighted":
            return Goal(
                "the weighted sum of ratios",
                "",
                "a scenario's ratio is its time over its time on the reference chip, which has 1",
            )
        case other:
            return Goal(other, "", "")


def under(ceiling: Mapping[str, Any]) -> str:
    """``within 40 mm²``."""
    budget = ceiling["budget"]
    return "without a ceiling on the area" if budget is None else f"within {figure(budget)} mm²"


def exact(value: str | float | None) -> float | None:
    """A number of the journal, which keeps exact ones as text."""
    return None if value is None else float(Fraction(value))


@dataclass(frozen=True, slots=True)
class Start:
    """The chip that a study starts from, with the best software for it."""

    objective: float | None
    area: float | None
    origin: Origin | None


def start_of(told: Told) -> Start:
    """From where a relaxation began, else from the row of the software-only method."""
    state = relaxed(told)
    if state is not None:
        first, entry = state
        visited = first["visited"][0]
        return Start(exact(visited["objective"]), exact(visited["area"]), told.kept.entry(entry))
    for row in told.ceiling["methods"]:
        if row["method"] == "software-only" and row["objective"] is not None:
            return Start(row["objective"], row["area"], told.kept.entry(row["entries"][0]))
    return Start(None, None, None)


def chosen_entry(told: Told) -> int | None:
    """The entry that first had the chosen chip: that of the method that found it."""
    for m in told.ceiling["methods"]:
        if m["method"] == told.ceiling["found_by"] and m["objective"] is not None:
            return best_entry(m)
    bound: int | None = told.ceiling["entries"].get("bound")
    return bound


def best_entry(method: Mapping[str, Any]) -> int | None:
    """The entry of the run of a method that has its best objective, or of its first one."""
    entries: Sequence[int] = method["entries"]
    best, found = method["objective"], method["objectives"]
    at = found.index(best) if best is not None and best in found else 0
    return entries[at] if at < len(entries) else None


def relaxed(told: Told) -> tuple[Mapping[str, Any], int] | None:
    """The last state of the relaxation whose purchases are shown, with its entry."""
    ended = told.ceiling.get("certificate") or {}
    bought: Sequence[Mapping[str, Any]] = told.ceiling["purchases"]
    number: int | None = ended.get("entry", bought[-1]["entry"] if bought else None)
    data = told.kept.data(number)
    if number is None or not isinstance(data, dict) or not data.get("visited"):
        return None
    return data, number


def gap_words(told: Told) -> str:
    """How far the best possible chip can be from the chosen one."""
    gap = told.ceiling["gap"]
    if gap is None:
        return "How far the best possible chip is from it is not known: no bound was computed."
    size, best = told.result["chips_in_library"], told.ceiling["objective"]
    bound = told.objective(told.ceiling["bound"], 7)
    if gap >= NOTHING:
        bound = f"{no_higher(told.ceiling['bound'], 7)} {told.goal.unit}".strip()
    if best is not None and told.ceiling["bound"] > best * (1 + NOTHING):
        return (
            f"How far the best possible chip is from it is not known: the bound of the study"
            f" ({bound}) is above what this chip reaches, so it is wrong."
        )
    least = f"A bound from below says that no chip of the library's {size:,} combinations"
    if told.ceiling["budget"] is not None:
        least += f" {under(told.ceiling)}"
    least += f", with any software of the templates, is below {bound}"
    if gap < NOTHING:
        left = f": a gap of {figure(gap, 1)}, which is rounding" if gap else ""
        return f"It is the best possible in this model. {least}{left}."
    return f"The best possible in this model is at most {no_less(gap)} below it. {least}."
