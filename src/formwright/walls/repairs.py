"""What repairs a cost model: changed coefficients or a term that it lacked, as plain JSON.

Repairs are journaled with the round that needed them; the model after some rounds is the first one
with their repairs applied in order, so a resumed run has the same model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from formwright.ir.template import Template
from formwright.walls.counters import Counter
from formwright.walls.missing import FORMS, Term, with_term
from formwright.walls.problem import CodesignProblem, ScenarioSpec


@dataclass(frozen=True, slots=True)
class Repair:
    """``changed``: coefficients of ``template``. ``term``: counter, form and weight, or none."""

    template: str
    changed: Mapping[str, Fraction]
    term: Term | None = None

    def as_json(self) -> dict[str, Any]:
        term = self.term
        return {
            "template": self.template,
            "coefficients": {n: str(v) for n, v in self.changed.items()},
            "term": None
            if term is None
            else {
                "counter": term.counter,
                "field": term.field,
                "form": term.form,
                "weight": str(term.weight),
            },
        }


def repaired(
    problem: CodesignProblem, repairs: Sequence[Mapping[str, Any]], counters: Sequence[Counter]
) -> CodesignProblem:
    """``problem`` with the :meth:`Repair.as_json` data applied in order."""
    for each in repairs:
        problem = _one(problem, each, counters)
    return problem


def _one(
    problem: CodesignProblem, data: Mapping[str, Any], counters: Sequence[Counter]
) -> CodesignProblem:
    name = data["template"]
    changed = {n: Fraction(v) for n, v in data["coefficients"].items()}
    if changed:
        present = {**problem.coefficients.get(name, {}), **changed}
        problem = replace(problem, coefficients={**problem.coefficients, name: present})
    term = data["term"]
    if term is None:
        return problem
    counter = next(c for c in counters if c.name == term["counter"])
    form = next(f for f in FORMS if f == term["form"])
    weight = Fraction(term["weight"])

    def swap(template: Template) -> Template:
        return with_term(template, counter, form, weight) if template.name == name else template

    return replace(problem, scenarios=tuple(_swapped(s, swap) for s in problem.scenarios))


def _swapped(scenario: ScenarioSpec, swap: Any) -> ScenarioSpec:
    works = tuple(
        (replace(kernel, templates=tuple(swap(t) for t in kernel.templates)), count)
        for kernel, count in scenario.works
    )
    return replace(scenario, works=works)
