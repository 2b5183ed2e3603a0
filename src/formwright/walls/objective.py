"""What joins the kernels of a chip to one number: times, energies, limits and ratios.

``worst`` and ``weighted`` need the least time of each kernel; a power limit, and the product of
energy and time, need fronts, since the best design of a kernel then depends on the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.chip.library import Point
from formwright.walls.core import Answer, Chosen, ScenarioAnswer
from formwright.walls.fronts import (
    Pair,
    least_product,
    least_product_below,
    lower_hull,
    undominated_sums,
)
from formwright.walls.problem import CodesignProblem, ScenarioSpec
from formwright.walls.works import Chip, Design, Removed, Work

MOST_SUMS = 4096
"""Combinations of a scenario with limits that no other is below."""

Parts = tuple[Design, ...]
"""What a kernel gives on a chip: its best design, or its front."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A design for each scenario and kernel; ``reason`` says why there is none."""

    chosen: Mapping[tuple[str, str], Design]
    problem: CodesignProblem
    reason: str = ""

    def time(self, scenario: str) -> Fraction:
        """The time of one run of a scenario."""
        spec = next(s for s in self.problem.scenarios if s.name == scenario)
        return sum((n * self.chosen[scenario, k.name].time for k, n in spec.works), Fraction(0))

    def energy(self, scenario: str) -> Fraction | None:
        spec = next(s for s in self.problem.scenarios if s.name == scenario)
        total = Fraction(0)
        for kernel, count in spec.works:
            energy = self.chosen[scenario, kernel.name].energy
            if energy is None:
                return None
            total += count * energy
        return total


class Joiner:
    """Joins what the kernels give, by the objective and the limits of ``problem``."""

    def __init__(self, problem: CodesignProblem) -> None:
        self.problem = problem
        product = problem.objective == "energy-delay"
        self.limited = any(s.limits.power is not None for s in problem.scenarios) or (
            product and any(s.limits.rate is not None for s in problem.scenarios)
        )
        self.fronts = product

    def part(self, work: Work, point: Point, chip: Chip, removed: Removed) -> Parts | None:
        """What the kernel gives at ``chip``; ``None`` where it has no program."""
        if self.limited:
            designs = self._all_fronts(work, point, chip, removed)
            return designs or None
        if self.fronts:
            return tuple(work.front(chip, removed)) or None
        best = work.best(point, chip, removed)
        return None if best is None else (best,)

    def _all_fronts(self, work: Work, point: Point, chip: Chip, removed: Removed) -> Parts:
        """Designs that are on a front of some kind that a limit can ask for."""
        powers = {s.limits.power for s in self.problem.scenarios if s.limits.power is not None}
        found: dict[tuple[str, tuple[tuple[str, int], ...]], Design] = {}
        best = work.best(point, chip, removed)
        designs = [] if best is None else [best]
        for power in (Fraction(0), *sorted(powers)):
            designs += work.rows_in_front(chip, removed, power)
        for design in designs:
            found.setdefault((design.template, tuple(design.assignment.items())), design)
        return tuple(found.values())

    def joined(self, parts: Mapping[str, Parts | None], chip: Chip) -> Joined:
        """The best combination of what the kernels give."""
        for scenario in self.problem.scenarios:
            for kernel, _ in scenario.works:
                if parts[kernel.name] is None:
                    told = f"scenario {scenario.name}: no program of {kernel.name} fits this chip"
                    return Joined({}, self.problem, told)
        given = {n: p for n, p in parts.items() if p is not None}
        if self.limited:
            return self._within_limits(given)
        if self.fronts:
            return self._least_product(given)
        chosen = {
            (s.name, k.name): given[k.name][0] for s in self.problem.scenarios for k, _ in s.works
        }
        return self.given(chosen)

    def given(self, chosen: Mapping[tuple[str, str], Design]) -> Joined:
        """A combination as it stands, held to the limits."""
        joined = Joined(chosen, self.problem)
        for scenario in self.problem.scenarios:
            told = _limit_broken(scenario, joined)
            if told:
                return Joined(chosen, self.problem, told)
        return joined

    def _least_product(self, given: Mapping[str, Parts]) -> Joined:
        slots = [(s, k, n) for s in self.problem.scenarios for k, n in s.works]
        fronts = [[_pair(d) for d in given[k.name]] for _, k, _ in slots]
        best = least_product(fronts, [s.weight * n for s, _, n in slots])
        chosen = {
            (s.name, k.name): given[k.name][place]
            for (s, k, _), place in zip(slots, best.places, strict=True)
        }
        return Joined(chosen, self.problem)

    def _within_limits(self, given: Mapping[str, Parts]) -> Joined:
        """Scenario by scenario, the combinations within its limits; then the best of them."""
        chosen: dict[tuple[str, str], Design] = {}
        fronts: list[list[tuple[Pair, dict[tuple[str, str], Design]]]] = []
        for scenario in self.problem.scenarios:
            options = self._options(scenario, given)
            if not options:
                told = f"scenario {scenario.name}: no programs keep its limits"
                return Joined({}, self.problem, told)
            if self.problem.objective == "energy-delay":
                fronts.append(options)
            else:
                chosen |= min(options, key=lambda option: option[0])[1]
        if not fronts:
            return Joined(chosen, self.problem)
        for option in _least_of(fronts, self.problem.scenarios):
            chosen |= option
        return Joined(chosen, self.problem)

    def _options(
        self, scenario: ScenarioSpec, given: Mapping[str, Parts]
    ) -> list[tuple[Pair, dict[tuple[str, str], Design]]]:
        """Time and energy of each combination worth taking that keeps the scenario's limits."""
        power = scenario.limits.power or Fraction(0)
        designs = [given[k.name] for k, _ in scenario.works]
        fronts = [[_figures(d, power) for d in part] for part in designs]
        sums = undominated_sums(fronts, [n for _, n in scenario.works], MOST_SUMS)
        if sums is None:
            told = f"scenario {scenario.name}: more than {MOST_SUMS} combinations keep its limits"
            raise InputError([Diagnostic(told, None, "leave out the power limit, or some designs")])
        found = []
        for choice in sums:
            chosen = {
                (scenario.name, k.name): part[place]
                for (k, _), part, place in zip(scenario.works, designs, choice.places, strict=True)
            }
            if not _limit_broken(scenario, Joined(chosen, self.problem)):
                found.append(((choice.figures[0], choice.figures[1]), chosen))
        return found

    def answer(self, joined: Joined, reference: Mapping[str, Fraction]) -> Answer:
        """The answer with its objective and the ratios to ``reference``.

        Raises :class:`InputError` for a design whose time or energy is below zero.
        """
        scenarios = tuple(self._scenario(s, joined, reference) for s in self.problem.scenarios)
        return Answer(self._objective(scenarios), scenarios)

    def _scenario(
        self, spec: ScenarioSpec, joined: Joined, reference: Mapping[str, Fraction]
    ) -> ScenarioAnswer:
        time = joined.time(spec.name)
        chosen = tuple(_chosen(k.name, joined.chosen[spec.name, k.name], n) for k, n in spec.works)
        for each in chosen:
            _refuse_negative(each)
        ratio = time / reference[spec.name]
        return ScenarioAnswer(spec.name, time, joined.energy(spec.name), ratio, chosen)

    def _objective(self, scenarios: Sequence[ScenarioAnswer]) -> Fraction:
        weights = [s.weight for s in self.problem.scenarios]
        match self.problem.objective:
            case "worst":
                return max(s.ratio for s in scenarios)
            case "weighted":
                return sum(
                    (w * s.ratio for w, s in zip(weights, scenarios, strict=True)), Fraction(0)
                )
            case "energy-delay":
                time = sum(
                    (w * s.time for w, s in zip(weights, scenarios, strict=True)), Fraction(0)
                )
                energy = sum(
                    (w * (s.energy or 0) for w, s in zip(weights, scenarios, strict=True)),
                    Fraction(0),
                )
                return energy * time

    def below(self, parts: Mapping[str, Any], reference: Mapping[str, Fraction]) -> float:
        """A bound from the least times or the lower fronts of the kernels, rounded down."""
        if self.fronts:
            slots = [(s.weight * n, k.name) for s in self.problem.scenarios for k, n in s.works]
            return least_product_below([parts[k] for _, k in slots], [float(n) for n, _ in slots])
        ratios = []
        for scenario in self.problem.scenarios:
            time = sum(n * parts[k.name] for k, n in scenario.works)
            ratios.append(time / float(reference[scenario.name]))
        weights = [float(s.weight) for s in self.problem.scenarios]
        match self.problem.objective:
            case "worst":
                value = max(ratios)
            case _:
                value = sum(w * r for w, r in zip(weights, ratios, strict=True))
        terms = sum(len(s.works) for s in self.problem.scenarios)
        return float(value) * (1 - 1e-15 * (8 + terms))


