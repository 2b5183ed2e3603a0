"""Which resource a design's time goes to, by its cost model.

The *share* of a chip's rate is the part of the time that falls with it: were the rate faster by a
hundredth, how many hundredths would the time lose? It is the elasticity of the cost, so it reads
sums, maxima and choices alike, and needs no names of terms. Coefficients have shares too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, log
from typing import Final

from formwright.chip.fields import FIELDS
from formwright.ir.expr import Scalar
from formwright.ir.floats import Code, floats
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.milp.problem import objective_expression, plain

STEP: Final = 0.01
"""Relative: how far a rate is moved. Forward, since a faster chip is what is asked about."""

_FASTER: Final = ("frequency", "compute", "bandwidth")
_SLOWER: Final = ("cycles",)
"""Dimensions of fields whose growth makes a design faster, and slower."""

_RESOURCES: Final[Mapping[str, str]] = {
    "clock": "core",
    "flops": "core",
    "core_flops": "core",
    "core_matrix_flops": "core",
    "dram_bandwidth": "dram",
    "core_dram_bandwidth": "dram",
    "barrier_cycles": "barriers",
}


@dataclass(frozen=True, slots=True)
class Shares:
    """``resources`` and ``coefficients``: parts of ``seconds`` by name, those above 0.

    ``resource`` and ``coefficient`` are the largest of each, ``""`` where there is none.
    """

    seconds: float
    resources: Mapping[str, float]
    coefficients: Mapping[str, float]

    @property
    def resource(self) -> str:
        return _largest(self.resources)

    @property
    def coefficient(self) -> str:
        return _largest(self.coefficients)


def shares_of(
    template: Template,
    parameters: Mapping[str, Scalar],
    assignment: Mapping[str, int],
    coefficients: Mapping[str, Fraction],
) -> Shares | None:
    """``None`` for a template without a cost in seconds, or a design where it has no value."""
    cost = inlined(replace(template, program=(), globals=(), refinement=None)).cost
    if cost is None or cost.unit != "seconds":
        return None
    values = plain({**parameters, **assignment})
    rates = {n: d for n in values if (d := _direction(n))}
    weights = {c.name: c.default for c in cost.coefficients} | dict(coefficients)
    known = {n: v for n, v in values.items() if n not in rates}
    code = floats(folded(objective_expression(cost.bounds), known))
    env = {n: float(values[n]) for n in rates} | {n: float(v) for n, v in weights.items()}
    seconds = code(env)
    if not isfinite(seconds) or seconds <= 0:
        return None
    resources: dict[str, float] = {}
    for name, direction in rates.items():
        share = _share(code, env, name, seconds, direction)
        resource = resource_of(name.removeprefix("chip."))
        resources[resource] = resources.get(resource, 0.0) + share
    parts = {n: _share(code, env, n, seconds, -1) for n in weights}
    return Shares(seconds, _kept(resources), _kept(parts))


def resource_of(field: str) -> str:
    """What a rate belongs to: ``dram``, ``l1``, ``core``, …"""
    return _RESOURCES.get(field, field.removesuffix("_bandwidth"))


def _direction(name: str) -> int:
    kind = FIELDS.get(name.removeprefix("chip.")) if name.startswith("chip.") else None
    if kind is None:
        return 0
    return 1 if kind.dimension in _FASTER else -1 if kind.dimension in _SLOWER else 0


def _share(
    code: Code, env: Mapping[str, float], name: str, seconds: float, direction: int
) -> float:
    moved = code({**env, name: env[name] * (1 + STEP) ** direction})
    return log(seconds / moved) / log(1 + STEP) if moved > 0 else 0.0


def _kept(shares: Mapping[str, float]) -> dict[str, float]:
    found = {n: s for n, s in shares.items() if s > STEP / 10}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _largest(shares: Mapping[str, float]) -> str:
    return min(shares, key=lambda n: (-shares[n], n), default="")
