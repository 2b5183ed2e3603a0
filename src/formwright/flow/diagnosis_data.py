"""What a diagnosis is made from, and what it says: plain data, each number with its entry.

A :class:`Case` is one workload of a run as it stands: the designs that were measured, what the
solver answered, what was measured outside the templates, what a precondition excludes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from formwright.ir.expr import Scalar
from formwright.ir.template import Template

Kind = Literal[
    "representation",
    "precondition",
    "optimisation",
    "prediction",
    "missing wall",
    "bottleneck moved",
]
"""The four sources of design loss of the paper's Table 4, and two that say where to go next."""

Action = Literal["new", "lower", "weaken", "solve", "refit", "measure", "term"]
"""What repairs it: another template; one a level lower; a weaker condition; a better search; the
present model with other coefficients, solved again; more designs measured; a term of the cost."""

Evidence = Literal["measured", "modelled"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the evidence. ``entry``: key of the journal entry that it comes from."""

    name: str
    value: float
    unit: str
    evidence: Evidence
    entry: str

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "evidence": self.evidence,
            "entry": self.entry,
        }


@dataclass(frozen=True, slots=True)
class Tried:
    """A design that was built, validated and measured, in seconds with a 95 % interval.

    ``predicted``: by the model that chose it. ``parameters``: values of the scope's names.
    ``counters``: what its program text says it does (bytes by level, operations by name);
    ``roofs``: the share of its time that it spends at each roof of the chip.
    """

    workload: str
    template: str
    assignment: Mapping[str, int]
    parameters: Mapping[str, Scalar]
    predicted: float
    seconds: float
    low: float
    high: float
    entry: str
    counters: Mapping[str, Fraction] = field(default_factory=dict)
    roofs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Solved:
    """The last answer of the solver for a template; ``assignment`` is its first choice.

    ``objective`` and ``bound`` in seconds; ``None`` where it found no design, or no bound.
    """

    template: str
    status: str
    assignment: Mapping[str, int]
    objective: float | None
    bound: float | None
    coefficients: Mapping[str, Fraction]
    entry: str


@dataclass(frozen=True, slots=True)
class Outside:
    """A design that no template of the run expresses: a library's kernel, a figure of before."""

    name: str
    seconds: float
    low: float
    high: float
    entry: str


@dataclass(frozen=True, slots=True)
class Excluded:
    """What a condition of ``template`` costs by the model: the best cost with it and without.

    ``proved``: whether the verifier proves the designs that it excludes. ``condition`` is
    ``requires``, or the name of a constraint.
    """

    template: str
    condition: str
    required: float
    safe: float
    proved: bool
    entry: str
    assignment: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """``coefficients``: of each template, after the last refit.

    ``tried`` in the order of measurement, of all workloads of the run; ``before`` of them stand
    from before the present generation (``None``: all but those of the last entry).
    """

    workload: str
    templates: Mapping[str, Template]
    coefficients: Mapping[str, Mapping[str, Fraction]]
    tried: tuple[Tried, ...]
    solved: tuple[Solved, ...]
    outside: tuple[Outside, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    before: int | None = None

    @property
    def mine(self) -> tuple[Tried, ...]:
        """Those of the workload."""
        return tuple(t for t in self.tried if t.workload == self.workload)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause of a shortfall. ``loss``: the part of the present time that its repair could save
    at most, as ``evidence`` says (measured, or by the model)."""

    kind: Kind
    template: str
    loss: float
    evidence: Evidence
    says: str
    repair: str
    action: Action
    figures: tuple[Figure, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the journal, and for the ``data`` of a request to a proposer."""
        return {
            "kind": self.kind,
            "template": self.template,
            "loss": self.loss,
            "evidence": self.evidence,
            "says": self.says,
            "repair": self.repair,
            "action": self.action,
            "figures": [f.as_json() for f in self.figures],
            "data": dict(self.data),
        }


def measured(name: str, tried: Tried | Outside) -> Figure:
    """The time of a design as a figure."""
    return Figure(name, tried.seconds, "seconds", "measured", tried.entry)