def _pair(design: Design) -> Pair:
    assert design.energy is not None, "build_inner asks for the energy of every template"
    return design.time, design.energy


def _figures(design: Design, power: Fraction) -> tuple[Fraction, ...]:
    """What a limit or an objective may read: the smaller, the better."""
    if design.energy is None:
        return (design.time, Fraction(0), Fraction(0))
    return (design.time, design.energy, design.energy - power * design.time)


def _limit_broken(scenario: ScenarioSpec, joined: Joined) -> str:
    time, energy = joined.time(scenario.name), joined.energy(scenario.name)
    limits = scenario.limits
    tokens = scenario.tokens or 0
    if limits.rate is not None and tokens < limits.rate * time:
        rate = float(tokens / time)
        return f"scenario {scenario.name}: {rate:.4g} tokens per time unit are too few"
    if limits.power is not None and energy is not None and energy > limits.power * time:
        power = float(energy / time)
        return f"scenario {scenario.name}: the power {power:.4g} is over its limit"
    return ""


def _least_of(
    fronts: Sequence[list[tuple[Pair, dict[tuple[str, str], Design]]]],
    scenarios: Sequence[ScenarioSpec],
) -> list[dict[tuple[str, str], Design]]:
    """The options, one of each scenario, whose energy times time is least."""
    from_hull = [_hull_of(options) for options in fronts]
    pairs = [[pair for pair, _ in options] for options in from_hull]
    best = least_product(pairs, [s.weight for s in scenarios])
    return [options[place][1] for options, place in zip(from_hull, best.places, strict=True)]


def _hull_of(
    options: list[tuple[Pair, dict[tuple[str, str], Design]]],
) -> list[tuple[Pair, dict[tuple[str, str], Design]]]:
    return [options[i] for i in lower_hull([pair for pair, _ in options])]


def _refuse_negative(chosen: Chosen) -> None:
    for what, value in (("time", chosen.time), ("energy", chosen.energy)):
        if value is not None and value < 0:
            design = " ".join(f"{n}={v}" for n, v in chosen.assignment.items())
            told = f"the {what} of {chosen.template} is below 0 for {chosen.work}: {design}"
            raise InputError([Diagnostic(told, None, "a cost is never negative: bound it by max")])


def _chosen(work: str, design: Design, count: int) -> Chosen:
    return Chosen(
        work, design.template, design.assignment, design.time, design.energy, count, design.slack
    )
