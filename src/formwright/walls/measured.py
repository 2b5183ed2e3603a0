"""The objective by the evaluator's figures, joined as the inner problem joins the model's."""

from collections.abc import Callable
from fractions import Fraction

from formwright.simulate.evaluator import Evaluation
from formwright.walls.core import Answer, Chosen, ScenarioAnswer
from formwright.walls.problem import CodesignProblem

Figure = Callable[[Chosen], Evaluation]


def objective_by(
    problem: CodesignProblem, answer: Answer, figure: Figure, reference: Answer, base: Figure
) -> Fraction | None:
    """The objective of ``answer`` with times and energies by ``figure``.

    ``reference``: the software whose times, by ``base``, have the ratio 1. ``None`` where a
    scenario has no program, or an energy is wanted that the evaluator does not give.
    """
    if answer.objective is None or not answer.scenarios:
        return None
    weights = {s.name: s.weight for s in problem.scenarios}
    times = {s.name: _time(s, figure) for s in answer.scenarios}
    if problem.objective == "energy-delay":
        energies = [_energy(s, figure) for s in answer.scenarios]
        total = Fraction(0)
        for s, energy in zip(answer.scenarios, energies, strict=True):
            if energy is None:
                return None
            total += weights[s.name] * energy
        return total * sum((weights[n] * t for n, t in times.items()), Fraction(0))
    bases = {s.name: _time(s, base) for s in reference.scenarios}
    if not all(bases.get(name) for name in times):
        return None
    ratios = {name: time / bases[name] for name, time in times.items()}
    if problem.objective == "worst":
        return max(ratios.values())
    return sum((weights[n] * r for n, r in ratios.items()), Fraction(0))


def _time(scenario: ScenarioAnswer, figure: Figure) -> Fraction:
    return sum((c.count * figure(c).time for c in scenario.chosen), Fraction(0))


def _energy(scenario: ScenarioAnswer, figure: Figure) -> Fraction | None:
    total = Fraction(0)
    for each in scenario.chosen:
        energy = figure(each).energy
        if energy is None:
            return None
        total += each.count * energy
    return total
