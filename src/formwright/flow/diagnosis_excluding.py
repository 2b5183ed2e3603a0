"""What the conditions of a template cost: designs that they exclude and that the verifier proves.

Two are asked, both by the model: the precondition, against the points that are safe
(:mod:`formwright.flow.weakest`), and each constraint that is no wall of the chip, left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, Final

from formwright.contract.problem import Workload
from formwright.flow.diagnosis_data import Excluded
from formwright.flow.proving import prove
from formwright.flow.setting import Setting
from formwright.flow.weakest import schedule_decisions, weakest
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.milp.solve import Solution, solve
from formwright.proof.verdict import Verdict
from formwright.smt import safe_conditions

POINTS: Final = 64
"""Of decisions that a precondition mentions; each is a proof."""
PROOFS: Final = 2
"""Constraints that are left out in a proof: those that cost most by the model."""
WORTH: Final = 0.02
"""Relative: a condition that costs less is not asked about."""

Proves = Callable[[Template], bool]


def excluded_by(setting: Setting, workload: Workload, name: str) -> tuple[Excluded, ...]:
    """What the conditions of the template ``name`` cost ``workload``; a journal step.

    Takes a proof for each safe point of its precondition and for each costly constraint.
    """
    key = f"excluded/{workload.name}/{name}"
    template = setting.templates[name].template
    parameters = setting.parameters(template, workload)
    found = setting.journal.step(
        key, lambda: [_plain(e) for e in excluded(template, parameters, setting.coefficients[name])]
    )
    return tuple(_read(data, name, key) for data in found)


def excluded(
    template: Template,
    parameters: Mapping[str, Scalar],
    coefficients: Mapping[str, Fraction],
    proves: Proves | None = None,
) -> tuple[Excluded, ...]:
    """As :func:`excluded_by`, without a journal. ``proves``: the verifier, unless it is given."""
    cost = template.cost
    if cost is None or cost.unit != "seconds":
        return ()
    ask = partial(solve, coefficients=coefficients, time_limit=10.0)
    now = ask(template, parameters)
    if now.status != "optimal" or now.objective is None:
        return ()
    found = [*_requirement(template, parameters, ask)]
    costly: list[tuple[float, str, Solution]] = []
    for constraint in template.constraints:
        if constraint.wall is None:
            freed = ask(template, parameters, without=frozenset({constraint.name}))
            if freed.status == "optimal" and freed.objective is not None:
                costly.append((float(freed.objective), constraint.name, freed))
    required = float(now.objective)
    costly = [c for c in sorted(costly, key=lambda c: c[:2]) if c[0] < required * (1 - WORTH)]
    for safe, condition, freed in costly[:PROOFS]:
        kept = tuple(c for c in template.constraints if c.name != condition)
        proved = (proves or _proves)(replace(template, constraints=kept))
        found.append(
            Excluded(template.name, condition, required, safe, proved, "", freed.assignment)
        )
    return tuple(found)


def _proves(template: Template) -> bool:
    return prove(template).verdict == "proved"


def _requirement(
    template: Template, parameters: Mapping[str, Scalar], ask: Callable[..., Solution]
) -> list[Excluded]:
    """The precondition, where it is over few enough points of decisions alone."""
    closed = inlined(template)
    decisions = {d.name: len({*d.menu, *d.extra}) for d in closed.decisions}
    alone = [free_names(r.condition) for r in closed.requires]
    names = frozenset().union(*(n for n in alone if n and n <= decisions.keys()))
    if not names:
        return []
    names |= set(schedule_decisions(closed))
    if prod(decisions[n] for n in names) > POINTS:
        return []

    def safe(point: dict[str, int]) -> Verdict:
        return safe_conditions(closed, point)

    loss = weakest(closed, {"": parameters}, safe, ask).loss[""]
    if loss.required is None or loss.safe is None:
        return []
    return [Excluded(template.name, "requires", float(loss.required), float(loss.safe), True, "")]


def _plain(found: Excluded) -> dict[str, Any]:
    return {
        "condition": found.condition,
        "required": found.required,
        "safe": found.safe,
        "proved": found.proved,
        "assignment": dict(found.assignment),
    }


def _read(data: Mapping[str, Any], name: str, entry: str) -> Excluded:
    return Excluded(
        template=name,
        condition=str(data["condition"]),
        required=float(data["required"]),
        safe=float(data["safe"]),
        proved=bool(data["proved"]),
        entry=entry,
        assignment={n: int(v) for n, v in data["assignment"].items()},
    )
